"""What a pod waits that claims a ticket, from its creation until it is bound, beside a pod that needs none.

`claim-room`: the nodes have room for the pod beside the guardian. `claim-full` and `claim-full-p99`: tickets fill the nodes, so each hand-over
has to wait until its guardian is gone, which a simulated kubelet sees to in 50 ms. Pods come at an even rate, whether those before them
are bound or not. The pods without ticket come first, on the same nodes while these are empty.
"""

import asyncio
from collections.abc import Iterator
from statistics import quantiles
from time import perf_counter

from bench.cluster import Cluster, a_cluster, a_pod, a_witness, is_bound
from bench.korder import managed
from bench.micro import Tell
from bench.orders import is_reserved, order
from bench.table import Row
from korder.api.core import PODS, Pod
from korder.api.meta import JSON
from korder.api.reserve import GUARDIAN_LABEL, ORDER_ANNOTATION, ORDERS, TICKETS

CLAIMS = 200
PER_SECOND = 20.0
NODES = 20
ROOMY, TIGHT = "32", "1"
"""Cpu of a node: for many times its tickets, and for its ten tickets alone."""
_ORDER = "crowd"


def room(tell: Tell) -> Iterator[Row]:
    """Claims on nodes with room."""
    ours, bare = asyncio.run(_waits("claim-room", ROOMY, tell))
    yield Row("claim-room", _middle(ours), "ms", _middle(bare), 2.5)


def full(tell: Tell) -> Iterator[Row]:
    """Claims on full nodes."""
    ours, bare = asyncio.run(_waits("claim-full", TIGHT, tell))
    yield Row("claim-full", _middle(ours), "ms", _middle(bare), 8.0)
    yield Row("claim-full-p99", _worst(ours), "ms", _worst(bare), 10.0)


async def _waits(name: str, cpu: str, tell: Tell) -> tuple[list[float], list[float]]:
    """The waits of pods with and without ticket, in milliseconds."""
    async with a_cluster(NODES, cpu) as cluster:
        tell(f"{name}: pods without ticket")
        bare = await _stream(cluster, await cluster.namespace("bare"))
        tell(f"{name}: pods without ticket, {_told(bare)}")
        await cluster.clear("bare")
        namespace = await cluster.namespace("ours")
        async with managed(cluster.plane):
            async with a_witness(cluster.client, TICKETS, namespace, is_reserved) as reserved:
                await cluster.client.create(ORDERS, order(namespace, CLAIMS, _ORDER))
                await reserved.all(CLAIMS)
            tell(f"{name}: claims")
            ours = await _stream(cluster, namespace, {ORDER_ANNOTATION: _ORDER})
        tell(f"{name}: claims, {_told(ours)}")
        return ours, bare


async def _stream(cluster: Cluster, namespace: str, asks: JSON = None) -> list[float]:
    made: dict[str, float] = {}

    async def make(name: str) -> None:
        pod = a_pod(name, namespace, asks)
        made[name] = perf_counter()
        await cluster.client.create(PODS, pod)

    async with a_witness(cluster.client, PODS, namespace, _is_served) as bound:
        begin = perf_counter()
        async with asyncio.TaskGroup() as group:
            for index in range(CLAIMS):
                await asyncio.sleep(max(0.0, begin + index / PER_SECOND - perf_counter()))
                group.create_task(make(f"pod-{index}"))
        await bound.all(CLAIMS)
        return [(bound.seen[name] - at) * 1e3 for name, at in made.items()]


def _is_served(pod: Pod) -> bool:
    return is_bound(pod) and GUARDIAN_LABEL not in pod.metadata.labels


def _middle(waits: list[float]) -> float:
    return quantiles(waits, n=100)[49]


def _worst(waits: list[float]) -> float:
    return quantiles(waits, n=100)[98]


def _told(waits: list[float]) -> str:
    return f"p50 {_middle(waits):.0f} ms, p99 {_worst(waits):.0f} ms"
