"""A queue of names: who needs a look, now or at an instant.

Informers add, controllers get. A name waits at most once however often it is added, is never handed to two workers at a
time, and is looked at again if it was added meanwhile. Each name has at most one timer, the earliest asked for; getting
the name clears it, because the look decides anew when the next one is due. Ready names leave in the order they came, so
none starves. Names that are requeued at once again and again have to pause (`kubeloop.runtime.pacing`).
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from datetime import datetime
import random
from typing import Generic, TypeVar

from kubeloop.runtime.clock import Clock
from kubeloop.runtime.pacing import DIRECT, OUTSIDE, Pacing, weight_for
from kubeloop.runtime.timers import Timers

K = TypeVar("K", bound=Hashable)

FIRST_RETRY = 0.02
LONGEST_RETRY = 60.0
_MOST_DOUBLINGS = 12


class QueueClosed(Exception):
    """The queue gives out no more names."""


class WorkQueue(Generic[K]):
    """Deduplicating, delaying, backing off."""

    def __init__(
        self,
        clock: Clock,
        rng: random.Random,
        *,
        paused: Callable[[K, float], None] | None = None,
    ) -> None:
        """Makes an empty queue; `paused` is called with each name that is backed off, and the seconds."""
        self._clock = clock
        self._rng = rng
        self._paused = paused
        self._ready: OrderedDict[K, float] = OrderedDict()
        self._active: set[K] = set()
        self._again: dict[K, int] = {}
        """Names that were added while they were worked on, and what that counts for their pace."""
        self._timers: Timers[K] = Timers(clock, self._due)
        self._failures: dict[K, int] = {}
        self._retries: dict[K, asyncio.TimerHandle] = {}
        """Pauses after failures; they are lengths, not instants, so setting the wall clock does not touch them."""
        self._debounced: dict[K, asyncio.TimerHandle] = {}
        self._pacing: Pacing[K] = Pacing()
        self._pauses: dict[K, asyncio.TimerHandle] = {}
        """Names that were requeued at once too often and have to wait."""
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self.waited = 0.0
        """Seconds the name last handed out had been ready."""

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def delayed(self) -> int:
        """How many names wait for an instant."""
        return len(self._timers) + len(self._retries) + len(self._pauses)

    @property
    def active(self) -> int:
        """How many names are being worked on."""
        return len(self._active)

    def add(self, key: K) -> None:
        """Asks for a look as soon as possible."""
        self._add(key, weight_for(self, key))

    def add_at(self, key: K, instant: datetime) -> None:
        """Asks for a look at `instant`; an earlier wish stands."""
        if not self._closed:
            self._timers.set(key, instant)

    def add_after(self, key: K, seconds: float) -> None:
        """Asks for a look this much later; what is asked until then is answered by the same look (debounce)."""
        if not self._closed and key not in self._debounced:
            loop = asyncio.get_running_loop()
            self._debounced[key] = loop.call_later(seconds, self._end_debounce, key)

    def retry(self, key: K) -> None:
        """Asks for another look after a failure: soon at first, then ever later, never all at the same moment."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        longest = min(FIRST_RETRY * 2 ** min(failures, _MOST_DOUBLINGS), LONGEST_RETRY)
        delay = longest * self._rng.uniform(0.5, 1.0)
        self._cancel_retry(key)
        if not self._closed:
            loop = asyncio.get_running_loop()
            self._retries[key] = loop.call_later(delay, self._try_again, key)

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
        self._timers.met(key)
        self._cancel_retry(key)
        self._active.add(key)
        return key

    def done(self, key: K) -> None:
        """Gives the name back; it becomes ready at once if it was added meanwhile, unless that happens too often."""
        self._active.discard(key)
        self._pacing.done(key, self._clock.monotonic())
        if key in self._again:
            self._add(key, self._again.pop(key))

    def close(self) -> None:
        """Gives out no more names; what is being worked on may finish."""
        self._closed = True
        self._ready.clear()
        self._timers.close()
        for key in tuple(self._retries):
            self._cancel_retry(key)
        for handle in (*self._pauses.values(), *self._debounced.values()):
            handle.cancel()
        self._debounced.clear()
        self._pauses.clear()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _add(self, key: K, weight: int) -> None:
        if self._closed:
            return
        if key in self._active:
            self._again[key] = min(weight, self._again.get(key, weight))
            return
        if weight == OUTSIDE:
            self._pacing.end(key)
            self._end_pause(key)
        if key not in self._ready and key not in self._pauses:
            now = self._clock.monotonic()
            pause = self._pacing.pause(key, now, weight) if weight else 0.0
            if pause:
                self._pause(key, pause)
            else:
                self._ready[key] = now
                self._wake_one()

    def _end_debounce(self, key: K) -> None:
        del self._debounced[key]
        self.add(key)

    def _due(self, key: K) -> None:
        """The time has come that the last reconcile of a name asked for."""
        self._add(key, DIRECT)

    def _try_again(self, key: K) -> None:
        self._retries.pop(key, None)
        self._add(key, DIRECT)

    def _pause(self, key: K, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._pauses[key] = loop.call_later(seconds, self._resume, key)
        if self._paused is not None:
            self._paused(key, seconds)

    def _resume(self, key: K) -> None:
        del self._pauses[key]
        self._ready[key] = self._clock.monotonic()
        self._wake_one()

    def _end_pause(self, key: K) -> None:
        handle = self._pauses.pop(key, None)
        if handle is not None:
            handle.cancel()

    def _cancel_retry(self, key: K) -> None:
        handle = self._retries.pop(key, None)
        if handle is not None:
            handle.cancel()

    def _wake_one(self) -> None:
        while self._waiters and self._ready:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
