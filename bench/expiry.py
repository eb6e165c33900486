"""The end of many tickets: how late it comes when they end one after the other, and how long it takes when they end at once.

`expiry-spread` and `manager-memory` are of one run on a real control plane, in real time: in simulation time passes only when nothing is left
to be done, so nobody would ever be late. 10,000 tickets are held, then their durations are edited so that they end one after the other
within ten minutes; the memory is the most that the manager took. `expiry-burst` lets a thousand end at one instant, from which the clock
runs until all are Expired and all guardians were told to go. A bare client then writes the same to as many other tickets, 32 at a time.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from statistics import median, quantiles
from time import perf_counter

from bench.cluster import Cluster, a_cluster, a_witness, in_lanes
from bench.korder import managed
from bench.micro import Tell
from bench.orders import is_reserved, order
from bench.table import Row
from korder.api.reserve import GUARDIAN_LABEL, ORDERS, TICKETS, Ticket, TicketPhase
from kubeloop.objects import codec
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import JSON, Key, key_of
from kubeloop.runtime.clock import SystemClock

MANY = 10_000
SPREAD = timedelta(minutes=10)
PER_ORDER = 1_000
PER_NODE = 180
MEMORY_MB = 250.0
LATENESS = 1.0
AT_ONCE = 1_000
ROUNDS = 3
_EDITS_PER_SECOND = 60
"""How fast durations are edited at least, so that the last edit is before the first end."""
_STEP = 100
"""After how many ends there is news."""
_MARGIN = timedelta(seconds=20)
_now = SystemClock().now


def spread(tell: Tell) -> Iterator[Row]:
    """Yields the memory of the manager and the lateness of the latest in a hundred."""
    memory, lateness = asyncio.run(_spread(tell))
    yield Row("manager-memory", memory, "MB", MEMORY_MB, 1.0)
    yield Row("expiry-spread", quantiles(lateness, n=100)[98], "s", LATENESS, 1.0)


def burst(tell: Tell) -> Iterator[Row]:
    """Yields the time for all that end at one instant."""
    ours, bare = zip(*asyncio.run(_bursts(tell)), strict=True)
    yield Row("expiry-burst", median(ours), "s", median(bare), 1.5)


async def _spread(tell: Tell) -> tuple[float, list[float]]:
    async with a_cluster(MANY // PER_NODE + 1) as cluster:
        namespace = await cluster.namespace("ours")
        async with managed(cluster.plane) as manager:
            for first in range(0, MANY, PER_ORDER):
                tell(f"manager-memory: {first} of {MANY} tickets held")
                await _hold(cluster, namespace, min(PER_ORDER, MANY - first), f"crowd-{first}")
            tickets = (await cluster.client.list(TICKETS, namespace)).items
            begin = _now() + _MARGIN + timedelta(seconds=MANY / _EDITS_PER_SECOND)
            ends = [begin + SPREAD * (index / MANY) for index in range(MANY)]
            lateness = await _lateness(cluster, namespace, tickets, ends, tell)
            return manager.memory(), lateness


async def _hold(cluster: Cluster, namespace: str, count: int, name: str) -> None:
    """Makes an order and waits until its tickets are held."""

    def is_ours(ticket: Ticket) -> bool:
        return is_reserved(ticket) and ticket.metadata.name.startswith(f"{name}-")

    async with a_witness(cluster.client, TICKETS, namespace, is_ours) as reserved:
        await cluster.client.create(ORDERS, order(namespace, count, name))
        await reserved.all(count)


async def _lateness(
    cluster: Cluster,
    namespace: str,
    tickets: Sequence[Ticket],
    ends: Sequence[datetime],
    tell: Tell,
) -> list[float]:
    due = {ticket.metadata.name: (ticket, end) for ticket, end in zip(tickets, ends, strict=True)}
    async with a_witness(cluster.client, TICKETS, namespace, _is_expired) as expired:
        await in_lanes(lambda each: _end_at(cluster, *each), due.values())
        if _now() > ends[0]:
            raise RuntimeError("the durations were edited too slowly: the first end was over")
        for count in range(_STEP, len(due), _STEP):
            await expired.all(count)
            tell(f"expiry-spread: {count} of {len(due)} tickets have ended")
        await expired.all(len(due))
        offset = _now().timestamp() - perf_counter()
    return [expired.seen[name] + offset - end.timestamp() for name, (_, end) in due.items()]


async def _end_at(cluster: Cluster, ticket: Ticket, end: datetime) -> None:
    """Edits the duration of a ticket so that it ends then."""
    began = ticket.status.activation_time
    assert began is not None
    spec: JSON = {"duration": f"{(end - began).total_seconds():.3f}s"}
    await cluster.client.patch(TICKETS, key_of(ticket), {"spec": spec})


async def _bursts(tell: Tell) -> list[tuple[float, float]]:
    times = []
    async with a_cluster(2 * AT_ONCE // PER_NODE + 1) as cluster:
        for reconcile in range(ROUNDS):
            ours = await cluster.namespace(f"ours-{reconcile}")
            others = await cluster.namespace(f"bare-{reconcile}")
            tell(f"expiry-burst: round {reconcile + 1} of {ROUNDS}")
            async with managed(cluster.plane):
                for namespace in (ours, others):
                    await _hold(cluster, namespace, AT_ONCE, "crowd")
                spent = await _burst(cluster, ours)
            tell(f"expiry-burst: round {reconcile + 1} of {ROUNDS}, {spent:.2f} s")
            times.append((spent, await _bare(cluster, ours, others)))
            tell(
                f"expiry-burst: bare client, round {reconcile + 1} of {ROUNDS}, {times[-1][1]:.2f} s"
            )
    return times


async def _burst(cluster: Cluster, namespace: str) -> float:
    """Seconds from the instant at which all tickets end until everything was written."""
    tickets = (await cluster.client.list(TICKETS, namespace)).items
    end = _now() + _MARGIN + timedelta(seconds=len(tickets) / _EDITS_PER_SECOND)
    async with (
        a_witness(cluster.client, TICKETS, namespace, _is_expired) as expired,
        a_witness(cluster.client, PODS, namespace, _is_going) as going,
    ):
        await in_lanes(lambda ticket: _end_at(cluster, ticket, end), tickets)
        if _now() > end:
            raise RuntimeError("the durations were edited too slowly: their end was over")
        last = max(await expired.all(len(tickets)), await going.all(len(tickets)))
        return last - perf_counter() + _now().timestamp() - end.timestamp()


async def _bare(cluster: Cluster, ours: str, others: str) -> float:
    """Seconds in which a bare client writes to the other tickets what the manager wrote to ours."""
    client = cluster.client
    written = (await client.list(TICKETS, ours)).items[0].status
    status: dict[str, JSON] = codec.plain(written)
    tickets = (await client.list(TICKETS, others)).items

    async def end(ticket: Ticket) -> None:
        version = ticket.metadata.resource_version
        body: JSON = {"status": {**status, "guardianPod": ticket.status.guardian_pod}}
        await client.patch(
            TICKETS, key_of(ticket), body, subresource="status", resource_version=version
        )
        await client.delete(PODS, Key(*ticket.status.guardian_pod.split("/")))

    started = perf_counter()
    await in_lanes(end, tickets)
    return perf_counter() - started


def _is_expired(ticket: Ticket) -> bool:
    return ticket.status.phase is TicketPhase.EXPIRED


def _is_going(pod: Pod) -> bool:
    return GUARDIAN_LABEL in pod.metadata.labels and pod.metadata.deletion_timestamp is not None
