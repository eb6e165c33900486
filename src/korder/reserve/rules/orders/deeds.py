"""Steps and notices that plans of orders share: a ticket goes, and people are told of what was made and what went.

`orderplan` and `daemonplan` call it; it calls nothing. One Event tells of all tickets of a turn, because a thousand would be dropped.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from korder.api.meta import key_of
from korder.api.plan import Create, Delete, EventType, Notice, Patch
from korder.api.reserve import (
    ORDERS,
    TICKETS,
    Order,
    OrderReason,
    Reason,
    Ticket,
)

_NAMED = 5


def removal(ticket: Ticket) -> Delete:
    """Deletes exactly the ticket that was judged: one that has been claimed meanwhile is another version."""
    meta = ticket.metadata
    return Delete(TICKETS, key_of(ticket), meta.uid, resource_version=meta.resource_version)


def told_with(books: Sequence[Patch], notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Notices of what the status says from now on: they belong to the step that writes it, for the next turn knows it already."""
    (step,) = books or (None,)
    return tuple(replace(notice, after=step) for notice in notices)


def told_made(order: Order, made: Sequence[Create]) -> tuple[Notice, ...]:
    """Tells of tickets that were made."""
    names = [str(_name(each)) for each in made]
    return _told(order, OrderReason.TICKETS_CREATED, "made", names)


def told_gone(order: Order, gone: Sequence[Ticket], why: str) -> tuple[Notice, ...]:
    """Tells of tickets that were deleted."""
    names = [ticket.metadata.name for ticket in gone]
    return _told(order, OrderReason.TICKETS_DELETED, "deleted", names, f": {why}")


def told_short(order: Order, why: str) -> tuple[Notice, ...]:
    """Tells, once while it lasts, that a quota has no room for all tickets."""
    is_told = any(
        each.reason == Reason.QUOTA_EXCEEDED or why in each.message
        for each in order.status.conditions
    )
    if not why or is_told:
        return ()
    return (Notice(ORDERS, order, Reason.QUOTA_EXCEEDED.value, why, EventType.WARNING),)


def _told(
    order: Order, reason: OrderReason, verb: str, names: Sequence[str], why: str = ""
) -> tuple[Notice, ...]:
    if not names:
        return ()
    listed = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    number = "a ticket" if len(names) == 1 else f"{len(names)} tickets"
    return (Notice(ORDERS, order, reason.value, f"{verb} {number} ({listed}){why}"),)


def _name(step: Create) -> object:
    body = step.body
    meta = body["metadata"] if isinstance(body, dict) else None
    return meta["name"] if isinstance(meta, dict) else ""
