"""Go durations, the way Kubernetes writes lengths of time: "1h30m", "90s", "1.5h".

Called for every duration in a spec; calls nothing. It reads and prints exactly what Go's parser and printer do, down to
the float arithmetic Go uses for fractions, because a duration that one side accepts and the other refuses, or that
differs by a nanosecond, is a difference between our answer and the server's.
"""

import datetime as dt
import re

import msgspec

MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

_UNITS = {
    "ns": 1,
    "us": MICROSECOND,
    "\u00b5s": MICROSECOND,  # micro sign, the one that is printed
    "\u03bcs": MICROSECOND,  # Greek mu
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART = re.compile(r"(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
_LIMIT = 2**63
_CENTURIES = 10**10
"""Seconds."""


class InvalidDuration(ValueError):
    """The text is not a Go duration."""


class Duration(msgspec.Struct, frozen=True, order=True, gc=False):
    """A length of time in whole nanoseconds; may be negative."""

    nanoseconds: int

    @property
    def seconds(self) -> int:
        """Whole seconds; what is left over is cut off."""
        return _truncate(self.nanoseconds, SECOND)

    @property
    def timedelta(self) -> dt.timedelta:
        """The same length for datetimes; nanoseconds that do not make a microsecond are cut off."""
        return dt.timedelta(microseconds=_truncate(self.nanoseconds, MICROSECOND))

    def __str__(self) -> str:
        sign, rest = ("-", -self.nanoseconds) if self.nanoseconds < 0 else ("", self.nanoseconds)
        if rest < SECOND:
            return sign + _below_a_second(rest)
        minutes, rest = divmod(rest, MINUTE)
        hours, minutes = divmod(minutes, 60)
        text = _decimal(rest, SECOND) + "s"
        if hours or minutes:
            text = f"{minutes}m{text}"
        return f"{sign}{hours}h{text}" if hours else sign + text


def parse(text: str) -> Duration:
    """Reads a duration, refusing whatever Go refuses."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return Duration(0)
    total, position = 0, 0
    while position < len(unsigned) or not position:
        part = _PART.match(unsigned, position)
        if part is None:
            raise _invalid(text, "write numbers with units, such as 1h30m or 1.5s")
        total += _nanoseconds(text, *part.groups(""))
        position = part.end()
    negative = text.startswith("-")
    if total >= _LIMIT + negative:
        raise _invalid(text, "it is too long")
    return Duration(-total if negative else total)


_AGES = (
    (120, 1, "s", 0, ""),
    (10 * 60, 60, "m", 1, "s"),
    (180 * 60, 60, "m", 0, ""),
    (8 * 3600, 3600, "h", 60, "m"),
    (48 * 3600, 3600, "h", 0, ""),
    (8 * 86400, 86400, "d", 3600, "h"),
    (730 * 86400, 86400, "d", 0, ""),
    (8 * 365 * 86400, 365 * 86400, "y", 86400, "d"),
)
"""How ages are told that are below so many seconds: in which unit, and in which the rest."""


def of_seconds(count: int) -> dt.timedelta:
    """A length that a spec gives in seconds; three centuries stand for all that is longer, so that instants stay within their calendar."""
    return dt.timedelta(seconds=max(-_CENTURIES, min(count, _CENTURIES)))


def human(seconds: int) -> str:
    """Writes an age as Kubernetes shows it, with fewer parts the longer it is: "45s", "5m3s", "2d4h"."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    for limit, size, unit, small, smaller in _AGES:
        if seconds < limit:
            rest = seconds % size // small if small else 0
            return f"{seconds // size}{unit}" + (f"{rest}{smaller}" if rest else "")
    return f"{seconds // (365 * 86400)}y"


def _nanoseconds(text: str, whole: str, fraction: str, unit: str) -> int:
    factor = _UNITS.get(unit)
    if factor is None:
        raise _invalid(text, f"the unit {unit!r} is unknown")
    digits = whole.lstrip("0")
    if len(digits) > 19:
        raise _invalid(text, "it is too long")
    return int(digits or "0") * factor + _fraction(fraction, factor)


def _fraction(digits: str, factor: int) -> int:
    """Does as Go does: digits that no longer fit 63 bits are ignored, the rest is computed in floats."""
    number, scale = 0, 1.0
    for digit in digits:
        longer = number * 10 + int(digit)
        if longer > _LIMIT:
            break
        number, scale = longer, scale * 10
    return int(number * (factor / scale))


def _below_a_second(nanoseconds: int) -> str:
    if not nanoseconds:
        return "0s"
    if nanoseconds < MICROSECOND:
        return f"{nanoseconds}ns"
    if nanoseconds < MILLISECOND:
        return _decimal(nanoseconds, MICROSECOND) + "\u00b5s"
    return _decimal(nanoseconds, MILLISECOND) + "ms"


def _decimal(nanoseconds: int, unit: int) -> str:
    whole, rest = divmod(nanoseconds, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{str(unit + rest)[1:].rstrip('0')}"


def _truncate(nanoseconds: int, unit: int) -> int:
    return nanoseconds // unit if nanoseconds >= 0 else -(-nanoseconds // unit)


def _invalid(text: str, why: str) -> InvalidDuration:
    return InvalidDuration(f"{text[:64]!r} is not a duration: {why}")
