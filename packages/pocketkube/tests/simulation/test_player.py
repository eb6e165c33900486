"""A script is played to its end, whatever it asks for."""

from pocketkube.simulation.changes import Change
from pocketkube.simulation.script import (
    Action,
    AddNode,
    Apply,
    DeletePods,
    LoseNode,
    ReturnNode,
    SlowNode,
    Step,
)
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.objects import Pods
from pocketkube.simulation.world import Setup, simulate

SMALL = Pods(cpu=100, memory=16, grace=1)


def play(*actions: Action) -> tuple[list[Change], list[str]]:
    """Plays deeds ten seconds apart; returns the commits and the journal."""
    changes: list[Change] = []
    lines: list[str] = []
    steps = [Step(index * 10.0, action) for index, action in enumerate(actions)]
    setup = Setup(
        seed=1,
        script=steps,
        length=len(actions) * 10.0,
        settle=30.0,
        observers=(changes.append,),
        sink=lines.append,
    )
    assert simulate(setup).violation == ""
    return changes, lines


def test_deeds_on_machines_that_do_not_exist_are_noted_and_the_script_goes_on() -> None:
    changes, lines = play(
        LoseNode("x"), ReturnNode("y"), SlowNode("z", 1.0, 1.0), AddNode("node-1")
    )
    refused = [line.partition("refused: ")[2] for line in lines if "refused" in line]
    assert refused == [f"there is no machine '{name}'" for name in "xyz"]
    assert any(change.name == "node-1" for change in changes)


def test_draining_a_node_deletes_its_pods_but_not_those_of_daemon_sets() -> None:
    changes, _ = play(
        AddNode("node-1"),
        Apply(objects.pod("alone", "default", SMALL)),
        Apply(objects.daemon_set("agent", "default", SMALL)),
        DeletePods(node="node-1"),
    )
    assert _gone(changes) == ["alone"]


def test_a_user_deletes_some_of_the_pods_with_a_label() -> None:
    changes, _ = play(
        AddNode("node-1"),
        *(Apply(objects.pod(f"pod-{index}", "default", SMALL)) for index in range(2)),
        Apply(objects.stateful_set("web", "default", SMALL, 3, "Parallel")),
        DeletePods("default", labels={"app": "web"}, most=2),
    )
    assert _gone(changes) == ["web-0", "web-1"]


def _gone(changes: list[Change]) -> list[str]:
    return sorted(each.name for each in changes if each.resource == "pods" and each.after is None)
