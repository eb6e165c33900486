"""Wherever the process that looks after tickets crashes, all comes out the same (S7)."""

import pytest
from tests.reserve.tickets.playing import KINDS, KORDER, Ledger, beginning, program

from korder.api.reserve import GUARDIAN_LABEL, TICKETS, TicketPhase
from kubeloop.objects.meta import JSON
from pocketkube.simulation.crash_points import walk
from pocketkube.simulation.script import Create, Delete, DeletePods, Manifest, Patch, Step
from pocketkube.simulation.world import Setup

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def a_ticket(name: str, duration: str, policy: str = "Delete") -> Manifest:
    lifecycle: JSON = {"cleanupPolicy": policy, "ttlSecondsAfterFinished": 10}
    return {
        "apiVersion": TICKETS.api_version,
        "kind": TICKETS.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"duration": duration, "lifecycle": lifecycle},
    }


class Runs:
    """Makes the same run again and again; knows the ledger of the last one."""

    def __init__(self) -> None:
        self.ledger = Ledger()

    def make(self) -> Setup:
        self.ledger = Ledger()
        script = (
            *beginning(),
            Step(5.0, Create(a_ticket("held", "10h"))),
            Step(5.0, Create(a_ticket("brief", "30s"))),
            Step(5.0, Create(a_ticket("kept", "30s", "Retain"))),
            Step(5.0, Create(a_ticket("dropped", "10h"))),
            Step(15.0, DeletePods("default", {GUARDIAN_LABEL: "true"}, most=4)),
            Step(25.0, Patch("v1", "Node", "node-1", {"spec": {"unschedulable": True}})),
            Step(40.0, Delete(TICKETS.api_version, TICKETS.kind, "dropped", "default")),
        )
        return Setup(
            seed=1,
            script=script,
            length=60.0,
            settle=120.0,
            programs=(program(),),
            kinds=KINDS,
            observers=(self.ledger.note,),
        )


EACH_PLACE_ONCE, EVERY_SINGLE_WRITE = 1, 99


@pytest.mark.parametrize(
    "visits",
    [
        pytest.param(EACH_PLACE_ONCE, id="at each place"),
        pytest.param(
            EVERY_SINGLE_WRITE,
            id="at every write",
            marks=(pytest.mark.soak, pytest.mark.timeout(1800)),
        ),
    ],
)
def test_there_is_one_guardian_for_each_living_ticket_wherever_a_crash_happens_s7(
    visits: int,
) -> None:
    runs, seen = Runs(), 0
    for visit in walk(runs.make, callers={KORDER}, visits=visits):
        seen += 1
        ledger = runs.ledger
        assert not visit.outcome.violation, f"{visit}: {visit.outcome.violation}"
        phases = {name: ticket.status.phase for name, ticket in ledger.tickets.items()}
        assert phases == {"held": TicketPhase.RESERVED, "kept": TicketPhase.EXPIRED}, str(visit)
        (guardian,) = ledger.guardians.values()
        held = ledger.tickets["held"].status
        assert held.guardian_pod == f"default/{guardian.metadata.name}", str(visit)
        assert held.node_name == guardian.spec.node_name == "node-2", str(visit)
        assert ledger.premature == [], str(visit)
    assert seen > 10
