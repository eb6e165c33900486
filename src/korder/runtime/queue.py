"""A queue of names: who needs a look, now or at an instant.

Informers add, controllers get. A name waits at most once however often it is added, is never handed to two workers at a
time, and is looked at again if it was added meanwhile. Each name has at most one timer, the earliest asked for; getting
the name clears it, because the look decides anew when the next one is due. Ready names leave in the order they came, so
none starves.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable
from datetime import datetime, timedelta
import heapq
from itertools import count
import random
from typing import Generic, TypeVar

from korder.runtime.clock import Clock, Timer

K = TypeVar("K", bound=Hashable)

FIRST_RETRY = 0.02
LONGEST_RETRY = 60.0
_MOST_DOUBLINGS = 12


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
        self._due: dict[K, tuple[datetime, int]] = {}
        self._timers: list[tuple[datetime, int, K]] = []
        self._sequence = count()
        self._alarm: Timer | None = None
        self._alarm_at: datetime | None = None
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
        return len(self._due)

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
        due = self._due.get(key)
        if self._closed or (due is not None and due[0] <= instant):
            return
        number = next(self._sequence)
        self._due[key] = (instant, number)
        heapq.heappush(self._timers, (instant, number, key))
        if len(self._timers) > 2 * len(self._due) + 64:
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
        self._due.pop(key, None)
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
        self._due.clear()
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
            heapq.heappop(self._timers)
        first = self._timers[0][0] if self._timers else None
        if first == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = first
        self._alarm = None if first is None else self._clock.call_at(first, self._ring)

    def _ring(self) -> None:
        self._alarm = self._alarm_at = None
        now = self._clock.now()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)
            if self._stands(timer):
                key = timer[2]
                del self._due[key]
                self.add(key)
        self._set_alarm()

    def _stands(self, timer: tuple[datetime, int, K]) -> bool:
        due = self._due.get(timer[2])
        return due is not None and due[1] == timer[1]

    def _sweep(self) -> None:
        self._timers = [timer for timer in self._timers if self._stands(timer)]
        heapq.heapify(self._timers)
