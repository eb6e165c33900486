"""Affinity and anti-affinity between pods.

`Neighbours` counts, for one pod, where the pods are that it seeks and shuns, and where those are that shun it. Like `spread.Spread`
it is a value with `moved`. What is only preferred, by the pod or by others of it, is summed up by `attraction`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kubeloop.objects.core import Node
from pocketkube.scheduler import pod_info as tenancy
from pocketkube.scheduler.filters import Refusal
from pocketkube.scheduler.pod_info import Query, Selection, Tenant, Term
from pocketkube.scheduler.snapshot import Cluster

Pair = tuple[str, str]
"""A label of nodes and its value: the domain in which pods are neighbours."""

_LONELY = Refusal(("node(s) didn't match pod affinity rules",), final=True)
_SHUNS = Refusal(("node(s) didn't match pod anti-affinity rules",), final=False)
_SHUNNED = Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), final=False)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Counts by domain: of the sought, of the shunned, and of those who shun this pod."""

    tenant: Tenant
    cluster: Cluster
    wanted: tuple[Selection, ...]
    unwanted: tuple[Selection, ...]
    sought: Mapping[Pair, int]
    shunned: Mapping[Pair, int]
    shunning: Mapping[Pair, int]

    def refusal(self, node: Node) -> Refusal | None:
        """Whether the wrong pods are near this node, or the right ones are not."""
        labels = node.metadata.labels
        if not self._finds_friends(labels):
            return _LONELY
        if any(self._near(self.shunned, term.topology_key, labels) for term in self.tenant.shuns):
            return _SHUNS
        if self.shunning and any(self.shunning.get(pair, 0) > 0 for pair in labels.items()):
            return _SHUNNED
        return None

    def moved(self, node: Node, tenants: Iterable[Tenant], times: int) -> "Neighbours":
        """The neighbourhood with these pods added to a node, or taken from it."""
        sought, shunned = Counter(self.sought), Counter(self.shunned)
        shunning = Counter(self.shunning)
        labels = node.metadata.labels
        for other in tenants:
            if self.wanted and all(wanted.matches(other.pod) for wanted in self.wanted):
                _add(sought, (term.topology_key for term in self.tenant.seeks), labels, times)
            for term, unwanted in zip(self.tenant.shuns, self.unwanted, strict=True):
                if unwanted.matches(other.pod):
                    _add(shunned, (term.topology_key,), labels, times)
            for term in other.shuns:
                if _means(term, self.tenant, self.cluster):
                    _add(shunning, (term.topology_key,), labels, times)
        return replace(self, sought=+sought, shunned=+shunned, shunning=+shunning)

    def _finds_friends(self, labels: Mapping[str, str]) -> bool:
        keys = [term.topology_key for term in self.tenant.seeks]
        if any(key not in labels for key in keys):
            return False
        if all(self._near(self.sought, key, labels) for key in keys):
            return True
        # The first of a group whose members seek each other would otherwise wait for ever.
        return not self.sought and all(w.matches(self.tenant.pod) for w in self.wanted)

    @staticmethod
    def _near(counts: Mapping[Pair, int], key: str, labels: Mapping[str, str]) -> bool:
        return key in labels and counts.get((key, labels[key]), 0) > 0


def around(tenant: Tenant, cluster: Cluster) -> Neighbours | None:
    """The neighbourhood of a pod, unless it seeks and shuns nobody and no seated pod shuns it.

    In that case kube-scheduler does not look at pods that are only nominated either.
    """
    shunning: Counter[Pair] = Counter()
    for term, by_node in cluster.shunned.items():
        if _means(term, tenant, cluster):
            _spread(shunning, (term.topology_key,), by_node, cluster)
    if not (tenant.seeks or tenant.shuns or shunning):
        return None
    wanted = tuple(_selection(term, cluster) for term in tenant.seeks)
    unwanted = tuple(_selection(term, cluster) for term in tenant.shuns)
    sought: Counter[Pair] = Counter()
    if wanted:
        keys = tuple(term.topology_key for term in tenant.seeks)
        _spread(sought, keys, cluster.count(Query(wanted)), cluster)
    shunned: Counter[Pair] = Counter()
    for term, selection in zip(tenant.shuns, unwanted, strict=True):
        _spread(shunned, (term.topology_key,), cluster.count(Query((selection,))), cluster)
    return Neighbours(tenant, cluster, wanted, unwanted, sought, shunned, shunning)


def attraction(tenant: Tenant, cluster: Cluster) -> Mapping[Pair, int]:
    """How much a pod is drawn to a domain or away from it: by what it likes, and by who likes it.

    Who requires its nearness likes it too, with the least of weights.
    """
    total: Counter[Pair] = Counter()
    for term, weight in tenant.likes:
        by_node = cluster.count(Query((_selection(term, cluster),)))
        weighed = {name: number * weight for name, number in by_node.items()}
        _spread(total, (term.topology_key,), weighed, cluster)
    for term, by_node in cluster.liked.items():
        if _means(term, tenant, cluster):
            _spread(total, (term.topology_key,), by_node, cluster)
    return total


def _selection(term: Term, cluster: Cluster) -> Selection:
    return tenancy.resolved(term, cluster.namespaces_with)


def _means(term: Term, tenant: Tenant, cluster: Cluster) -> bool:
    return _selection(term, cluster).matches(tenant.pod)


def _spread(
    total: Counter[Pair], keys: tuple[str, ...], by_node: Mapping[str, int], cluster: Cluster
) -> None:
    for name, number in by_node.items():
        node = cluster.nodes.get(name)
        if node is not None and number:
            _add(total, keys, node.metadata.labels, number)


def _add(total: Counter[Pair], keys: Iterable[str], labels: Mapping[str, str], number: int) -> None:
    for key in keys:
        if key in labels:
            total[key, labels[key]] += number
