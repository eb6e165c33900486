"""Whether a pod may run on a node, and if not, why not.

Claims, DaemonSet mode, the embedded scheduler and `korder explain` ask the same functions. Each answers None, or a
`Mismatch` in words a user can act on. The rules are those of the scheduler of Kubernetes 1.36 with its default features:
tolerations that compare numbers (`Gt`, `Lt`) are off there and tolerate nothing here. A term or toleration that no
server would accept matches nothing instead of raising, because one odd object must not stop the others.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from kubeloop.objects import field_selector, node_room, selector
from kubeloop.objects.core import (
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    Taint,
    Toleration,
)
from kubeloop.objects.field_selector import FieldSelector
from kubeloop.objects.node_room import Demand, NodeRoom
from kubeloop.objects.resources import Shortage
from kubeloop.objects.selector import Operator, Selector


class Code(StrEnum):
    """What is wrong between a pod and a node, in one word."""

    WRONG_NODE = "WrongNode"
    CORDONED = "Cordoned"
    TAINTED = "Tainted"
    SELECTOR = "NodeSelectorMismatch"
    AFFINITY = "NodeAffinityMismatch"
    PORT_TAKEN = "HostPortTaken"
    NO_ROOM = "InsufficientRoom"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One reason why a pod cannot run on a node."""

    code: Code
    message: str


_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_EXCLUDING = frozenset({"NoSchedule", "NoExecute"})
_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Gt": Operator.GREATER,
    "Lt": Operator.LESS,
}


def why_not(pod: Pod, node: Node, room: NodeRoom) -> tuple[Mismatch, ...]:
    """Lists every reason why the pod cannot run on the node now; nothing means that it can."""
    return (*unsuited(pod.spec, node), *lacking(node_room.demand_of(pod), node, room))


def unsuited(spec: PodSpec, node: Node, ignoring: Collection[str] = ()) -> tuple[Mismatch, ...]:
    """Lists what speaks against the node however empty it is; taints with a key in `ignoring` are left out."""
    verdicts = (
        wrong_node(spec, node),
        cordoned(spec, node),
        tainted(spec, node, ignoring),
        selector_mismatch(spec, node),
        affinity_mismatch(spec, node),
    )
    return tuple(verdict for verdict in verdicts if verdict is not None)


def lacking(demand: Demand, node: Node, room: NodeRoom) -> tuple[Mismatch, ...]:
    """Lists what speaks against the node because of the pods that are there."""
    name = node.metadata.name
    return (
        *(Mismatch(Code.NO_ROOM, _short(short, name, room)) for short in room.shortages(demand)),
        *(
            Mismatch(Code.PORT_TAKEN, f"needs host port {port}, which is taken on node {name}")
            for port in room.taken_ports(demand)
        ),
    )


def wrong_node(spec: PodSpec, node: Node) -> Mismatch | None:
    """Is the pod bound to another node?"""
    if spec.node_name in ("", node.metadata.name):
        return None
    return Mismatch(Code.WRONG_NODE, f"is bound to node {spec.node_name}, not {node.metadata.name}")


def cordoned(spec: PodSpec, node: Node) -> Mismatch | None:
    """Is the node closed for new pods?"""
    if not node.spec.unschedulable or tolerates_cordon(spec.tolerations):
        return None
    return Mismatch(Code.CORDONED, f"node {node.metadata.name} is cordoned")


def tolerates_cordon(tolerations: Collection[Toleration]) -> bool:
    """Would a pod with these be put on a cordoned node?"""
    return _tolerated(tolerations, _CORDON)


def tainted(spec: PodSpec, node: Node, ignoring: Collection[str] = ()) -> Mismatch | None:
    """Does a taint keep the pod away? Those with a key in `ignoring` are left out, for callers that judge them otherwise."""
    for taint in node.spec.taints:
        if taint.effect not in _EXCLUDING or taint.key in ignoring:
            continue
        if not _tolerated(spec.tolerations, taint):
            value = f"={taint.value}" if taint.value else ""
            return Mismatch(
                Code.TAINTED,
                f"does not tolerate taint {taint.key}{value}:{taint.effect} of node {node.metadata.name}",
            )
    return None


def selector_mismatch(spec: PodSpec, node: Node) -> Mismatch | None:
    """Does the node lack a label of the pod's node selector?"""
    labels = node.metadata.labels
    missing = [
        f"{key}={value}" for key, value in spec.node_selector.items() if labels.get(key) != value
    ]
    if not missing:
        return None
    return Mismatch(
        Code.SELECTOR, f"needs labels {', '.join(missing)}, which node {node.metadata.name} lacks"
    )


def affinity_mismatch(spec: PodSpec, node: Node) -> Mismatch | None:
    """Does the node meet none of the terms that the pod's node affinity requires?"""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    if required is None or any(term_matches(term, node) for term in required.node_selector_terms):
        return None
    terms = " or ".join(map(_words, required.node_selector_terms)) or "to no node at all"
    return Mismatch(
        Code.AFFINITY,
        f"requires node affinity {terms}, which node {node.metadata.name} does not meet",
    )


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """Says whether a node meets all requirements of a term; an empty or malformed term matches no node."""
    compiled = _compiled(term)
    return (
        compiled is not None
        and compiled.labels.matches(node.metadata.labels)
        and compiled.fields.matches({"metadata.name": node.metadata.name})
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Says whether one toleration covers one taint; an empty key or effect covers all of them."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def _tolerated(tolerations: Collection[Toleration], taint: Taint) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def _short(short: Shortage, node: str, room: NodeRoom) -> str:
    if short.name == "pods":
        return f"node {node} takes no more than {room.allocatable.get('pods', 0)} pods"
    if short.name not in room.allocatable:
        return f"needs {short.name} {short.requested}, node {node} has none"
    left = short.free if short.free.nano > 0 else "nothing"
    return f"needs {short.name} {short.requested}, node {node} has {left} free"


class _Term(NamedTuple):
    labels: Selector
    fields: FieldSelector


@lru_cache(maxsize=4096)
def _compiled(term: NodeSelectorTerm) -> _Term | None:
    """Prepares a term; the same few terms are asked for on every node."""
    if not term.match_expressions and not term.match_fields:
        return None
    try:
        return _Term(
            selector.of(*map(_label_requirement, term.match_expressions)),
            field_selector.of(*map(_field_term, term.match_fields)),
        )
    except (selector.InvalidSelector, field_selector.InvalidFieldSelector):
        return None


def _label_requirement(wire: NodeSelectorRequirement) -> selector.Requirement:
    if wire.operator not in _OPERATORS:
        raise selector.InvalidSelector(f"{wire.operator!r} is not an operator")
    return selector.Requirement(wire.key, _OPERATORS[wire.operator], frozenset(wire.values))


def _field_term(wire: NodeSelectorRequirement) -> field_selector.Term:
    if wire.operator not in ("In", "NotIn") or len(wire.values) != 1:
        raise field_selector.InvalidFieldSelector(f"{wire.key} takes In or NotIn with one value")
    return field_selector.Term(wire.key, wire.values[0], wire.operator == "In")


def _words(term: NodeSelectorTerm) -> str:
    compiled = _compiled(term)
    if compiled is None:
        return "a term that matches no node"
    return ",".join(str(part) for part in compiled if str(part))
