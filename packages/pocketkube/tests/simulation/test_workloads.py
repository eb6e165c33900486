"""Traffic comes from a seed alone, is as dense as it was asked for, and leaves nothing broken behind."""

from collections import Counter
from collections.abc import Sequence
from random import Random

from hypothesis import given, settings, strategies as st
import pytest

from pocketkube.simulation.script import (
    AddNode,
    Apply,
    Crash,
    Create,
    Delete,
    JumpClock,
    LoseNode,
    RemoveNode,
    ReturnNode,
    SlowNode,
    Step,
    Stop,
    parse,
    render,
)
from pocketkube.simulation.workloads.tenants import SORTS
from pocketkube.simulation.workloads.traffic import MIX, Traffic, a_day, traffic
from pocketkube.simulation.workloads.troubles import outages, troubles

seeds = st.integers(0, 2**32)
PROCESSES = ("scheduler", "korder-1", "korder-2")


def script(seed: int, wanted: Traffic) -> tuple[Step, ...]:
    return traffic(Random(seed), wanted)


@settings(max_examples=10)
@given(seeds)
def test_one_seed_gives_one_script(seed: int) -> None:
    wanted = Traffic(troubles=3, processes=PROCESSES)
    assert script(seed, wanted) == script(seed, wanted)
    assert script(seed, wanted) != script(seed + 1, wanted)


@settings(max_examples=10)
@given(seeds)
def test_steps_are_in_order_within_the_run_and_can_be_saved(seed: int) -> None:
    wanted = Traffic(hours=0.5, troubles=3, processes=PROCESSES)
    steps = script(seed, wanted)
    times = [step.at for step in steps]
    assert times == sorted(times)
    assert times[0] >= 0
    assert times[-1] <= wanted.length
    assert parse(render(steps)) == steps


@settings(max_examples=10)
@given(seeds)
def test_names_are_given_once(seed: int) -> None:
    kinds: dict[str, set[str]] = {}
    for step in script(seed, Traffic(hours=3)):
        if isinstance(step.action, Apply | Create):
            manifest = step.action.manifest
            kinds.setdefault(manifest["metadata"]["name"], set()).add(manifest["kind"])
    assert all(len(found) == 1 for found in kinds.values())


@pytest.mark.parametrize("sort", SORTS)
def test_every_sort_of_tenant_deletes_what_it_made(sort: str) -> None:
    steps = script(1, Traffic(hours=2, pods=20, life=60, mix={sort: 1}))
    made = {
        _named(step.action.manifest) for step in steps if isinstance(step.action, Apply | Create)
    }
    gone = {
        (step.action.kind, step.action.name) for step in steps if isinstance(step.action, Delete)
    }
    left = [kind for kind, name in made - gone if sort in name]
    if sort == "team":
        left = [kind for kind in left if kind == "Namespace"]
    assert len(left) <= 60
    assert len(made) > 300


def test_all_sorts_come_in_a_mixed_hour() -> None:
    sorts = Counter(
        step.action.manifest["metadata"]["name"].rpartition("-")[0]
        for seed in range(20)
        for step in script(seed, Traffic())
        if isinstance(step.action, Apply | Create)
    )
    assert MIX.keys() - {"burst", "team"} <= sorts.keys()


def test_the_day_of_the_benchmark_has_500_pods_alive_that_live_two_hours() -> None:
    wanted = a_day()
    lives = _lives(script(5, wanted), wanted.length)
    alive = sum(ends - begins for begins, ends in lives) / wanted.length
    assert len(lives) == pytest.approx(6_500, rel=0.03)
    assert alive == pytest.approx(500, rel=0.05)
    whole = [ends - begins for begins, ends in lives if ends < wanted.length]
    assert sum(whole) / len(whole) == pytest.approx(7_200, rel=0.1)


def test_a_script_grows_with_the_hours() -> None:
    short = sum(len(script(seed, Traffic(hours=2))) for seed in range(5))
    long = sum(len(script(seed, Traffic(hours=20))) for seed in range(5))
    assert 5 < long / short < 10


@given(seeds, st.floats(60, 40_000), st.floats(0, 50))
def test_troubles_are_over_when_the_run_is(seed: int, length: float, rate: float) -> None:
    clocks = Counter[str]()
    for step in troubles(Random(seed), PROCESSES, length, rate):
        assert step.at <= length
        match step.action:
            case Crash(process, down) | Stop(process, down):
                assert process in PROCESSES
                assert step.at + down <= length
            case JumpClock(process, seconds):
                clocks[process] += round(seconds * 1_000)
    assert not any(clocks.values())


@given(seeds, st.floats(60, 40_000), st.floats(0, 50))
def test_machines_are_well_when_the_run_is_over(seed: int, length: float, rate: float) -> None:
    trouble: dict[str, bool] = {}
    slow: dict[str, float] = {}
    steps = sorted(outages(Random(seed), ("a", "b"), length, rate), key=lambda step: step.at)
    for step in steps:
        assert step.at <= length
        match step.action:
            case LoseNode(name):
                trouble[name] = True
            case ReturnNode(name):
                trouble[name] = False
            case SlowNode(name, start):
                slow[name] = start
    assert not any(trouble.values())
    assert not any(slow.values())


@settings(max_examples=10)
@given(seeds)
def test_machines_that_leave_are_replaced(seed: int) -> None:
    wanted = Traffic(hours=2, renewals=3)
    there: set[str] = set()
    for step in script(seed, wanted):
        match step.action:
            case AddNode(name):
                there.add(name)
            case RemoveNode(name):
                there.remove(name)
    assert len(there) == wanted.nodes


def _named(manifest: dict[str, object]) -> tuple[object, object]:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return manifest["kind"], metadata["name"]


def _lives(steps: Sequence[Step], length: float) -> list[tuple[float, float]]:
    begins = {
        step.action.manifest["metadata"]["name"]: step.at
        for step in steps
        if isinstance(step.action, Apply | Create) and step.action.manifest["kind"] == "Pod"
    }
    ends = {step.action.name: step.at for step in steps if isinstance(step.action, Delete)}
    return [(at, ends.get(name, length)) for name, at in begins.items()]
