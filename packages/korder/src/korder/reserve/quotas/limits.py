"""The limits of a quota that are in force at an instant, time windows included, and which limits the coming days bring."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from itertools import groupby, islice
import re
from typing import Protocol

from cronsim import CronSim

from korder import cron
from korder.api.quota import (
    DEFAULT_HARD,
    DEFAULT_MAX_DURATION,
    MAX_DURATION_KEY,
    MOST_MULTIPLIED,
    QuotaSpec,
    TimeWindow,
    Weekday,
)
from korder.cron import DAY, Calendar, InvalidSchedule, Schedule, Span
from kubeloop.objects import duration, quantity, resources
from kubeloop.objects.duration import SECOND, Duration
from kubeloop.objects.quantity import Quantity
from kubeloop.objects.resources import Resources

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
    firings = cron.parse(expression, zone)
    if length:
        return AfterFirings(firings, _positive(length))
    return _by_fields(firings)


@lru_cache(maxsize=4096)
def _check_factor(multiplier: str | float | None) -> None:
    odd = isinstance(multiplier, str) and _NUMBER.fullmatch(multiplier) is None
    if multiplier is not None and (odd or not 0 <= float(multiplier) <= MOST_MULTIPLIED):
        stated = f"multiplier must be a number from 0 to {MOST_MULTIPLIED}, not {multiplier!r}"
        raise InvalidSchedule(stated)


def _positive(length: str) -> timedelta:
    try:
        found = duration.parse(length).timedelta
    except ValueError:
        found = timedelta(0)
    if found <= timedelta(0):
        stated = f"duration must be longer than zero, such as 1h30m or 90s, not {length!r}"
        raise InvalidSchedule(stated)
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
    return Calendar(cron.zone_of(zone), lambda day: day.weekday() in days, (_span(hours),))


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


Written = Mapping[str, str | int]
_MOST_CHANGES = 16
"""Edges of windows behind which the limits may still be the same."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The greatest amounts, by key, and the longest hold."""

    amounts: Resources
    longest: Duration | None = None

    def render(self) -> dict[str, str]:
        """The limits for the wire."""
        stated = resources.render(self.amounts)
        return stated if self.longest is None else {**stated, MAX_DURATION_KEY: str(self.longest)}


@dataclass(frozen=True, slots=True)
class InForce:
    """What holds now: for the quota, for each of its allocations, and by which windows."""

    hard: Limits
    allocations: tuple[Limits, ...] = ()
    windows: tuple[str, ...] = ()


def read(written: Written) -> Limits:
    """Reads limits as people write them; what cannot be read is nothing."""
    amounts = {key: _amount(each) for key, each in written.items() if key != MAX_DURATION_KEY}
    longest = written.get(MAX_DURATION_KEY)
    return Limits(amounts, None if longest is None else _length(longest))


def length(written: str | int) -> Duration:
    """Reads a longest duration: 24h, or whole seconds as a number or a text.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(written, str) and written[-1:].isalpha():
        return duration.parse(written)
    return Duration(int(Fraction(str(written))) * SECOND)


def _amount(written: str | int) -> Quantity:
    try:
        return quantity.parse(written)
    except quantity.InvalidQuantity:
        return quantity.ZERO


def _length(written: str | int) -> Duration:
    try:
        return length(written)
    except ValueError:
        return Duration(0)


def ordinary(spec: QuotaSpec) -> Limits:
    """The limits outside all windows, with what holds for those who do not say."""
    return read({MAX_DURATION_KEY: DEFAULT_MAX_DURATION, **(spec.hard or DEFAULT_HARD)})


def in_force(spec: QuotaSpec, instant: datetime) -> InForce:
    """The limits at an instant."""
    windows = _windows_in_force(spec.time_windows, instant)
    factors = [window.factor for window in windows if window.factor is not None]
    own = [read(window.hard) for window in windows if window.factor is None]
    plain, allocated = ordinary(spec), [read(each.limits) for each in spec.allocation]
    factor = min(factors, default=Fraction(1))
    spoken = [limits.amounts for limits in own]
    if factors:
        spoken.append(resources.scale(plain.amounts, factor))
    longest = [limits.longest for limits in own if limits.longest is not None]
    return InForce(
        Limits({**plain.amounts, **_strictest(spoken)}, min(longest, default=plain.longest)),
        tuple(Limits(resources.scale(a.amounts, factor), a.longest) for a in allocated),
        tuple(window.name for window in windows),
    )


def surely_until(spec: QuotaSpec, instant: datetime) -> datetime | None:
    """Until when the same windows are surely open; None if there are none."""
    return min((at for _, at in _edges(spec, instant)), default=None)


def next_change(spec: QuotaSpec, instant: datetime) -> datetime | None:
    """When other limits will be in force; None if that cannot be foreseen."""
    now, at = in_force(spec, instant), instant
    for _ in range(_MOST_CHANGES):
        edges = _edges(spec, at)
        if not any(_asked(window, edge) is not _asked(window, at) for window, edge in edges):
            return None
        at = min(edge for _, edge in edges)
        if in_force(spec, at) != now:
            return at
    return None


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known from an instant on, until a window may open or close."""

    force: InForce
    change: datetime | None
    since: datetime
    until: datetime | None

    def holds(self, instant: datetime) -> bool:
        return self.since <= instant and (self.until is None or instant < self.until)


class Memory:
    """The limits of one quota, worked out anew only when a window may have opened or closed."""

    def __init__(self, spec: QuotaSpec) -> None:
        self._spec = spec
        self._known: _Known | None = None

    def at(self, instant: datetime) -> InForce:
        """The limits at an instant; instants that mostly grow are cheap."""
        return self._at(instant).force

    def next_change(self, instant: datetime) -> datetime | None:
        """When other limits will be in force, as far as it can be foreseen."""
        return self._at(instant).change

    def surely_until(self, instant: datetime) -> datetime | None:
        """Until when the same windows are surely open; None if there are none."""
        return self._at(instant).until

    def _at(self, instant: datetime) -> _Known:
        known = self._known
        if known is None or not known.holds(instant):
            spec = self._spec
            known = self._known = _Known(
                in_force(spec, instant),
                next_change(spec, instant),
                instant,
                surely_until(spec, instant),
            )
        return known


def _windows_in_force(all_windows: Iterable[TimeWindow], instant: datetime) -> list[TimeWindow]:
    """The open windows of the highest priority."""
    opened = _open(all_windows, instant)
    highest = max((window.priority for window in opened), default=0)
    return [window for window in opened if window.priority == highest]


def _open(all_windows: Iterable[TimeWindow], instant: datetime) -> list[TimeWindow]:
    return [window for window in all_windows if _asked(window, instant)]


def _asked(window: TimeWindow, instant: datetime) -> bool:
    try:
        return times_of(window).holds(instant)
    except InvalidSchedule:
        return False


def _edges(spec: QuotaSpec, instant: datetime) -> list[tuple[TimeWindow, datetime]]:
    """The windows that can be read, and until when each surely stays as it is."""
    found = []
    for window in spec.time_windows:
        with suppress(InvalidSchedule):
            found.append((window, times_of(window).until(instant)))
    return found


def _strictest(spoken: Iterable[Resources]) -> dict[str, Quantity]:
    least: dict[str, Quantity] = {}
    for amounts in spoken:
        for key, amount in amounts.items():
            least[key] = min(least.get(key, amount), amount)
    return least


_MOST_EDGES = 2_000
"""Edges that are looked at; a window that opens every minute is told only so far."""


@dataclass(frozen=True, slots=True)
class LimitSpan:
    """A time in which the same limits are in force."""

    begin: datetime
    end: datetime
    force: InForce


def spans(spec: QuotaSpec, begin: datetime, end: datetime) -> list[LimitSpan]:
    """All spans between two instants, one after the other without a gap."""
    found: list[LimitSpan] = []
    for since, until in _limit_edges(spec, begin, end):
        force = in_force(spec, since)
        if found and found[-1].force == force:
            found[-1] = LimitSpan(found[-1].begin, until, force)
        else:
            found.append(LimitSpan(since, until, force))
    return found


def _limit_edges(
    spec: QuotaSpec, begin: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    at = begin
    for _ in range(_MOST_EDGES):
        following = surely_until(spec, at)
        until = end if following is None else min(following, end)
        yield at, until
        if until >= end:
            return
        at = until
