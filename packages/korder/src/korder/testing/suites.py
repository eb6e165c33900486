"""The suites of simulations: each makes, of a seed and a number of hours, a run that must not break a promise.

`soak` and the tests play them. A domain adds a function here that puts its programs, its traffic and its invariants into a `Setup`, and a
line in `SUITES`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from korder.reserve.scenarios import setup as scenario_setup
from korder.reserve.scenarios.crowded import Crowded
from korder.reserve.scenarios.mixed import Booking
from pocketkube.simulation.auditing.tolerances import tolerance_of
from pocketkube.simulation.fault_plan import Chance
from pocketkube.simulation.invariants import catalogue
from pocketkube.simulation.programs import CONTROLLERS, NODES, SCHEDULER
from pocketkube.simulation.workloads.traffic import Traffic, traffic
from pocketkube.simulation.world import Setup

Suite = Callable[[int, float], Setup]

FAULTS = 0.05
"""Which share of all requests suffers a fault."""
PROCESSES = (SCHEDULER, CONTROLLERS, NODES)
_CALM = Traffic(nodes=5, pods=6, life=1_200.0)
_ROUGH = replace(_CALM, load=0.8, troubles=4.0, processes=PROCESSES)
_BOOKED = Booking(orders=5, claims=2.0, intruders=6.0, mishaps=4.0, quotas=3)
_BOOKED_ROUGH = replace(_BOOKED, troubles=4.0, processes=(*PROCESSES, *scenario_setup.REPLICAS))
_CROWDED = Crowded()
_CROWDED_ROUGH = replace(
    _CROWDED, cordons=2.0, troubles=4.0, processes=(*PROCESSES, *scenario_setup.REPLICAS)
)


def calm(seed: int, hours: float) -> Setup:
    """Pods and workloads on machines that come, go and fail; nothing else goes wrong."""
    return _cluster(seed, replace(_CALM, hours=hours), 0.0)


def rough(seed: int, hours: float) -> Setup:
    """The same in a crowded cluster, with processes that crash, stop and lose the time, and faults on the wire."""
    return _cluster(seed, replace(_ROUGH, hours=hours), FAULTS)


def reserve_calm(seed: int, hours: float) -> Setup:
    """People who book on machines that come, go and fail, with two replicas of ours; nothing else goes wrong."""
    return scenario_setup.setup(seed, replace(_BOOKED, hours=hours))


def reserve_rough(seed: int, hours: float) -> Setup:
    """The same, with processes that crash, stop and lose the time, and faults on the wire."""
    return scenario_setup.setup(seed, replace(_BOOKED_ROUGH, hours=hours), FAULTS)


def reserve_crowded(seed: int, hours: float) -> Setup:
    """A full cluster whose competitors wait for the room of every claim, renewal and return; nothing else goes wrong."""
    return scenario_setup.full(seed, replace(_CROWDED, hours=hours))


def reserve_crowded_rough(seed: int, hours: float) -> Setup:
    """The same, with cordons, processes that crash, stop and lose the time, and faults on the wire."""
    return scenario_setup.full(seed, replace(_CROWDED_ROUGH, hours=hours), FAULTS)


def reserve_renewed(seed: int, hours: float) -> Setup:
    """A full cluster in which most tickets are renewed at firings and at their expiry; nothing else goes wrong."""
    return scenario_setup.renewed(seed, replace(_CROWDED, hours=hours))


def reserve_renewed_rough(seed: int, hours: float) -> Setup:
    """The same, with cordons, processes that crash, stop and lose the time, and faults on the wire."""
    return scenario_setup.renewed(seed, replace(_CROWDED_ROUGH, hours=hours), FAULTS)


def reserve_returned(seed: int, hours: float) -> Setup:
    """A full cluster in which most tickets take their room back, with `--return-finalizer`; nothing else goes wrong."""
    return scenario_setup.returned(seed, replace(_CROWDED, hours=hours))


def reserve_returned_rough(seed: int, hours: float) -> Setup:
    """The same, with cordons, processes that crash, stop and lose the time, and faults on the wire."""
    return scenario_setup.returned(seed, replace(_CROWDED_ROUGH, hours=hours), FAULTS)


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
    "reserve-calm": reserve_calm,
    "reserve-rough": reserve_rough,
    "reserve-crowded": reserve_crowded,
    "reserve-crowded-rough": reserve_crowded_rough,
    "reserve-renewed": reserve_renewed,
    "reserve-renewed-rough": reserve_renewed_rough,
    "reserve-returned": reserve_returned,
    "reserve-returned-rough": reserve_returned_rough,
}
