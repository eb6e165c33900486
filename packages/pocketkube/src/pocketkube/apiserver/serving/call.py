"""One request on its way through the server, and what every verb can reach.

`server` makes a `Call` once it is known who asks for what in which form; the verbs in this room take it. A part of an object
that has rules of its own (`binding`, `eviction`, `log`, `token`, `finalize`), and a review, is a `Special`: register it under the
stored name of the resource, the subresource and the verb,

    specials = {("pods", "binding", "create"): bind, ("pods", "log", "get"): log, ("subjectaccessreviews.authorization.k8s.io", "", "create"): review}

and it is called instead of the generic verb with the call, which carries the parsed route, the user and the `World`. It reads its
body with `bodies.read`, changes stored objects with `writing.change` and answers with an `Answer`, or with a `Reply` if that is no object.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
import random
from typing import Any

import msgspec

from kubeloop.net.http import Request
from kubeloop.net.server import Reply
from pocketkube.apiserver import refusal
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.admission.attributes import Chain
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.serving.documents import Lines
from pocketkube.apiserver.serving.negotiation import Form
from pocketkube.apiserver.serving.registry import Registry
from pocketkube.apiserver.serving.routing import Route
from pocketkube.apiserver.serving.write_locks import WriteLocks
from pocketkube.apiserver.storage import (
    AlreadyExists,
    Closed,
    Conflict,
    Key,
    NotFound,
    Record,
    Storage,
    StorageError,
    Write,
)
from pocketkube.apiserver.view import View

Object = dict[str, Any]
Enter = Callable[[Mapping[str, str], Action], User]
"""Says who asks and lets them in, or raises `Refused`."""

ATTEMPTS = 1000
"""How often a write begins again because somebody else was faster: of those who race one gets through each time, so a bound
only ends what would never end."""


class Answer(msgspec.Struct):
    """An object to answer with: decoded, or the bytes of a stored one."""

    object: Object | None = None
    value: bytes = b""
    code: int = 200


@dataclass(slots=True)
class World:
    """What a server is made of."""

    storage: Storage
    registry: Registry
    chain: Chain
    enter: Enter
    now: Callable[[], datetime]
    rng: random.Random
    view: View
    specials: Mapping[tuple[str, str, str], "Special"] = field(default_factory=dict)
    followers: dict[str, "Follower"] = field(default_factory=dict)
    """Who has to act before a write of a stored resource is answered."""
    settling: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    """What catches up at the start with writes that were not followed before the last end."""
    locks: WriteLocks = field(default_factory=WriteLocks)
    lines: Lines = field(default_factory=Lines)
    bookmark_seconds: float = 60.0
    _unfinished: set[asyncio.Task[Sequence[Record]]] = field(default_factory=set)

    async def write(self, *writes: Write) -> Sequence[Record]:
        """Writes to storage and lets the follower of the first write act; both happen even if who asked gives up meanwhile.

        Raises:
            AlreadyExists, NotFound, Conflict: somebody was faster, nothing was written.
            Refused: 500, 503 storage does not take it.
        """
        follower = self.followers.get(writes[0].key.resource)
        try:
            if follower is None:
                return await self.storage.write(*writes)
            whole = asyncio.create_task(self._followed(follower, writes))  # noqa: TID251  it is whole though who asked goes
            self._unfinished.add(whole)
            whole.add_done_callback(self._finished)
            return await asyncio.shield(whole)
        except (AlreadyExists, NotFound, Conflict):
            raise
        except Closed:
            stated = "the server is shutting down"
            raise refusal.failure(503, "ServiceUnavailable", stated) from None
        except StorageError as error:
            raise refusal.internal(str(error)) from None

    async def _followed(self, follower: "Follower", writes: tuple[Write, ...]) -> Sequence[Record]:
        records = await self.storage.write(*writes)
        await follower(writes[0].key)
        return records

    async def finish(self) -> None:
        """Waits for writes whose askers have gone."""
        while self._unfinished:
            await asyncio.wait(self._unfinished)

    def _finished(self, whole: asyncio.Task[Sequence[Record]]) -> None:
        """Lets go of it; what went wrong was told to who asked, if they still listen."""
        self._unfinished.discard(whole)
        if not whole.cancelled():
            whole.exception()


class Call(msgspec.Struct):
    """A request that was let in."""

    world: World
    request: Request
    route: Route
    resource: Resource
    user: User
    form: Form
    warnings: list[str] = []

    def renew(self) -> bool:
        """Looks its resource up again before it begins again; says whether a definition has changed it meanwhile."""
        before, route = self.resource, self.route
        found = self.world.registry.find(route.group, route.version, route.resource)
        self.resource = found or before
        return self.resource is not before

    @property
    def key(self) -> Key:
        return self.key_of(self.route.name)

    def key_of(self, name: str) -> Key:
        """Where an object of the resource is stored, in the namespace of the request."""
        namespace = self.route.namespace if self.resource.namespaced else ""
        return Key(self.resource.stored, namespace, name)


Special = Callable[[Call], Awaitable[Answer | Reply]]
Follower = Callable[[Key], Awaitable[None]]
