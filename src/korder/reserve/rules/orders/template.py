"""From the template of an order to a ticket.

`orderplan` and `daemonplan` call it. The hash tells tickets of an old template from those of the present one. How long a ticket is held
and what becomes of it after use are not part of the hash: they are *terms*, changed in place (rule 7), and so are the lead time and the
rule of renewal, which a paused order takes away. A
ticket remembers the terms its order gave it, so that whoever extends a single ticket by hand is not overruled. Words of ours that a
template says reach no ticket, but for its group: they tell what only the order's rules can know.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
import hashlib

import msgspec

from korder.api import codec, instant
from korder.api.meta import JSON, key_of, owner_reference
from korder.api.plan import Create, Patch
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
from korder.reserve.rules.orders import strategies, ticketstate
from korder.reserve.rules.orders.strategies import End, When
from korder.reserve.rules.tickets import naming
from korder.reserve.rules.tickets.terms import RenewalRule, RenewalTrigger

OUR_PREFIX = "korder.dev/"
"""How the keys of labels and annotations begin that korder writes."""


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
        ORDER_LABEL: naming.legal_label(meta.name),
        ORDER_UID_LABEL: meta.uid,
        TEMPLATE_HASH_LABEL: template_hash(order.spec.template),
    }
    if node:
        labels[NODE_LABEL] = naming.legal_label(node)
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
    strategy = strategies.of(order)
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
    if firing is None or strategies.of(order).type is not StrategyType.SCHEDULED:
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
    spec, strategy = order.spec, strategies.of(order)
    if spec.paused or spec.daemon_set or spec.template.spec.starts_at is not None:
        return None
    match strategies.replaced(strategy, End.EXPIRY):
        case When.NEVER:
            return None
        case When.AT_ONCE:
            return RenewalRule(RenewalTrigger.EXPIRY).render()
        case When.AT_THE_FIRING:
            renews = strategies.renews(strategy)
            trigger = RenewalTrigger.FIRING if renews else RenewalTrigger.EXPIRY_AFTER_FIRING
            return RenewalRule(trigger, strategy.schedule, strategy.time_zone).render()


def in_place(order: Order, tickets: Iterable[Ticket]) -> list[Patch]:
    """Brings the present terms of an order to those of its tickets that have others and have not ended; a paused order only ends renewal."""
    wanted: dict[str, str | None] = {RENEWAL_ANNOTATION: renewal(order)}
    if not order.spec.paused:
        wanted |= {TERMS_ANNOTATION: _terms(order), LEAD_TIME_ANNOTATION: _lead_time(order)}
    found = []
    for ticket in tickets:
        said = ticket.metadata.annotations
        news = {key: value for key, value in wanted.items() if said.get(key) != value}
        if news and not ticketstate.is_over(ticket) and not ticketstate.is_leaving(ticket):
            found.append(_with(order, ticket, news))
    return found


def _with(order: Order, ticket: Ticket, news: Mapping[str, str | None]) -> Patch:
    """Says what is new to a ticket, and if these are its terms, changes its spec."""
    meta = ticket.metadata
    body: dict[str, JSON] = {"metadata": {"annotations": dict(news)}}
    if TERMS_ANNOTATION in news:
        held: dict[str, JSON] = {"duration": _length(order)}
        spec = held if ticket.spec.window is None else {"window": held}
        body["spec"] = {**spec, "afterUse": after_use(order).value}
    return Patch(
        TICKETS, key_of(ticket), body, uid=meta.uid, resource_version=meta.resource_version
    )


def _lead_time(order: Order) -> str | None:
    strategy = strategies.of(order)
    return strategy.lead_time if strategies.lead_time(strategy) else None


def _length(order: Order) -> str | None:
    spec = order.spec.template.spec
    return spec.window.duration if spec.window is not None else spec.duration


def _terms(order: Order) -> str:
    return f"{_length(order) or ''},{after_use(order).value}"
