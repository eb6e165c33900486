"""What pods seek and which free tickets there are, grouped so that a claim does not look at each of ten thousand tickets.

Tickets that no pod can tell apart form an equivalence class; `Market` keeps one lot for each class.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

import msgspec

from korder.api.reserve import (
    ENDED_PHASES,
    ORDERS,
    TICKET_GROUP_ANNOTATION,
    Order,
    Ticket,
    TicketPhase,
)
from korder.reserve.claims import requirements
from korder.reserve.claims.requirements import Request, Site
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import controller_of
from kubeloop.objects.resources import Resources

LATEST = datetime.max.replace(tzinfo=UTC)
"""Stands for an instant that nobody has said."""
FAILED_FOR = timedelta(hours=1)
"""How long others come before a ticket whose node did not take a pod."""


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
    at_hand: "Stock | None" = None
    """What of the tickets can be had, if somebody has kept count of it."""
    failed: Collection[Ticket] | None = None
    """The tickets by which pods were not bound, if they are known."""
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Of tickets that hold room and cannot be handed over now, by UID: why not (`claims.blocked`)."""

    def pauses(self) -> Mapping[str, datetime]:
        """Until when workloads whose pods were not bound claim nothing."""
        return requirements.pauses(self.tickets if self.failed is None else self.failed, self.now)

    def stock(self) -> "Stock":
        return self.at_hand if self.at_hand is not None else stock_of(self.tickets)

    def closed(self) -> Mapping[str, Order]:
        """The orders, by UID, of which no ticket is given before enough of them are held."""
        return {order.metadata.uid: order for order in self.orders if is_closed(order)}


@dataclass(frozen=True, slots=True)
class Stock:
    """Tickets as pods ask for them.

    Attributes:
        shelves: Those that hold room nobody has, each shelf with equal ones.
        claiming: Those that are on their way to a pod.
        kinds: One of each kind of those that have not ended, whoever has them.
    """

    shelves: Collection[Collection[Ticket]]
    claiming: Collection[Ticket]
    kinds: Collection[Ticket]


def stock_of(tickets: Iterable[Ticket]) -> Stock:
    """Puts tickets onto shelves."""
    shelves: dict[bytes, list[Ticket]] = {}
    kinds: dict[bytes, Ticket] = {}
    claiming = []
    for ticket in tickets:
        shelf, kind = shelf_of(ticket), kind_of(ticket)
        if shelf is not None:
            shelves.setdefault(shelf, []).append(ticket)
        elif is_claiming(ticket):
            claiming.append(ticket)
        if kind is not None:
            kinds.setdefault(kind, ticket)
    return Stock(shelves.values(), claiming, kinds.values())


def shelf_of(ticket: Ticket) -> bytes | None:
    """Where a ticket lies that holds room nobody has; equal for those that differ at most in name, node and times."""
    if not _holds_room(ticket):
        return None
    own = ticket.metadata.uid if ticket.status.shared_by else ""
    alike = (_form(ticket), own, bool(ticket.spec.node_name))
    return msgspec.json.encode(alike, order="deterministic")


def kind_of(ticket: Ticket) -> bytes | None:
    """Equal for tickets that ask the same of pods and hold as much when nobody has them; nothing for one that has ended."""
    if has_ended(ticket):
        return None
    return msgspec.json.encode(_form(ticket), order="deterministic")


def _form(ticket: Ticket) -> tuple[object, ...]:
    meta, spec = ticket.metadata, ticket.spec
    return (
        controller_of(ticket),
        meta.labels,
        meta.annotations.get(TICKET_GROUP_ANNOTATION),
        spec.requests,
        spec.owners,
        spec.allocate_once,
    )


def standing(pod: Pod, labels: Iterable[str]) -> tuple[str | None, ...]:
    """What of a pod decides whether tickets are for it, if these are the labels that owners ask for."""
    said = (pod.metadata.labels.get(key) for key in labels)
    return pod.metadata.namespace, pod.spec.service_account_name, *said


def precedence(seeker: Seeker) -> tuple[int, datetime, str, str]:
    """Who comes first: the higher priority, then the older pod."""
    meta = seeker.pod.metadata
    born = meta.creation_timestamp or LATEST
    return -(seeker.pod.spec.priority or 0), born, meta.namespace, meta.name


def is_wanted(request: Request, ticket: Ticket) -> bool:
    """Says whether a ticket is one of those that are asked for."""
    return request.ticket in ("", ticket.metadata.name) and _is_sought(request, ticket)


def _is_sought(request: Request, ticket: Ticket) -> bool:
    meta = ticket.metadata
    return (
        (request.order is None or request.order.name == order_of(ticket))
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


def is_closed(order: Order) -> bool:
    """Says whether an order holds its tickets back until it has enough of them (rule 14)."""
    return order.spec.min_available is not None and not order.status.opened


def has_ended(ticket: Ticket) -> bool:
    """Says whether nobody will ever get the ticket again."""
    return ticket.status.phase in ENDED_PHASES


def is_free(ticket: Ticket, now: datetime) -> bool:
    """Says whether the ticket holds room that nobody has."""
    return _holds_room(ticket) and is_in_time(ticket, now)


def is_in_time(ticket: Ticket, now: datetime) -> bool:
    """Says whether the time of a ticket is not over."""
    ends = ticket.status.expiration_time
    return ends is None or ends > now


def has_failed(ticket: Ticket, now: datetime) -> bool:
    """Says whether the ticket's node lately did not take a pod, for reasons that only the scheduler knows."""
    last = ticket.status.unbound_time
    return last is not None and now < last + FAILED_FOR


def is_claiming(ticket: Ticket) -> bool:
    """Says whether a ticket is on its way to a pod."""
    return ticket.status.phase is TicketPhase.CLAIMING


def _holds_room(ticket: Ticket) -> bool:
    return (
        ticket.status.phase is TicketPhase.RESERVED
        and ticket.metadata.deletion_timestamp is None
        and bool(ticket.status.node_name)
    )


def is_shelf_for(seeker: Seeker, first: Ticket) -> bool:
    """Says whether tickets like this one are asked for, whatever their names, and for this pod."""
    return _is_sought(seeker.request, first) and requirements.may_claim(first, seeker.pod)


class Lot(NamedTuple):
    """A shelf, or a part of it: free tickets that are alike, the first of the shelf, and what is left of each."""

    first: Ticket
    left: Resources
    tickets: Collection[Ticket]


class Lots:
    """The free tickets of a namespace, without those of orders that are closed and those that cannot be handed over now."""

    def __init__(self, market: Market, stock: Stock) -> None:
        self._now = market.now
        self._blocked = market.blocked
        closed = market.closed()
        firsts = ((next(iter(shelf)), shelf) for shelf in stock.shelves)
        self._all = [
            Lot(first, ticket_state.remainder(first, first.status.shared_by), shelf)
            for first, shelf in firsts
            if maker_of(first, closed) is None
        ]

    def offers(self, seeker: Seeker) -> Iterator[Lot]:
        """Of each shelf that is for the pod, the tickets that may be meant, as long as there is time."""
        for lot in self._meant(seeker):
            if is_shelf_for(seeker, lot.first):
                yield lot._replace(tickets=[each for each in lot.tickets if self._is_usable(each)])

    def blocked(self, seeker: Seeker) -> Iterator[Ticket]:
        """Of each shelf that is for the pod, the tickets that only their guardian keeps from being handed over."""
        if not self._blocked:
            return
        for lot in self._meant(seeker):
            if is_shelf_for(seeker, lot.first):
                in_time = (each for each in lot.tickets if is_in_time(each, self._now))
                yield from (each for each in in_time if each.metadata.uid in self._blocked)

    def _is_usable(self, ticket: Ticket) -> bool:
        return ticket.metadata.uid not in self._blocked and is_in_time(ticket, self._now)

    def _meant(self, seeker: Seeker) -> Collection[Lot]:
        if seeker.request.ticket:
            lot = self._by_name.get(seeker.request.ticket)
            return (lot,) if lot is not None else ()
        nodes = requirements.only_nodes(seeker.pod)
        if nodes is None:
            return self._all
        return [lot for node in nodes for lot in self._by_node.get(node, ())]

    @cached_property
    def _by_name(self) -> Mapping[str, Lot]:
        """Each ticket as if it lay on a shelf of its own."""
        return {
            ticket.metadata.name: lot._replace(tickets=(ticket,))
            for lot in self._all
            for ticket in lot.tickets
        }

    @cached_property
    def _by_node(self) -> Mapping[str, Collection[Lot]]:
        """The part of each shelf that is on a node."""
        found: dict[str, list[Lot]] = {}
        for lot in self._all:
            parts: dict[str, list[Ticket]] = {}
            for ticket in lot.tickets:
                parts.setdefault(ticket.status.node_name, []).append(ticket)
            for node, part in parts.items():
                found.setdefault(node, []).append(lot._replace(tickets=part))
        return found
