"""Ownership graphs with cycles: the embedded garbage collector leaves what that of kube-controller-manager leaves.

The graphs are made on both servers, and the same objects are deleted after the same pauses, in the foreground or not. What has to be
left is known beforehand: what never had an owner, and what has one that is left. One difference is documented: on a real server
objects that block each other's deletion in the foreground, or their own, wait for each other forever. These are checked to be that, and
nothing else.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
import random
import secrets

import structlog
from tests.e2e.waiting import until
from tests.embedded.workloads.test_garbage import Graph, a_graph

from kubeloop.client.client import Client
from kubeloop.client.errors import NotFound
from kubeloop.client.request import Propagation
from kubeloop.objects.core import CONFIG_MAPS, NAMESPACES, ConfigMap
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.controllers.stored_kinds import stored_kinds
from pocketkube.controllers.workloads import add_workloads
from pocketkube.testing.apiserver import embedded_server

log = structlog.get_logger(__name__)
GRAPHS = 100
FOREGROUND = "foregroundDeletion"
LANES = 8
"""Requests that are under way at once."""
CIRCLE = Graph([{2: True}, {0: True}, {1: True}], {0: (True, 0.0)})
"""Three objects that own each other; one is deleted in the foreground."""
CIRCLE_NAMES = {f"graph-0-{member}" for member in range(3)}

Left = dict[str, frozenset[str]]
"""The owners that are left, by the names of what is left."""


@asynccontextmanager
async def an_embedded_collector(clock: Clock) -> AsyncIterator[Client]:
    """The embedded server with its workload controllers."""
    async with embedded_server(clock) as server:
        client = server.client()
        manager = Manager(
            client,
            Settings(identity="actors", component="korder", metric_prefix="korder"),
            clock=clock,
            rng=random.Random(1),
        )
        add_workloads(manager, client, await stored_kinds(client))
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run(stop))
            try:
                yield client
            finally:
                stop.set()


@dataclass(frozen=True)
class Planted:
    """Graphs of config maps in a namespace of a server."""

    client: Client
    namespace: str
    graphs: list[Graph]

    async def plant(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        lanes = asyncio.Semaphore(LANES)

        async def one(number: int) -> None:
            async with lanes:
                await self._plant(number)

        async with asyncio.TaskGroup() as group:
            for number in range(len(self.graphs)):
                group.create_task(one(number))

    async def _plant(self, graph: int) -> None:
        owners = self.graphs[graph].owners
        uids = list[str]()
        for member in range(len(owners)):
            meta: JSON = {"name": name(graph, member), "namespace": self.namespace}
            made = await self.client.create(CONFIG_MAPS, {"metadata": meta})
            uids.append(made.metadata.uid)
        for member, owned in enumerate(owners):
            refs: JSON = [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": name(graph, owner),
                    "uid": uids[owner],
                    "blockOwnerDeletion": blocks,
                }
                for owner, blocks in owned.items()
            ]
            key = Key(self.namespace, name(graph, member))
            await self.client.patch(CONFIG_MAPS, key, {"metadata": {"ownerReferences": refs}})

    async def delete(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(len(self.graphs)):
                group.create_task(self._delete(number))

    async def _delete(self, graph: int) -> None:
        for member, (foreground, pause) in self.graphs[graph].deleted.items():
            await asyncio.sleep(pause)
            how = Propagation.FOREGROUND if foreground else Propagation.BACKGROUND
            key = Key(self.namespace, name(graph, member))
            with suppress(NotFound):  # the collector may be faster
                await self.client.delete(CONFIG_MAPS, key, propagation=how)

    async def maps(self) -> list[ConfigMap]:
        found = (await self.client.list(CONFIG_MAPS, self.namespace)).items
        return [each for each in found if each.metadata.name.startswith("graph-")]

    async def left(self) -> Left:
        """What is left, without deletions that wait for each other."""
        maps = await self.maps()
        stuck = deadlocked(maps)
        return {
            each.metadata.name: frozenset(ref.name for ref in each.metadata.owner_references)
            for each in maps
            if each.metadata.name not in stuck
        }


def deadlocked(maps: list[ConfigMap]) -> set[str]:
    """The names of those that are deleted in the foreground and are each blocked by another of these, or by themselves."""
    stuck = {each.metadata.name: each for each in maps if FOREGROUND in each.metadata.finalizers}
    while True:
        blocked = {
            ref.name
            for each in stuck.values()
            for ref in each.metadata.owner_references
            if ref.block_owner_deletion
        }
        if stuck.keys() <= blocked:
            return set(stuck)
        stuck = {name: each for name, each in stuck.items() if name in blocked}


def name(graph: int, member: int) -> str:
    return f"graph-{graph}-{member}"


def expected(graphs: list[Graph]) -> Left:
    """What has to be left, with those of its owners that are left."""
    return {
        name(number, member): frozenset(
            name(number, owner) for owner in owners if owner not in graph.collected
        )
        for number, graph in enumerate(graphs)
        for member, owners in enumerate(graph.owners)
        if member not in graph.collected
    }


async def test_graphs_with_cycles_are_collected_alike(client: Client, clock: Clock) -> None:
    rng = random.Random(1)
    graphs = [CIRCLE, *(a_graph(rng) for _ in range(GRAPHS))]
    wanted = expected(graphs)
    namespace = f"graphs-{secrets.token_hex(4)}"
    async with an_embedded_collector(clock) as embedded:
        real, ours = (Planted(each, namespace, graphs) for each in (client, embedded))
        await asyncio.gather(real.plant(), ours.plant())
        await asyncio.sleep(1)
        await asyncio.gather(real.delete(), ours.delete())
        for side in (real, ours):
            await settled(side, wanted)
        await asyncio.sleep(2)
        for side in (real, ours):
            assert await side.left() == wanted
        there = await real.maps()
        log.info("figures", graphs=len(graphs), left=len(wanted), stuck=len(there) - len(wanted))
        assert not deadlocked(await ours.maps())
        assert not any(each.metadata.name in CIRCLE_NAMES for each in there)
    for each in there:
        key = Key(namespace, each.metadata.name)
        with suppress(NotFound):
            await client.patch(CONFIG_MAPS, key, {"metadata": {"finalizers": None}})
    await client.delete(NAMESPACES, Key("", namespace))


async def settled(side: Planted, wanted: Left) -> None:
    """Waits until exactly that is left, or tells the differences."""

    async def done() -> bool:
        return await side.left() == wanted

    try:
        await until(done, seconds=45)
    except TimeoutError:
        left = await side.left()
        differing = sorted(k for k in left.keys() | wanted if left.get(k) != wanted.get(k))
        raise AssertionError({k: (left.get(k), wanted.get(k)) for k in differing}) from None
