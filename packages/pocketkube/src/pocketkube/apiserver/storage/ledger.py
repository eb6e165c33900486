"""What is allowed and what follows: the writer's own picture of the newest versions, ahead of what readers see.

Called by a writer with everything that waits, calls the journal once for all of it. Preconditions are checked here in memory and
not by SQL: whoever owns the file alone may trust what it wrote, and a refused write then costs no statement and needs no
savepoint. If the journal fails, the picture is taken back and nobody has seen any of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from pocketkube.apiserver.storage.errors import (
    AlreadyExists,
    Conflict,
    NotFound,
    StorageError,
    WriteFailed,
)
from pocketkube.apiserver.storage.records import (
    Change,
    Create,
    Delete,
    Event,
    Key,
    Record,
    Unchanged,
    Update,
    Write,
)


class Transaction(NamedTuple):
    """Writes that happen together or not at all."""

    writes: tuple[Write, ...]


class Compaction(NamedTuple):
    """Forget the changes up to a version."""

    floor: int


Request = Transaction | Compaction


class Committed(NamedTuple):
    """What a request has led to: events in order, and the floor where it moved."""

    events: Sequence[Event] = ()
    floor: int = 0


Outcome = Committed | StorageError


class Journal(Protocol):
    """Where commits are kept. A commit that returns is durable, one that raises has left nothing behind."""

    def commit(self, events: Sequence[Event], floors: tuple[int, int]) -> None: ...

    def close(self) -> None: ...


class Nowhere:
    """The journal of a storage that lives in memory only."""

    def commit(self, events: Sequence[Event], floors: tuple[int, int]) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is held."""


class Ledger:
    """Checks and numbers writes, and hands what is allowed to the journal in one commit."""

    def __init__(
        self, journal: Journal, heads: Mapping[Key, Record], *, version: int, floor: int
    ) -> None:
        self._journal = journal
        self._heads = dict(heads)
        self._version = version
        self._floor = floor

    def commit(self, requests: Iterable[Request]) -> list[Outcome]:
        """Answers every request, in order; all that is allowed shares one durable commit."""
        before = self._version
        floor = self._floor
        outcomes: list[Outcome] = []
        for request in requests:
            match request:
                case Transaction(writes):
                    outcomes.append(self._stage(writes))
                case Compaction(wanted):
                    floor = max(floor, min(wanted, before))
                    outcomes.append(Committed(floor=floor))
        return self._settle(outcomes, floor)

    def close(self) -> None:
        self._journal.close()

    def _settle(self, outcomes: list[Outcome], floor: int) -> list[Outcome]:
        done = [outcome for outcome in outcomes if isinstance(outcome, Committed)]
        events = [event for outcome in done for event in outcome.events]
        if not events and floor == self._floor:
            return outcomes
        try:
            self._journal.commit(events, (self._floor, floor))
        except Exception as error:  # noqa: BLE001  whatever it was, the picture must be taken back and callers must hear
            self._undo(events)
            failure = WriteFailed(f"the write could not be stored: {error}")
            return [failure if isinstance(o, Committed) else o for o in outcomes]
        self._floor = floor
        return outcomes

    def _stage(self, writes: Iterable[Write]) -> Outcome:
        events: list[Event] = []
        try:
            for write in writes:
                previous = self._precondition(write)
                if not isinstance(write, Unchanged):
                    events.append(self._apply(write, previous))
        except StorageError as refusal:
            self._undo(events)
            return refusal
        return Committed(events)

    def _apply(self, write: Create | Update | Delete, previous: Record | None) -> Event:
        self._version += 1
        # The old key is kept so that all versions of an object share one.
        key = previous.key if previous is not None else write.key
        record = Record(key, self._version, write.draft.at(self._version))
        if isinstance(write, Delete):
            del self._heads[key]
            return Event(Change.DELETED, record, previous)
        self._heads[key] = record
        return Event(Change.ADDED if previous is None else Change.MODIFIED, record, previous)

    def _precondition(self, write: Write) -> Record | None:
        head = self._heads.get(write.key)
        if isinstance(write, Create):
            if head is not None:
                raise AlreadyExists(write.key)
            return None
        if head is None:
            raise NotFound(write.key)
        if head.version != write.expected:
            raise Conflict(write.key, write.expected, head.version)
        return head

    def _undo(self, events: Sequence[Event]) -> None:
        for event in reversed(events):
            key = event.record.key
            if event.previous is None:
                del self._heads[key]
            else:
                self._heads[key] = event.previous
        self._version -= len(events)
