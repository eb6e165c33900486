"""Quotas: what korder makes is charged before, and never more than is allowed.

Counted anew from API objects: the arithmetic of the domain is among what is judged. Who decides by what was true a moment ago cannot know
of a quota, a label or a limit that has only just changed; use that rises because a ticket comes back after use is nobody's making.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from korder.api.quota import MAX_DURATION_KEY, ORDERS_KEY, QUOTAS, TICKETS_KEY, Quota, ScopeType
from korder.api.reserve import ENDED_PHASES, ORDER_LABEL, ORDERS, TICKETS, Order, Ticket
from korder.reserve.scenarios.invariants import facts, usage
from kubeloop.objects import duration, quantity
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import ObjectMeta, controller_of
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.recent import Recent
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of
from pocketkube.simulation.invariants.waiting import A_MOMENT


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
        if old is not None or new is None or not facts.is_ours(change):
            return
        for quota in view.of(QUOTAS).all():
            if self._counts(quota, new, view):
                about = (subject_of(change), usage.about(quota))
                for stated in (*_uncharged(quota, new), *self._too_many(quota, change, view)):
                    yield Broken(stated, about)

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
        return known and age > self._stale and settled and usage.means(quota, ticket, view)

    def _too_many(self, quota: Quota, change: Change, view: View) -> Iterator[str]:
        limit = _limit(quota)
        if limit is None:
            return
        most = max((limit, *self._allowed.of(quota.metadata.name, change.at)))
        there = sum(
            each.status.phase not in ENDED_PHASES
            and controller_of(each) is not None
            and usage.means(quota, each, view)
            for each in view.of(TICKETS).all()
        )
        if there > most:
            yield f"it was made as number {there} of {most} that quota {quota.metadata.name} allows"


def is_full_for(order: Order, view: View, since: timedelta = A_MOMENT) -> bool:
    """Whether a quota that means the tickets of an order has no room for one more, or had none until a moment ago.

    Then the order may have fewer than it promises.
    """
    template, meta = order.spec.template, order.metadata
    labels = {**template.metadata.labels, ORDER_LABEL: meta.name}
    ticket = Ticket(
        metadata=ObjectMeta(namespace=meta.namespace, labels=labels), spec=template.spec
    )
    return any(
        _moved(quota, ticket, view) < since
        or (usage.means(quota, ticket, view) and _is_short(quota, order, ticket, view))
        for quota in view.of(QUOTAS).all()
    )


def _moved(quota: Quota, ticket: Ticket, view: View) -> timedelta:
    """How long ago a quota, or whether it means a ticket, last changed."""
    namespace = Subject(str(NAMESPACES), "", ticket.metadata.namespace)
    labelled = quota.spec.scope.type is ScopeType.NAMESPACE_SELECTOR or quota.spec.allocation
    about = [usage.about(quota)] if usage.means(quota, ticket, view) else []
    if labelled and view.object(namespace) is not None:
        about.append(namespace)
    return min(map(view.quiet_for, about), default=timedelta.max)


def _is_short(quota: Quota, order: Order, ticket: Ticket, view: View) -> bool:
    status = quota.status
    pairs = [(status.used, status.hard)]
    inside = set(usage.allocations(quota, ticket, view))
    pairs += [(e.used, e.hard) for n, e in enumerate(status.allocation) if n in inside]
    return any(_has_no_room(*pair, ticket) for pair in pairs) or _serves_enough(quota, order, view)


def _has_no_room(
    used: Mapping[str, str | int], hard: Mapping[str, str | int], ticket: Ticket
) -> bool:
    if MAX_DURATION_KEY in hard:
        longest = duration.parse(str(hard[MAX_DURATION_KEY])).timedelta
        if facts.length_of(ticket) > longest:
            return True
    there, allowed = (
        usage.read(used),
        usage.read({key: said for key, said in hard.items() if key != MAX_DURATION_KEY}),
    )
    return any(
        there.get(key, 0) + amount > allowed[key]
        for key, amount in usage.charge(ticket).items()
        if key in allowed
    )


def _serves_enough(quota: Quota, order: Order, view: View) -> bool:
    """Whether as many other orders are there as may have tickets."""
    if ORDERS_KEY not in quota.status.hard:
        return False
    others = sum(
        usage.means(quota, each, view)
        for each in view.of(ORDERS).all()
        if each.metadata.uid != order.metadata.uid
    )
    return (others + 1) * usage.ONE > quantity.parse(quota.status.hard[ORDERS_KEY]).nano


def _uncharged(quota: Quota, ticket: Ticket) -> Iterator[str]:
    name = (ticket.metadata.namespace, ticket.metadata.name)
    if name not in {(entry.namespace, entry.name) for entry in quota.status.pending}:
        yield f"quota {quota.metadata.name} was not charged before it was made"


def _limit(quota: Quota) -> int | None:
    """How many tickets a quota says it allows now."""
    said = quota.status.hard.get(TICKETS_KEY)
    return None if said is None else quantity.parse(said).nano // quantity.parse(1).nano
