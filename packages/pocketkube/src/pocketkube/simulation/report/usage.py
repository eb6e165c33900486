"""How full the cluster was: what pods ask for against what nodes have, over time.

`timeline_builder` tells of every pod that takes or frees room and of every node. A node that does not work counts for nothing and neither
do the pods on it: they have not given their room back, but nobody could use it either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kubeloop.objects import codec, core, node_room
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON
from pocketkube.simulation.report.averages import Division, Meter
from pocketkube.simulation.report.timeline import Series, Use

Amounts = Mapping[str, int]
"""Thousandths of cpu, units of everything else."""

_ALWAYS = ("cpu", "memory", "pods")


@dataclass(slots=True)
class _Machine:
    offers: dict[str, int] = field(default_factory=dict)
    works: bool = False
    taken: dict[str, int] = field(default_factory=dict)


class Occupancy:
    """The sums of the whole cluster."""

    def __init__(self, division: Division) -> None:
        self._division = division
        self._machines: dict[str, _Machine] = {}
        self._requested = {name: Meter(division) for name in _ALWAYS}
        self._offered = {name: Meter(division) for name in _ALWAYS}
        self._waiting = Meter(division)
        self._waiting_tickets = Meter(division)

    def waiting(self, at: datetime, amount: int) -> None:
        """More or fewer pods wait for their start."""
        self._waiting.add(at, amount)

    def waiting_ticket(self, at: datetime, amount: int) -> None:
        """More or fewer tickets wait for room."""
        self._waiting_tickets.add(at, amount)

    def pod(self, at: datetime, node: str, amounts: Amounts, times: int) -> None:
        """A pod takes room on a node (1) or gives it back (-1)."""
        machine = self._machines.setdefault(node, _Machine())
        for name, amount in amounts.items():
            machine.taken[name] = machine.taken.get(name, 0) + times * amount
            if machine.works:
                _meter(self._requested, name, self._division).add(at, times * amount)

    def node(self, at: datetime, name: str, offers: Amounts, *, works: bool) -> None:
        """A node came, changed, or went (it offers nothing then)."""
        machine = self._machines.setdefault(name, _Machine())
        if works == machine.works and offers == machine.offers:
            return
        self._count(at, machine, -1)
        machine.offers, machine.works = dict(offers), works
        self._count(at, machine, 1)
        if not offers and not any(machine.taken.values()):
            del self._machines[name]

    def _count(self, at: datetime, machine: _Machine, times: int) -> None:
        if not machine.works:
            return
        for meters, amounts in ((self._offered, machine.offers), (self._requested, machine.taken)):
            for name, amount in amounts.items():
                _meter(meters, name, self._division).add(at, times * amount)

    def stated(self, end: datetime) -> Use:
        """Everything up to the end; of a run that ended early, only the parts that have begun."""
        self._waiting.advance(end)
        self._waiting_tickets.advance(end)
        begun = self._division.begun(end)
        names = [*_ALWAYS, *sorted(name for name in self._offered if "/" in name)]
        return Use(
            bucket_seconds=self._division.width / 1e6,
            series=tuple(self._series(name, end) for name in names),
            waiting=tuple(self._waiting.peaks()[:begun]),
            waiting_tickets=tuple(self._waiting_tickets.peaks()[:begun]),
        )

    def _series(self, name: str, end: datetime) -> Series:
        unit = 1000 if name == "cpu" else 1
        requested = _meter(self._requested, name, self._division)
        offered = _meter(self._offered, name, self._division)
        begun = self._division.begun(end)
        requested.advance(end)
        offered.advance(end)
        return Series(
            resource=name,
            requested=tuple(round(mean / unit, 3) for mean in requested.means()[:begun]),
            peak=tuple(peak / unit for peak in requested.peaks()[:begun]),
            allocatable=tuple(round(mean / unit, 3) for mean in offered.means()[:begun]),
        )


class Tenant:
    """A pod and the room it has, while it has it."""

    def __init__(self, occupancy: Occupancy) -> None:
        self._occupancy = occupancy
        self._node = ""
        self._amounts: Amounts | None = None

    def settle(self, at: datetime, body: Mapping[str, JSON]) -> None:
        """The pod has changed: it may have got a node, or have ended."""
        spec, status = body.get("spec"), body.get("status")
        node = spec.get("nodeName") if isinstance(spec, dict) else None
        if isinstance(status, dict) and status.get("phase") in core.FINISHED_PHASES:
            self.leave(at)
        elif node and self._amounts is None:
            self._node = str(node)
            self._amounts = node_room.demand_of(codec.convert(dict(body), Pod)).amounts
            self._occupancy.pod(at, self._node, self._amounts, 1)

    def leave(self, at: datetime) -> None:
        """The pod is gone, or has ended."""
        if self._amounts is not None:
            self._occupancy.pod(at, self._node, self._amounts, -1)
            self._amounts = None


def _meter(meters: dict[str, Meter], name: str, division: Division) -> Meter:
    if name not in meters:
        meters[name] = Meter(division)
    return meters[name]
