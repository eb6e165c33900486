"""Orders with the real ticket controller, guardians, scheduler and nodes: what users see (S1, S2, S4, S36)."""

import pytest
from tests.reserve.scene import Scene, scene

from korder.api.reserve import ORDERS, TICKETS, Order, Ticket, TicketPhase
from korder.reserve.domain import add_reserve
from korder.reserve.orders.controller import Orders
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import an_order
from kubeloop.objects.core import NAMESPACES, PODS
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import DAEMON_SETS
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder, a_pod

PARTS = (Orders, Tickets)


def asking(name: str, cpu: str, replicas: int = 1, **spec: JSON) -> Builder[Order]:
    resources: JSON = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    return an_order(name, replicas).but(
        {"spec": {"template": {"spec": {"resources": resources}}, **spec}}
    )


def ready(order: Order) -> tuple[str, str, str]:
    found = next((each for each in order.status.conditions if each.type == "Ready"), None)
    return (found.status.value, found.reason, found.message) if found else ("", "", "")


async def reserved(cluster: Scene) -> list[Ticket]:
    found = await cluster.all(TICKETS)
    return [ticket for ticket in found if ticket.status.phase is TicketPhase.RESERVED]


async def test_an_order_holds_room_and_says_what_does_not_fit(clock: Clock) -> None:
    """S1: two of three fit; a new node completes it."""
    async with scene(clock, *PARTS, nodes=2) as cluster:
        await cluster.put(asking("o", "3", replicas=3))
        order = await cluster.until(
            ORDERS,
            "o",
            lambda o: o.status.available_replicas == 2 and "Insufficient" in ready(o)[2],
        )
        assert ready(order)[:2] == ("False", "TicketsWait")
        assert order.status.unavailable_replicas == 1
        cluster.add_node("node-9")
        order = await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 3)
        guardians = await cluster.guardians()
        assert len(guardians) == 3
        nodes = {pod.spec.node_name for pod in guardians}
        assert nodes == {ticket.status.node_name for ticket in await reserved(cluster)}
        assert len(nodes) == 3
        await cluster.delete(ORDERS, "o")
        await cluster.gone(ORDERS, "o")
        assert await cluster.all(TICKETS) == []
        assert await cluster.guardians() == []


async def test_a_template_rolls_out_only_as_far_as_there_is_room(clock: Clock) -> None:
    """A template rolls out only as far as there is room (S6, rule 7)."""
    async with scene(clock, *PARTS, nodes=1) as cluster:
        await cluster.put(asking("o", "3"))
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 1)
        (old,) = await reserved(cluster)
        await cluster.put(asking("o", "2"))
        order = await cluster.until(
            ORDERS,
            "o",
            lambda o: any(each.reason == "RolloutBlocked" for each in o.status.conditions),
        )
        assert order.status.updated_replicas == 1
        assert await reserved(cluster) == [old]
        cluster.add_node("node-9")
        await cluster.gone(TICKETS, old.metadata.name)
        (new,) = await reserved(cluster)
        assert new.spec.requests["cpu"] == "2"


@pytest.mark.parametrize("lead", ["0s", "30s"])
@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
async def test_a_pool_whose_tickets_are_held_from_firing_to_firing_has_no_gap(
    clock: Clock, policy: str, lead: str
) -> None:
    """Rules 1 and 5: their clock starts at the firing, and what ends with the next one is replaced by it."""
    strategy: JSON = {
        "type": "Recurring",
        "schedule": "*/5 * * * *",
        "refreshPolicy": policy,
        "leadTime": lead,
    }
    async with scene(clock, *PARTS, nodes=1) as cluster:
        order = asking("o", "100m", replicas=4, strategy=strategy)
        await cluster.put(order.but({"spec": {"template": {"spec": {"duration": "5m"}}}}))
        await cluster.pass_time(300)
        for _ in range(3):
            for after_the_firing in (5, 150, 280):
                await cluster.pass_time(after_the_firing - clock.now().timestamp() % 300)
                assert len(await reserved(cluster)) == 4
            await cluster.pass_time(20)


async def test_a_daemonset_order_holds_room_on_each_node_for_as_long_as_it_stands(
    clock: Clock,
) -> None:
    """S36: standing holds are renewed in place; a full node leaves only its own ticket waiting."""
    async with scene(clock, *PARTS, nodes=2) as cluster:
        await cluster.put(a_pod("fat").requesting(cpu="4").on("node-2"))
        await cluster.until(PODS, "fat", lambda pod: pod.status.phase == "Running")
        template: JSON = {"spec": {"duration": "1m"}}
        await cluster.put(asking("d", "1", daemonSet=True).but({"spec": {"template": template}}))
        order = await cluster.until(
            ORDERS,
            "d",
            lambda o: o.status.available_replicas == 1 and "Insufficient" in ready(o)[2],
        )
        assert order.status.desired_replicas == 2
        (held,) = await reserved(cluster)
        (guardian,) = [pod for pod in await cluster.guardians() if pod.spec.node_name]
        assert held.status.node_name == guardian.spec.node_name == "node-1"
        await cluster.delete(PODS, "fat")
        await cluster.until(ORDERS, "d", lambda o: ready(o)[0] == "True")
        await cluster.pass_time(150)
        later = {pod.metadata.uid for pod in await cluster.guardians()}
        assert guardian.metadata.uid in later
        assert len(later) == len(await reserved(cluster)) == 2


def rolling(order: Order) -> tuple[str, str]:
    found = next(each for each in order.status.conditions if each.type == "Progressing")
    return found.reason, found.message


async def test_a_daemonset_template_rolls_out_where_a_node_has_room_for_one_of_old_and_new(
    clock: Clock,
) -> None:
    """Rule 7: node after node breaks first; where even that makes no room the others keep what they hold."""
    async with scene(clock, *PARTS, nodes=3) as cluster:
        for cpu in ("2500m", "3"):
            await cluster.put(asking("d", cpu, daemonSet=True))
            await cluster.until(
                ORDERS,
                "d",
                lambda o: o.status.updated_replicas == 3 == o.status.available_replicas,
            )
        await cluster.put(asking("d", "64", daemonSet=True))
        order = await cluster.until(ORDERS, "d", lambda o: rolling(o)[0] == "RolloutBlocked")
        assert "has no room: 0/3 nodes are available" in rolling(order)[1]
        await cluster.pass_time(60)
        assert len(await reserved(cluster)) == 2
        await cluster.put(asking("d", "3500m", daemonSet=True))
        await cluster.until(
            ORDERS, "d", lambda o: o.status.updated_replicas == 3 == o.status.available_replicas
        )
        assert len(await reserved(cluster)) == 3


async def test_a_namespace_with_orders_ends(clock: Clock) -> None:
    """Rule 13: finalizers go, nothing is created."""
    async with scene(clock, *PARTS, nodes=1) as cluster:
        await cluster.client.create(NAMESPACES, {"metadata": {"name": "team"}})
        strategy: JSON = {"type": "OneTime", "refreshPolicy": "Always"}
        order = asking("o", "100m", replicas=3, strategy=strategy).in_namespace("team")
        await cluster.put(order)
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 3, "team")
        await cluster.delete(NAMESPACES, "team")
        await cluster.gone(NAMESPACES, "team")
        assert await cluster.all(TICKETS) == []
        assert await cluster.all(ORDERS) == []


def an_agent(image: str) -> dict[str, JSON]:
    """A DaemonSet whose pods need a ticket of the order d; the gate is what admission would add."""
    container: JSON = {
        "name": "agent",
        "image": image,
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    asked: JSON = {"korder.dev/required": "true", "korder.dev/order": "d"}
    template: JSON = {
        "metadata": {"labels": {"app": "agent"}, "annotations": asked},
        "spec": {
            "containers": [container],
            "schedulingGates": [{"name": "korder.dev/ticket"}],
            "terminationGracePeriodSeconds": 1,
        },
    }
    return {
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }


async def test_pods_of_a_daemonset_use_the_ticket_of_their_node_and_give_it_back(
    clock: Clock,
) -> None:
    """S36, rule 19: after a rolling update each node's ticket is the same, and claimed again."""

    def in_use(order: Order) -> bool:
        return order.status.claimed_replicas == order.status.desired_replicas == 2

    async with scene(clock, add_reserve, nodes=2) as cluster:
        await cluster.put(asking("d", "1", daemonSet=True))
        await cluster.until(ORDERS, "d", lambda o: o.status.available_replicas == 2)
        before = {each.metadata.uid for each in await cluster.all(TICKETS)}
        await cluster.client.create(DAEMON_SETS, an_agent("one"))
        await cluster.until(ORDERS, "d", in_use)
        assert await cluster.guardians() == []
        for ticket in await cluster.all(TICKETS):
            assert ticket.status.claimed_by is not None
            pod = await cluster.get(PODS, ticket.status.claimed_by.name)
            assert pod is not None
            assert pod.spec.node_name == ticket.spec.node_name
        used = {t.status.claimed_by.uid for t in await cluster.all(TICKETS) if t.status.claimed_by}
        await cluster.edit(DAEMON_SETS, "agent", {"spec": an_agent("two")["spec"]})
        await cluster.pass_time(30)
        await cluster.until(ORDERS, "d", in_use)
        after = await cluster.all(TICKETS)
        assert {each.metadata.uid for each in after} == before
        assert used.isdisjoint(t.status.claimed_by.uid for t in after if t.status.claimed_by)
