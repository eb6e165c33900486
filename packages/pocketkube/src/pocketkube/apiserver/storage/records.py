"""The nouns of storage: keys, records, events, and the writes that make them."""

from enum import StrEnum
from typing import NamedTuple

import msgspec


class Key(NamedTuple):
    """Where an object lives; the namespace is empty for objects of the whole cluster."""

    resource: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """The key within its resource. Its order is the order of lists, as in etcd: `a-b/x` comes before `a/x`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.resource} {self.path}"


class Draft(NamedTuple):
    """A value that lacks only its version, which is known when it is committed: the bytes before it and after it."""

    head: bytes
    tail: bytes

    def at(self, version: int) -> bytes:
        return b"%b%d%b" % (self.head, version, self.tail)


class Create(NamedTuple):
    """Put an object where none is."""

    key: Key
    draft: Draft


class Update(NamedTuple):
    """Replace the object that was read at version `expected`."""

    key: Key
    draft: Draft
    expected: int


class Delete(NamedTuple):
    """Remove the object that was read at version `expected`; the draft is its last state, as watches will show it."""

    key: Key
    draft: Draft
    expected: int


class Unchanged(NamedTuple):
    """Write nothing, but let the other writes happen only if this object is still at version `expected`."""

    key: Key
    expected: int


Write = Create | Update | Delete | Unchanged


class Record(msgspec.Struct, eq=False):
    """An object at a version. Tables, history, pages and watches share it, so nobody changes it.

    `facts` is room for what the layer above reads out of the value (labels, fields): worked out at most once for each
    version, however many lists and watches ask. Storage itself never looks at it.
    """

    key: Key
    version: int
    value: bytes
    facts: object = None


class Change(StrEnum):
    """What happened to an object, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Event(msgspec.Struct, eq=False):
    """One change: the object after it (of a deletion: its last state) and before it."""

    change: Change
    record: Record
    previous: Record | None

    @property
    def version(self) -> int:
        return self.record.version

    @property
    def weight(self) -> int:
        """Bytes that are in memory only because this event may be asked for."""
        kept = len(self.previous.value) if self.previous is not None else 0
        return kept + len(self.record.value) if self.change is Change.DELETED else kept
