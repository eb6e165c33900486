"""Which waiting pod gets which ticket of a namespace.

`claiming` calls it with everything that waits and everything there is (`seeking`); nothing is written here. Pods come by priority, then
by age. A pod gets the ticket of which it leaves the least over; of equal ones, those on nodes that are not busy with a hand-over, then those
that end first. Pods that are alike are judged together, so fifty replicas cost as much as one, and so are
tickets that hold the same; nodes only as they are needed. A pod that gets nothing is told why by `waiting`.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop
from operator import itemgetter
from typing import NamedTuple

import msgspec

from korder.api import noderoom
from korder.api.core import Pod
from korder.api.reserve import Ticket
from korder.api.resources import Resources
from korder.reserve.rules.claims import fitting, seeking, waiting
from korder.reserve.rules.claims.seeking import LATEST, Market, Seeker
from korder.reserve.rules.claims.waiting import Judged, Wait
from korder.reserve.rules.tickets import usage


@dataclass(frozen=True, slots=True)
class Match:
    """A ticket for a pod."""

    pod: Pod
    ticket: Ticket


class _Lot(NamedTuple):
    """A shelf: free tickets that are alike, the first of them, and what is left of each."""

    first: Ticket
    left: Resources
    tickets: Collection[Ticket]


def choose(seekers: Iterable[Seeker], market: Market) -> tuple[list[Match], dict[str, Wait]]:
    """Gives tickets to pods, each at most once; says by UID why the others wait."""
    book = _Book(market)
    matches: list[Match] = []
    left_over: list[Seeker] = []
    for seeker in sorted(seekers, key=seeking.precedence):
        ticket = book.take(seeker)
        if ticket is None:
            left_over.append(seeker)
        else:
            matches.append(Match(seeker.pod, ticket))
    return matches, {seeker.pod.metadata.uid: book.why_not(seeker) for seeker in left_over}


class _Book:
    """What is free, and what has been given away in this round."""

    def __init__(self, market: Market) -> None:
        self._market = market
        stock, closed = market.stock(), market.closed()
        firsts = ((next(iter(shelf)), shelf) for shelf in stock.shelves)
        self._free = [
            _Lot(first, usage.remainder(first, first.status.shared_by), shelf)
            for first, shelf in firsts
            if seeking.maker_of(first, closed) is None
        ]
        self._claiming = stock.claiming
        self._busy = {ticket.status.node_name for ticket in stock.claiming}
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
        if likeness not in self._next:
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
                not ticket.spec.allocate_once and ticket.status.node_name == node
                for ticket in self._claiming
            )
            self._places[node] = (fitting.places(site) if site is not None else 0) - under_way
        self._places[node] -= 1
        return self._places[node] >= 0

    def why_not(self, seeker: Seeker) -> Wait:
        likeness = _likeness(seeker)
        if likeness not in self._why:
            free = [(ticket, lot.left) for lot in self._offers(seeker) for ticket in lot.tickets]
            some_suit = any(self._suited(seeker, likeness))
            judged = Judged(free, some_suit, likeness in self._crowded)
            self._why[likeness] = waiting.why(seeker, self._market, judged)
        return self._why[likeness]

    def _offers(self, seeker: Seeker) -> Iterator[_Lot]:
        """Of each shelf that is for the pod, the tickets that may be meant, as long as there is time."""
        now, name = self._market.now, seeker.request.ticket
        for lot in self._free:
            if seeking.is_shelf_for(seeker, lot.first):
                meant = [ticket for ticket in lot.tickets if seeking.is_in_time(ticket, now)]
                if name:
                    meant = [ticket for ticket in meant if ticket.metadata.name == name]
                yield lot._replace(tickets=meant)

    def _ranked(self, seeker: Seeker) -> Iterator[Ticket]:
        """The free tickets that are large enough for the pod, the best first.

        Tickets for one certain node come last, since somebody on that node may need them; then the least that is wasted counts.
        """
        needs = fitting.needs_of(seeker.pod)
        alike: dict[tuple[bool, float], list[Ticket]] = {}
        for lot in self._offers(seeker):
            if not fitting.too_small(needs, lot.left):
                rank = bool(lot.first.spec.node_name), _unused(needs, lot.left)
                alike.setdefault(rank, []).extend(lot.tickets)
        for _, tickets in sorted(alike.items(), key=itemgetter(0)):
            yield from self._in_turn(tickets)

    def _in_turn(self, tickets: Iterable[Ticket]) -> Iterator[Ticket]:
        """Those first that are not on a busy node, then those that end first; only as many are sorted as are asked for."""
        busy = self._busy
        heap = [
            (
                ticket.status.node_name in busy,
                ticket.status.expiration_time or LATEST,
                ticket.metadata.name,
                ticket,
            )
            for ticket in tickets
        ]
        heapify(heap)
        while heap:
            yield heappop(heap)[-1]

    def _suited(self, seeker: Seeker, likeness: bytes) -> Iterator[Ticket]:
        """Of these tickets, those on nodes where the pod can be."""
        for ticket in self._ranked(seeker):
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
