"""Quotas at work on a cluster: what is made, what waits, and what people are told (S30-S35)."""

import asyncio
from datetime import datetime

from tests.reserve.quotas.quota_scene import (
    BACKEND,
    is_exceeded,
    is_short,
    label,
    open_quota,
    tickets,
    used,
    wanting,
)
from tests.reserve.quotas.quotas import a_quota
from tests.reserve.scene import Scene, scene

from korder.api.quota import QUOTAS, Quota, QuotaCondition
from korder.api.reserve import ORDERS, TICKETS, OrderCondition
from korder.reserve.domain import add_reserve
from kubeloop.objects import conditions, quantity
from kubeloop.objects.core import EVENTS, NAMESPACES
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock

GOLD: dict[str, JSON] = {
    "type": "ObjectSelector",
    "objectSelector": {"matchLabels": {"tier": "gold"}},
}


async def test_two_of_three_tickets_are_made_and_the_order_says_why(clock: Clock) -> None:
    """Two of three tickets are made and the order says why (S30)."""
    async with scene(clock, add_reserve) as cluster:
        await label(cluster, "default", {"team": "backend"})
        await open_quota(cluster, a_quota("team", dict(BACKEND), tickets="2"))
        await cluster.put(wanting("o", 3))
        order = await cluster.until(ORDERS, "o", is_short)
        ready = conditions.find(order.status.conditions, OrderCondition.READY)
        assert ready is not None
        assert "quota team: tickets used 2 of 2, requested 1" in ready.message
        quota = await cluster.until(QUOTAS, "team", used(tickets="2", reserved_cpu="1"))
        assert not is_exceeded(quota)
        assert len(await tickets(cluster)) == 2


async def test_relabelling_a_namespace_moves_what_is_used_and_lets_others_go_on(
    clock: Clock,
) -> None:
    async with scene(clock, add_reserve) as cluster:
        await label(cluster, "default", {"team": "backend"})
        await open_quota(cluster, a_quota("team", dict(BACKEND), tickets="2"))
        await cluster.put(wanting("o", 3))
        await cluster.until(ORDERS, "o", is_short)
        await label(cluster, "default", {"team": "frontend"})
        await cluster.until(QUOTAS, "team", used(tickets="0"))
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 3)


async def test_exactly_as_many_as_there_is_room_for_of_orders_that_come_at_once(
    clock: Clock,
) -> None:
    """S31: 20 orders at once, room for 7."""
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", reserved_cpu="3500m"))
        seen: list[Quota] = []
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(cluster.put(wanting(f"o{number}")))
        for _ in range(100):
            quota = await cluster.get(QUOTAS, "q")
            assert quota is not None
            seen.append(quota)
            await cluster.pass_time(0.1)
        await cluster.until(QUOTAS, "q", used(tickets="7", reserved_cpu="3500m"))
        assert len(await tickets(cluster)) == 7
        assert all(
            quantity.parse(q.status.used.get("reserved.cpu", 0)) <= quantity.parse("3500m")
            for q in seen
        )
        short = [order for order in await cluster.all(ORDERS) if is_short(order)]
        assert len(short) == 13


async def test_no_more_orders_are_served_than_allowed_and_the_next_follows(clock: Clock) -> None:
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", orders="1"))
        await cluster.put(wanting("first", 2))
        await cluster.until(ORDERS, "first", lambda o: o.status.available_replicas == 2)
        await cluster.put(wanting("second", 1))
        await cluster.until(ORDERS, "second", is_short)
        await cluster.delete(ORDERS, "first")
        await cluster.until(ORDERS, "second", lambda o: o.status.available_replicas == 1)


async def test_of_orders_that_come_at_once_as_many_are_served_as_are_allowed(clock: Clock) -> None:
    """Admission replicas that do not know of each other have let all of them in."""
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", orders="2"))
        async with asyncio.TaskGroup() as group:
            for number in range(6):
                group.create_task(cluster.put(wanting(f"o{number}")))
        quota = await cluster.until(QUOTAS, "q", used(orders="6", tickets="2"))
        exceeded = conditions.find(quota.status.conditions, QuotaCondition.EXCEEDED)
        assert exceeded is not None
        assert exceeded.message == "orders 6 of 2, 4 too much"
        await cluster.pass_time(10)
        assert len(await tickets(cluster)) == 2
        assert sum(map(is_short, await cluster.all(ORDERS))) == 4
        for order in await cluster.all(ORDERS):
            if is_short(order):
                await cluster.delete(ORDERS, order.metadata.name)
        await cluster.until(QUOTAS, "q", lambda q: not is_exceeded(q))


async def test_a_younger_order_does_not_take_the_place_of_one_that_has_no_tickets_now(
    clock: Clock,
) -> None:
    nightly: JSON = {"type": "Scheduled", "refreshPolicy": "Never", "schedule": "0 2 * * *"}
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", orders="1"))
        await cluster.put(wanting("older", strategy=nightly))
        await cluster.until(ORDERS, "older", lambda o: o.status.next_schedule_time is not None)
        await cluster.pass_time(2)
        await cluster.put(wanting("younger"))
        order = await cluster.until(ORDERS, "younger", is_short)
        assert "quota q: orders used 1 of 1, requested 1" in str(order.status.conditions)
        await cluster.delete(ORDERS, "older")
        await cluster.until(ORDERS, "younger", lambda o: o.status.available_replicas == 1)


async def test_of_orders_that_a_quota_means_without_their_tickets_only_the_oldest_are_served(
    clock: Clock,
) -> None:
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", GOLD, orders="1"))
        for name in ("a", "b", "c"):
            await cluster.put(wanting(name, 2).labelled({"tier": "gold"}))
            await cluster.pass_time(2)
        await cluster.until(ORDERS, "a", lambda o: o.status.available_replicas == 2)
        for name in ("b", "c"):
            await cluster.until(ORDERS, name, is_short)
        await cluster.delete(ORDERS, "a")
        await cluster.until(ORDERS, "b", lambda o: o.status.available_replicas == 2)
        order = await cluster.until(ORDERS, "c", is_short)
        assert "quota q: orders used 1 of 1, requested 1" in str(order.status.conditions)


async def test_an_order_that_a_quota_does_not_mean_takes_no_place_of_those_it_means(
    clock: Clock,
) -> None:
    gold: JSON = {"spec": {"template": {"metadata": {"labels": {"tier": "gold"}}}}}
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", GOLD, orders="1"))
        await cluster.put(wanting("o").but(gold))
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 1)
        await cluster.put(wanting("p").but(gold).labelled({"tier": "gold"}))
        await cluster.until(ORDERS, "p", lambda o: o.status.available_replicas == 1)
        await cluster.put(wanting("late").but(gold).labelled({"tier": "gold"}))
        await cluster.until(ORDERS, "late", is_short)


async def test_what_ends_makes_room_for_what_waits(clock: Clock) -> None:
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", tickets="1"))
        await cluster.put(wanting("first"))
        await cluster.until(QUOTAS, "q", used(tickets="1"))
        await cluster.put(wanting("second"))
        await cluster.until(ORDERS, "second", is_short)
        await cluster.delete(ORDERS, "first")
        await cluster.until(ORDERS, "second", lambda o: o.status.available_replicas == 1)
        await cluster.until(QUOTAS, "q", used(tickets="1"))


async def test_a_namespace_stays_within_its_allocation(clock: Clock) -> None:
    """A namespace stays within its allocation (S33)."""
    allocation: JSON = [{"namespace": "default", "limits": {"reserved.cpu": "1"}}]
    quota = a_quota("q", reserved_cpu="3").but({"spec": {"allocation": allocation}})
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, quota)
        await cluster.put(wanting("o", 3))
        order = await cluster.until(ORDERS, "o", is_short)
        assert "allocation default: reserved.cpu used 1 of 1" in str(order.status.conditions)
        found = await cluster.until(QUOTAS, "q", used(reserved_cpu="1"))
        (part,) = found.status.allocation
        assert (part.name, part.hard, part.used["reserved.cpu"]) == (
            "default",
            {"reserved.cpu": "1"},
            "1",
        )


async def test_a_window_opens_and_closes_in_time_and_takes_nothing_away(clock: Clock) -> None:
    """A window opens and closes in time and takes nothing away (S34)."""
    now = clock.now()
    opens = (now.minute + 5) % 60
    window: JSON = {
        "name": "rush",
        "schedule": f"{opens} * * * *",
        "duration": "10m",
        "multiplier": "2",
    }
    quota = a_quota("q", tickets="1").but({"spec": {"timeWindows": [window]}})
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, quota)
        await cluster.put(wanting("o", 2, strategy={"type": "OneTime", "refreshPolicy": "Always"}))
        await cluster.until(ORDERS, "o", is_short)
        opened = await _edge(cluster, "rush")
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 2)
        assert (clock.now() - opened).total_seconds() < 5
        await _edge(cluster, "")
        found = await cluster.until(QUOTAS, "q", is_exceeded)
        exceeded = conditions.find(found.status.conditions, QuotaCondition.EXCEEDED)
        assert exceeded is not None
        assert exceeded.message == "tickets 2 of 1, 1 too much"
        assert found.status.active_time_window == ""
        names = sorted(t.metadata.name for t in await tickets(cluster))
        assert len(names) == 2
        await cluster.delete(TICKETS, names[0])
        await cluster.until(QUOTAS, "q", lambda q: not is_exceeded(q))
        await cluster.pass_time(5)
        assert len(await tickets(cluster)) == 1
        events = [e for e in await cluster.all(EVENTS) if e.regarding.kind == QUOTAS.kind]
        assert {(event.reason, event.note) for event in events} == {
            ("LimitsChanged", "window rush is open: tickets 2, max-duration 168h0m0s"),
            ("LimitsChanged", "no window is open: tickets 1, max-duration 168h0m0s"),
            ("LimitExceeded", "tickets 2 of 1, 1 too much"),
            ("WithinLimits", "no limit is exceeded any more"),
        }


async def test_who_borrows_uses_what_others_leave_and_the_whole_still_holds(clock: Clock) -> None:
    allocation: JSON = [
        {"namespace": "default", "limits": {"tickets": "1"}, "borrow": True},
        {"namespace": "other", "limits": {"tickets": "3"}},
    ]
    quota = a_quota("q", tickets="4").but({"spec": {"allocation": allocation}})
    async with scene(clock, add_reserve) as cluster:
        await cluster.client.create(NAMESPACES, {"metadata": {"name": "other"}})
        await open_quota(cluster, quota)
        await cluster.put(wanting("o", 3))
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 3)
        await cluster.put(wanting("p", 3).in_namespace("other"))
        order = await cluster.until(ORDERS, "p", is_short, "other")
        assert "quota q: tickets used 4 of 4, requested 1" in str(order.status.conditions)
        found = await cluster.until(QUOTAS, "q", used(tickets="4"))
        assert [part.used["tickets"] for part in found.status.allocation] == ["3", "1"]
        assert not is_exceeded(found)
        await cluster.delete(ORDERS, "o")
        await cluster.until(ORDERS, "p", lambda o: o.status.available_replicas == 3, "other")


async def _edge(cluster: Scene, window: str) -> datetime:
    """Waits for an edge and sees that it is told within a second."""
    quota = await cluster.get(QUOTAS, "q")
    assert quota is not None
    due = quota.status.next_transition_time
    assert due is not None
    await cluster.until(QUOTAS, "q", lambda q: q.status.active_time_window == window)
    assert (cluster.clock.now() - due).total_seconds() < 1
    return due


async def test_all_quotas_count_and_the_one_without_room_is_named(clock: Clock) -> None:
    """All quotas count, and the one that is used up is named (S35)."""
    listed: JSON = {"type": "NamespaceList", "namespaces": ["default"]}
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("cluster", tickets="9"))
        await open_quota(cluster, a_quota("listed", dict(listed), tickets="2"))
        await open_quota(cluster, a_quota("chosen", GOLD, tickets="1"))
        await cluster.put(wanting("plain", 3))
        plain = await cluster.until(ORDERS, "plain", is_short)
        assert "quota listed: tickets used 2 of 2" in str(plain.status.conditions)
        for name in ("cluster", "listed"):
            await cluster.until(QUOTAS, name, used(tickets="2"))
        await cluster.until(QUOTAS, "chosen", used(tickets="0"))


async def test_an_order_for_every_node_is_charged_for_every_node(clock: Clock) -> None:
    """An order for every node is charged for every node (S35)."""
    async with scene(clock, add_reserve, nodes=2) as cluster:
        await open_quota(cluster, a_quota("q", tickets="3"))
        await cluster.put(wanting("d").but({"spec": {"daemonSet": True}}))
        await cluster.until(QUOTAS, "q", used(tickets="2"))
        cluster.add_node("node-3")
        await cluster.until(QUOTAS, "q", used(tickets="3"))
        cluster.add_node("node-4")
        await cluster.until(ORDERS, "d", is_short)
        assert len(await tickets(cluster)) == 3


async def test_a_new_life_goes_on_with_the_ledger_it_finds(clock: Clock) -> None:
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", tickets="3"))
        await cluster.put(wanting("a", 2))
        await cluster.until(ORDERS, "a", lambda o: o.status.replicas > 0)
        await cluster.restart()
        await cluster.put(wanting("b", 2))
        await cluster.until(ORDERS, "b", is_short)
        await cluster.until(QUOTAS, "q", used(tickets="3"))
        assert len(await tickets(cluster)) == 3


async def test_when_an_order_is_gone_nothing_is_used(clock: Clock) -> None:
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", tickets="5"))
        await cluster.put(wanting("o", 2))
        await cluster.until(QUOTAS, "q", used(tickets="2"))
        await cluster.delete(ORDERS, "o")
        await cluster.gone(ORDERS, "o")
        await cluster.until(QUOTAS, "q", used(tickets="0", reserved_cpu="0", orders="0"))
