"""An embedded cluster: an API server, simulated nodes and the controllers every cluster has, in one process.

A command line runs one for its users, tests and benchmarks run them too. Actors talk to the server without sockets, with the
administrator's token, and are the same that run against a real server. Any of them can be left out, to point kube-scheduler or
kube-controller-manager at it. A product adds its kinds, its objects and its controllers by `Options`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
import random

from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import AlreadyExists
from kubeloop.net.in_process import InProcessTransport
from kubeloop.net.ports import LOOPBACK
from kubeloop.net.server import Server
from kubeloop.net.server_tls import ServerTls
from kubeloop.objects.core import NAMESPACES, NODES, Node
from kubeloop.objects.machinery import CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube import credentials as keys
from pocketkube.apiserver.access import access_check as access
from pocketkube.apiserver.access.impersonation import headers_for
from pocketkube.apiserver.assembly import Surroundings, assemble
from pocketkube.apiserver.server import Settings as ServerSettings
from pocketkube.apiserver.serving.expiry import Expiry
from pocketkube.apiserver.storage import Storage, open_storage
from pocketkube.controllers.node_lifecycle import NodeLifecycle
from pocketkube.controllers.stored_kinds import stored_kinds
from pocketkube.controllers.workloads import add_workloads
from pocketkube.credentials import Credentials
from pocketkube.nodes.conditions import NOT_READY
from pocketkube.nodes.heartbeat import Nodes, retire
from pocketkube.nodes.kubelet import Kubelet
from pocketkube.nodes.machines import Machines, Shape
from pocketkube.scheduler.scheduler import Scheduler

STATE = "state.db"
NAMES = (LOOPBACK, "localhost", "kubernetes.default.svc")


class Actor(StrEnum):
    """Parts of a cluster that other programs can take over."""

    SCHEDULER = "scheduler"
    CONTROLLERS = "controllers"
    NODES = "nodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a cluster is to be like.

    Attributes:
        folder: Where state and credentials are kept; None for a cluster that ends with the process.
        memory: Keep the credentials, but no state.
        port: Where to listen; 0 for any free port.
        machines: The nodes.
        without: Actors that are not run.
        identity: Names the managers in what they write.
        component: What Events and metrics of the managers name as their source.
        namespace: A namespace that is created at the first start; none if empty.
        definitions: CustomResourceDefinitions, applied at every start.
        objects: What is applied at every start, after the definitions.
        parts: What runs on a manager of its own beside the actors; each puts itself there.
        user: In whose name the parts write; the administrator's if empty. Admission distinguishes them by it from users and from
            the actors.
    """

    folder: Path | None = None
    memory: bool = False
    port: int = 0
    machines: Mapping[str, Shape] = field(default_factory=dict)
    without: frozenset[Actor] = frozenset()
    identity: str = "pocketkube"
    component: str = "pocketkube"
    namespace: str = ""
    definitions: Sequence[Mapping[str, JSON]] = ()
    objects: Sequence[Mapping[str, JSON]] = ()
    parts: Sequence[Callable[[Manager], object]] = ()
    user: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that runs.

    Attributes:
        server: The address of the API server.
        credentials: What one needs to talk to it.
        client: The administrator's client, without sockets.
    """

    server: str
    credentials: Credentials
    client: Client

    def kubeconfig(self) -> bytes:
        return keys.kubeconfig(self.credentials, self.server)


@asynccontextmanager
async def running(options: Options, *, clock: Clock, rng: random.Random) -> AsyncIterator[Cluster]:
    """Runs a cluster while the block does; it is ready when the block begins.

    Raises:
        storage.Unusable, credentials.Unusable: the folder cannot be used.
        CannotListen: the port is taken.
    """
    folder, now = options.folder, clock.now()
    credentials = keys.make(now) if folder is None else keys.keep(folder, now)
    path = None if folder is None or options.memory else folder / STATE
    async with open_storage(path) as storage:
        surroundings = Surroundings(
            access=access.Settings(
                credentials.signing_key,
                {credentials.admin_token: access.ADMIN},
                authority=credentials.authority.certificate,
            ),
            settings=ServerSettings(),
        )
        server = assemble(storage, surroundings, now=clock.now, rng=rng)
        await server.start()
        tls = ServerTls()
        tls.load(credentials.serving(NAMES, now))
        listener = Server(server.handle, LOOPBACK, options.port, tls, refuse=server.refuse)
        port = await listener.start()
        headers = {"Authorization": f"Bearer {credentials.admin_token}"}
        transport = InProcessTransport(server.handle, headers)
        client = Client(transport, rng=rng)
        own = transport.with_headers(headers_for(options.user)) if options.user else transport
        added = _added(Client(own, rng=rng), options, clock, rng)
        try:
            await _define(client, options)
            root = credentials.authority.certificate.decode()
            async with _forgetting(storage), _acting(client, added, options, root, clock, rng):
                yield Cluster(f"https://{LOOPBACK}:{port}", credentials, client)
        finally:
            await server.close()
            await listener.stop(grace=1.0)


@asynccontextmanager
async def _forgetting(storage: Storage) -> AsyncIterator[None]:
    """Lets events end when their time is over."""
    async with asyncio.TaskGroup() as group:
        expiry = group.create_task(Expiry(storage).run())
        try:
            yield
        finally:
            expiry.cancel()


async def _define(client: Client, options: Options) -> None:
    """Brings in the namespace, kinds and objects; on a cluster that has them, nothing is written."""
    if options.namespace:
        with suppress(AlreadyExists):
            await client.create(NAMESPACES, {"metadata": {"name": options.namespace}})
    for crd in options.definitions:
        await client.patch(CUSTOM_RESOURCE_DEFINITIONS, _key(crd), crd, PatchType.APPLY, force=True)
    catalog = await rest_mapper.discover(client)
    for each in options.objects:
        found = catalog.of(str(each["apiVersion"]), str(each["kind"]))
        assert found is not None  # noqa: S101  the server is ours too
        await client.patch(found.kind, _key(each), each, PatchType.APPLY, force=True)


def _key(body: Mapping[str, JSON]) -> Key:
    meta = body["metadata"]
    assert isinstance(meta, dict)  # noqa: S101  they are ours
    return Key(str(meta.get("namespace", "")), str(meta["name"]))


@asynccontextmanager
async def _acting(
    client: Client,
    added: Manager,
    options: Options,
    root: str,
    clock: Clock,
    rng: random.Random,
) -> AsyncIterator[None]:
    manager = Manager(client, _settings(options), clock=clock, rng=rng)
    shapes = {} if Actor.NODES in options.without else options.machines
    await retire(client, shapes)
    machines = Machines()
    for name, shape in shapes.items():
        machines.add(name, shape)
    Nodes(manager, machines)
    Kubelet(manager, machines)
    if Actor.SCHEDULER not in options.without:
        Scheduler(manager, clock=clock, rng=rng)
    if Actor.CONTROLLERS not in options.without:
        # Last, because the garbage collector reads nothing but metadata, and informers are shared by all.
        NodeLifecycle(manager)
        add_workloads(manager, client, await stored_kinds(client), root_certificate=root)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        group.create_task(added.run(stop))
        try:
            await _until_ready(client, shapes)
            yield
        finally:
            stop.set()


def _settings(options: Options) -> Settings:
    return Settings(
        identity=options.identity,
        component=options.component,
        metric_prefix=options.component,
        measure_lag=True,
    )


def _added(client: Client, options: Options, clock: Clock, rng: random.Random) -> Manager:
    """What runs beside the actors."""
    manager = Manager(client, _settings(options), clock=clock, rng=rng)
    for part in options.parts:
        part(manager)
    return manager


async def _until_ready(client: Client, machines: Mapping[str, Shape]) -> None:
    """Waits until every machine has joined and takes pods."""
    while machines:
        found = {node.metadata.name: node for node in (await client.list(NODES)).items}
        if all(name in found and _takes_pods(found[name]) for name in machines):
            return
        await asyncio.sleep(0.01)


def _takes_pods(node: Node) -> bool:
    return all(taint.key != NOT_READY for taint in node.spec.taints)
