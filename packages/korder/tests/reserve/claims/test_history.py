"""Claims over whole histories: crashes at every place, two replicas, faults on every wire."""

from dataclasses import replace

import pytest
from tests.reserve.claims.histories import Witness, beginning, made, pod, replicas, ticket

from pocketkube.simulation.fault_plan import Chance
from pocketkube.simulation.script import Crash, Delete, Step, in_order
from pocketkube.simulation.world import CrashPoint, Setup, simulate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KINDS = (("core.korder.dev/v1alpha1", "Ticket"), ("v1", "Pod"))


class Runs:
    """Makes the same run again and again; knows the witness of the last one."""

    def __init__(self, script: list[Step], names: tuple[str, ...] = ("korder-1",)) -> None:
        self._script = in_order(script)
        self._names = names
        self.witness = Witness()

    def make(self, seed: int = 1, luck: Chance | None = None, length: float = 10.0) -> Setup:
        self.witness = Witness()
        return Setup(
            seed=seed,
            script=self._script,
            length=length,
            settle=85.0,
            programs=replicas(*self._names),
            kinds=KINDS,
            luck=luck,
            observers=(self.witness,),
        )


def hand_over(size: str) -> list[Step]:
    """Two tickets on one node that are claimed at once; of 2 cpu they fill it."""
    return [
        *beginning(nodes=1),
        *made(1.0, (ticket(f"t{n}", size) for n in range(2))),
        *made(4.0, (pod(f"web-{n}", size) for n in range(2))),
    ]


STATUS, MARK, END, PIN = "PATCH tickets/status", "PATCH pods/status", "DELETE pods", "PATCH pods"
BARRIER = "PATCH nodes"
PLACES = {
    "2": [(STATUS, 2), (BARRIER, 0), (END, 0), (PIN, 1), (MARK, 1), (STATUS, 4), (BARRIER, 1)],
    "500m": [(STATUS, 2), (PIN, 0), (END, 0)],
}
"""Where we crash, by the size of the tickets: at which write of ours, and after how many of its kind; the first two of the status are Reserved."""


@pytest.mark.parametrize("size", PLACES, ids=["full node", "room for both"])
def test_wherever_we_crash_the_room_is_handed_over(size: str) -> None:
    """S7 and S24: before and after every write of the hand-over; both pods have their tickets, and nothing is left over."""
    runs = Runs(hand_over(size))
    for place, nth in PLACES[size]:
        for side in ("before", "after"):
            point = CrashPoint(f"korder-1 {place} {side}", nth)
            outcome = simulate(replace(runs.make(), crashes=(point,)))
            assert outcome.violation == "", str(point)
            assert outcome.places[point.place] > nth, str(point)
            assert runs.witness.rest() == {"Claimed": 2}, str(point)
            assert runs.witness.bound("web") == 2, str(point)


def test_a_claim_takes_five_writes_of_ours_and_a_barrier_two_for_all_of_its_node() -> None:
    """Claim, pin, condition of the pod, end of the guardian, and the end; on a full node the barrier goes up and down once."""
    writes = {}
    for size in PLACES:
        runs = Runs(hand_over(size))
        simulate(runs.make())
        writes[size] = runs.witness.writes
    reserving = 2 * 3
    assert writes == {"2": reserving + 2 * 5 + 2, "500m": reserving + 2 * 5}


def rush(claims: int, nodes: int) -> list[Step]:
    """Full nodes and claims one after the other; pods end soon or in the middle, and their room comes back."""
    script = beginning(nodes)
    script += made(1.0, (ticket(f"t{n}", afterUse="Reserve") for n in range(nodes * 4)))
    for n in range(claims):
        at = 20.0 + n * 0.5
        script += made(at, [pod(f"web-{n}")])
        script.append(
            Step(at + (3.0 if n % 3 else 0.4), Delete("v1", "Pod", f"web-{n}", "default"))
        )
    return script


@pytest.mark.parametrize("seed", [1])
def test_two_replicas_hand_over_under_faults_and_leader_changes(seed: int) -> None:
    """S26: five of a hundred requests fail, and each replica crashes; nobody has two tickets, and nothing leaks."""
    script = rush(claims=24, nodes=2)
    script += [Step(25.0, Crash("korder-1", 3.0)), Step(32.0, Crash("korder-2", 3.0))]
    runs = Runs(script, ("korder-1", "korder-2"))
    outcome = simulate(runs.make(seed, Chance(seed, 0.05), length=45.0))
    assert outcome.violation == ""
    assert runs.witness.rest() == {"Reserved": 8}


def test_intruders_that_come_in_the_very_moment_get_nothing() -> None:
    """S22: the node is full, four guardians go, and new pods of the same priority arrive every few milliseconds."""
    script = beginning(nodes=1)
    script += made(1.0, (ticket(f"t{n}") for n in range(4)))
    script += made(4.0, (pod(f"web-{n}") for n in range(4)))
    for n in range(60):
        script += made(4.0 + n * 0.005, [pod(f"thief-{n}", asks=False)])
    runs = Runs(script)
    outcome = simulate(runs.make())
    assert outcome.violation == ""
    assert runs.witness.rest() == {"Claimed": 4}
    assert runs.witness.bound("thief") == 0
