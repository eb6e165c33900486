"""Firings: when a cron expression is due, in a time zone.

Order rules ask for the firings before and after an instant, admission asks `check`. Terms are read here, so that a mistake is told
in one sentence and a range may wrap around (`18-8`); a calendar of `clockchanges` then steps on. When clocks change: a schedule
with a fixed minute and hour fires once, at the first occurrence of an hour that comes twice, and at the end of the gap if its
hour is left out; one whose minute or hour begins with `*` follows the time that really passes. If day of month and day of week
are both restricted, either is enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSimError

from korder.reserve.rules.schedules import clockchanges, cronfields
from korder.reserve.rules.schedules.cronfields import InvalidSchedule

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
        for local in clockchanges.calendar(self.zone)(self.fields, instant.astimezone(self.zone)):
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
    schedule = Schedule(cronfields.normal(MACROS.get(text.lower(), text)), zone)
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
        told = f"time zone {name[:64]!r} is unknown; use a name such as UTC or Europe/Berlin"
        raise InvalidSchedule(told) from None


def _zone_and_rest(text: str, time_zone: str) -> tuple[ZoneInfo, str]:
    prefix = next((each for each in _PREFIXES if text.startswith(each)), "")
    if not prefix:
        return zone_of(time_zone), text
    named, _, rest = text.removeprefix(prefix).partition(" ")
    if time_zone not in ("", "UTC", named):
        told = (
            f"the schedule names time zone {named}, and timeZone names {time_zone}; name only one"
        )
        raise InvalidSchedule(told)
    return zone_of(named), rest.strip()
