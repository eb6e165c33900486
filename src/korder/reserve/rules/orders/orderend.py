"""How an order begins and ends: its finalizer, and its tickets before itself (S4).

`controllers.orders` calls it. The finalizer is there before the first ticket, so an order never goes without them. Who deletes an order and
orphans what it owns keeps the tickets: the garbage collector takes our ownership from them, and then nothing holds the order.
"""

from collections.abc import Sequence

from korder.api.meta import JSON, key_of
from korder.api.plan import NOTHING, Patch, Plan
from korder.api.reserve import ORDER_FINALIZER, ORDERS, Order, Ticket
from korder.reserve.rules.orders import deeds, ticketstate

_ORPHAN = "orphan"
"""The finalizer of a deletion that leaves dependents alone."""


def beginning(order: Order) -> Plan | None:
    """What has to happen before anything else; None if it has happened."""
    if ORDER_FINALIZER in order.metadata.finalizers:
        return None
    return Plan().then(_with_finalizers(order, [*order.metadata.finalizers, ORDER_FINALIZER]))


def ending(order: Order, tickets: Sequence[Ticket]) -> Plan:
    """What is left to do for an order that is being deleted."""
    finalizers = order.metadata.finalizers
    if ORDER_FINALIZER not in finalizers:
        return NOTHING
    if not tickets:
        kept: list[JSON] = [each for each in finalizers if each != ORDER_FINALIZER]
        return Plan().then(_with_finalizers(order, kept))
    if _ORPHAN in finalizers:
        return NOTHING
    going = [ticket for ticket in tickets if not ticketstate.is_leaving(ticket)]
    return (
        Plan()
        .then(*map(deeds.removal, going))
        .tell(*deeds.told_gone(order, going, "their order is being deleted"))
    )


def _with_finalizers(order: Order, finalizers: Sequence[JSON]) -> Patch:
    meta = order.metadata
    body: JSON = {"metadata": {"finalizers": list(finalizers)}}
    return Patch(ORDERS, key_of(order), body, uid=meta.uid, resource_version=meta.resource_version)
