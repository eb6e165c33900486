"""Which of the nodes that take a pod is the best: empty, balanced, liked by the pod, near its friends and far from its likes.

The weights are kube-scheduler's defaults, and so is the rounding: every score is a whole number up to a hundred, because what ties
there must tie here. What it also weighs (images that are already there, spreading by service) is left out. Ties are broken by the
generator that is handed in.
"""

from collections.abc import Mapping, Sequence
import random

from kubeloop.objects import scheduling
from kubeloop.objects.core import Node
from pocketkube.scheduler import affinity, spread
from pocketkube.scheduler.pod_info import Tenant
from pocketkube.scheduler.snapshot import Cluster, Site

_MOST = 100
_TAINTS, _AFFINITY, _SPREAD, _NEIGHBOURS = 3, 2, 2, 2
_BALANCED = ("cpu", "memory")


def best(tenant: Tenant, cluster: Cluster, names: Sequence[str], rng: random.Random) -> str:
    """Chooses one of the nodes that take the pod."""
    if len(names) == 1:
        return names[0]
    totals = scores(tenant, cluster, names)
    highest = max(totals.values())
    return rng.choice([name for name in names if totals[name] == highest])


def scores(tenant: Tenant, cluster: Cluster, names: Sequence[str]) -> dict[str, int]:
    """What each of the nodes that take the pod is worth to it, in comparison with the others.

    How comfortable a site is was worked out for an earlier pod of the same demand, unless something has changed there since.
    """
    amounts = tenant.demand.amounts
    alike = (tenant.load, amounts.get("cpu", -1), amounts.get("memory", -1))
    totals: dict[str, int] = {}
    for name in names:
        site = cluster.site(name)
        known = site.worth.get(alike)
        if known is None:
            known = site.worth[alike] = _comfort(tenant, site)
        totals[name] = known
    for weight, wished in _wishes(tenant, cluster, names):
        for name in names:
            totals[name] += weight * wished[name]
    return totals


def _wishes(
    tenant: Tenant, cluster: Cluster, names: Sequence[str]
) -> list[tuple[int, Mapping[str, int]]]:
    """The scores that not every pod needs."""
    nodes = {name: cluster.nodes[name] for name in names}
    wishes: list[tuple[int, Mapping[str, int]]] = []
    if any(t.effect == "PreferNoSchedule" for node in nodes.values() for t in node.spec.taints):
        disliked = {name: _unwelcome(tenant, node) for name, node in nodes.items()}
        wishes.append((_TAINTS, _reversed(disliked)))
    wanted = tenant.pod.spec.affinity
    if wanted is not None and wanted.node_affinity and wanted.node_affinity.preferred:
        liked = {name: _liking(tenant, node) for name, node in nodes.items()}
        most = max(liked.values()) or 1
        wishes.append((_AFFINITY, {name: _MOST * s // most for name, s in liked.items()}))
    even = spread.preferred(tenant, cluster)
    if even is not None:
        wishes.append((_SPREAD, _spacious(spread.crowding(even, nodes.values()), names)))
    drawn = affinity.attraction(tenant, cluster)
    if drawn:
        wishes.append((_NEIGHBOURS, _near(drawn, nodes)))
    return wishes


def _comfort(tenant: Tenant, site: Site) -> int:
    """How empty and how evenly used the node would be."""
    balanced = any(name in tenant.demand.amounts for name in _BALANCED)
    return _emptiness(tenant, site) + (_balance(tenant, site) if balanced else 0)


def _emptiness(tenant: Tenant, site: Site) -> int:
    """How much of cpu and memory would be left, on average."""
    left = [
        max(offered - used - wanted, 0) * _MOST // offered
        for resource, used, wanted in zip(_BALANCED, site.load, tenant.load, strict=True)
        if (offered := site.room.allocatable.get(resource, 0))
    ]
    return sum(left) // len(left) if left else 0


def _balance(tenant: Tenant, site: Site) -> int:
    """Whether the pod would make the use of cpu and memory more even, or less."""
    after = _evenness(site, tenant.demand.amounts)
    return _MOST // 2 + (_MOST // 2 + after - _evenness(site, {})) // 2


def _evenness(site: Site, added: Mapping[str, int]) -> int:
    room = site.room
    shares = [
        min((room.used.get(resource, 0) + added.get(resource, 0)) / offered, 1.0)
        for resource in _BALANCED
        if (offered := room.allocatable.get(resource, 0))
    ]
    return int((1 - (max(shares) - min(shares)) / 2) * _MOST) if shares else _MOST


def _unwelcome(tenant: Tenant, node: Node) -> int:
    """How many taints would rather not have the pod."""
    tolerations = tenant.pod.spec.tolerations
    return sum(
        taint.effect == "PreferNoSchedule"
        and not any(scheduling.tolerates(toleration, taint) for toleration in tolerations)
        for taint in node.spec.taints
    )


def _liking(tenant: Tenant, node: Node) -> int:
    wanted = tenant.pod.spec.affinity
    preferred = wanted.node_affinity.preferred if wanted and wanted.node_affinity else ()
    return sum(wish.weight for wish in preferred if scheduling.term_matches(wish.preference, node))


def _reversed(counts: Mapping[str, int]) -> dict[str, int]:
    most = max(counts.values()) or 1
    return {name: _MOST - _MOST * count // most for name, count in counts.items()}


def _spacious(crowds: Mapping[str, int], names: Sequence[str]) -> dict[str, int]:
    """Turns crowding into a score; nodes in no domain get nothing."""
    most, least = max(crowds.values(), default=0), min(crowds.values(), default=0)
    return {
        name: (_MOST * (most + least - crowds[name]) // most if most else _MOST)
        if name in crowds
        else 0
        for name in names
    }


def _near(drawn: Mapping[affinity.Pair, int], nodes: Mapping[str, Node]) -> dict[str, int]:
    """How close each node is to the one that attracts the most, from the one that does the least."""
    pulls = {
        name: sum(drawn.get(pair, 0) for pair in node.metadata.labels.items())
        for name, node in nodes.items()
    }
    least = min(pulls.values())
    width = max(pulls.values()) - least or 1
    return {name: int(_MOST * ((pull - least) / width)) for name, pull in pulls.items()}
