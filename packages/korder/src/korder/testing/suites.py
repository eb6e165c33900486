"""The suites of simulations: each makes, of a seed and a number of hours, a run that must not break a promise.

`soak` and the tests play them. A domain adds functions to its scenario that put its programs, its traffic and its invariants into a
`Setup`.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from korder.domains import DOMAINS
from korder.scenario import Suite, scenarios
from pocketkube.simulation.auditing.tolerances import tolerance_of
from pocketkube.simulation.fault_plan import Chance
from pocketkube.simulation.invariants import catalogue
from pocketkube.simulation.programs import CONTROLLERS, NODES, SCHEDULER
from pocketkube.simulation.workloads.traffic import Traffic, traffic
from pocketkube.simulation.world import Setup

FAULTS = 0.05
"""Which share of all requests suffers a fault."""
PROCESSES = (SCHEDULER, CONTROLLERS, NODES)
_CALM = Traffic(nodes=5, pods=6, life=1_200.0)
_ROUGH = replace(_CALM, load=0.8, troubles=4.0, processes=PROCESSES)


def calm(seed: int, hours: float) -> Setup:
    """Pods and workloads on machines that come, go and fail; nothing else goes wrong."""
    return _cluster(seed, replace(_CALM, hours=hours), 0.0)


def rough(seed: int, hours: float) -> Setup:
    """The same in a crowded cluster, with processes that crash, stop and lose the time, and faults on the wire."""
    return _cluster(seed, replace(_ROUGH, hours=hours), FAULTS)


def _cluster(seed: int, wanted: Traffic, faults: float) -> Setup:
    script = traffic(Random(f"{seed} traffic"), wanted)
    tolerance = tolerance_of(script, faulty=bool(faults))
    return Setup(
        seed=seed,
        script=script,
        length=wanted.length,
        luck=Chance(seed, faults) if faults else None,
        invariants=catalogue.standard(tolerance),
    )


SUITES: Mapping[str, Suite] = {
    "calm": calm,
    "rough": rough,
    **{name: suite for each in scenarios(DOMAINS) for name, suite in each.suites.items()},
}
