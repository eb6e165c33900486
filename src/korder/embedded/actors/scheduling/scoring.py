"""Which of the nodes that take a pod is the best: empty, balanced, liked by the pod, and far from its likes.

The weights are kube-scheduler's defaults; what it also weighs (images that are already there, preferred neighbours, spreading
by service) is left out. Ties are broken by the generator that is handed in.
"""

from collections.abc import Callable, Mapping, Sequence
import random

from korder.api import scheduling
from korder.api.core import Node
from korder.embedded.actors.scheduling import spread
from korder.embedded.actors.scheduling.cluster import Cluster
from korder.embedded.actors.scheduling.tenants import Tenant

_MOST = 100.0
_TAINTS, _AFFINITY, _SPREAD = 3, 2, 2


def best(tenant: Tenant, cluster: Cluster, names: Sequence[str], rng: random.Random) -> str:
    """Chooses one of the nodes that take the pod."""
    if len(names) == 1:
        return names[0]
    totals = {name: _room(tenant, cluster, name) for name in names}
    for weight, scores in _wishes(tenant, cluster, names):
        for name in names:
            totals[name] += weight * scores[name]
    highest = max(totals.values())
    return rng.choice([name for name in names if totals[name] == highest])


def _wishes(
    tenant: Tenant, cluster: Cluster, names: Sequence[str]
) -> list[tuple[int, Mapping[str, float]]]:
    """The scores that not every pod needs."""
    nodes = [cluster.nodes[name] for name in names]
    wishes: list[tuple[int, Mapping[str, float]]] = []
    if any(taint.effect == "PreferNoSchedule" for node in nodes for taint in node.spec.taints):
        disliked = _measured(nodes, lambda node: _unwelcome(tenant, node))
        wishes.append((_TAINTS, _reversed(disliked)))
    affinity = tenant.pod.spec.affinity
    if affinity is not None and affinity.node_affinity and affinity.node_affinity.preferred:
        liked = _measured(nodes, lambda node: _liking(tenant, node))
        most = max(liked.values())
        wishes.append((_AFFINITY, {n: _MOST * s / most if most else 0.0 for n, s in liked.items()}))
    wanted = spread.preferred(tenant, cluster)
    if wanted is not None:
        wishes.append((_SPREAD, _spacious(spread.crowding(wanted, nodes), names)))
    return wishes


def _room(tenant: Tenant, cluster: Cluster, name: str) -> float:
    """How much would be left, and how evenly cpu and memory would be used."""
    room, amounts = cluster.site(name).room, tenant.demand.amounts
    offered, used = room.allocatable, room.used
    cpu, memory = offered.get("cpu", 0), offered.get("memory", 0)
    shares = []
    if cpu:
        shares.append(min((used.get("cpu", 0) + amounts.get("cpu", 0)) / cpu, 1.0))
    if memory:
        shares.append(min((used.get("memory", 0) + amounts.get("memory", 0)) / memory, 1.0))
    if not shares:
        return 0.0
    mean = sum(shares) / len(shares)
    return _MOST * (1 - mean) + _MOST * (1 - (max(shares) - min(shares)) / 2)


def _measured(nodes: Sequence[Node], measure: Callable[[Node], float]) -> dict[str, float]:
    return {node.metadata.name: measure(node) for node in nodes}


def _unwelcome(tenant: Tenant, node: Node) -> int:
    """How many taints would rather not have the pod."""
    tolerations = tenant.pod.spec.tolerations
    return sum(
        taint.effect == "PreferNoSchedule"
        and not any(scheduling.tolerates(toleration, taint) for toleration in tolerations)
        for taint in node.spec.taints
    )


def _liking(tenant: Tenant, node: Node) -> int:
    affinity = tenant.pod.spec.affinity
    preferred = affinity.node_affinity.preferred if affinity and affinity.node_affinity else ()
    return sum(wish.weight for wish in preferred if scheduling.term_matches(wish.preference, node))


def _reversed(scores: Mapping[str, float]) -> dict[str, float]:
    most = max(scores.values())
    return {
        name: _MOST * (most - score) / most if most else _MOST for name, score in scores.items()
    }


def _spacious(crowds: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Turns crowding into a score; nodes in no domain get nothing."""
    most, least = max(crowds.values(), default=0.0), min(crowds.values(), default=0.0)
    return {
        name: (_MOST * (most + least - crowds[name]) / most if most else _MOST)
        if name in crowds
        else 0.0
        for name in names
    }
