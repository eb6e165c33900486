"""Room that goes back to its ticket although others wait for it: the barrier, and the finalizer that holds fast deletions up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.reserve.claims.holds import a_priority, asking, bound, claiming, hold, phase
from tests.reserve.scene import Part, Scene, scene

from korder.api.reserve import HANDOVER_TAINT, RETURN_FINALIZER, TICKETS, TicketPhase
from korder.reserve.claims.controller import Claims
from korder.reserve.handovers.controller import HandOvers
from korder.reserve.handovers.handover_state import Handover, Settings
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.objects.core import NODES, PODS
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager
from kubeloop.testing.builders import a_pod
from pocketkube.nodes.machines import Manners

NODE = "node-1"


def with_finalizer(manager: Manager) -> None:
    Claims(manager)
    HandOvers(manager, Settings(return_finalizer=True))


async def is_behind_barrier(cluster: Scene) -> bool:
    node = await cluster.get(NODES, NODE)
    return node is not None and any(taint.key == HANDOVER_TAINT for taint in node.spec.taints)


@asynccontextmanager
async def in_use(clock: Clock, *parts: Part) -> AsyncIterator[Scene]:
    """A node whose whole room the pod of a ticket has, and a pod of high priority that waits for it."""
    async with scene(clock, *parts, nodes=1) as cluster:
        await hold(cluster, "t", spec={"afterUse": "Reserve"}, cpu="4")
        await cluster.edit(
            TICKETS, "t", {"metadata": {"finalizers": ["korder.dev/ticket-finalizer"]}}
        )
        await cluster.put(asking("web").requesting(cpu="4"))
        await phase(cluster, "t", TicketPhase.CLAIMED)
        await a_priority(cluster, "high", 2_000_000)
        rival = a_pod("rival").requesting(cpu="1").but({"spec": {"priorityClassName": "high"}})
        await cluster.put(rival)
        await cluster.until(PODS, "rival", lambda pod: bool(pod.status.conditions))
        yield cluster


async def waits(cluster: Scene, name: str) -> bool:
    pod = await cluster.get(PODS, name)
    return pod is not None and not pod.spec.node_name


async def test_the_barrier_stands_until_the_ticket_says_that_it_takes_its_room_back(
    clock: Clock,
) -> None:
    """The ticket controller is not there yet when the pod is gone."""
    async with in_use(clock, claiming) as cluster:
        cluster.machines.slow(NODE, Manners(stop=2))
        await cluster.delete(PODS, "web")
        await cluster.gone(PODS, "web")
        await cluster.pass_time(5)
        assert await is_behind_barrier(cluster)
        assert await waits(cluster, "rival")


@asynccontextmanager
async def in_use_by(clock: Clock, number: int) -> AsyncIterator[Scene]:
    """Pods that have the room of tickets of 1 cpu, others with the rest of the node, and one of high priority that waits."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        amounts: JSON = {"cpu": "1", "memory": "1Gi"}
        spec: JSON = {"afterUse": "Reserve", "resources": {"requests": amounts}}
        for n in range(number):
            await cluster.put(a_ticket(f"t-{n}").but({"spec": spec}))
            await phase(cluster, f"t-{n}", TicketPhase.RESERVED)
        for n in range(number):
            patient: JSON = {"terminationGracePeriodSeconds": 30}
            await cluster.put(asking(f"web-{n}").but({"spec": patient}))
        for n in range(number):
            await phase(cluster, f"t-{n}", TicketPhase.CLAIMED)
        for n in range(number, 4):
            await cluster.put(a_pod(f"other-{n}").requesting(cpu="1"))
            await bound(cluster, f"other-{n}")
        await a_priority(cluster, "high", 2_000_000)
        rival = a_pod("rival").requesting(cpu="1").but({"spec": {"priorityClassName": "high"}})
        await cluster.put(rival)
        await cluster.until(PODS, "rival", lambda pod: bool(pod.status.conditions))
        yield cluster


@pytest.mark.parametrize("apart", [0.05, 0.3, 1.2])
async def test_tickets_whose_pods_go_one_after_the_other_take_their_room_back(
    clock: Clock, apart: float
) -> None:
    """Each guardian seems to fit beside its pod, into the room that the last one has left."""
    async with in_use_by(clock, 4) as cluster:
        cluster.machines.slow(NODE, Manners(stop=2))
        for n in range(4):
            await cluster.client.delete(PODS, Key("default", f"web-{n}"))
            await cluster.pass_time(apart)
        for n in range(4):
            await phase(cluster, f"t-{n}", TicketPhase.RESERVED)
        await cluster.pass_time(1)
        assert await waits(cluster, "rival")
        assert not await is_behind_barrier(cluster)


async def test_a_ticket_waits_for_the_room_of_a_pod_whose_guardian_has_taken_that_of_its_own(
    clock: Clock,
) -> None:
    """It says Lost only when no room on its node can come back; the barrier stands until then."""
    async with in_use_by(clock, 2) as cluster:
        cluster.machines.slow(NODE, Manners(stop=10))
        await cluster.client.delete(PODS, Key("default", "web-1"))
        other = "korder-guardian-t-1"
        guardian = await cluster.until(PODS, other, lambda pod: bool(pod.spec.tolerations))
        await cluster.pass_time(0.5)
        await cluster.edit(PODS, other, {"spec": {"schedulingGates": None}})
        target: JSON = {"metadata": {"uid": guardian.metadata.uid}, "target": {"name": NODE}}
        await cluster.client.post(PODS, Key("default", other), "binding", target)
        await cluster.client.delete(PODS, Key("default", "web-0"), grace_seconds=0)
        await cluster.pass_time(1)
        waiting = await cluster.get(TICKETS, "t-0")
        assert waiting is not None
        assert (waiting.status.reason, waiting.status.node_name) == ("Returning", NODE)
        assert await cluster.get(PODS, "web-1") is not None
        await phase(cluster, "t-0", TicketPhase.RESERVED)
        await phase(cluster, "t-1", TicketPhase.RESERVED)
        await cluster.pass_time(2)
        assert await waits(cluster, "rival")
        assert not await is_behind_barrier(cluster)


@pytest.mark.parametrize("grace", [None, 0])
async def test_with_the_finalizer_a_fast_deletion_gives_the_room_to_no_other_pod(
    clock: Clock, grace: int | None
) -> None:
    async with in_use(clock, Tickets, with_finalizer) as cluster:
        await cluster.client.delete(PODS, Key("default", "web"), grace_seconds=grace)
        await phase(cluster, "t", TicketPhase.RESERVED)
        await cluster.gone(PODS, "web")
        await cluster.pass_time(5)
        assert await waits(cluster, "rival")
        assert not await is_behind_barrier(cluster)


async def test_a_pod_whose_ticket_is_gone_is_deleted_at_once_with_the_finalizer(
    clock: Clock,
) -> None:
    async with in_use(clock, Tickets, with_finalizer) as cluster:
        await cluster.delete(TICKETS, "t")
        await cluster.gone(TICKETS, "t")
        await cluster.delete(PODS, "web")
        await cluster.gone(PODS, "web")
        await bound(cluster, "rival")


async def test_a_pod_deleted_before_it_is_bound_is_not_kept_by_the_finalizer(clock: Clock) -> None:
    async with scene(clock, Tickets, with_finalizer, nodes=1) as cluster:
        await hold(cluster, "t", spec={"afterUse": "Reserve"}, cpu="4")
        stuck: JSON = {"schedulerName": "unknown"}
        await cluster.put(asking("web").requesting(cpu="4").but({"spec": stuck}))
        await cluster.until(PODS, "web", lambda p: RETURN_FINALIZER in p.metadata.finalizers)
        await cluster.delete(PODS, "web")
        await cluster.gone(PODS, "web")
        await phase(cluster, "t", TicketPhase.RESERVED)


async def test_finalizers_and_taints_go_when_the_manager_hands_over_by_nomination(
    clock: Clock,
) -> None:
    def nominating(manager: Manager) -> None:
        Claims(manager)
        HandOvers(manager, Settings(Handover.NOMINATE))

    async with in_use(clock, Tickets, with_finalizer) as cluster:
        await cluster.end()
        taint: JSON = {"key": HANDOVER_TAINT, "value": "1", "effect": "NoSchedule"}
        await cluster.edit(NODES, NODE, {"spec": {"taints": [taint]}})
        cluster.parts = (Tickets, nominating)
        await cluster.restart()
        await cluster.delete(PODS, "web")
        await cluster.gone(PODS, "web")
        assert not await is_behind_barrier(cluster)


async def test_with_the_finalizer_a_shared_ticket_keeps_the_part_of_a_pod_that_is_force_deleted(
    clock: Clock,
) -> None:
    """Whatever afterUse says: its part is held again."""
    async with scene(clock, Tickets, with_finalizer, nodes=1) as cluster:
        spec: JSON = {"allocateOnce": False, "resources": {"requests": {"cpu": "4"}}}
        await cluster.put(a_ticket("t").but({"spec": spec}))
        await phase(cluster, "t", TicketPhase.RESERVED)
        for name in ("one", "two"):
            await cluster.put(asking(name).requesting(cpu="2"))
            pod = await bound(cluster, name)
            assert RETURN_FINALIZER in pod.metadata.finalizers
        await phase(cluster, "t", TicketPhase.CLAIMED)
        await a_priority(cluster, "high", 2_000_000)
        rival = a_pod("rival").requesting(cpu="1").but({"spec": {"priorityClassName": "high"}})
        await cluster.put(rival)
        await cluster.until(PODS, "rival", lambda pod: bool(pod.status.conditions))
        await cluster.client.delete(PODS, Key("default", "one"), grace_seconds=0)
        await phase(cluster, "t", TicketPhase.RESERVED)
        await cluster.gone(PODS, "one")
        await cluster.pass_time(5)
        assert await waits(cluster, "rival")
        assert not await is_behind_barrier(cluster)
