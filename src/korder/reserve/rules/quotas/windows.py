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
import re
from typing import Protocol

from cronsim import CronSim

from korder.api import duration
from korder.api.quota import MOST_MULTIPLIED, TimeWindow, Weekday
from korder.reserve.rules.quotas.calendars import DAY, Calendar, Span
from korder.reserve.rules.schedules import schedule
from korder.reserve.rules.schedules.schedule import InvalidSchedule, Schedule

__all__ = ["InvalidSchedule", "Times", "check", "times_of"]

_MOST_FIRINGS = 5_000
"""Firings that are followed from one to the next while each comes before the end of the last."""
_WEEK = tuple(Weekday)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{2})-([0-9]{1,2}):([0-9]{2})")


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
        return _surely_until(self, instant)


@lru_cache(maxsize=256)
def _surely_until(times: AfterFirings, instant: datetime) -> datetime:
    """Thousands of firings take long to follow, and the same instant is asked about more than once."""
    last = times.schedule.last_until(instant, instant - times.length)
    if last is None:
        return times.schedule.next_after(instant)
    for following in islice(times.schedule.after(last), _MOST_FIRINGS):
        if following > last + times.length:
            break
        last = following
    return last + times.length


def times_of(window: TimeWindow) -> Times:
    """When a window is open.

    Raises:
        InvalidSchedule: its schedule, its duration, its hours, its zone or its multiplier say nothing.
    """
    _check_factor(window.multiplier)
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
        return AfterFirings(firings, _positive(length))
    return _by_fields(firings)


@lru_cache(maxsize=4096)
def _check_factor(multiplier: str | float | None) -> None:
    odd = isinstance(multiplier, str) and _NUMBER.fullmatch(multiplier) is None
    if multiplier is not None and (odd or not 0 <= float(multiplier) <= MOST_MULTIPLIED):
        told = f"multiplier must be a number from 0 to {MOST_MULTIPLIED}, not {multiplier!r}"
        raise InvalidSchedule(told)


def _positive(length: str) -> timedelta:
    try:
        found = duration.parse(length).timedelta
    except ValueError:
        found = timedelta(0)
    if found <= timedelta(0):
        told = f"duration must be longer than zero, such as 1h30m or 90s, not {length!r}"
        raise InvalidSchedule(told)
    return found


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
    clocks = _HOURS.fullmatch(hours)
    if clocks is None:
        raise InvalidSchedule(f"hours must be two times such as 09:00-17:00, not {hours!r}")
    hour, minute, last_hour, last_minute = map(int, clocks.groups())
    begin, end = hour * 60 + minute, last_hour * 60 + last_minute
    return (begin, end if begin < end else end + DAY)
