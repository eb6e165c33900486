"""A limit falls below what is used: nobody is evicted, nothing is made or renewed, and what is held ends at its time (rule 20)."""

from datetime import timedelta

import pytest
from tests.reserve.quotas.quota_scene import is_exceeded, is_short, open_quota, tickets, wanting
from tests.reserve.quotas.quotas import MONDAY, a_quota
from tests.reserve.scene import Scene, scene

from korder.api.quota import QUOTAS, QuotaCondition
from korder.api.reserve import (
    ORDERS,
    REQUIRED_ANNOTATION,
    SCHEDULING_GATE,
    TICKETS,
    Order,
    TicketPhase,
)
from korder.reserve.domain import add_reserve
from korder.reserve.quotas.controller import Renewing
from korder.reserve.quotas.quota_cache import QuotaCache
from korder.testing.builders import a_ticket
from kubeloop.objects import conditions, instant
from kubeloop.objects.core import EVENTS, Pod
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder, a_pod

MINUTE = 60


def holding(name: str, replicas: int, minutes: int, **spec: JSON) -> Builder[Order]:
    """An order whose tickets are held for so long."""
    template: JSON = {"spec": {"duration": f"{minutes}m"}}
    return wanting(name, replicas, **spec).but({"spec": {"template": template}})


def a_seeker(name: str) -> Builder[Pod]:
    """A pod that waits for a ticket, as admission leaves it."""
    pod = a_pod(name).requesting(cpu="500m").gated_by(SCHEDULING_GATE)
    return pod.annotated({REQUIRED_ANNOTATION: "true"})


async def held(cluster: Scene) -> dict[str, str]:
    """The UIDs of all tickets that are held, by name."""
    return {
        ticket.metadata.name: ticket.metadata.uid
        for ticket in await tickets(cluster)
        if ticket.status.phase is TicketPhase.RESERVED
    }


async def allow(cluster: Scene, **hard: JSON) -> None:
    limits = {key.replace("_", "."): amount for key, amount in hard.items()}
    await cluster.edit(QUOTAS, "q", {"spec": {"hard": limits}})


async def test_of_standing_tickets_as_many_end_at_their_time_as_are_too_many(clock: Clock) -> None:
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", tickets="3"))
        await cluster.put(holding("d", 1, 5, daemonSet=True))
        await cluster.until(ORDERS, "d", lambda o: o.status.available_replicas == 3)
        before = await held(cluster)
        await allow(cluster, tickets="2")
        stated = await cluster.until(QUOTAS, "q", is_exceeded)
        exceeded = conditions.find(stated.status.conditions, QuotaCondition.EXCEEDED)
        assert exceeded is not None
        assert exceeded.message == "tickets 3 of 2, 1 too much"
        assert exceeded.last_transition_time is not None
        await cluster.pass_time(4 * MINUTE)
        assert await held(cluster) == before
        await cluster.pass_time(2 * MINUTE)
        after = await held(cluster)
        assert len(after) == 2
        assert after.items() < before.items()
        await cluster.until(QUOTAS, "q", lambda q: not is_exceeded(q))
        await cluster.until(ORDERS, "d", is_short)
        notes = [e.note for e in await cluster.all(EVENTS) if e.reason == "Expired"]
        assert notes == ["it is not renewed: quota q: tickets used 2 of 2, requested 1"]
        await cluster.pass_time(12 * MINUTE)
        assert await held(cluster) == after
        await allow(cluster, tickets="3")
        await cluster.until(ORDERS, "d", lambda o: o.status.available_replicas == 3)


def test_of_tickets_whose_terms_end_in_one_breath_no_more_end_than_are_too_many() -> None:
    quota_cache = QuotaCache()
    renewing = Renewing(quota_cache)
    over: JSON = {"status": {"expirationTime": instant.render(MONDAY)}}
    standing = [
        a_ticket(f"t-{number}").stored(f"u-{number}", 7 + number).but(over) for number in range(4)
    ]
    quota_cache.quota_changed(None, a_quota("q", tickets="2").build())
    for ticket in standing:
        quota_cache.ticket_changed(None, ticket.build())

    def barred() -> list[bool]:
        return [bool(renewing.barred(ticket.build(), MONDAY)) for ticket in standing]

    assert barred() == [True, True, False, False]
    assert barred() == [True, True, False, False]
    for ticket in standing[:2]:
        ended = ticket.stored("u", 20).but({"status": {"phase": "Expired"}})
        quota_cache.ticket_changed(ticket.build(), ended.build())
    assert barred()[2:] == [False, False]


def test_a_ticket_that_is_refused_before_its_end_still_counts() -> None:
    """It stays until then, so no other ticket may take its place."""
    quota_cache = QuotaCache()
    renewing = Renewing(quota_cache)
    later: JSON = {"status": {"expirationTime": instant.render(MONDAY + timedelta(minutes=1))}}
    tickets = [a_ticket(f"t-{number}").stored(f"u-{number}").but(later) for number in range(2)]
    quota_cache.quota_changed(None, a_quota("q", tickets="1").build())
    for ticket in tickets:
        quota_cache.ticket_changed(None, ticket.build())
    assert all(renewing.barred(ticket.build(), MONDAY) for ticket in tickets)


async def test_a_standing_ticket_is_renewed_while_the_limit_is_just_reached(clock: Clock) -> None:
    async with scene(clock, add_reserve, nodes=2) as cluster:
        await open_quota(cluster, a_quota("q", tickets="2", reserved_cpu="1", max__duration="5m"))
        await cluster.put(holding("d", 1, 5, daemonSet=True))
        await cluster.until(ORDERS, "d", lambda o: o.status.available_replicas == 2)
        before = await held(cluster)
        await cluster.pass_time(12 * MINUTE)
        assert await held(cluster) == before


@pytest.mark.parametrize(
    "hard",
    [
        pytest.param({"reserved_cpu": "100m"}, id="of a resource"),
        pytest.param({"max-duration": "1m"}, id="of the length"),
        pytest.param({"orders": "1", "reserved_cpu": "0"}, id="to nothing"),
    ],
)
async def test_every_limit_stops_renewals(clock: Clock, hard: dict[str, JSON]) -> None:
    async with scene(clock, add_reserve, nodes=1) as cluster:
        await open_quota(cluster, a_quota("q", reserved_cpu="1"))
        await cluster.put(holding("d", 1, 5, daemonSet=True))
        await cluster.until(ORDERS, "d", lambda o: o.status.available_replicas == 1)
        await allow(cluster, **hard)
        await cluster.pass_time(4 * MINUTE)
        assert len(await held(cluster)) == 1
        await cluster.pass_time(2 * MINUTE)
        assert not await tickets(cluster)
        await cluster.until(ORDERS, "d", is_short)


async def test_a_standing_ticket_in_use_stays_with_its_pod_and_takes_its_room_back(
    clock: Clock,
) -> None:
    async with scene(clock, add_reserve, nodes=1) as cluster:
        await open_quota(cluster, a_quota("q", tickets="1"))
        await cluster.put(holding("d", 1, 5, daemonSet=True))
        await cluster.until(ORDERS, "d", lambda o: o.status.available_replicas == 1)
        (name,) = await held(cluster)
        await cluster.put(a_seeker("app"))
        await cluster.until(TICKETS, name, lambda t: t.status.phase is TicketPhase.CLAIMED)
        await allow(cluster, tickets="0")
        await cluster.pass_time(7 * MINUTE)
        ticket = await cluster.get(TICKETS, name)
        assert ticket is not None
        assert ticket.status.phase is TicketPhase.CLAIMED


@pytest.mark.parametrize(
    ("strategy", "left"),
    [
        pytest.param({"type": "OneTime", "refreshPolicy": "Always"}, 0, id="OneTime Always"),
        pytest.param(
            {"type": "Recurring", "refreshPolicy": "Always", "schedule": "*/3 * * * *"},
            0,
            id="Recurring Always",
        ),
        pytest.param(
            {"type": "Recurring", "refreshPolicy": "OnClaim", "schedule": "*/7 * * * *"},
            0,
            id="Recurring OnClaim",
        ),
        pytest.param(
            {"type": "Scheduled", "refreshPolicy": "Always", "schedule": "*/10 * * * *"},
            0,
            id="Scheduled",
        ),
    ],
)
async def test_what_ends_is_not_replaced_while_others_use_all(
    clock: Clock, strategy: dict[str, JSON], left: int
) -> None:
    """Another order has what the limit has fallen to."""
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", tickets="6"))
        await cluster.put(wanting("other", 2))
        await cluster.until(ORDERS, "other", lambda o: o.status.available_replicas == 2)
        others = await held(cluster)
        await cluster.put(holding("o", 2, 5, strategy=strategy))
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 2)
        before = await held(cluster)
        await allow(cluster, tickets="2")
        await cluster.until(QUOTAS, "q", is_exceeded)
        await cluster.pass_time(MINUTE)
        assert await held(cluster) == before
        await cluster.pass_time(15 * MINUTE)
        assert len(await held(cluster)) == len(others) + left
        await cluster.until(ORDERS, "o", is_short)
        await allow(cluster, tickets="6")
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 2)


async def test_a_claim_brings_no_new_ticket_while_the_limit_is_reached(clock: Clock) -> None:
    once_claimed: JSON = {"type": "OneTime", "refreshPolicy": "OnClaim"}
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", tickets="3"))
        await cluster.put(wanting("o", 2, strategy=once_claimed))
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 2)
        await allow(cluster, tickets="1")
        await cluster.until(QUOTAS, "q", is_exceeded)
        await cluster.put(a_seeker("app"))
        await cluster.until(ORDERS, "o", is_short)
        await cluster.pass_time(MINUTE)
        assert len(await held(cluster)) == 1
        assert len(await tickets(cluster)) == 2
        await allow(cluster, tickets="3")
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 2)
