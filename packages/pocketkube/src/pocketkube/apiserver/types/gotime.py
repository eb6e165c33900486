"""Timestamps in objects, read as Go reads them and refused in its words.

`values` calls it. `kubeloop.objects.instant` knows what an instant is; here are only the two layouts and the sentences.
"""

from datetime import UTC, datetime
from functools import lru_cache
import re

from kubeloop.objects import instant
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.types.mismatch import Mismatch, said

_ZERO = datetime(1, 1, 1, tzinfo=UTC)
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"

# What Go looks for, step by step, with its name in the layout and the highest number allowed there.
_STEPS = (
    (r"\d{4}", "2006", "", 9999),
    (r"-", "-", "", 0),
    (r"\d\d", "01", "month", 12),
    (r"-", "-", "", 0),
    (r"\d\d", "02", "day", 31),
    (r"T", "T", "", 0),
    (r"\d\d?", "15", "hour", 23),
    (r":", ":", "", 0),
    (r"\d\d", "04", "minute", 59),
    (r":", ":", "", 0),
    (r"\d\d", "05", "second", 59),
)
_FRACTION = re.compile(r"[.,]\d+")
_MICROS = re.compile(r"\.\d{6}")
_WHOLE_MICROS = re.compile(r"\.\d{6}(?!\d)")
_ZONE = re.compile(r"Z|[+-](\d\d):\d\d")
_SHORT_HOUR = re.compile(r"(?<=T)\d(?=:)")


@lru_cache(maxsize=4096)
def read(text: str) -> str | None:
    """Reads a `Time`: whole seconds are kept. Go's first instant is none."""
    try:
        parsed = _parsed(text)
    except ValueError:
        raise _why(text, _LAYOUT) from None
    return None if parsed == _ZERO else instant.render(parsed)


def read_micro(text: str) -> str | None:
    """Reads a `MicroTime`, which must have six digits after the point."""
    try:
        parsed = _parsed(text)
    except ValueError:
        raise _why(text, _MICRO_LAYOUT) from None
    if _WHOLE_MICROS.search(text) is None:
        raise _why(text, _MICRO_LAYOUT)
    return None if parsed == _ZERO else instant.render_micro(parsed)


def _parsed(text: str) -> datetime:
    return instant.parse(_SHORT_HOUR.sub(r"0\g<0>", text))


def _why(text: str, layout: str) -> Mismatch:
    rest = text
    for pattern, name, unit, most in _STEPS:
        found = re.match(pattern, rest, re.ASCII)
        if found is None:
            return _cannot(text, layout, rest, name)
        if unit and (int(found[0]) > most or (unit in ("month", "day") and found[0] == "00")):
            return said(f"parsing time {fielderrors.quote(text)}: {unit} out of range")
        rest = rest[found.end() :]
    return _after_seconds(text, layout, rest)


def _after_seconds(text: str, layout: str, rest: str) -> Mismatch:
    micro = layout is _MICRO_LAYOUT
    fraction = (_MICROS if micro else _FRACTION).match(rest)
    if micro and fraction is None:
        return _cannot(text, layout, rest, ".000000")
    rest = rest[fraction.end() :] if fraction else rest
    zone = _ZONE.match(rest)
    if zone is None:
        return _cannot(text, layout, rest, "Z07:00")
    quoted = fielderrors.quote(text)
    if rest[zone.end() :]:
        extra = fielderrors.quote(rest[zone.end() :])
        return said(f"parsing time {quoted}: extra text: {extra}")
    hours = int(zone[1] or 0)
    unit = "time zone offset hour" if hours > 24 else "day"
    return said(f"parsing time {quoted}: {unit} out of range")


def _cannot(text: str, layout: str, rest: str, element: str) -> Mismatch:
    quoted, left = fielderrors.quote(text), fielderrors.quote(rest)
    return said(f'parsing time {quoted} as "{layout}": cannot parse {left} as "{element}"')
