"""One request on its way through the server, and what every verb can reach.

`server` makes a `Call` once it is known who asks for what in which form; the verbs in this room take it. A part of an object
that has rules of its own (`binding`, `eviction`, `log`, `token`, `finalize`), and a review, is a `Special`: register it under the
stored name of the resource, the subresource and the verb,

    specials = {("pods", "binding", "create"): bind, ("pods", "log", "get"): log, ("subjectaccessreviews.authorization.k8s.io", "", "create"): review}

and it is called instead of the generic verb with the call, which carries the parsed route, the user and the `World`. It reads its
body with `bodies.read`, changes stored objects with `writing.change` and answers with an `Answer`, or with a `Reply` if that is no object.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
import random
from typing import Any

from korder.embedded.apiserver.access.action import Action
from korder.embedded.apiserver.access.user import User
from korder.embedded.apiserver.admission.attributes import Chain
from korder.embedded.apiserver.kinds.resource import Resource
from korder.embedded.apiserver.serving.documents import Lines
from korder.embedded.apiserver.serving.negotiation import Form
from korder.embedded.apiserver.serving.registry import Registry
from korder.embedded.apiserver.serving.routing import Route
from korder.embedded.apiserver.storage import Key, Storage
from korder.embedded.apiserver.view import View
from korder.net.http import Request
from korder.net.server import Reply

Object = dict[str, Any]
Enter = Callable[[Mapping[str, str], Action], User]
"""Says who asks and lets them in, or raises `Refused`."""


@dataclass(slots=True)
class Answer:
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
    lines: Lines = field(default_factory=Lines)

    async def wrote(self, key: Key) -> None:
        """Says that something was written."""
        follower = self.followers.get(key.resource)
        if follower is not None:
            await follower(key)


@dataclass(slots=True)
class Call:
    """A request that was let in."""

    world: World
    request: Request
    route: Route
    resource: Resource
    user: User
    form: Form
    warnings: list[str] = field(default_factory=list)

    @property
    def key(self) -> Key:
        return self.key_of(self.route.name)

    def key_of(self, name: str) -> Key:
        """Where an object of the resource is stored, in the namespace of the request."""
        namespace = self.route.namespace if self.resource.namespaced else ""
        return Key(self.resource.stored, namespace, name)


Special = Callable[[Call], Awaitable[Answer | Reply]]
Follower = Callable[[Key], Awaitable[None]]
