"""Who carries out writes: one thread, or nobody but the caller.

`Storage` hands a ticket in and is called back with outcomes, always on its own loop. The thread takes everything that waits
into one commit, so that many writers share one sync of the disk; while it syncs, the next ones gather. Inline there is no thread and
no waiting at all: the ticket is settled when `submit` returns, which makes a simulation exact.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
import threading
from typing import NamedTuple, Protocol

from pocketkube.apiserver.storage.ledger import Committed, Ledger, Outcome, Request

GROUP = 256
"""Tickets that share a commit at most: a bound for the time one commit takes."""


class Ticket(NamedTuple):
    """A request and whoever waits for it."""

    request: Request
    answer: asyncio.Future[Committed]


Settled = Iterable[tuple[Ticket, Outcome]]
Publish = Callable[[Settled], None]


class Writer(Protocol):
    """Carries out tickets in the order of their submission."""

    def submit(self, ticket: Ticket) -> None: ...

    async def close(self) -> None: ...


class InlineWriter:
    """Writes where it is called."""

    def __init__(self, ledger: Ledger, publish: Publish) -> None:
        self._ledger = ledger
        self._publish = publish

    def submit(self, ticket: Ticket) -> None:
        (outcome,) = self._ledger.commit([ticket.request])
        self._publish([(ticket, outcome)])

    async def close(self) -> None:
        self._ledger.close()


class ThreadWriter:
    """Writes in a thread of its own. It is a daemon: a process that ends without closing is a crash, and crashes are safe."""

    def __init__(self, ledger: Ledger, publish: Publish) -> None:
        self._ledger = ledger
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._tickets: SimpleQueue[Ticket | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="storage-writer", daemon=True)
        self._thread.start()

    def submit(self, ticket: Ticket) -> None:
        self._tickets.put(ticket)

    async def close(self) -> None:
        """Waits until everything that was submitted is written and told."""
        self._tickets.put(None)
        await self._ended
        self._thread.join()

    def _run(self) -> None:
        more = True
        while more:
            group, more = self._gather()
            outcomes = self._ledger.commit([ticket.request for ticket in group])
            settled = list(zip(group, outcomes, strict=True))
            self._loop.call_soon_threadsafe(self._publish, settled)
        self._ledger.close()
        self._loop.call_soon_threadsafe(self._ended.set_result, None)

    def _gather(self) -> tuple[Sequence[Ticket], bool]:
        """Waits for a ticket and takes all that came with it; false with the last ones before the end."""
        group: list[Ticket] = []
        try:
            while len(group) < GROUP:
                ticket = self._tickets.get(block=not group)
                if ticket is None:
                    return group, False
                group.append(ticket)
        except Empty:
            pass
        return group, True
