"""The domain broken on purpose is found out by simulation.

Each mutant is tried first with a seed at which it was found when this was written, and then with as many as a hundred. The runs are short
and dense: many orders, many claims and much trouble in seven minutes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
import random

import pytest
import structlog
from tests.reserve.simulation import mutants

from korder.api.reserve import REQUIRED_ANNOTATION, SCHEDULING_GATE
from korder.embedded.simulation.script import AddNode, Apply, Step
from korder.embedded.simulation.shrinking import what_broke
from korder.embedded.simulation.workloads import bookings, objects
from korder.embedded.simulation.workloads.booking import Booking
from korder.embedded.simulation.workloads.bookings import Form
from korder.embedded.simulation.workloads.objects import Pods
from korder.embedded.simulation.world import Setup, simulate
from korder.testing import reserving
from korder.testing.seeds import hush
from korder.testing.suites import FAULTS, PROCESSES

SEEDS = 100
SETTLE = 100.0
NOBODY = Booking(orders=4)
"""Only what is the same in every run is taken of it."""
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


def rough(seed: int) -> Setup:
    """Trouble and faults all over."""
    return replace(reserving.setup(seed, DENSE, FAULTS), settle=SETTLE)


def calm(seed: int) -> Setup:
    """The same people, and nothing goes wrong."""
    return replace(reserving.setup(seed, replace(DENSE, troubles=0.0)), settle=SETTLE)


def crowd(seed: int) -> Setup:
    """Spec 1.15: a full node, others who want its room, and a batch of claims in one instant."""
    rng = random.Random(seed)
    many = rng.randint(3, 6)
    room = Form(cpu=1_000, memory=1_000)
    order = bookings.order("o", "default", random.Random(0), room, many)
    order["spec"]["strategy"] = {"type": "OneTime", "refreshPolicy": "Never"}
    order["spec"].pop("minAvailable", None)
    node = AddNode("node-0", {"cpu": str(many), "memory": f"{many}Gi"})
    plain = Pods(cpu=1_000, memory=1_000)
    asking = replace(plain, asks={REQUIRED_ANNOTATION: "true"}, gates=(SCHEDULING_GATE,))
    script = [Step(0.0, node), Step(5.0, Apply(order))]
    for number in range(many):
        script.append(Step(20.0, Apply(objects.pod(f"intruder-{number}", "default", plain))))
        script.append(Step(40.0, Apply(objects.pod(f"claim-{number}", "default", asking))))
    return replace(reserving.setup(seed, NOBODY), script=script, length=100.0, settle=SETTLE)


@dataclass(frozen=True, slots=True)
class Mutant:
    """What is broken, where it was found, the promises by which it may be, and in which sort of runs."""

    patch: Callable[[pytest.MonkeyPatch], None]
    seed: int
    breaks: frozenset[str]
    setup: Callable[[int], Setup] = rough


MUTANTS = (
    Mutant(
        mutants.claims_without_precondition,
        1,
        frozenset({"phases-in-order", "one-owner", "one-ticket-each"}),
    ),
    Mutant(
        mutants.knows_pods_by_name,
        1,
        frozenset({"only-the-named-go", "claims-end", "claims-are-live", "claimed-where-held"}),
    ),
    Mutant(mutants.skips_the_barrier, 1, frozenset({"barrier-holds"}), setup=crowd),
    Mutant(mutants.does_not_nominate, 1, frozenset({"nominated-first"}), setup=crowd),
    Mutant(
        mutants.lets_go_before_the_guardian_is_gone, 1, frozenset({"barrier-holds"}), setup=crowd
    ),
    Mutant(
        mutants.forgets_when_tickets_expire,
        1,
        frozenset({"tickets-expire", "tickets-go", "starts-are-kept"}),
        setup=calm,
    ),
    Mutant(mutants.counts_the_ttl_from_now, 1, frozenset({"tickets-go"}), setup=calm),
    Mutant(
        mutants.reserves_before_the_guardian_is_bound,
        1,
        frozenset({"reserved-when-bound"}),
        setup=calm,
    ),
    Mutant(
        mutants.names_tickets_by_their_number,
        1,
        frozenset({"names-are-new", "no-ticket-too-many", "orders-settle"}),
    ),
)


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
        outcome = simulate(mutant.setup(seed))
        if outcome.violation:
            assert what_broke(outcome.violation) in mutant.breaks, outcome.violation
            return
    pytest.fail(f"not found within {SEEDS} seeds")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_batch_on_a_full_node_breaks_no_promise(seed: int) -> None:
    """S22."""
    outcome = simulate(crowd(seed))
    assert not outcome.violation, outcome.report
