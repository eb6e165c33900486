"""A runtime that is broken on purpose is found out by simulation, and the run that shows it becomes a small one.

Each mutant is tried first with a seed at which it was found when this was written, and then with as many as a hundred.
"""

from dataclasses import dataclass
from functools import partial
from itertools import chain

import pytest
from tests.simulation import mutants
from tests.simulation.orders import Operator
from tests.simulation.playing import setup
from tests.simulation.traffic import STORM

from korder.embedded.simulation.shrinking import Small, smallest, what_broke
from korder.embedded.simulation.world import Setup, simulate

LENGTH = 1200.0
SEEDS = 100
RUNS = 40
FEW = 50

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True, slots=True)
class Mutant:
    """An operator, where it was found, and the promises by which it may be."""

    operator: type[Operator]
    seed: int
    breaks: frozenset[str]


MUTANTS = (
    Mutant(mutants.DropsVersions, 1, frozenset({"requests-are-answered-once"})),
    Mutant(
        mutants.LosesEvents,
        12,
        frozenset(
            {
                "stores-are-true",
                "requests-are-answered-once",
                "deadlines-are-kept",
                "one-child-for-each-line",
            }
        ),
    ),
    Mutant(mutants.ActsAfterItsLease, 5, frozenset({"only-the-holder-acts"})),
    Mutant(mutants.ForgetsTimers, 4, frozenset({"deadlines-are-kept"})),
    Mutant(mutants.CreatesTwice, 1, frozenset({"one-child-for-each-line"})),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.operator.__name__)
def test_a_broken_runtime_is_found_and_shown_in_few_steps(mutant: Mutant) -> None:
    seed, small = found(mutant)
    assert what_broke(small.outcome.violation) in mutant.breaks
    assert len(small.case) < FEW
    healthy = simulate(small.case.put_into(setup(seed, LENGTH, STORM)))
    assert not healthy.violation, healthy.report


def found(mutant: Mutant) -> tuple[int, Small]:
    others = (seed for seed in range(1, SEEDS + 1) if seed != mutant.seed)
    for seed in chain((mutant.seed,), others):
        small = smallest(partial(broken, mutant, seed), RUNS)
        if small is not None:
            return seed, small
    pytest.fail(f"not found within {SEEDS} seeds")


def broken(mutant: Mutant, seed: int) -> Setup:
    return setup(seed, LENGTH, STORM, mutant.operator())
