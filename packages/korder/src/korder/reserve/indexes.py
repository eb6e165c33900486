"""All indexes of pods, tickets, orders and nodes that the controllers of this domain read: names, and what is listed under which value.

Controllers share one informer for a kind, so each index has one name and one function here. A controller adds the indexes of every kind
that it reads (`informer.add_indexes(indexes.OF_PODS)`); an index that is there already is not built again.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple

from korder.api.reserve import (
    ENDED_PHASES,
    HANDOVER_TAINT,
    NODE_LABEL,
    RETURN_FINALIZER,
    TICKET_NODE_ANNOTATION,
    TICKETS,
    AfterUse,
    Order,
    PodReference,
    Ticket,
    TicketPhase,
)
from korder.reserve.claims import inventory, plan as claim_plan
from korder.reserve.handovers import handover_state
from korder.reserve.tickets import guardian, guardian_replacement
from korder.reserve.tickets.snapshot import is_leaving
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import HasMetadata, OwnerReference, controller_of

ALL = ""
"""The one value of an index that only selects, and of `TICKETS_BY_HANDOVER_NODE` for all nodes."""

PODS_BY_NODE = "pods.node"
"""The node that a pod is bound to or nominated for."""
PODS_BY_TICKET = "pods.ticket"
"""Guardians by the UID of their ticket."""
PODS_SEEKING = "pods.seeking"
"""Pods that wait for a ticket, by the namespace of the tickets."""
PODS_SEEKING_ANYWHERE = "pods.seeking-anywhere"
"""All pods that wait for a ticket."""
PODS_UNREPORTED = "pods.unreported"
"""Pods that were ungated without a ticket and whose condition still says that they wait, by namespace."""
PODS_DETAINED = "pods.detained"
"""Guardians that cannot be deleted at once, by namespace."""
PODS_LEAVING = "pods.leaving"
"""Terminating pods with our finalizer, by node."""
GUARDIANS_NOMINATED = "pods.nominated-guardians"
"""Gated guardians with a nominated node."""
GUARDIANS_AVOIDING = "pods.avoiding-guardians"
"""Guardians without a node, by the nodes that were cordoned when they were created."""

TICKETS_BY_NAMESPACE = "tickets.namespace"
TICKETS_BY_CLAIMANT = "tickets.claimant"
"""The UIDs of the pods that have the ticket or claim it."""
TICKETS_BY_USER = "tickets.user"
"""The UIDs of the pods that use the room of a ticket, claims under way left out."""
TICKETS_BY_NODE = "tickets.node"
"""The node that holds the room of a ticket."""
TICKETS_BY_HANDOVER_NODE = "tickets.handover-node"
"""The node on which a ticket is handed over; under `ALL` those of every node."""
TICKETS_BY_RETURN_NODE = "tickets.return-node"
"""The node on which a ticket may take back room that pods have or had."""
TICKETS_BY_ARRIVAL_NODE = "tickets.arrival-node"
"""The node on which a ticket is about to take its room back."""
TICKETS_BY_OWNER = "tickets.owner"
"""The UID of the object that controls the ticket."""
TICKETS_BY_ASSIGNED_NODE = "tickets.assigned-node"
"""The node that a ticket of DaemonSet mode is for."""
TICKETS_CLAIMING = "tickets.claiming"
"""Tickets with a claim under way, by namespace."""
TICKETS_UNBOUND = "tickets.unbound"
"""Tickets by which a pod was not bound, by namespace."""
TICKETS_BY_SHELF = "tickets.shelf"
"""Free tickets that no pod can tell apart."""
TICKETS_BY_KIND = "tickets.kind"
"""Tickets that have not ended and ask the same of pods."""

ORDERS_BY_NAMESPACE = "orders.namespace"
ORDERS_BY_DAEMONSET_MODE = "orders.daemonset-mode"

NODES_CORDONED = "nodes.cordoned"
NODES_BY_TAINT_KEY = "nodes.taint-key"
"""Nodes by the keys of their taints, without the hand-over barrier."""

_IN_USE = frozenset({TicketPhase.CLAIMING, TicketPhase.CLAIMED})


class Alike(NamedTuple):
    """The value of an index of tickets that are alike in one namespace."""

    namespace: str
    form: bytes


def handover_nodes(ticket: Ticket) -> Iterable[str]:
    """The node on which a ticket is handed over, if it is."""
    is_there = inventory.is_claiming(ticket) and ticket.status.node_name
    return (ticket.status.node_name,) if is_there else ()


def nodes_concerned(ticket: Ticket) -> set[str]:
    """The nodes whose hand-overs a ticket concerns."""
    return {*handover_nodes(ticket), *_return_nodes(ticket)}


def ticket_of(pod: Pod) -> OwnerReference | None:
    """The ticket whose guardian a pod is; a kind of this name in another group is none of ours."""
    owner = controller_of(pod)
    if owner is None or owner.kind != TICKETS.kind:
        return None
    return owner if owner.api_version.rpartition("/")[0] == TICKETS.group else None


def users_of(ticket: Ticket) -> tuple[PodReference, ...]:
    """The pods that have a ticket's room; those of a hand-over under way are left out."""
    status = ticket.status
    if status.phase is TicketPhase.CLAIMING or status.phase in ENDED_PHASES:
        return ()
    claimed = (status.claimed_by,) if status.claimed_by is not None else ()
    return (*claimed, *status.shared_by)


def sought_namespaces(pod: Pod) -> Iterable[str]:
    """The namespace in which a pod waits for a ticket, if it does."""
    return filter(None, (claim_plan.sought_namespace(pod),))


def unreported_namespaces(pod: Pod) -> Iterable[str]:
    """The namespace of a pod whose condition still says that it waits, though it does not."""
    return (pod.metadata.namespace,) if claim_plan.is_unreported(pod) else ()


def detained_namespaces(pod: Pod) -> Iterable[str]:
    """The namespace of a guardian that cannot be deleted at once."""
    return (pod.metadata.namespace,) if handover_state.ticket_key(pod) is not None else ()


def leaving_nodes(pod: Pod) -> Iterable[str]:
    """The node on which a pod terminates that our finalizer keeps."""
    if is_leaving(pod) and RETURN_FINALIZER in pod.metadata.finalizers:
        yield pod.spec.node_name or pod.metadata.annotations.get(TICKET_NODE_ANNOTATION, "")


def _node_of_pod(pod: Pod) -> Iterable[str]:
    return filter(None, (pod.spec.node_name or pod.status.nominated_node_name,))


def _guarded_ticket(pod: Pod) -> Iterable[str]:
    owner = ticket_of(pod)
    return () if owner is None else (owner.uid,)


def _seeks(pod: Pod) -> Iterable[str]:
    return (ALL,) if any(sought_namespaces(pod)) else ()


def _is_nominated(pod: Pod) -> Iterable[str]:
    return (ALL,) if pod.status.nominated_node_name and guardian.is_gated(pod) else ()


def _claimants(ticket: Ticket) -> Iterable[str]:
    status = ticket.status
    if status.claimed_by is not None and status.phase in _IN_USE:
        yield status.claimed_by.uid
    yield from (share.uid for share in status.shared_by)


def _users(ticket: Ticket) -> Iterable[str]:
    return (reference.uid for reference in users_of(ticket))


def _node_of_ticket(ticket: Ticket) -> Iterable[str]:
    return (ticket.status.node_name,) if ticket.status.node_name else ()


def _handover_nodes(ticket: Ticket) -> Iterable[str]:
    for node in handover_nodes(ticket):
        yield node
        yield ALL


def _return_nodes(ticket: Ticket) -> Iterable[str]:
    status = ticket.status
    in_use = status.phase is TicketPhase.CLAIMED and ticket.spec.after_use is AfterUse.RESERVE
    if status.node_name and (
        in_use or status.shared_by or guardian_replacement.is_arriving(ticket)
    ):
        yield status.node_name


def _arrival_node(ticket: Ticket) -> Iterable[str]:
    return _node_of_ticket(ticket) if guardian_replacement.is_arriving(ticket) else ()


def _owner(ticket: Ticket) -> Iterable[str]:
    owner = controller_of(ticket)
    return () if owner is None else (owner.uid,)


def _assigned_node(ticket: Ticket) -> Iterable[str]:
    return (ticket.spec.node_name,) if NODE_LABEL in ticket.metadata.labels else ()


def _claiming(ticket: Ticket) -> Iterable[str]:
    return (ticket.metadata.namespace,) if inventory.is_claiming(ticket) else ()


def _unbound(ticket: Ticket) -> Iterable[str]:
    return (ticket.metadata.namespace,) if ticket.status.unbound_workload else ()


def _shelf(ticket: Ticket) -> Iterable[Alike]:
    form = inventory.shelf_of(ticket)
    return () if form is None else (Alike(ticket.metadata.namespace, form),)


def _kind(ticket: Ticket) -> Iterable[Alike]:
    form = inventory.kind_of(ticket)
    return () if form is None else (Alike(ticket.metadata.namespace, form),)


def _namespace(obj: HasMetadata) -> Iterable[str]:
    return (obj.metadata.namespace,)


def _daemonset_mode(order: Order) -> Iterable[bool]:
    return (order.spec.daemon_set,)


def _is_cordoned(node: Node) -> Iterable[str]:
    return (ALL,) if node.spec.unschedulable else ()


def _taint_keys(node: Node) -> Iterable[str]:
    return {taint.key for taint in node.spec.taints if taint.key != HANDOVER_TAINT}


OF_PODS: Mapping[str, Callable[[Pod], Iterable[Hashable]]] = {
    PODS_BY_NODE: _node_of_pod,
    PODS_BY_TICKET: _guarded_ticket,
    PODS_SEEKING: sought_namespaces,
    PODS_SEEKING_ANYWHERE: _seeks,
    PODS_UNREPORTED: unreported_namespaces,
    PODS_DETAINED: detained_namespaces,
    PODS_LEAVING: leaving_nodes,
    GUARDIANS_NOMINATED: _is_nominated,
    GUARDIANS_AVOIDING: guardian.avoided,
}
OF_TICKETS: Mapping[str, Callable[[Ticket], Iterable[Hashable]]] = {
    TICKETS_BY_NAMESPACE: _namespace,
    TICKETS_BY_CLAIMANT: _claimants,
    TICKETS_BY_USER: _users,
    TICKETS_BY_NODE: _node_of_ticket,
    TICKETS_BY_HANDOVER_NODE: _handover_nodes,
    TICKETS_BY_RETURN_NODE: _return_nodes,
    TICKETS_BY_ARRIVAL_NODE: _arrival_node,
    TICKETS_BY_OWNER: _owner,
    TICKETS_BY_ASSIGNED_NODE: _assigned_node,
    TICKETS_CLAIMING: _claiming,
    TICKETS_UNBOUND: _unbound,
    TICKETS_BY_SHELF: _shelf,
    TICKETS_BY_KIND: _kind,
}
OF_ORDERS: Mapping[str, Callable[[Order], Iterable[Hashable]]] = {
    ORDERS_BY_NAMESPACE: _namespace,
    ORDERS_BY_DAEMONSET_MODE: _daemonset_mode,
}
OF_NODES: Mapping[str, Callable[[Node], Iterable[Hashable]]] = {
    NODES_CORDONED: _is_cordoned,
    NODES_BY_TAINT_KEY: _taint_keys,
}
