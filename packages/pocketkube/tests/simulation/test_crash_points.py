"""A cluster comes to the same rest wherever one of its processes crashes."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from pocketkube.nodes.lifetimes import RUNS_FOR
from pocketkube.simulation.changes import Change, Subject, subject_of
from pocketkube.simulation.crash_points import walk
from pocketkube.simulation.script import AddNode, Apply, Step, scale
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.objects import Pods
from pocketkube.simulation.world import Setup

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SMALL = Pods(cpu=100, memory=16, grace=1)
BRIEF = Pods(cpu=100, memory=16, grace=1, restarts="Never", ends={RUNS_FOR: "20s"})


class Ledger:
    """The objects of a run as they were last written, without events: who crashes has told nobody."""

    def __init__(self) -> None:
        self._objects: dict[Subject, Mapping[str, Any]] = {}

    def note(self, change: Change) -> None:
        if change.resource == "events":
            return
        if change.after is None:
            self._objects.pop(subject_of(change), None)
        else:
            self._objects[subject_of(change)] = change.after

    def rest(self) -> Mapping[object, int]:
        """What there is, without what chance decides."""
        return Counter(map(_outline, self._objects.items()))


class Runs:
    """Makes the same run again and again; knows the ledger of the last one."""

    def __init__(self) -> None:
        self.ledger = Ledger()

    def make(self) -> Setup:
        self.ledger = Ledger()
        script = (
            Step(0.0, AddNode("node-1")),
            Step(10.0, Apply(objects.deployment("web", "default", SMALL, 2))),
            Step(20.0, Apply(objects.job("sum", "default", BRIEF, 2, 1))),
            Step(60.0, scale("Deployment", "default", "web", 1)),
        )
        return Setup(
            seed=1, script=script, length=90.0, settle=240.0, observers=(self.ledger.note,)
        )


@pytest.mark.parametrize("caller", ["scheduler", "controllers", "nodes"])
def test_wherever_a_process_crashes_the_cluster_comes_to_the_same_rest(caller: str) -> None:
    runs = Runs()
    visits = walk(runs.make, callers={caller})
    assert next(visits).outcome.violation == ""
    rest = runs.ledger.rest()
    assert rest["pods", "Running"] == 1
    assert rest["pods", "Succeeded"] == 2
    assert rest["jobs.batch", "Complete"] == 1
    visited = 0
    for visit in visits:
        visited += 1
        assert (visit.outcome.violation, runs.ledger.rest()) == ("", rest), str(visit)
    assert visited >= 4


def test_pairs_are_visited_too() -> None:
    runs = Runs()
    visits = [*walk(runs.make, callers={"scheduler"}, pairs=3)]
    pairs = [visit.crashes for visit in visits if len(visit.crashes) == 2]
    assert len(set(pairs)) == 3
    assert not any(visit.outcome.violation for visit in visits)


def _outline(item: tuple[Subject, Mapping[str, Any]]) -> object:
    subject, content = item
    status = content.get("status", {})
    if subject.resource == "pods":
        return "pods", status["phase"]
    if subject.resource == "jobs.batch":
        return "jobs.batch", status["conditions"][-1]["type"]
    if subject.resource == "deployments.apps":
        return "deployments.apps", status["readyReplicas"]
    return subject.resource
