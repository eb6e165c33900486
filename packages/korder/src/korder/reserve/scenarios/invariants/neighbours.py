"""Claims beside those of other namespaces: what is stuck there is stuck alone.

Stuck on a node is a ticket whose pod terminates or is never bound, whose guardian a foreign finalizer keeps, or whose pods cannot be
changed because a webhook or a policy refuses it.
"""

from collections.abc import Iterable
from datetime import timedelta

from korder.api.reserve import TICKETS, Ticket, TicketPhase
from korder.reserve.scenarios.invariants import facts, grants
from korder.reserve.scenarios.invariants.guardians import OfHoldings
from kubeloop.objects import node_room
from kubeloop.objects.core import NAMESPACES, NODES, PODS, Pod
from pocketkube.simulation.auditing import refusals
from pocketkube.simulation.auditing.invariant import CALM, Kinds, Tolerance
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of


class NoClaimWaitsForAnother(OfHoldings):
    """Judged is a claim whose room is there: its own guardian holds it, or has left it free."""

    name = "no-claim-waits-for-another"
    promise = (
        "A claim whose room is there is bound or undone within 5 seconds, also while claims of"
        " other namespaces are stuck on its node."
    )
    resources: Kinds = (TICKETS, PODS, NODES)
    reads = (NAMESPACES,)
    patience = timedelta(seconds=5)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        super().__init__(tolerance)
        self._on: dict[str, dict[Subject, None]] = {}
        """The tickets of each node."""

    def concerned(self, change: Change, view: View) -> Iterable[Subject]:
        old, new = view.both(TICKETS)
        here = subject_of(change)
        if old is not None:
            self._on.get(old.status.node_name, {}).pop(here, None)
        if new is not None and new.status.node_name:
            self._on.setdefault(new.status.node_name, {})[here] = None
        if change.resource == str(NODES):
            return [*self._on.get(change.name, ())]
        return super().concerned(change, view)

    def wrong(self, subject: Subject, view: View) -> str:
        ticket = facts.ticket_at(subject, view)
        pod = grants.claimant(ticket, view) if ticket is not None else None
        if ticket is None or pod is None or not self._is_servable(ticket, pod, view):
            return ""
        node = ticket.status.node_name
        others = (facts.ticket_at(each, view) for each in self._on.get(node, ()))
        for other in others:
            if other is not None and other.metadata.namespace != ticket.metadata.namespace:
                why = _stuck(other, view)
                if why:
                    name = f"{other.metadata.namespace}/{other.metadata.name}"
                    return (
                        f"pod {pod.metadata.name} waits for it on node {node}, where {why} {name}"
                    )
        return ""

    def _is_servable(self, ticket: Ticket, pod: Pod, view: View) -> bool:
        if not grants.is_bindable(pod) or grants.is_hindered(ticket, pod, view):
            return False
        if not grants.is_open(grants.node_of(ticket, view), pod):
            return False
        if any(map(facts.holds, facts.guardians(ticket, view))):
            return True
        return not view.rooms.bound(ticket.status.node_name).lacks(node_room.demand_of(pod))


def _stuck(ticket: Ticket, view: View) -> str:
    """In which way a ticket stands in the way of others, if it does."""
    users = [pod for uid in facts.holders(ticket) if (pod := facts.pod_of(uid, view)) is not None]
    if any(map(facts.is_going, users)):
        return "a pod terminates that has ticket"
    if ticket.status.phase is not TicketPhase.CLAIMING:
        return ""
    if refusals.is_refusing(ticket.metadata.namespace, view):
        return "no pod can be changed for ticket"
    if any(each.metadata.finalizers for each in facts.guardians(ticket, view)):
        return "a finalizer keeps the guardian of ticket"
    if not all(map(grants.is_bindable, users)):
        return "a pod cannot be bound that claims ticket"
    return ""
