"""Room against competitors: what a ticket hands over, renews or takes back goes to no other pod in between.

Each invariant keeps the promises of one sort: room on a node that no pod takes at the moment and that is for certain pods. When another
pod is bound to the node and the promises do not fit beside it any more, the room was given away. Room that others
freed (a guardian deleted by hand, a node that failed) is promised to no pod.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from korder.api import core, duration, noderoom, quantity
from korder.api.core import NODES, PODS, Node, Pod
from korder.api.meta import Key, controller_of
from korder.api.noderoom import Demand
from korder.api.reserve import (
    HANDOVER_TAINT,
    ORDERS,
    TICKETS,
    AfterUse,
    Order,
    RefreshPolicy,
    StrategyType,
    Ticket,
    TicketPhase,
)
from korder.embedded.simulation.auditing.invariant import (
    CALM,
    Broken,
    Finding,
    Invariant,
    Later,
    Tolerance,
)
from korder.embedded.simulation.auditing.invariants.reserving import granting, signs
from korder.embedded.simulation.auditing.invariants.reserving.making import policy_of, type_of
from korder.embedded.simulation.auditing.view import View
from korder.embedded.simulation.changes import Change, Subject, subject_of

_A_WHILE = timedelta(seconds=10)
"""How long room that a ticket is to have again stays promised; later its loss has other causes."""
_AROUND = timedelta(seconds=5)
"""How long after the end of a ticket its successor may be made."""


class Promise(NamedTuple):
    """Room on a node that only some pods may take: a claimant or the guardians of a ticket or of an order."""

    ticket: Subject
    node: str
    demand: Demand
    owners: frozenset[str]
    """UIDs: of the pod itself, or of the ticket or order for whose guardians it is."""
    since: datetime


class RoomIsKept(Invariant):
    """The base: a subclass keeps promises up to date and says which stand on a node."""

    resources = (PODS, TICKETS, NODES)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._lag = tolerance.stale - CALM.stale
        self._late = tolerance.late
        self._barred: dict[str, datetime] = {}
        """When each node got our taint; a scheduler whose watches lag may learn of it later than of free room."""
        self._ours: dict[str, datetime] = {}
        """UIDs of guardians whose deletion we began."""

    def note(self, change: Change, view: View) -> None:
        """Keeps the promises up to date."""
        raise NotImplementedError

    def promises(self, node: str, view: View) -> Iterable[Promise]:
        """The promises that stand on a node."""
        raise NotImplementedError

    def fulfilled(self, promise: Promise) -> None:
        """Notes that a pod for which the room was promised has got it."""

    def judged(self, pod: Pod, lost: Promise, change: Change, view: View) -> Iterable[Finding]:
        """What follows from a promise that a pod has broken."""
        del view
        told = f"pod {pod.metadata.name} was bound to node {lost.node} into its room"
        yield Broken(told, (lost.ticket, subject_of(change)))

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        self._note_taint(change, view)
        was, pod = view.both(PODS)
        if was is not None and signs.is_guardian(was):
            begun = not signs.is_going(was) and (pod is None or signs.is_going(pod))
            if begun and signs.is_ours(change):
                self._ours[was.metadata.uid] = change.at
        self.note(change, view)
        if was is not None and pod is None:
            self._ours.pop(was.metadata.uid, None)
        if pod is not None and pod.spec.node_name and not (was and was.spec.node_name):
            yield from self._bound(pod, change, view)

    def _bound(self, pod: Pod, change: Change, view: View) -> Iterable[Finding]:
        node = pod.spec.node_name
        barred = self._barred.get(node)
        if self._lag and barred is not None and change.at - barred < self._lag:
            return
        owners = _owners(pod, view)
        room = view.rooms.bound(node)
        kept = next((p for p in self.promises(node, view) if p.owners & owners), None)
        if kept is not None:
            self.fulfilled(kept)
        for promise in self.promises(node, view):
            if promise is kept:
                continue
            if room.lacks(promise.demand):
                yield from self.judged(pod, promise, change, view)
                return
            room = room.with_pod(promise.demand)

    def _note_taint(self, change: Change, view: View) -> None:
        old, new = view.both(NODES)
        if change.resource != str(NODES):
            return
        if not _has_barrier(new):
            self._barred.pop(change.name, None)
        elif not _has_barrier(old):
            self._barred[change.name] = change.at


def _has_barrier(node: Node | None) -> bool:
    return node is not None and any(each.key == HANDOVER_TAINT for each in node.spec.taints)


def _owners(pod: Pod, view: View) -> frozenset[str]:
    """For whom a pod takes room: itself, and the ticket and the order of a guardian."""
    found = {pod.metadata.uid}
    if signs.is_guardian(pod):
        found |= {ref.uid for ref in pod.metadata.owner_references}
        ticket = signs.guarded(pod, view)
        ref = controller_of(ticket) if ticket is not None else None
        found |= {ref.uid} if ref is not None else set()
    return frozenset(found)


class ClaimedRoomIsKept(RoomIsKept):
    """Judged is room that we freed for a claimant; a pod that claims another ticket of the node has room of its own."""

    name = "claimed-room-is-kept"
    promise = "No other pod is bound into the room that guardians left for a pod that claims."

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._freed: dict[str, dict[str, datetime]] = {}
        """By node, the UIDs of tickets whose guardian we deleted while they were Claiming."""

    def note(self, change: Change, view: View) -> None:
        was, pod = view.both(PODS)
        if was is not None and signs.is_guardian(was) and was.spec.node_name:
            gone = pod is None or core.is_finished(pod)
            ticket = signs.guarded(was, view)
            ours = was.metadata.uid in self._ours
            if gone and ours and ticket is not None and _is_claiming(ticket):
                on = self._freed.setdefault(was.spec.node_name, {})
                on[ticket.metadata.uid] = change.at
        old, new = view.both(TICKETS)
        if old is not None and (new is None or not _is_claiming(new)):
            self._freed.get(old.status.node_name, {}).pop(old.metadata.uid, None)

    def promises(self, node: str, view: View) -> Iterator[Promise]:
        for uid, since in self._freed.get(node, {}).items():
            subject = view.bearer(uid)
            ticket = signs.ticket_at(subject, view) if subject is not None else None
            pod = granting.claimant(ticket, view) if ticket is not None else None
            if subject is None or ticket is None or pod is None:
                continue
            if not granting.is_open(granting.node_of(ticket, view), pod):
                continue
            owners = frozenset({uid, pod.metadata.uid})
            yield Promise(subject, node, noderoom.demand_of(pod), owners, since)

    def judged(self, pod: Pod, lost: Promise, change: Change, view: View) -> Iterable[Finding]:
        ticket = signs.ticket_named_by(pod, view)
        if ticket is not None and pod.metadata.uid in signs.holders(ticket):
            return ()
        return super().judged(pod, lost, change, view)


class BarriersStand(ClaimedRoomIsKept):
    """Between a guardian and its pod the room is free only behind the barrier; `protected-first` judges how that begins."""

    name = "barriers-stand"
    promise = "We remove a barrier only when no room behind it waits for a pod that claims."

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        yield from super().check(change, view)
        old, new = view.both(NODES)
        if new is None or not _has_barrier(old) or _has_barrier(new) or not signs.is_ours(change):
            return
        for promise in self.promises(change.name, view):
            if change.at - promise.since >= self._lag:
                told = f"the barrier of node {change.name} was removed before its pod was bound"
                yield Broken(told, (promise.ticket, subject_of(change)))

    def judged(self, pod: Pod, lost: Promise, change: Change, view: View) -> Iterable[Finding]:
        """Pods that are bound are judged elsewhere."""
        del pod, lost, change, view
        return ()


def _is_claiming(ticket: Ticket) -> bool:
    return ticket.status.phase is TicketPhase.CLAIMING and not signs.is_going(ticket)


class End(StrEnum):
    """How a pod that used a ticket left its room."""

    DELETED = "was deleted"
    FORCED = "was deleted without a grace period"
    FINISHED = "ended by itself"


class ReturningRoomIsKept(RoomIsKept):
    """`judged_ends` are the ends after which the room is guaranteed; others are a matter of speed, and counted."""

    name = "returning-room-is-kept"
    promise = "No other pod is bound into the room that a ticket takes back after use."
    reads = (ORDERS,)
    judged_ends: frozenset[End] = frozenset({End.DELETED})

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._users: dict[str, str] = {}
        """UIDs of pods that use tickets which return, each with its ticket's UID."""
        self._away: dict[str, dict[str, tuple[datetime, End]]] = {}
        self.lost: dict[End, int] = dict.fromkeys(End, 0)
        """How often room was lost, for measurements."""

    def note(self, change: Change, view: View) -> None:
        _, new = view.both(TICKETS)
        if new is not None and new.status.phase is TicketPhase.CLAIMED and _returns(new, view):
            for uid in signs.holders(new):
                self._users[uid] = new.metadata.uid
        was, pod = view.both(PODS)
        if was is None or not was.spec.node_name or core.is_finished(was):
            return
        if pod is not None and not core.is_finished(pod):
            return
        ticket = self._users.pop(was.metadata.uid, None)
        if ticket is not None:
            end = _end_of(was, pod)
            self._away.setdefault(was.spec.node_name, {})[ticket] = (change.at, end)

    def promises(self, node: str, view: View) -> Iterator[Promise]:
        away = self._away.get(node, {})
        for uid, (since, _) in tuple(away.items()):
            subject = view.bearer(uid)
            ticket = signs.ticket_at(subject, view) if subject is not None else None
            if subject is None or ticket is None or not self._awaited(ticket, since, view):
                del away[uid]
            elif granting.is_open(view.of(NODES).get(Key("", node)), Pod()):
                yield Promise(subject, node, _demand(ticket), frozenset({uid}), since)

    def judged(self, pod: Pod, lost: Promise, change: Change, view: View) -> Iterable[Finding]:
        del view
        bearer = next(iter(lost.owners))
        _, end = self._away[lost.node].pop(bearer)
        self.lost[end] += 1
        if end not in self.judged_ends:
            return
        told = (
            f"pod {pod.metadata.name} was bound to node {lost.node} into its room, whose pod {end}"
        )
        yield Broken(told, (lost.ticket, subject_of(change)))

    def _awaited(self, ticket: Ticket, since: datetime, view: View) -> bool:
        if signs.is_going(ticket) or ticket.status.phase in signs.ENDED:
            return False
        if view.now - since > _A_WHILE + self._late:
            return False
        return not any(map(signs.holds, signs.guardians(ticket, view)))


def _end_of(was: Pod, pod: Pod | None) -> End:
    if pod is not None and not signs.is_going(was):
        return End.FINISHED
    grace = was.metadata.deletion_grace_period_seconds if signs.is_going(was) else 0
    return End.DELETED if grace else End.FORCED


def _returns(ticket: Ticket, view: View) -> bool:
    order = signs.order_of(ticket, view)
    standing = order is not None and order.spec.daemon_set
    return ticket.spec.after_use is AfterUse.RESERVE or standing


def _demand(ticket: Ticket) -> Demand:
    """What the guardian of a ticket takes."""
    asked = {name: quantity.parse(amount) for name, amount in ticket.spec.requests.items()}
    return Demand({**noderoom.amounts(asked), "pods": 1})


class _Lost(NamedTuple):
    order: str
    promise: Promise
    pod: Subject


class RenewedRoomIsKept(RoomIsKept):
    """Judged a few seconds later, when it shows that a successor was made and has no room."""

    name = "renewed-room-is-kept"
    promise = (
        "No other pod is bound into the room of a ticket that its order replaces when it ends."
    )
    reads = (ORDERS,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._leaving: dict[str, tuple[str, Promise]] = {}
        """Guardians of tickets that ended, by their UID: the order's UID and the room."""
        self._free: dict[str, dict[str, tuple[str, Promise]]] = {}
        self._lost: dict[Subject, list[_Lost]] = {}

    def note(self, change: Change, view: View) -> None:
        was, pod = view.both(PODS)
        if was is None or not signs.is_guardian(was) or not was.spec.node_name:
            return
        if was.metadata.uid in self._ours and was.metadata.uid not in self._leaving:
            ticket = signs.guarded(was, view)
            order = signs.order_of(ticket, view) if ticket is not None else None
            if ticket is not None and order is not None and _is_renewed(ticket, order):
                promise = Promise(
                    signs.about(ticket),
                    was.spec.node_name,
                    noderoom.demand_of(was),
                    frozenset({order.metadata.uid}),
                    change.at,
                )
                self._leaving[was.metadata.uid] = order.metadata.uid, promise
        if pod is None and was.metadata.uid in self._leaving:
            order_uid, promise = self._leaving.pop(was.metadata.uid)
            free = self._free.setdefault(was.spec.node_name, {})
            free[was.metadata.uid] = order_uid, promise._replace(since=change.at)

    def promises(self, node: str, view: View) -> Iterator[Promise]:
        free = self._free.get(node, {})
        for uid, (_, promise) in tuple(free.items()):
            if view.now - promise.since > _A_WHILE + self._late:
                del free[uid]
            else:
                yield promise

    def judged(self, pod: Pod, lost: Promise, change: Change, view: View) -> Iterable[Finding]:
        del pod
        order = self._drop(lost)
        about = view.bearer(order)
        if about is not None:
            found = _Lost(order, lost, subject_of(change))
            self._lost.setdefault(about, []).append(found)
            yield Later(change.at + _AROUND + self._late, about)

    def fulfilled(self, promise: Promise) -> None:
        self._drop(promise)

    def _drop(self, promise: Promise) -> str:
        """Forgets a promise; returns the order's UID."""
        free = self._free[promise.node]
        guardian = next(uid for uid, (_, each) in free.items() if each is promise)
        return free.pop(guardian)[0]

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        lost = self._lost.pop(subject, [])
        order = view.of(ORDERS).get(Key(subject.namespace, subject.name))
        if order is None or signs.is_going(order) or order.spec.paused:
            return
        for each in lost:
            waiting = [t for t in view.owned(TICKETS, each.order) if _waits(t, order, each, view)]
            if waiting and order.metadata.uid == each.order:
                told = (
                    f"pod {each.pod.name} was bound to node {each.promise.node} into the room of"
                    f" ticket {each.promise.ticket.name}; its successor"
                    f" {waiting[0].metadata.name} waits"
                )
                yield Broken(told, (subject, each.promise.ticket, each.pod))
                return


def _is_renewed(ticket: Ticket, order: Order) -> bool:
    """Whether an order replaces this ticket because its time is over."""
    if signs.is_going(order) or order.spec.paused:
        return False
    if ticket.status.phase is not TicketPhase.EXPIRED and not signs.is_going(ticket):
        return False
    kind, policy = type_of(order), policy_of(order)
    if kind is StrategyType.ONE_TIME:
        return policy is RefreshPolicy.ALWAYS
    return kind is StrategyType.RECURRING


def _waits(ticket: Ticket, order: Order, lost: _Lost, view: View) -> bool:
    """Whether a ticket is a successor that has no room."""
    strategy = order.spec.strategy
    lead = duration.parse(strategy.lead_time).timedelta if strategy and strategy.lead_time else None
    made = ticket.metadata.creation_timestamp
    earliest = lost.promise.since - _AROUND - (lead or timedelta())
    return (
        ticket.status.phase in (None, TicketPhase.PENDING)
        and not signs.is_going(ticket)
        and made is not None
        and made >= earliest
        and not any(map(signs.holds, signs.guardians(ticket, view)))
    )
