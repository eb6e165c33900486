"""Room against competitors: what a ticket hands over, renews or takes back goes to no other pod in between.

Each invariant keeps the promises of one sort: room on a node that no pod takes at the moment and that is for certain pods. When another
pod is bound to the node and the promises do not fit beside it any more, the room was given away. Room that others
freed (a guardian deleted by hand, a node that failed) is promised to no pod.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from korder.api.reserve import (
    ENDED_PHASES,
    HANDOVER_TAINT,
    ORDERS,
    TICKETS,
    AfterUse,
    Reason,
    Ticket,
    TicketPhase,
)
from korder.reserve.scenarios.invariants import facts, grants
from kubeloop.objects import core, node_room, quantity
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import Key, controller_of
from kubeloop.objects.node_room import Demand
from kubeloop.objects.quantity import Quantity
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of
from pocketkube.simulation.programs import NODES as NODES_PROGRAM

_UNDONE = frozenset({Reason.CLAIM_UNDONE, Reason.NEVER_BOUND})
_HELD = frozenset({TicketPhase.RESERVED, TicketPhase.CLAIMING})
A_WHILE = timedelta(seconds=10)
"""How long room that a ticket is to have again stays promised; later its loss has other causes."""


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
        stated = f"pod {pod.metadata.name} was bound to node {lost.node} into its room"
        yield Broken(stated, (lost.ticket, subject_of(change)))

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        self._note_taint(change, view)
        was, pod = view.both(PODS)
        if was is not None and facts.is_guardian(was):
            begun = not facts.is_going(was) and (pod is None or facts.is_going(pod))
            if begun and facts.is_ours(change):
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
    if facts.is_guardian(pod):
        found |= {ref.uid for ref in pod.metadata.owner_references}
        ticket = facts.guarded(pod, view)
        ref = controller_of(ticket) if ticket is not None else None
        found |= {ref.uid} if ref is not None else set()
    return frozenset(found)


class _Freed(NamedTuple):
    since: datetime
    claimant: str | None
    """The UID of the pod for which room was freed."""


class ClaimedRoomIsKept(RoomIsKept):
    """Judged is room that we freed for a claimant, until that pod has it or a guardian holds it again.

    Also when the claim is undone meanwhile, because the pod is gone or was not bound in time: such a pod may still be bound late. A pod
    that claims another ticket of the node has room of its own.
    """

    name = "claimed-room-is-kept"
    promise = (
        "No other pod is bound into the room that guardians left for a pod that claims, also when"
        " the claim is undone."
    )

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._freed: dict[str, dict[str, _Freed]] = {}
        """By node and UID of the ticket, what guardians that we deleted for a claim have left."""
        self._claimants: dict[str, str] = {}
        """The UIDs of the pods that claim or last claimed each ticket."""

    def note(self, change: Change, view: View) -> None:
        was, pod = view.both(PODS)
        if was is not None and facts.is_guardian(was) and was.spec.node_name:
            gone = pod is None or core.is_finished(pod)
            ticket = facts.guarded(was, view)
            ours = was.metadata.uid in self._ours
            if gone and ours and ticket is not None and _is_vacated(ticket, was.spec.node_name):
                on = self._freed.setdefault(was.spec.node_name, {})
                on[ticket.metadata.uid] = _Freed(
                    change.at, self._claimants.get(ticket.metadata.uid)
                )
        if pod is not None and was is not None and pod.spec.node_name and not was.spec.node_name:
            freed = self._freed.get(pod.spec.node_name, {})
            for uid in [uid for uid, each in freed.items() if each.claimant == pod.metadata.uid]:
                del freed[uid]
        old, new = view.both(TICKETS)
        if new is not None and new.status.phase is TicketPhase.CLAIMING and new.status.claimed_by:
            self._claimants[new.metadata.uid] = new.status.claimed_by.uid
        elif old is not None and new is None:
            self._claimants.pop(old.metadata.uid, None)
        if old is not None and (new is None or not _is_vacated(new, old.status.node_name)):
            self._freed.get(old.status.node_name, {}).pop(old.metadata.uid, None)

    def promises(self, node: str, view: View) -> Iterator[Promise]:
        for uid, (since, claimant) in self._freed.get(node, {}).items():
            subject = view.bearer(uid)
            ticket = facts.ticket_at(subject, view) if subject is not None else None
            if subject is None or ticket is None:
                continue
            pod = grants.claimant(ticket, view)
            if not grants.is_open(view.of(NODES).get(Key("", node)), pod or Pod()):
                continue
            owners = frozenset({uid, claimant or uid})
            if pod is not None:
                yield Promise(subject, node, node_room.demand_of(pod), owners, since)
            elif not any(map(facts.holds, facts.guardians(ticket, view))):
                yield Promise(subject, node, _demand(facts.left(ticket)), owners, since)

    def judged(self, pod: Pod, lost: Promise, change: Change, view: View) -> Iterable[Finding]:
        ticket = facts.ticket_named_by(pod, view)
        if ticket is not None and pod.metadata.uid in facts.holders(ticket):
            return ()
        return super().judged(pod, lost, change, view)


class BarriersStand(ClaimedRoomIsKept):
    """Room that we free for a claim is free only behind the barrier; `protected-first` judges how that begins."""

    name = "barriers-stand"
    promise = (
        "We remove a barrier only when no room behind it waits for a pod that claims, or for the"
        " guardian of a ticket whose claim was undone."
    )

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        yield from super().check(change, view)
        old, new = view.both(NODES)
        if new is None or not _has_barrier(old) or _has_barrier(new) or not facts.is_ours(change):
            return
        for promise in self.promises(change.name, view):
            if change.at - promise.since >= self._lag:
                stated = f"the barrier of node {change.name} was removed before its room was taken"
                yield Broken(stated, (promise.ticket, subject_of(change)))

    def judged(self, pod: Pod, lost: Promise, change: Change, view: View) -> Iterable[Finding]:
        """Pods that are bound are judged elsewhere."""
        del pod, lost, change, view
        return ()


def _is_vacated(ticket: Ticket, node: str) -> bool:
    """Whether room on a node that a guardian left belongs to its ticket: it is claimed, or the claim was undone."""
    status = ticket.status
    undone = status.phase is TicketPhase.PENDING and status.reason in _UNDONE
    if facts.is_going(ticket) or status.node_name != node:
        return False
    return status.phase is TicketPhase.CLAIMING or undone


class End(StrEnum):
    """How a pod that used a ticket left its room."""

    DELETED = "was deleted"
    FORCED = "was deleted without a grace period"
    FINISHED = "ended by itself"
    SLOW = "was deleted and took more than five minutes to stop"


JUDGED_ENDS = frozenset({End.DELETED})
"""The ends after which the room is guaranteed."""
FORCED_ENDS = frozenset({End.DELETED, End.FORCED})
"""The same with `--return-finalizer`."""
_LONGEST_STOP = timedelta(minutes=5)
"""How long a node is kept from other pods while a pod terminates."""


class ReturningRoomIsKept(RoomIsKept):
    """Judged are the ends after which the room is guaranteed; others are a matter of speed, and counted."""

    name = "returning-room-is-kept"
    promise = "No other pod is bound into the room that a ticket takes back after use."
    reads = (ORDERS,)

    def __init__(
        self, tolerance: Tolerance = CALM, judged_ends: frozenset[End] = JUDGED_ENDS
    ) -> None:
        super().__init__(tolerance)
        self._judged_ends = judged_ends
        self._users: dict[str, str] = {}
        """UIDs of pods that use tickets which return, each with its ticket's UID."""
        self._going: dict[str, tuple[int, datetime]] = {}
        """UIDs of such pods whose deletion has begun: the grace period they were given, and when."""
        self._away: dict[str, dict[str, tuple[datetime, End]]] = {}
        self.ended: dict[End, int] = dict.fromkeys(End, 0)
        """How often a pod left room that its ticket takes back, by how it ended."""
        self.lost: dict[End, int] = dict.fromkeys(End, 0)
        """How often another pod took that room."""

    @property
    def figures(self) -> Mapping[str, int]:
        """For each end how many pods left room that their ticket takes back, and how often another pod took it."""
        left = {f"pod with a returning ticket {end}": number for end, number in self.ended.items()}
        lost = {
            f"pod with a returning ticket {end}, room lost": number
            for end, number in self.lost.items()
        }
        return {name: number for name, number in (left | lost).items() if number}

    def note(self, change: Change, view: View) -> None:
        _, new = view.both(TICKETS)
        if new is not None and new.status.phase is TicketPhase.CLAIMED and _returns(new, view):
            for uid in facts.holders(new):
                self._users[uid] = new.metadata.uid
        if new is not None and new.status.phase in _HELD:
            self._away.get(new.status.node_name, {}).pop(new.metadata.uid, None)
        was, pod = view.both(PODS)
        if was is None or not was.spec.node_name or core.is_finished(was):
            return
        if was.metadata.uid in self._users:
            self._note_deletion(was, pod, change)
        if pod is not None and not core.is_finished(pod):
            return
        ticket = self._users.pop(was.metadata.uid, None)
        if ticket is not None:
            end = self._end_of(was.metadata.uid, change.at)
            self.ended[end] += 1
            self._away.setdefault(was.spec.node_name, {})[ticket] = (change.at, end)

    def _note_deletion(self, was: Pod, pod: Pod | None, change: Change) -> None:
        """Keeps the grace period with which a deletion began: a kubelet ends it when the containers have stopped."""
        meta = (pod or was).metadata
        grace = meta.deletion_grace_period_seconds if pod is not None else 0
        begins = meta.uid not in self._going and (pod is None or facts.is_going(pod))
        forced = not grace and not facts.is_ours(change) and change.by != NODES_PROGRAM
        if begins or (meta.uid in self._going and forced):
            self._going[meta.uid] = grace or 0, change.at

    def _end_of(self, uid: str, now: datetime) -> End:
        grace, since = self._going.pop(uid, (None, now))
        if grace is None:
            return End.FINISHED
        if not grace:
            return End.FORCED
        return End.SLOW if now - since > _LONGEST_STOP else End.DELETED

    def promises(self, node: str, view: View) -> Iterator[Promise]:
        away = self._away.get(node, {})
        for uid, (since, _) in tuple(away.items()):
            subject = view.bearer(uid)
            ticket = facts.ticket_at(subject, view) if subject is not None else None
            if subject is None or ticket is None or not self._awaited(ticket, since, view):
                del away[uid]
            elif grants.is_open(view.of(NODES).get(Key("", node)), Pod()):
                yield Promise(subject, node, _demand(_asked(ticket)), frozenset({uid}), since)

    def fulfilled(self, promise: Promise) -> None:
        self._away[promise.node].pop(next(iter(promise.owners)))

    def judged(self, pod: Pod, lost: Promise, change: Change, view: View) -> Iterable[Finding]:
        del view
        bearer = next(iter(lost.owners))
        _, end = self._away[lost.node].pop(bearer)
        self.lost[end] += 1
        if end not in self._judged_ends:
            return
        stated = (
            f"pod {pod.metadata.name} was bound to node {lost.node} into its room, whose pod {end}"
        )
        yield Broken(stated, (lost.ticket, subject_of(change)))

    def _awaited(self, ticket: Ticket, since: datetime, view: View) -> bool:
        if facts.is_going(ticket) or ticket.status.phase in ENDED_PHASES:
            return False
        if view.now - since > A_WHILE + self._late:
            return False
        return not any(map(facts.holds, facts.guardians(ticket, view)))


def _returns(ticket: Ticket, view: View) -> bool:
    order = facts.order_of(ticket, view)
    standing = order is not None and order.spec.daemon_set
    return ticket.spec.after_use is AfterUse.RESERVE or standing


def _asked(ticket: Ticket) -> dict[str, Quantity]:
    """What a ticket asks for, whoever shares it."""
    return {name: quantity.parse(amount) for name, amount in ticket.spec.requests.items()}


def _demand(amounts: Mapping[str, Quantity]) -> Demand:
    """What a guardian of this size takes."""
    return Demand({**node_room.amounts(amounts), "pods": 1})
