"""Claims that were granted: each ends with its pod bound on the ticket's node, or is undone with a reason, within seconds.

A granted claim is a ticket that is Claiming. The node is open for its pod while it is ready, not cordoned, and has no taint that the pod
does not tolerate; our own taint does not count. A pod is bindable if a scheduler that exists can bind it there: what only
the scheduler can know, such as a missing volume, is not judged.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from korder.api.reserve import HANDOVER_TAINT, TICKET_BOUND_CONDITION, TICKETS, Ticket, TicketPhase
from korder.reserve.scenarios.invariants import facts
from korder.reserve.scenarios.invariants.guardians import OfHoldings
from korder.reserve.scenarios.invariants.holdings import Holdings
from kubeloop.objects import core, scheduling
from kubeloop.objects.core import NAMESPACES, NODES, PODS, Node, Pod
from kubeloop.objects.meta import Key, controller_of
from pocketkube.simulation.auditing import refusals
from pocketkube.simulation.auditing.invariant import (
    CALM,
    Broken,
    Finding,
    Invariant,
    Kinds,
    Tolerance,
)
from pocketkube.simulation.auditing.lasting import Lasting, paused_until
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of

_SCHEDULERS = frozenset({"", "default-scheduler"})
_SILENT_FOR = timedelta(seconds=29)
"""How long a pod waits for a scheduler that is away before its claim may be undone; instants are cut to seconds."""


def is_open(node: Node | None, pod: Pod) -> bool:
    """Whether a node takes the pod, apart from its room and from our taint."""
    return (
        node is not None
        and core.is_ready(node)
        and not facts.is_going(node)
        and scheduling.cordoned(pod.spec, node) is None
        and scheduling.tainted(pod.spec, node, {HANDOVER_TAINT}) is None
        and scheduling.selector_mismatch(pod.spec, node) is None
    )


def is_bindable(pod: Pod) -> bool:
    """Whether a scheduler that runs looks after a pod, and the pod depends on no others."""
    affinity = pod.spec.affinity
    social = affinity is not None and affinity.pod_affinity is not None
    return pod.spec.scheduler_name in _SCHEDULERS and not social


def claimant(ticket: Ticket, view: View) -> Pod | None:
    """The pod that claims a ticket, as long as it lives and has no node."""
    claim = ticket.status.claimed_by
    if ticket.status.phase is not TicketPhase.CLAIMING or claim is None or facts.is_going(ticket):
        return None
    pod = facts.pod_of(claim.uid, view)
    return pod if pod is not None and facts.lives(pod) and not pod.spec.node_name else None


def is_hindered(ticket: Ticket, pod: Pod, view: View) -> bool:
    """Whether a claim waits for others of its own: its pods cannot be changed, or a finalizer keeps its guardian."""
    spaces = {ticket.metadata.namespace, pod.metadata.namespace}
    if any(refusals.is_refusing(each, view) for each in spaces):
        return True
    return any(each.metadata.finalizers for each in facts.guardians(ticket, view))


def node_of(ticket: Ticket, view: View) -> Node | None:
    """The node on which a ticket holds its room."""
    return view.of(NODES).get(Key("", ticket.status.node_name))


class ClaimsAreKept(Invariant):
    """A guardian that others delete takes the room with it; where processes are down, a claim may run into its deadline.

    A scheduler that is away may leave a pod unbound for half a minute; then the room goes back to its ticket.
    """

    name = "claims-are-kept"
    promise = "A claim whose pod was let go is not given up while the pod is bindable and its node is open."
    resources = (TICKETS, PODS)
    reads = (NODES,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._tolerance = tolerance
        self._disturbed: dict[str, None] = {}
        """UIDs of tickets whose guardian was deleted by others during the claim."""
        self._let_go: dict[str, datetime] = {}
        """When each pod that has no node yet was let go, by its UID."""

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        self._note(change, view)
        old, new = view.both(TICKETS)
        if old is None or old.status.phase is not TicketPhase.CLAIMING:
            return
        uid = old.metadata.uid
        if new is not None and facts.holders(new) >= facts.holders(old):
            return
        disturbed = uid in self._disturbed
        self._disturbed.pop(uid, None)
        if new is None or facts.is_going(new) or disturbed or not facts.is_ours(change):
            return
        pod = claimant(old, view)
        if pod is None or facts.is_gated(pod) or not is_bindable(pod):
            return
        if not self._is_excused(old, pod, change, view) and is_open(node_of(old, view), pod):
            stated = f"pod {pod.metadata.name} lost it on node {old.status.node_name}, which is open: {new.status.reason}"
            yield Broken(stated, (subject_of(change), facts.about_pod(pod)))

    def _note(self, change: Change, view: View) -> None:
        """Keeps when pods were let go, and which guardians went during a claim."""
        was, now = view.both(PODS)
        if was is not None and facts.is_guardian(was) and facts.holds(was):
            gone = now is None or not facts.holds(now)
            ticket = facts.guarded(was, view)
            if gone and ticket is not None and not facts.is_ours(change):
                self._disturbed[ticket.metadata.uid] = None
        if facts.is_let_go(change, was, now) and now is not None:
            self._let_go[now.metadata.uid] = change.at
        if was is not None and (now is None or now.spec.node_name):
            self._let_go.pop(was.metadata.uid, None)

    def _is_excused(self, ticket: Ticket, pod: Pod, change: Change, view: View) -> bool:
        """Whether processes were away for so long that the claim may be given up."""
        deadline, late = ticket.status.claim_deadline, self._tolerance.late
        if late and deadline is not None and change.at >= deadline - self._tolerance.skew:
            return True
        since = self._let_go.get(pod.metadata.uid, change.at)
        paused = paused_until(self._tolerance.pauses, since, view) is not None
        return paused and change.at - since >= _SILENT_FOR


class _OfPinned(Lasting):
    """What is judged of pods that were let go with a ticket, until they have a node."""

    resources = (PODS, TICKETS)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._holdings = Holdings()
        self._pinned: dict[str, Subject] = {}

    def concerned(self, change: Change, view: View) -> Iterable[Subject]:
        old, pod = view.both(PODS)
        if facts.is_let_go(change, old, pod) and pod is not None:
            self._pinned[pod.metadata.uid] = subject_of(change)
        if old is not None and (pod is None or pod.spec.node_name):
            self._pinned.pop(old.metadata.uid, None)
        before, after = view.both(TICKETS)
        touched = {*facts.holders(before), *facts.holders(after)}
        if change.resource == str(TICKETS):
            self._holdings.note(change, view)
        if change.resource == str(PODS):
            yield subject_of(change)
        for uid in sorted(touched & self._pinned.keys()):
            yield self._pinned[uid]

    def orphan(self, subject: Subject, view: View) -> Pod | None:
        """The pod, if it is pinned without a node and without a ticket."""
        pod = view.of(PODS).get(Key(subject.namespace, subject.name))
        if pod is None or pod.metadata.uid not in self._pinned:
            return None
        if not facts.lives(pod) or pod.spec.node_name or self._holdings.of(pod.metadata.uid):
            return None
        return pod


class PinnedPodsHaveTickets(_OfPinned):
    """A pod without a controller keeps its pin; its condition says why it has no ticket."""

    name = "pinned-pods-have-tickets"
    promise = "A pod that we pinned to a node has a ticket there, or a condition that says why it has none."

    def wrong(self, subject: Subject, view: View) -> str:
        pod = self.orphan(subject, view)
        if pod is None:
            return ""
        stated = core.reported(pod.status.conditions, TICKET_BOUND_CONDITION)
        if stated is not None and stated.status == "False" and stated.reason:
            return ""
        return "it is pinned to a node without a ticket, and no condition says why"


class StuckPodsAreRecreated(_OfPinned):
    """Recreation may back off."""

    name = "stuck-pods-are-recreated"
    promise = "A pod that is pinned without a ticket is deleted if its controller recreates it."
    patience = timedelta(minutes=5)

    def wrong(self, subject: Subject, view: View) -> str:
        pod = self.orphan(subject, view)
        if pod is None or controller_of(pod) is None:
            return ""
        return "it is pinned to a node without a ticket, and its controller could recreate it"


class ClaimsAreSwift(OfHoldings):
    """Hand-overs of other tickets on the node take seconds; a pod that can never be bound must not hold them up."""

    name = "claims-are-swift"
    promise = (
        "A claim whose pod is bindable and whose node is open is bound or undone within 15 seconds."
    )
    resources: Kinds = (TICKETS, PODS, NODES)
    reads = (NAMESPACES,)
    patience = timedelta(seconds=15)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._on: dict[str, dict[Subject, None]] = {}

    def concerned(self, change: Change, view: View) -> Iterable[Subject]:
        old, new = view.both(TICKETS)
        if change.resource == str(TICKETS):
            for ticket in (old, new):
                if ticket is not None:
                    self._on.get(ticket.status.node_name, {}).pop(subject_of(change), None)
            if new is not None and new.status.phase is TicketPhase.CLAIMING:
                self._on.setdefault(new.status.node_name, {})[subject_of(change)] = None
        if change.resource == str(NODES):
            return [*self._on.get(change.name, ())]
        return super().concerned(change, view)

    def wrong(self, subject: Subject, view: View) -> str:
        ticket = facts.ticket_at(subject, view)
        pod = claimant(ticket, view) if ticket is not None else None
        if ticket is None or pod is None or not is_bindable(pod):
            return ""
        if not is_open(node_of(ticket, view), pod) or is_hindered(ticket, pod, view):
            return ""
        return (
            f"pod {pod.metadata.name} waits for it on node {ticket.status.node_name}, which is open"
        )


class UnboundClaimsLeave(OfHoldings):
    """Judged of every claimant whose guardian is gone, also of one that no scheduler can bind: its node has a barrier meanwhile."""

    name = "unbound-claims-leave"
    promise = "A pod that was let go in place of its guardian is bound, or its claim undone, within 15 seconds."
    reads = (NODES, NAMESPACES)
    patience = timedelta(seconds=15)

    def wrong(self, subject: Subject, view: View) -> str:
        ticket = facts.ticket_at(subject, view)
        pod = claimant(ticket, view) if ticket is not None else None
        if ticket is None or pod is None or facts.is_gated(pod):
            return ""
        if is_hindered(ticket, pod, view):
            return ""
        if any(map(facts.holds, facts.guardians(ticket, view))) or not node_of(ticket, view):
            return ""
        return f"pod {pod.metadata.name} is not bound to node {ticket.status.node_name}"


class UndoneWithReason(Invariant):
    """A ticket whose guardian still stands is Reserved again, and an Event has the reason."""

    name = "undone-with-a-reason"
    promise = "A ticket whose claim is undone is Reserved again, or has a reason why it is not."
    resources = (TICKETS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(TICKETS)
        if old is None or new is None or old.status.phase is not TicketPhase.CLAIMING:
            return
        if new.status.phase is TicketPhase.PENDING and not new.status.reason:
            yield Broken("its claim was undone without a reason", (subject_of(change),))


class TaintsAreBrief(Lasting):
    """A restart may leave the taint for as long as it takes to start."""

    name = "taints-are-brief"
    promise = "A node has our hand-over taint only while a ticket on it is handed over or returns."
    resources = (NODES, TICKETS)
    reads = (PODS,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._on: dict[str, dict[Subject, None]] = {}

    def concerned(self, change: Change, view: View) -> Iterable[Subject]:
        if change.resource == str(NODES):
            return [subject_of(change)]
        old, new = view.both(TICKETS)
        names = []
        for ticket in (old, new):
            if ticket is not None and ticket.status.node_name:
                names.append(ticket.status.node_name)
                self._on.get(names[-1], {}).pop(subject_of(change), None)
        if new is not None and new.status.node_name:
            self._on.setdefault(new.status.node_name, {})[subject_of(change)] = None
        return [Subject(str(NODES), "", name) for name in dict.fromkeys(names)]

    def wrong(self, subject: Subject, view: View) -> str:
        node = view.of(NODES).get(Key("", subject.name))
        if node is None or not any(t.key == HANDOVER_TAINT for t in node.spec.taints):
            return ""
        tickets = (facts.ticket_at(each, view) for each in self._on.get(subject.name, ()))
        if any(_moves(ticket, view) for ticket in tickets if ticket is not None):
            return ""
        return f"it has the taint {HANDOVER_TAINT}, and no ticket is handed over or returns there"


def _moves(ticket: Ticket, view: View) -> bool:
    """Whether the room of a ticket is handed over, or is taken back after use."""
    match ticket.status.phase:
        case TicketPhase.CLAIMING | TicketPhase.PENDING:
            return True
        case TicketPhase.CLAIMED | TicketPhase.RESERVED:
            users = (facts.pod_of(uid, view) for uid in facts.holders(ticket))
            return not all(map(facts.lives, users))
        case _:
            return False
