"""Keeps the store of one kind equal to the API server's state, and tells who is interested of every change.

Upstream: `kubeloop.client.watch` yields complete lists and single changes for ever. Downstream: `kubeloop.runtime.store`, and handlers, which
usually put a name into a controller's queue. A relist is swapped in at once and reported as the differences to what was
known, so no handler misses a final state, however many watch events were lost on the way.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import structlog

from kubeloop.client.client import Client
from kubeloop.client.decoding import Unreadable
from kubeloop.client.watch import Applied, Deleted, Event, Garbled, Listed, Progress, Watcher
from kubeloop.objects import selector
from kubeloop.objects.meta import HasMetadata, Key, Kind, key_of
from kubeloop.runtime.metrics import Metrics
from kubeloop.runtime.store import Change, Index, Store

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=HasMetadata)
Handler = Callable[[Change[T]], None]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects of a kind are watched, in the words of the API server."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def surely_covers(self, obj: HasMetadata) -> bool:
        """Whether a watch of this scope will show the object; field selectors cannot be judged here."""
        meta = obj.metadata
        return (
            self.namespace in ("", meta.namespace)
            and not self.fields
            and (not self.labels or selector.parse(self.labels).matches(meta.labels))
        )


EVERYTHING = Scope()


class Informer(Generic[T]):
    """One kind, watched once, read by many."""

    def __init__(
        self,
        client: Client,
        kind: Kind[T],
        metrics: Metrics,
        *,
        scope: Scope = EVERYTHING,
        indexes: Mapping[str, Index[T]] | None = None,
    ) -> None:
        self.kind = kind
        self._scope = scope
        self._store = Store(indexes)
        self.reader = self._store.reader
        self._metrics = metrics
        self._handlers: list[Handler[T]] = []
        self._watcher = Watcher(
            client, kind, namespace=scope.namespace, labels=scope.labels, fields=scope.fields
        )
        self._synced = asyncio.Event()
        self.unreadable: dict[Key, str] = {}
        """Objects that are there but do not fit the kind's type, and why; the store shows their last readable state."""
        self.trouble = ""
        """Why the watch stands still at the moment; empty while it follows."""

    @property
    def synced(self) -> bool:
        """Whether the store has held the complete state at least once."""
        return self._synced.is_set()

    async def wait_until_synced(self) -> None:
        await self._synced.wait()

    def add_index(self, name: str, index: Index[T]) -> None:
        self._store.add_index(name, index)

    def add_indexes(self, indexes: Mapping[str, Index[T]]) -> None:
        """Adds those that are not there yet; several controllers may ask for the same ones."""
        self._store.add_indexes(indexes)

    def on_change(self, handler: Handler[T]) -> None:
        """Calls `handler` for everything that is there and for every change from now on; it must not wait."""
        self._handlers.append(handler)
        for obj in tuple(self.reader.all()):
            self._tell(Change(None, obj), handler)

    def wrote(self, obj: T) -> None:
        """Shows the answer to our own write before the watch does."""
        if self._scope.surely_covers(obj):
            self._publish(self._store.assume(obj))

    def deleted(self, key: Key, uid: str) -> None:
        """Hides what the server says is gone before the watch does."""
        self._publish(self._store.assume_gone(key, uid))

    async def run(self) -> None:
        """Follows the API server until cancelled."""
        async for event in self._watcher.events(self._note_trouble):
            self._take(event)

    def _take(self, event: Event[T]) -> None:
        self.trouble = ""
        match event:
            case Listed(items, resource_version, unreadable):
                self.unreadable.clear()
                items = (*items, *self._last_known(unreadable))
                self._metrics.lists.labels(str(self.kind)).inc()
                for change in self._store.replace(items, resource_version):
                    self._publish(change)
                self._synced.set()
            case Applied(obj):
                self._has_read(obj)
                self._publish(self._store.apply(obj))
            case Deleted(obj):
                self._has_read(obj)
                self._publish(self._store.remove(obj))
            case Garbled(odd):
                self._last_known((odd,))
            case Progress(resource_version):
                self._store.progress(resource_version)

    def _has_read(self, obj: T) -> None:
        if self.unreadable:
            self.unreadable.pop(key_of(obj), None)

    def _publish(self, change: Change[T] | None) -> None:
        if change is not None:
            for handler in self._handlers:
                self._tell(change, handler)

    def _tell(self, change: Change[T], handler: Handler[T]) -> None:
        try:
            handler(change)
        except Exception:
            log.exception(
                "handler failed",
                resource=str(self.kind),
                object=str(change.objects[0].metadata.name),
            )

    def _last_known(self, unreadable: Iterable[Unreadable]) -> list[T]:
        """Notes what cannot be read and gives what was known of it; to drop it would make a living object look deleted."""
        known = []
        for odd in unreadable:
            key = key_of(odd)
            self.unreadable[key] = odd.why
            self._metrics.unreadable.labels(str(self.kind)).inc()
            log.warning("object cannot be read", resource=str(self.kind), reason=str(odd))
            if (last := self.reader.get(key)) is not None:
                known.append(last)
        return known

    def _note_trouble(self, error: Exception) -> None:
        """Counts every trouble, and tells of it when it is news."""
        self._metrics.watch_troubles.labels(str(self.kind), type(error).__name__).inc()
        trouble = f"{type(error).__name__}: {error}"
        if trouble != self.trouble:
            self.trouble = trouble
            log.warning("watch interrupted", resource=str(self.kind), reason=trouble)


class ReadAsLess(Exception):
    """The objects of a kind are shared, and were first asked for by somebody to whom less of them matters."""


class Informers:
    """The informers of one process: each kind and scope is watched once, whoever asks for it."""

    def __init__(self, client: Client, metrics: Metrics) -> None:
        self._client = client
        self._metrics = metrics
        self._informers: dict[tuple[Kind[HasMetadata], Scope], Informer[HasMetadata]] = {}

    def of(self, kind: Kind[T], scope: Scope = EVERYTHING) -> Informer[T]:
        """Gives the informer of a kind, making it at the first call; all are made before they run.

        Raises:
            ReadAsLess: whoever asked first reads less of the kind.
        """
        key = (cast("Kind[HasMetadata]", kind), scope)
        if key not in self._informers:
            informer = Informer(self._client, kind, self._metrics, scope=scope)
            self._informers[key] = cast("Informer[HasMetadata]", informer)
        found = self._informers[key]
        if not issubclass(found.kind.model, kind.model):
            raise ReadAsLess(f"{kind} is already read as {found.kind.model.__name__}: ask earlier")
        return cast("Informer[T]", found)

    def __iter__(self) -> Iterator[Informer[HasMetadata]]:
        return iter(self._informers.values())

    def wrote(self, kind: Kind[HasMetadata], obj: HasMetadata) -> None:
        """Lets every informer of the kind show our own write at once; an answer that was read as less is left to the watch."""
        for informer in self._of_kind(kind):
            if isinstance(obj, informer.kind.model):
                informer.wrote(obj)

    def deleted(self, kind: Kind[HasMetadata], key: Key, uid: str) -> None:
        """Lets every informer of the kind hide what is surely gone."""
        for informer in self._of_kind(kind):
            informer.deleted(key, uid)

    async def wait_until_synced(self) -> None:
        for informer in self:
            await informer.wait_until_synced()

    def _of_kind(self, kind: Kind[HasMetadata]) -> Iterable[Informer[HasMetadata]]:
        return [informer for (of, _), informer in self._informers.items() if of == kind]
