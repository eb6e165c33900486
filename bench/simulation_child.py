"""One run of the traffic of `simulate-day`: nodes, hours and pods alive are the arguments, the answer is what it took."""

from dataclasses import replace
from datetime import timedelta
import json
import logging
from pathlib import Path
from random import Random
import sys
import tempfile
from time import perf_counter

import structlog

from pocketkube.simulation.changes import Change
from pocketkube.simulation.invariants.catalogue import standard
from pocketkube.simulation.workloads.traffic import a_day, traffic
from pocketkube.simulation.world import START, Setup, simulate

_DAY = timedelta(days=1)


class _Scales:
    """Weighs the process whenever a simulated day is over."""

    def __init__(self) -> None:
        self.weights: list[float] = []

    def see(self, change: Change) -> None:
        if change.at - START >= _DAY * (len(self.weights) + 1):
            self.weights.append(_resident())


def main(nodes: int, hours: float, pods: int) -> None:
    """Plays the run and prints the numbers."""
    quiet = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=quiet)
    wanted = replace(a_day(nodes=nodes, hours=hours), pods=pods)
    script = traffic(Random(1), wanted)
    scales = _Scales()
    with tempfile.TemporaryFile("w") as journal:
        setup = Setup(
            seed=1,
            script=script,
            length=wanted.length,
            observers=(scales.see,),
            invariants=standard(),
            sink=lambda line: journal.write(line + "\n"),
        )
        started = perf_counter()
        outcome = simulate(setup)
        seconds = perf_counter() - started
    if outcome.violation:
        sys.exit(outcome.report or outcome.violation)
    weights = scales.weights or [_resident()]
    numbers = {"seconds": seconds, "writes": outcome.writes, "lines": outcome.lines}
    print(json.dumps({**numbers, "first": weights[0], "last": weights[-1]}))


def _resident() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
