"""Plays one run with faults, crashes, stops and clock jumps, and says every line of its journal.

`test_world` runs it in two processes and compares. With the argument `warm` another run has been played in the process before.
"""

from dataclasses import replace
import logging
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).parents[2]))

import structlog
from tests.simulation.playing import setup
from tests.simulation.traffic import STORM

from pocketkube.simulation.world import CrashPoint, Setup, simulate

LENGTH = 900.0
CRASHES = (
    CrashPoint("korder-1 PATCH configmaps after", 1),
    CrashPoint("korder-2 POST configmaps before"),
    CrashPoint("controllers DELETE configmaps after"),
)


def run(seed: int) -> Setup:
    return replace(setup(seed, LENGTH, STORM), crashes=CRASHES)


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    if "warm" in sys.argv:
        simulate(run(8))
    simulate(replace(run(23), sink=lambda line: sys.stdout.write(f"{line}\n")))
