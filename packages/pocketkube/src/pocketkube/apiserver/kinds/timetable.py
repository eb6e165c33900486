"""Whether a text is a timetable of cron, and what a server says if it is not; `cronjobs` asks."""

from typing import Final, NamedTuple

from kubeloop.objects import duration

_MONTHS: Final = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_DESCRIPTORS: Final = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)


class _Bounds(NamedTuple):
    least: int
    most: int
    names: dict[str, int]


_FIELDS: Final = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, {name: at for at, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: at for at, name in enumerate(_DAYS)}),
)


class _Wrong(ValueError):
    pass


def wrong(schedule: str) -> str:
    """What is wrong with a timetable; nothing if it is a good one."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    try:
        _check(schedule)
    except _Wrong as error:
        return str(error)
    return ""


def _check(schedule: str) -> None:
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        stated = " ".join(fields)
        raise _Wrong(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{stated}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for part in filter(None, field.split(",")):
            _check_range(part, bounds)


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith("@every "):
        raise _Wrong(f"unrecognized descriptor: {text}")
    try:
        duration.parse(text.removeprefix("@every "))
    except ValueError:
        stated = text.removeprefix("@every ")
        raise _Wrong(
            f'failed to parse duration {text}: time: invalid duration "{stated}"'
        ) from None


def _check_range(text: str, bounds: _Bounds) -> None:
    extent, *steps = text.split("/")
    ends = extent.split("-")
    if ends[0] in ("*", "?"):
        first, last = bounds.least, bounds.most
    else:
        if len(ends) > 2:
            raise _Wrong(f"too many hyphens: {text}")
        first = _number(ends[0], bounds.names)
        last = _number(ends[-1], bounds.names)
    if len(steps) > 1:
        raise _Wrong(f"too many slashes: {text}")
    step = _number(steps[0], {}) if steps else 1
    if steps and len(ends) == 1:
        last = bounds.most
    if first < bounds.least:
        raise _Wrong(f"beginning of range ({first}) below minimum ({bounds.least}): {text}")
    if last > bounds.most:
        raise _Wrong(f"end of range ({last}) above maximum ({bounds.most}): {text}")
    if first > last:
        raise _Wrong(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if step == 0:
        raise _Wrong(f"step of range should be a positive number: {text}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise _Wrong(
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax'
        )
    if len(digits) > 18:
        raise _Wrong(
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range'
        )
    if int(text) < 0:
        raise _Wrong(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
