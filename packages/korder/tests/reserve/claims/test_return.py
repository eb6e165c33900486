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
