"""A small cluster for tests of `reserve`: server, scheduler, machines and workload controllers in virtual time, and the parts under test.

    async with scene(clock, Tickets) as cluster:
        await cluster.put(a_ticket("t"))
        ticket = await cluster.until(TICKETS, "t", lambda t: t.status.phase == TicketPhase.RESERVED)

`cluster.restart()` ends the manager of the parts and begins another with an empty memory. Nothing here sleeps in real time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
import random
from typing import TypeVar, cast

from korder.api import quota
from korder.api.reserve import DEFINITIONS, GROUP, GUARDIAN_LABEL, GUARDIAN_PRIORITY_CLASS
from korder.install import crds
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import NotFound
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.machinery import CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.builders import Builder
from pocketkube.controllers.node_lifecycle import NodeLifecycle
from pocketkube.controllers.stored_kinds import stored_kinds
from pocketkube.controllers.workloads import add_workloads
from pocketkube.nodes.heartbeat import Nodes
from pocketkube.nodes.kubelet import Kubelet
from pocketkube.nodes.machines import Machines, Shape
from pocketkube.scheduler.scheduler import Scheduler
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server

T = TypeVar("T", bound=HasMetadata)
Part = Callable[[Manager], object]
"""Puts a controller on a manager."""

NODE = Shape(cpu="4", memory="8Gi", pods=110)
PATIENCE = 600.0
"""Virtual seconds after which a wish has not come true."""


class Scene:
    """The cluster as a user sees it."""

    def __init__(self, client: Client, clock: Clock, machines: Machines, parts: tuple[Part, ...]):
        self.client = client
        self.clock = clock
        self.machines = machines
        self.server: EmbeddedServer | None = None
        self.parts = parts
        self._stop = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._lives = 0

    def add_node(self, name: str, shape: Shape = NODE) -> None:
        self.machines.add(name, shape)

    async def put(self, *built: Builder[T]) -> None:
        """Creates objects, or changes them to what is said."""
        for each in built:
            obj = each.build()
            key = Key(obj.metadata.namespace, obj.metadata.name)
            await self.client.patch(each.kind, key, each.json, PatchType.APPLY, force=True)

    async def get(self, kind: Kind[T], name: str, namespace: str = "default") -> T | None:
        try:
            return await self.client.get(kind, Key(namespace if kind.namespaced else "", name))
        except NotFound:
            return None

    async def all(self, kind: Kind[T], namespace: str = "", labels: str = "") -> list[T]:
        return list((await self.client.list(kind, namespace, labels=labels)).items)

    async def guardians(self) -> list[Pod]:
        return await self.all(PODS, labels=f"{GUARDIAN_LABEL}=true")

    async def edit(
        self, kind: Kind[T], name: str, change: Mapping[str, JSON], namespace: str = "default"
    ) -> None:
        key = Key(namespace if kind.namespaced else "", name)
        await self.client.patch(kind, key, dict(change), PatchType.MERGE)

    async def delete(self, kind: Kind[T], name: str, namespace: str = "default") -> None:
        await self.client.delete(kind, Key(namespace if kind.namespaced else "", name))

    async def until(
        self, kind: Kind[T], name: str, holds: Callable[[T], bool], namespace: str = "default"
    ) -> T:
        """Waits until an object is as wished."""
        found: T | None = None
        try:
            async with asyncio.timeout(PATIENCE):
                while (found := await self.get(kind, name, namespace)) is None or not holds(found):
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"{kind.kind} {name} has not become so: {found}") from None
        return found

    async def gone(self, kind: Kind[T], name: str, namespace: str = "default") -> None:
        """Waits until an object is gone."""
        async with asyncio.timeout(PATIENCE):
            while await self.get(kind, name, namespace) is not None:
                await asyncio.sleep(0.1)

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def begin(self, group: asyncio.TaskGroup) -> None:
        """Starts the parts under test."""
        self._lives += 1
        rng = random.Random(self._lives)
        settings = Settings(
            identity=f"korder-{self._lives}", component="korder", metric_prefix="korder"
        )
        manager = Manager(self.client, settings, clock=self.clock, rng=rng)
        for part in self.parts:
            part(manager)
        self._stop = asyncio.Event()
        self._group = group
        self._life = group.create_task(manager.run(self._stop))

    async def end(self) -> None:
        self._stop.set()
        if self._life is not None:
            await self._life

    async def restart(self) -> None:
        """Ends the parts under test and begins them with an empty memory."""
        await self.end()
        await self.begin(self._group)


@asynccontextmanager
async def scene(clock: Clock, *parts: Part, nodes: int = 3) -> AsyncIterator[Scene]:
    """Runs a cluster of nodes of 4 cpu and 8Gi, with korder's CRDs and the parts, while the block does."""
    async with embedded_server(clock) as server:
        client = server.client()
        await define(client)
        machines = Machines()
        for number in range(1, nodes + 1):
            machines.add(f"node-{number}", NODE)
        rng = random.Random(0)
        manager = Manager(
            client,
            Settings(identity="cluster", component="korder", metric_prefix="korder"),
            clock=clock,
            rng=rng,
        )
        Nodes(manager, machines, leases=False)
        Kubelet(manager, machines)
        NodeLifecycle(manager, leases=False)
        Scheduler(manager, clock=clock, rng=rng)
        add_workloads(manager, client, await stored_kinds(client))
        stop, there = asyncio.Event(), Scene(client, clock, machines, parts)
        there.server = server
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run(stop))
            await there.begin(group)
            try:
                yield there
            finally:
                await there.end()
                stop.set()


@cache
def _definitions() -> tuple[dict[str, JSON], ...]:
    """The CRDs of this room; to make all of them would be half the time of a test."""
    kinds = (*DEFINITIONS, *quota.DEFINITIONS)
    ours = {f"{each.kind.plural}.{GROUP}" for each in kinds}
    return tuple(
        crd for crd in crds.all_crds() if cast("dict[str, JSON]", crd["metadata"])["name"] in ours
    )


async def define(client: Client) -> None:
    """Makes a server know the kinds of this room, and the class of guardians."""
    for crd in _definitions():
        meta = crd["metadata"]
        assert isinstance(meta, dict)
        key = Key("", str(meta["name"]))
        await client.patch(CUSTOM_RESOURCE_DEFINITIONS, key, crd, PatchType.APPLY, force=True)
    found = (await rest_mapper.discover(client)).of("scheduling.k8s.io/v1", "PriorityClass")
    assert found is not None
    await client.create(
        found.kind,
        {
            "metadata": {"name": GUARDIAN_PRIORITY_CLASS},
            "value": 1_000_000,
            "preemptionPolicy": "Never",
        },
    )
