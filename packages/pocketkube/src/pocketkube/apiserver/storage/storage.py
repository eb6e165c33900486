"""The door of storage: reads answer at once, writes are awaited, watches follow.

Used by the layer that knows HTTP and kinds. Everything here happens on one loop; only the writer may be elsewhere, and what it
committed arrives here in order. A reader therefore sees exactly what is durable, and whoever awaited a write sees it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pocketkube.apiserver.storage.errors import Closed, Expired, StorageError, TooNew
from pocketkube.apiserver.storage.journal import Contents, open_journal
from pocketkube.apiserver.storage.ledger import (
    Committed,
    Compaction,
    Journal,
    Ledger,
    Nowhere,
    Request,
    Transaction,
)
from pocketkube.apiserver.storage.records import Event, Key, Record, Write
from pocketkube.apiserver.storage.retention import Retention, Window
from pocketkube.apiserver.storage.table import Page, Table
from pocketkube.apiserver.storage.watching import Progress, Watch
from pocketkube.apiserver.storage.writer import InlineWriter, Settled, ThreadWriter, Ticket

DEFAULT_WINDOW = Window()
Observer = Callable[[Event], None]


class Storage:
    """Objects, their versions and their changes. Use `open_storage`."""

    def __init__(
        self, journal: Journal, contents: Contents, window: Window, *, inline: bool
    ) -> None:
        self._progress = Progress(contents.version, contents.floor)
        self._open = True
        self._tables = _tables(contents)
        self._retention = Retention(window)
        self._observers: list[Observer] = []
        now = asyncio.get_running_loop().time()
        for event in contents.events:
            self._retention.note(event.version, event.weight, now)
        ledger = Ledger(journal, contents.heads, version=contents.version, floor=contents.floor)
        self._writer = (InlineWriter if inline else ThreadWriter)(ledger, self._publish)

    @property
    def version(self) -> int:
        """The newest version; every commit of any resource raises it."""
        return self._progress.version

    @property
    def oldest(self) -> int:
        """The oldest version at which a page may be read or a watch begin."""
        return self._progress.oldest

    def get(self, key: Key) -> Record | None:
        return self._table(key.resource).get(key.path)

    def changes(self, resource: str) -> int:
        """How often a resource was changed since the storage was opened: as long as it stays the same, nothing was."""
        return self._table(resource).changes

    def page(
        self,
        resource: str,
        namespace: str = "",
        *,
        at: int | None = None,
        after: str = "",
        limit: int | None = None,
    ) -> Page:
        """Lists a resource, or a namespace of it, in key order: now, or as it was at a version.

        A list in pages asks for each next page with `at` and `after` from the one before (`version`, `next`).

        Raises:
            Expired: the version is compacted.
            TooNew: the version is not reached yet.
        """
        version = self.version if at is None else self._known(at)
        return self._table(resource).page(namespace, after, limit, version)

    def watch(self, resource: str, namespace: str = "", *, since: int | None = None) -> Watch:
        """Follows the changes after a version, or from now on.

        Raises:
            Expired: the version is compacted.
            TooNew: the version is not reached yet.
        """
        version = self.version if since is None else self._known(since)
        history = self._table(resource).history
        return Watch(self._progress, history, (resource, namespace), version)

    def observe(self, observer: Observer) -> None:
        """Tells `observer` of each change when it becomes visible, before anybody else hears of it; it must neither wait nor write."""
        self._observers.append(observer)

    async def write(self, *writes: Write) -> Sequence[Record]:
        """Carries out all writes or none, each at a version of its own; returns when they are durable and visible.

        Records come back in the order of the writes, none for what is only to be `Unchanged`.
        A cancelled call may have written or not.

        Raises:
            AlreadyExists, NotFound, Conflict: a precondition does not hold.
            WriteFailed: the disk refused.
            Closed: the storage was closed.
        """
        committed = await self._submit(Transaction(writes))
        return [event.record for event in committed.events]

    async def compact(self, version: int) -> None:
        """Forgets the changes up to a version. Happens by itself as the window says; this is for those who cannot wait."""
        await self._submit(Compaction(version))

    def end_watches(self) -> None:
        """Ends all watches, also those that are begun later; everything else goes on."""
        self._progress.close()

    async def close(self) -> None:
        """Lets what was submitted finish, ends all watches and gives the file back."""
        if self._open:
            self._open = False
            await self._writer.close()
            self.end_watches()

    def _submit(self, request: Request) -> asyncio.Future[Committed]:
        if not self._open:
            raise Closed("the storage was closed")
        answer: asyncio.Future[Committed] = asyncio.get_running_loop().create_future()
        self._writer.submit(Ticket(request, answer))
        return answer

    def _publish(self, settled: Settled) -> None:
        """Makes visible what was committed, then tells those who wait for it."""
        settled = list(settled)
        events: list[Event] = []
        for _, outcome in settled:
            if isinstance(outcome, Committed):
                events.extend(outcome.events)
                self._forget(outcome.floor)
        self._show(events)
        for (_, answer), outcome in settled:
            if answer.done():
                continue
            if isinstance(outcome, StorageError):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)
        self._progress.requeue(events)

    def _show(self, events: Iterable[Event]) -> None:
        now = asyncio.get_running_loop().time()
        due = False
        for event in events:
            self._table(event.record.key.resource).apply(event)
            self._progress.version = event.version
            due |= self._retention.note(event.version, event.weight, now)
            for observer in self._observers:
                observer(event)
        floor = self._retention.floor(self.version, now) if due else 0
        if floor and self._open:
            self._submit(Compaction(floor)).add_done_callback(_overlook)

    def _forget(self, floor: int) -> None:
        if floor > self.oldest:
            self._progress.oldest = floor
            for table in self._tables.values():
                table.history.drop(floor)

    def _known(self, version: int) -> int:
        if version < self.oldest:
            raise Expired(version, self.oldest)
        if version > self.version:
            raise TooNew(version, self.version)
        return version

    def _table(self, resource: str) -> Table:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = Table()
        return table


@asynccontextmanager
async def open_storage(
    path: Path | None, window: Window = DEFAULT_WINDOW, *, inline: bool = False
) -> AsyncIterator[Storage]:
    """Opens the storage in a file, or one in memory that ends with the process; closes it in the end.

    `inline` writes where it is called instead of in a thread: for simulation, where order must not depend on threads.

    Raises:
        Unusable: the file is in use, foreign, newer, damaged or out of reach.
    """
    storage = _open(path, window, inline=inline)
    try:
        yield storage
    finally:
        await storage.close()


def _open(path: Path | None, window: Window, *, inline: bool) -> Storage:
    # A function of its own: what was read must not stay referenced, or everything that is compacted later stays in memory.
    if path is None:
        return Storage(Nowhere(), Contents(), window, inline=True)
    journal, contents = open_journal(path)
    return Storage(journal, contents, window, inline=inline)


def _tables(contents: Contents) -> dict[str, Table]:
    heads: dict[str, list[Record]] = {}
    events: dict[str, list[Event]] = {}
    for record in contents.heads.values():
        heads.setdefault(record.key.resource, []).append(record)
    for event in contents.events:
        events.setdefault(event.record.key.resource, []).append(event)
    return {
        resource: Table(heads.get(resource, ()), events.get(resource, ()))
        for resource in heads.keys() | events.keys()
    }


def _overlook(compaction: asyncio.Future[Committed]) -> None:
    """A compaction that fails is tried again with the next one; the writes beside it have told of the trouble."""
    compaction.exception()
