"""The state of the cluster as the auditor knows it: API objects, and the few indexes that invariants ask for.

The `Auditor` moves it with every commit before the invariants look. It is written anew instead of taking a `Store` of the runtime,
because the runtime is among what is judged: a cache that loses events must not blind its judge. What an invariant needs beyond
this it keeps itself, since it is told of every change. No question here costs more than its answer is long.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, cast

from msgspec.structs import replace

from kubeloop.objects import codec
from kubeloop.objects.core import NODES, PODS
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind, Object
from kubeloop.objects.plan import AnyKind
from pocketkube.simulation.auditing.node_usage import Rooms
from pocketkube.simulation.changes import Change, Subject, subject_of

T = TypeVar("T", bound=HasMetadata)


class Shelf(Generic[T]):
    """The objects of one kind."""

    __slots__ = ("objects",)

    def __init__(self) -> None:
        self.objects: dict[Key, T] = {}

    def get(self, key: Key) -> T | None:
        return self.objects.get(key)

    def all(self) -> Collection[T]:
        return self.objects.values()


class View:
    """Everything that is stored now; `kinds` are decoded as what they are, all others as metadata only."""

    def __init__(self, kinds: Iterable[AnyKind], at: datetime) -> None:
        self.began = self.now = at
        self.version = 0
        self.rooms = Rooms()
        self._models: dict[str, type[HasMetadata]] = {}
        for kind in (PODS, NODES, *kinds):
            if self._models.setdefault(str(kind), kind.model) is not kind.model:
                raise ValueError(f"{kind} is read as two different types; agree on one")
        self._shelves: dict[str, Shelf[HasMetadata]] = {}
        self._by_uid: dict[str, Subject] = {}
        self._children: dict[str, dict[Subject, None]] = {}
        self._moved: dict[Subject, datetime] = {}
        self._changed = ""
        self._both: tuple[Any, Any] = (None, None)
        """The change that is being looked at, decoded, and what it is about."""

    def of(self, kind: Kind[T]) -> Shelf[T]:
        """All objects of a kind, which must be among those that are decoded."""
        resource = str(kind)
        if resource not in self._models:
            raise KeyError(f"{resource} is only known by its metadata; name it among the kinds")
        return cast("Shelf[T]", self._shelf(resource))

    def both(self, kind: Kind[T]) -> tuple[T | None, T | None]:
        """What the present change made of an object of this kind; twice None if it is about another kind."""
        return self._both if kind.resource == self._changed else (None, None)

    def both_bare(self) -> tuple[HasMetadata | None, HasMetadata | None]:
        """What the present change made of an object of any kind."""
        return self._both

    def object(self, subject: Subject) -> HasMetadata | None:
        """The object of this name, of whatever kind."""
        return self._shelf(subject.resource).get(Key(subject.namespace, subject.name))

    def bearer(self, uid: str) -> Subject | None:
        """The living object with this UID."""
        return self._by_uid.get(uid)

    def quiet_for(self, subject: Subject) -> timedelta:
        """How long ago a living object last changed."""
        return self.now - self._moved[subject]

    def children(self, uid: str) -> Collection[Subject]:
        """The objects that name this UID as an owner, of whatever kind."""
        return self._children.get(uid, {}).keys()

    def owned(self, kind: Kind[T], uid: str) -> list[T]:
        """The objects of a kind that name this UID as an owner."""
        shelf, resource = self.of(kind), str(kind)
        return [
            shelf.objects[Key(child.namespace, child.name)]
            for child in self.children(uid)
            if child.resource == resource
        ]

    def everything(self) -> Iterable[tuple[Subject, HasMetadata]]:
        """All objects of all kinds; only for questions at rest."""
        for resource, shelf in self._shelves.items():
            for key, obj in shelf.objects.items():
                yield Subject(resource, *key), obj

    def move(self, change: Change) -> None:
        """Takes in a commit; an object that was there before the audit began is taken in first."""
        subject, key = subject_of(change), Key(change.namespace, change.name)
        shelf = self._shelf(change.resource)
        if change.before is not None and key not in shelf.objects:
            self.move(replace(change, before=None, after=change.before))
        self.now, self.version = change.at, change.version
        before = shelf.objects.pop(key, None)
        if before is not None:
            self._unfile(subject, before)
        after = self._read(change.resource, change.after)
        if after is not None:
            shelf.objects[key] = after
            self._file(subject, after)
        both: tuple[Any, Any] = (before, after)
        self._changed, self._both = change.resource, both
        if change.resource == "pods":
            self.rooms.pod_changed(*both, change.at)
        elif change.resource == "nodes":
            self.rooms.node_changed(*both, change.at)

    def _shelf(self, resource: str) -> Shelf[HasMetadata]:
        return self._shelves.setdefault(resource, Shelf())

    def _read(self, resource: str, obj: Mapping[str, JSON] | None) -> HasMetadata | None:
        if obj is None:
            return None
        model = self._models.get(resource, Object)
        return codec.convert(cast("dict[str, JSON]", obj), model)

    def _file(self, subject: Subject, obj: HasMetadata) -> None:
        self._by_uid[obj.metadata.uid] = subject
        self._moved[subject] = self.now
        for ref in obj.metadata.owner_references:
            self._children.setdefault(ref.uid, {})[subject] = None

    def _unfile(self, subject: Subject, obj: HasMetadata) -> None:
        del self._moved[subject]
        if self._by_uid.get(obj.metadata.uid) == subject:
            del self._by_uid[obj.metadata.uid]
        for uid in dict.fromkeys(ref.uid for ref in obj.metadata.owner_references):
            del self._children[uid][subject]
            if not self._children[uid]:
                del self._children[uid]
