"""Whether a pod fits into a ticket: into the room that is held, and onto the node that holds it.

Claims and `korder explain` ask it; it asks the predicates that the scheduler of the embedded cluster asks too, so that a
pod which fits here is one that the node takes. The answer is the first mismatch in words a user can act on. Taints and
cordon are judged as the scheduler judges them: a DaemonSet's pod tolerates a cordon, others do not. Tickets hold no place in the node's
count of pods but that of their guardian: a pod that leaves some of a shared ticket over needs one besides.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from korder.api import noderoom, podrequests, quantity, resources, scheduling
from korder.api.core import Node, Pod
from korder.api.noderoom import Demand
from korder.api.reserve import HANDOVER_TAINT, Ticket
from korder.api.resources import Resources
from korder.reserve.rules.tickets import usage

_SLOT = "pods"
_NAME = "metadata.name"
_PASSING = (HANDOVER_TAINT,)
"""Taints that are gone when the pod comes, or that it will tolerate."""


@dataclass(frozen=True, slots=True)
class Site:
    """A node, the pods on it, and those that have claimed a ticket there and are on their way."""

    node: Node
    pods: Collection[Pod] = field(default_factory=tuple)
    coming: Collection[Pod] = field(default_factory=tuple)


def needs_of(pod: Pod) -> dict[str, quantity.Quantity]:
    """What the pod takes of a ticket: its effective requests; its place in the node's pod count is not held by tickets."""
    needs = podrequests.requests(pod)
    needs.pop(_SLOT, None)
    return needs


def too_small(needs: Resources, left: Resources) -> str:
    """Says what a ticket has too little of; nothing if it is large enough."""
    for short in resources.fits(needs, left):
        held = short.free if short.free.nano > 0 else "none"
        return f"needs {short.name} {short.requested}, it holds {held}"
    return ""


def is_large_enough(needs: Resources, left: Resources) -> bool:
    """Says whether a ticket has enough of everything."""
    return not resources.fits(needs, left)


def leaves_some(pod: Pod, ticket: Ticket) -> bool:
    """Says whether a guardian stays beside the pod, for what it leaves of a ticket that may be shared."""
    if ticket.spec.allocate_once:
        return False
    needs, left = needs_of(pod), usage.remainder(ticket, ticket.status.shared_by)
    return any(amount > needs.get(name, quantity.ZERO) for name, amount in left.items())


def only_nodes(pod: Pod) -> Collection[str] | None:
    """The names of the only nodes where the pod can be, as those of a DaemonSet have it; nothing if its affinity leaves others open."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    names: set[str] = set()
    for term in terms:
        fixed = [each for each in term.match_fields if each.key == _NAME and each.operator == "In"]
        if not fixed:
            return None
        names.update(fixed[0].values)
    return sorted(names) or None


def places(site: Site) -> int:
    """How many more pods the node takes."""
    free = noderoom.room_of(site.node, site.pods).free().get(_SLOT, quantity.ZERO)
    return free.value()


def unsuited(pod: Pod, site: Site | None, *, beside: bool = False) -> str:
    """Says why the pod cannot be on the ticket's node, beside its guardian if that stays; nothing if it can."""
    why = closed(pod, site)
    return why if why or site is None else crowded(pod, site, beside=beside)


def closed(pod: Pod, site: Site | None) -> str:
    """Says why the node takes no such pod, whoever else is there; nothing if it does. One that is cordoned takes none, whatever it tolerates (rule 12)."""
    if site is None:
        return "its node is gone"
    if site.node.spec.unschedulable:
        return f"node {site.node.metadata.name} is cordoned"
    for mismatch in scheduling.unsuited(pod.spec, site.node, _PASSING):
        return mismatch.message
    return ""


def crowded(pod: Pod, site: Site, *, beside: bool) -> str:
    """Says what the pods on the node have, or will have, that this one needs; nothing if they leave it all."""
    demand = noderoom.demand_of(pod)
    for name in overbooked(site, demand):
        return f"needs {name}, of which the pods on node {site.node.metadata.name} request more than it has"
    if demand.ports:
        room = noderoom.room_of(site.node, (*site.pods, *site.coming))
        for port in room.taken_ports(demand):
            return f"needs host port {port}, which is taken on node {site.node.metadata.name}"
    if beside and places(site) < 1:
        return (
            f"needs a place beside the guardian, node {site.node.metadata.name} takes no more pods"
        )
    return ""


def overbooked(site: Site, demand: Demand) -> list[str]:
    """What the pods on a node request more of than it has now, of what a pod needs: a guardian's place would not do for it."""
    free = _left_by_bound(site)
    return [name for name in demand.amounts if free.get(name, quantity.ZERO) < quantity.ZERO]


def is_overbooked(site: Site) -> bool:
    """Says whether the pods on a node request more of anything than it has now."""
    return any(amount < quantity.ZERO for amount in _left_by_bound(site).values())


def _left_by_bound(site: Site) -> dict[str, quantity.Quantity]:
    bound = [pod for pod in site.pods if pod.spec.node_name]
    return noderoom.room_of(site.node, bound).free()


def of_any_node(mismatch: str, node: str) -> str:
    """Why a node does not suit, in words that are the same for all nodes like it; each names its node last."""
    before, found, after = mismatch.rpartition(f"node {node}")
    return f"{before}its node{after}" if found else mismatch
