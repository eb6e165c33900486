"""A soak plays each seed once, goes on where it was, and says how to see a failure again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from korder.testing import soak
from korder.testing.seeds import Done, Ledger, Task, play
from korder.testing.suites import SUITES
from kubeloop.objects.core import NODES
from pocketkube.simulation.auditing.invariant import Finding, Invariant
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change
from pocketkube.simulation.script import AddNode, Step
from pocketkube.simulation.world import Broken, Setup


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> str:
    """A suite in which no node may be made."""

    def watch(change: Change) -> None:
        if change.resource == "nodes":
            raise Broken(f"no nodes: {change.name} was made")

    def suite(seed: int, hours: float) -> Setup:
        steps = [Step(float(index), AddNode(f"node-{index}")) for index in range(3)]
        return Setup(seed=seed, script=steps, length=hours * 3600, observers=(watch,), settle=5.0)

    monkeypatch.setitem(SUITES, "failing", suite)
    return "failing"


def test_what_is_done_is_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(soak, "RUNS_OF_A_WORKER", 1)
    flags = ["--suite", "calm", "--hours", "0.001", "--jobs", "1", "--seeds", "2"]
    assert soak.main(flags) == 0
    assert "2 runs (0 done before), 0.002 simulated hours" in capsys.readouterr().out
    assert soak.main(flags) == 0
    assert "2 runs (2 done before)" in capsys.readouterr().out


class QuotaCounter(Invariant):
    """Counts nodes."""

    name = "counting"
    promise = "Nodes are counted."
    resources = (NODES,)

    def __init__(self) -> None:
        self._nodes = 0

    @property
    def figures(self) -> dict[str, int]:
        return {"nodes seen": self._nodes}

    def check(self, change: Change, view: View) -> tuple[Finding, ...]:
        del view
        self._nodes += change.before is None
        return ()


def test_what_invariants_count_is_summed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def suite(seed: int, hours: float) -> Setup:
        steps = [Step(float(index), AddNode(f"node-{index}")) for index in range(3)]
        length = hours * 3600
        return Setup(
            seed=seed, script=steps, length=length, invariants=[QuotaCounter()], settle=5.0
        )

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SUITES, "counting", suite)
    monkeypatch.setattr(soak, "_batch", lambda tasks, _: map(play, tasks))
    assert soak.main(["--suite", "counting", "--seeds", "2", "--hours", "0.01"]) == 0
    assert "       6 nodes seen" in capsys.readouterr().out
    assert soak.main(["--suite", "counting", "--seed", "1", "--hours", "0.01"]) == 0
    assert "       3 nodes seen" in capsys.readouterr().out


def test_a_failure_is_reported_with_the_smallest_run_that_fails_too(
    failing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "journal"
    flags = ["--suite", failing, "--seed", "1", "--hours", "0.01", "--shrink"]
    assert soak.main([*flags, "--journal", str(journal)]) == 1
    stated = capsys.readouterr().out
    assert "no nodes: node-0 was made" in stated
    assert "1 steps, faults and crashes are left" in stated
    assert "nodes = nodes node-0 " in journal.read_text()


def test_a_failure_is_one_line_with_the_command_that_plays_it_again() -> None:
    done = Done(Task("rough", 7, 24.0), "no-overbooking: node-1\nis full")
    stated = str(done)
    assert stated.startswith("FAILED rough seed 7: no-overbooking: node-1 is full | ")
    assert stated.endswith("python -m korder.testing.soak --suite rough --seed 7 --hours 24")


def test_a_line_that_was_cut_off_is_a_task_that_is_not_done(tmp_path: Path) -> None:
    file = tmp_path / "soak" / "state"
    first, second = (Done(Task("calm", seed, 1.0), "", "abc", 3) for seed in range(2))
    Ledger(file).add(first)
    with file.open("ab") as half:
        half.write(b'\n{"task":{"sui')
    ledger = Ledger(file)
    assert ledger.get(second.task) is None
    ledger.add(second)
    assert [Ledger(file).get(each.task) for each in (first, second)] == [first, second]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--seeds", "0"], "'0' is no number above zero"),
        (["--seeds", "many"], "'many' is no number above zero"),
        (["--hours", "-1"], "'-1' is no number of hours above zero"),
        (["--hours", "inf"], "'inf' is no number of hours above zero"),
        (["--suite", "x"], "invalid choice: 'x'"),
        (["--shrink"], "name it with --seed"),
        (["--seed", "1"], "name it with --suite"),
    ],
)
def test_bad_flags_get_one_sentence(
    flags: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        soak.main(flags)
    assert words in capsys.readouterr().err
