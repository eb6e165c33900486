"""What a pod waits that claims a ticket, from its creation until it is bound, beside a pod that needs none.

`claim-room`: the nodes have room for the pod beside the guardian. `claim-full` and `claim-full-p99`: tickets fill the nodes, so each hand-over
has to wait until its guardian is gone, which a simulated kubelet sees to in 50 ms. Pods come at an even rate, whether those before them
are bound or not: 5 a second, and 20 a second in the rows that end in `-busy`. The pods without ticket come first, on the same nodes while these
are empty. Claims begin when the manager has come to rest after it made the tickets.

`claim-room-writes` and `claim-full-writes` count what the API server is asked to write from the creation of the pods until all is at rest, by everybody and
for each claim, against the former protocol (`--handover=nominate`). Leases and Events are not among it. That is more than a tenth above it by intent: the taint is
put on and taken off, and a pod that was served at once is given a condition.
"""

import asyncio
from collections.abc import Iterator
from statistics import quantiles
import sys
from time import perf_counter
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from bench.cluster import Cluster, a_cluster, a_pod, a_witness, is_bound
from bench.korder import managed
from bench.micro import Tell
from bench.orders import NAME, an_order
from bench.table import Row
from korder.api.reserve import GUARDIAN_LABEL, ORDER_ANNOTATION
from korder.reserve.handovers.handover_state import Handover
from kubeloop.net.http import Request
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import JSON

CLAIMS = 200
NODES = 20
ROOMY, TIGHT = "32", "1"
"""Cpu of a node: for many times its tickets, and for its ten tickets alone."""
WRITING = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
UNCOUNTED = frozenset({"leases", "events", "subjectaccessreviews", "tokenreviews"})
"""Resources that are written whether anything is claimed or not, or that store nothing."""


class Rate(NamedTuple):
    """So many pods, so many a second."""

    pods: int
    per_second: float


QUIET, BUSY = Rate(CLAIMS, 5.0), Rate(CLAIMS, 20.0)
"""What two cores serve without a queue, and what takes almost all of them."""


def room(tell: Tell) -> Iterator[Row]:
    """Claims on nodes with room."""
    ours, bare = asyncio.run(_waits("claim-room", ROOMY, QUIET, tell))
    yield Row("claim-room", _middle(ours), "ms", _middle(bare), 3.0)


def room_busy(tell: Tell) -> Iterator[Row]:
    """The same at a rate at which a queue forms."""
    ours, bare = asyncio.run(_waits("claim-room-busy", ROOMY, BUSY, tell))
    yield Row("claim-room-busy", _middle(ours), "ms", _middle(bare), 2.5)


def full(tell: Tell) -> Iterator[Row]:
    """Claims on full nodes."""
    ours, bare = asyncio.run(_waits("claim-full", TIGHT, QUIET, tell))
    yield Row("claim-full", _middle(ours), "ms", _middle(bare), 8.0)
    yield Row("claim-full-p99", worst(ours), "ms", worst(bare), 10.0)


def full_busy(tell: Tell) -> Iterator[Row]:
    """The same at a rate at which a queue forms."""
    ours, bare = asyncio.run(_waits("claim-full-busy", TIGHT, BUSY, tell))
    yield Row("claim-full-busy", _middle(ours), "ms", _middle(bare), 8.0)
    yield Row("claim-full-p99-busy", worst(ours), "ms", worst(bare), 10.0)


async def _waits(name: str, cpu: str, rate: Rate, tell: Tell) -> tuple[list[float], list[float]]:
    """The waits of pods with and without ticket, in milliseconds."""
    async with a_cluster(NODES, cpu) as cluster:
        tell(f"{name}: pods without ticket")
        bare = await stream(cluster, await cluster.namespace("bare"), rate)
        tell(f"{name}: pods without ticket, {_reported(bare)}")
        await cluster.clear("bare")
        namespace = await cluster.namespace("ours")
        async with managed(cluster.plane) as manager:
            await an_order(cluster, namespace, CLAIMS)
            await manager.rest()
            tell(f"{name}: claims")
            ours = await stream(cluster, namespace, rate, NAME)
        tell(f"{name}: claims, {_reported(ours)}")
        return ours, bare


def writes(tell: Tell) -> Iterator[Row]:
    """Writes for a claim, against those of the former protocol."""
    for name, cpu in (("claim-room-writes", ROOMY), ("claim-full-writes", TIGHT)):
        ours, former = (asyncio.run(_written(name, cpu, each, tell)) for each in Handover)
        yield Row(name, ours, "writes per claim", former, 1.25)


async def _written(name: str, cpu: str, handover: Handover, tell: Tell) -> float:
    """Writes of everybody for a claim; what is told has those of the controllers of korder too."""
    async with (
        a_cluster(NODES, cpu) as cluster,
        managed(cluster.plane, f"--handover={handover}") as manager,
    ):
        namespace = await cluster.namespace("ours")
        await an_order(cluster, namespace, CLAIMS)
        await manager.rest()
        tell(f"{name}: claims, {handover}")
        before, own = await written(cluster), await manager.writes()
        await stream(cluster, namespace, QUIET, NAME)
        await manager.rest()
        each = (await written(cluster) - before) / CLAIMS
        own = (await manager.writes() - own) / CLAIMS
        print(
            f"{name}: {handover}: {each:.2f} writes per claim, {own:.2f} of korder", file=sys.stderr
        )
        return each


async def written(cluster: Cluster) -> float:
    """Writes that the API server has answered so far."""
    text = (await cluster.client.raw(Request("GET", "/metrics"))).decode()
    families = text_string_to_metric_families(text)
    counted = next(family for family in families if family.name == "apiserver_request")
    return sum(
        each.value
        for each in counted.samples
        if each.name == "apiserver_request_total"
        and each.labels["verb"] in WRITING
        and not each.labels["dry_run"]
        and each.labels["resource"] not in UNCOUNTED
        and each.labels["code"].startswith("2")
    )


async def stream(cluster: Cluster, namespace: str, rate: Rate, order: str = "") -> list[float]:
    """The waits of pods that come at an even rate and ask for tickets of an order, if it is named."""
    asks: dict[str, JSON] = {ORDER_ANNOTATION: order} if order else {}
    made: dict[str, float] = {}

    async def make(name: str) -> None:
        pod = a_pod(name, namespace, asks)
        made[name] = perf_counter()
        await cluster.client.create(PODS, pod)

    async with a_witness(cluster.client, PODS, namespace, _is_served) as bound:
        begin = perf_counter()
        async with asyncio.TaskGroup() as group:
            for index in range(rate.pods):
                await asyncio.sleep(max(0.0, begin + index / rate.per_second - perf_counter()))
                group.create_task(make(f"pod-{index}"))
        await bound.all(rate.pods)
        return [(bound.seen[name] - at) * 1e3 for name, at in made.items()]


def _is_served(pod: Pod) -> bool:
    return is_bound(pod) and GUARDIAN_LABEL not in pod.metadata.labels


def _middle(waits: list[float]) -> float:
    return quantiles(waits, n=100)[49]


def worst(waits: list[float]) -> float:
    """What one in a hundred has to wait at least."""
    return quantiles(waits, n=100)[98]


def _reported(waits: list[float]) -> str:
    return f"p50 {_middle(waits):.0f} ms, p99 {worst(waits):.0f} ms"
