"""What a write of an order or a ticket, or a renewal, adds to the use of quotas, in the terms of `verdict`."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from korder.api.quota import Quota
from korder.api.reserve import ORDER_LABEL, Order, Ticket
from korder.reserve import names as object_names
from korder.reserve.orders import assignments
from korder.reserve.quotas import ledger, verdict as quota_verdict
from korder.reserve.quotas.quota_cache import QuotaCache
from korder.reserve.quotas.verdict import Labels, Part, Place, Shortfall, Use, Wish, judge
from korder.reserve.tickets import deadlines
from kubeloop.objects import resources
from kubeloop.objects.core import Node


def refused(
    quota_cache: QuotaCache, ticket: Ticket, going: Iterable[Ticket], now: datetime
) -> tuple[Shortfall, ...]:
    """What stands in the way of another term."""
    meta, gone = ticket.metadata, (ticket, *going)
    using = ledger.using(quota_cache)
    part = Part(meta.labels, quota_verdict.of_ticket(ticket), deadlines.hold_length(ticket.spec))
    return judge(
        quota_cache.applying(meta.namespace, meta.labels),
        lambda quota: _without(using(quota), quota, gone, quota_cache),
        Wish(quota_cache.place(meta.namespace), (part,)),
        now,
        quota_cache.limits,
    )


def _without(use: Use, quota: Quota, gone: Iterable[Ticket], quota_cache: QuotaCache) -> Use:
    """What would be used if these tickets had ended."""
    total, inside = use.total, list(use.allocations)
    for ticket in gone:
        meta = ticket.metadata
        place = quota_cache.place(meta.namespace)
        if quota_verdict.covers(quota.spec.scope, place, meta.labels):
            amounts = quota_verdict.of_ticket(ticket)
            total = resources.subtract(total, amounts)
            for number in quota_verdict.allocations(quota.spec, place):
                inside[number] = resources.subtract(inside[number], amounts)
    return Use(total, tuple(inside))


def of_order(
    place: Place, order: Order, before: Order | None, nodes: Collection[Node], now: datetime
) -> Wish:
    """What an order brings that was not there before."""
    parts = list(_of_order(order, order.metadata.name, nodes, now))
    if before is None:
        return Wish(place, tuple(parts))
    old = list(_of_order(before, order.metadata.name, nodes, now))
    return Wish(place, (*map(_unless_longer, parts, old), *map(_less, old)))


def of_ticket(place: Place, ticket: Ticket, before: Ticket | None) -> Wish:
    """What a ticket brings that was not there before."""
    part = _of_ticket(ticket)
    if before is None:
        return Wish(place, (part,))
    old = _of_ticket(before)
    return Wish(place, (_unless_longer(part, old), _less(old)))


def judged(quota_cache: QuotaCache, wish: Wish, now: datetime) -> tuple[Shortfall, ...]:
    """What stands in the way of a wish, by what is known now; the ledger has the last word."""
    labelled: list[Labels] = [part.labels for part in wish.parts]
    quotas: list[Quota] = quota_cache.applying(wish.place.namespace, *labelled)
    return judge(quotas, ledger.using(quota_cache), wish, now, quota_cache.limits)


def _of_order(order: Order, name: str, nodes: Collection[Node], now: datetime) -> Iterator[Part]:
    spec, template = order.spec.template.spec, order.spec.template.metadata
    count = order.spec.replicas
    if order.spec.daemon_set:
        wanted = assignments.wish_of(spec)
        count = sum(assignments.judge(wanted, node, now).takes for node in nodes)
    labels = {**template.labels, ORDER_LABEL: object_names.legal_label(name)}
    yield Part(order.metadata.labels, quota_verdict.ORDER)
    amounts = resources.scale(quota_verdict.of_new(spec), count)
    yield Part(labels, amounts, deadlines.hold_length(spec))


def _of_ticket(ticket: Ticket) -> Part:
    spec = ticket.spec
    return Part(ticket.metadata.labels, quota_verdict.of_new(spec), deadlines.hold_length(spec))


def _unless_longer(part: Part, old: Part) -> Part:
    """The same wish, whose length is judged only if it has grown."""
    grown = part.length is not None and (old.length is None or part.length > old.length)
    return Part(part.labels, part.amounts, part.length if grown else None)


def _less(old: Part) -> Part:
    return Part(old.labels, resources.scale(old.amounts, -1))
