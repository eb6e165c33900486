"""From the template of an order to a ticket.

`plan` and `daemonset` call it. The hash tells tickets of an old template from those of the present one. How long a ticket is held
and what becomes of it after use are not part of the hash: they are *terms*, changed in place (rule 7), and so are the lead time and the
rule of renewal, which a paused order takes away. Where the same guardian fits an edited template, idle tickets get the rest in place too. A
ticket remembers the terms its order gave it, so that whoever extends a single ticket by hand is not overruled. Words of ours that a
template says reach no ticket, but for its group: they tell what only the order's rules can know.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
import hashlib
from typing import cast

import msgspec

from korder.api.reserve import (
    LEAD_TIME_ANNOTATION,
    NODE_LABEL,
    ORDER_LABEL,
    ORDER_UID_LABEL,
    ORDERS,
    RENEWAL_ANNOTATION,
    SCHEDULED_TIME_ANNOTATION,
    STANDING_ANNOTATION,
    TEMPLATE_HASH_LABEL,
    TERMS_ANNOTATION,
    TICKET_FINALIZER,
    TICKET_GROUP_ANNOTATION,
    TICKETS,
    AfterUse,
    Order,
    StrategyType,
    Ticket,
    TicketSpec,
    TicketTemplate,
)
from korder.reserve import names as object_names
from korder.reserve.orders import firings
from korder.reserve.orders.firings import End, When
from korder.reserve.tickets import state as ticket_state
from korder.reserve.tickets.deadlines import RenewalRule, RenewalTrigger
from kubeloop.objects import codec, instant
from kubeloop.objects.meta import JSON, key_of, owner_reference
from kubeloop.objects.plan import Create, Patch

OUR_PREFIX = "korder.dev/"
"""How the keys of labels and annotations begin that korder writes."""
_CHANGEABLE = frozenset({"lifecycle", "owners", "duration", "after_use", "start_time", "window"})
"""Fields of a ticket that its guardian does not depend on; starts are compared in whichever form they have."""


def template_hash(template: TicketTemplate) -> str:
    """Tells templates apart, but for their terms."""
    spec = template.spec
    window = spec.window and msgspec.structs.replace(spec.window, duration=None)
    bare = msgspec.structs.replace(spec, duration=None, window=window, after_use=AfterUse.CONSUME)
    text = msgspec.json.encode([bare, template.metadata], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:10]


def ticket(order: Order, name: str, *, firing: datetime | None = None, node: str = "") -> Create:
    """Makes a ticket of an order, for a firing if it fires and for a node in DaemonSet mode."""
    meta = order.metadata
    said = order.spec.template.metadata
    labels = {
        **_theirs(said.labels),
        ORDER_LABEL: object_names.legal_label(meta.name),
        ORDER_UID_LABEL: meta.uid,
        TEMPLATE_HASH_LABEL: template_hash(order.spec.template),
    }
    if node:
        labels[NODE_LABEL] = object_names.legal_label(node)
    body: dict[str, JSON] = {
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": dict(labels),
            "annotations": {**_theirs(said.annotations), **_annotations(order, firing)},
            "finalizers": [TICKET_FINALIZER],
            "ownerReferences": [codec.plain(owner_reference(ORDERS, order))],
        },
        "spec": codec.plain(_spec(order, firing, node)),
    }
    return Create(TICKETS, body)


def is_ours(key: str) -> bool:
    """Says whether only korder writes this label or annotation of a ticket."""
    return key.startswith(OUR_PREFIX) and key != TICKET_GROUP_ANNOTATION


def _theirs(words: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in words.items() if not is_ours(key)}


def _annotations(order: Order, firing: datetime | None) -> Mapping[str, str]:
    strategy = firings.of(order)
    found = {TERMS_ANNOTATION: _terms(order)}
    if lead := _lead_time(order):
        found[LEAD_TIME_ANNOTATION] = lead
    if rule := renewal(order):
        found[RENEWAL_ANNOTATION] = rule
    if firing is not None:
        found[SCHEDULED_TIME_ANNOTATION] = instant.render(firing)
    if order.spec.daemon_set and strategy.type is not StrategyType.SCHEDULED:
        found[STANDING_ANNOTATION] = "true"
    return found


def _spec(order: Order, firing: datetime | None, node: str) -> TicketSpec:
    spec = msgspec.structs.replace(order.spec.template.spec, after_use=after_use(order))
    if node:
        spec = msgspec.structs.replace(spec, node_name=node)
    if firing is None or firings.of(order).type is not StrategyType.SCHEDULED:
        return spec
    start = instant.render(firing)
    if spec.window is None:
        return msgspec.structs.replace(spec, start_time=start)
    window = msgspec.structs.replace(spec.window, start_time=start)
    return msgspec.structs.replace(spec, window=window)


def after_use(order: Order) -> AfterUse:
    """What the tickets of an order do after use; in DaemonSet mode they always go back (rule 19)."""
    return AfterUse.RESERVE if order.spec.daemon_set else order.spec.template.spec.after_use


def renewal(order: Order) -> str | None:
    """How the tickets of an order are renewed in place, by table 1.8; None if they end with their term.

    Where the template has a fixed start there is only one term, and in DaemonSet mode tickets stand for ever (rule 19).
    """
    spec, strategy = order.spec, firings.of(order)
    if spec.paused or spec.daemon_set or spec.template.spec.starts_at is not None:
        return None
    match firings.replaced(strategy, End.EXPIRY):
        case When.NEVER:
            return None
        case When.AT_ONCE:
            return RenewalRule(RenewalTrigger.EXPIRY).render()
        case When.AT_THE_FIRING:
            renews = firings.renews_in_place(strategy)
            trigger = RenewalTrigger.FIRING if renews else RenewalTrigger.EXPIRY_AFTER_FIRING
            return RenewalRule(trigger, strategy.schedule, strategy.time_zone).render()


def currency(order: Order) -> Callable[[Ticket], bool]:
    """Returns the test for tickets that a roll-out need not replace: they have the present template, or `in_place` gives it to them."""
    wanted, fits = template_hash(order.spec.template), _fitting(order)
    return lambda ticket: ticket_state.has_hash(ticket, wanted) or fits(ticket)


def _fitting(order: Order) -> Callable[[Ticket], bool]:
    """Returns the test for idle tickets whose guardian also fits the present template.

    Labels are not changed in place: they decide which quotas count the ticket, and each ticket is charged before it is created.
    """
    spec = order.spec.template.spec
    labels = _theirs(order.spec.template.metadata.labels)
    pinned = {"node_name"} if order.spec.daemon_set else set[str]()
    fields = [name for name in spec.__struct_fields__ if name not in _CHANGEABLE | pinned]
    is_windowed = firings.of(order).type is StrategyType.SCHEDULED

    def fits(ticket: Ticket) -> bool:
        held = ticket.spec
        return (
            ticket_state.is_idle(ticket)
            and all(getattr(held, name) == getattr(spec, name) for name in fields)
            and (held.window is None) == (spec.window is None)
            and (is_windowed or held.starts_at == spec.starts_at)
            and _theirs(ticket.metadata.labels) == labels
        )

    return fits


def in_place(order: Order, tickets: Iterable[Ticket]) -> list[Patch]:
    """Brings the present template to the tickets whose guardian fits it, and the present terms to all that have not ended.

    A paused order only ends renewal.
    """
    said = order.spec.template.metadata.annotations
    wanted: dict[str, str | None] = {RENEWAL_ANNOTATION: renewal(order)}
    if not order.spec.paused:
        wanted |= {TERMS_ANNOTATION: _terms(order), LEAD_TIME_ANNOTATION: _lead_time(order)}
    present, fits = template_hash(order.spec.template), _fitting(order)
    found = []
    for ticket in tickets:
        if ticket_state.is_over(ticket) or ticket_state.is_leaving(ticket):
            continue
        has = ticket.metadata.annotations
        rolls = (
            not order.spec.paused and not ticket_state.has_hash(ticket, present) and fits(ticket)
        )
        gone: dict[str, str | None] = dict.fromkeys(_theirs(has) if rolls else ())
        given = {**gone, **_theirs(said)} if rolls else {}
        news = {key: value for key, value in (given | wanted).items() if has.get(key) != value}
        if news or rolls:
            found.append(_with(order, ticket, news, present if rolls else ""))
    return found


def _with(order: Order, ticket: Ticket, news: Mapping[str, str | None], rolled: str) -> Patch:
    """Writes annotations to a ticket, the terms in its spec if they are among them, and the present template if `rolled` is its hash."""
    meta, annotations = ticket.metadata, cast("dict[str, JSON]", dict(news))
    body: dict[str, JSON] = {"metadata": {"annotations": annotations}}
    spec: dict[str, JSON] = {}
    if rolled:
        body["metadata"] = {"annotations": annotations, "labels": {TEMPLATE_HASH_LABEL: rolled}}
        spec = _changeable(order, ticket)
    if TERMS_ANNOTATION in news:
        held: dict[str, JSON] = {"duration": _length(order)}
        spec |= held if ticket.spec.window is None else {"window": held}
        spec["afterUse"] = after_use(order).value
    if spec:
        body["spec"] = spec
    return Patch(
        TICKETS, key_of(ticket), body, uid=meta.uid, resource_version=meta.resource_version
    )


def _changeable(order: Order, ticket: Ticket) -> dict[str, JSON]:
    """A merge patch of what a ticket can change beside its guardian; what the template leaves out becomes null."""
    old, new = codec.plain(ticket.spec), codec.plain(order.spec.template.spec)
    lifecycle = {**dict.fromkeys(_mapping(old.get("lifecycle"))), **_mapping(new.get("lifecycle"))}
    return {"owners": new.get("owners"), "lifecycle": lifecycle}


def _mapping(value: JSON) -> dict[str, JSON]:
    return dict(value) if isinstance(value, dict) else {}


def _lead_time(order: Order) -> str | None:
    strategy = firings.of(order)
    return strategy.lead_time if firings.lead_time(strategy) else None


def _length(order: Order) -> str | None:
    spec = order.spec.template.spec
    return spec.window.duration if spec.window is not None else spec.duration


def _terms(order: Order) -> str:
    return f"{_length(order) or ''},{after_use(order).value}"
