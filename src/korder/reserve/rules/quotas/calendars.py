"""Days and hours in a time zone: whether an instant lies in them, and until when that surely stays so.

`windows` calls it. Only the clock on the wall counts: an hour that comes twice is in or out twice, one that is left out never comes. A
span that runs past midnight belongs to the day on which it begins. Where the clock is set, one looks again: nothing else can
move a wall clock by more than time does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

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
