"""Whether a time window of a quota is open, and until when that surely stays so.

`limits` and `timeline` ask it; it asks `schedule` and `calendars`. A window has one of three forms. A schedule with a duration is open from each
firing on for so long. A schedule alone means every minute whose hour, day and month fit: its minute field says nothing, so
`0 9-17 * * 1-5` is open from nine to six on weekdays, and `0 18-8 * * *` from six in the evening to nine in the morning. Weekdays
and hours say it in plain words.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import groupby, islice
from typing import Protocol

from cronsim import CronSim

from korder.api import duration
from korder.api.quota import TimeWindow, Weekday
from korder.reserve.rules.orders import schedule
from korder.reserve.rules.orders.schedule import InvalidSchedule, Schedule
from korder.reserve.rules.quotas.calendars import DAY, Calendar, Span

__all__ = ["InvalidSchedule", "Times", "check", "times_of"]

_MOST_FIRINGS = 5_000
"""Firings that are followed from one to the next while each comes before the end of the last."""
_WEEK = tuple(Weekday)


class Times(Protocol):
    """When something is open."""

    def holds(self, instant: datetime) -> bool: ...

    def until(self, instant: datetime) -> datetime: ...


@dataclass(frozen=True, slots=True)
class AfterFirings:
    """Open for a while after each firing."""

    schedule: Schedule
    length: timedelta

    def holds(self, instant: datetime) -> bool:
        return self.schedule.last_until(instant, instant - self.length) is not None

    def until(self, instant: datetime) -> datetime:
        """Until when that surely stays so: the next change, or so far that thousands of firings lie between."""
        last = self.schedule.last_until(instant, instant - self.length)
        if last is None:
            return self.schedule.next_after(instant)
        for following in islice(self.schedule.after(last), _MOST_FIRINGS):
            if following > last + self.length:
                break
            last = following
        return last + self.length


def times_of(window: TimeWindow) -> Times:
    """When a window is open.

    Raises:
        InvalidSchedule: its schedule, its hours or its zone say nothing.
    """
    text = window.duration or ""
    return _times(window.schedule, text, window.time_zone, window.weekdays, window.hours or "")


def check(window: TimeWindow) -> str:
    """Says in one sentence what is wrong with the times of a window; empty if nothing is."""
    try:
        times_of(window)
    except InvalidSchedule as wrong:
        return str(wrong)
    return ""


@lru_cache(maxsize=4096)
def _times(
    expression: str, length: str, zone: str, weekdays: tuple[Weekday, ...], hours: str
) -> Times:
    if not expression.strip():
        return _by_weekday(zone, weekdays, hours)
    firings = schedule.parse(expression, zone)
    if length:
        return AfterFirings(firings, duration.parse(length).timedelta)
    return _by_fields(firings)


def _by_fields(firings: Schedule) -> Calendar:
    """All hours that the fields of an expression name, of the days that they name."""
    fields = CronSim(firings.fields, datetime(2024, 1, 1, tzinfo=UTC))
    spans = []
    for _, run in groupby(enumerate(sorted(fields.hours)), lambda each: each[1] - each[0]):
        hours = [hour for _, hour in run]
        spans.append((hours[0] * 60, (hours[-1] + 1) * 60))

    def fits(day: date) -> bool:
        return day.month in fields.months and fields.match_day(day)

    return Calendar(firings.zone, fits, tuple(spans))


def _by_weekday(zone: str, weekdays: tuple[Weekday, ...], hours: str) -> Calendar:
    days = frozenset(map(_WEEK.index, weekdays or _WEEK))
    return Calendar(schedule.zone_of(zone), lambda day: day.weekday() in days, (_span(hours),))


def _span(hours: str) -> Span:
    """The span that a text such as 22:00-06:00 means; two equal times are a whole day."""
    if not hours:
        return (0, DAY)
    begin, end = map(_minute, hours.split("-"))
    return (begin, end if begin < end else end + DAY)


def _minute(clock: str) -> int:
    hour, _, minute = clock.partition(":")
    return int(hour) * 60 + int(minute)
