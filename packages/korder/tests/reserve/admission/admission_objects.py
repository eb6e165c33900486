"""An API server with korder's admission in it, by policies or by webhooks, without sockets: the same doors by either means."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
import random

from prometheus_client import CollectorRegistry

from korder.api import quota
from korder.api.reserve import DEFINITIONS, Order
from korder.install import objects
from korder.install.objects import Admission
from korder.install_config import Site
from korder.reserve.admission import webhook
from korder.reserve.admission.webhook import Counted
from korder.reserve.quotas.quota_cache import QuotaCache
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.net.http import Request, Transport, Unreachable
from kubeloop.net.in_process import InProcessTransport
from kubeloop.net.server import Reply
from kubeloop.objects.core import SERVICE_ACCOUNTS, Node
from kubeloop.objects.machinery import CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.webhook import handler
from kubeloop.runtime.webhook.handler import HandlerMetrics
from kubeloop.schema import crd
from pocketkube.apiserver.admission.webhooks import Endpoint
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server

_RBAC = "rbac.authorization.k8s.io"
URL = "https://manager.test:9443"


@dataclass
class Manager:
    """The manager's webhooks, behind a wire that can be cut."""

    clock: Clock
    up: bool = True
    nodes: list[Node] = field(default_factory=list)
    orders: dict[Key, Order] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counted = Counted(QuotaCache(), lambda: self.nodes, self.orders.get)
        metrics = HandlerMetrics(CollectorRegistry())
        self._gates = {
            f"/{name}": handler.mount(name, each, metrics, self.clock)
            for name, each in webhook.by_path(
                self.clock, self.counted, system_classes=False
            ).items()
        }

    def connect(self, _: Endpoint) -> Transport:
        return InProcessTransport(self._answer)

    async def _answer(self, request: Request) -> Reply:
        if not self.up:
            raise Unreachable("connection refused")
        path = request.target.partition("?")[0]
        self.asked.append(path)
        return await self._gates[path](request)


@dataclass(frozen=True)
class AdmissionForms:
    """A server whose doors are watched."""

    server: EmbeddedServer
    client: Client
    manager: Manager

    async def tenant(self) -> Client:
        """A user who may do everything with pods, and nothing else."""
        rule: JSON = {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}
        role: JSON = {"metadata": {"name": "pods"}, "rules": [rule]}
        binding: JSON = {
            "metadata": {"name": "pods"},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "pods"},
            "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": "tenant"}],
        }
        await _apply(
            self.client,
            {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", **role},
            {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding", **binding},
        )
        headers = {
            "Authorization": f"Bearer {self.server.admin_token}",
            "Impersonate-User": "tenant",
        }
        transport = InProcessTransport(self.server.api.handle, headers)
        return Client(transport, rng=random.Random(2))


@asynccontextmanager
async def admission_objects(
    clock: Clock, admission: Admission, place: Site | None = None
) -> AsyncIterator[AdmissionForms]:
    """Runs a server with our CRDs and admission, in which pods can be made in the namespace default."""
    manager = Manager(clock)
    async with embedded_server(clock, connect=manager.connect) as server:
        client = server.client()
        await _apply(client, *map(crd.build, (*DEFINITIONS, *quota.DEFINITIONS)))
        await _apply(client, *objects.admission_objects(place or Site(webhook_url=URL), admission))
        account: JSON = {"name": "default", "namespace": "default"}
        await client.create(SERVICE_ACCOUNTS, {"metadata": account})
        yield AdmissionForms(server, client, manager)


async def _apply(client: Client, *bodies: dict[str, JSON]) -> None:
    catalog = await rest_mapper.discover(client)
    for body in bodies:
        meta = body["metadata"]
        assert isinstance(meta, dict)
        found = catalog.of(str(body["apiVersion"]), str(body["kind"]))
        kind = CUSTOM_RESOURCE_DEFINITIONS if found is None else found.kind
        key = Key(str(meta.get("namespace", "")), str(meta["name"]))
        await client.patch(kind, key, body, PatchType.APPLY, force=True)
