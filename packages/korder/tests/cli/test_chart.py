"""A timeline in the terminal: bars, curves, what happened, the verdict."""

from pathlib import Path
import runpy

import pytest

from korder.cli.simulate import chart
from pocketkube.simulation.report.timeline import Timeline, Violation
from pocketkube.simulation.report.workload_rows import Name

_HISTORY = runpy.run_path(str(Path("packages/pocketkube/tests/simulation/history.py")))
History, NO_ROOM = _HISTORY["History"], _HISTORY["NO_ROOM"]
WEB, FARM = Name("Deployment", "default", "web"), Name("Deployment", "default", "farm")


def a_story() -> Timeline:
    """`web` runs but for a short loss of its node, `farm` waits from half time on."""
    history = History(WEB, FARM, seconds=3000)
    history.node("node-1")
    history.deployment("web", 2)
    for number in (1, 2):
        history.web(number, "node-1")
    history.after(600).pod("web-1", ("ReplicaSet", "web-1"), "node-1", "Unknown")
    history.after(300).web(1, "node-1")
    history.after(600).deployment("farm", 1)
    history.pod("farm-1", ("ReplicaSet", "farm-1"), why=NO_ROOM)
    stated: Timeline = history.stated()
    return stated


def shown(stated: Timeline, width: int = chart.WIDTH) -> list[str]:
    return [line.plain for line in chart.lines(stated, width)]


def test_bars_say_without_colours_what_state_a_workload_was_in() -> None:
    web, farm = shown(a_story())[1:3]
    assert web.startswith("Deployment  default/web")
    runs, bar = web.split()[2:]
    assert runs == "2/2"
    assert set(bar) == {"█", "▒"}
    assert bar.index("▒") == pytest.approx(len(bar) * 0.2, abs=1)
    assert bar.count("▒") == pytest.approx(len(bar) * 0.1, abs=2)
    assert farm.split()[2] == "0/1"
    assert set(farm.split()[3]) == {"░"}
    assert len(farm.split()[3]) == pytest.approx(len(bar) / 2, abs=1)


def test_a_short_trouble_is_not_lost_in_a_narrow_picture() -> None:
    history = History(WEB, seconds=86_400)
    history.deployment("web", 1)
    history.web(1, "node-1")
    history.after(40_000).pod("web-1", ("ReplicaSet", "web-1"), "node-1", "Unknown")
    history.after(300).web(1, "node-1")
    assert "░" in shown(history.stated())[1]


def test_how_full_the_cluster_was_is_reported_in_numbers_and_as_a_curve() -> None:
    lines = shown(a_story())
    (cpu,) = [line for line in lines if line.startswith("cpu")]
    assert cpu.split()[:5] == ["cpu", "2", "of", "4", "50%"]
    assert set(cpu.split()[5]) == {"▄"}
    (waiting,) = [line for line in lines if line.startswith("waiting")]
    assert "1 pod at most" in waiting


def test_the_story_and_the_verdict_come_last() -> None:
    lines = shown(a_story())
    assert lines[-8:] == [
        "00:00:00  Node node-1: joined",
        "00:00:00  Deployment default/web: 2 pods wanted, all running after less than a second",
        "00:10:00  Deployment default/web: 1 of 2 pods missing for 5m",
        "00:25:00  Deployment default/farm: 1 pod wanted, 1 of 1 still missing at the end: 0/2 nodes are",
        "            available: 2 Insufficient cpu",
        "",
        "not kept: Deployment default/farm wants 1, has 0 since 00:25:00: 1 waits: 0/2 nodes are available: 2",
        "  Insufficient cpu.",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    history = History(WEB, seconds=3000)
    history.deployment("a-name-that-is-longer-than-any-terminal-would-like-it-to-be", 1)
    history.deployment("web", 100)
    history.web(1, why="because " * 40)
    assert max(map(len, shown(history.stated(), max(width, 70)))) <= max(width, 70)


def test_a_long_story_is_cut_in_the_middle() -> None:
    history = History(seconds=86_400)
    history.node("node-1")
    for _ in range(100):
        history.after(100).node("node-1", cordoned=True)
        history.after(100).node("node-1")
    lines = shown(history.stated())
    assert "… 161 more …" in lines
    assert sum("cordoned" in line for line in lines) == chart.MOST_LINES - 1


def test_of_many_workloads_those_in_trouble_are_shown() -> None:
    history = History(seconds=1000)
    for number in range(chart.MOST_BARS + 10):
        history.deployment(f"quiet{number}", 0)
    history.deployment("web", 1)
    history.web(1, why=NO_ROOM)
    lines = shown(history.stated())
    assert any("default/web" in line for line in lines)
    assert "and 11 more workloads" in lines


def test_control_characters_do_not_reach_the_terminal() -> None:
    history = History(WEB)
    history.deployment("web", 1)
    history.web(1, why="\x1b[31mred\x07")
    assert all(line.isprintable() or not line for line in shown(history.stated()))


def test_a_broken_invariant_is_reported_alone_because_what_comes_later_was_not_played() -> None:
    history = History(WEB, FARM)
    seen = Violation(at=history.end, invariant="no-overbooking", text="node-1 is full")
    stated = history.chronicle.tell(history.end, [seen])
    assert shown(stated)[-2:] == ["", "not kept: The run broke no-overbooking: node-1 is full"]
