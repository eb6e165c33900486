"""Renewal in place: a pod that waits on a full node gets no room at a firing or an expiry (S4, rules 1, 5 and 20)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.reserve.claims.holds import claiming
from tests.reserve.quotas.quota_scene import is_exceeded, open_quota
from tests.reserve.quotas.quotas import a_quota
from tests.reserve.scene import Scene, scene

from korder.api.quota import QUOTAS
from korder.api.reserve import (
    ORDERS,
    RENEWAL_ANNOTATION,
    REQUIRED_ANNOTATION,
    SCHEDULING_GATE,
    TICKETS,
    Order,
    TicketPhase,
)
from korder.reserve.domain import add_reserve
from korder.reserve.orders.controller import Orders
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import an_order
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder, a_pod

PARTS = (Orders, Tickets)
PERIOD = 300.0
"""Seconds between two firings; a term is as long."""
FIRINGS = 6
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
    """At several firings or expiries in a row."""
    async with contested(clock, a_pool(kind, policy, lead)) as cluster:
        before = await guardians(cluster)
        await cluster.pass_time(FIRINGS * PERIOD)
        assert not await gets_in(cluster)
        assert await guardians(cluster) == before
        assert len(await cluster.all(TICKETS)) == 2


async def test_a_manager_that_is_down_at_a_firing_renews_when_it_is_back(clock: Clock) -> None:
    """Without a manager the guardians stay, and the next manager begins with the renewals that are due."""
    async with contested(clock, a_pool("Recurring", "OnClaim")) as cluster:
        before = await guardians(cluster)
        for _ in range(3):
            await cluster.end()
            await cluster.pass_time(1.7 * PERIOD)
            await cluster.restart()
            await cluster.pass_time(0.5 * PERIOD)
        assert not await gets_in(cluster)
        assert await guardians(cluster) == before


async def test_tickets_of_a_former_version_get_the_rule_before_their_expiry(clock: Clock) -> None:
    async with contested(clock, a_pool("OneTime", "Always")) as cluster:
        await cluster.end()
        for ticket in await cluster.all(TICKETS):
            no_rule: JSON = {"annotations": {RENEWAL_ANNOTATION: None}}
            await cluster.edit(TICKETS, ticket.metadata.name, {"metadata": no_rule})
        before = await guardians(cluster)
        await cluster.restart()
        await cluster.pass_time(3 * PERIOD)
        assert not await gets_in(cluster)
        assert await guardians(cluster) == before
        rules = [t.metadata.annotations.get(RENEWAL_ANNOTATION) for t in await cluster.all(TICKETS)]
        assert rules == ['{"trigger":"Expiry"}'] * 2


@pytest.mark.parametrize(("kind", "policy"), [("OneTime", "Always"), ("Recurring", "OnClaim")])
async def test_tickets_of_a_paused_order_end_with_their_term(
    clock: Clock, kind: str, policy: str
) -> None:
    """S6: a paused order refreshes nothing; what is resumed in time goes on."""
    async with contested(clock, a_pool(kind, policy)) as cluster:
        before = await guardians(cluster)
        for paused in (True, False):
            await cluster.edit(ORDERS, "o", {"spec": {"paused": paused}})
            await cluster.pass_time(5)
        await cluster.pass_time(2 * PERIOD)
        assert await guardians(cluster) == before
        await cluster.edit(ORDERS, "o", {"spec": {"paused": True}})
        await cluster.pass_time(1.2 * PERIOD)
        assert await gets_in(cluster)
        phases = [ticket.status.phase for ticket in await cluster.all(TICKETS)]
        assert phases == [TicketPhase.EXPIRED] * 2


@pytest.mark.parametrize("late", [-0.05, -0.01, 0.0, 0.01, 0.05])
async def test_a_claim_at_the_instant_of_a_renewal_is_served_and_its_refill_waits(
    clock: Clock, late: float
) -> None:
    """Claim and renewal are writes of one status with the version that was read: one of them is judged again."""
    order = a_pool("OneTime", "Always")
    async with scene(clock, Orders, Tickets, claiming, nodes=1) as cluster:
        await cluster.put(order)
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 2)
        await cluster.put(a_pod(COMPETITOR).requesting(cpu="1"))
        ends = max(t.status.expiration_time for t in await cluster.all(TICKETS))
        await cluster.pass_time((ends - clock.now()).total_seconds() + late)
        pod = a_pod("p").requesting(cpu="2", memory="1Gi").gated_by(SCHEDULING_GATE)
        await cluster.put(pod.annotated({REQUIRED_ANNOTATION: "true"}))
        await cluster.until(PODS, "p", lambda pod: bool(pod.spec.node_name))
        await cluster.pass_time(3 * PERIOD)
        assert not await gets_in(cluster)
        phases = sorted(str(ticket.status.phase) for ticket in await cluster.all(TICKETS))
        assert phases == ["Claimed", "Pending", "Reserved"]


async def test_a_quota_that_fell_ends_as_many_tickets_at_their_time_as_are_too_many(
    clock: Clock,
) -> None:
    """Rule 20: renewals stop; before the end of a term a refusal takes nothing away."""
    async with scene(clock, add_reserve, nodes=1) as cluster:
        await open_quota(cluster, a_quota("q", tickets="2"))
        await cluster.put(a_pool("Recurring", "Always", duration="7m"))
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 2)
        await cluster.pass_time(PERIOD)
        await cluster.edit(QUOTAS, "q", {"spec": {"hard": {"tickets": "1"}}})
        await cluster.until(QUOTAS, "q", is_exceeded)
        tickets = await cluster.all(TICKETS)
        ends = min(t.status.expiration_time for t in tickets)
        await cluster.pass_time((ends - clock.now()).total_seconds() - 1)
        assert len(await guardians(cluster)) == 2
        await cluster.pass_time(5)
        (held,) = [t for t in await cluster.all(TICKETS) if t.status.phase == TicketPhase.RESERVED]
        await cluster.pass_time(3 * PERIOD)
        still = await cluster.get(TICKETS, held.metadata.name)
        assert still is not None
        assert still.status.phase == TicketPhase.RESERVED


async def test_a_roll_out_for_another_guardian_gives_no_room_away(clock: Clock) -> None:
    """No room for a successor: the old tickets stay, and are renewed meanwhile."""
    async with contested(clock, a_pool("OneTime", "Always")) as cluster:
        before = await guardians(cluster)
        label: JSON = {"template": {"metadata": {"labels": {"app": "web"}}}}
        await cluster.edit(ORDERS, "o", {"spec": label})
        await cluster.pass_time(3 * PERIOD)
        assert not await gets_in(cluster)
        assert before <= await guardians(cluster)
        fitting: JSON = {"spec": {"owners": [{"namespaces": ["default"]}]}}
        back: JSON = {"metadata": {"labels": {"app": None}}}
        await cluster.edit(ORDERS, "o", {"spec": {"template": {**fitting, **back}}})
        await cluster.pass_time(3 * PERIOD)
        assert not await gets_in(cluster)
        assert await guardians(cluster) == before
        order = await cluster.get(ORDERS, "o")
        assert order is not None
        assert order.status.updated_replicas == 2
