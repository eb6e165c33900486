"""The picture of the cluster that a scheduler has: what each node offers, who sits where, and who has been promised a place.

`pocketkube.scheduler.scheduler` feeds it with every change of a node or pod, and with its own decisions before the API server knows them: a
pod that is being bound is *assumed* to sit on its node, so that no two get the same room. `pocketkube.nodes.kubelet` keeps one of the pods it
has admitted. Sums are kept, never recounted: to add or remove a pod costs the same however many there are.
"""

from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kubeloop.objects.core import Node
from kubeloop.objects.meta import Key
from kubeloop.objects.node_room import NodeRoom
from kubeloop.objects.selector import Selector
from pocketkube.scheduler.filters import Refusal
from pocketkube.scheduler.pod_info import NO_LOAD, Load, Query, Tenant, Term

_MOST_QUERIES = 256


@dataclass(slots=True)
class Site:
    """A place for pods; `node` is missing while pods are known of a node that is not."""

    node: Node | None = None
    room: NodeRoom = field(default_factory=lambda: NodeRoom({}, {}, {}))
    load: Load = NO_LOAD
    tenants: dict[Key, Tenant] = field(default_factory=dict)
    answers: dict[tuple[tuple[str, int], ...] | None, Refusal | None] = field(default_factory=dict)
    """What it says, as it is, to pods that ask for room and nothing else."""
    worth: dict[tuple[Load, int, int], int] = field(default_factory=dict)
    """What pods of some demand think of it as it is; most pods are like others, and most sites do not change between two of them."""

    def forget(self) -> None:
        """Forgets what was worked out: something has changed here."""
        self.answers.clear()
        self.worth.clear()


class Cluster:
    """Sites by name, and what is known about their tenants as a whole."""

    def __init__(self) -> None:
        self.namespaces: dict[str, Mapping[str, str]] = {}
        """Labels of namespaces, for terms that select by them."""
        self.nodes: dict[str, Node] = {}
        self.shunned: dict[Term, Counter[str]] = {}
        """Required anti-affinity of seated pods: how many there are, by node."""
        self.liked: dict[Term, Counter[str]] = {}
        """All other affinity and anti-affinity of seated pods: what it weighs together, by node."""
        self._sites: dict[str, Site] = {}
        self._seats: dict[Key, str] = {}
        self._promised: dict[str, dict[Key, Tenant]] = {}
        self._promises: dict[Key, str] = {}
        self._answers: OrderedDict[Query, Counter[str]] = OrderedDict()

    def site(self, name: str) -> Site:
        return self._sites.get(name) or Site()

    def set_node(self, name: str, node: Node | None) -> None:
        """Takes in a node as it is now, or that it is gone."""
        site = self._sites.setdefault(name, Site())
        site.node = node
        site.forget()
        if node is None:
            del self.nodes[name]
            site.room = NodeRoom({}, site.room.used, site.room.ports)
            self._sweep(name)
        else:
            self.nodes[name] = node
            site.room = site.room.with_node(node)

    def seat_of(self, key: Key) -> str:
        """The node a pod sits on, in truth or by assumption; empty if it has none."""
        return self._seats.get(key, "")

    def seat(self, tenant: Tenant, name: str) -> None:
        """Puts a pod on a node, in place of what was known of it."""
        key = tenant.key
        if self._seats.get(key) == name:
            tenants = self._sites[name].tenants
            if tenants[key].counts_like(tenant):
                tenants[key] = tenant
                return
        self.leave(key)
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = Site()
        site.tenants[key] = tenant
        site.room = site.room.with_pod(tenant.demand)
        site.forget()
        self._seats[key] = name
        self._note(tenant, name, 1)

    def leave(self, key: Key) -> Tenant | None:
        """Takes a pod off its node, if it has one, and says what was known of it."""
        name = self._seats.pop(key, "")
        if not name:
            return None
        site = self._sites[name]
        tenant = site.tenants.pop(key)
        site.room = site.room.without_pod(tenant.demand)
        site.forget()
        self._note(tenant, name, -1)
        self._sweep(name)
        return tenant

    def promise(self, tenant: Tenant, name: str) -> None:
        """Counts a pod without a seat as nominated to a node; an empty name withdraws that."""
        self.withdraw(tenant.key)
        if name:
            self._promised.setdefault(name, {})[tenant.key] = tenant
            self._promises[tenant.key] = name
            self.site(name).forget()

    def withdraw(self, key: Key) -> str:
        """Forgets a nomination and says to which node it was."""
        name = self._promises.pop(key, "")
        if name:
            del self._promised[name][key]
            if not self._promised[name]:
                del self._promised[name]
        return name

    def promised_to(self, key: Key) -> str:
        return self._promises.get(key, "")

    def promised(self, name: str) -> Collection[Tenant]:
        """The pods nominated to a node."""
        there = self._promised.get(name)
        return there.values() if there else ()

    def count(self, query: Query) -> Mapping[str, int]:
        """How many seated pods meet a query, by node; kept up to date from the first question on."""
        answer = self._answers.get(query)
        if answer is None:
            answer = Counter(
                name
                for name, site in self._sites.items()
                for tenant in site.tenants.values()
                if query.matches(tenant.pod)
            )
            self._answers[query] = answer
            if len(self._answers) > _MOST_QUERIES:
                self._answers.popitem(last=False)
        else:
            self._answers.move_to_end(query)
        return answer

    def namespaces_with(self, selector: Selector) -> frozenset[str]:
        return frozenset(
            name for name, labels in self.namespaces.items() if selector.matches(labels)
        )

    def _note(self, tenant: Tenant, name: str, times: int) -> None:
        for query, answer in self._answers.items():
            if query.matches(tenant.pod):
                answer[name] += times
        site = self._sites[name]
        cpu, memory = tenant.load
        site.load = Load(site.load.cpu + times * cpu, site.load.memory + times * memory)
        for term in tenant.shuns:
            _weigh(self.shunned, term, name, times)
        for term in tenant.seeks:
            _weigh(self.liked, term, name, times)
        for term, weight in tenant.likes:
            _weigh(self.liked, term, name, times * weight)

    def _sweep(self, name: str) -> None:
        site = self._sites[name]
        if site.node is None and not site.tenants:
            del self._sites[name]


def _weigh(terms: dict[Term, Counter[str]], term: Term, name: str, change: int) -> None:
    counts = terms.setdefault(term, Counter())
    counts[name] += change
    if not counts[name]:
        del counts[name]
    if not counts:
        del terms[term]
