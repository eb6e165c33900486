"""Calendars for zones whose clocks change, where `cronsim` alone would be wrong.

`schedule` asks for the calendar of a zone. `cronsim` leaps to the midnight of a day, which need not exist: in Cairo and Santiago
clocks go from 0:00 to 1:00. It also leaps from hour to hour and from minute to minute by the time that really passes, which leads
past minutes that were due where clocks change off the full hour: on Lord Howe Island by half an hour, on Chatham Island at 2:45.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim

_QUARTER = timedelta(minutes=15)
"""Offsets and the times at which they change are multiples of it."""
_WEEK = timedelta(weeks=1)
_WEEKS = tuple(datetime(2026, 1, 1, tzinfo=UTC) + _WEEK * each for each in range(53))
"""One year is looked through: at which time of the day clocks change is the same in others."""


class Calendar(CronSim):
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


class StepByStep(Calendar):
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
def calendar(zone: ZoneInfo) -> type[Calendar]:
    """The calendar that is right for a zone, and no slower than need be."""
    return StepByStep if any(_changes_off_the_hour(zone, week) for week in _WEEKS) else Calendar


def _changes_off_the_hour(zone: ZoneInfo, week: datetime) -> bool:
    """Says whether clocks are set within a week, from a part of an hour or to one."""
    if week.astimezone(zone).utcoffset() == (week + _WEEK).astimezone(zone).utcoffset():
        return False
    quarters = [(week + each * _QUARTER).astimezone(zone) for each in range(_WEEK // _QUARTER + 1)]
    return any(
        old.utcoffset() != new.utcoffset() and ((old + _QUARTER).minute or new.minute)
        for old, new in pairwise(quarters)
    )
