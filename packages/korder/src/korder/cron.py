"""Cron expressions: at which instants they fire in a time zone, and how long an instant stays inside or outside of them.

Orders, quotas and bookings read their schedules here. `Schedule` answers when an expression fires next; `Calendar` whether an instant lies in the days
and hours of an expression. `cronsim` jumps to the midnight of a day, which need not exist where clocks change, and steps by elapsed time, which
skips minutes where an offset is not a full hour; `CronCalendar` and `StepByStep` correct both.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from itertools import pairwise
import re
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

Span = tuple[int, int]
"""Minutes after midnight: from the first, up to and without the second, which may lie in the next day."""

DAY = 24 * 60
_A_DAY = timedelta(days=1)
_MOST_LOOKS = 4_000
"""Looks ahead for a change; even days that come every eighth year lie within."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """Spans of the days that a function chooses."""

    zone: ZoneInfo
    days: Callable[[date], bool]
    spans: tuple[Span, ...]

    def holds(self, instant: datetime) -> bool:
        """Says whether the instant lies in a span."""
        local = instant.astimezone(self.zone)
        minute, today = local.hour * 60 + local.minute, local.date()
        return (_within(self.spans, minute) and self.days(today)) or (
            _within(self.spans, minute + DAY) and self.days(today - _A_DAY)
        )

    def until(self, instant: datetime) -> datetime:
        """Until when that surely stays so: nearly always the next change, and never later than it."""
        held, at = self.holds(instant), instant.astimezone(UTC)
        for _ in range(_MOST_LOOKS):
            at = self._next_look(at)
            if self.holds(at) is not held:
                break
        return at

    def _next_look(self, at: datetime) -> datetime:
        """The next instant at which something can change."""
        local = at.astimezone(self.zone)
        minute = local.hour * 60 + local.minute
        marks = _marks(self.spans) if self._counts(local.date()) else ()
        following = next((mark for mark in marks if mark > minute), DAY)
        seconds = timedelta(seconds=local.second, microseconds=local.microsecond)
        look = at + timedelta(minutes=following - minute) - seconds
        return self._clock_set(at, look) or look

    def _counts(self, day: date) -> bool:
        """Says whether spans lie in a day at all."""
        return self.days(day) or self.days(day - _A_DAY)

    def _clock_set(self, begin: datetime, end: datetime) -> datetime | None:
        """When the clock was set between two instants that are no more than a day apart."""
        offset = begin.astimezone(self.zone).utcoffset()
        if end.astimezone(self.zone).utcoffset() == offset:
            return None
        first = begin.replace(second=0, microsecond=0)
        low, high = 0, int((end - first) / timedelta(minutes=1))
        while high - low > 1:
            middle = (low + high) // 2
            at = first + timedelta(minutes=middle)
            low, high = (
                (middle, high) if at.astimezone(self.zone).utcoffset() == offset else (low, middle)
            )
        return first + timedelta(minutes=high)


@lru_cache(maxsize=1024)
def _marks(spans: tuple[Span, ...]) -> tuple[int, ...]:
    """The minutes of a day at which spans begin or end."""
    return tuple(sorted({edge % DAY for span in spans for edge in span}))


def _within(spans: Iterable[Span], minute: int) -> bool:
    return any(begin <= minute < end for begin, end in spans)


_QUARTER = timedelta(minutes=15)
"""Offsets and the times at which they change are multiples of it."""
_WEEK = timedelta(weeks=1)
_WEEKS = tuple(datetime(2026, 1, 1, tzinfo=UTC) + _WEEK * each for each in range(53))
"""One year is looked through: at which time of the day clocks change is the same in others."""


class CronCalendar(CronSim):
    """Enters a day at its first minute, also if that is not midnight."""

    def advance_month(self) -> None:
        if self.dt.month not in self.months:
            super().advance_month()
            self._leave_gap()

    def advance_day(self) -> bool:
        if not super().advance_day():
            return False
        self._leave_gap()
        return True

    def _leave_gap(self) -> None:
        if self.dt.tzinfo is not None:
            self.dt = self.dt.astimezone(UTC).astimezone(self.dt.tzinfo)


class StepByStep(CronCalendar):
    """Leaves out no minute, wherever within an hour clocks change."""

    def advance_minute(self) -> bool:
        if self.dt.minute in self.minutes:
            return False
        self.dt = self.dt.replace(second=0)
        hour = self.dt.hour
        while self.dt.minute not in self.minutes and self.dt.hour == hour:
            self.tick(seconds=60)
        return True

    def advance_hour(self) -> bool:
        if self.dt.hour in self.hours:
            return False
        self.dt = self.dt.replace(minute=self.dt.minute // 15 * 15, second=0)
        day = self.dt.day
        while self.dt.hour not in self.hours and self.dt.day == day:
            self.tick(seconds=_QUARTER.seconds)
        return True


@cache
def calendar(zone: ZoneInfo) -> type[CronCalendar]:
    """The calendar that is right for a zone, and no slower than need be."""
    return StepByStep if any(_changes_off_the_hour(zone, week) for week in _WEEKS) else CronCalendar


def _changes_off_the_hour(zone: ZoneInfo, week: datetime) -> bool:
    """Says whether clocks are set within a week, from a part of an hour or to one."""
    if week.astimezone(zone).utcoffset() == (week + _WEEK).astimezone(zone).utcoffset():
        return False
    quarters = [(week + each * _QUARTER).astimezone(zone) for each in range(_WEEK // _QUARTER + 1)]
    return any(
        old.utcoffset() != new.utcoffset() and ((old + _QUARTER).minute or new.minute)
        for old, new in pairwise(quarters)
    )


_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_LAST_OR_NTH = re.compile(r"[0-7]L|(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)#[1-5]")


class InvalidSchedule(ValueError):
    """The text is not a schedule; says why in one sentence."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    first: int
    last: int
    highest: int
    """The highest number that may be written; of weekdays it is one more than the last."""
    names: tuple[str, ...] = ()

    def number(self, text: str, term: str) -> int:
        if text in self.names:
            return self.names.index(text) + self.first
        if text.isascii() and text.isdigit() and self.first <= int(text) <= self.highest:
            return int(text)
        named = f", or {self.names[0]} to {self.names[-1]}" if self.names else ""
        stated = (
            f"{term!r} in the {self.name} field: use numbers from {self.first} to {self.highest}"
        )
        raise InvalidSchedule(f"{stated}{named}")

    def span(self, first: int, last: int) -> list[int]:
        """All numbers of a range, around the end of the field if need be."""
        size = self.last - self.first + 1
        length = last - first if first <= last else (last - first) % size
        return [self.first + (first - self.first + each) % size for each in range(length + 1)]


_FIELDS = (
    _Field("minute", 0, 59, 59),
    _Field("hour", 0, 23, 23),
    _Field("day-of-month", 1, 31, 31),
    _Field("month", 1, 12, 12, _MONTHS),
    _Field("day-of-week", 0, 6, 7, _DAYS),
)


def normal(text: str) -> str:
    """Writes an expression of five fields in the plainest form.

    Raises:
        InvalidSchedule: it is none.
    """
    parts = text.upper().split()
    if len(parts) != len(_FIELDS):
        stated = f"{text!r} has {len(parts)} fields; write minute, hour, day of month, month and day of week"
        raise InvalidSchedule(stated)
    return " ".join(map(_normal_field, _FIELDS, parts))


def _normal_field(field: _Field, text: str) -> str:
    return ",".join(_normal_term(field, term) for term in text.split(","))


def _normal_term(field: _Field, term: str) -> str:
    days = field.name in ("day-of-month", "day-of-week")
    if term == "*" or (term == "?" and days):
        return "*"
    if field.name == "day-of-month" and term in ("L", "LW"):
        return term
    if field.name == "day-of-week" and _LAST_OR_NTH.fullmatch(term):
        return term
    base, slash, steps = term.partition("/")
    step = _step(field, steps, term) if slash else 1
    if base == "*":
        return term
    return ",".join(map(str, _numbers(field, base, term, open_ended=bool(slash))[::step]))


def _numbers(field: _Field, base: str, term: str, *, open_ended: bool) -> list[int]:
    """What a number or a range stands for; a number with a step goes on to the field's end."""
    first, dash, last = base.partition("-")
    begin = field.number(first, term)
    if dash:
        return field.span(begin, field.number(last, term))
    return field.span(begin, field.last) if open_ended else field.span(begin, begin)


def _step(field: _Field, text: str, term: str) -> int:
    most = field.last - field.first + 1
    if text.isascii() and text.isdigit() and 1 <= int(text) <= most:
        return int(text)
    stated = f"{term!r} in the {field.name} field: the step must be a number from 1 to {most}"
    raise InvalidSchedule(stated)


__all__ = ["InvalidSchedule", "Schedule", "check", "parse"]

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_PREFIXES = ("CRON_TZ=", "TZ=")
_REACHES = tuple(timedelta(hours=6 * 4**power) for power in range(10))
"""How far to look back for a firing, step by step; the last step is longer than any pause between two firings."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The firings of an expression; all instants are in UTC."""

    fields: str
    zone: ZoneInfo

    def next_after(self, instant: datetime) -> datetime:
        """The first firing later than the instant."""
        return next(self.after(instant))

    def has(self, instant: datetime) -> bool:
        """Says whether the instant is a firing."""
        return self.next_after(instant - timedelta(microseconds=1)) == instant

    def last_until(self, instant: datetime, after: datetime | None = None) -> datetime | None:
        """The last firing at the instant or before it, and later than `after`."""
        for reach in _REACHES:
            begin = max(instant - reach, after) if after is not None else instant - reach
            found = self._last_in(begin, instant)
            if found is not None or begin == after:
                return found
        return None

    def _last_in(self, begin: datetime, end: datetime) -> datetime | None:
        last = None
        for firing in self.after(begin):
            if firing > end:
                break
            last = firing
        return last

    def after(self, instant: datetime) -> Iterator[datetime]:
        """All firings later than the instant; what `cronsim` repeats when clocks are set back is left out."""
        latest = instant
        for local in calendar(self.zone)(self.fields, instant.astimezone(self.zone)):
            firing = local.astimezone(UTC)
            if firing > latest:
                yield firing
                latest = firing


@lru_cache(maxsize=1024)
def parse(expression: str, time_zone: str = "UTC") -> Schedule:
    """Reads an expression.

    Raises:
        InvalidSchedule: it is none, it never fires, or its time zone is unknown.
    """
    zone, text = _zone_and_rest(expression.strip(), time_zone)
    if text.startswith("@") and text.lower() not in MACROS:
        raise InvalidSchedule(f"{expression!r} must be one of {', '.join(MACROS)}, or five fields")
    schedule = Schedule(normal(MACROS.get(text.lower(), text)), zone)
    try:
        schedule.next_after(datetime(2024, 1, 1, tzinfo=UTC))
    except (CronSimError, StopIteration):
        raise InvalidSchedule(f"{expression!r} never fires: no month has such a day") from None
    return schedule


def check(expression: str, time_zone: str = "UTC") -> str:
    """Says in one sentence what is wrong with an expression; empty if nothing is."""
    try:
        parse(expression, time_zone)
    except InvalidSchedule as wrong:
        return str(wrong)
    return ""


def zone_of(name: str) -> ZoneInfo:
    """The zone of this name; empty is UTC.

    Raises:
        InvalidSchedule: there is none.
    """
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):
        stated = f"time zone {name[:64]!r} is unknown; use a name such as UTC or Europe/Berlin"
        raise InvalidSchedule(stated) from None


def _zone_and_rest(text: str, time_zone: str) -> tuple[ZoneInfo, str]:
    prefix = next((each for each in _PREFIXES if text.startswith(each)), "")
    if not prefix:
        return zone_of(time_zone), text
    named, _, rest = text.removeprefix(prefix).partition(" ")
    if time_zone not in ("", "UTC", named):
        stated = (
            f"the schedule names time zone {named}, and timeZone names {time_zone}; name only one"
        )
        raise InvalidSchedule(stated)
    return zone_of(named), rest.strip()
