"""What goes wrong by chance: processes that crash, stop or lose the time, machines that lose power or become slow.

`traffic` and tests of any program call it. Whatever begins before the end of a run also ends before it, so that afterwards the cluster can
come to rest.
"""

from collections.abc import Iterator, Sequence
from random import Random

from pocketkube.nodes.machines import USUAL
from pocketkube.simulation.script import (
    Crash,
    JumpClock,
    LoseNode,
    ReturnNode,
    SlowNode,
    Step,
    Stop,
)
from pocketkube.simulation.workloads.moments import moments

HOUR = 3600.0
LONGEST_DOWN, LONGEST_STOP, FARTHEST_JUMP = 60.0, 40.0, 300.0
"""Seconds: the most that can happen to one process at a time; an auditor may rely on it."""
_LONGEST_OUTAGE = 900.0


def troubles(rng: Random, processes: Sequence[str], length: float, rate: float) -> Iterator[Step]:
    """Crashes, stops and wrong clocks: `rate` of them an hour, over all processes."""
    wrong_until = dict.fromkeys(processes, 0.0)
    for at in _moments(rng, length, rate if processes else 0.0):
        name = rng.choice(processes)
        left = length - at
        trouble = rng.choice(("crash", "crash", "stop", "clock"))
        if trouble == "clock" and wrong_until[name] <= at:
            wrong_until[name] = at + rng.uniform(0, left)
            by = round(rng.uniform(-FARTHEST_JUMP, FARTHEST_JUMP), 3)
            yield Step(at, JumpClock(name, by))
            yield Step(wrong_until[name], JumpClock(name, -by))
        elif trouble == "stop":
            yield Step(at, Stop(name, min(_about(rng, 15.0, LONGEST_STOP), left)))
        else:
            yield Step(at, Crash(name, min(_about(rng, 5.0, LONGEST_DOWN), left)))


def outages(rng: Random, nodes: Sequence[str], length: float, rate: float) -> Iterator[Step]:
    """Machines that are lost and return, or are slow for a while: `rate` of them an hour, over all nodes."""
    for at in _moments(rng, length, rate if nodes else 0.0):
        name = rng.choice(nodes)
        until = at + min(_about(rng, 180.0, _LONGEST_OUTAGE), length - at)
        if rng.random() < 0.5:
            yield Step(at, LoseNode(name))
            yield Step(until, ReturnNode(name))
        else:
            start, stop = round(rng.uniform(1, 60), 3), round(rng.uniform(1, 40), 3)
            yield Step(at, SlowNode(name, start, stop))
            yield Step(until, SlowNode(name, USUAL.start, USUAL.stop))


def _moments(rng: Random, length: float, rate: float) -> Iterator[float]:
    return moments(rng, HOUR / rate, 0.0, length) if rate > 0 else iter(())


def _about(rng: Random, mean: float, most: float) -> float:
    return round(min(rng.expovariate(1 / mean), most), 3)
