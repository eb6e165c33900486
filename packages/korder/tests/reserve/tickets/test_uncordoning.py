"""Guardians that were kept from cordoned nodes, once such a node takes pods again (rules 12, 17)."""

from datetime import timedelta

from tests.reserve.scene import Scene, scene
from tests.reserve.tickets.test_plans import (
    NOW,
    a_guardian,
    a_known_ticket,
    decide,
    reserved,
    steps,
)
from tests.reserve.tickets.ticket_helpers import (
    RESERVED,
    Counted,
    a_pod_on,
    a_sized_ticket,
    reason_is,
)

from korder.api.reserve import TICKETS, Reason, Ticket
from korder.reserve.tickets import guardian_replacement
from korder.reserve.tickets.controller import Tickets
from korder.reserve.tickets.guardian import Place
from kubeloop.objects import instant
from kubeloop.objects.core import NODES, PODS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import Create, Delete
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder, a_node

ANYTHING: JSON = {"spec": {"tolerations": [{"operator": "Exists"}]}}
AWAY = a_guardian(node="", place=Place(avoided=("n2", "n3")))


def tolerant(name: str) -> Builder[Ticket]:
    return a_sized_ticket(name).but(ANYTHING)


async def cordon(cluster: Scene, node: str, closed: bool = True) -> None:
    await cluster.edit(NODES, node, {"spec": {"unschedulable": closed}})


async def fill(cluster: Scene, node: str) -> None:
    await cluster.put(a_pod_on(node, f"filler-of-{node}", cpu="4"))
    await cluster.until(PODS, f"filler-of-{node}", lambda pod: bool(pod.spec.node_name))


async def is_kept_out(cluster: Scene, ticket: str) -> None:
    """Waits until a guardian of the ticket has been made for which there is no room."""
    await cluster.until(TICKETS, ticket, reason_is(Reason.UNSCHEDULABLE))


async def test_a_ticket_that_tolerates_anything_gets_room_where_a_cordon_ends(clock: Clock) -> None:
    async with scene(clock, Tickets, nodes=2) as cluster:
        await fill(cluster, "node-1")
        await cordon(cluster, "node-2")
        await cluster.pass_time(1)
        await cluster.put(tolerant("t"))
        await is_kept_out(cluster, "t")
        await cordon(cluster, "node-2", closed=False)
        held = await cluster.until(TICKETS, "t", RESERVED)
        assert held.status.node_name == "node-2"
        assert len(await cluster.guardians()) == 1


async def test_a_ticket_gets_room_on_a_node_that_is_made_anew_and_open(clock: Clock) -> None:
    async with scene(clock, Tickets, nodes=2) as cluster:
        await fill(cluster, "node-1")
        await cordon(cluster, "node-2")
        await cluster.pass_time(1)
        await cluster.put(tolerant("t"))
        await is_kept_out(cluster, "t")
        (waiting,) = await cluster.guardians()
        cluster.machines.remove("node-2")
        await cluster.delete(NODES, "node-2")
        await cluster.pass_time(5)
        (same,) = await cluster.guardians()
        assert same.metadata.uid == waiting.metadata.uid
        cluster.add_node("node-2")
        held = await cluster.until(TICKETS, "t", RESERVED)
        assert held.status.node_name == "node-2"


async def test_a_ticket_moves_to_a_node_whose_cordon_ends_rule_12(clock: Clock) -> None:
    async with scene(clock, Tickets, nodes=1) as cluster:
        await cluster.put(tolerant("t"))
        await cluster.until(TICKETS, "t", RESERVED)
        cluster.add_node("node-2")
        await cluster.until(NODES, "node-2", lambda node: bool(node.status.allocatable))
        for node in ("node-2", "node-1"):
            await cordon(cluster, node)
        await cluster.until(TICKETS, "t", reason_is(Reason.NODE_CORDONED))
        await cluster.pass_time(5)
        assert len(await cluster.guardians()) == 2
        await cordon(cluster, "node-2", closed=False)
        moved = await cluster.until(TICKETS, "t", lambda t: t.status.node_name == "node-2")
        assert moved.status.reason == Reason.HELD
        await cluster.pass_time(3)
        (left,) = await cluster.guardians()
        assert f"default/{left.metadata.name}" == moved.status.guardian_pod


async def test_only_a_cordon_that_ends_wakes_those_who_were_kept_out(clock: Clock) -> None:
    counted = Counted()
    async with scene(clock, counted, nodes=3) as cluster:
        await fill(cluster, "node-1")
        for node in ("node-2", "node-3"):
            await cordon(cluster, node)
        await cluster.pass_time(1)
        await cluster.put(
            tolerant("t"), a_sized_ticket("plain").but({"spec": {"nodeSelector": {"a": "b"}}})
        )
        for name in ("t", "plain"):
            await is_kept_out(cluster, name)
        await cluster.pass_time(100)
        before = counted.locks()
        beat: JSON = {
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Beat"}]}
        }
        for number in range(20):
            await cluster.edit(
                NODES, "node-2", {"metadata": {"annotations": {"beat": str(number)}}}
            )
            await cluster.client.patch(NODES, Key("", "node-2"), beat, subresource="status")
        for closed in (True, False):
            await cordon(cluster, "node-1", closed)
            await cluster.pass_time(5)
        assert counted.locks() == before


def open_node(name: str) -> bool:
    return name == "n2"


def test_a_guardian_that_waits_is_made_anew_where_it_avoids_a_node_that_is_open() -> None:
    gone, made = steps(decide(a_known_ticket(), AWAY, is_open=open_node))
    assert isinstance(gone, Delete)
    assert (gone.uid, gone.resource_version) == ("uid-of-g", "3")
    assert isinstance(made, Create)
    assert not steps(decide(a_known_ticket(), AWAY, is_open=lambda _: False))


def test_a_guardian_that_is_bound_stays_whatever_it_avoided() -> None:
    (step,) = steps(decide(reserved(), AWAY.on("n1"), is_open=open_node))
    assert step.kind is TICKETS
    second = a_guardian("h", "", Place(avoided=("n2",)))
    (gone,) = steps(
        decide(reserved(**step.body["status"]), AWAY.on("n1"), second, is_open=open_node)
    )
    assert gone.uid == "uid-of-h"


def test_a_guardian_that_is_to_move_a_ticket_is_made_anew_too_rule_12() -> None:
    closed = {"n1": a_node("n1").cordoned().build()}
    said = steps(decide(reserved(), a_guardian(), nodes=closed))[0].body["status"]
    second = a_guardian("h", "", Place(avoided=("n1", "n2")))
    stuck = reserved(**said)
    assert not steps(decide(stuck, a_guardian(), second, nodes=closed))
    gone, made = steps(decide(stuck, a_guardian(), second, nodes=closed, is_open=open_node))
    assert (gone.uid, gone.resource_version) == ("uid-of-h", "3")
    assert isinstance(made, Create)


def test_a_second_guardian_that_came_to_a_cordoned_node_too_is_not_made_again_at_once() -> None:
    """Of very many cordoned nodes a guardian can avoid only some."""
    closed = {name: a_node(name).cordoned().build() for name in ("n1", "n2")}
    said = steps(decide(reserved(), a_guardian(), nodes=closed))[0].body["status"]
    for age, moves in ((10, False), (61, True)):
        made: JSON = {"creationTimestamp": instant.render(NOW - timedelta(seconds=age))}
        astray = a_guardian("h", "n2").but({"metadata": made})
        plan = decide(reserved(**said), a_guardian(), astray, nodes=closed)
        assert [type(step) for step in steps(plan)] == ([Delete, Create] if moves else [])
        if not moves:
            assert plan.requeue_at == NOW + timedelta(seconds=50)


def test_a_ticket_that_is_being_deleted_takes_nothing_back() -> None:
    """A foreign finalizer may keep it for ever."""
    returning = a_known_ticket("Pending", nodeName="n1", reason=Reason.RETURNING.value)
    gone: JSON = {"metadata": {"deletionTimestamp": instant.render(NOW)}}
    assert guardian_replacement.is_arriving(returning.build())
    assert not guardian_replacement.is_arriving(returning.but(gone).build())
