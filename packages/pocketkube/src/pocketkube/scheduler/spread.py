"""Topology spread: how evenly the pods of one kind lie over the values of a node label.

`Spread` is a value: it is counted once for a pod, from the sums that `cluster` keeps, and `moved` gives it as it would be with
pods added to or taken from a node. Two habits of kube-scheduler are kept because its verdicts depend on them: an empty
selector counts nobody but matches the pod itself, and nodes that lack any of the pod's topology labels are in no domain.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
import math

from kubeloop.objects import scheduling, selector
from kubeloop.objects.core import Node, TopologySpreadConstraint
from kubeloop.objects.selector import InvalidSelector, Selector
from pocketkube.scheduler.filters import Refusal, chosen
from pocketkube.scheduler.pod_info import Query, Selection, Tenant
from pocketkube.scheduler.snapshot import Cluster

REQUIRED = "DoNotSchedule"
PREFERRED = "ScheduleAnyway"
_SKEWED = Refusal(("node(s) didn't match pod topology spread constraints",), final=False)
_UNLABELLED = Refusal(
    ("node(s) didn't match pod topology spread constraints (missing required label)",), final=True
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint, made ready."""

    key: str
    skew: int
    domains: int
    selector: Selector
    own: int
    """1 if the pod itself will count."""
    affinity: bool
    taints: bool

    def includes(self, tenant: Tenant, node: Node) -> bool:
        """Whether a node's pods count: by default those of nodes the pod may choose, whatever their taints."""
        return (not self.affinity or chosen(tenant, node)) and not (
            self.taints and scheduling.tainted(tenant.pod.spec, node)
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """How many pods match each constraint, by the value of its label."""

    tenant: Tenant
    constraints: tuple[Constraint, ...]
    counts: tuple[Mapping[str, int], ...]
    least: tuple[int, ...]

    def refusal(self, node: Node) -> Refusal | None:
        """Whether the pod on this node would make the spread too uneven."""
        for constraint, counts, least in zip(
            self.constraints, self.counts, self.least, strict=True
        ):
            value = node.metadata.labels.get(constraint.key)
            if value is None:
                return _UNLABELLED
            if counts.get(value, 0) + constraint.own - least > constraint.skew:
                return _SKEWED
        return None

    def moved(self, node: Node, tenants: Iterable[Tenant], times: int) -> "Spread":
        """The spread with these pods added to a node, or taken from it."""
        labels = node.metadata.labels
        namespace = self.tenant.pod.metadata.namespace
        pods = [t.pod for t in tenants if t.pod.metadata.namespace == namespace]
        if not pods or any(constraint.key not in labels for constraint in self.constraints):
            return self
        counts = []
        for constraint, before in zip(self.constraints, self.counts, strict=True):
            hits = sum(constraint.selector.matches(pod.metadata.labels) for pod in pods)
            if hits and constraint.includes(self.tenant, node):
                value = labels[constraint.key]
                counts.append({**before, value: before.get(value, 0) + times * hits})
            else:
                counts.append(dict(before))
        return replace(self, counts=tuple(counts), least=_least(self.constraints, counts))


def required(tenant: Tenant, cluster: Cluster) -> Spread | None:
    """The spread that must hold, if the pod asks for any."""
    return _count(tenant, cluster, REQUIRED)


def preferred(tenant: Tenant, cluster: Cluster) -> Spread | None:
    """The spread that the pod would like."""
    return _count(tenant, cluster, PREFERRED)


def crowding(spread: Spread, nodes: Iterable[Node]) -> dict[str, int]:
    """How crowded each node's domains are with pods of the kind; nodes outside of all domains are left out."""
    candidates = [
        node for node in nodes if all(c.key in node.metadata.labels for c in spread.constraints)
    ]
    weights = [
        math.log(len({node.metadata.labels[c.key] for node in candidates}) + 2)
        for c in spread.constraints
    ]
    parts = list(zip(spread.constraints, spread.counts, weights, strict=True))
    return {
        node.metadata.name: math.floor(
            sum(
                counts.get(node.metadata.labels[c.key], 0) * w + c.skew - 1
                for c, counts, w in parts
            )
            + 0.5
        )
        for node in candidates
    }


def _count(tenant: Tenant, cluster: Cluster, action: str) -> Spread | None:
    constraints = tuple(
        _ready(wire, tenant)
        for wire in tenant.pod.spec.topology_spread_constraints
        if wire.when_unsatisfiable == action
    )
    if not constraints:
        return None
    keys = [constraint.key for constraint in constraints]
    nodes = [n for n in cluster.nodes.values() if all(key in n.metadata.labels for key in keys)]
    counts = [_domains(constraint, tenant, cluster, nodes) for constraint in constraints]
    return Spread(tenant, constraints, tuple(counts), _least(constraints, counts))


def _domains(
    constraint: Constraint, tenant: Tenant, cluster: Cluster, nodes: Iterable[Node]
) -> dict[str, int]:
    namespace = frozenset((tenant.pod.metadata.namespace,))
    query = Query((Selection(namespace, constraint.selector),), ending=False)
    found = {} if constraint.selector == selector.EVERYTHING else cluster.count(query)
    counts: dict[str, int] = {}
    for node in nodes:
        if constraint.includes(tenant, node):
            value = node.metadata.labels[constraint.key]
            counts[value] = counts.get(value, 0) + found.get(node.metadata.name, 0)
    return counts


def _least(
    constraints: Iterable[Constraint], counts: Iterable[Mapping[str, int]]
) -> tuple[int, ...]:
    return tuple(
        0 if len(found) < constraint.domains else min(found.values(), default=0)
        for constraint, found in zip(constraints, counts, strict=True)
    )


def _ready(wire: TopologySpreadConstraint, tenant: Tenant) -> Constraint:
    labels = tenant.pod.metadata.labels
    same = {key: labels[key] for key in wire.match_label_keys if key in labels}
    try:
        pods = selector.from_struct(wire.label_selector).and_(selector.from_labels(same))
    except InvalidSelector:
        pods = selector.NOTHING
    return Constraint(
        key=wire.topology_key,
        skew=wire.max_skew,
        domains=wire.min_domains or 1,
        selector=pods,
        own=int(pods.matches(labels)),
        affinity=(wire.node_affinity_policy or "Honor") == "Honor",
        taints=(wire.node_taints_policy or "Ignore") == "Honor",
    )
