"""What is used of every quota, as the judge counts it: rule 20 read off API objects, kept up change by change.

The invariants about quotas ask. The domain keeps such sums too, and they are what is judged: nothing of its arithmetic is used here.
Amounts are whole nano units.
"""

from collections.abc import Iterator, Mapping

from korder.api.quota import ORDERS_KEY, QUOTAS, RESERVED_PREFIX, TICKETS_KEY, Quota, ScopeType
from korder.api.reserve import ENDED_PHASES, ORDERS, TICKETS, Order, Ticket, TicketPhase
from korder.reserve.scenarios.invariants import facts
from kubeloop.objects import quantity, resources, selector
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import HasMetadata
from kubeloop.objects.selector import LabelSelector
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of

Amounts = dict[str, int]
ONE = quantity.parse(1).nano
KINDS = (TICKETS, ORDERS, QUOTAS, NAMESPACES)
"""What `Counts` must be told of."""


def about(quota: Quota) -> Subject:
    """Names a quota for a report."""
    return Subject(str(QUOTAS), "", quota.metadata.name)


def means(quota: Quota, obj: HasMetadata, view: View) -> bool:
    """Whether a quota is about an order or a ticket."""
    scope, meta = quota.spec.scope, obj.metadata
    match scope.type:
        case ScopeType.CLUSTER:
            return True
        case ScopeType.NAMESPACE_LIST:
            return meta.namespace in scope.namespaces
        case ScopeType.NAMESPACE_SELECTOR:
            return _selects(scope.namespace_selector, _labels(meta.namespace, view))
        case ScopeType.OBJECT_SELECTOR:
            return _selects(scope.object_selector, meta.labels)


def allocations(quota: Quota, obj: HasMetadata, view: View) -> Iterator[int]:
    """The numbers of the allocations that an object falls under."""
    for number, each in enumerate(quota.spec.allocation):
        chosen = each.namespace_selector
        if (
            each.namespace == obj.metadata.namespace
            if chosen is None
            else _selects(chosen, _labels(obj.metadata.namespace, view))
        ):
            yield number


def read(written: Mapping[str, object]) -> Amounts:
    """Amounts as they stand in a status."""
    return {key: amount.nano for key, amount in resources.parse_list(written).items()}


def charge(obj: Order | Ticket) -> Amounts:
    """What an order or a ticket counts for."""
    if isinstance(obj, Order):
        return {ORDERS_KEY: ONE}
    if obj.status.phase in ENDED_PHASES:
        return {}
    held = {} if obj.status.phase is TicketPhase.CLAIMED else facts.left(obj)
    amounts = {f"{RESERVED_PREFIX}{name}": amount.nano for name, amount in held.items()}
    return {TICKETS_KEY: ONE, **amounts}


class Counts:
    """Must be told of every change of what it counts."""

    def __init__(self) -> None:
        self._totals: dict[str, list[Amounts]] = {}
        """For each quota: its own, and then those of its allocations."""
        self._shares: dict[str, dict[Subject, tuple[Amounts, tuple[int, ...]]]] = {}

    def of(self, quota: Quota) -> list[Amounts]:
        """What is used of a quota, and then of each of its allocations."""
        return self._totals[quota.metadata.name]

    def note(self, change: Change, view: View) -> list[Quota]:
        """Takes in a change; returns the quotas for which it may matter."""
        if change.resource == str(QUOTAS):
            return self._quota(view)
        quotas = list(view.of(QUOTAS).all())
        if change.resource == str(NAMESPACES):
            old, new = view.both(NAMESPACES)
            if old is None or new is None or old.metadata.labels == new.metadata.labels:
                return []
            for quota in quotas:
                self._recount(quota, view)
            return quotas
        obj: Order | Ticket | None
        obj = view.both(TICKETS)[1] if change.resource == str(TICKETS) else view.both(ORDERS)[1]
        return [quota for quota in quotas if self._put(quota, subject_of(change), obj, view)]

    def _quota(self, view: View) -> list[Quota]:
        old, new = view.both(QUOTAS)
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            self._totals.pop(old.metadata.name, None)
            self._shares.pop(old.metadata.name, None)
        if new is None:
            return []
        if old is None or old.spec != new.spec or new.metadata.name not in self._totals:
            self._recount(new, view)
        return [new]

    def _recount(self, quota: Quota, view: View) -> None:
        name = quota.metadata.name
        self._totals[name] = [{} for _ in range(1 + len(quota.spec.allocation))]
        self._shares[name] = {}
        for ticket in view.of(TICKETS).all():
            self._put(quota, facts.about(ticket), ticket, view)
        for order in view.of(ORDERS).all():
            meta = order.metadata
            self._put(quota, Subject(str(ORDERS), meta.namespace, meta.name), order, view)

    def _put(self, quota: Quota, subject: Subject, obj: Order | Ticket | None, view: View) -> bool:
        """Puts an object in the place of what was counted for it; says whether anything is different."""
        shares = self._shares[quota.metadata.name]
        before = shares.pop(subject, None)
        if before is not None:
            self._add(quota, *before, -1)
        after = None
        if obj is not None and means(quota, obj, view):
            after = shares[subject] = charge(obj), tuple(allocations(quota, obj, view))
            self._add(quota, *after, 1)
        return before != after

    def _add(self, quota: Quota, amounts: Amounts, inside: tuple[int, ...], sign: int) -> None:
        totals = self._totals[quota.metadata.name]
        for number in (-1, *inside):
            for key, amount in amounts.items():
                totals[number + 1][key] = totals[number + 1].get(key, 0) + sign * amount


def _selects(structured: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether a selector finds something; one that nobody can read finds nothing."""
    try:
        return selector.from_struct(structured).matches(labels)
    except selector.InvalidSelector:
        return False


def _labels(namespace: str, view: View) -> Mapping[str, str]:
    found = view.object(Subject(str(NAMESPACES), "", namespace))
    return found.metadata.labels if found is not None else {}
