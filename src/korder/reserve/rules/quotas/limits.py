"""The limits of a quota that are in force at an instant, windows included.

`verdict` judges by them, `quotastatus` shows them. Amounts are exact: half of five tickets is two and a half, and two fit. Of the windows
that are open those of the highest priority count, and of these the strictest for each limit; a multiplier speaks for all limits
but `max-duration`, a window with limits of its own only for those. Allocations are parts of the quota, so a multiplier holds for
them as well. A window that nobody can read is never open, and a limit that nobody can read allows nothing; `quotastatus` tells of both.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from korder.api import duration, quantity, resources
from korder.api.duration import SECOND, Duration
from korder.api.quantity import Quantity
from korder.api.quota import (
    DEFAULT_HARD,
    DEFAULT_MAX_DURATION,
    MAX_DURATION_KEY,
    QuotaSpec,
    TimeWindow,
)
from korder.api.resources import Resources
from korder.reserve.rules.quotas import windows

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
        told = resources.render(self.amounts)
        return told if self.longest is None else {**told, MAX_DURATION_KEY: str(self.longest)}


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
    counting = _counting(spec.time_windows, instant)
    factors = [window.factor for window in counting if window.factor is not None]
    own = [read(window.hard) for window in counting if window.factor is None]
    plain, allocated = ordinary(spec), [read(each.limits) for each in spec.allocation]
    factor = min(factors, default=Fraction(1))
    spoken = [limits.amounts for limits in own]
    if factors:
        spoken.append(resources.scale(plain.amounts, factor))
    longest = [limits.longest for limits in own if limits.longest is not None]
    return InForce(
        Limits({**plain.amounts, **_strictest(spoken)}, min(longest, default=plain.longest)),
        tuple(Limits(resources.scale(a.amounts, factor), a.longest) for a in allocated),
        tuple(window.name for window in counting),
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


def _counting(all_windows: Iterable[TimeWindow], instant: datetime) -> list[TimeWindow]:
    """The open windows of the highest priority."""
    opened = _open(all_windows, instant)
    highest = max((window.priority for window in opened), default=0)
    return [window for window in opened if window.priority == highest]


def _open(all_windows: Iterable[TimeWindow], instant: datetime) -> list[TimeWindow]:
    return [window for window in all_windows if _asked(window, instant)]


def _asked(window: TimeWindow, instant: datetime) -> bool:
    try:
        return windows.times_of(window).holds(instant)
    except windows.InvalidSchedule:
        return False


def _edges(spec: QuotaSpec, instant: datetime) -> list[tuple[TimeWindow, datetime]]:
    """The windows that can be read, and until when each surely stays as it is."""
    found = []
    for window in spec.time_windows:
        with suppress(windows.InvalidSchedule):
            found.append((window, windows.times_of(window).until(instant)))
    return found


def _strictest(spoken: Iterable[Resources]) -> dict[str, Quantity]:
    least: dict[str, Quantity] = {}
    for amounts in spoken:
        for key, amount in amounts.items():
            least[key] = min(least.get(key, amount), amount)
    return least
