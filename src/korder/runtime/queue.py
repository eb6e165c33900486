"""A queue of names: who needs a look, now or at an instant.

Informers add, controllers get. A name waits at most once however often it is added, is never handed to two workers at a
time, and is looked at again if it was added meanwhile. Each name has at most one timer, the earliest asked for; getting
the name clears it, because the look decides anew when the next one is due. Ready names leave in the order they came, so
none starves.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
import heapq
from itertools import count
import random
from typing import Generic, TypeVar

from korder.runtime.clock import Clock, Timer

K = TypeVar("K", bound=Hashable)

FIRST_RETRY = 0.02
LONGEST_RETRY = 60.0
_MOST_DOUBLINGS = 12


_Timed = tuple[float, int, K]
"""Seconds since 1970, the number of the wish, which keeps names from being compared, and the name."""


@dataclass(slots=True)
class _Wish:
    """When a name wants its next look; kept when a look has met it, because most looks ask for the same instant again."""

    at: float
    number: int
    open: bool = True


class QueueClosed(Exception):
    """The queue gives out no more names."""


class WorkQueue(Generic[K]):
    """Deduplicating, delaying, backing off."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._ready: OrderedDict[K, float] = OrderedDict()
        self._active: set[K] = set()
        self._again: set[K] = set()
        self._wishes: dict[K, _Wish] = {}
        self._timers: list[_Timed[K]] = []
        self._sequence = count()
        self._alarm: Timer | None = None
        self._alarm_at: float | None = None
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self.waited = 0.0
        """Seconds the name last handed out had been ready."""

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def delayed(self) -> int:
        """How many names wait for an instant."""
        return sum(wish.open for wish in self._wishes.values())

    @property
    def active(self) -> int:
        """How many names are being worked on."""
        return len(self._active)

    def add(self, key: K) -> None:
        """Asks for a look as soon as possible."""
        if self._closed:
            return
        if key in self._active:
            self._again.add(key)
        elif key not in self._ready:
            self._ready[key] = self._clock.monotonic()
            self._wake_one()

    def add_at(self, key: K, instant: datetime) -> None:
        """Asks for a look at `instant`; an earlier wish stands."""
        if self._closed:
            return
        at = instant.timestamp()
        wish = self._wishes.get(key)
        if wish is not None and wish.at == at:
            wish.open = True
        elif wish is None or not wish.open or at < wish.at:
            self._wishes[key] = wish = _Wish(at, next(self._sequence))
            heapq.heappush(self._timers, (at, wish.number, key))
            if len(self._timers) > 2 * len(self._wishes) + 64:
                self._sweep()
        self._set_alarm()

    def retry(self, key: K) -> None:
        """Asks for another look after a failure: soon at first, then ever later, never all at the same moment."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        longest = min(FIRST_RETRY * 2 ** min(failures, _MOST_DOUBLINGS), LONGEST_RETRY)
        delay = longest * self._rng.uniform(0.5, 1.0)
        self.add_at(key, self._clock.now() + timedelta(seconds=delay))

    def forget(self, key: K) -> None:
        """Ends a series of failures."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """Waits for the next name; the caller owns it until `done`."""
        while not self._ready:
            if self._closed:
                raise QueueClosed
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake_one()
                raise
        key, since = self._ready.popitem(last=False)
        self.waited = self._clock.monotonic() - since
        wish = self._wishes.get(key)
        if wish is not None:
            wish.open = False
        self._active.add(key)
        return key

    def done(self, key: K) -> None:
        """Gives the name back; it becomes ready at once if it was added meanwhile."""
        self._active.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def close(self) -> None:
        """Gives out no more names; what is being worked on may finish."""
        self._closed = True
        self._ready.clear()
        self._wishes.clear()
        if self._alarm is not None:
            self._alarm.cancel()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _wake_one(self) -> None:
        while self._waiters and self._ready:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _set_alarm(self) -> None:
        while self._timers and not self._stands(self._timers[0]):
            self._drop(heapq.heappop(self._timers))
        first = self._timers[0][0] if self._timers else None
        if first == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = first
        self._alarm = None if first is None else self._clock.call_at(_instant(first), self._ring)

    def _ring(self) -> None:
        self._alarm = self._alarm_at = None
        now = self._clock.now()
        while self._timers and _instant(self._timers[0][0]) <= now:
            timer = heapq.heappop(self._timers)
            if self._stands(timer):
                self.add(timer[2])
            self._drop(timer)
        self._set_alarm()

    def _stands(self, timer: _Timed[K]) -> bool:
        wish = self._wishes.get(timer[2])
        return wish is not None and wish.open and wish.number == timer[1]

    def _drop(self, timer: _Timed[K]) -> None:
        wish = self._wishes.get(timer[2])
        if wish is not None and wish.number == timer[1]:
            del self._wishes[timer[2]]

    def _sweep(self) -> None:
        self._timers = [timer for timer in self._timers if self._stands(timer)]
        heapq.heapify(self._timers)
        self._wishes = {key: self._wishes[key] for _, _, key in self._timers}


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
