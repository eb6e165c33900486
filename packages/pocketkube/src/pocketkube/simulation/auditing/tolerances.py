"""What a run may allow to those it audits, read off its script: the worse it treats processes, the more.

Whoever makes an `Auditor` for a script calls `tolerance_of`. A process that is stopped decides by what it saw before and acts when it is
resumed; one that is down acts when it is up again and has caught up. Outages of one process that follow each other closely count as
one, since it gets nothing done in between. If nothing but the scheduler is ever away, only the time around that is excused. Faults on
the wire add to all of it. What a process wrote with one error of its clock it may judge with another, so what counts is how far its
clock ever wanders.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from pocketkube.simulation.auditing.invariant import CALM, Tolerance
from pocketkube.simulation.programs import SCHEDULER
from pocketkube.simulation.script import Crash, JumpClock, Step, Stop

RECOVERY = 30.0
"""Seconds until a process that is back has read everything and works again."""
ON_THE_WIRE = 15.0
"""Seconds by which faults delay what a process sees or says; each request is tried again, with pauses that grow."""


def tolerance_of(script: Iterable[Step], *, faulty: bool) -> Tolerance:
    """What this script allows; `faulty` says whether there are faults on the wire."""
    outages: dict[str, list[tuple[float, float]]] = {}
    stopped = 0.0
    clocks: dict[str, list[float]] = {}
    for step in sorted(script, key=lambda each: each.at):
        match step.action:
            case Stop(process, seconds):
                stopped = max(stopped, seconds)
                outages.setdefault(process, []).append((step.at, step.at + seconds))
            case Crash(process, down):
                outages.setdefault(process, []).append((step.at, step.at + down))
            case JumpClock(process, seconds):
                errors = clocks.setdefault(process, [0.0])
                errors.append(errors[-1] + seconds)
            case _:
                pass
    pauses: tuple[tuple[float, float], ...] = ()
    if not faulty and not clocks and not stopped and outages.keys() == {SCHEDULER}:
        pauses = tuple((start, end + RECOVERY) for start, end in outages.pop(SCHEDULER))
    longest = max((length for each in outages.values() for length in _lengths(each)), default=0.0)
    farthest = max((max(errors) - min(errors) for errors in clocks.values()), default=0.0)
    wire = ON_THE_WIRE if faulty else 0.0
    return Tolerance(
        stale=CALM.stale + timedelta(seconds=stopped + wire),
        late=timedelta(seconds=longest + wire),
        skew=timedelta(seconds=farthest),
        pauses=pauses,
    )


def _lengths(outages: Iterable[tuple[float, float]]) -> Iterator[float]:
    """How long a process gets nothing done, each time; the outages come in the order of their beginning."""
    began = until = float("-inf")
    for start, end in outages:
        if start > until:
            began = start
        until = max(until, end + RECOVERY)
        yield until - began
