"""What pods seek and what there is to be had: the words in which `choosing`, `waiting` and those who explain speak of both."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from korder.api.core import Pod
from korder.api.meta import controller_of
from korder.api.reserve import ORDERS, TICKET_GROUP_ANNOTATION, Order, Ticket, TicketPhase
from korder.reserve.rules.claims import owners
from korder.reserve.rules.claims.fitting import Site
from korder.reserve.rules.claims.requests import Request

LATEST = datetime.max.replace(tzinfo=UTC)
"""Stands for an instant that nobody has said."""


@dataclass(frozen=True, slots=True)
class Seeker:
    """A pod and what it asks for."""

    pod: Pod
    request: Request


@dataclass(frozen=True, slots=True)
class Market:
    """The tickets of a namespace, their orders, and the nodes they are on."""

    namespace: str
    tickets: Collection[Ticket]
    orders: Collection[Order]
    site: Callable[[str], Site | None]
    now: datetime

    def closed(self) -> Mapping[str, Order]:
        """The orders, by UID, of which no ticket is given before enough of them are held."""
        return {
            order.metadata.uid: order
            for order in self.orders
            if order.spec.min_available is not None and not order.status.opened
        }


def precedence(seeker: Seeker) -> tuple[int, datetime, str, str]:
    """Who comes first: the higher priority, then the older pod."""
    meta = seeker.pod.metadata
    born = meta.creation_timestamp or LATEST
    return -(seeker.pod.spec.priority or 0), born, meta.namespace, meta.name


def is_wanted(request: Request, ticket: Ticket) -> bool:
    """Says whether a ticket is one of those that are asked for."""
    meta = ticket.metadata
    return (
        request.ticket in ("", meta.name)
        and (request.order is None or request.order.name == order_of(ticket))
        and request.group in ("", meta.annotations.get(TICKET_GROUP_ANNOTATION))
        and request.labels.matches(meta.labels)
    )


def order_of(ticket: Ticket) -> str:
    """The name of the order that made the ticket; labels can be written by anybody and do not count."""
    owner = controller_of(ticket)
    return owner.name if owner is not None and owner.kind == ORDERS.kind else ""


def maker_of(ticket: Ticket, orders: Mapping[str, Order]) -> Order | None:
    """The order that made the ticket, if it is one of these; they are known by UID."""
    owner = controller_of(ticket)
    return orders.get(owner.uid) if owner is not None else None


def is_free(ticket: Ticket, now: datetime) -> bool:
    """Says whether the ticket holds room that nobody has."""
    ends = ticket.status.expiration_time
    return (
        ticket.status.phase is TicketPhase.RESERVED
        and ticket.metadata.deletion_timestamp is None
        and bool(ticket.status.node_name)
        and (ends is None or ends > now)
    )


def is_for(seeker: Seeker, ticket: Ticket) -> bool:
    """Says whether a ticket is asked for, and for this pod."""
    return is_wanted(seeker.request, ticket) and owners.may_claim(ticket, seeker.pod)
