"""One seed, one history; and what may happen to a process in it."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff
import os
from pathlib import Path
import re
import subprocess
import sys

import pytest
from tests.simulation.orders import NAMESPACE, PART, REPLICAS
from tests.simulation.playing import setup
from tests.simulation.traffic import CALM, STORM

from kubeloop.net.faults import Fault
from pocketkube.simulation.fault_plan import Planned, Strike
from pocketkube.simulation.script import Action, Apply, Crash, Delete, Patch, Step, Stop
from pocketkube.simulation.world import CrashPoint, Outcome, Setup, simulate

CHILD = Path(__file__).with_name("replay_child.py")
SIGNS = {
    ">": r"(POST|PUT|PATCH|DELETE) /apis?/\S+ [0-9a-f]{8}",
    "=": r"\S+ \S+ v\d+ (ADDED|MODIFIED|DELETED) [0-9a-f]{8}",
    "<": r"\d{3} [0-9a-f]{8}",
    "~": r"/apis?/\S+ \d+ v\d* [0-9a-f]{8}",
    "!": r".+",
}
BOOKMARK = 250
"""Bytes; what is longer tells of an object."""
LINE = re.compile(r"\d+\.\d{6} (?P<who>\S+) (?P<sign>[>=<~!]) (?P<what>.*)")

pytestmark = [pytest.mark.slow]


def order(name: str = "order-1", **data: str) -> Apply:
    meta = {"name": name, "namespace": NAMESPACE, "labels": {PART: "order"}}
    return Apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})


def played(
    *steps: tuple[float, Action],
    strikes: Sequence[Strike] = (),
    crashes: Sequence[CrashPoint] = (),
    length: float = 200.0,
) -> tuple[Outcome, list[str]]:
    """Plays the sample operator; in vain it would be if it broke a promise."""
    lines: list[str] = []
    made: Setup = replace(
        setup(1, length, STORM),
        script=[Step(at, action) for at, action in steps],
        luck=Planned(strikes),
        crashes=crashes,
        sink=lines.append,
    )
    outcome = simulate(made)
    assert not outcome.violation, outcome.report
    return outcome, lines


def at(line: str) -> float:
    return float(line.partition(" ")[0])


def sent_by(names: Sequence[str], lines: Sequence[str]) -> list[float]:
    """When these processes sent a write."""
    return [at(line) for line in lines if any(f" {name} > " in line for name in names)]


def test_runs_of_one_seed_are_the_same_in_processes_with_different_hashes() -> None:
    children = [
        subprocess.Popen(  # noqa: S603  this very interpreter
            [sys.executable, CHILD, *arguments],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for hash_seed, arguments in (("1", ()), ("2", ("warm",)))
    ]
    one, other = (child.communicate()[0].splitlines() for child in children)
    assert [child.returncode for child in children] == [0, 0]
    assert not list(unified_diff(one, other, n=0))[:5]
    for happening in ("crashes", '"deed":"stop"', '"deed":"jump-clock"', "got lost"):
        assert [line for line in one if " ! " in line and happening in line], happening


def test_what_has_struck_by_chance_can_be_planned_and_gives_the_same_journal() -> None:
    by_chance = simulate(setup(3, 300.0, STORM))
    by_plan = simulate(replace(setup(3, 300.0, STORM), luck=Planned(by_chance.strikes)))
    assert by_chance.strikes
    assert by_plan == by_chance


def test_another_seed_is_another_history() -> None:
    script = setup(1, 60.0, CALM).script
    runs = [simulate(replace(setup(seed, 60.0, CALM), script=script)) for seed in (1, 2)]
    assert runs[0].digest != runs[1].digest


def test_every_line_of_a_journal_has_the_form_that_is_promised() -> None:
    lines: list[str] = []
    simulate(replace(setup(2, 300.0, STORM), sink=lines.append))
    signs: set[str] = set()
    for line in lines:
        parts = LINE.fullmatch(line)
        assert parts, line
        assert re.fullmatch(SIGNS[parts["sign"]], parts["what"]), line
        signs.add(parts["sign"])
    assert signs == set(SIGNS)
    assert [at(line) for line in lines] == sorted(map(at, lines))


def test_a_stopped_process_does_nothing_until_it_is_resumed() -> None:
    stops = [(20.0, Stop(name, 100.0)) for name in REPLICAS]
    _, lines = played(*stops, (30.0, order(lines="2", deadline="2026-01-01T00:01:00Z")))
    written = sent_by(REPLICAS, lines)
    assert not [when for when in written if 20 < when < 120]
    assert [when for when in written if when < 20]
    made = [at(line) for line in lines if " = configmaps default/order-1-" in line]
    assert len(made) == 2
    assert min(made) > 120


def test_of_two_stops_the_longer_counts() -> None:
    stops = [(20.0, Stop(name, 100.0)) for name in REPLICAS]
    again = [(30.0, Stop(name, 5.0)) for name in REPLICAS]
    _, lines = played(*stops, *again, (32.0, order(lines="2")))
    assert not [when for when in sent_by(REPLICAS, lines) if 20 < when < 120]


def test_a_leader_that_was_stopped_for_long_has_lost_its_lease_and_goes_on_as_candidate() -> None:
    outcome, lines = played((20.0, Stop(REPLICAS[0], 150.0)), (20.0, Stop(REPLICAS[1], 5.0)))
    assert not [line for line in lines if " ! ends: " in line]
    taken = [line for line in lines if "leases.coordination.k8s.io default/orders" in line]
    assert taken
    assert outcome.writes


def test_a_watch_on_which_nothing_happens_is_not_begun_anew() -> None:
    _, lines = played(length=900.0)
    stated = [int(line.split()[4]) for line in lines if " ~ " in line and at(line) > 300]
    assert stated
    assert max(stated) < BOOKMARK


def test_a_crash_ends_a_process_at_once_and_it_comes_back_after_a_while() -> None:
    down = [(20.0, Crash(name, 40.0)) for name in REPLICAS]
    _, lines = played(*down, (30.0, order(lines="1")))
    assert not [when for when in sent_by(REPLICAS, lines) if 20 <= when < 60]
    for name in REPLICAS:
        lives = [at(line) for line in lines if line.endswith(f" {name} ! starts")]
        assert [round(begun) for begun in lives] == [0, 60]


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.LATE, Fault.EXPIRED, Fault.UNREACHABLE])
def test_watches_recover_from_whatever_happens_to_them(fault: Fault) -> None:
    strikes = [Strike(name, nth, fault) for name in REPLICAS for nth in range(1, 40)]
    asks = [
        (30.0 + 7 * n, Patch("v1", "ConfigMap", "order-1", {"data": {"request": f"r{n}"}}))
        for n in range(10)
    ]
    outcome, _ = played((20.0, order(lines="2")), *asks, strikes=strikes)
    assert {strike.fault for strike in outcome.strikes} == {fault}
    assert len(outcome.strikes) > len(REPLICAS)


def test_a_process_can_crash_at_every_place_where_it_writes_and_still_keep_its_promises() -> None:
    steps = (
        (20.0, order(lines="2", deadline="2026-01-01T00:00:40Z", request="r1")),
        (50.0, Patch("v1", "ConfigMap", "order-1", {"data": {"lines": "1", "request": "r2"}})),
        (60.0, Delete("v1", "ConfigMap", "order-1")),
    )
    undisturbed, _ = played(*steps, length=70.0)
    places = [place for place in undisturbed.places if place.startswith("korder-")]
    verbs = {place.split(" ", 1)[1] for place in places}
    assert {
        f"{verb} configmaps {when}"
        for verb in ("POST", "PATCH", "DELETE")
        for when in ("before", "after")
    } <= verbs
    for place in places:
        _, lines = played(*steps, crashes=[CrashPoint(place)], length=70.0)
        assert [line for line in lines if line.endswith(" ! crashes")], place
