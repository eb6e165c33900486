"""A failing run shrinks to what makes it fail."""

from collections.abc import Sequence

from hypothesis import given, strategies as st
import pytest

from pocketkube.simulation.changes import Change
from pocketkube.simulation.fault_plan import Chance, Planned
from pocketkube.simulation.script import AddNode, Apply, Crash, Delete, Step, Stop, scale
from pocketkube.simulation.shrinking import Spent, shrink, smallest
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.objects import Pods
from pocketkube.simulation.world import Broken, CrashPoint, Setup, simulate

SMALL = Pods(cpu=100, memory=16, grace=1)


@given(st.lists(st.integers(0, 30), unique=True), st.data())
def test_what_is_needed_is_all_that_is_left(items: list[int], data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.sampled_from(items))) if items else set()
    assert shrink(items, lambda some: needed <= set(some)) == [x for x in items if x in needed]


@given(st.lists(st.integers(0, 9)), st.integers(0, 40))
def test_nothing_that_is_left_can_be_left_out(items: list[int], limit: int) -> None:
    def fails(some: Sequence[int]) -> bool:
        return sum(some) >= limit

    if not fails(items):
        return
    left = shrink(items, fails)
    assert fails(left)
    for index in range(len(left)):
        assert not fails(left[:index] + left[index + 1 :])


@given(st.lists(st.integers(), unique=True, min_size=1), st.integers(0, 20))
def test_when_runs_are_spent_the_smallest_failing_one_is_the_answer(
    items: list[int], runs: int
) -> None:
    failed = [list(items)]

    def fails(some: Sequence[int]) -> bool:
        nonlocal runs
        if not runs:
            raise Spent
        runs -= 1
        if items[0] in some:
            failed.append(list(some))
        return items[0] in some

    assert shrink(items, fails) == failed[-1]


def _crowded() -> Setup:
    """Many things happen; what fails is that a third pod of `web` comes into being."""
    seen: set[str] = set()

    def watch(change: Change) -> None:
        if change.resource == "pods" and change.name.startswith("web-"):
            seen.add(change.name)
            if len(seen) == 3:
                raise Broken(f"too many pods: {change.name} is the third")

    others = [Apply(objects.pod(f"pod-{index}", "default", SMALL)) for index in range(5)]
    steps = (
        Step(0.0, AddNode("node-1")),
        *(Step(10.0 * index, action) for index, action in enumerate(others, 1)),
        Step(62.0, Crash("scheduler")),
        Step(70.0, Apply(objects.deployment("web", "default", SMALL, 1))),
        Step(75.0, Stop("nodes", 5.0)),
        Step(80.0, Delete("v1", "Pod", "pod-1", "default")),
        Step(400.0, scale("Deployment", "default", "web", 3)),
    )
    crashes = (CrashPoint("scheduler POST pods/binding after"),)
    return Setup(
        seed=3,
        script=steps,
        length=600.0,
        luck=Chance(3, 0.05),
        crashes=crashes,
        observers=(watch,),
    )


def test_planned_faults_replay_the_run_in_which_they_came_by_chance() -> None:
    setup = _crowded()
    by_chance = simulate(Setup(seed=3, script=setup.script, length=600.0, luck=Chance(3, 0.2)))
    assert len(by_chance.strikes) > 5
    luck = Planned(by_chance.strikes)
    planned = simulate(Setup(seed=3, script=setup.script, length=600.0, luck=luck))
    assert planned == by_chance


@pytest.mark.slow
def test_a_failing_run_shrinks_to_the_deeds_that_make_it_fail() -> None:
    small = smallest(_crowded)
    assert small is not None
    case = small.case
    assert [type(step.action).__name__ for step in case.steps] == ["Apply", "Patch"]
    assert case.strikes == ()
    assert case.crashes == ()
    assert case.steps[-1].at < 10
    assert small.outcome.violation.startswith("too many pods")
    assert simulate(case.put_into(_crowded())) == small.outcome


def test_a_run_that_does_not_fail_is_not_shrunk() -> None:
    assert smallest(lambda: Setup(seed=1, length=10.0, settle=0.0)) is None
