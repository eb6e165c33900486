"""A real cluster to measure orders and claims on, the processes around it, and a witness who notes when what was seen.

API server, scheduler and controller manager are those of Kubernetes; nodes and kubelets are simulated by `nodes_child`, in a process of their
own, and so is whatever is measured. The benchmark itself only makes objects and watches.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
import json
import os
import sys
from time import perf_counter
from typing import Generic, TypeVar, cast

from bench.plane import a_client
from korder.api.reserve import ORDERS, TICKETS
from korder.cli import cluster_objects
from korder.install import crds
from korder.reserve.domain import priority_class
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import UnknownOutcome
from kubeloop.client.request import Propagation
from kubeloop.objects.core import NAMESPACES, NODES, PODS, Node, Pod, is_ready
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind, key_of
from kubeloop.runtime.informer import Informer, Scope
from kubeloop.runtime.metrics import Metrics
from kubeloop.runtime.store import Change
from kubeloop.testing.controlplane import ControlPlane

T = TypeVar("T", bound=HasMetadata)
U = TypeVar("U")

IN_FLIGHT = 32
"""Requests that a bare client has under way."""
WARM_UP = 100
"""Objects of each kind that are made before anything is measured."""
PATIENCE = 600.0
"""Seconds after which nothing is waited for any more."""
REQUESTS: JSON = {"cpu": "100m", "memory": "64Mi"}
"""What every ticket and every pod takes."""
_LATER: JSON = {"duration": "1h", "startTime": "2100-01-01T00:00:00Z"}
"""A ticket for which nothing is done yet."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as the benchmark sees it."""

    plane: ControlPlane
    client: Client

    async def namespace(self, name: str) -> str:
        """Makes a namespace in which pods can be made."""
        await self.client.create(NAMESPACES, {"metadata": {"name": name}})
        accounts = (await rest_mapper.discover(self.client)).of("v1", "ServiceAccount")
        assert accounts is not None
        async with asyncio.timeout(PATIENCE):
            while not (await self.client.list(accounts.kind, name)).items:
                await asyncio.sleep(0.1)
        return name

    async def clear(self, namespace: str, labels: str = "") -> None:
        """Takes all pods of a namespace away, or those with such labels, and waits until nothing is left of them."""
        while not await self._swept(namespace, labels):
            pass
        while (await self.client.list(PODS, namespace, labels=labels)).items:
            await asyncio.sleep(0.2)

    async def _swept(self, namespace: str, labels: str) -> bool:
        """Says whether all were told to go: a busy server may take longer for hundreds than it is waited for."""
        try:
            await self.client.delete_collection(PODS, namespace, labels=labels)
        except UnknownOutcome:
            return False
        return True


@asynccontextmanager
async def a_cluster(nodes: int, cpu: str = "32") -> AsyncIterator[Cluster]:
    """A cluster with korder's CRDs and so many nodes that are ready."""
    async with ControlPlane() as plane, a_client(plane.kubeconfig()) as client:
        await define(client)
        async with a_helper("bench.nodes_child", str(plane.kubeconfig()), str(nodes), cpu):
            await _open(client, nodes)
            cluster = Cluster(plane, client)
            await _warm_up(cluster)
            yield cluster


@dataclass(slots=True)
class Helper:
    """A process beside the benchmark; `numbers` is what it said at its end."""

    numbers: dict[str, float] = field(default_factory=dict)


@asynccontextmanager
async def a_helper(module: str, *args: str, **environment: str) -> AsyncIterator[Helper]:
    """Runs a module that says a line when it is ready, ends when its input does, and then may print numbers."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
    )
    helper = Helper()
    try:
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018  it has both
        if not await process.stdout.readline():
            raise RuntimeError(f"{module} ended before it was ready")
        yield helper
        process.stdin.close()
        out, _ = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"{module} ended with {process.returncode}")
        helper.numbers.update(json.loads(out or "{}"))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class Witness(Generic[T]):
    """Watches a kind and notes for each object when it was first seen as wished."""

    def __init__(self, wished: Callable[[T], bool]) -> None:
        self._wished = wished
        self._news = asyncio.Event()
        self.seen: dict[str, float] = {}

    def see(self, change: Change[T]) -> None:
        new = change.new
        if new is not None and new.metadata.name not in self.seen and self._wished(new):
            self.seen[new.metadata.name] = perf_counter()
            self._news.set()

    async def all(self, count: int) -> float:
        """Waits until so many are as wished; returns when the last of them was seen to be."""
        async with asyncio.timeout(PATIENCE):
            while len(self.seen) < count:
                self._news.clear()
                await self._news.wait()
        return max(self.seen.values())


@asynccontextmanager
async def a_witness(
    client: Client, kind: Kind[T], namespace: str, wished: Callable[[T], bool]
) -> AsyncIterator[Witness[T]]:
    """Watches a namespace while the block runs."""
    informer = Informer(client, kind, Metrics(), scope=Scope(namespace))
    witness = Witness(wished)
    informer.on_change(witness.see)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(informer.run())
        await informer.wait_until_synced()
        yield witness
        running.cancel()


async def define(client: Client) -> None:
    """Lets a server know korder's kinds and the priority class of guardians."""
    for crd in crds.all_crds():
        await cluster_objects.define(client, crd)
    await cluster_objects.apply(client, await rest_mapper.discover(client), priority_class())


async def in_lanes(work: Callable[[U], Awaitable[object]], items: Iterable[U]) -> None:
    """Does something for all items, `IN_FLIGHT` at a time."""
    waiting = iter(items)

    async def lane() -> None:
        for item in waiting:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(lane())


def a_pod(name: str, namespace: str, annotations: dict[str, JSON] | None = None) -> dict[str, JSON]:
    """A pod that anybody might make, of the size of a ticket."""
    resources: JSON = {"requests": REQUESTS}
    container: JSON = {
        "name": "app",
        "image": "registry.k8s.io/pause:3.10",
        "resources": resources,
    }
    return {
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
        "spec": {"containers": [container], "automountServiceAccountToken": False},
    }


def is_bound(pod: Pod) -> bool:
    """Says whether a pod has a node."""
    return bool(pod.spec.node_name)


async def bare_pods(cluster: Cluster, namespace: str, count: int) -> float:
    """Seconds in which a bare client makes pods and the scheduler binds them."""

    async def make(index: int) -> None:
        await cluster.client.create(PODS, a_pod(f"pod-{index}", namespace))

    async with a_witness(cluster.client, PODS, namespace, is_bound) as bound:
        started = perf_counter()
        await in_lanes(make, range(count))
        return await bound.all(count) - started


async def _warm_up(cluster: Cluster) -> None:
    """A server that has just learnt of kinds is busy with them for seconds: what is measured comes after that."""
    namespace = await cluster.namespace("warm-up")

    async def make(index: int) -> None:
        meta: JSON = {"name": f"ticket-{index}", "namespace": namespace}
        ticket = await cluster.client.create(TICKETS, {"metadata": meta, "spec": _LATER})
        key, status = key_of(ticket), {"status": {"message": "warm"}}
        await cluster.client.patch(TICKETS, key, cast("JSON", status), subresource="status")
        await cluster.client.delete(TICKETS, key)

    await in_lanes(make, range(WARM_UP))
    await bare_pods(cluster, namespace, WARM_UP)
    await cluster.clear(namespace)
    for kind, spec in ((ORDERS, {"template": {"spec": _LATER}}), (TICKETS, _LATER)):
        await _watched(cluster.client, kind, Key(namespace, "last"), cast("JSON", spec))


async def _watched(client: Client, kind: Kind[T], key: Key, spec: JSON) -> None:
    """Waits until the garbage collector knows a kind: it looks for new ones twice a minute, and until then asks the server for every owner."""
    meta: JSON = {"name": key.name, "namespace": key.namespace}
    await client.create(kind, {"metadata": meta, "spec": spec})
    await client.delete(kind, key, propagation=Propagation.FOREGROUND)
    async with asyncio.timeout(PATIENCE):
        while (await client.list(kind, key.namespace)).items:
            await asyncio.sleep(0.2)


async def _open(client: Client, count: int) -> None:
    """Waits until pods can be put on all nodes."""

    def is_open(node: Node) -> bool:
        return is_ready(node) and not node.spec.taints

    async with asyncio.timeout(PATIENCE):
        while sum(map(is_open, (await client.list(NODES)).items)) < count:
            await asyncio.sleep(0.2)
