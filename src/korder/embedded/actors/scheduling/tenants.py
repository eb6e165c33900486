"""Pods as the scheduler sees them: measured once, compared often.

`cluster` keeps one `Tenant` for each pod that has or awaits a place. Rules about neighbours (spread, affinity) are asked as
`Query`s over tenants, which are hashable, so that `cluster` can keep their answers up to date instead of counting again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from korder.api import codec, noderoom, selector
from korder.api.core import Pod
from korder.api.meta import JSON, Base, Key, key_of
from korder.api.noderoom import Demand
from korder.api.selector import LabelSelector, Selector


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
    """A required term of affinity or anti-affinity between pods, as it stands on the wire."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class _Terms(Base):
    required: tuple[AffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Term(NamedTuple):
    """A term made ready; `within` selects further namespaces by their labels."""

    topology_key: str
    pods: Selector
    namespaces: frozenset[str]
    within: Selector


@dataclass(frozen=True, slots=True)
class Tenant:
    """A pod, what it takes, and which other pods it seeks and shuns."""

    pod: Pod
    demand: Demand
    priority: int
    seeks: tuple[Term, ...] = ()
    shuns: tuple[Term, ...] = ()

    @property
    def key(self) -> Key:
        return key_of(self.pod)

    @property
    def social(self) -> bool:
        """Whether other pods decide where this one may go."""
        return bool(self.pod.spec.topology_spread_constraints or self.seeks or self.shuns)


def measure(pod: Pod) -> Tenant:
    """Looks at a pod once, for all nodes and all questions."""
    affinity = pod.spec.affinity
    return Tenant(
        pod,
        noderoom.demand_of(pod),
        pod.spec.priority or 0,
        _terms(affinity.pod_affinity, pod) if affinity else (),
        _terms(affinity.pod_anti_affinity, pod) if affinity else (),
    )


def resolved(term: Term, namespaces: Callable[[Selector], frozenset[str]]) -> Selection:
    """The pods a term means, when `namespaces` finds those with certain labels."""
    if term.within == selector.EVERYTHING:
        return Selection(None, term.pods)
    if term.within == selector.NOTHING:
        return Selection(term.namespaces, term.pods)
    return Selection(term.namespaces | namespaces(term.within), term.pods)


def _terms(wire: JSON, pod: Pod) -> tuple[Term, ...]:
    if wire is None:
        return ()
    try:
        return tuple(_ready(term, pod) for term in codec.convert(wire, _Terms).required)
    except (msgspec.ValidationError, selector.InvalidSelector):
        return ()


def _ready(term: AffinityTerm, pod: Pod) -> Term:
    named = frozenset(term.namespaces)
    if not named and term.namespace_selector is None:
        named = frozenset((pod.metadata.namespace,))
    return Term(
        term.topology_key,
        selector.from_struct(term.label_selector),
        named,
        selector.from_struct(term.namespace_selector),
    )
