"""The order controller on a cluster in virtual time; tickets are played by a stand-in that holds no room."""

import asyncio
from collections import Counter
import random

from tests.reserve.orders.driver import OrderDriver
from tests.reserve.orders.order_scene import add_node, order_scene
from tests.reserve.scene import Scene, scene

from korder.api.reserve import (
    ORDER_FINALIZER,
    ORDER_UID_LABEL,
    ORDERS,
    TICKET_FINALIZER,
    TICKETS,
    Order,
    Ticket,
    TicketPhase,
)
from korder.reserve.orders.controller import Orders
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects import conditions, instant
from kubeloop.objects.conditions import Condition, Status
from kubeloop.objects.core import EVENTS, NODES
from kubeloop.objects.meta import JSON, Key, Kind, Object
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager

PARTS = (Orders, OrderDriver)


async def become(cluster: Scene, name: str, phase: TicketPhase) -> None:
    """Something happens to a ticket."""
    body: JSON = {"status": {"phase": phase.value}}
    key = Key("default", name)
    await cluster.client.patch(TICKETS, key, body, PatchType.MERGE, subresource="status")


async def tickets(cluster: Scene, *phases: TicketPhase) -> list[Ticket]:
    return [
        ticket
        for ticket in await cluster.all(TICKETS)
        if ticket.metadata.deletion_timestamp is None
        and (not phases or ticket.status.phase in phases)
    ]


async def names(cluster: Scene, *phases: TicketPhase) -> set[str]:
    return {ticket.metadata.name for ticket in await tickets(cluster, *phases)}


async def ready(cluster: Scene, count: int, claimed: int = 0, name: str = "o") -> Order:
    """Waits until so many tickets are held and all counters say so."""
    return await cluster.until(
        ORDERS,
        name,
        lambda order: (
            order.status.available_replicas == count
            and order.status.replicas - order.status.claimed_replicas == count
            and order.status.claimed_replicas == claimed
            and order.status.observed_generation == order.metadata.generation
        ),
    )


async def test_an_order_gets_its_tickets_and_counts_them(clock: Clock) -> None:
    """S1: the counting part."""
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("o", 3))
        order = await ready(cluster, 3)
        assert order.metadata.finalizers == (ORDER_FINALIZER,)
        assert await names(cluster) == {"o-0", "o-1", "o-2"}
        selected = await cluster.all(TICKETS, labels=order.status.label_selector)
        assert len(selected) == 3
        assert all(t.metadata.labels[ORDER_UID_LABEL] == order.metadata.uid for t in selected)
        await cluster.pass_time(60)
        events = Counter(event.reason for event in await cluster.all(EVENTS))
        assert events["TicketsCreated"] == 1


async def test_an_order_at_rest_writes_nothing(clock: Clock) -> None:
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("o", 3))
        order = await ready(cluster, 3)
        await cluster.pass_time(5)
        order = await cluster.until(ORDERS, "o", lambda _: True)
        await cluster.pass_time(3600)
        after = await cluster.until(ORDERS, "o", lambda _: True)
        assert after.metadata.resource_version == order.metadata.resource_version


async def test_an_order_can_be_scaled_as_any_workload(clock: Clock) -> None:
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("o", 2))
        await ready(cluster, 2)
        scale = Kind(ORDERS.group, ORDERS.version, "Scale", ORDERS.plural, Object)
        five: JSON = {"spec": {"replicas": 5}}
        key = Key("default", "o")
        await cluster.client.patch(scale, key, five, PatchType.MERGE, subresource="scale")
        await ready(cluster, 5)


async def test_an_order_goes_after_its_tickets_and_its_successor_adopts_nothing(
    clock: Clock,
) -> None:
    """An order goes after its tickets and its successor adopts nothing (S4)."""
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("o", 2))
        await ready(cluster, 2)
        await become(cluster, "o-0", TicketPhase.CLAIMED)
        order = await ready(cluster, 2, claimed=1)
        slow: JSON = {"metadata": {"finalizers": ["test/slow", TICKET_FINALIZER]}}
        await cluster.edit(TICKETS, "o-1", slow)
        await cluster.delete(ORDERS, "o")
        await cluster.gone(TICKETS, "o-0")
        await cluster.pass_time(60)
        assert await cluster.get(ORDERS, "o") is not None
        await cluster.edit(TICKETS, "o-1", {"metadata": {"finalizers": []}})
        await cluster.gone(ORDERS, "o")
        assert await tickets(cluster) == []
        await cluster.put(a_ticket("o-7").labelled({"korder.dev/order": "o"}))
        await cluster.put(an_order("o", 2))
        again = await ready(cluster, 2)
        assert again.metadata.uid != order.metadata.uid
        await cluster.edit(ORDERS, "o", {"spec": {"replicas": 0}})
        await ready(cluster, 0)
        assert await names(cluster) == {"o-7"}


async def test_an_order_that_is_gone_is_forgotten(clock: Clock) -> None:
    """Who makes and deletes orders all day does not fill the manager's memory, nor does who owns tickets in another way."""
    controllers: list[Orders] = []
    foreign = {"apiVersion": "example.com/v1", "kind": "Flow", "name": "f", "uid": "flow-uid"}
    owned: JSON = {"metadata": {"ownerReferences": [{**foreign, "controller": True}]}}
    async with order_scene(clock, lambda m: controllers.append(Orders(m)), OrderDriver) as cluster:
        await cluster.put(an_order("o", 2), a_ticket("t").but(owned))
        await ready(cluster, 2)
        await cluster.delete(TICKETS, "t")
        await cluster.delete(ORDERS, "o")
        await cluster.gone(ORDERS, "o")
        await cluster.gone(TICKETS, "t")
        await cluster.pass_time(1)
        (orders,) = controllers
        assert (orders._trusted, orders._gone) == (set(), {})


async def test_a_claim_that_ends_within_a_breath_is_replaced_all_the_same(clock: Clock) -> None:
    """S16: with no time to live the ticket is gone before the order looks; that is a claim, and no loss."""
    async with order_scene(clock, *PARTS) as cluster:
        lifecycle: JSON = {"ttlSecondsAfterFinished": 0}
        await cluster.put(
            an_order("o", 2).but({"spec": {"template": {"spec": {"lifecycle": lifecycle}}}})
        )
        await ready(cluster, 2)
        for name in ("o-0", "o-1"):
            await become(cluster, name, TicketPhase.CLAIMED)
            await become(cluster, name, TicketPhase.RELEASED)
        await cluster.pass_time(5)
        assert await names(cluster) == {"o-2", "o-3"}


async def test_who_orphans_the_tickets_keeps_them(clock: Clock) -> None:
    async with scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("o", 2))
        await ready(cluster, 2)
        orphan: JSON = {"metadata": {"finalizers": [ORDER_FINALIZER, "orphan"]}}
        await cluster.edit(ORDERS, "o", orphan)
        await cluster.delete(ORDERS, "o")
        await cluster.gone(ORDERS, "o")
        left = await tickets(cluster)
        assert {each.metadata.name for each in left} == {"o-0", "o-1"}
        assert all(each.metadata.owner_references == () for each in left)


async def test_deletions_never_wedge_an_order(clock: Clock) -> None:
    """S5: with policy Always each is replaced, and no name comes twice."""
    strategy: JSON = {"type": "OneTime", "refreshPolicy": "Always"}
    rng = random.Random(5)
    seen: set[tuple[str, str]] = set()
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("o", 3).but({"spec": {"strategy": strategy}}))
        await ready(cluster, 3)
        for _ in range(20):
            there = await tickets(cluster)
            seen |= {(each.metadata.name, each.metadata.uid) for each in there}
            await cluster.delete(TICKETS, rng.choice(there).metadata.name)
            await cluster.pass_time(rng.choice([0.1, 0.5, 1.0]))
        await ready(cluster, 3)
        assert len({name for name, _ in seen}) == len(seen)
        order = await cluster.until(ORDERS, "o", lambda _: True)
        assert order.status.next_index >= 15


async def test_a_foreign_ticket_with_our_name_is_passed_over(clock: Clock) -> None:
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(a_ticket("o-1"))
        await cluster.put(an_order("o", 3))
        await ready(cluster, 3)
        assert await names(cluster) == {"o-0", "o-1", "o-2", "o-3"}
        foreign = await cluster.until(TICKETS, "o-1", lambda _: True)
        assert foreign.metadata.owner_references == ()


async def test_scaling_pausing_and_rolling_out(clock: Clock) -> None:
    """Scaling, pausing and rolling out (S6)."""
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("o", 5))
        await ready(cluster, 5)
        await become(cluster, "o-0", TicketPhase.CLAIMED)
        await ready(cluster, 5, claimed=1)
        await cluster.edit(ORDERS, "o", {"spec": {"replicas": 2}})
        await ready(cluster, 2, claimed=1)
        assert "o-0" in await names(cluster, TicketPhase.CLAIMED)
        old = await names(cluster, TicketPhase.RESERVED)
        cpu: JSON = {"spec": {"template": {"spec": {"resources": {"requests": {"cpu": "2"}}}}}}
        await cluster.edit(ORDERS, "o", {"spec": {"paused": True}})
        await cluster.edit(ORDERS, "o", cpu)
        await cluster.pass_time(60)
        assert await names(cluster, TicketPhase.RESERVED) == old
        await cluster.edit(ORDERS, "o", {"spec": {"paused": False}})
        await cluster.until(ORDERS, "o", lambda order: order.status.updated_replicas == 2)
        await ready(cluster, 2, claimed=1)
        assert (await names(cluster, TicketPhase.RESERVED)).isdisjoint(old)


async def test_windows_open_and_close_on_the_minute(clock: Clock) -> None:
    """S28: at most a second late, gone with their time, and firings never mix."""
    strategy: JSON = {"type": "Scheduled", "schedule": "* * * * *"}
    template: JSON = {"spec": {"duration": "30s", "lifecycle": {"ttlSecondsAfterFinished": 0}}}
    order = an_order("o", 2).but({"spec": {"strategy": strategy, "template": template}})
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(order)
        minute = 60 - clock.now().second - clock.now().microsecond / 1e6
        await cluster.pass_time(minute + 1)
        for _ in range(3):
            opened = await tickets(cluster, TicketPhase.RESERVED)
            fired = {each.spec.start_time for each in opened}
            assert len(opened) == 2
            assert fired == {instant.render(clock.now().replace(second=0))}
            await cluster.pass_time(30)
            assert await tickets(cluster) == []
            await cluster.pass_time(30)


async def test_a_controller_that_was_down_over_a_firing(clock: Clock) -> None:
    """S28: it fires once within the deadline, and is told as missed after it."""
    strategy: JSON = {"type": "Scheduled", "schedule": "0 * * * *"}
    template: JSON = {"spec": {"duration": "50m"}}
    order = an_order("o", 2).but({"spec": {"strategy": strategy, "template": template}})

    async def sleep_over_the_hour(cluster: Scene, minutes: int) -> None:
        now = clock.now()
        await cluster.pass_time(3600 - 60 * now.minute - now.second - 5)
        await cluster.end()
        await cluster.pass_time(60 * minutes + 5)
        await cluster.begin(cluster._group)
        await cluster.pass_time(5)

    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(order)
        await sleep_over_the_hour(cluster, 4)
        assert len(await tickets(cluster, TicketPhase.RESERVED)) == 2
        await sleep_over_the_hour(cluster, 6)
        assert await tickets(cluster, TicketPhase.RESERVED) == []
        missed = [e for e in await cluster.all(EVENTS) if e.reason == "FiringMissed"]
        assert len(missed) == 1


async def test_daemonset_mode_follows_the_nodes(clock: Clock) -> None:
    """DaemonSet mode follows the nodes (S36)."""
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("d").but({"spec": {"daemonSet": True, "replicas": 9}}))
        await ready(cluster, 3, name="d")
        assert await names(cluster) == {"d-node-1", "d-node-2", "d-node-3"}
        await add_node(cluster, "node-4")
        await ready(cluster, 4, name="d")
        await cluster.edit(NODES, "node-1", {"spec": {"unschedulable": True}})
        await ready(cluster, 3, name="d")
        await become(cluster, "d-node-2", TicketPhase.CLAIMED)
        taint: JSON = {"key": "gpu", "effect": "NoSchedule"}
        await cluster.edit(NODES, "node-2", {"spec": {"taints": [taint]}})
        await cluster.edit(NODES, "node-3", {"spec": {"taints": [taint]}})
        await cluster.gone(TICKETS, "d-node-3")
        assert await names(cluster) == {"d-node-2", "d-node-4"}
        await become(cluster, "d-node-2", TicketPhase.RESERVED)
        await cluster.gone(TICKETS, "d-node-2")
        await cluster.delete(NODES, "node-4")
        await cluster.until(
            ORDERS,
            "d",
            lambda order: any(each.reason == "NoEligibleNode" for each in order.status.conditions),
        )
        events = {event.reason for event in await cluster.all(EVENTS)}
        assert {"ReplicasIgnored", "TicketsCreated", "TicketsDeleted"} <= events


async def test_two_daemonset_orders_on_the_same_nodes_name_each_other(clock: Clock) -> None:
    waiting: JSON = {"metadata": {"annotations": {"test/waits": "yes"}}, "spec": {}}
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("a").but({"spec": {"daemonSet": True}}))
        await ready(cluster, 3, name="a")
        spec: JSON = {"daemonSet": True, "template": waiting}
        await cluster.put(an_order("b").but({"spec": spec}))
        await cluster.until(TICKETS, "b-node-1", lambda _: True)
        said: JSON = {"status": {"phase": "Pending", "message": "Insufficient cpu"}}
        key = Key("default", "b-node-1")
        await cluster.client.patch(TICKETS, key, said, PatchType.MERGE, subresource="status")
        order = await cluster.until(
            ORDERS, "b", lambda o: any("also booked" in c.message for c in o.status.conditions)
        )
        stated = next(each for each in order.status.conditions if each.type == "Ready")
        assert "node node-1 is also booked by order default/a" in stated.message


async def test_a_hundred_changes_are_a_few_looks(clock: Clock) -> None:
    """Writes of an order do not grow with its tickets."""
    async with order_scene(clock, *PARTS) as cluster:
        await cluster.put(an_order("o", 100))
        written = 0
        version = ""
        async with asyncio.timeout(60):
            while True:
                order = await cluster.until(ORDERS, "o", lambda _: True)
                written += order.metadata.resource_version != version
                version = order.metadata.resource_version
                if order.status.available_replicas == 100:
                    break
                await asyncio.sleep(0.05)
        assert written <= 15


async def test_a_refusal_is_reported_on_the_order_and_tried_again(clock: Clock) -> None:
    """A quota on tickets: the order says so, and goes on when there is room."""
    counted = "count/tickets.core.korder.dev"
    quota: JSON = {"hard": {counted: "2"}}
    kind = Kind("", "v1", "ResourceQuota", "resourcequotas", Object)
    async with order_scene(clock, *PARTS) as cluster:
        meta: JSON = {"name": "few", "namespace": "default"}
        await cluster.client.create(kind, {"metadata": meta, "spec": quota})
        used: JSON = {"status": {"hard": {counted: "2"}, "used": {counted: "0"}}}
        key = Key("default", "few")
        await cluster.client.patch(kind, key, used, PatchType.MERGE, subresource="status")
        await cluster.put(an_order("o", 3))
        order = await cluster.until(ORDERS, "o", lambda order: failing(order) is not None)
        stated = failing(order)
        assert stated is not None
        assert stated.reason == "TicketsRefused"
        assert "exceeded quota: few" in stated.message
        await cluster.pass_time(300)
        order = await cluster.until(ORDERS, "o", lambda _: True)
        await cluster.pass_time(300)
        again = await cluster.until(ORDERS, "o", lambda _: True)
        assert again.metadata.resource_version == order.metadata.resource_version
        await cluster.delete(kind, "few")
        order = await ready(cluster, 3)
        assert failing(order) is None


def failing(order: Order) -> Condition | None:
    found = conditions.find(order.status.conditions, "Failure")
    return found if found is not None and found.status is Status.TRUE else None


async def test_heartbeats_cost_an_order_nothing(clock: Clock) -> None:
    """S37: no look is taken and nothing is written; a node that changes is looked at."""
    managers: list[Manager] = []
    async with order_scene(clock, *PARTS, managers.append, nodes=40) as cluster:
        await cluster.put(an_order("d").but({"spec": {"daemonSet": True}}))
        await ready(cluster, 40, name="d")
        await cluster.pass_time(10)
        before = looks(managers[0]), await written(cluster)
        for _ in range(2):
            for node in range(1, 41):
                await beat(cluster, f"node-{node}", clock)
            await cluster.pass_time(10)
        assert (looks(managers[0]), await written(cluster)) == before
        await cluster.edit(NODES, "node-7", {"spec": {"unschedulable": True}})
        await ready(cluster, 39, name="d")
        assert looks(managers[0]) <= before[0] + 6


async def beat(cluster: Scene, node: str, clock: Clock) -> None:
    """A node says that it is there."""
    stamp = instant.render(clock.now())
    ready_now: JSON = {"type": "Ready", "status": "True", "lastHeartbeatTime": stamp}
    status: JSON = {"status": {"conditions": [ready_now]}}
    key = Key("", node)
    await cluster.client.patch(NODES, key, status, PatchType.STRATEGIC, subresource="status")


def looks(manager: Manager) -> float:
    """How many turns the order controller has taken."""
    name = "korder_reconciliation_duration_seconds_count"
    labels = {"controller": "orders", "result": "success"}
    return manager.metrics.registry.get_sample_value(name, labels) or 0.0


async def written(cluster: Scene) -> list[str]:
    objects = [*await cluster.all(ORDERS), *await cluster.all(TICKETS)]
    return [each.metadata.resource_version for each in objects]
