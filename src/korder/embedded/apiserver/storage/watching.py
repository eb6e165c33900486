"""Watches: cursors on the history of a resource.

A watch owns no queue. Everybody reads the same events from the same history, so a watcher costs a position and a slow one costs
nobody anything: when the history it stands on is dropped, it is told that it expired, and nothing was buffered for it. Whoever waits is
woken once for a whole commit, in the order of waiting (a simulation replays exactly).
"""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import chain

from korder.embedded.apiserver.storage.errors import Closed, Expired
from korder.embedded.apiserver.storage.records import Event
from korder.embedded.apiserver.storage.table import History

BATCH = 500
"""Events that are looked at before others get their turn: catching up does not hold up the loop."""


class Progress:
    """How far the storage is, how far back it remembers, and who waits for more."""

    def __init__(self, version: int, oldest: int) -> None:
        self.version = version
        self.oldest = oldest
        self.closed = False
        self._waiters: dict[tuple[str, str], dict[asyncio.Future[bool], None]] = {}

    def wake(self, events: Iterable[Event]) -> None:
        """Wakes everybody whom one of these changes concerns."""
        keys = dict.fromkeys(
            place
            for event in events
            for place in ((event.record.key.resource, ""), event.record.key[:2])
        )
        for place in keys:
            for waiter in self._waiters.pop(place, ()):
                _wake(waiter)

    def close(self) -> None:
        self.closed = True
        for waiter in chain.from_iterable(self._waiters.values()):
            _wake(waiter)
        self._waiters.clear()

    async def wait(self, resource: str, namespace: str, patience: float | None) -> bool:
        """Waits for a change or the end; false if none came in time."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        place = self._waiters.setdefault((resource, namespace), {})
        place[waiter] = None
        timer = None if patience is None else loop.call_later(patience, _give_up, waiter)
        try:
            return await waiter
        finally:
            place.pop(waiter, None)
            if timer is not None:
                timer.cancel()


def _wake(waiter: asyncio.Future[bool]) -> None:
    if not waiter.done():
        waiter.set_result(True)


def _give_up(waiter: asyncio.Future[bool]) -> None:
    if not waiter.done():
        waiter.set_result(False)


class Watch:
    """Every change of a resource, or of one namespace of it, exactly once and in order.

    `version` is how far it has come: all changes up to it were handed out. That is what a bookmark says.
    """

    def __init__(
        self, progress: Progress, history: History, place: tuple[str, str], version: int
    ) -> None:
        self._progress = progress
        self._history = history
        self._resource, self._namespace = place
        self._position = history.after(version)
        self.version = version

    async def next(self, patience: float | None = None) -> Sequence[Event]:
        """The changes since the last call, as soon as there are some; none if `patience` (seconds) ends before.

        Raises:
            Expired: it was too slow, and what it should hear next is compacted.
            Closed: the storage was closed.
        """
        patient = True
        while True:
            events = self._take()
            if events or not patient:
                return events
            if self._progress.closed:
                raise Closed("the storage was closed")
            if self._position == self._history.end:
                patient = await self._progress.wait(self._resource, self._namespace, patience)

    def _take(self) -> Sequence[Event]:
        history = self._history
        if self._position < history.start:
            raise Expired(self.version, self._progress.oldest)
        events = history.read(self._position, BATCH)
        self._position += len(events)
        caught_up = self._position == history.end
        self.version = self._progress.version if caught_up else events[-1].version
        if not self._namespace:
            return events
        return [event for event in events if event.record.key.namespace == self._namespace]
