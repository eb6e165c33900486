"""The cache of one kind: one writer (its informer), many readers, indexes, and our own writes before the watch shows them.

Controllers read through `Reader`. What a controller has just written is *assumed*: it is visible at once, and the watch,
which shows the same version a little later, confirms it. Versions of one resource are compared as numbers, which
Kubernetes guarantees: an assumed object is never replaced by an older one and never outlives a newer truth. A deletion
that the server has confirmed hides exactly that UID until the watch has caught up.

Nothing is ever evicted: a cache that is taken for the state of the world must hold all of it.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from korder.api.meta import HasMetadata, Key, key_of

T = TypeVar("T", bound=HasMetadata)
Index = Callable[[T], Iterable[Hashable]]
"""Under which values an object is found; must depend on the object alone."""

_NONE: Mapping[Key, HasMetadata] = {}


class Change(NamedTuple, Generic[T]):
    """What happened to one object: it appeared (no old), went (no new) or changed (both)."""

    old: T | None
    new: T | None

    @property
    def objects(self) -> tuple[T, ...]:
        """Both sides, as far as they exist: whoever either of them concerns is concerned."""
        return tuple(obj for obj in self if obj is not None)


class Reader(Generic[T]):
    """What everybody but the informer sees of a store."""

    def __init__(self, store: "Store[T]") -> None:
        self._store = store

    def get(self, key: Key) -> T | None:
        return self._store.objects.get(key)

    def all(self) -> Collection[T]:
        return self._store.objects.values()

    def where(self, index: str, value: Hashable) -> Collection[T]:
        """Finds the objects that the named index lists under `value`; costs what it returns."""
        return self._store.buckets[index].get(value, _NONE).values()  # type: ignore[return-value]  # the shared empty bucket has no type

    def __len__(self) -> int:
        return len(self._store.objects)


class Store(Generic[T]):
    """The writing side; belongs to one informer."""

    def __init__(self, indexes: Mapping[str, Index[T]] | None = None) -> None:
        self.objects: dict[Key, T] = {}
        self.buckets: dict[str, dict[Hashable, dict[Key, T]]] = {name: {} for name in indexes or {}}
        self.reader = Reader(self)
        self._indexes = dict(indexes or {})
        self._seen = 0
        self._assumed: dict[Key, T] = {}
        self._gone: set[str] = set()

    def add_index(self, name: str, index: Index[T]) -> None:
        """Adds an index, filled with what is already there."""
        self._indexes[name] = index
        self.buckets[name] = {}
        for key, obj in self.objects.items():
            self._file(name, key, None, obj)

    def replace(self, items: Iterable[T], version: str) -> list[Change[T]]:
        """Swaps in a complete list in one step and says what that changed."""
        self._seen = int(version or 0)
        listed = {key_of(obj): obj for obj in items}
        still_there = {obj.metadata.uid for obj in listed.values()}
        self._gone &= still_there
        fresh = {key: obj for key, obj in listed.items() if obj.metadata.uid not in self._gone}
        self._assumed = {k: o for k, o in self._assumed.items() if version_of(o) > self._seen}
        fresh.update(self._assumed)

        before = self.objects
        changes = [
            Change(before.get(key), obj)
            for key, obj in fresh.items()
            if (old := before.get(key)) is None or not _same(old, obj)
        ]
        changes += [Change(obj, None) for key, obj in before.items() if key not in fresh]
        self.objects = fresh
        self.buckets = {name: {} for name in self._indexes}
        for name in self._indexes:
            for key, obj in fresh.items():
                self._file(name, key, None, obj)
        return changes

    def apply(self, obj: T) -> Change[T] | None:
        """Takes in what a watch says is there."""
        version = version_of(obj)
        self._seen = max(self._seen, version)
        key = key_of(obj)
        self._confirm(key, version)
        return self._put(key, obj, version)

    def remove(self, obj: T) -> Change[T] | None:
        """Takes in what a watch says is gone, unless we already know of something newer under that name."""
        version = version_of(obj)
        self._seen = max(self._seen, version)
        self._gone.discard(obj.metadata.uid)
        key = key_of(obj)
        self._confirm(key, version)
        current = self.objects.get(key)
        if current is None or version_of(current) > version:
            return None
        return self._drop(key, current)

    def progress(self, version: str) -> None:
        """Notes that everything up to `version` has been shown."""
        self._seen = max(self._seen, int(version))

    def assume(self, obj: T) -> Change[T] | None:
        """Shows the result of our own write until the watch does, if it has not already."""
        version = version_of(obj)
        if version <= self._seen:
            return None
        key = key_of(obj)
        change = self._put(key, obj, version)
        if change is not None:
            self._assumed[key] = obj
        return change

    def assume_gone(self, key: Key, uid: str) -> Change[T] | None:
        """Hides an object whose end the server has confirmed; its successor of the same name stays visible."""
        current = self.objects.get(key)
        if current is None or current.metadata.uid != uid:
            return None
        self._gone.add(uid)
        self._assumed.pop(key, None)
        return self._drop(key, current)

    def _put(self, key: Key, obj: T, version: int) -> Change[T] | None:
        current = self.objects.get(key)
        if obj.metadata.uid in self._gone or (current and version_of(current) >= version):
            return None
        self.objects[key] = obj
        for name in self._indexes:
            self._file(name, key, current, obj)
        return Change(current, obj)

    def _drop(self, key: Key, current: T) -> Change[T]:
        del self.objects[key]
        for name in self._indexes:
            self._file(name, key, current, None)
        return Change(current, None)

    def _confirm(self, key: Key, version: int) -> None:
        assumed = self._assumed.get(key)
        if assumed is not None and version_of(assumed) <= version:
            del self._assumed[key]

    def _file(self, name: str, key: Key, old: T | None, new: T | None) -> None:
        index, buckets = self._indexes[name], self.buckets[name]
        before = () if old is None else tuple(index(old))
        after = () if new is None else tuple(index(new))
        if before != after:
            for value in before:
                if value not in after and (bucket := buckets.get(value)):
                    bucket.pop(key, None)
                    if not bucket:
                        del buckets[value]
        if new is not None:
            for value in after:
                buckets.setdefault(value, {})[key] = new


def version_of(obj: HasMetadata) -> int:
    """The object's place in the history of its resource."""
    return int(obj.metadata.resource_version or 0)


def _same(one: HasMetadata, other: HasMetadata) -> bool:
    return one.metadata.resource_version == other.metadata.resource_version


def by_namespace(obj: HasMetadata) -> Iterable[Hashable]:
    """Index: the namespace."""
    return (obj.metadata.namespace,)


def by_owner(obj: HasMetadata) -> Iterable[Hashable]:
    """Index: the UIDs of all owners."""
    return (ref.uid for ref in obj.metadata.owner_references)
