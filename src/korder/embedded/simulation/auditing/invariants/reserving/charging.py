"""Quotas: what korder makes is charged before, and never more than is allowed.

Counted anew from API objects: the arithmetic of the domain is among what is judged. Who decides by what was true a moment ago cannot know
of a quota, a label or a limit that has only just changed; use that rises because a ticket comes back after use is nobody's making.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from korder.api import quantity, selector
from korder.api.core import NAMESPACES
from korder.api.meta import ObjectMeta, controller_of
from korder.api.quota import QUOTAS, RESERVED_PREFIX, TICKETS_KEY, Quota, ScopeType
from korder.api.reserve import TICKETS, Order, Ticket
from korder.embedded.simulation.auditing.invariant import (
    CALM,
    Broken,
    Finding,
    Invariant,
    Tolerance,
)
from korder.embedded.simulation.auditing.invariants.reserving import signs
from korder.embedded.simulation.auditing.recent import Recent
from korder.embedded.simulation.auditing.view import View
from korder.embedded.simulation.changes import Change, Subject, subject_of


class ChargedFirst(Invariant):
    """The ledger in a quota's status is written before a ticket is made, whoever leads."""

    name = "charged-first"
    promise = "A ticket that korder makes stands in the ledger of every quota that means it, and is none too many for it."
    resources = (TICKETS, QUOTAS)
    reads = (NAMESPACES,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._stale = tolerance.stale
        self._allowed: Recent[str, int] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        self._note(change, view)
        old, new = view.both(TICKETS)
        if old is not None or new is None or not signs.is_ours(change):
            return
        for quota in view.of(QUOTAS).all():
            if self._counts(quota, new, view):
                about = (subject_of(change), _about(quota))
                for told in (*_uncharged(quota, new), *self._too_many(quota, change, view)):
                    yield Broken(told, about)

    def _note(self, change: Change, view: View) -> None:
        old, new = view.both(QUOTAS)
        if old is not None and new is not None and _limit(old) != _limit(new):
            self._allowed.ended(old.metadata.name, _limit(old) or 0, change.at)

    def _counts(self, quota: Quota, ticket: Ticket, view: View) -> bool:
        """Whether a quota means a ticket, and has for as long as anybody can be behind."""
        namespace = Subject(str(NAMESPACES), "", ticket.metadata.namespace)
        known = quota.status.observed_generation == quota.metadata.generation
        created = quota.metadata.creation_timestamp
        age = view.now - created if created is not None else timedelta()
        settled = view.object(namespace) is None or view.quiet_for(namespace) > self._stale
        return known and age > self._stale and settled and _means(quota, ticket, view)

    def _too_many(self, quota: Quota, change: Change, view: View) -> Iterator[str]:
        limit = _limit(quota)
        if limit is None:
            return
        most = max((limit, *self._allowed.of(quota.metadata.name, change.at)))
        there = sum(
            each.status.phase not in signs.ENDED
            and controller_of(each) is not None
            and _means(quota, each, view)
            for each in view.of(TICKETS).all()
        )
        if there > most:
            yield f"it was made as number {there} of {most} that quota {quota.metadata.name} allows"


def is_full_for(order: Order, view: View) -> bool:
    """Whether a quota that means the tickets of an order has no room for one more: then it may have fewer than it promises."""
    template = order.spec.template
    ticket = Ticket(
        metadata=ObjectMeta(
            namespace=order.metadata.namespace, labels=dict(template.metadata.labels)
        ),
        spec=template.spec,
    )
    asked = {f"{RESERVED_PREFIX}{name}": said for name, said in template.spec.requests.items()}
    return any(
        quantity.parse(quota.status.used.get(key, 0)) + quantity.parse(amount)
        > quantity.parse(quota.status.hard[key])
        for quota in view.of(QUOTAS).all()
        if _means(quota, ticket, view)
        for key, amount in {TICKETS_KEY: 1, **asked}.items()
        if key in quota.status.hard
    )


def _uncharged(quota: Quota, ticket: Ticket) -> Iterator[str]:
    name = (ticket.metadata.namespace, ticket.metadata.name)
    if name not in {(entry.namespace, entry.name) for entry in quota.status.pending}:
        yield f"quota {quota.metadata.name} was not charged before it was made"


def _limit(quota: Quota) -> int | None:
    """How many tickets a quota says it allows now."""
    said = quota.status.hard.get(TICKETS_KEY)
    return None if said is None else quantity.parse(said).nano // quantity.parse(1).nano


def _means(quota: Quota, ticket: Ticket, view: View) -> bool:
    scope, meta = quota.spec.scope, ticket.metadata
    match scope.type:
        case ScopeType.CLUSTER:
            return True
        case ScopeType.NAMESPACE_LIST:
            return meta.namespace in scope.namespaces
        case ScopeType.NAMESPACE_SELECTOR:
            found = view.object(Subject(str(NAMESPACES), "", meta.namespace))
            labels = found.metadata.labels if found is not None else {}
            return selector.from_struct(scope.namespace_selector).matches(labels)
        case ScopeType.OBJECT_SELECTOR:
            return selector.from_struct(scope.object_selector).matches(meta.labels)


def _about(quota: Quota) -> Subject:
    return Subject(str(QUOTAS), "", quota.metadata.name)
