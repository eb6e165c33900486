"""Who is in a cluster: all nodes and pods of one moment, as a server lists them or as its watches tell them.

`feeding` waits for changes with it instead of asking again and again, which would cost a server more than the scheduler does.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
import random

from tests.agreement.arrivals.histories import NAMESPACE

from kubeloop.client.client import Client
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.scheduler import pod_info, schedule_one
from pocketkube.scheduler.schedule_one import Found
from pocketkube.scheduler.snapshot import Cluster


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All nodes and pods of one moment."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]

    @property
    def waiting(self) -> list[Pod]:
        """Who wants a place and has none."""
        return [p for p in self.pods if not p.spec.node_name and not p.spec.scheduling_gates]

    @property
    def hopeful(self) -> Iterator[Pod]:
        """Those who wait and fit somewhere, or could push others aside."""
        cluster, rng = self._cluster(), random.Random(0)
        for pod in self.waiting:
            decision = schedule_one.choose(pod_info.measure(pod), cluster, rng)
            if isinstance(decision, Found) or decision.victims:
                yield pod

    def _cluster(self) -> Cluster:
        """As a scheduler sees it."""
        cluster = Cluster()
        cluster.namespaces[NAMESPACE] = {}
        for node in self.nodes:
            cluster.set_node(node.metadata.name, node)
        for pod in self.pods:
            if pod.spec.node_name:
                cluster.seat(pod_info.measure(pod), pod.spec.node_name)
        return cluster


class Observer:
    """Sees a cluster through watches, which may be late, and on request through lists, which are not."""

    def __init__(self, client: Client, manager: Manager) -> None:
        self._client = client
        self._nodes = manager.informers.of(NODES)
        self._pods = manager.informers.of(PODS)
        self._changed = asyncio.Event()
        self._nodes.on_change(lambda _: self._changed.set())
        self._pods.on_change(lambda _: self._changed.set())

    @property
    def last_seen(self) -> Snapshot:
        return Snapshot(tuple(self._nodes.reader.all()), tuple(self._pods.reader.all()))

    async def look(self) -> Snapshot:
        """Asks the server how things are now."""
        nodes = await self._client.list(NODES)
        pods = await self._client.list(PODS, NAMESPACE)
        return Snapshot(tuple(nodes.items), tuple(pods.items))

    async def change(self) -> None:
        """Waits until something has changed since this was last asked."""
        await self._changed.wait()
        self._changed.clear()


@asynccontextmanager
async def an_observer(client: Client, clock: Clock) -> AsyncIterator[Observer]:
    """Watches a cluster while the block runs."""
    manager = Manager(client, Settings(identity="lookout"), clock=clock, rng=random.Random(1))
    observer = Observer(client, manager)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        try:
            yield observer
        finally:
            stop.set()
