"""Orders, tickets and guardians in the report of a simulation: what orders want, and how tickets are read.

An order wants the tickets that are there and whose time has come: those that hold room, or whose pod has it, are well; the others
wait, and so does what the order has booked and is yet to come. One that ends without ever having held anything was missed, and breaks
the promise of its order. One of a Recurring order that expires is missing until the order has as many as it wants again. Guardians are
not shown: their ticket is.
"""

from collections.abc import Iterator
from datetime import datetime

from korder.api.reserve import (
    ORDERS,
    TICKET_BOUND_CONDITION,
    TICKETS,
    OrderCondition,
    OrderReason,
    Reason,
    StrategyType,
    TicketPhase,
)
from korder.reserve.scenarios.order_rows import OrderGoal, OrderLine
from kubeloop.objects import instant
from pocketkube.simulation.changes import Change
from pocketkube.simulation.report import fields
from pocketkube.simulation.report.extension import Extension, Members, Rows
from pocketkube.simulation.report.fields import Body
from pocketkube.simulation.report.pod_tracker import Member, Phase
from pocketkube.simulation.report.usage import Tenant
from pocketkube.simulation.report.workload_rows import Name

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

    def __init__(self, rows: Rows) -> None:
        self._occupancy = rows.occupancy
        self._rows = rows
        self._lines: dict[str, OrderLine] = {}
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
            self._lines[uid] = self._line_of(change)
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

    def _line_of(self, change: Change) -> OrderLine:
        """The row of the order that made a ticket; one made by hand has its own."""
        row = self._rows.row_of_owner(change.after or {})
        if isinstance(row, OrderLine):
            return row
        own = self._rows.row(Name(TICKETS.kind, change.namespace, change.name), change.at)
        assert isinstance(own, OrderLine)  # noqa: S101  see `REPORT`
        return own

    def _meet(self, change: Change, line: OrderLine, phase: Phase | None) -> Member | None:
        """A ticket that is not among those of its order joins them as soon as it holds room or waits for it."""
        body = change.after or {}
        uid = fields.uid(body)
        if phase in (Phase.WAITS, Phase.RUNS):
            return line.make(change.at, uid, change.name)
        if phase is None:
            line.expect(change.at, uid, change.name, _starts_at(body))
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
        if line.name.kind == TICKETS.kind:
            line.delete(change.at)
            self._rows.leave(line.name)

    def see_pod(self, change: Change) -> None:
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


def _starts_at(body: Body) -> datetime | None:
    """When the time of a ticket comes; None if it has come when the ticket is made."""
    spec = fields.part(body, "spec")
    text = fields.part(spec, "window").get("startTime") or spec.get("startTime")
    return instant.parse(str(text)) if text else None


def _goal(body: Body) -> OrderGoal:
    failure, ready = (
        fields.true_condition(body, "Failure"),
        fields.condition(body, OrderCondition.READY),
    )
    short = _shortage(body)
    makes = bool(short or fields.true_condition(body, OrderCondition.PROGRESSING))
    return OrderGoal(
        done=bool(fields.true_condition(body, "Complete")),
        failed=str(failure.get("message") or "it failed") if failure else "",
        held=bool(fields.part(body, "spec").get("paused")),
        booked=frozenset(_booked(body)),
        nodes=_nodes(body) if makes else 0,
        standing=_standing(body),
        closed=ready.get("reason") == OrderReason.BETWEEN_WINDOWS,
        trouble=short or _emptiness(ready),
    )


def _shortage(body: Body) -> str:
    """Which quota has no room for tickets of an order, wherever it says so first."""
    said = (
        fields.condition(body, each) for each in (OrderCondition.READY, OrderCondition.PROGRESSING)
    )
    short = (each for each in said if each.get("reason") == Reason.QUOTA_EXCEEDED)
    return next((str(each.get("message") or "") for each in short), "")


def _booked(body: Body) -> Iterator[int]:
    """The numbers of tickets that an order has booked and not called made, and those of an edit that it has not seen."""
    spec, status = fields.part(body, "spec"), fields.part(body, "status")
    made = fields.number(status, "madeIndex", 0)
    for pool in fields.parts(status, "pools"):
        yield from _members(str(pool.get("members") or ""), made)
    if spec.get("daemonSet") or _has_windows(body) or not _is_edited(body):
        return
    more = fields.number(spec, "replicas", 1) - fields.number(status, "issuedReplicas", 0)
    following = fields.number(status, "nextIndex", 0)
    yield from range(following, following + more)


def _members(text: str, least: int) -> Iterator[int]:
    """The numbers from `least` on in a text such as `0-2,5`."""
    for span in filter(None, text.split(",")):
        first, _, last = span.partition("-")
        yield from range(max(int(first), least), int(last or first) + 1)


def _standing(body: Body) -> int:
    """How many tickets the pool of a Recurring order has; in DaemonSet mode the nodes decide."""
    spec = fields.part(body, "spec")
    recurs = fields.part(spec, "strategy").get("type") == StrategyType.RECURRING
    return fields.number(spec, "replicas", 1) if recurs and not spec.get("daemonSet") else 0


def _emptiness(ready: Body) -> str:
    """Until when a pool has no tickets, if it says so."""
    empty = ready.get("reason") == OrderReason.GAP
    return str(ready.get("message") or "").rstrip(".") if empty else ""


def _has_windows(body: Body) -> bool:
    strategy = fields.part(fields.part(body, "spec"), "strategy")
    return strategy.get("type") == StrategyType.SCHEDULED


def _is_edited(body: Body) -> bool:
    """Whether nobody has acted yet on what an object says now."""
    generation = fields.number(fields.part(body, "metadata"), "generation", 1)
    return fields.number(fields.part(body, "status"), "observedGeneration", 0) < generation


def _nodes(body: Body) -> int:
    """How many nodes an order counts that wants a ticket on each; with windows, only its tickets tell for which of them."""
    if not fields.part(body, "spec").get("daemonSet") or _has_windows(body):
        return 0
    return fields.number(fields.part(body, "status"), "desiredReplicas", 0)


def _pod_reason(body: Body) -> str | None:
    """Why a pod waits for a ticket, if it waits for one."""
    ticket = fields.condition(body, TICKET_BOUND_CONDITION)
    waits = ticket.get("status") == "False"
    return str(ticket.get("message") or "").rstrip(".") if waits else None


REPORT = Extension(
    goals={str(ORDERS): (ORDERS.kind, _goal)},
    rows={ORDERS.kind: OrderLine, TICKETS.kind: OrderLine},
    members=(Members(str(TICKETS), TICKETS.kind, Tickets),),
    pod_reason=_pod_reason,
)
