"""Claims when much happens at once: crowds, intruders, thieves, and pods that end in the middle."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from tests.reserve.claims.holds import (
    a_priority,
    asking,
    bound,
    claiming,
    hold,
    keep,
    nominating,
    phase,
)
from tests.reserve.scene import Scene, scene

from korder.api.reserve import TICKETS, Ticket, TicketPhase
from korder.reserve.claims import patches as claim_patches
from korder.reserve.handovers import handover_state
from kubeloop.objects.core import EVENTS, PODS, Pod
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.objects.workloads import REPLICA_SETS
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import a_pod


async def fill(cluster: Scene, nodes: int) -> None:
    """Makes tickets that take all cpu of the nodes."""
    async with asyncio.TaskGroup() as group:
        for node in range(1, nodes + 1):
            for number in range(4):
                group.create_task(hold(cluster, f"t{node}-{number}", f"node-{node}"))


async def test_fifty_pods_share_twenty_tickets_on_full_nodes_and_no_intruder_gets_between(
    clock: Clock,
) -> None:
    """S21 and S22: exactly twenty claims, thirty wait, and of forty intruders none is bound."""
    async with scene(clock, claiming, nodes=5) as cluster:
        await fill(cluster, 5)
        for number in range(40):
            await cluster.client.create(PODS, a_pod(f"thief{number}").requesting(cpu="1").json)
        for number in range(50):
            await cluster.client.create(PODS, asking(f"web{number}").json)
        tickets: list[Ticket] = []
        while len(tickets) < 20:
            await cluster.pass_time(1)
            all_ = await cluster.all(TICKETS)
            tickets = [each for each in all_ if each.status.phase is TicketPhase.CLAIMED]
        await cluster.pass_time(5)
        pods = {pod.metadata.uid: pod for pod in await cluster.all(PODS)}
        owners = {ticket.status.claimed_by.uid for ticket in tickets if ticket.status.claimed_by}
        assert len(owners) == 20
        for ticket in tickets:
            assert ticket.status.claimed_by is not None
            assert pods[ticket.status.claimed_by.uid].spec.node_name == ticket.status.node_name
        assert {uid for uid, pod in pods.items() if pod.spec.node_name} == owners
        waiting = [pod for pod in pods.values() if claim_patches.is_gated(pod)]
        assert len(waiting) == 30
        assert {stated.message for pod in waiting if (stated := claim_patches.stated(pod))} == {
            "All of the tickets in namespace default are taken or hold nothing yet."
        }


Sign = Callable[[Pod], bool]
STEPS: dict[str, Sign] = {
    "before anything began": lambda _: True,
    "let go": lambda pod: not claim_patches.is_gated(pod),
    "bound": lambda pod: bool(pod.spec.node_name),
}


async def until_step(cluster: Scene, name: str, holds: Sign) -> None:
    """Waits in steps that are shorter than anything takes."""
    while not holds(await cluster.client.get(PODS, Key("default", name))):
        await cluster.pass_time(0.005)


@pytest.mark.parametrize("step", STEPS)
async def test_a_pod_that_is_deleted_at_any_step_leaves_no_claim_behind(
    clock: Clock, step: str
) -> None:
    """A pod that is deleted at any step leaves no claim behind (S24)."""
    async with scene(clock, claiming, nodes=1) as cluster:
        for number in range(4):
            await hold(cluster, f"t{number}")
        await cluster.client.create(PODS, asking("web").json)
        await until_step(cluster, "web", STEPS[step])
        await cluster.delete(PODS, "web")
        await cluster.gone(PODS, "web")
        await cluster.pass_time(5)
        phases = {ticket.status.phase for ticket in await cluster.all(TICKETS)}
        assert TicketPhase.CLAIMING not in phases
        assert TicketPhase.CLAIMED not in phases or step in ("let go", "bound")


async def test_a_thief_of_higher_priority_is_reported_and_the_pod_is_not_stuck_in_silence(
    clock: Clock,
) -> None:
    """S23 and K10: while we are away, somebody of higher priority takes the gap."""
    async with scene(clock, nominating, nodes=1) as cluster:
        await hold(cluster, "t", cpu="4")
        await a_priority(cluster, "top", 2_000_000)
        await cluster.client.create(PODS, asking("web").requesting(cpu="4").json)
        await until_step(cluster, "web", handover_state.is_marked)
        await cluster.end()
        await cluster.gone(PODS, "korder-guardian-t")
        thief = a_pod("thief").requesting(cpu="3").but({"spec": {"priorityClassName": "top"}})
        await cluster.client.create(PODS, thief.json)
        await bound(cluster, "thief")
        await cluster.restart()
        ticket = await phase(cluster, "t", TicketPhase.PENDING)
        assert ticket.status.reason == "Stolen"
        assert "was taken by pod default/thief" in ticket.status.message
        pod = await cluster.until(
            PODS,
            "web",
            lambda pod: (
                (stated := claim_patches.stated(pod)) is not None and stated.status == "False"
            ),
        )
        stated = claim_patches.stated(pod)
        assert stated is not None
        assert stated.reason == "Stolen"
        notes = [event.note for event in await cluster.all(EVENTS) if event.reason == "Stolen"]
        assert any(note.startswith("The pod is tied to node node-1") for note in notes)


LONELY: JSON = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"no": "body"}},
            }
        ]
    }
}
"""Nothing that a ticket knows of, but no node takes such a pod."""


async def test_a_pinned_pod_that_no_node_takes_is_made_again_by_its_controller(
    clock: Clock,
) -> None:
    """Rule 9: after a minute the ticket holds nothing and says why, and the pod has a successor that waits."""
    async with scene(clock, nominating, nodes=1) as cluster:
        await hold(cluster, "t", cpu="4")
        pod = asking("web").requesting(cpu="4").labelled({"app": "web"})
        template = pod.but({"metadata": {"name": None}, "spec": {"affinity": LONELY}}).json
        spec: JSON = {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": template["metadata"], "spec": template["spec"]},
        }
        meta: JSON = {"name": "web", "namespace": "default"}
        await cluster.client.create(REPLICA_SETS, {"metadata": meta, "spec": spec})
        ticket = await phase(cluster, "t", TicketPhase.CLAIMING)
        began = clock.now()
        assert ticket.status.claimed_by is not None
        first = ticket.status.claimed_by.uid
        ticket = await phase(cluster, "t", TicketPhase.PENDING)
        assert 59 <= (clock.now() - began).total_seconds() <= 61
        assert ticket.status.reason == "NeverBound"
        await cluster.pass_time(2)
        (second,) = await cluster.all(PODS, labels="app=web")
        assert second.metadata.uid != first
        assert claim_patches.is_gated(second)


async def test_a_stuck_pod_that_may_not_be_deleted_keeps_no_ticket(clock: Clock) -> None:
    """Rule 9: it is told like one that nobody makes again, and nothing stays Claiming past its deadline."""
    async with scene(clock, claiming, nodes=1) as cluster:
        await hold(cluster, "t", cpu="4")
        owner: JSON = {
            "apiVersion": "example.com/v1",
            "kind": "PodTracker",
            "name": "crew",
            "uid": "uid-crew",
            "controller": True,
        }
        pod = asking("web").requesting(cpu="4").but({"spec": {"affinity": LONELY}})
        await cluster.client.create(PODS, pod.but({"metadata": {"ownerReferences": [owner]}}).json)
        await phase(cluster, "t", TicketPhase.CLAIMING)
        await keep(cluster, "DELETE", "web")
        began = clock.now()
        ticket = await phase(cluster, "t", TicketPhase.PENDING)
        assert clock.now() - began < timedelta(seconds=65)
        assert ticket.status.reason == "NeverBound"
        web = await cluster.client.get(PODS, Key("default", "web"))
        stated = claim_patches.stated(web)
        assert stated is not None
        assert (stated.status, stated.reason) == ("False", "NeverBound")


async def test_updates_of_a_claimed_pod_claim_nothing_more(clock: Clock) -> None:
    """Updates of a claimed pod claim nothing more (S25)."""
    async with scene(clock, claiming) as cluster:
        await hold(cluster, "t1")
        await hold(cluster, "t2")
        await cluster.put(asking("web"))
        await bound(cluster, "web")
        for number in range(50):
            change = {"metadata": {"labels": {"n": str(number)}}}
            await cluster.client.patch(PODS, Key("default", "web"), change, PatchType.MERGE)
        await cluster.pass_time(2)
        phases = sorted(str(each.status.phase) for each in await cluster.all(TICKETS))
        assert phases == ["Claimed", "Reserved"]
