"""A runtime that is broken on purpose is found out by simulation, and the run that shows it becomes a small one.

Each mutant is tried first with a seed at which it was found when this was written, and then with as many as a hundred.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain

import pytest
from tests.simulation import mutants
from tests.simulation.orders import Operator
from tests.simulation.playing import setup
from tests.simulation.traffic import STORM

from pocketkube.simulation.shrinking import Small, smallest, what_broke
from pocketkube.simulation.world import Setup, simulate

LENGTH = 1200.0
SEEDS = 100
FEW = 50
HASTY, RUNS = 15, 60
"""Runs after which a shrunken one is looked at: mostly it is small enough early."""

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
        17,
        frozenset(
            {
                "stores-are-true",
                "requests-are-answered-once",
                "deadlines-are-kept",
                "one-child-for-each-line",
            }
        ),
    ),
    Mutant(mutants.ActsAfterItsLease, 12, frozenset({"only-the-holder-acts"})),
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
        small = shrunken(partial(broken, mutant, seed))
        if small is not None:
            return seed, small
    pytest.fail(f"not found within {SEEDS} seeds")


def shrunken(make: Callable[[], Setup]) -> Small | None:
    small = smallest(make, HASTY)
    is_done = small is None or len(small.case) < FEW
    return small if is_done else smallest(make, RUNS)


def broken(mutant: Mutant, seed: int) -> Setup:
    return setup(seed, LENGTH, STORM, mutant.operator())
