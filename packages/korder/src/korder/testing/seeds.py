"""One seed of a suite: how it is named, played and written down as done.

`soak` plays many, tests a few. What is done is kept in a file that is named after the hash of the sources: after a change everything is
to be done anew.
"""

from dataclasses import replace
import hashlib
import logging
from pathlib import Path

import msgspec
import structlog

import korder
from korder.testing.suites import SUITES
import kubeloop
import pocketkube
from pocketkube.simulation.world import Setup, simulate


class Task(msgspec.Struct, frozen=True):
    """A seed of a suite, for so many hours."""

    suite: str
    seed: int
    hours: float

    @property
    def command(self) -> str:
        """What plays it again, and tells everything about it."""
        flags = f"--suite {self.suite} --seed {self.seed} --hours {self.hours:g}"
        return f"python -m korder.testing.soak {flags}"


class Done(msgspec.Struct, frozen=True):
    """How a task has ended: what was broken, and which journal it wrote."""

    task: Task
    violation: str
    digest: str = ""
    writes: int = 0
    figures: dict[str, int] = {}
    """What invariants counted."""

    def __str__(self) -> str:
        task = self.task
        broken = " ".join(self.violation.split())
        return f"FAILED {task.suite} seed {task.seed}: {broken} | {task.command}"


def setup_of(task: Task) -> Setup:
    """Makes the run, with fresh observers."""
    return replace(SUITES[task.suite](task.seed, task.hours), replay=task.command)


def play(task: Task) -> Done:
    """Plays the run."""
    setup = setup_of(task)
    outcome = simulate(setup)
    figures = figures_of(setup)
    return Done(task, outcome.violation, outcome.digest, outcome.writes, figures)


def figures_of(setup: Setup) -> dict[str, int]:
    """What the invariants of a run that is over have counted."""
    return {name: n for each in setup.invariants for name, n in each.figures.items()}


def hush() -> None:
    """Lets what runs in a simulation keep its logs to itself: in trouble it warns all the time, and rightly so."""
    quiet = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=quiet)


def version_of_sources() -> str:
    """Names the code that is being tried."""
    found = hashlib.sha256()
    for package in (kubeloop, pocketkube, korder):
        root = Path(package.__file__ or "").parent
        for file in sorted(root.rglob("*.py")):
            found.update(str(file.relative_to(root.parent)).encode())
            found.update(file.read_bytes())
    return found.hexdigest()[:12]


class Ledger:
    """Which tasks are done; a line that a crash has cut off is a task that is not."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._done: dict[Task, Done] = {}
        for line in file.read_bytes().splitlines() if file.exists() else ():
            try:
                done = msgspec.json.decode(line, type=Done)
            except msgspec.DecodeError:
                continue
            self._done[done.task] = done

    def get(self, task: Task) -> Done | None:
        return self._done.get(task)

    def add(self, done: Done) -> None:
        self._done[done.task] = done
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("ab") as file:
            file.write(b"\n" + msgspec.json.encode(done))
