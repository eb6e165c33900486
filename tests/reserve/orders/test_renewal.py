"""Renewal in place: a pod that waits on a full node gets no room at a firing or an expiry (S4, rules 1, 5 and 20)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.reserve.scene import Scene, scene

from korder.api.core import PODS
from korder.api.meta import JSON
from korder.api.reserve import ORDERS, TICKETS, Order
from korder.reserve.controllers.orders import Orders
from korder.reserve.controllers.tickets import Tickets
from korder.runtime.clock import Clock
from korder.testing.builders import Builder, a_pod, an_order

PARTS = (Orders, Tickets)
PERIOD = 300.0
"""Seconds between two firings; a term is as long."""
FIRINGS = 24
COMPETITOR = "competitor"


def a_pool(kind: str, policy: str, lead: str = "0s", duration: str = "5m") -> Builder[Order]:
    """An order of two tickets that fill a node of 4 cpu."""
    strategy: dict[str, JSON] = {"type": kind, "refreshPolicy": policy}
    if kind == "Recurring":
        strategy |= {"schedule": "*/5 * * * *", "leadTime": lead}
    template: JSON = {
        "spec": {"duration": duration, "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}
    }
    return an_order("o", 2).but({"spec": {"strategy": strategy, "template": template}})


@asynccontextmanager
async def contested(clock: Clock, order: Builder[Order]) -> AsyncIterator[Scene]:
    """One node, full of guardians, and a pod of priority 0 that waits for room on it."""
    async with scene(clock, *PARTS, nodes=1) as cluster:
        await cluster.put(order)
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 2)
        await cluster.put(a_pod(COMPETITOR).requesting(cpu="1"))
        await cluster.until(PODS, COMPETITOR, lambda pod: bool(pod.status.conditions))
        yield cluster


async def gets_in(cluster: Scene) -> bool:
    pod = await cluster.get(PODS, COMPETITOR)
    assert pod is not None
    return bool(pod.spec.node_name)


async def guardians(cluster: Scene) -> set[str]:
    return {pod.metadata.uid for pod in await cluster.guardians()}


@pytest.mark.parametrize(
    ("kind", "policy", "lead"),
    [
        pytest.param("Recurring", "Never", "0s", id="Recurring Never"),
        pytest.param("Recurring", "OnClaim", "0s", id="Recurring OnClaim"),
        pytest.param("Recurring", "OnClaim", "1m", id="Recurring OnClaim with lead time"),
        pytest.param("Recurring", "Always", "0s", id="Recurring Always"),
        pytest.param("Recurring", "Always", "1m", id="Recurring Always with lead time"),
        pytest.param("OneTime", "Always", "0s", id="OneTime Always"),
    ],
)
async def test_no_waiting_pod_gets_the_room_of_a_ticket_that_is_renewed(
    clock: Clock, kind: str, policy: str, lead: str
) -> None:
    """As many firings or expiries as an hourly pool has in a day."""
    async with contested(clock, a_pool(kind, policy, lead)) as cluster:
        before = await guardians(cluster)
        await cluster.pass_time(FIRINGS * PERIOD)
        assert not await gets_in(cluster)
        assert await guardians(cluster) == before
        assert len(await cluster.all(TICKETS)) == 2
