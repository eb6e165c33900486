"""What the status of a ticket says while its room is handed over: no guardian is named or called ready that may be gone."""

from collections.abc import Iterator

import pytest
from tests.reserve.claims import batches
from tests.reserve.claims.holds import asking, bound, claiming, phase
from tests.reserve.scene import Scene, scene

from korder.api.reserve import TICKETS, Ticket, TicketCondition, TicketPhase
from korder.reserve.handovers.handover_state import Settings
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.objects import codec, conditions, patch
from kubeloop.objects.conditions import Status
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import Patch
from kubeloop.runtime.clock import Clock
from pocketkube.nodes.machines import Manners


def is_guarded(ticket: Ticket) -> bool:
    ready = conditions.find(ticket.status.conditions, TicketCondition.GUARDIAN_READY)
    return ready is not None and ready.status == Status.TRUE


async def untrue(cluster: Scene) -> list[str]:
    """What tickets say now of guardians that do not hold their room."""
    firm = {
        str(key_of(pod))
        for pod in await cluster.guardians()
        if pod.spec.node_name and pod.metadata.deletion_timestamp is None
    }
    return [word for ticket in await cluster.all(TICKETS) for word in _untrue(ticket, firm)]


def _untrue(ticket: Ticket, firm: set[str]) -> Iterator[str]:
    named, is_claimed = ticket.status.guardian_pod, ticket.status.phase is TicketPhase.CLAIMING
    if named and (is_claimed or named not in firm):
        yield f"{ticket.status.phase}: guardianPod is {named}"
    if is_guarded(ticket) and (is_claimed or named not in firm):
        yield f"{ticket.status.phase}: GuardianReady is True"


@pytest.mark.parametrize("cpu", ["1", "4"], ids=["room for both", "full node"])
async def test_no_guardian_is_named_or_called_ready_during_a_hand_over(
    clock: Clock, cpu: str
) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, cpu)
        cluster.machines.slow("node-1", Manners(start=0.2, stop=0.5))
        await cluster.put(asking("web").requesting(cpu=cpu))
        said = []
        while (await cluster.get(TICKETS, "t")).status.phase is not TicketPhase.CLAIMED:
            said += await untrue(cluster)
            await cluster.pass_time(0.02)
        await bound(cluster, "web")
        assert set(said) == set()
        assert await untrue(cluster) == []


def test_a_ticket_whose_claim_is_undone_names_its_guardian_again() -> None:
    ticket = batches.claiming("t")
    waits = batches.member(ticket, batches.gated(), batches.guardian("g"))
    cordoned = batches.OPEN_NODE.cordoned()
    plan = batches.decide(waits, node=cordoned, settings=Settings())
    (step,) = (each for each in plan.steps if isinstance(each, Patch))
    undone = patch.apply_merge(ticket.json, step.body)
    assert codec.convert(undone, Ticket).status.guardian_pod == "default/g"
    assert codec.convert(undone, Ticket).status.phase is TicketPhase.RESERVED


async def reserve(cluster: Scene, cpu: str) -> Ticket:
    spec: JSON = {"resources": {"requests": {"cpu": cpu}}}
    await cluster.put(a_ticket("t").but({"spec": spec}))
    return await phase(cluster, "t", TicketPhase.RESERVED)
