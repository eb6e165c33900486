"""An order of a thousand tickets: as fast as bare pods, how many writes it takes, and how fast another framework is.

Each round has a cluster of its own. There a bare client makes a thousand pods, 32 at a time, then korder holds a thousand tickets, then the
operator of `kopf_child` does. The clock runs from the first request until the last pod is bound, or the last ticket Reserved, as
somebody sees who watches. Events are on. `order-same-writes` sets korder's time against that of a bare client who writes the same objects
(`mirror`): what is above 1 is korder's own, what is below no operator can save.
"""

import asyncio
from collections.abc import Iterator
from statistics import median
from time import perf_counter

from bench.cluster import REQUESTS, Cluster, a_cluster, a_helper, a_witness, bare_pods
from bench.korder import managed
from bench.micro import Tell
from bench.mirror import same_writes
from bench.table import Row
from korder.api.reserve import ORDERS, TICKETS, Ticket, TicketPhase
from kubeloop.objects.meta import JSON

TICKETS_MADE = 1_000
NAME = "crowd"
"""What an order is called."""
NODES = 20
ROUNDS = 3
WRITES = 4.0
"""Writes for a ticket that is held."""


def measure(tell: Tell) -> Iterator[Row]:
    """Yields the times of ours, of the same writes and of the operator on kopf, and our writes for a ticket."""
    rounds = [asyncio.run(_round(tell, reconcile)) for reconcile in range(ROUNDS)]
    bare, ours, same, foreign, writes = zip(*rounds, strict=True)
    yield Row("order-1000", median(ours), "s", median(bare), 2.0)
    yield Row("order-same-writes", median(ours), "s", median(same), 1.5)
    yield Row("order-writes", max(writes), "writes per ticket", WRITES, 1.0)
    yield Row("kopf-order", median(foreign), "s", median(ours), 3.0, at_least=True)


async def _round(tell: Tell, reconcile: int) -> tuple[float, ...]:
    def say(what: str, seconds: float | None = None) -> None:
        spent = f": {seconds:.1f} s" if seconds is not None else ""
        tell(f"order-1000: {what}, round {reconcile + 1} of {ROUNDS}{spent}")

    say("a cluster")
    async with a_cluster(NODES) as cluster:
        say("bare pods")
        bare = await bare_pods(cluster, await cluster.namespace("bare"), TICKETS_MADE)
        say("bare pods", bare)
        namespace = await cluster.namespace("ours")
        async with managed(cluster.plane) as manager:
            ours = await an_order(cluster, namespace, TICKETS_MADE)
            writes = await manager.writes()
        say("korder", ours)
        same = await same_writes(cluster, "ours", await cluster.namespace("same"), TICKETS_MADE)
        say("the same writes", same)
        namespace = await cluster.namespace("kopf")
        path = str(cluster.plane.kubeconfig())
        async with a_helper("bench.kopf_child", path, namespace, KUBECONFIG=path):
            foreign = await an_order(cluster, namespace, TICKETS_MADE)
        say("kopf", foreign)
        return bare, ours, same, foreign, writes / TICKETS_MADE


async def an_order(cluster: Cluster, namespace: str, count: int) -> float:
    """Seconds until all tickets of a new order are held."""
    async with a_witness(cluster.client, TICKETS, namespace, is_reserved) as reserved:
        started = perf_counter()
        await cluster.client.create(ORDERS, order(namespace, count))
        return await reserved.all(count) - started


def order(namespace: str, replicas: int, name: str = NAME) -> dict[str, JSON]:
    """An order that keeps so many tickets and replaces none."""
    spec: JSON = {"duration": "24h", "resources": {"requests": REQUESTS}}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "refreshPolicy": "Never", "template": {"spec": spec}},
    }


def is_reserved(ticket: Ticket) -> bool:
    """Says whether a ticket holds its room."""
    return ticket.status.phase is TicketPhase.RESERVED
