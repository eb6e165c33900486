"""The API server: one handler for everything that is asked over HTTP.

`pocketkube` gives it a storage and serves it with `kubeloop.net.server`, or without sockets through `kubeloop.net.in_process`. The parts of a
cluster's rules come in by the constructor: the catalogue of kinds, who is let in, the admission chain, special
subresources. Every request that can be sent is answered with a Status at least; what a bug lets through is logged and
answered 500, never raised.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from http import HTTPStatus
import random
from typing import Any

import structlog

from kubeloop.net.http import Request
from kubeloop.net.server import Reply
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.user import AUTHENTICATED, MASTERS, User
from pocketkube.apiserver.admission.attributes import Chain
from pocketkube.apiserver.kinds.catalogue import builtin
from pocketkube.apiserver.kinds.definition import STORED as DEFINITIONS
from pocketkube.apiserver.refusal import Refused, bad_request, failure, internal
from pocketkube.apiserver.serving import answers, bodies, bootstrap, dispatch, routing
from pocketkube.apiserver.serving.call import Enter, Special, World
from pocketkube.apiserver.serving.definitions import Definitions
from pocketkube.apiserver.serving.nonresource_paths import Site, Sites
from pocketkube.apiserver.serving.registry import Registry
from pocketkube.apiserver.storage import Storage
from pocketkube.apiserver.view import View

log = structlog.get_logger(__name__)

Object = dict[str, Any]
ADMIN = User("system:admin", (MASTERS, AUTHENTICATED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a server says about itself, and how often it tells those who watch how far it is."""

    address: str = "127.0.0.1:6443"
    bookmark_seconds: float = 60.0


def everybody(headers: Mapping[str, str], action: Action) -> User:
    """Lets everybody in as the master of the cluster."""
    del headers, action
    return ADMIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The rules of a cluster, as far as they are not the server's own.

    Attributes:
        registry: The resources to begin with; None for all of Kubernetes that this server has.
        enter: Says who asks and whether they may.
        chain: Admission.
        specials: Subresources and reviews with rules of their own, see `serving.call`.
        sites: What answers under a path of its own, such as the keys of service account tokens.
        bring_in: How what every cluster has gets into the storage.
        bootstrap: Objects every cluster has; those of kinds that are not served are passed over.
        closing: What has to be given back in the end, such as connections to webhooks.
    """

    registry: Registry | None = None
    enter: Enter = everybody
    chain: Chain = field(default_factory=lambda: Chain(()))
    specials: Mapping[tuple[str, str, str], Special] = field(default_factory=dict)
    sites: Mapping[str, Site] = field(default_factory=dict)
    bring_in: Callable[[World, Sequence[Object]], Awaitable[None]] = bootstrap.bring_in
    bootstrap: Sequence[Object] = bootstrap.OBJECTS
    closing: Sequence[Callable[[], Awaitable[None]]] = ()


DEFAULT_SETTINGS, DEFAULT_PARTS = Settings(), Parts()


class ApiServer:
    """Answers requests."""

    def __init__(
        self,
        storage: Storage,
        *,
        now: Callable[[], datetime],
        rng: random.Random,
        settings: Settings = DEFAULT_SETTINGS,
        parts: Parts = DEFAULT_PARTS,
    ) -> None:
        registry = Registry(builtin()) if parts.registry is None else parts.registry
        self.world = World(
            storage,
            registry,
            parts.chain,
            parts.enter,
            now,
            rng,
            View(storage),
            parts.specials,
            bookmark_seconds=settings.bookmark_seconds,
        )
        self._definitions = Definitions(self.world)
        self.world.followers[DEFINITIONS] = self._definitions.follow
        self._sites = Sites(registry, settings.address, parts.sites)
        self._bring_in = partial(parts.bring_in, self.world, parts.bootstrap)
        self._closing = parts.closing

    async def start(self) -> None:
        """Serves what is stored, brings in what every cluster has, and ends what a crash left half done."""
        await self._definitions.start()
        await self._bring_in()
        for settle in self.world.settling:
            await settle()

    async def close(self) -> None:
        """Lets what was begun finish, ends all watches and gives back what the parts hold; the storage is its opener's."""
        await self.world.finish()
        self.world.storage.end_watches()
        for close in self._closing:
            await close()

    async def handle(self, request: Request) -> Reply:
        """Answers one request."""
        try:
            return await self._answer(request)
        except Refused as refused:
            return answers.warning(refused.warnings, answers.refused(refused.status))
        except (RecursionError, OverflowError) as error:
            stated = "exceeded max depth" if isinstance(error, RecursionError) else str(error)
            return answers.refused(bad_request(stated).status)
        except Exception as error:
            log.exception("request failed", method=request.method, target=request.target)
            return answers.refused(internal(str(error)).status)

    @staticmethod
    def refuse(code: int, message: str) -> Reply:
        """Answers a request whose body the listener did not read to the end."""
        if code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return answers.refused(bodies.too_large().status)
        reason = "Timeout" if code == HTTPStatus.REQUEST_TIMEOUT else "BadRequest"
        return answers.refused(failure(code, reason, message).status)

    async def _answer(self, request: Request) -> Reply:
        route = routing.read(request.method, request.target)
        user = self.world.enter(request.headers, route.action)
        if route.is_resource:
            return await dispatch.dispatch(self.world, request, route, user)
        return self._sites.answer(request, route)
