"""Guardians: a ticket is Reserved only while one holds its room, and none is left when there is nothing to hold for."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from korder.api.reserve import ENDED_PHASES, TICKETS, Ticket, TicketPhase
from korder.reserve.scenarios.invariants import facts
from korder.reserve.scenarios.invariants.holdings import Holdings
from kubeloop.objects import core
from kubeloop.objects.core import NODES, PODS, Pod
from kubeloop.objects.meta import Key
from kubeloop.objects.quantity import Quantity
from pocketkube.simulation.auditing.invariant import (
    CALM,
    Broken,
    Finding,
    Invariant,
    Kinds,
    Tolerance,
)
from pocketkube.simulation.auditing.lasting import Lasting
from pocketkube.simulation.auditing.recent import Recent
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of


class ReservedWhenBound(Invariant):
    """A guardian that was lost a moment ago may be still believed in."""

    name = "reserved-when-bound"
    promise = "A ticket becomes Reserved only when a guardian of it is bound, and on that guardian's node."
    resources = (TICKETS, PODS)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._former: Recent[str, Pod] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        was, pod = view.both(PODS)
        held = was is not None and facts.is_guardian(was) and bool(was.spec.node_name)
        if was is not None and held and (pod is None or not facts.holds(pod)):
            for ref in was.metadata.owner_references:
                self._former.ended(ref.uid, was, change.at)
        old, new = view.both(TICKETS)
        if new is None or new.status.phase is not TicketPhase.RESERVED:
            return
        if old is not None and _place(old) == _place(new):
            return
        standing = [*facts.guardians(new, view), *self._former.of(new.metadata.uid, change.at)]
        places = {each.spec.node_name for each in standing if each.spec.node_name}
        if new.status.node_name not in places:
            where = ", ".join(sorted(places)) or "no node"
            stated = f"it is Reserved on node {new.status.node_name or 'none'}, its guardians are on {where}"
            yield Broken(stated, (subject_of(change),))


def _place(ticket: Ticket) -> tuple[TicketPhase | None, str]:
    return ticket.status.phase, ticket.status.node_name


class OfHoldings(Lasting):
    """What is judged of a ticket whenever it, its pods or its guardians change."""

    resources: Kinds = (TICKETS, PODS)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._holdings = Holdings()

    def concerned(self, change: Change, view: View) -> Iterable[Subject]:
        return self._holdings.touched(change, view)


class ReservedIsGuarded(OfHoldings):
    """While a guardian moves there are two for a moment; a second one that waits for room may wait."""

    name = "reserved-is-guarded"
    promise = "A Reserved ticket has exactly one bound guardian, with what is left of the ticket."

    def wrong(self, subject: Subject, view: View) -> str:
        ticket = facts.ticket_at(subject, view)
        if ticket is None or facts.is_going(ticket):
            return ""
        if ticket.status.phase is not TicketPhase.RESERVED:
            return ""
        bound = [pod for pod in facts.guardians(ticket, view) if facts.holds(pod)]
        if len(bound) != 1:
            return f"it is Reserved with {len(bound)} bound guardians"
        held, left = facts.asked_by(bound[0]), facts.left(ticket)
        if held != left:
            return f"its guardian holds {_reported(held)} instead of {_reported(left)}"
        return ""


class NoStrayGuardians(OfHoldings):
    """A guardian that comes back for a ticket whose pod is ending is no stray; one that cannot end on a lost node is no fault."""

    name = "no-stray-guardians"
    promise = "There is no guardian without a ticket that has room to hold."

    def concerned(self, change: Change, view: View) -> Iterable[Subject]:
        if change.resource == str(PODS):
            yield subject_of(change)
        for subject in self._holdings.touched(change, view):
            ticket = facts.ticket_at(subject, view) or view.both(TICKETS)[0]
            if ticket is not None:
                yield from map(facts.about_pod, facts.guardians(ticket, view))

    def wrong(self, subject: Subject, view: View) -> str:
        pod = view.of(PODS).get(Key(subject.namespace, subject.name))
        if pod is None or not facts.is_guardian(pod) or facts.is_going(pod):
            return ""
        ticket = facts.guarded(pod, view)
        if ticket is None:
            return "its ticket is gone"
        if ticket.status.phase in ENDED_PHASES:
            return f"its ticket has {ticket.status.phase}"
        users = [facts.pod_of(uid, view) for uid in facts.holders(ticket)]
        stay = all(map(facts.lives, users))
        if ticket.status.phase is TicketPhase.CLAIMED and not facts.left(ticket) and stay:
            return "its ticket is used up by the pods that share it"
        if ticket.status.phase is TicketPhase.CLAIMED and ticket.spec.allocate_once:
            return (
                "its ticket is Claimed by a pod that lives" if any(map(facts.lives, users)) else ""
            )
        return ""


class GuardiansAreKept(Invariant):
    """Judged are guardians that were made after the ticket's last hand-over began: earlier ones may be meant by a request on its way."""

    name = "guardians-are-kept"
    promise = "We delete no guardian that alone holds the room of a ticket which nobody takes."
    resources = (TICKETS, PODS)
    reads = (NODES,)

    def __init__(self) -> None:
        self._moved: dict[str, datetime] = {}

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(TICKETS)
        if old is not None and new is None:
            self._moved.pop(old.metadata.uid, None)
        elif old is not None and new is not None and _stands(old) and not _stands(new):
            self._moved[new.metadata.uid] = change.at
        was, pod = view.both(PODS)
        if was is None or not facts.is_guardian(was) or not facts.holds(was):
            return
        if (pod is None or facts.is_going(pod)) and facts.is_ours(change):
            yield from self._deleted(was, change, view)

    def _deleted(self, pod: Pod, change: Change, view: View) -> Iterable[Finding]:
        ticket = facts.guarded(pod, view)
        if ticket is None or not _stands(ticket):
            return
        moved, made = self._moved.get(ticket.metadata.uid), pod.metadata.creation_timestamp
        if moved is not None and (made is None or made.timestamp() <= int(moved.timestamp())):
            return
        others = [each for each in facts.guardians(ticket, view) if facts.holds(each)]
        node = view.of(NODES).get(Key("", pod.spec.node_name))
        calm = node is not None and core.is_ready(node) and not node.spec.unschedulable
        same = facts.asked_by(pod) == facts.left(ticket)
        if calm and same and not others:
            stated = f"it was deleted on node {pod.spec.node_name} while its ticket was Reserved"
            yield Broken(stated, (subject_of(change), facts.about(ticket)))


def _stands(ticket: Ticket) -> bool:
    """Whether a ticket is Reserved and nothing is under way."""
    return ticket.status.phase is TicketPhase.RESERVED and not facts.is_going(ticket)


class ClaimsAreLive(OfHoldings):
    """A pod whose deletion has begun still takes its room, so its ticket may wait for its end.

    A ticket that is being deleted is not judged: it goes when its guardian has gone, which a lost node can hold up.
    """

    name = "claims-are-live"
    promise = "No ticket is Claimed or shared by a pod that is gone or has ended."

    def wrong(self, subject: Subject, view: View) -> str:
        ticket = facts.ticket_at(subject, view)
        if ticket is None or ticket.status.phase is TicketPhase.CLAIMING:
            return ""
        if ticket.metadata.deletion_timestamp is not None:
            return ""
        for uid in sorted(facts.holders(ticket)):
            pod = facts.pod_of(uid, view)
            if pod is None or core.is_finished(pod):
                return f"it is {ticket.status.phase} by a pod that is {'gone' if pod is None else 'over'} (UID {uid})"
        return ""


def _reported(amounts: Mapping[str, Quantity]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(amounts.items())) or "nothing"
