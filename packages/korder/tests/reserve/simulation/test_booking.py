"""Scripts of people who book: from one seed alone, in all forms, legal, and quiet at the end."""

from random import Random

from hypothesis import given, settings, strategies as st
import pytest

from korder.api import quota, reserve
from korder.reserve.scenarios.mixed import Booking, booking, surroundings
from pocketkube.simulation.script import Apply, Delete, Manifest, Step
from pocketkube.simulation.world import START, Setup, simulate

seeds = st.integers(0, 2**32)


def script(seed: int, wanted: Booking = Booking()) -> tuple[Step, ...]:  # noqa: B008  it is frozen
    return booking(Random(seed), wanted, START)


def applied(steps: tuple[Step, ...], kind: str) -> list[Manifest]:
    actions = [step.action for step in steps if isinstance(step.action, Apply)]
    return [action.manifest for action in actions if action.manifest["kind"] == kind]


@settings(max_examples=10)
@given(seeds)
def test_one_seed_gives_one_script(seed: int) -> None:
    assert script(seed) == script(seed)


@settings(max_examples=10)
@given(seeds)
def test_steps_are_in_order_and_none_comes_after_the_end(seed: int) -> None:
    times = [step.at for step in script(seed)]
    assert times == sorted(times)
    assert times[-1] <= Booking().length


FORMS = [
    *(f"spec.strategy.type={each}" for each in reserve.StrategyType),
    *(f"spec.strategy.refreshPolicy={each}" for each in reserve.RefreshPolicy),
    *(f"spec.strategy.overlapPolicy={each}" for each in reserve.OverlapPolicy),
    *(f"spec.refreshPolicy={each}" for each in reserve.RefreshPolicy),
    *(f"spec.template.spec.afterUse={each}" for each in reserve.AfterUse),
    *(f"spec.template.spec.lifecycle.cleanupPolicy={each}" for each in reserve.CleanupPolicy),
    "spec.template.spec.allocateOnce=False",
    "spec.daemonSet=True",
    "spec.strategy.leadTime=20s",
    "spec.minAvailable=1",
]


def said(manifest: Manifest, path: str) -> str:
    found: object = manifest
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return str(found)


@pytest.fixture(scope="module")
def steps() -> tuple[Step, ...]:
    wanted = Booking(intruders=0, mishaps=0, outages=0, orders=20)
    return tuple(step for seed in range(12) for step in script(seed, wanted))


@pytest.fixture(scope="module")
def orders(steps: tuple[Step, ...]) -> list[Manifest]:
    return applied(steps, "Order")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_an_order_is_played(form: str, orders: list[Manifest]) -> None:
    path, _, value = form.partition("=")
    assert any(said(each, path) == value for each in orders)


@pytest.mark.parametrize("prefix", ["name:", "selector:", "group:"])
def test_every_form_of_a_request_is_played(prefix: str, steps: tuple[Step, ...]) -> None:
    pods = [each["metadata"] for each in applied(steps, "Pod")]
    asked = [
        meta.get("annotations", {}).get(reserve.TICKET_REQUEST_ANNOTATION, "") for meta in pods
    ]
    assert any(each.startswith(prefix) for each in asked)


def test_pods_that_ask_are_gated_unless_admission_does_it() -> None:
    steps = script(3, Booking(orders=40))
    without = script(3, Booking(orders=40, gated=False))
    assert any("schedulingGates" in pod["spec"] for pod in applied(steps, "Pod"))
    assert not any("schedulingGates" in pod["spec"] for pod in applied(without, "Pod"))


LIMITS = [
    *(f"spec.scope.type={each}" for each in quota.ScopeType),
    *(f"spec.enforcement={each}" for each in quota.Enforcement),
    *(f"spec.hard.{each}" for each in ("orders", "tickets", "max-duration")),
    "spec.timeWindows",
    "spec.allocation",
]


@pytest.fixture(scope="module")
def limited() -> list[Manifest]:
    wanted = Booking(intruders=0, mishaps=0, outages=0, orders=1, quotas=4)
    return [each for seed in range(12) for each in applied(script(seed, wanted), "Quota")]


@pytest.mark.parametrize("form", LIMITS)
def test_every_form_of_a_quota_is_played(form: str, limited: list[Manifest]) -> None:
    path, _, value = form.partition("=")
    stated = {said(each, path) for each in limited}
    assert value in stated if value else stated - {"None"}


def test_there_is_one_quota_of_the_whole_cluster_at_most(limited: list[Manifest]) -> None:
    cluster = [each for each in limited if said(each, "spec.scope.type") == "Cluster"]
    assert {each["metadata"]["name"] for each in cluster} == {"q0"}


@pytest.mark.slow
def test_the_server_accepts_whatever_is_applied() -> None:
    """Only what is already gone, or not there yet, is refused."""
    lines: list[str] = []
    wanted = Booking(
        hours=0.05, orders=300, life=60, intruders=0, outages=0, mishaps=0, quotas=6, limiting=300
    )
    setup = Setup(
        seed=1,
        present=surroundings(),
        script=script(1, wanted),
        length=wanted.length,
        settle=0,
        sink=lines.append,
    )
    assert not simulate(setup).violation
    refusals = [line for line in lines if " refused: " in line]
    assert all("not found" in line or "being terminated" in line for line in refusals)
    assert any(isinstance(step.action, Delete) for step in setup.script)
