"""Follows the objects of a selection for ever, whatever happens to the connection.

`kubeloop.runtime.informer` consumes the events; requests go through `kubeloop.client.client`. Two states take turns:

    no version ── stream or list the present state, say `Listed` ──> version ── watch from it, say what changes
        ^                                                               │  ^      │
        └── 410, or a refusal that resuming cannot cure ────────────────┘  └──────┘ end of stream, silence, lost connection

The present state is streamed through the watch itself where the server offers that, because a list of everything costs both
sides much memory; a server that refuses is asked for pages from then on. `Listed` is always complete, so whoever keeps a
store can swap it in at once.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Generic, TypeVar, cast

import msgspec

from kubeloop.client import decoding, errors, stream
from kubeloop.client.backoff import Backoff
from kubeloop.client.client import Client
from kubeloop.client.decoding import EventDecoder, Unreadable, WatchEvent
from kubeloop.client.request import Selection
from kubeloop.net import http
from kubeloop.objects.meta import HasMetadata, Key, Kind, key_of

T = TypeVar("T", bound=HasMetadata)

SILENCE = 180.0
"""Seconds without a byte after which a connection counts as dead; bookmarks come about once a minute."""

ROUND_SECONDS = (300, 600)
"""How long the server is asked to keep a watch open; spread, so that not all clients come back together."""

TOO_SHORT = 1.0
"""Seconds; a stream that ends sooner with nothing in it is trouble, not a timeout."""

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 30.0

REFUSALS = frozenset({400, 405, 406, 415, 422})
"""Codes with which a server says that it does not understand what was asked, today or tomorrow."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Listed(msgspec.Struct, Generic[T], frozen=True):
    """The complete state at one resource version."""

    items: tuple[T, ...]
    resource_version: str
    unreadable: tuple[Unreadable, ...] = ()


class Applied(msgspec.Struct, Generic[T], frozen=True):
    """An object appeared or changed."""

    obj: T
    resource_version: str


class Deleted(msgspec.Struct, Generic[T], frozen=True):
    """An object left the selection; this was its last state."""

    obj: T
    resource_version: str


class Garbled(msgspec.Struct, frozen=True):
    """An object changed into something that does not fit its type."""

    obj: Unreadable
    resource_version: str


class Progress(msgspec.Struct, frozen=True):
    """Nothing changed up to here."""

    resource_version: str


Event = Listed[T] | Applied[T] | Deleted[T] | Garbled | Progress
OnTrouble = Callable[[Exception], None]


class Watcher(Generic[T]):
    """One selection of one kind; its `events` have one consumer at a time."""

    def __init__(
        self,
        client: Client,
        kind: Kind[T],
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        *,
        silence: float = SILENCE,
        streamed: bool = True,
    ) -> None:
        self._client = client
        self._kind = kind
        self._selection = Selection(namespace, labels, fields)
        self._silence = silence
        self._stream_offered = streamed
        self._stream_next = streamed
        self._version = ""
        self._backoff = Backoff(client.rng, FIRST_PAUSE, LONGEST_PAUSE)

    async def events(
        self, on_trouble: OnTrouble = lambda _: None
    ) -> AsyncGenerator[Event[T], None]:
        """Yields the state and then its changes, for ever; `Listed` comes again whenever changes may be missing."""
        self._version = ""
        while True:
            try:
                async with aclosing(self._round()) as batches:
                    async for batch in batches:
                        for event in batch:
                            self._version = event.resource_version
                            self._backoff.reset()
                            yield event
            except errors.KubeError as error:
                on_trouble(error)
                self._learn(error)
                wished = getattr(error, "retry_after", None) or 0.0
                await asyncio.sleep(self._backoff.pause(min(wished, LONGEST_PAUSE)))

    async def _round(self) -> AsyncGenerator[Iterable[Event[T]], None]:
        """Goes from the present state, or the last known version, to the end of one stream."""
        streamed = not self._version and self._stream_next
        if not self._version and not streamed:
            yield [await self._list()]
        intake = _Intake(self._kind.model, state={} if streamed else None)
        began = asyncio.get_running_loop().time()
        async with (
            await self._open(streamed=streamed) as response,
            aclosing(stream.batches(response, self._silence)) as batches,
        ):
            async for lines in batches:
                yield intake.take(lines)
        if not self._version:
            raise errors.Interrupted("the stream ended before the state was complete")
        if intake.empty and asyncio.get_running_loop().time() - began < TOO_SHORT:
            raise errors.Interrupted("the server ended the watch at once")

    async def _list(self) -> Listed[T]:
        chosen = self._selection
        listing = await self._client.list(
            self._kind, chosen.namespace, labels=chosen.labels, fields=chosen.fields
        )
        return Listed(listing.items, listing.resource_version, listing.unreadable)

    async def _open(self, *, streamed: bool) -> http.Response:
        return await self._client.watch(
            self._kind,
            self._selection,
            resource_version=self._version,
            timeout_seconds=self._client.rng.randint(*ROUND_SECONDS),
            initial_events=streamed,
        )

    def _learn(self, error: errors.KubeError) -> None:
        """Decides how the next round begins."""
        refused = isinstance(error, errors.ApiError) and error.code in REFUSALS
        if self._version:
            self._stream_next = self._stream_offered
            if refused or isinstance(error, errors.Gone):
                self._version = ""
        else:
            # Whatever went wrong while the state was streamed, pages get a chance; after a refusal for good.
            self._stream_next = False
            self._stream_offered = self._stream_offered and not refused


class _Intake(Generic[T]):
    """Turns the lines of one stream into events, holding back a streamed state until it is complete."""

    def __init__(self, model: type[T], state: dict[Key, T] | None) -> None:
        self.empty = True
        self._decoder = EventDecoder(model)
        self._state = state
        self._unreadable: dict[Key, Unreadable] = {}

    def take(self, lines: Iterable[bytes]) -> Iterator[Event[T]]:
        for line in lines:
            self.empty = False
            event = self._decoder.decode(line)
            if self._state is not None:
                yield from self._gather(self._state, event)
            else:
                change = _change(event)
                if change is not None:
                    yield change

    def _gather(self, state: dict[Key, T], event: WatchEvent[T]) -> Iterator[Event[T]]:
        obj = event.object
        match event.type:
            case "ADDED" | "MODIFIED" | "DELETED" | decoding.UNREADABLE:
                self._settle(state, key_of(obj), event)
            case "BOOKMARK" if obj.metadata.annotations.get(INITIAL_EVENTS_END) == "true":
                self._state = None
                unreadable = tuple(self._unreadable.values())
                yield Listed(tuple(state.values()), obj.metadata.resource_version, unreadable)

    def _settle(self, state: dict[Key, T], key: Key, event: WatchEvent[T]) -> None:
        """Keeps the last word about an object."""
        state.pop(key, None)
        self._unreadable.pop(key, None)
        if event.type == decoding.UNREADABLE:
            self._unreadable[key] = cast("Unreadable", event.object)
        elif event.type != "DELETED":
            state[key] = event.object


def _change(event: WatchEvent[T]) -> Event[T] | None:
    version = event.object.metadata.resource_version
    match event.type:
        case "ADDED" | "MODIFIED":
            return Applied(event.object, version)
        case "DELETED":
            return Deleted(event.object, version)
        case "BOOKMARK":
            return Progress(version)
        case decoding.UNREADABLE:
            return Garbled(cast("Unreadable", event.object), version)
        case _:
            return None
