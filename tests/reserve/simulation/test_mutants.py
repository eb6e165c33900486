"""The domain broken on purpose is found out by simulation.

Each mutant is tried first with a seed at which it was found when this was written, and then with as many as a hundred. The runs are short
and dense: many orders, many claims and much trouble in seven minutes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import pytest
import structlog

from korder.embedded.simulation.shrinking import what_broke
from korder.embedded.simulation.workloads.booking import Booking
from korder.embedded.simulation.world import simulate
from korder.testing import reserving
from korder.testing.seeds import hush
from korder.testing.suites import FAULTS, PROCESSES

SEEDS = 100
SETTLE = 100.0
DENSE = Booking(
    nodes=3,
    hours=0.12,
    orders=40,
    claims=4,
    life=300,
    intruders=120,
    mishaps=6,
    troubles=20,
    processes=(*PROCESSES, *reserving.REPLICAS),
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@dataclass(frozen=True, slots=True)
class Mutant:
    """What is broken, where it was found, and the promises by which it may be."""

    patch: Callable[[pytest.MonkeyPatch], None]
    seed: int
    breaks: frozenset[str]


MUTANTS: tuple[Mutant, ...] = ()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = structlog.get_config()
    hush()
    yield
    structlog.configure(**before)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.patch.__name__)
def test_what_is_broken_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.patch(monkeypatch)
    others = (seed for seed in range(1, SEEDS + 1) if seed != mutant.seed)
    for seed in chain((mutant.seed,), others):
        outcome = simulate(replace(reserving.setup(seed, DENSE, FAULTS), settle=SETTLE))
        if outcome.violation:
            assert what_broke(outcome.violation) in mutant.breaks, outcome.violation
            return
    pytest.fail(f"not found within {SEEDS} seeds")
