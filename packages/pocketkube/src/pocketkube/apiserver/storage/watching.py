"""Watches: cursors on the history of a resource.

A watch owns no queue. Everybody reads the same events from the same history, so a watcher costs a number and a slow one costs
nobody anything: when what it should read next is dropped, it is told that it expired, and nothing was buffered for it. Whoever waits is
told once for a whole commit, in the order of waiting (a simulation replays exactly): by a push if it has one that takes the changes now,
which costs no turn of a task, else by being woken to read them.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from pocketkube.apiserver.storage.errors import Closed, Expired
from pocketkube.apiserver.storage.records import Event
from pocketkube.apiserver.storage.table import History

BATCH = 500
"""Events that are looked at before others get their turn: catching up does not hold up the loop."""


_PRECISION = 0.001
"""Seconds by which a loop's timer may ring too early."""


Place = tuple[str, str]
"""A resource and a namespace of it, or none for all of them."""
Push = Callable[[Sequence[Event]], bool]
"""Takes changes while their reader waits; says no to get them by reading."""


class Quiet(NamedTuple):
    """The end of a wait: up to which version nothing happened that concerns the waiter, and whether something did then."""

    until: int
    ended: bool


class Progress:
    """How far the storage is, how far back it remembers, and who waits for more."""

    def __init__(self, version: int, oldest: int) -> None:
        self.version = version
        self.oldest = oldest
        self.closed = False
        self._waiters: dict[Place, dict[asyncio.Future[Quiet], Push | None]] = {}

    def requeue(self, events: Sequence[Event]) -> None:
        """Tells everybody whom one of these changes, just made, concerns: wakes who was not told by a push."""
        places: dict[Place, list[Event]] = {}
        for event in events:
            resource, namespace, _ = event.record.key
            for place in dict.fromkeys(((resource, ""), (resource, namespace))):
                if place in self._waiters:
                    places.setdefault(place, []).append(event)
        for place, concerned in places.items():
            waiters = self._waiters[place]
            for waiter in _unreported(waiters, concerned):
                _end(waiter, Quiet(events[0].version - 1, ended=True))
                self.dismiss(place, waiter)

    def close(self) -> None:
        self.closed = True
        for waiter in chain.from_iterable(self._waiters.values()):
            _end(waiter, Quiet(self.version, ended=True))
        self._waiters.clear()

    def enlist(self, place: Place, waiter: asyncio.Future[Quiet], push: Push | None) -> None:
        """Ends the waiter with the next change in a place that cannot be pushed, or with the storage."""
        self._waiters.setdefault(place, {})[waiter] = push

    def dismiss(self, place: Place, waiter: asyncio.Future[Quiet]) -> None:
        """Forgets a waiter that was ended by something else."""
        waiters = self._waiters.get(place, {})
        waiters.pop(waiter, None)
        if not waiters:
            self._waiters.pop(place, None)


def _unreported(
    waiters: Mapping[asyncio.Future[Quiet], Push | None], events: Sequence[Event]
) -> list[asyncio.Future[Quiet]]:
    unreported = []
    for waiter, push in waiters.items():
        try:
            stated = push is not None and not waiter.done() and push(events)
        except Exception:  # noqa: BLE001  others are to be told all the same; who waits meets the trouble when it takes the events
            stated = False
        if not stated:
            unreported.append(waiter)
    return unreported


def _end(waiter: asyncio.Future[Quiet], quiet: Quiet) -> None:
    if not waiter.done():
        waiter.set_result(quiet)


class Watch:
    """Every change of a resource, or of one namespace of it, exactly once and in order.

    `version` is how far it has come: all changes up to it were handed out. That is what a bookmark says.
    """

    def __init__(self, progress: Progress, history: History, place: Place, version: int) -> None:
        self._progress = progress
        self._history = history
        self._place = place
        self._waiter: asyncio.Future[Quiet] | None = None
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.version = version

    async def next(
        self, patience: float | None = None, push: Push | None = None
    ) -> Sequence[Event]:
        """The changes since the last call, as soon as there are some; none if `patience` (seconds) ends before.

        With `push` the wait goes on over changes that it takes.

        Raises:
            Expired: it was too slow, and what it should hear next is compacted.
            Closed: the storage was closed.
        """
        progress = self._progress
        while self.version == progress.version or not (events := self._take()):
            if progress.closed:
                raise Closed("the storage was closed")
            if self.version == progress.version:
                waiter = self._wait(patience, push)
                try:
                    # Other namespaces may outrun the history meanwhile; whoever is not woken has missed nothing.
                    quiet = await waiter
                finally:
                    self._waiter = None
                    progress.dismiss(self._place, waiter)
                self.version = max(self.version, quiet.until)
                if not quiet.ended:
                    return self._take()
        return events

    def close(self) -> None:
        """Forgets the timer of the last wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, patience: float | None, push: Push | None) -> asyncio.Future[Quiet]:
        """Begins to wait. In the middle of a delivery to many watchers: no coroutine of its own."""
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        self._due = None if patience is None else loop.time() + patience
        if self._due is not None and (self._timer is None or self._due < self._timer.when()):
            self.close()
            self._timer = loop.call_at(self._due, self._ring)
        self._progress.enlist(self._place, waiter, push)
        return waiter

    def _ring(self) -> None:
        """Ends the patience of a wait. Most waits end long before, so that one timer outlives many of them."""
        self._timer = None
        if self._waiter is None or self._due is None:
            return
        loop = self._waiter.get_loop()
        if self._due - loop.time() > _PRECISION:
            self._timer = loop.call_at(self._due, self._ring)
        else:
            _end(self._waiter, Quiet(self._progress.version, ended=False))

    def _take(self) -> Sequence[Event]:
        if self.version < self._history.dropped:
            raise Expired(self.version, self._progress.oldest)
        events = self._history.after(self.version, BATCH)
        self.version = events[-1].version if len(events) == BATCH else self._progress.version
        _, namespace = self._place
        if not namespace:
            return events
        return [event for event in events if event.record.key.namespace == namespace]
