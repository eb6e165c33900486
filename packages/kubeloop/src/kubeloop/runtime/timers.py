"""At most one timer for each of very many names.

`kubeloop.runtime.queue` asks for a look at an instant and withdraws the wish when a look has happened anyway. Both must cost the same for
ten names and for a hundred thousand, so only the timers of the present second are kept in order; later ones wait in a bag per
second. A wish that was met is remembered, because most looks ask for the same instant again; what is stale is dropped
when its second comes, or swept out when it outnumbers the rest.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
import heapq
from itertools import count
from typing import Generic, TypeVar

from kubeloop.runtime.clock import Clock, Timer

K = TypeVar("K", bound=Hashable)

_Timed = tuple[float, int, K]
"""Seconds since 1970, the number of the wish, which keeps names from being compared, and the name."""

_SLACK = 64
_LAST = datetime.max.replace(microsecond=0, tzinfo=UTC).timestamp()
"""The last second of all calendars; a number of seconds cannot tell the end of it from the next one."""


@dataclass(slots=True)
class _Wish:
    """When a name wants its next look, and whether it still waits for it."""

    at: float
    number: int
    open: bool = True


class Timers(Generic[K]):
    """Calls `fire` with each name at the earliest instant that was asked for it."""

    def __init__(self, clock: Clock, fire: Callable[[K], None]) -> None:
        self._clock = clock
        self._fire = fire
        self._wishes: dict[K, _Wish] = {}
        self._soon: list[_Timed[K]] = []
        self._later: dict[int, list[_Timed[K]]] = {}
        self._seconds: list[int] = []
        self._loaded = 0
        """The last second whose bag has been emptied into `_soon`."""
        self._kept = 0
        self._open = 0
        self._sequence = count()
        self._alarm: Timer | None = None
        self._alarm_at: float | None = None

    def __len__(self) -> int:
        return self._open

    def set(self, key: K, instant: datetime) -> None:
        """Asks for a call at `instant`; an earlier wish stands."""
        at = min(instant.timestamp(), _LAST)
        wish = self._wishes.get(key)
        if wish is None or not wish.open:
            self._open += 1
        if wish is not None and wish.at == at:
            wish.open = True
        elif wish is None or not wish.open or at < wish.at:
            number = next(self._sequence)
            self._wishes[key] = _Wish(at, number)
            self._keep((at, number, key))
        self._set_alarm()

    def met(self, key: K) -> None:
        """Withdraws the wish of a name that has just been looked at."""
        wish = self._wishes.get(key)
        if wish is not None and wish.open:
            wish.open = False
            self._open -= 1

    def close(self) -> None:
        """Fires nothing any more."""
        self._wishes.clear()
        self._open = 0
        if self._alarm is not None:
            self._alarm.cancel()

    def _keep(self, timer: _Timed[K]) -> None:
        second = int(timer[0])
        if second <= self._loaded:
            heapq.heappush(self._soon, timer)
        elif second in self._later:
            self._later[second].append(timer)
        else:
            self._later[second] = [timer]
            heapq.heappush(self._seconds, second)
        self._kept += 1
        if self._kept > 2 * self._open + _SLACK:
            self._sweep()

    def _set_alarm(self) -> None:
        while self._soon and not self._stands(self._soon[0]):
            self._drop(heapq.heappop(self._soon))
        first: float | None = self._soon[0][0] if self._soon else None
        if self._seconds and (first is None or self._seconds[0] < first):
            first = float(self._seconds[0])
        if first == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = first
        self._alarm = None if first is None else self._clock.call_at(_instant(first), self._ring)

    def _ring(self) -> None:
        self._alarm = self._alarm_at = None
        now = self._clock.now()
        self._load(int(now.timestamp()))
        while self._soon and _instant(self._soon[0][0]) <= now:
            timer = heapq.heappop(self._soon)
            stands = self._stands(timer)
            self._drop(timer)
            if stands:
                self._fire(timer[2])
        self._set_alarm()

    def _load(self, second: int) -> None:
        """Puts the timers up to this second in order."""
        self._loaded = max(self._loaded, second)
        while self._seconds and self._seconds[0] <= second:
            for timer in self._later.pop(heapq.heappop(self._seconds)):
                if self._stands(timer):
                    heapq.heappush(self._soon, timer)
                else:
                    self._drop(timer)

    def _stands(self, timer: _Timed[K]) -> bool:
        wish = self._wishes.get(timer[2])
        return wish is not None and wish.open and wish.number == timer[1]

    def _drop(self, timer: _Timed[K]) -> None:
        self._kept -= 1
        wish = self._wishes.get(timer[2])
        if wish is not None and wish.number == timer[1]:
            self._open -= wish.open
            del self._wishes[timer[2]]

    def _sweep(self) -> None:
        every = [*self._soon, *(timer for bag in self._later.values() for timer in bag)]
        standing = [timer for timer in every if self._stands(timer)]
        self._wishes = {key: self._wishes[key] for _, _, key in standing}
        self._soon, self._later, self._seconds, self._kept = [], {}, [], 0
        for timer in standing:
            self._keep(timer)


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
