"""The manager's rights: what it does it may do, and what it may do it does, but for what a quiet day does not bring."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import random
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from tests.reserve.quotas.quotas import a_quota
from tests.reserve.scene import Scene, scene

from korder.api.quota import QUOTA_FINALIZER, QUOTAS
from korder.api.reserve import ORDERS, TICKETS, TicketPhase
from korder.install.rbac import rights
from korder.install_config import MANAGER, Site
from korder.reserve.domain import add_reserve
from korder.testing.builders import a_ticket, an_order
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.net.http import Guard, Request, Response
from kubeloop.net.in_process import InProcessTransport
from kubeloop.objects.core import NAMESPACES, PODS
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.builders import a_pod

HOME = "korder-system"
Right = tuple[str, str, str]
"""Group, resource with subresource, verb."""

ON_OTHER_DAYS: set[Right] = {
    ("", "pods", "get"),
    ("", "nodes", "get"),
    ("", "namespaces", "get"),
    ("core.korder.dev", "orders", "get"),
    ("core.korder.dev", "tickets", "get"),
    ("core.korder.dev", "quotas", "get"),
    ("events.k8s.io", "events", "patch"),
    # Asked of whoever sets an owner reference that blocks, where the server enforces it.
    ("core.korder.dev", "orders/finalizers", "update"),
    ("core.korder.dev", "tickets/finalizers", "update"),
    # Asked once at the start: whom admission spares, and where korder is installed.
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "get"),
    ("rbac.authorization.k8s.io", "clusterrolebindings", "get"),
    # Only where webhooks are installed.
    ("", "secrets", "create"),
    ("", "secrets", "get"),
    ("", "secrets", "patch"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "get"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "patch"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "get"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "patch"),
}
"""What caches that are late, answers that got lost, repeated Events and webhooks need."""


class Witness:
    """A wire that remembers what was asked and what was refused."""

    def __init__(self, inner: InProcessTransport) -> None:
        self._inner = inner
        self.used: set[Right] = set()
        self.refused: list[str] = []

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        answer = await self._inner.send(request, guard)
        self.used.add(_right(request))
        if answer.status == 403:
            self.refused.append(f"{request.method} {request.target}")
        return answer

    async def close(self) -> None:
        """Nothing is held."""


def _right(request: Request) -> Right:
    url = urlsplit(request.target)
    root, *parts = url.path.strip("/").split("/")
    group = parts.pop(0) if root == "apis" else ""
    parts = parts[1:]
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    resource, name, sub = (*parts, "", "")[:3]
    verb = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}.get(
        request.method, "get" if name else "list"
    )
    if verb == "list" and parse_qs(url.query).get("watch"):
        verb = "watch"
    return group, f"{resource}/{sub}" if sub else resource, verb


def granted() -> set[Right]:
    roles = [cast("dict[str, Any]", body) for body in rights(Site()) if "rules" in body]
    return {
        (group, resource, verb)
        for role in roles
        if role["metadata"]["name"] == MANAGER
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@asynccontextmanager
async def a_manager_with_its_rights(cluster: Scene, clock: Clock) -> AsyncIterator[Witness]:
    await cluster.client.create(NAMESPACES, {"metadata": {"name": HOME}})
    catalog = await rest_mapper.discover(cluster.client)
    for body in rights(Site()):
        found = catalog.of(str(body["apiVersion"]), str(body["kind"]))
        assert found is not None
        await cluster.client.create(found.kind, body)
    assert cluster.server is not None
    headers = {
        "Authorization": f"Bearer {cluster.server.admin_token}",
        "Impersonate-User": Site().manager_user,
    }
    witness = Witness(InProcessTransport(cluster.server.api.handle, headers))
    client = Client(witness, rng=random.Random(1))
    settings = Settings(
        identity="korder",
        component="korder",
        metric_prefix="korder",
        lease=Key(HOME, "korder-manager"),
    )
    manager = Manager(client, settings, clock=clock, rng=random.Random(1))
    add_reserve(manager)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        try:
            yield witness
        finally:
            stop.set()


_FROM_THE_ORIGINAL: JSON = {"metadata": {"finalizers": [QUOTA_FINALIZER]}}


async def a_day(cluster: Scene) -> None:
    """A quota of the original, orders, tickets that are claimed, released, expired and deleted, and an order and the quota that go."""
    big: JSON = {"template": {"spec": {"resources": {"requests": {"cpu": "3"}}}}}
    await cluster.put(a_quota("q", tickets="9").but(_FROM_THE_ORIGINAL))
    await cluster.put(an_order("o", 2).but({"spec": big}), a_ticket("brief", "30s"))
    await cluster.until(ORDERS, "o", lambda order: order.status.available_replicas == 2)
    asking = a_pod("p").requesting(cpu="3").annotated({"korder.dev/order": "o"})
    await cluster.put(asking.gated_by("korder.dev/ticket"))
    await cluster.until(PODS, "p", lambda pod: pod.status.phase == "Running")
    await cluster.until(ORDERS, "o", lambda order: order.status.claimed_replicas == 1)
    await cluster.until(TICKETS, "brief", lambda t: t.status.phase is TicketPhase.EXPIRED)
    await cluster.delete(PODS, "p")
    await cluster.delete(ORDERS, "o")
    await cluster.gone(ORDERS, "o")
    await cluster.delete(QUOTAS, "q")
    await cluster.gone(QUOTAS, "q")


async def test_the_manager_may_do_what_it_does_and_not_more(clock: Clock) -> None:
    async with (
        scene(clock) as cluster,
        a_manager_with_its_rights(cluster, clock) as witness,
    ):
        await a_day(cluster)
    assert witness.refused == []
    assert witness.used <= granted()
    # Older servers do not stream what is there, and have to be asked for a list.
    streamed = {(group, kind, "list") for group, kind, verb in witness.used if verb == "watch"}
    assert granted() - witness.used <= ON_OTHER_DAYS | streamed
