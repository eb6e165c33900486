"""Whether a node takes a pod, as kube-scheduler's filters decide it and in their words.

The rules on node and room are `kubeloop.objects.scheduling`'s; here they get the order in which kube-scheduler asks (the first that objects
is the one that is reported) and the knowledge whether it would help to remove other pods, which preemption needs.
"""

from functools import lru_cache
from typing import NamedTuple

from kubeloop.objects import scheduling
from kubeloop.objects.core import Node
from kubeloop.objects.node_room import NodeRoom
from pocketkube.scheduler.pod_info import Tenant


class Refusal(NamedTuple):
    """Why a node does not take a pod; a final refusal stands however many pods leave."""

    reasons: tuple[str, ...]
    final: bool


_CORDONED = Refusal(("node(s) were unschedulable",), final=True)
_TAINTED = Refusal(("node(s) had untolerated taint(s)",), final=True)
_MISMATCH = Refusal(("node(s) didn't match Pod's node affinity/selector",), final=True)
_PORTS = Refusal(("node(s) didn't have free ports for the requested pod ports",), final=False)


def unfit(tenant: Tenant, node: Node, room: NodeRoom) -> Refusal | None:
    """What the node itself says to a pod; most nodes and pods ask for nothing, and are not asked about it."""
    spec, offer = tenant.pod.spec, node.spec
    if offer.unschedulable and scheduling.cordoned(spec, node):
        return _CORDONED
    if offer.taints and scheduling.tainted(spec, node):
        return _TAINTED
    if (spec.node_selector or spec.affinity) and not chosen(tenant, node):
        return _MISMATCH
    if tenant.demand.ports and room.taken_ports(tenant.demand):
        return _PORTS
    return _short(tenant, room)


def chosen(tenant: Tenant, node: Node) -> bool:
    """Whether the node meets the pod's node selector and required node affinity."""
    spec = tenant.pod.spec
    return not (
        scheduling.selector_mismatch(spec, node) or scheduling.affinity_mismatch(spec, node)
    )


def pinned_to(tenant: Tenant) -> frozenset[str] | None:
    """The only nodes that the names in a required node affinity leave; None if they do not restrict it."""
    affinity = tenant.pod.spec.affinity
    by_node = affinity.node_affinity if affinity is not None else None
    required = by_node.required if by_node is not None else None
    if required is None or not required.node_selector_terms:
        return None
    names: frozenset[str] = frozenset()
    for term in required.node_selector_terms:
        named = [
            frozenset(field.values)
            for field in term.match_fields
            if field.key == "metadata.name" and field.operator == "In"
        ]
        if not named:
            return None
        names |= frozenset.intersection(*named)
    return names


def _short(tenant: Tenant, room: NodeRoom) -> Refusal | None:
    short = room.lacks(tenant.demand)
    if not short:
        return None
    amounts, offered = tenant.demand.amounts, room.allocatable
    never = any(name != "pods" and amounts[name] > offered.get(name, 0) for name in short)
    return _shortage(tuple(short), never=never)


@lru_cache(maxsize=1024)
def _shortage(short: tuple[str, ...], *, never: bool) -> Refusal:
    """Says what is short; the same few words come from very many nodes."""
    reasons = ("Too many pods" if name == "pods" else f"Insufficient {name}" for name in short)
    return Refusal(tuple(reasons), never)
