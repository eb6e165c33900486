"""The cache of one kind: one writer (its informer), many readers, indexes, and our own writes before the watch shows them.

Controllers read through `Reader`. What a controller has just written is *assumed*: it is visible at once, and the watch,
which shows the same version a little later, confirms it. Versions of one resource are compared as numbers, which
Kubernetes guarantees: an assumed object is never replaced by an older one and never outlives a newer truth. A deletion
that the server has confirmed hides exactly that UID until the watch has caught up.

Nothing is ever evicted: a cache that is taken for the state of the world must hold all of it. What is equal in an object and in
its earlier self, or in the one that came before it, is held once.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import structlog

from kubeloop.objects import codec
from kubeloop.objects.meta import HasMetadata, Key

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=HasMetadata)
Index = Callable[[T], Iterable[Hashable]]
"""Under which values an object is found; must depend on the object alone."""


class Change(NamedTuple, Generic[T]):
    """What happened to one object: it appeared (no old), went (no new) or changed (both)."""

    old: T | None
    new: T | None

    @property
    def objects(self) -> tuple[T, ...]:
        """Both sides, as far as they exist: whoever either of them concerns is concerned."""
        return tuple(obj for obj in self if obj is not None)


class _Entry(Generic[T]):
    """An object in its place: what changes with every event, apart from the name and indexes, which rarely do."""

    __slots__ = ("filed", "obj", "version")

    def __init__(self, obj: T, version: int, filed: tuple[tuple[Hashable, ...], ...]) -> None:
        self.obj = obj
        self.version = version
        self.filed = filed


class _Objects(Collection[T]):
    """The objects of some entries; a view, as `dict.values` is."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, _Entry[T]]) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[T]:
        return (entry.obj for entry in self._entries.values())

    def __contains__(self, obj: object) -> bool:
        return any(entry.obj == obj for entry in self._entries.values())


class Reader(Generic[T]):
    """What everybody but the informer sees of a store."""

    def __init__(self, store: "Store[T]") -> None:
        self._store = store

    def get(self, key: Key) -> T | None:
        entry = self._store.entries.get(f"{key.namespace}/{key.name}")
        return None if entry is None else entry.obj

    def all(self) -> Collection[T]:
        return _Objects(self._store.entries)

    def where(self, index: str, value: Hashable) -> Collection[T]:
        """Finds the objects that the named index lists under `value`; costs what it returns."""
        found = self._store.buckets[index].get(value)
        return _Objects(found) if found else ()

    def values(self, index: str) -> Collection[Hashable]:
        """Everything under which the named index lists something."""
        return self._store.buckets[index].keys()

    @property
    def seen(self) -> int:
        """The version up to which everything is shown."""
        return self._store.seen

    @property
    def shown(self) -> int:
        """The highest version of an object or an end that the server has shown: every other watch shows it too."""
        return self._store.shown

    @property
    def newest(self) -> int:
        """The highest version known of, our own writes included."""
        return self._store.newest

    def __len__(self) -> int:
        return len(self._store.entries)


class Store(Generic[T]):
    """The writing side; belongs to one informer."""

    def __init__(self, indexes: Mapping[str, Index[T]] | None = None) -> None:
        self.entries: dict[str, _Entry[T]] = {}
        self.buckets: dict[str, dict[Hashable, dict[str, _Entry[T]]]] = {}
        self.reader = Reader(self)
        self._indexes: dict[str, Index[T]] = {}
        self.seen = 0
        self.shown = 0
        self.newest = 0
        self._assumed: dict[str, int] = {}
        """Names and versions of our own writes that the watch has not shown yet."""
        self._gone: set[str] = set()
        self._last: T | None = None
        """The newcomer before the next one: neighbours are often made from one template."""
        self.add_indexes(indexes or {})

    def add_index(self, name: str, index: Index[T]) -> None:
        """Adds an index, filled with what is already there."""
        self.add_indexes({name: index})

    def add_indexes(self, indexes: Mapping[str, Index[T]]) -> None:
        """Adds those indexes that are not there yet, filled with what is already there.

        Raises:
            ValueError: another index has one of the names.
        """
        new = {name: index for name, index in indexes.items() if name not in self._indexes}
        for name, index in indexes.items():
            if name not in new and self._indexes[name] is not index:
                raise ValueError(f"there is another index with the name {name}")
        if new:
            self._indexes.update(new)
            self._swap({place: entry.obj for place, entry in self.entries.items()})

    def replace(self, items: Iterable[T], version: str) -> list[Change[T]]:
        """Swaps in a complete list in one step and says what that changed."""
        self.seen = int(version or 0)
        self.newest = max(self.newest, self.seen)
        listed = {_place(obj): obj for obj in items}
        self._gone &= {obj.metadata.uid for obj in listed.values()}
        fresh = {place: o for place, o in listed.items() if o.metadata.uid not in self._gone}
        self.shown = max(self.shown, *map(version_of, listed.values()), 0)
        self._assumed = {p: newer for p, newer in self._assumed.items() if newer > self.seen}
        fresh.update((place, self.entries[place].obj) for place in self._assumed)

        before = self.entries
        self._swap(fresh)
        changes: list[Change[T]] = []
        for place, obj in fresh.items():
            old = before.get(place)
            if old is None or old.obj.metadata.resource_version != obj.metadata.resource_version:
                changes.append(Change(None if old is None else old.obj, obj))
        changes += [Change(old.obj, None) for place, old in before.items() if place not in fresh]
        return changes

    def apply(self, obj: T) -> Change[T] | None:
        """Takes in what a watch says is there."""
        place, version = _place(obj), version_of(obj)
        self._saw(version)
        self.shown = max(self.shown, version)
        if self._assumed:
            self._confirm(place, version)
        return self._put(place, obj, version)

    def remove(self, obj: T) -> Change[T] | None:
        """Takes in what a watch says is gone, unless we already know of something newer under that name."""
        place, version = _place(obj), version_of(obj)
        self._saw(version)
        self.shown = max(self.shown, version)
        self._gone.discard(obj.metadata.uid)
        self._confirm(place, version)
        entry = self.entries.get(place)
        if entry is None or entry.version > version:
            return None
        return self._take_out(place, entry)

    def progress(self, version: str) -> None:
        """Notes that everything up to `version` has been shown."""
        self._saw(int(version))

    def assume(self, obj: T) -> Change[T] | None:
        """Shows the result of our own write until the watch does, if it has not already."""
        place, version = _place(obj), version_of(obj)
        self.newest = max(self.newest, version)
        if version <= self.seen:
            return None
        change = self._put(place, obj, version)
        if change is not None:
            self._assumed[place] = version
        return change

    def assume_gone(self, key: Key, uid: str) -> Change[T] | None:
        """Hides an object whose end the server has confirmed; its successor of the same name stays visible."""
        place = f"{key.namespace}/{key.name}"
        entry = self.entries.get(place)
        if entry is None or entry.obj.metadata.uid != uid:
            return None
        self._gone.add(uid)
        self._assumed.pop(place, None)
        return self._take_out(place, entry)

    def _put(self, place: str, obj: T, version: int) -> Change[T] | None:
        if self._gone and obj.metadata.uid in self._gone:
            return None
        filed = self._values(obj)
        entry = self.entries.get(place)
        if entry is None:
            codec.share(obj, self._last)
            self._last = obj
            self.entries[place] = entry = _Entry(obj, version, filed)
            self._file(place, entry)
            return Change(None, obj)
        if entry.version >= version:
            return None
        codec.share(obj, entry.obj)
        if entry.filed != filed:
            self._unfile(place, entry)
            entry.filed = filed
            self._file(place, entry)
        old, entry.obj, entry.version = entry.obj, obj, version
        return Change(old, obj)

    def _take_out(self, place: str, entry: _Entry[T]) -> Change[T]:
        del self.entries[place]
        self._unfile(place, entry)
        return Change(entry.obj, None)

    def _saw(self, version: int) -> None:
        self.seen = max(self.seen, version)
        self.newest = max(self.newest, version)

    def _swap(self, objects: Mapping[str, T]) -> None:
        for place, obj in objects.items():
            known = self.entries.get(place)
            codec.share(obj, self._last if known is None else known.obj)
            self._last = obj
        self.entries = {p: _Entry(o, version_of(o), self._values(o)) for p, o in objects.items()}
        self.buckets = {name: {} for name in self._indexes}
        for place, entry in self.entries.items():
            self._file(place, entry)

    def _confirm(self, place: str, version: int) -> None:
        if self._assumed.get(place, version + 1) <= version:
            del self._assumed[place]

    def _values(self, obj: T) -> tuple[tuple[Hashable, ...], ...]:
        return tuple([_found(index, obj) for index in self._indexes.values()])

    def _file(self, place: str, entry: _Entry[T]) -> None:
        for buckets, values in zip(self.buckets.values(), entry.filed, strict=True):
            for value in values:
                buckets.setdefault(value, {})[place] = entry

    def _unfile(self, place: str, entry: _Entry[T]) -> None:
        for buckets, values in zip(self.buckets.values(), entry.filed, strict=True):
            for value in set(values):
                del buckets[value][place]
                if not buckets[value]:
                    del buckets[value]


def _found(index: Index[T], obj: T) -> tuple[Hashable, ...]:
    try:
        return tuple(index(obj))
    except Exception:
        # An index that cannot take one odd object must not hide it, nor end the watch.
        log.exception("index failed", object=_place(obj))
        return ()


def _place(obj: HasMetadata) -> str:
    meta = obj.metadata
    return f"{meta.namespace}/{meta.name}"


def version_of(obj: HasMetadata) -> int:
    """The object's place in the history of its resource."""
    return int(obj.metadata.resource_version or 0)


def by_namespace(obj: HasMetadata) -> Iterable[Hashable]:
    """Index: the namespace."""
    return (obj.metadata.namespace,)


def by_owner(obj: HasMetadata) -> Iterable[Hashable]:
    """Index: the UIDs of all owners."""
    return (ref.uid for ref in obj.metadata.owner_references)
