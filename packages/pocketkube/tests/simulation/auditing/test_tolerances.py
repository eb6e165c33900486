"""What a script allows to those who are audited."""

from datetime import timedelta

import pytest

from pocketkube.simulation.auditing.invariant import CALM, Tolerance
from pocketkube.simulation.auditing.tolerances import ON_THE_WIRE, RECOVERY, tolerance_of
from pocketkube.simulation.programs import SCHEDULER
from pocketkube.simulation.script import Crash, JumpClock, LoseNode, Step, Stop


def allowing(stale: float = 0, late: float = 0, skew: float = 0) -> Tolerance:
    seconds = timedelta(seconds=1)
    return Tolerance(CALM.stale + stale * seconds, late * seconds, skew * seconds)


@pytest.mark.parametrize(
    ("script", "allowed"),
    [
        pytest.param([], CALM, id="nothing happens"),
        pytest.param([Step(1, LoseNode("a"))], CALM, id="a node is no process"),
        pytest.param([Step(1, Crash("a", 20))], allowing(late=20 + RECOVERY), id="a crash"),
        pytest.param([Step(1, Stop("a", 7))], allowing(7, 7 + RECOVERY), id="a stop"),
        pytest.param(
            [Step(500, Crash("a", 20)), Step(1, Stop("b", 7))],
            allowing(7, 20 + RECOVERY),
            id="the worst of two that are far apart",
        ),
        pytest.param(
            [Step(20, Crash("a", 20)), Step(0, Stop("a", 7))],
            allowing(7, 40 + RECOVERY),
            id="one after the other",
        ),
        pytest.param(
            [Step(5, Crash("a", 1)), Step(0, Crash("a", 50))],
            allowing(late=50 + RECOVERY),
            id="one within the other",
        ),
        pytest.param(
            [Step(1, JumpClock("a", 30)), Step(2, JumpClock("a", -40)), Step(3, JumpClock("b", 5))],
            allowing(skew=40),
            id="clocks go wrong and back",
        ),
    ],
)
def test_a_script_allows_what_it_makes_unavoidable(script: list[Step], allowed: Tolerance) -> None:
    assert tolerance_of(script, faulty=False) == allowed


def test_faults_on_the_wire_allow_more() -> None:
    assert tolerance_of([], faulty=True) == allowing(ON_THE_WIRE, ON_THE_WIRE)


def test_where_only_the_scheduler_is_away_that_time_alone_is_excused() -> None:
    script = [Step(40, Crash(SCHEDULER, 10))]
    pauses = ((40.0, 50.0 + RECOVERY),)
    assert tolerance_of(script, faulty=False) == Tolerance(CALM.stale, pauses=pauses)
    assert tolerance_of(script, faulty=True).pauses == ()
    assert tolerance_of([*script, Step(1, Crash("a", 20))], faulty=False).pauses == ()
