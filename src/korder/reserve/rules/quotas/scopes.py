"""Whom a quota means: a whole cluster, namespaces by name or label, or orders and tickets by label.

`verdict` and `tally` ask it. Labels are those of now: whoever relabels a namespace moves what is used in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from korder.api import selector
from korder.api.quota import QuotaSpec, Scope, ScopeType
from korder.api.selector import LabelSelector, Selector

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace and its labels."""

    namespace: str
    labels: Labels


def covers(scope: Scope, place: Place, labels: Labels) -> bool:
    """Says whether a quota means an object with these labels in this place."""
    match scope.type:
        case ScopeType.CLUSTER:
            return True
        case ScopeType.NAMESPACE_LIST:
            return place.namespace in scope.namespaces
        case ScopeType.NAMESPACE_SELECTOR:
            return selecting(scope.namespace_selector).matches(place.labels)
        case ScopeType.OBJECT_SELECTOR:
            return selecting(scope.object_selector).matches(labels)


def allocations(spec: QuotaSpec, place: Place) -> tuple[int, ...]:
    """The places in the list of all allocations that a namespace falls under; all of them hold."""
    return tuple(
        number
        for number, each in enumerate(spec.allocation)
        if (
            each.namespace == place.namespace
            if each.namespace_selector is None
            else selecting(each.namespace_selector).matches(place.labels)
        )
    )


def asks_for_labels(spec: QuotaSpec) -> bool:
    """Says whether labels of namespaces decide what a quota means or allows."""
    return spec.scope.type is ScopeType.NAMESPACE_SELECTOR or any(
        each.namespace_selector is not None for each in spec.allocation
    )


def selecting(structured: LabelSelector | None) -> Selector:
    """The selector that is meant; none selects nothing, nor does one that nobody can read."""
    if structured is None:
        return selector.NOTHING
    exact = tuple(sorted(structured.match_labels.items()))
    return _selecting(exact, structured.match_expressions)


@lru_cache(maxsize=4096)
def _selecting(
    exact: tuple[tuple[str, str], ...],
    expressions: tuple[selector.LabelSelectorRequirement, ...],
) -> Selector:
    structured = LabelSelector(match_labels=dict(exact), match_expressions=expressions)
    try:
        return selector.from_struct(structured)
    except selector.InvalidSelector:
        return selector.NOTHING
