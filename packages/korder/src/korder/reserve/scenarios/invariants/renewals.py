"""Renewals against competitors: the room of a ticket that its order replaces when its time is over goes to no other pod in between."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple

from korder.api.reserve import (
    ORDERS,
    TICKETS,
    Order,
    RefreshPolicy,
    StrategyType,
    Ticket,
    TicketPhase,
)
from korder.reserve.scenarios.invariants import facts
from korder.reserve.scenarios.invariants.competition import A_WHILE, Promise, RoomIsKept
from korder.reserve.scenarios.invariants.tickets_made import policy_of, type_of
from kubeloop.objects import duration, node_room
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Key
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Later, Tolerance
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of

_AROUND = timedelta(seconds=5)
"""How long after the end of a ticket its successor may be made."""


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
        if was is None or not facts.is_guardian(was) or not was.spec.node_name:
            return
        if was.metadata.uid in self._ours and was.metadata.uid not in self._leaving:
            ticket = facts.guarded(was, view)
            order = facts.order_of(ticket, view) if ticket is not None else None
            if ticket is not None and order is not None and _is_renewed(ticket, order):
                promise = Promise(
                    facts.about(ticket),
                    was.spec.node_name,
                    node_room.demand_of(was),
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
            if view.now - promise.since > A_WHILE + self._late:
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
        if order is None or facts.is_going(order) or order.spec.paused:
            return
        for each in lost:
            waiting = [t for t in view.owned(TICKETS, each.order) if _waits(t, order, each, view)]
            if waiting and order.metadata.uid == each.order:
                stated = (
                    f"pod {each.pod.name} was bound to node {each.promise.node} into the room of"
                    f" ticket {each.promise.ticket.name}; its successor"
                    f" {waiting[0].metadata.name} waits"
                )
                yield Broken(stated, (subject, each.promise.ticket, each.pod))
                return


def _is_renewed(ticket: Ticket, order: Order) -> bool:
    """Whether an order replaces this ticket because its time is over."""
    if facts.is_going(order) or order.spec.paused:
        return False
    if ticket.status.phase is not TicketPhase.EXPIRED and not facts.is_going(ticket):
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
        and not facts.is_going(ticket)
        and made is not None
        and made >= earliest
        and not any(map(facts.holds, facts.guardians(ticket, view)))
    )
