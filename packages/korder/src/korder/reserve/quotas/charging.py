"""Enters the tickets of an order into the ledgers of all matching quotas, as far as limits allow, and removes entries that are done."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import cast

import msgspec

from korder.api.quota import (
    MOST_PENDING,
    ORDERS_KEY,
    QUOTA_FINALIZER,
    QUOTAS,
    PendingTicket,
    Quota,
    ScopeType,
)
from korder.api.reserve import TICKETS, Order
from korder.reserve.orders.pools import Grant
from korder.reserve.quotas import ledger, status as quota_status, verdict as quota_verdict
from korder.reserve.quotas.quota_cache import QuotaCache
from korder.reserve.quotas.verdict import Labels, Part, Shortfall, Use, Wish, judge
from korder.reserve.tickets import deadlines
from kubeloop.objects import codec, quantity, resources
from kubeloop.objects.meta import JSON, Key, controller_of, key_of
from kubeloop.objects.plan import NOTHING, Create, Emit, Patch, Plan
from kubeloop.objects.quantity import Quantity
from kubeloop.objects.resources import Resources

_CATCH_UP = timedelta(seconds=0.25)
"""How long to wait for a cache that is behind or has not shown a namespace, or a ledger that is not open or full."""


@dataclass(frozen=True, slots=True)
class View:
    """What one sees of tickets.

    Attributes:
        seen: The version up to which everything is seen.
        shown: The highest version of a ticket, or of the end of one, among that.
        newest: The highest version one knows of, one's own writes included.
    """

    quota_cache: QuotaCache
    seen: int
    shown: int
    newest: int


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A ticket that is to be made."""

    key: Key
    owner: str
    labels: Labels
    amounts: Resources
    length: timedelta


@dataclass(slots=True)
class _Sheet:
    """A ledger while tickets are entered into it."""

    quota: Quota
    entries: dict[Key, PendingTicket]
    total: dict[str, Quantity]
    inside: list[dict[str, Quantity]]
    served: list[set[str]]
    """The UIDs of orders with tickets or entries: in all, and in each allocation."""
    touched: bool = False
    """Whether something was entered."""

    def missing(self, wanted: _Wanted) -> Resources:
        """What a ticket needs beyond what is entered for it."""
        entry = self.entries.get(wanted.key)
        held = resources.parse_list(entry.charge) if entry is not None else {}
        rest = {k: a - held.get(k, quantity.ZERO) for k, a in wanted.amounts.items()}
        return {key: amount for key, amount in rest.items() if amount > quantity.ZERO}

    def use(self, elders: Sequence[int]) -> Use:
        """What is used, for an order with so many older ones in all and in each allocation; they have a right to be served before it."""
        total, *inside = (
            {**amounts, ORDERS_KEY: quota_verdict.ONE * max(len(served), older)}
            for amounts, served, older in zip(
                (self.total, *self.inside), self.served, elders, strict=True
            )
        )
        return Use(total, tuple(inside))


def grant(
    view: View, order: Order, wanted: Sequence[Create], now: datetime
) -> tuple[Grant, frozenset[str]]:
    """Grants as many of the tickets as there is room for; names the quotas that more would have to wait for."""
    sheets: dict[str, _Sheet] = {}
    made: list[Create] = []
    for step in wanted:
        ticket = _read(step)
        if not view.quota_cache.is_placed(ticket.key.namespace):
            stated = f"namespace {ticket.key.namespace} is not to be seen yet"
            return _unsure(_granted(view, made, sheets, now), stated, now), frozenset()
        quotas = view.quota_cache.applying(
            ticket.key.namespace, ticket.labels, order.metadata.labels
        )
        unready = {each.metadata.name: _unready(each, view, sheets) for each in quotas}
        stated = "; ".join(f"quota {name} {why}" for name, why in unready.items() if why)
        if stated:
            names = frozenset(name for name, why in unready.items() if why)
            return _unsure(_granted(view, made, sheets, now), stated, now), names
        due = [_sheet(each, view, sheets, now) for each in quotas]
        short = _enter(view, order, ticket, due, now)
        if short:
            names = frozenset(each.quota for each in short)
            found = (view.quota_cache.surely_until(each.quota, now) for each in due)
            look_at = min((at for at in found if at is not None), default=None)
            stated = "; ".join(dict.fromkeys(map(str, short)))
            return _granted(view, made, sheets, now, stated, look_at), names
        made.append(step)
    return _granted(view, made, sheets, now), frozenset()


def _granted(
    view: View,
    made: Sequence[Create],
    sheets: dict[str, _Sheet],
    now: datetime,
    short: str = "",
    look_at: datetime | None = None,
) -> Grant:
    writes: list[Patch] = []
    stated: list[Emit] = []
    for _, sheet in sorted(sheets.items()):
        if sheet.touched:
            entries = tuple(sheet.entries.values())
            status = quota_status.status_of(sheet.quota, view.quota_cache, entries, now, view.shown)
            written = quota_status.report(sheet.quota, status)
            writes += written
            stated += quota_status.news(sheet.quota, status, written)
    return Grant(tuple(made), tuple(writes), short, look_at, tuple(stated))


def _unsure(granted: Grant, why: str, now: datetime) -> Grant:
    """What is granted while nobody can say whether there is room for more."""
    return replace(granted, unsure=why, look_at=now + _CATCH_UP)


def _read(step: Create) -> _Wanted:
    ticket = codec.convert(cast("JSON", step.body), TICKETS.model)
    owner = controller_of(ticket)
    return _Wanted(
        key_of(ticket),
        owner.uid if owner is not None else "",
        ticket.metadata.labels,
        quota_verdict.of_new(ticket.spec),
        deadlines.hold_length(ticket.spec),
    )


def _unready(quota: Quota, view: View, sheets: dict[str, _Sheet]) -> str:
    """Why nothing can be entered into a ledger now; empty if it can."""
    if not ledger.is_open(quota) or ledger.is_behind(quota, view.seen):
        return "is being counted"
    sheet = sheets.get(quota.metadata.name)
    if len(sheet.entries if sheet is not None else quota.status.pending) >= MOST_PENDING:
        return f"has {MOST_PENDING} tickets on their way, and no more at a time"
    return ""


def _sheet(quota: Quota, view: View, sheets: dict[str, _Sheet], now: datetime) -> _Sheet:
    found = sheets.get(quota.metadata.name)
    if found is None:
        entries = ledger.lasting(quota, view.quota_cache, now)
        use = ledger.use_of(quota, view.quota_cache, entries)
        found = sheets[quota.metadata.name] = _Sheet(
            quota,
            {ledger.ledger_key(entry): entry for entry in entries},
            dict(use.total),
            [dict(each) for each in use.allocations],
            _served(quota, view.quota_cache, entries),
        )
    return found


def _served(
    quota: Quota, quota_cache: QuotaCache, entries: Sequence[PendingTicket]
) -> list[set[str]]:
    book = quota_cache.book(quota.metadata.name)
    owners = {(entry.namespace, entry.owner_uid) for entry in entries if entry.owner_uid}
    served: list[set[str]] = [set() for _ in range(1 + len(quota.spec.allocation))]
    for namespace, uid in owners.union(book.served if book is not None else ()):
        if _is_another_matter(quota, quota_cache, uid):
            continue
        for number in (-1, *quota_verdict.allocations(quota.spec, quota_cache.place(namespace))):
            served[number + 1].add(uid)
    return served


def _is_another_matter(quota: Quota, quota_cache: QuotaCache, order: str) -> bool:
    """Says whether an order is to be seen and not meant, though its tickets are; one that is not to be seen may be meant."""
    scope = quota.spec.scope
    if scope.type is not ScopeType.OBJECT_SELECTOR:
        return False
    labels = quota_cache.labels_of_order(order)
    return labels is not None and not quota_verdict.selecting(scope.object_selector).matches(labels)


def _enter(
    view: View, order: Order, ticket: _Wanted, due: Sequence[_Sheet], now: datetime
) -> list[Shortfall]:
    """Enters a ticket into all ledgers that mean it, anew or once more, if all have room; otherwise into none."""
    short = [each for sheet in due for each in _short(view, order, ticket, sheet, now)]
    if short:
        return short
    place = view.quota_cache.place(ticket.key.namespace)
    for sheet in due:
        if not quota_verdict.covers(sheet.quota.spec.scope, place, ticket.labels):
            continue
        added = sheet.missing(ticket)
        sheet.total = resources.add(sheet.total, added)
        sheet.served[0].add(ticket.owner)
        for number in quota_verdict.allocations(sheet.quota.spec, place):
            sheet.inside[number] = resources.add(sheet.inside[number], added)
            sheet.served[number + 1].add(ticket.owner)
        sheet.touched = True
        sheet.entries[ticket.key] = _entry(sheet.entries.get(ticket.key), ticket, view, now)
    return []


def _short(
    view: View, order: Order, ticket: _Wanted, sheet: _Sheet, now: datetime
) -> tuple[Shortfall, ...]:
    length = ticket.length if ticket.key not in sheet.entries else None
    parts = [Part(ticket.labels, sheet.missing(ticket), length)]
    if ticket.owner not in sheet.served[0]:
        parts.append(Part(order.metadata.labels, quota_verdict.ORDER))
    wish = Wish(view.quota_cache.place(ticket.key.namespace), tuple(parts))
    use = sheet.use(view.quota_cache.elders(sheet.quota, order))
    return judge([sheet.quota], lambda _: use, wish, now, view.quota_cache.limits)


def _entry(
    before: PendingTicket | None, ticket: _Wanted, view: View, now: datetime
) -> PendingTicket:
    if before is None:
        fresh = PendingTicket(
            namespace=ticket.key.namespace,
            name=ticket.key.name,
            owner_uid=ticket.owner,
            version=view.newest,
        )
        before = fresh
    most = resources.maximum(resources.parse_list(before.charge), ticket.amounts)
    charged = msgspec.structs.replace(before, charge=resources.render(most))
    return ledger.entered(charged, now)


def ending(quota: Quota) -> Plan:
    """What is left to do for a quota that is being deleted: nobody else takes off what the original korder put on."""
    meta = quota.metadata
    if QUOTA_FINALIZER not in meta.finalizers:
        return NOTHING
    kept: list[JSON] = [each for each in meta.finalizers if each != QUOTA_FINALIZER]
    body: JSON = {"metadata": {"finalizers": kept}}
    return Plan().then(
        Patch(QUOTAS, key_of(quota), body, uid=meta.uid, resource_version=meta.resource_version)
    )


def void(quota: Quota, quota_cache: QuotaCache, now: datetime) -> list[Key]:
    """Tickets one does not see, and that nobody may make any more on the strength of their entries."""
    return [
        ledger.ledger_key(entry)
        for entry in quota.status.pending
        if ledger.is_void(entry, now) and not ledger.is_made(entry, quota_cache)
    ]


def plan(view: View, quota: Quota, now: datetime, never_made: Collection[Key] = ()) -> Plan:
    """Brings a quota up to date; `never_made` are void entries whose tickets the server does not know."""
    entries = [
        entry
        for entry in ledger.lasting(quota, view.quota_cache, now)
        if ledger.ledger_key(entry) not in never_made
    ]
    status = quota_status.status_of(quota, view.quota_cache, entries, now, view.shown)
    requeue = min((entry.until for entry in entries if entry.until is not None), default=None)
    written = quota_status.report(quota, status)
    return (
        Plan()
        .then(*written)
        .tell(*quota_status.news(quota, status, written))
        .requeue(view.quota_cache.surely_until(quota, now))
        .requeue(None if requeue is None else max(requeue, now))
    )
