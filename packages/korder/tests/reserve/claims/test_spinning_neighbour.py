"""A controller that never rests, in the same process as korder's own: claims go on at their usual speed, and the lease is kept."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
import random

import pytest
from tests.reserve.claims.holds import asking, bound, phase
from tests.reserve.scene import Scene, scene

from korder.api.reserve import TicketPhase
from korder.reserve.domain import add_reserve
from korder.testing.builders import a_ticket
from kubeloop.objects.core import LEASES, NODES
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import NOTHING, Plan
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings

TICKETS = 4
Spin = Callable[[Manager], None]


def resting(_: Manager) -> None:
    """No other controller."""


def wanting_now(manager: Manager) -> None:
    controller = manager.controller("spinning", lambda _, now: Plan().requeue(now))
    controller.follow(manager.informers.of(NODES))


def in_a_circle(manager: Manager) -> None:
    """Each node asks for the next one, from a coroutine that awaits nothing."""
    nodes = manager.informers.of(NODES)

    async def reconcile(key: Key, _: datetime) -> Plan:
        names = sorted(node.metadata.name for node in nodes.reader.all())
        after = names[(names.index(key.name) + 1) % len(names)]
        controller.queue.add(Key("", after))
        return NOTHING

    controller = manager.controller("spinning", reconcile)
    controller.follow(nodes)


@asynccontextmanager
async def leading(cluster: Scene, clock: Clock, spin: Spin) -> AsyncIterator[Manager]:
    settings = Settings(
        identity="korder",
        component="korder",
        metric_prefix="korder",
        lease=Key("default", "korder-manager"),
    )
    manager = Manager(cluster.client, settings, clock=clock, rng=random.Random(1))
    add_reserve(manager)
    spin(manager)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        try:
            yield manager
        finally:
            stop.set()


async def claim_times(clock: Clock, spin: Spin) -> list[float]:
    """How many seconds each of some pods needs until it is bound, with a lease that is kept all the time."""
    taken = []
    async with scene(clock, nodes=2) as cluster, leading(cluster, clock, spin) as manager:
        for number in range(TICKETS):
            requests: JSON = {"cpu": "1", "memory": "1Gi"}
            ticket = a_ticket(f"t-{number}").but({"spec": {"resources": {"requests": requests}}})
            await cluster.put(ticket)
            await phase(cluster, f"t-{number}", TicketPhase.RESERVED)
        terms = [manager.leading]
        for number in range(TICKETS):
            started = clock.monotonic()
            await cluster.put(asking(f"web-{number}"))
            await bound(cluster, f"web-{number}")
            taken.append(clock.monotonic() - started)
            await cluster.pass_time(5)
            terms.append(manager.leading)
        assert all(terms)
        lease = await cluster.client.get(LEASES, Key("default", "korder-manager"))
        assert (lease.spec.holder_identity, lease.spec.lease_transitions) == ("korder", 0)
    return taken


@pytest.mark.parametrize("spin", [wanting_now, in_a_circle])
async def test_claims_go_on_at_their_usual_speed_beside_a_controller_that_spins(
    clock: Clock, spin: Spin
) -> None:
    usual = await claim_times(clock, resting)
    beside = await claim_times(clock, spin)
    assert max(beside) <= max(usual) * 1.1 + 0.1
