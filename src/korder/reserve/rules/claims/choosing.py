"""Which waiting pod gets which ticket of a namespace.

`claiming` calls it with everything that waits and everything there is; nothing is written here. Pods come by priority, then
by age. A pod gets the ticket of which it leaves the least over; of equal ones, those on nodes that are not busy with a hand-over, then those
that end first. Pods that are alike are judged together, so fifty replicas cost as much as one, and so are
tickets that hold the same; nodes only as they are needed. A pod that gets nothing is told why: what it seeks is not there, not
for it, not open yet, not free, or does not fit, and then the nearest mismatch.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from korder.api import noderoom
from korder.api.core import Pod
from korder.api.meta import Key, controller_of, key_of
from korder.api.reserve import (
    ORDERS,
    TICKET_GROUP_ANNOTATION,
    ClaimReason,
    Order,
    Reason,
    Ticket,
    TicketPhase,
)
from korder.api.resources import Resources
from korder.reserve.rules.claims import fitting, owners
from korder.reserve.rules.claims.fitting import Site
from korder.reserve.rules.claims.requests import Request
from korder.reserve.rules.tickets import usage

_ENDED = frozenset({TicketPhase.EXPIRED, TicketPhase.RELEASED})
_LATEST = datetime.max.replace(tzinfo=UTC)
_Rank = tuple[bool, float, bool, datetime, str]


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


@dataclass(frozen=True, slots=True)
class Match:
    """A ticket for a pod."""

    pod: Pod
    ticket: Ticket


class _Lot(NamedTuple):
    """Free tickets of which the same is left."""

    left: Resources
    tickets: list[Ticket]


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a pod gets no ticket now."""

    reason: ClaimReason | Reason
    message: str
    is_crowded: bool = False
    """Whether a pod that goes from some node would help."""


def choose(seekers: Iterable[Seeker], market: Market) -> tuple[list[Match], dict[str, Wait]]:
    """Gives tickets to pods, each at most once; says by UID why the others wait."""
    book = _Book(market)
    matches: list[Match] = []
    left_over: list[Seeker] = []
    for seeker in sorted(seekers, key=precedence):
        ticket = book.take(seeker)
        if ticket is None:
            left_over.append(seeker)
        else:
            matches.append(Match(seeker.pod, ticket))
    return matches, {seeker.pod.metadata.uid: book.why_not(seeker) for seeker in left_over}


def precedence(seeker: Seeker) -> tuple[int, datetime, str, str]:
    """Who comes first: the higher priority, then the older pod."""
    meta = seeker.pod.metadata
    born = meta.creation_timestamp or _LATEST
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


def is_free(ticket: Ticket, now: datetime) -> bool:
    """Says whether the ticket holds room that nobody has."""
    ends = ticket.status.expiration_time
    return (
        ticket.status.phase is TicketPhase.RESERVED
        and ticket.metadata.deletion_timestamp is None
        and bool(ticket.status.node_name)
        and (ends is None or ends > now)
    )


class _Book:
    """What is free, and what has been given away in this round."""

    def __init__(self, market: Market) -> None:
        self._market = market
        self._closed = {
            order.metadata.uid: order
            for order in market.orders
            if order.spec.min_available is not None and not order.status.opened
        }
        self._free = _in_lots(
            ticket
            for ticket in market.tickets
            if is_free(ticket, market.now) and self._closed_order(ticket) is None
        )
        self._busy = {
            ticket.status.node_name
            for ticket in market.tickets
            if ticket.status.phase is TicketPhase.CLAIMING
        }
        self._ranked: dict[bytes, list[Ticket]] = {}
        self._next: dict[bytes, Iterator[Ticket]] = {}
        self._unsuited: dict[tuple[bytes, str, bool], str] = {}
        self._crowded: set[bytes] = set()
        """Whom other pods on the nodes keep from a ticket."""
        self._places: dict[str, int] = {}
        """How many more pods nodes take, of those that have been asked."""
        self._why: dict[bytes, Wait] = {}
        self._taken: set[str] = set()
        self._with_ports: set[str] = set()
        """Nodes that get a pod with host ports in this round; whether a second one fits is seen in the next."""

    def take(self, seeker: Seeker) -> Ticket | None:
        likeness = _likeness(seeker)
        if likeness not in self._ranked:
            self._ranked[likeness] = self._rank(seeker)
            self._next[likeness] = self._suited(seeker, likeness)
        ports = noderoom.demand_of(seeker.pod).ports
        for ticket in self._next[likeness]:
            node = ticket.status.node_name
            if ticket.metadata.uid in self._taken or (ports and node in self._with_ports):
                continue
            if fitting.leaves_some(seeker.pod, ticket) and not self._take_place(node):
                continue
            self._taken.add(ticket.metadata.uid)
            if ports:
                self._with_ports.add(node)
            return ticket
        return None

    def _take_place(self, node: str) -> bool:
        """Takes a place for one more pod, unless those who share tickets there already need them all."""
        if node not in self._places:
            site = self._market.site(node)
            under_way = sum(
                ticket.status.phase is TicketPhase.CLAIMING
                and not ticket.spec.allocate_once
                and ticket.status.node_name == node
                for ticket in self._market.tickets
            )
            self._places[node] = (fitting.places(site) if site is not None else 0) - under_way
        self._places[node] -= 1
        return self._places[node] >= 0

    def why_not(self, seeker: Seeker) -> Wait:
        likeness = _likeness(seeker)
        if likeness not in self._why:
            self._why[likeness] = self._explain(seeker, likeness)
        return self._why[likeness]

    def _rank(self, seeker: Seeker) -> list[Ticket]:
        """The free tickets that are large enough for the pod, the best first."""
        needs = fitting.needs_of(seeker.pod)
        fit: list[tuple[_Rank, Ticket]] = []
        for left, tickets in self._free:
            if not fitting.too_small(needs, left):
                unused = _unused(needs, left)
                fit += (
                    (_rank(ticket, unused, busy=ticket.status.node_name in self._busy), ticket)
                    for ticket in tickets
                    if _is_for(seeker, ticket)
                )
        return [ticket for _, ticket in sorted(fit, key=lambda ranked: ranked[0])]

    def _suited(self, seeker: Seeker, likeness: bytes) -> Iterator[Ticket]:
        """Of these tickets, those on nodes where the pod can be."""
        for ticket in self._ranked[likeness]:
            node, pod = ticket.status.node_name, seeker.pod
            beside = fitting.leaves_some(pod, ticket)
            if (likeness, node, beside) not in self._unsuited:
                site = self._market.site(node)
                why = self._unsuited[likeness, node, beside] = fitting.unsuited(
                    pod, site, beside=beside
                )
                if why and site is not None and why == fitting.crowded(pod, site, beside=beside):
                    self._crowded.add(likeness)
            if not self._unsuited[likeness, node, beside]:
                yield ticket

    def _explain(self, seeker: Seeker, likeness: bytes) -> Wait:
        wanted = [
            ticket
            for ticket in self._market.tickets
            if ticket.status.phase not in _ENDED and is_wanted(seeker.request, ticket)
        ]
        if not wanted:
            return Wait(ClaimReason.NO_TICKET, self._missing(seeker.request))
        what = self._words(seeker.request)
        allowed = [ticket for ticket in wanted if owners.may_claim(ticket, seeker.pod)]
        if not allowed:
            return Wait(ClaimReason.NOT_AN_OWNER, f"The owners of {what} do not include this pod.")
        closed = [self._closed_order(ticket) for ticket in allowed]
        if all(closed):
            names = sorted({key_of(order) for order in closed if order is not None})
            return Wait(
                ClaimReason.ORDER_CLOSED,
                f"Order {names[0]} is closed until as many tickets as its minAvailable are held.",
            )
        free = [
            (ticket, left)
            for left, tickets in self._free
            for ticket in tickets
            if _is_for(seeker, ticket)
        ]
        if not free or any(self._suited(seeker, likeness)):
            return Wait(ClaimReason.NONE_FREE, f"All of {what} are taken or hold nothing yet.")
        crowded = likeness in self._crowded
        return Wait(ClaimReason.NONE_FITS, self._nearest(seeker.pod, free), crowded)

    def _nearest(self, pod: Pod, free: Collection[tuple[Ticket, Resources]]) -> str:
        """The mismatch that is nearest to a fit: a wrong node rather than too little room."""
        needs = fitting.needs_of(pod)

        def distance(offer: tuple[Ticket, Resources]) -> tuple[bool, float, str]:
            ticket, left = offer
            short = fitting.too_small(needs, left)
            return bool(short), -sum(a.nano for a in left.values()), ticket.metadata.name

        ticket, left = min(free, key=distance)
        site = self._market.site(ticket.status.node_name)
        beside = fitting.leaves_some(pod, ticket)
        why = fitting.too_small(needs, left) or fitting.unsuited(pod, site, beside=beside)
        return f"No free ticket fits; the nearest is {key_of(ticket)}: {why}."

    def _closed_order(self, ticket: Ticket) -> Order | None:
        owner = controller_of(ticket)
        return self._closed.get(owner.uid) if owner is not None else None

    def _missing(self, request: Request) -> str:
        home = self._market.namespace
        names = {order.metadata.name for order in self._market.orders}
        if request.order is not None:
            is_there = request.order.name in names
            order = Key(home, request.order.name)
            return (
                f"Order {order} has no such ticket." if is_there else f"There is no order {order}."
            )
        if not names and not self._market.tickets:
            return f"There are no orders in namespace {home}."
        return f"There is none of {self._words(request)}."

    def _words(self, request: Request) -> str:
        home = self._market.namespace
        if request.ticket:
            return f"the tickets named {home}/{request.ticket}"
        what = f"the tickets of group {request.group}" if request.group else "the tickets"
        if request.labels.requirements:
            what = f"{what} labelled {request.labels}"
        if request.order is not None:
            return f"{what} of order {Key(home, request.order.name)}"
        return f"{what} in namespace {home}"


def _in_lots(tickets: Iterable[Ticket]) -> Collection[_Lot]:
    """Puts tickets together that hold the same, as those of an order do: what fits into one fits into all."""
    lots: dict[Hashable, _Lot] = {}
    for ticket in tickets:
        shares = ticket.status.shared_by
        size = ticket.metadata.uid if shares else tuple(ticket.spec.requests.items())
        if size not in lots:
            lots[size] = _Lot(usage.remainder(ticket, shares), [])
        lots[size].tickets.append(ticket)
    return lots.values()


def _is_for(seeker: Seeker, ticket: Ticket) -> bool:
    return is_wanted(seeker.request, ticket) and owners.may_claim(ticket, seeker.pod)


def _rank(ticket: Ticket, unused: float, *, busy: bool) -> _Rank:
    """Tickets for one certain node come last, since somebody on that node may need them; then the least that is wasted."""
    ends = ticket.status.expiration_time or _LATEST
    return bool(ticket.spec.node_name), unused, busy, ends, ticket.metadata.name


def _unused(needs: Resources, left: Resources) -> float:
    """How much of what a ticket has a pod would leave over."""
    return sum(
        (amount.nano - (needs[name].nano if name in needs else 0)) / amount.nano
        for name, amount in left.items()
        if amount.nano > 0
    )


def _likeness(seeker: Seeker) -> bytes:
    """Equal for pods of which every ticket and node thinks the same; names of volumes differ and decide nothing."""
    pod = seeker.pod
    spec = msgspec.structs.replace(pod.spec, volumes=())
    return msgspec.json.encode(
        (pod.metadata.namespace, pod.metadata.labels, spec, seeker.request), order="deterministic"
    )
