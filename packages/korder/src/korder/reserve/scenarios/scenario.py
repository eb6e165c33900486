"""What the domain contributes to simulation: its suites, its invariants, its rows of the report."""

from dataclasses import replace

from korder.api.quota import QUOTAS
from korder.reserve.claims.requirements import REQUEST_ANNOTATIONS
from korder.reserve.scenarios import setup as scenario_setup
from korder.reserve.scenarios.crowded import Crowded
from korder.reserve.scenarios.invariants.catalogue import reserving
from korder.reserve.scenarios.mixed import Booking
from korder.reserve.scenarios.report import REPORT
from korder.scenario import Scenario
from kubeloop.objects.meta import JSON
from pocketkube.simulation.programs import CONTROLLERS, NODES, SCHEDULER
from pocketkube.simulation.world import Setup

_FAULTS = 0.05
"""Which share of all requests suffers a fault."""
_PROCESSES = (SCHEDULER, CONTROLLERS, NODES)
_BOOKED = Booking(orders=5, claims=2.0, intruders=6.0, mishaps=4.0, quotas=3)
_BOOKED_ROUGH = replace(_BOOKED, troubles=4.0, processes=(*_PROCESSES, *scenario_setup.REPLICAS))
_CROWDED = Crowded()
_CROWDED_ROUGH = replace(
    _CROWDED, cordons=2.0, troubles=4.0, processes=(*_PROCESSES, *scenario_setup.REPLICAS)
)


def reserve_calm(seed: int, hours: float) -> Setup:
    """People who book on machines that come, go and fail, with two replicas of ours; nothing else goes wrong."""
    return scenario_setup.setup(seed, replace(_BOOKED, hours=hours))


def reserve_rough(seed: int, hours: float) -> Setup:
    """The same, with processes that crash, stop and lose the time, and faults on the wire."""
    return scenario_setup.setup(seed, replace(_BOOKED_ROUGH, hours=hours), _FAULTS)


def reserve_crowded(seed: int, hours: float) -> Setup:
    """A full cluster whose competitors wait for the room of every claim, renewal and return; nothing else goes wrong."""
    return scenario_setup.full(seed, replace(_CROWDED, hours=hours))


def reserve_crowded_rough(seed: int, hours: float) -> Setup:
    """The same, with cordons, processes that crash, stop and lose the time, and faults on the wire."""
    return scenario_setup.full(seed, replace(_CROWDED_ROUGH, hours=hours), _FAULTS)


def reserve_renewed(seed: int, hours: float) -> Setup:
    """A full cluster in which most tickets are renewed at firings and at their expiry; nothing else goes wrong."""
    return scenario_setup.renewed(seed, replace(_CROWDED, hours=hours))


def reserve_renewed_rough(seed: int, hours: float) -> Setup:
    """The same, with cordons, processes that crash, stop and lose the time, and faults on the wire."""
    return scenario_setup.renewed(seed, replace(_CROWDED_ROUGH, hours=hours), _FAULTS)


def reserve_returned(seed: int, hours: float) -> Setup:
    """A full cluster in which most tickets take their room back, with `--return-finalizer`; nothing else goes wrong."""
    return scenario_setup.returned(seed, replace(_CROWDED, hours=hours))


def reserve_returned_rough(seed: int, hours: float) -> Setup:
    """The same, with cordons, processes that crash, stop and lose the time, and faults on the wire."""
    return scenario_setup.returned(seed, replace(_CROWDED_ROUGH, hours=hours), _FAULTS)


def concerns(body: JSON) -> bool:
    """Says whether an object reserves capacity, or asks for capacity that is reserved."""
    match body:
        case {"apiVersion": str(version), "kind": str(kind)} if (
            version,
            kind,
        ) in scenario_setup.KINDS:
            return True
        case dict():
            annotations = body.get("annotations")
            given = annotations if isinstance(annotations, dict) else {}
            asks = any(name in given for name in REQUEST_ANNOTATIONS)
            return asks or any(map(concerns, body.values()))
        case _:
            return False


RESERVE = Scenario(
    kinds=scenario_setup.KINDS,
    acted=((QUOTAS.api_version, QUOTAS.kind),),
    concerns=concerns,
    invariants=reserving,
    report=REPORT,
    suites={
        "reserve-calm": reserve_calm,
        "reserve-rough": reserve_rough,
        "reserve-crowded": reserve_crowded,
        "reserve-crowded-rough": reserve_crowded_rough,
        "reserve-renewed": reserve_renewed,
        "reserve-renewed-rough": reserve_renewed_rough,
        "reserve-returned": reserve_returned,
        "reserve-returned-rough": reserve_returned_rough,
    },
)
