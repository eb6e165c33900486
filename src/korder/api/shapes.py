"""Kinds of values that fields of our kinds share: durations, instants, schedules, amounts, names.

The modules of our kinds annotate with them; `schema` turns them into patterns and CEL rules. Every text has a greatest
length, because an API server prices a CEL rule by the largest value it could meet. CEL learned about quantities only in
Kubernetes 1.29, so amounts are judged by pattern: a positive one is a number in which some digit is not zero.
"""

from datetime import datetime
from typing import Annotated

import msgspec

from korder.api.schema import Rule, doc

_GO_DURATION = r"(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+"
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_POSITIVE_NUMBER = r"(?:[0-9]*[1-9][0-9]*(?:\.[0-9]*)?|[0-9]*\.[0-9]*[1-9][0-9]*)"
_SUFFIX = r"(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?"
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_CRON_FIELD = r"[0-9A-Za-z*/,?#-]+"
_FIVE_FIELDS = rf"{_CRON_FIELD}(?: +{_CRON_FIELD}){{4}}"
_MACRO = r"@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)"
_ZONE = r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*"
_RFC_3339 = (
    r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


def _spelled(pattern: str, message: str, max_length: int, also: str = "") -> msgspec.Meta:
    """Judges a text by a rule instead of a bare pattern, which people would have to decipher."""
    return doc("", Rule(f"self.matches(r'^(?:{pattern})$'){also}", message), max_length=max_length)


Duration = Annotated[
    str,
    _spelled(
        f"0|{_GO_DURATION}",
        "must be a duration such as 1h30m or 90s, or 0s",
        max_length=64,
        also=" && duration(self) >= duration('0s')",
    ),
]
PositiveDuration = Annotated[
    str,
    _spelled(
        _GO_DURATION,
        "must be a duration longer than zero such as 1h30m or 90s",
        max_length=64,
        also=" && duration(self) > duration('0s')",
    ),
]
Instant = Annotated[datetime, doc(pattern=f"^{_RFC_3339}$")]
InstantOrEmpty = Annotated[str, doc(pattern=f"^(?:{_RFC_3339})?$", max_length=64)]

TimeZone = Annotated[
    str,
    _spelled(_ZONE, "must be the name of a time zone such as UTC or Europe/Berlin", max_length=64),
]
Schedule = Annotated[
    str,
    _spelled(
        f"|{_MACRO}|{_FIVE_FIELDS}",
        "must be five cron fields such as '0 2 * * 1-5', or a word such as @daily",
        max_length=128,
    ),
]
"""A cron expression; empty is as good as absent."""
ZonedSchedule = Annotated[
    str,
    _spelled(
        rf"(?:(?:CRON_)?TZ={_ZONE} +)?(?:{_MACRO}|@every {_GO_DURATION}|{_FIVE_FIELDS})",
        "must be five cron fields such as '0 8 * * 1-5', a word such as @daily, or @every 1h,"
        " with CRON_TZ=Europe/Berlin in front if a zone is meant",
        max_length=192,
    ),
]
"""A cron expression that may carry its zone, or an interval."""
ClockRange = Annotated[
    str,
    _spelled(
        f"{_CLOCK}-(?:{_CLOCK}|24:00)",
        "must be two times of day such as 09:00-17:00",
        max_length=11,
    ),
]
Recurrence = Annotated[
    str,
    _spelled(
        "FREQ=[A-Z]+(?:;[A-Z]+=[A-Z0-9,+-]+)*",
        "must be an iCalendar rule such as FREQ=WEEKLY;BYDAY=MO,WE",
        max_length=512,
    ),
]

Name = Annotated[str, doc(pattern=rf"^{_DNS_LABEL}(?:\.{_DNS_LABEL})*$", max_length=253)]
Label = Annotated[str, doc(pattern=f"^{_DNS_LABEL}$", max_length=63)]
Text = Annotated[str, doc(min_length=1, max_length=253)]
Count = Annotated[int, doc(minimum=0)]
Replicas = Annotated[int, doc(minimum=0, maximum=2147483647, format="int32")]
Decimal = Annotated[str, doc(pattern=r"^[0-9]+(?:\.[0-9]+)?$", max_length=32)]
"""A price or a factor, written out so that nothing is rounded on the way."""

Quantity = Annotated[str | int, doc(pattern=rf"^\+?{_NUMBER}{_SUFFIX}$", minimum=0, max_length=64)]
PositiveQuantity = Annotated[
    str | int, doc(pattern=rf"^\+?{_POSITIVE_NUMBER}{_SUFFIX}$", minimum=1, max_length=64)
]
SignedQuantity = Annotated[str | int, doc(pattern=rf"^[+-]?{_NUMBER}{_SUFFIX}$", max_length=64)]
Limit = Annotated[
    str | int,
    doc(pattern=rf"^\+?(?:{_NUMBER}{_SUFFIX}|{_GO_DURATION})$", minimum=0, max_length=64),
]
"""A quantity or, under `max-duration`, a length of time."""
