"""The client: every verb of an API server on typed objects.

Controllers, informers and the command line call it; requests come from `kubeloop.client.request`, are sent by `kubeloop.client.sending`, and
answers are read by `kubeloop.client.decoding`. Each call has a deadline, a bounded number is in flight, and what is safe to try again
is tried again. A write whose answer got lost is settled by its `kubeloop.client.recovery` and never repeated blindly.
"""

import asyncio
from collections.abc import Mapping
import copy
from dataclasses import dataclass, replace
import random
from typing import Generic, TypeVar, cast

import msgspec

from kubeloop.client import bodies, decoding, errors, recovery, request as requests
from kubeloop.client.bodies import Preconditions
from kubeloop.client.request import Deletion, Options, Page, Propagation, Selection
from kubeloop.client.sending import Sender
from kubeloop.net import http
from kubeloop.objects.meta import JSON, Base, HasMetadata, Key, Kind, Object
from kubeloop.objects.plan import Body, PatchType

T = TypeVar("T", bound=HasMetadata)

IN_FLIGHT = 32
DEADLINE = 30.0
PAGE = 500


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """All objects of a selection, as they were at one resource version."""

    items: tuple[T, ...]
    resource_version: str
    unreadable: tuple[decoding.Unreadable, ...] = ()
    """Objects that are there but do not fit the kind's type."""


class Client:
    """Speaks to one API server as one field manager."""

    def __init__(
        self,
        transport: http.Transport,
        *,
        rng: random.Random,
        limit: int = IN_FLIGHT,
        deadline: float = DEADLINE,
        guard: http.Guard | None = None,
        field_manager: str = "korder",
        user_agent: str = "korder",
    ) -> None:
        self.rng = rng
        self._field_manager = field_manager
        self._sender = Sender(
            transport,
            rng,
            asyncio.Semaphore(limit),
            deadline,
            guard,
            {"User-Agent": user_agent},
        )

    def with_guard(self, guard: http.Guard) -> "Client":
        """Makes a client whose writes leave only if `guard` lets them; slots and connections are shared."""
        return self._copy(replace(self._sender, guard=guard))

    def with_deadline(self, seconds: float) -> "Client":
        """Makes a client that waits longer or shorter; slots and connections are shared."""
        return self._copy(replace(self._sender, deadline=seconds))

    def without_waiting(self) -> "Client":
        """Makes a client that gives up at once where nobody listens; slots and connections are shared."""
        return self._copy(replace(self._sender, waits_for_server=False))

    def with_slots(self, limit: int) -> "Client":
        """Makes a client that does not queue up behind the others; connections are shared."""
        return self._copy(replace(self._sender, slots=asyncio.Semaphore(limit)))

    def _copy(self, sender: Sender) -> "Client":
        twin = copy.copy(self)
        twin._sender = sender  # noqa: SLF001  a twin is one of us
        return twin

    async def get(self, kind: Kind[T], key: Key, subresource: str = "") -> T:
        """Reads one object."""
        body = await self._sender.read(requests.get(kind, key, subresource))
        return decoding.decode_object(body, kind.model)

    async def list(
        self,
        kind: Kind[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = PAGE,
        resource_version: str = "",
    ) -> Listing[T]:
        """Reads all objects of a selection, page by page, as of one instant."""
        selection = Selection(namespace, labels, fields)
        first = Page(limit=limit, resource_version=resource_version)
        try:
            return await self._list_pages(kind, selection, first)
        except errors.Gone:
            # The pages took longer than the server remembers: what is left is to take all at once.
            return await self._list_pages(kind, selection, msgspec.structs.replace(first, limit=0))

    async def _list_pages(self, kind: Kind[T], selection: Selection, page: Page) -> Listing[T]:
        items: list[T] = []
        unreadable: list[decoding.Unreadable] = []
        while True:
            body = await self._sender.read(requests.list_page(kind, selection, page))
            part = decoding.decode_list(body, kind.model)
            items += (decoding.stamped(item, kind) for item in part.items)
            unreadable += part.unreadable
            token = part.metadata.continue_token
            if not token:
                return Listing(tuple(items), part.metadata.resource_version, tuple(unreadable))
            page = Page(limit=page.limit, continue_token=token)

    async def watch(
        self,
        kind: Kind[T],
        selection: Selection,
        *,
        resource_version: str = "",
        timeout_seconds: int = 0,
        initial_events: bool = False,
    ) -> http.Response:
        """Opens one watch and returns its raw stream; `kubeloop.client.watch` makes something lasting of it."""
        return await self._sender.stream(
            requests.watch(
                kind,
                selection,
                resource_version=resource_version,
                timeout_seconds=timeout_seconds,
                initial_events=initial_events,
            )
        )

    async def create(
        self, kind: Kind[T], body: Body, *, namespace: str = "", dry_run: bool = False
    ) -> T:
        """Makes an object; with a name of its own it is made once, whatever happens on the way."""
        wanted = requests.create(kind, body, namespace, self._options(dry_run=dry_run))
        sent = bodies.named(body, kind)
        name = bodies.metadata(sent, "name")
        fate: recovery.Recovery = recovery.Never()
        if dry_run or not (name or bodies.metadata(sent, "generateName")):
            # Nothing is kept of a dry run or of a review, which has no name at all.
            fate = recovery.Repeat()
        elif name:
            key = Key(namespace or bodies.metadata(sent, "namespace"), name)
            fate = recovery.Creation(self._look(kind, key), sent)
        return decoding.decode_object(await self._sender.write(wanted, fate), kind.model)

    async def replace(
        self, kind: Kind[T], body: Body, subresource: str = "", *, dry_run: bool = False
    ) -> T:
        """Puts a whole object in the place of the one it names."""
        wanted = requests.replace(kind, body, subresource, self._options(dry_run=dry_run))
        sent = bodies.named(body, kind, subresource)
        fate: recovery.Recovery = recovery.Repeat()
        if bodies.metadata(sent, "resourceVersion"):
            key = Key(bodies.metadata(sent, "namespace"), bodies.metadata(sent, "name"))
            fate = recovery.Conditional(self._look(kind, key, subresource), sent)
        return decoding.decode_object(await self._sender.write(wanted, fate), kind.model)

    async def patch(  # noqa: PLR0913  the options of the API, named as there
        self,
        kind: Kind[T],
        key: Key,
        body: Body | JSON,
        type: PatchType = PatchType.MERGE,  # noqa: A002
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
        force: bool = False,
    ) -> T:
        """Changes an object that still is what `uid` and `resource_version` say."""
        preconditions = Preconditions(uid, resource_version)
        wanted = requests.patch(
            kind,
            key,
            body,
            type,
            subresource=subresource,
            preconditions=preconditions,
            options=self._options(dry_run=dry_run, force=force),
        )
        fate: recovery.Recovery = recovery.Repeat()
        if type is PatchType.JSON:
            fate = recovery.Operations(self._look(kind, key), preconditions)
        elif preconditions:
            sent = bodies.conditional(bodies.plain(body), type, preconditions)
            fate = recovery.Conditional(self._look(kind, key, subresource), sent)
        return decoding.decode_object(await self._sender.write(wanted, fate), kind.model)

    async def delete(
        self,
        kind: Kind[T],
        key: Key,
        *,
        uid: str = "",
        resource_version: str = "",
        grace_seconds: int | None = None,
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> T | None:
        """Removes an object: None if it is gone, the object if its deletion has begun."""
        deletion = Deletion(
            Preconditions(uid, resource_version), grace_seconds, propagation, dry_run
        )
        fate: recovery.Recovery = recovery.Repeat()
        if not dry_run:
            fate = recovery.Removal(self._look(kind, key), uid, grace_seconds)
        answer = await self._sender.write(requests.delete(kind, key, deletion), fate)
        if _is_gone(answer):
            return None
        return decoding.decode_object(answer, kind.model)

    async def delete_collection(
        self,
        kind: Kind[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        deletion: Deletion = requests.AT_ONCE,
    ) -> None:
        """Removes all objects of a selection."""
        wanted = requests.delete_collection(kind, Selection(namespace, labels, fields), deletion)
        await self._sender.write(wanted, recovery.Never())

    async def post(
        self,
        kind: Kind[T],
        key: Key,
        subresource: str,
        body: Body,
        *,
        dry_run: bool = False,
    ) -> Mapping[str, JSON]:
        """Asks for an action through a subresource (binding, eviction, token) and returns its answer."""
        wanted = requests.post(kind, key, subresource, body, self._options(dry_run=dry_run))
        answer = await self._sender.write(wanted, recovery.Never())
        return cast("Mapping[str, JSON]", msgspec.json.decode(answer))

    async def raw(self, request: http.Request) -> bytes:
        """Sends any request, for what has no verb of its own: discovery, version, health."""
        if request.method in ("GET", "HEAD"):
            return await self._sender.read(request)
        return await self._sender.write(request, recovery.Never())

    async def raw_stream(self, request: http.Request) -> http.Response:
        """Opens any stream, for what has no verb of its own: a watch that shows tables."""
        return await self._sender.stream(request)

    def _options(self, *, dry_run: bool, force: bool = False) -> Options:
        return Options(dry_run=dry_run, field_manager=self._field_manager, force=force)

    def _look(self, kind: Kind[T], key: Key, subresource: str = "") -> recovery.Look:
        # The status of an object is read with the object; other subresources are objects of their own.
        apart = "" if subresource == "status" else subresource
        return lambda: self._sender.read(requests.get(kind, key, apart))


class _RemainsSpec(Base):
    finalizers: tuple[str, ...] = ()


class _Remains(Object):
    """What tells whether a deleted object waits for something; a namespace has its finalizers in the spec."""

    spec: _RemainsSpec = _RemainsSpec()


def _is_gone(answer: bytes) -> bool:
    """Reads the answer to a delete: a Status, the last state of a vanished object, or one that waits for its end."""
    found = decoding.decode_object(answer, _Remains)
    metadata = found.metadata
    waits_for = (
        metadata.finalizers or found.spec.finalizers or metadata.deletion_grace_period_seconds
    )
    return found.kind == "Status" or not (metadata.deletion_timestamp and waits_for)
