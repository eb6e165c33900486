"""Firings where clocks are set by less than an hour, as on Lord Howe Island.

`schedule` uses it for such zones. `cronsim` leaps from hour to hour and from minute to minute by the time that really passes, which
there leads past minutes that were due: here an hour is entered at its first minute, and minutes are tried one after the other.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from cronsim import CronSim

_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)


@cache
def has_some(zone: ZoneInfo) -> bool:
    """Says whether clocks of a zone are set by a part of an hour."""
    offsets = (datetime(2026, month, 1, tzinfo=zone).utcoffset() for month in (1, 7))
    return len({(offset or timedelta()) % _HOUR for offset in offsets}) > 1


class StepByStep(CronSim):
    """Leaves out no minute."""

    def advance_minute(self) -> bool:
        if self.dt.minute in self.minutes:
            return False
        self.dt = self.dt.replace(second=0)
        hour = self.dt.hour
        while self.dt.minute not in self.minutes and self.dt.hour == hour:
            self.tick(seconds=60)
        return True

    def advance_hour(self) -> bool:
        if not super().advance_hour():
            return False
        while self._minute_before().hour == self.dt.hour:
            self.dt = self._minute_before()
        return True

    def _minute_before(self) -> datetime:
        if self.dt.tzinfo is None:
            return self.dt - _MINUTE
        return (self.dt.astimezone(UTC) - _MINUTE).astimezone(self.dt.tzinfo)
