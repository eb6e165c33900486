"""The hand-over of a node's room, from guardians to the pods that claim it: nobody else gets in between.

A batch is what is under way on a node: pods of Claiming tickets that are nominated to it and not let go yet. On a node with room for a
pod beside its guardian there is no gap to guard, so there a pod may go first.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from korder.api.reserve import HANDOVER_TAINT, TICKETS, Ticket, TicketPhase
from korder.reserve.scenarios.invariants import facts
from kubeloop.objects import node_room
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import Key
from kubeloop.objects.node_room import Demand
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.punctual import Punctual
from pocketkube.simulation.auditing.recent import Recent
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, subject_of


class ClaimsEnd(Punctual[Ticket]):
    """A claim has a deadline from its first moment, so the deadline cannot be missing."""

    name = "claims-end"
    promise = "A hand-over is over at its deadline, done or undone."
    kind = TICKETS
    action = "done or undone"

    def due(self, obj: Ticket) -> datetime | None:
        if obj.status.phase is not TicketPhase.CLAIMING or facts.is_going(obj):
            return None
        return obj.status.claim_deadline or obj.metadata.creation_timestamp

    def done(self, obj: Ticket) -> bool:
        return obj.status.phase is not TicketPhase.CLAIMING

    def may_be_early(self, obj: Ticket, change: Change, view: View) -> bool:
        del obj, change, view
        return True


class DeadlinesStand(Invariant):
    """Else a hand-over could be put off for ever."""

    name = "deadlines-stand"
    promise = "The deadline of a hand-over does not move."
    resources = (TICKETS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(TICKETS)
        if old is None or new is None or facts.holders(old) != facts.holders(new):
            return
        both = old.status.phase, new.status.phase
        was, now = old.status.claim_deadline, new.status.claim_deadline
        if both == (TicketPhase.CLAIMING, TicketPhase.CLAIMING) and was != now:
            yield Broken(f"its deadline moved from {was} to {now}", (subject_of(change),))


class ProtectedFirst(Invariant):
    """The scheduler keeps the gap behind a barrier, or for a nominated pod; a pod that is bound or terminates needs no gap.

    A barrier may be removed and a nomination withdrawn from outside, which takes a moment to be seen. Room on a node from which a
    ticket has moved is not handed over.
    """

    name = "protected-first"
    promise = "A guardian makes way for a pod only behind a barrier on its node, or if the pod is nominated to it."
    resources = (PODS, NODES)
    reads = (TICKETS,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._nominated: Recent[str, str] = Recent(tolerance.stale)
        self._barriers: Recent[str, str] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        self._note(change, view)
        was, now = view.both(PODS)
        if was is None or not facts.is_guardian(was) or not facts.holds(was):
            return
        if not facts.is_ours(change) or (now is not None and not facts.is_going(now)):
            return
        ticket = facts.guarded(was, view)
        if ticket is None or ticket.status.phase is not TicketPhase.CLAIMING:
            return
        if ticket.status.node_name != was.spec.node_name:
            return
        claim = ticket.status.claimed_by
        pod = facts.pod_of(claim.uid, view) if claim is not None else None
        if pod is None or not facts.lives(pod) or pod.spec.node_name:
            return
        place = was.spec.node_name
        node = view.of(NODES).get(Key("", place))
        if _has_barrier(node) or any(self._barriers.of(place, change.at)):
            return
        known = {pod.status.nominated_node_name, *self._nominated.of(pod.metadata.uid, change.at)}
        if place not in known:
            stated = f"it left node {place} without a barrier for pod {pod.metadata.name}"
            yield Broken(stated, (subject_of(change), facts.about_pod(pod), facts.about(ticket)))

    def _note(self, change: Change, view: View) -> None:
        """Keeps what has just ended: a barrier, a nomination."""
        before, after = view.both(NODES)
        if before is not None and _has_barrier(before) and not _has_barrier(after):
            self._barriers.ended(before.metadata.name, before.metadata.uid, change.at)
        was, now = view.both(PODS)
        place = was.status.nominated_node_name if was is not None else ""
        if place and now is not None and place != now.status.nominated_node_name:
            self._nominated.ended(now.metadata.uid, place, change.at)


def _has_barrier(node: Node | None) -> bool:
    return node is not None and any(taint.key == HANDOVER_TAINT for taint in node.spec.taints)


class BarrierHolds(Invariant):
    """Spec 1.15. What a pod took a moment ago nobody may have known yet."""

    name = "barrier-holds"
    promise = "No pod is let go on a full node while a guardian of its batch exists."
    resources = (PODS, TICKETS)
    reads = (NODES,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._taken: Recent[str, tuple[str, Demand]] = Recent(tolerance.stale)
        self._claiming: dict[str, dict[str, None]] = {}

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        self._note(view)
        old, pod = view.both(PODS)
        if pod is None:
            return
        if pod.spec.node_name and (old is None or not old.spec.node_name):
            taken = pod.metadata.uid, node_room.demand_of(pod)
            self._taken.ended(pod.spec.node_name, taken, change.at)
        ticket = facts.ticket_named_by(pod, view) if facts.is_let_go(change, old, pod) else None
        if ticket is None or pod.metadata.uid not in facts.holders(ticket):
            return
        node, batch = ticket.status.node_name, [*self._batch(ticket, view)]
        for other in batch:
            standing = [g for g in facts.guardians(other, view) if _keeps(g, node, other, ticket)]
            if standing and not self._has_room(pod, batch, change, view):
                stated = f"it was let go on {node} while guardian {standing[0].metadata.name} stood"
                yield Broken(stated, (subject_of(change), *map(facts.about_pod, standing)))

    def _note(self, view: View) -> None:
        old, new = view.both(TICKETS)
        for ticket in (old, new):
            if ticket is not None:
                self._claiming.get(ticket.status.node_name, {}).pop(ticket.metadata.uid, None)
        if new is not None and new.status.phase is TicketPhase.CLAIMING:
            self._claiming.setdefault(new.status.node_name, {})[new.metadata.uid] = None

    def _batch(self, ticket: Ticket, view: View) -> Iterable[Ticket]:
        """The ticket itself, and those of its node whose pods are nominated and still wait."""
        yield ticket
        for uid in self._claiming.get(ticket.status.node_name, {}):
            subject = view.bearer(uid)
            other = facts.ticket_at(subject, view) if subject is not None else None
            claim = other.status.claimed_by if other is not None else None
            pod = facts.pod_of(claim.uid, view) if claim is not None else None
            if other is None or pod is None or other is ticket or not facts.is_gated(pod):
                continue
            if pod.status.nominated_node_name == ticket.status.node_name and facts.lives(pod):
                yield other

    def _has_room(self, pod: Pod, batch: Sequence[Ticket], change: Change, view: View) -> bool:
        """Whether a pod fits beside all that is there and all that is nominated, as far as one could know."""
        node = batch[0].status.node_name
        room = view.rooms.bound(node)
        for ticket in batch[1:]:
            claim = ticket.status.claimed_by
            waiting = facts.pod_of(claim.uid, view) if claim is not None else None
            if waiting is not None:
                room = room.with_pod(node_room.demand_of(waiting))
        ours = {each.metadata.uid for ticket in batch for each in facts.guardians(ticket, view)}
        for uid, demand in self._taken.of(node, change.at):
            room = room if uid in ours else room.without_pod(demand)
        return not room.shortages(node_room.demand_of(pod))


def _keeps(guardian: Pod, node: str, other: Ticket, ticket: Ticket) -> bool:
    """Whether a guardian takes room of the batch; the smaller one of a shared ticket belongs there."""
    if other is ticket and not ticket.spec.allocate_once:
        return facts.asked_by(guardian) != facts.left(ticket) and guardian.spec.node_name == node
    return guardian.spec.node_name == node


class ClaimedWhereHeld(Invariant):
    """A pod that has just ended may still be taken for one that runs."""

    name = "claimed-where-held"
    promise = "A ticket becomes Claimed when its pod is on the ticket's node, and not before."
    resources = (TICKETS, PODS)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._gone: Recent[str, str] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        was, pod = view.both(PODS)
        if was is not None and pod is None:
            self._gone.ended(was.metadata.uid, was.spec.node_name, change.at)
        old, new = view.both(TICKETS)
        if new is None or new.status.phase is not TicketPhase.CLAIMED:
            return
        known = facts.holders(old) if old and old.status.phase is TicketPhase.CLAIMED else set()
        for uid in sorted(facts.holders(new) - known):
            owner = facts.pod_of(uid, view)
            places = {owner.spec.node_name} if owner else {*self._gone.of(uid, change.at)}
            if new.status.node_name not in places:
                where = ", ".join(sorted(places)) or "none"
                stated = f"it is Claimed on node {new.status.node_name}, its pod is on {where}"
                yield Broken(stated, (subject_of(change),))
