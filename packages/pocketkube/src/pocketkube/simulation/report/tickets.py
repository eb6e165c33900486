"""Tickets as what an order has, and guardians as what takes room.

`chronicle` passes their changes on. An order wants the tickets that are there and whose time has come: those that hold room, or whose pod
has it, are well; the others wait, and so does what the order has booked and is yet to come. One that ends without ever having held
anything was missed, and breaks the promise of its order. One of a Recurring order that expires is missing until the order has as
many as it wants again. Guardians are not shown: their ticket is.
"""

from collections.abc import Callable
from datetime import datetime

from korder.api.reserve import TicketPhase
from pocketkube.simulation.changes import Change
from pocketkube.simulation.report import fields
from pocketkube.simulation.report.fields import Body
from pocketkube.simulation.report.pod_tracker import Member, Phase
from pocketkube.simulation.report.usage import Occupancy, Tenant
from pocketkube.simulation.report.workload_rows import TICKET, Line

_PHASES = {
    "Reserved": Phase.RUNS,
    "Claiming": Phase.RUNS,
    "Claimed": Phase.RUNS,
    "Released": Phase.SUCCEEDED,
    "Expired": Phase.SUCCEEDED,
}
_LATER = "Scheduled"


class Tickets:
    """The tickets and guardians that are there."""

    def __init__(
        self, occupancy: Occupancy, find: Callable[[Change], Line], leave: Callable[[Line], None]
    ) -> None:
        self._occupancy = occupancy
        self._find = find
        self._leave = leave
        self._lines: dict[str, Line] = {}
        self._waiting: set[str] = set()
        self._guardians: dict[str, Tenant] = {}

    def see(self, change: Change) -> None:
        """A ticket has changed."""
        body = change.after or change.before or {}
        uid = fields.uid(body)
        if change.after is None:
            self._remove(change, uid)
            return
        if uid not in self._lines:
            self._lines[uid] = self._find(change)
        line, phase = self._lines[uid], _phase(body)
        self._wait(change.at, uid, waits=phase is Phase.WAITS)
        member = line.tracker.members.get(uid)
        if member is None:
            member = self._meet(change, line, phase)
        if member is None or phase is None:
            return
        ends = phase is Phase.SUCCEEDED and member.phase is not Phase.SUCCEEDED
        if ends and not member.started:
            line.miss(change.at, uid)
        elif ends and fields.part(body, "status").get("phase") == TicketPhase.EXPIRED:
            line.lapse(change.at, uid)
        else:
            line.move(change.at, uid, phase, _why(body) if phase is Phase.WAITS else "")

    def _meet(self, change: Change, line: Line, phase: Phase | None) -> Member | None:
        """A ticket that is not among those of its order joins them as soon as it holds room or waits for it."""
        body = change.after or {}
        uid = fields.uid(body)
        if phase in (Phase.WAITS, Phase.RUNS):
            return line.make(change.at, uid, change.name)
        if phase is None:
            line.expect(change.at, uid, change.name, fields.starts_at(body))
        else:
            line.dismiss(change.at, uid)
        return None

    def _wait(self, at: datetime, uid: str, *, waits: bool) -> None:
        if waits == (uid in self._waiting):
            return
        self._occupancy.waiting_ticket(at, 1 if waits else -1)
        if waits:
            self._waiting.add(uid)
        else:
            self._waiting.remove(uid)

    def _remove(self, change: Change, uid: str) -> None:
        line = self._lines.pop(uid, None)
        if line is None:
            return
        self._wait(change.at, uid, waits=False)
        if uid in line.tracker.members:
            line.remove(change.at, uid, meant=True)
        else:
            line.dismiss(change.at, uid)
        if line.name.kind == TICKET:
            line.delete(change.at)
            self._leave(line)

    def see_guardian(self, change: Change) -> None:
        """A guardian has changed: it takes room, or gives it back."""
        body = change.after or change.before or {}
        uid = fields.uid(body)
        if change.after is None:
            tenant = self._guardians.pop(uid, None)
            if tenant is not None:
                tenant.leave(change.at)
            return
        self._guardians.setdefault(uid, Tenant(self._occupancy)).settle(change.at, body)


def _phase(body: Body) -> Phase | None:
    """How far a ticket is; None while its time has not come, or nobody has looked at it."""
    status = fields.part(body, "status")
    said = str(status.get("phase") or "")
    if said == "Pending":
        return None if status.get("reason") == _LATER else Phase.WAITS
    return _PHASES.get(said)


def _why(body: Body) -> str:
    status = fields.part(body, "status")
    return str(status.get("message") or status.get("reason") or "").partition(". ")[0].rstrip(".")
