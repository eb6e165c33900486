"""An embedded cluster: an API server, simulated nodes and the controllers every cluster has, in one process.

`korder up` runs one for people, tests and benchmarks run them too. Actors talk to the server without sockets, with the
administrator's token, and are the same that run against a real server; whoever wants other actors leaves them out and points
kube-scheduler or kube-controller-manager at it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
import random

from korder.install import crds
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
NAMESPACE = "korder-system"
"""Where korder's own things belong; examples of its orders are there too."""
NAMES = (LOOPBACK, "localhost", "kubernetes.default.svc")


class Actor(StrEnum):
    """Parts of a cluster that can be left to somebody else."""

    SCHEDULER = "scheduler"
    CONTROLLERS = "controllers"
    NODES = "nodes"
    KORDER = "korder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a cluster is to be like.

    Attributes:
        folder: Where state and credentials are kept; None for a cluster that ends with the process.
        memory: Keep the credentials, but no state.
        port: Where to listen; 0 for any free port.
        machines: The nodes.
        without: Actors that are not run.
        objects: What is applied at every start, after korder's kinds.
        parts: What korder runs on a manager of its own; each puts itself there.
        user: In whose name they write; the administrator's if empty. Admission tells them from people by it, and from the actors.
    """

    folder: Path | None = None
    memory: bool = False
    port: int = 0
    machines: Mapping[str, Shape] = field(default_factory=dict)
    without: frozenset[Actor] = frozenset()
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
        korder = _korder(Client(own, rng=rng), options, clock, rng)
        try:
            await _define(client, options.objects)
            root = credentials.authority.certificate.decode()
            async with _forgetting(storage), _acting(client, korder, options, root, clock, rng):
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


async def _define(client: Client, objects: Sequence[Mapping[str, JSON]]) -> None:
    """Brings in korder's namespace and kinds, and more; on a cluster that has them, nothing is written."""
    with suppress(AlreadyExists):
        await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    for crd in crds.all_crds():
        await client.patch(CUSTOM_RESOURCE_DEFINITIONS, _key(crd), crd, PatchType.APPLY, force=True)
    catalog = await rest_mapper.discover(client)
    for each in objects:
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
    korder: Manager,
    options: Options,
    root: str,
    clock: Clock,
    rng: random.Random,
) -> AsyncIterator[None]:
    manager = Manager(client, _settings(), clock=clock, rng=rng)
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
        group.create_task(korder.run(stop))
        try:
            await _until_ready(client, shapes)
            yield
        finally:
            stop.set()


def _settings() -> Settings:
    return Settings(identity="korder-up", measure_lag=True)


def _korder(client: Client, options: Options, clock: Clock, rng: random.Random) -> Manager:
    """What korder itself runs."""
    manager = Manager(client, _settings(), clock=clock, rng=rng)
    for part in () if Actor.KORDER in options.without else options.parts:
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
