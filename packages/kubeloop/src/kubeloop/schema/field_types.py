"""Kinds of values that fields of our kinds share: durations, instants, schedules, amounts, names.

The modules of our kinds annotate with them; `structural` turns them into patterns and CEL rules. Every text has a greatest
length, because an API server prices a CEL rule by the largest value it could meet. CEL learned about quantities only in
Kubernetes 1.29, so amounts are judged by pattern: a positive one is a number in which some digit is not zero.
"""

from datetime import datetime
from typing import Annotated

import msgspec

from kubeloop.schema.structural import Rule, doc

_UNITS = {
    "[1-3]?[0-9]{1,5}": "h",
    "1?[0-9]{1,7}": "m",
    "[0-9]{1,9}": "s",
    "[0-9]{1,12}": "ms",
    "[0-9]{1,15}": "(?:us|µs|μs)",
    "[0-9]{1,18}": "ns",
}
"""Units by how many of them there may be: six of the longest parts are still less than Go's longest duration."""
_PARTS = "|".join(rf"(?:0*{n}(?:\.[0-9]*)?|\.[0-9]+){unit}" for n, unit in _UNITS.items())
_GO_DURATION = rf"(?:{_PARTS}){{1,6}}"
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_POSITIVE_NUMBER = r"(?:[0-9]*[1-9][0-9]*(?:\.[0-9]*)?|[0-9]*\.[0-9]*[1-9][0-9]*)"
_SUFFIX = r"(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?"
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_CRON_FIELD = r"[0-9A-Za-z*/,?#-]+"
_FIVE_FIELDS = rf"{_CRON_FIELD}(?:[ \t]+{_CRON_FIELD}){{4}}"
_MACRO = r"@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)"
_ZONE = r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*"
_LEAP_YEAR = "(?:[12][0-9](?:0[48]|[2468][048]|[13579][26])|(?:1[26]|2[048])00)"
_COMMON_DAY = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_RFC_3339 = (
    rf"(?:[12][0-9]{{3}}-{_COMMON_DAY}|{_LEAP_YEAR}-02-29)T{_CLOCK}:[0-5][0-9]"
    rf"(?:\.[0-9]{{1,9}})?(?:Z|[+-]{_CLOCK})"
)
_INSTANT = "an instant with its offset such as 2030-01-31T08:30:00Z"
_QUANTITY = "a quantity such as 20, 500m or 40Gi"
_LONGEST = "399999h at most"
_SHORT_ENOUGH = "duration(self) <= duration('399999h')"


def _spelled(pattern: str, message: str, max_length: int, also: str = "") -> msgspec.Meta:
    """Judges a text by a rule instead of a bare pattern, which people would have to decipher."""
    return doc("", Rule(f"self.matches(r'^(?:{pattern})$'){also}", message), max_length=max_length)


def explained(pattern: str, sentence: str) -> str:
    """Makes a pattern that begins with what it means, for values that no rule can judge by their text.

    A number or a text counts as a text of the size of a whole request when Kubernetes 1.28 prices a rule, and an instant
    reaches a rule already read. The sentence itself never matches: it stands behind the end of the text.
    """
    return f"^(?:$.{sentence}|{pattern})$"


Duration = Annotated[
    str,
    _spelled(
        f"0|{_GO_DURATION}",
        f"must be a duration such as 1h30m or 90s, or 0s, and {_LONGEST}",
        max_length=64,
        also=f" && duration(self) >= duration('0s') && {_SHORT_ENOUGH}",
    ),
]
PositiveDuration = Annotated[
    str,
    _spelled(
        _GO_DURATION,
        f"must be a duration longer than zero such as 1h30m or 90s, and {_LONGEST}",
        max_length=64,
        also=f" && duration(self) > duration('0s') && {_SHORT_ENOUGH}",
    ),
]
Instant = Annotated[datetime, doc(pattern=explained(_RFC_3339, _INSTANT))]
InstantOrEmpty = Annotated[
    str, _spelled(f"|{_RFC_3339}", f"must be {_INSTANT}, or empty", max_length=64)
]
"""An instant as text, for members of which the originals wrote an empty one."""

TimeZone = Annotated[
    str,
    _spelled(
        f"|{_ZONE}", "must be the name of a time zone such as UTC or Europe/Berlin", max_length=64
    ),
]
"""The name of a zone; empty is as good as absent."""
Schedule = Annotated[
    str,
    _spelled(
        rf"|[ \t]*(?:{_MACRO}|{_FIVE_FIELDS})[ \t]*",
        "must be five cron fields such as '0 2 * * 1-5', or a word such as @daily",
        max_length=128,
    ),
]
"""A cron expression, blanks around it allowed; an empty one is as good as absent."""
ZonedSchedule = Annotated[
    str,
    _spelled(
        rf"[ \t]*(?:(?:CRON_)?TZ={_ZONE}[ \t]+)?(?:{_MACRO}|@every {_GO_DURATION}|{_FIVE_FIELDS})[ \t]*",
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
        "(?:RRULE:)?FREQ=[A-Z]+(?:;[A-Z]+=[A-Z0-9,+-]+)*",
        "must be an iCalendar rule such as FREQ=WEEKLY;BYDAY=MO,WE",
        max_length=512,
    ),
]

Name = Annotated[
    str,
    _spelled(
        rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*",
        "must be lower-case letters, digits, dashes and dots such as team-a.builder",
        max_length=253,
    ),
]
Label = Annotated[
    str,
    _spelled(
        _DNS_LABEL, "must be lower-case letters, digits and dashes such as team-a", max_length=63
    ),
]
Text = Annotated[str, doc(min_length=1, max_length=253)]
Count = Annotated[int, doc(minimum=0)]
Int32 = Annotated[int, doc(minimum=0, maximum=2147483647, format="int32")]
Decimal = Annotated[
    str,
    _spelled(r"[0-9]+(?:\.[0-9]+)?", "must be a decimal number such as 0.05", max_length=32),
]
"""A price or a factor, written out so that nothing is rounded on the way."""

Quantity = Annotated[
    str | int,
    doc(
        pattern=explained(rf"\+?{_NUMBER}{_SUFFIX}", f"{_QUANTITY}, not less than zero"),
        minimum=0,
        max_length=64,
    ),
]
PositiveQuantity = Annotated[
    str | int,
    doc(
        pattern=explained(rf"\+?{_POSITIVE_NUMBER}{_SUFFIX}", f"{_QUANTITY}, more than zero"),
        minimum=1,
        max_length=64,
    ),
]
SignedQuantity = Annotated[
    str | int,
    doc(pattern=explained(rf"[+-]?{_NUMBER}{_SUFFIX}", _QUANTITY), max_length=64),
]
Limit = Annotated[
    str | int,
    doc(
        pattern=explained(
            rf"\+?(?:{_NUMBER}{_SUFFIX}|(?:[0-9.]{{1,10}}(?:[hm]|[mnuµμ]?s)){{1,6}})",
            f"{_QUANTITY}, or as max-duration a duration such as 24h",
        ),
        minimum=0,
        max_length=64,
    ),
]
"""A quantity or, under `max-duration`, a length of time."""
