"""Pods as the scheduler sees them: measured once, compared often.

`cluster` keeps one `Tenant` for each pod that has or awaits a place. Rules about neighbours (spread, affinity) are asked as
`Query`s over tenants, which are hashable, so that `cluster` can keep their answers up to date instead of counting again.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from kubeloop.objects import codec, node_room, pod_requests, quantity, selector
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON, Base, Key, key_of
from kubeloop.objects.node_room import Demand
from kubeloop.objects.selector import LabelSelector, Selector

_UNSAID = {"cpu": quantity.parse("100m"), "memory": quantity.parse("200Mi")}
"""What a container that does not say is taken to need when nodes are compared, never when a pod is fitted in."""


class Selection(NamedTuple):
    """Pods by namespace and labels; without `namespaces` those of all."""

    namespaces: frozenset[str] | None
    selector: Selector

    def matches(self, pod: Pod) -> bool:
        meta = pod.metadata
        return (self.namespaces is None or meta.namespace in self.namespaces) and (
            self.selector.matches(meta.labels)
        )


class Query(NamedTuple):
    """Pods that meet all selections; ending ones may be left out."""

    selections: tuple[Selection, ...]
    ending: bool = True

    def matches(self, pod: Pod) -> bool:
        if not self.ending and pod.metadata.deletion_timestamp is not None:
            return False
        return all(selection.matches(pod) for selection in self.selections)


class AffinityTerm(Base):
    """A term of affinity or anti-affinity between pods, as it stands on the wire."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class _Preferred(Base):
    weight: int = 0
    pod_affinity_term: AffinityTerm = AffinityTerm()


class _Terms(Base):
    required: tuple[AffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[_Preferred, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Term(NamedTuple):
    """A term made ready; `within` selects further namespaces by their labels."""

    topology_key: str
    pods: Selector
    namespaces: frozenset[str]
    within: Selector


Likings = tuple[tuple[Term, int], ...]
"""Terms and how much they weigh; below zero for pods that are avoided."""


class Load(NamedTuple):
    """What a pod is taken to use when nodes are compared."""

    cpu: int
    memory: int


NO_LOAD = Load(0, 0)


class Tenant(msgspec.Struct, frozen=True):
    """A pod, what it takes, and which other pods it seeks and shuns, or only likes."""

    pod: Pod
    demand: Demand
    load: Load
    priority: int
    seeks: tuple[Term, ...] = ()
    shuns: tuple[Term, ...] = ()
    likes: Likings = ()

    @property
    def key(self) -> Key:
        return key_of(self.pod)

    def counts_like(self, other: "Tenant") -> bool:
        """Whether another state of the same pod is counted in the same way wherever pods are counted."""
        mine, theirs = self.pod.metadata, other.pod.metadata
        return (
            self.demand == other.demand
            and self.load == other.load
            and self.pod.spec.affinity == other.pod.spec.affinity
            and mine.labels == theirs.labels
            and mine.deletion_timestamp == theirs.deletion_timestamp
        )

    @property
    def social(self) -> bool:
        """Whether other pods decide where this one may go."""
        return bool(self.pod.spec.topology_spread_constraints or self.seeks or self.shuns)


def measure(pod: Pod) -> Tenant:
    """Looks at a pod once, for all nodes and all questions."""
    demand, affinity = node_room.demand_of(pod), pod.spec.affinity
    load, priority = _load(pod, demand), pod.spec.priority or 0
    if affinity is None:
        return Tenant(pod, demand, load, priority)
    near, far = _terms(affinity.pod_affinity), _terms(affinity.pod_anti_affinity)
    return Tenant(
        pod,
        demand,
        load,
        priority,
        _ready(near.required, pod),
        _ready(far.required, pod),
        (*_weighed(near.preferred, pod, 1), *_weighed(far.preferred, pod, -1)),
    )


def resolved(term: Term, namespaces: Callable[[Selector], frozenset[str]]) -> Selection:
    """The pods a term means, when `namespaces` finds those with certain labels."""
    if term.within == selector.EVERYTHING:
        return Selection(None, term.pods)
    if term.within == selector.NOTHING:
        return Selection(term.namespaces, term.pods)
    return Selection(term.namespaces | namespaces(term.within), term.pods)


def _load(pod: Pod, demand: Demand) -> Load:
    everyone = (*pod.spec.containers, *pod.spec.init_containers)
    amounts = demand.amounts
    if any(name not in each.resources.requests for each in everyone for name in _UNSAID):
        amounts = node_room.amounts(pod_requests.requests(pod, unsaid=_UNSAID))
    return Load(amounts.get("cpu", 0), amounts.get("memory", 0))


def _terms(wire: JSON) -> _Terms:
    try:
        return _NO_TERMS if wire is None else codec.convert(wire, _Terms)
    except msgspec.ValidationError:
        return _NO_TERMS


_NO_TERMS = _Terms()


def _ready(terms: Iterable[AffinityTerm], pod: Pod) -> tuple[Term, ...]:
    try:
        return tuple(_made(term, pod) for term in terms)
    except selector.InvalidSelector:
        return ()


def _weighed(wishes: Iterable[_Preferred], pod: Pod, sign: int) -> Likings:
    terms = _ready((wish.pod_affinity_term for wish in wishes), pod)
    return tuple((term, sign * wish.weight) for term, wish in zip(terms, wishes, strict=False))


def _made(term: AffinityTerm, pod: Pod) -> Term:
    named = frozenset(term.namespaces)
    if not named and term.namespace_selector is None:
        named = frozenset((pod.metadata.namespace,))
    return Term(
        term.topology_key,
        selector.from_struct(term.label_selector),
        named,
        selector.from_struct(term.namespace_selector),
    )
