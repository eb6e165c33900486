"""Kinds of values that fields of our kinds share: durations, instants, schedules, amounts, names.

The modules of our kinds annotate with them; `schema` turns them into patterns and CEL rules. Every text has a greatest
length, because an API server prices a CEL rule by the largest value it could meet. CEL
learned about quantities only in Kubernetes 1.29, so amounts are judged by pattern: a positive one is a number in which
some digit is not zero.
"""

from datetime import datetime
from typing import Annotated

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

Duration = Annotated[
    str,
    doc(
        "",
        Rule("duration(self) >= duration('0s')", "must be a duration such as 1h30m or 90s, or 0s"),
        pattern=rf"^(?:0|{_GO_DURATION})$",
        max_length=64,
    ),
]
PositiveDuration = Annotated[
    str,
    doc(
        "",
        Rule(
            "duration(self) > duration('0s')",
            "must be a duration longer than zero such as 1h30m or 90s",
        ),
        pattern=rf"^{_GO_DURATION}$",
        max_length=64,
    ),
]
Instant = Annotated[datetime, doc(pattern=f"^{_RFC_3339}$")]
InstantOrEmpty = Annotated[str, doc(pattern=f"^(?:{_RFC_3339})?$", max_length=64)]

TimeZone = Annotated[str, doc(pattern=f"^{_ZONE}$", max_length=64)]
Schedule = Annotated[str, doc(pattern=f"^(?:{_MACRO}|{_FIVE_FIELDS})?$", max_length=128)]
"""A cron expression; empty is as good as absent."""
ZonedSchedule = Annotated[
    str,
    doc(
        pattern=rf"^(?:(?:CRON_)?TZ={_ZONE} +)?(?:{_MACRO}|@every {_GO_DURATION}|{_FIVE_FIELDS})$",
        max_length=192,
    ),
]
"""A cron expression that may carry its zone, or an interval."""
ClockRange = Annotated[str, doc(pattern=f"^{_CLOCK}-(?:{_CLOCK}|24:00)$", max_length=11)]

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
