"""Claims on a whole cluster: pods that ask get the room that is held for them, and are told what they wait for."""

from datetime import timedelta

from tests.reserve.claims.holds import asking, bound, claiming, hold, phase
from tests.reserve.scene import scene

from korder.api.core import PODS
from korder.api.reserve import TICKETS, TicketPhase
from korder.reserve.rules.claims import claimsteps
from korder.runtime.clock import Clock


async def test_a_pod_on_an_empty_node_gets_its_ticket_before_the_guardian_goes(
    clock: Clock,
) -> None:
    """S10, the fast path."""
    async with scene(clock, claiming) as cluster:
        await hold(cluster, "t")
        await cluster.put(asking("web"))
        ticket = await phase(cluster, "t", TicketPhase.CLAIMED)
        pod = await bound(cluster, "web")
        assert pod.spec.node_name == "node-1"
        assert ticket.status.claimed_by is not None
        assert ticket.status.claimed_by.uid == pod.metadata.uid
        assert pod.metadata.annotations["korder.dev/ticket-claimed"] == "t"
        assert pod.metadata.annotations["korder.dev/ticket-node"] == "node-1"
        await cluster.gone(PODS, "korder-guardian-t")


async def test_pods_on_a_full_node_get_their_tickets_in_one_batch(clock: Clock) -> None:
    """S11: four tickets fill the node, four pods take them, and nobody fails."""
    async with scene(clock, claiming, nodes=1) as cluster:
        for number in range(4):
            await hold(cluster, f"t{number}")
        for number in range(4):
            await cluster.put(asking(f"web{number}"))
        owners = set()
        for number in range(4):
            ticket = await phase(cluster, f"t{number}", TicketPhase.CLAIMED)
            assert ticket.status.claimed_by is not None
            owners.add(ticket.status.claimed_by.uid)
        pods = [await bound(cluster, f"web{number}") for number in range(4)]
        assert owners == {pod.metadata.uid for pod in pods}
        assert await cluster.guardians() == []


async def test_a_pod_that_requires_a_ticket_waits_with_words_until_there_is_one(
    clock: Clock,
) -> None:
    """S12 and rule 15."""
    async with scene(clock, claiming) as cluster:
        await cluster.put(asking("web"))
        pod = await cluster.until(PODS, "web", lambda pod: claimsteps.told(pod) is not None)
        told = claimsteps.told(pod)
        assert told is not None
        assert told.message == "There are no orders in namespace default."
        await hold(cluster, "t")
        await phase(cluster, "t", TicketPhase.CLAIMED)
        pod = await bound(cluster, "web")
        told = claimsteps.told(pod)
        assert told is not None
        assert told.status == "True"


async def test_a_pod_that_prefers_a_ticket_goes_without_at_once(clock: Clock) -> None:
    """S13."""
    async with scene(clock, claiming) as cluster:
        began = clock.now()
        await cluster.put(asking("web", {"korder.dev/order": "none"}))
        await bound(cluster, "web")
        assert clock.now() - began <= timedelta(seconds=1)
        assert await cluster.all(TICKETS) == []
