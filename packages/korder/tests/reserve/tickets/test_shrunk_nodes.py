"""A node whose allocatable falls below what its pods request: its tickets cannot be claimed, and say so, until it has enough again."""

import pytest
from tests.reserve.claims.holds import asking, bound, claiming
from tests.reserve.scene import Scene, scene
from tests.reserve.tickets.ticket_helpers import RESERVED, a_sized_ticket, reason_is

from korder.api.reserve import TICKETS, ClaimReason, Reason, TicketCondition
from korder.reserve.claims import patches as claim_patches
from korder.reserve.tickets.controller import Tickets
from kubeloop.objects import conditions
from kubeloop.objects.core import NODES, PODS
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import a_pod

WHY = "node node-1 has less cpu than the pods on it request: no pod can claim the ticket there"


async def resize(cluster: Scene, cpu: str) -> None:
    status: JSON = {"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}}
    await cluster.client.patch(NODES, Key("", "node-1"), {"status": status}, subresource="status")


@pytest.mark.parametrize("restarted", [False, True])
async def test_ticket_and_pod_say_that_the_node_is_too_small_until_it_is_not(
    clock: Clock, restarted: bool
) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await cluster.put(a_sized_ticket("t", cpu="4"))
        await cluster.until(TICKETS, "t", RESERVED)
        if restarted:
            await cluster.end()
        await resize(cluster, "3")
        if restarted:
            await cluster.restart()
        small = await cluster.until(TICKETS, "t", reason_is(Reason.NODE_TOO_SMALL))
        assert small.status.message == WHY
        ready = conditions.find(small.status.conditions, TicketCondition.READY)
        assert ready is not None
        assert (ready.status, ready.reason) == ("False", Reason.NODE_TOO_SMALL)
        assert len(await cluster.guardians()) == 1, "the guardian stays"

        await cluster.put(asking("web").requesting(cpu="4"))
        await cluster.until(PODS, "web", lambda pod: claim_patches.stated(pod) is not None)
        stated = claim_patches.stated(await cluster.get(PODS, "web"))
        assert stated is not None
        assert stated.reason == ClaimReason.NONE_FITS
        assert "needs cpu, of which the pods on its node request more than it has" in stated.message

        await resize(cluster, "4")
        await bound(cluster, "web")


async def test_a_ticket_can_be_claimed_again_when_other_pods_have_left_the_node(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets, nodes=1) as cluster:
        await cluster.put(a_sized_ticket("t", cpu="2"))
        await cluster.put(a_pod("other").requesting(cpu="2"))
        await cluster.until(TICKETS, "t", RESERVED)
        await bound(cluster, "other")
        await resize(cluster, "3")
        await cluster.until(TICKETS, "t", reason_is(Reason.NODE_TOO_SMALL))
        await cluster.delete(PODS, "other")
        await cluster.gone(PODS, "other")
        await cluster.until(TICKETS, "t", reason_is(Reason.HELD))
