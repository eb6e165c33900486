"""A run in a file: what was played, and line by line what came of it.

`simulate` writes one with `--journal` and plays one again with `--replay`. The first line is all that makes the run what it is, as
JSON; the others are the journal. A replay is compared while it runs, and the first line that differs is told.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TextIO

import msgspec

from korder.cli.simulate import programs
from korder.cli.simulate.flags import Mistake
from pocketkube.simulation.auditing.tolerances import tolerance_of
from pocketkube.simulation.fault_plan import Chance
from pocketkube.simulation.invariants import catalogue
from pocketkube.simulation.report.timeline import Summary
from pocketkube.simulation.report.workload_rows import Name
from pocketkube.simulation.script import Step
from pocketkube.simulation.world import Setup

FORMAT = 1


class Played(Summary):
    """Everything that makes a run what it is."""

    seed: int
    faults: float
    start: datetime
    end: datetime
    warm_up: float
    """Seconds that are played before the start."""
    calm: float
    """Seconds before the end in which nobody does anything and nothing goes wrong."""
    nodes: int
    manifests: int
    workload: int
    """How many pods of made-up users there are, on average."""
    command: str
    script: tuple[Step, ...]
    promised: tuple[Name, ...]
    runs_korder: bool = msgspec.field(default=False, name="books")
    """Whether korder itself runs in it."""
    korder: int = FORMAT

    def setup(self) -> Setup:
        """How the engine is to play it."""
        length = (self.end - self.start).total_seconds()
        tolerance = tolerance_of(self.script, faulty=bool(self.faults))
        return Setup(
            seed=self.seed,
            script=self.script,
            length=self.warm_up + length - self.calm,
            settle=self.calm,
            luck=Chance(self.seed, self.faults) if self.faults else None,
            start=self.start - timedelta(seconds=self.warm_up),
            invariants=(
                *catalogue.standard(tolerance),
                *(programs.invariants(tolerance) if self.runs_korder else ()),
            ),
            replay=self.command,
            programs=(programs.program(),) if self.runs_korder else (),
            kinds=programs.kinds() if self.runs_korder else (),
        )


class Comparison:
    """The lines of a journal, one after the other, against those of an earlier run."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._lines = 1
        self.difference = ""

    def __call__(self, line: str) -> None:
        self._lines += 1
        earlier = self._file.readline().rstrip("\n")
        if earlier != line and not self.difference:
            self.difference = f"line {self._lines} was {earlier!r} and is now {line!r}"

    def end(self) -> None:
        """Nothing more comes."""
        if not self.difference and self._file.readline():
            self.difference = f"the earlier run goes on after line {self._lines}"


@contextmanager
def recorded(file: Path, played: Played) -> Iterator[TextIO]:
    """Opens a file for the journal of a run and writes its first line."""
    with file.open("w", encoding="utf-8") as out:
        out.write(msgspec.json.encode(played).decode() + "\n")
        yield out


def reopened(file: Path) -> tuple[Played, TextIO]:
    """Reads the first line of a recorded run; the rest is left to be compared.

    Raises:
        Mistake: it is none.
    """
    lines = file.open(encoding="utf-8")
    try:
        played = msgspec.json.decode(lines.readline(), type=Played)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        lines.close()
        raise Mistake(f"--replay: {file} was not written by `korder simulate --journal`") from None
    if played.korder != FORMAT:
        lines.close()
        raise Mistake(f"--replay: {file} has format {played.korder}; this korder reads {FORMAT}")
    return played, lines
