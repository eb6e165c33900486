"""Which waiting pod gets which ticket of a namespace.

`plan` calls it with everything that waits and everything there is (`inventory`); nothing is written here. Pods come by priority, then
by age. A pod gets the ticket of which it leaves the least over; of equal ones, those on nodes that are not busy with a hand-over, then those
that end first. Pods that are alike are judged together, so fifty replicas cost as much as one, and so are
tickets that hold the same; nodes only as they are needed, and only those where a pod can be (`lots`). A pod that gets nothing is told why by `waiting`.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop
from operator import attrgetter, itemgetter
from typing import NamedTuple

import msgspec

from korder.api.reserve import Ticket
from korder.reserve.claims import inventory, requirements
from korder.reserve.claims.inventory import LATEST, Lots, Market, Seeker
from korder.reserve.claims.pending_reason import Judged, Reasons, Wait
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects import node_room
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import key_of
from kubeloop.objects.node_room import HostPort
from kubeloop.objects.resources import Resources


@dataclass(frozen=True, slots=True)
class Match:
    """A ticket for a pod."""

    pod: Pod
    ticket: Ticket


class _Mismatch(NamedTuple):
    """Why a pod cannot be on a node; the least is what is nearest: a node that it must share, rather than one that is closed to it."""

    is_closed: bool
    words: str


class _Choice(NamedTuple):
    """What is left for pods that are alike, the best first, and the host ports that each of them needs."""

    tickets: Iterator[Ticket]
    ports: Collection[HostPort]


def choose(seekers: Iterable[Seeker], market: Market) -> tuple[list[Match], dict[str, Wait]]:
    """Gives tickets to pods, each at most once; says by UID why the others wait."""
    book = _Usage(market)
    matches: list[Match] = []
    left_over: list[tuple[Seeker, bytes]] = []
    for seeker in sorted(seekers, key=inventory.precedence):
        equivalence_class = book.equivalence_class(seeker)
        ticket = book.take(seeker, equivalence_class)
        if ticket is None:
            left_over.append((seeker, equivalence_class))
        else:
            matches.append(Match(seeker.pod, ticket))
    return matches, {each.pod.metadata.uid: book.why_not(each, alike) for each, alike in left_over}


class _Usage:
    """What is free, and what has been given away in this round."""

    def __init__(self, market: Market) -> None:
        self._market = market
        stock = market.stock()
        self._lots = Lots(market, stock)
        self._lent: dict[str, list[Ticket]] = {}
        """Tickets that can be shared and are on their way to a pod, by node."""
        for ticket in stock.claiming:
            self._lend(ticket)
        self._under_way = {node: len(lent) for node, lent in self._lent.items()}
        self._busy = {ticket.status.node_name for ticket in stock.claiming}
        self._labels = sorted(requirements.labels_asked_for(market.tickets))
        self._next: dict[bytes, _Choice] = {}
        self._suits: dict[tuple[bytes, str, bool], bool] = {}
        self._mismatches: dict[bytes, set[_Mismatch]] = {}
        """What keeps pods from nodes with tickets that are large enough."""
        self._places: dict[str, int] = {}
        """How many more pods nodes take, of those that have been asked."""
        self._reasons = Reasons(market, stock.kinds, self._labels)
        self._why: dict[bytes, Wait] = {}
        self._taken: dict[str, Ticket] = {}
        self._ports: dict[str, list[HostPort]] = {}
        """Host ports that are given away in this round, by node."""

    def equivalence_class(self, seeker: Seeker) -> bytes:
        """Equal for pods of which every ticket and node thinks the same; names of volumes and most labels differ and decide nothing."""
        pod = seeker.pod
        spec = msgspec.structs.replace(pod.spec, volumes=())
        standing = inventory.standing(pod, self._labels)
        return msgspec.json.encode((standing, spec, seeker.request), order="deterministic")

    def take(self, seeker: Seeker, equivalence_class: bytes) -> Ticket | None:
        if equivalence_class not in self._next:
            ports = node_room.demand_of(seeker.pod).ports
            self._next[equivalence_class] = _Choice(self._suited(seeker, equivalence_class), ports)
        choice = self._next[equivalence_class]
        for ticket in choice.tickets:
            node = ticket.status.node_name
            if ticket.metadata.uid in self._taken or self._clash(choice.ports, node):
                continue
            if requirements.leaves_some(seeker.pod, ticket) and not self._take_place(node):
                continue
            self._taken[ticket.metadata.uid] = ticket
            self._ports.setdefault(node, []).extend(choice.ports)
            self._lend(ticket)
            return ticket
        return None

    def _lend(self, ticket: Ticket) -> None:
        if not ticket.spec.allocate_once:
            self._lent.setdefault(ticket.status.node_name, []).append(ticket)

    def _clash(self, ports: Collection[HostPort], node: str) -> bool:
        given = self._ports.get(node, ())
        return any(port.clashes(other) for port in ports for other in given)

    def _take_place(self, node: str) -> bool:
        """Takes a place for one more pod, unless those who share tickets there already need them all."""
        if node not in self._places:
            site = self._market.site(node)
            free = requirements.places(site) if site is not None else 0
            self._places[node] = free - self._under_way.get(node, 0)
        self._places[node] -= 1
        return self._places[node] >= 0

    def why_not(self, seeker: Seeker, equivalence_class: bytes) -> Wait:
        if equivalence_class not in self._why:
            some_suit = any(self._suited(seeker, equivalence_class))
            nearest = min(self._mismatches.get(equivalence_class, ()), default=None)
            judged = Judged(
                some_suit=some_suit,
                mismatch=nearest.words if nearest is not None else "",
                is_crowded=nearest is not None and not nearest.is_closed,
                is_shared=any(self._shared(seeker)),
                blocked=self._blocked(seeker),
            )
            self._why[equivalence_class] = self._reasons.why(seeker, judged)
        return self._why[equivalence_class]

    def _blocked(self, seeker: Seeker) -> str:
        """Names the first ticket that would fit and cannot be handed over now, and says why."""
        pod, needs = seeker.pod, requirements.needs_of(seeker.pod)
        for ticket in sorted(self._lots.blocked(seeker), key=attrgetter("metadata.name")):
            beside = requirements.leaves_some(pod, ticket)
            left = ticket_state.remainder(ticket, ticket.status.shared_by)
            mismatch = self._mismatch(pod, ticket.status.node_name, beside=beside)
            if mismatch is None and requirements.is_large_enough(needs, left):
                why = self._market.blocked[ticket.metadata.uid]
                return f"ticket {key_of(ticket)} cannot be handed over: {why}"
        return ""

    def _shared(self, seeker: Seeker) -> Iterator[Ticket]:
        """The tickets on their way to another pod of which this one could have a part."""
        needs, nodes = requirements.needs_of(seeker.pod), requirements.only_nodes(seeker.pod)
        where = self._lent if nodes is None else nodes
        for ticket in (each for node in where for each in self._lent.get(node, ())):
            if (
                inventory.is_wanted(seeker.request, ticket)
                and requirements.may_claim(ticket, seeker.pod)
                and requirements.is_large_enough(
                    needs, ticket_state.remainder(ticket, ticket.status.shared_by)
                )
            ):
                yield ticket

    def _ranked(self, seeker: Seeker) -> Iterator[Ticket]:
        """The free tickets that are large enough for the pod, the best first.

        Tickets for one certain node come last, since somebody on that node may need them; then the least that is wasted counts. After all
        of them come those that have failed lately, so that a pod which is made again gets round.
        """
        needs, now = requirements.needs_of(seeker.pod), self._market.now
        alike: dict[tuple[bool, float], list[Ticket]] = {}
        failed: list[Ticket] = []
        for lot in self._lots.offers(seeker):
            if requirements.is_large_enough(needs, lot.left):
                rank = bool(lot.first.spec.node_name), _unused(needs, lot.left)
                fresh = alike.setdefault(rank, [])
                for ticket in lot.tickets:
                    (failed if inventory.has_failed(ticket, now) else fresh).append(ticket)
        for _, tickets in sorted(alike.items(), key=itemgetter(0)):
            yield from self._in_order(tickets)
        yield from sorted(failed, key=attrgetter("status.unbound_time", "metadata.name"))

    def _in_order(self, tickets: Iterable[Ticket]) -> Iterator[Ticket]:
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

    def _suited(self, seeker: Seeker, equivalence_class: bytes) -> Iterator[Ticket]:
        """Of these tickets, those on nodes where the pod can be."""
        for ticket in self._ranked(seeker):
            node, pod = ticket.status.node_name, seeker.pod
            beside = requirements.leaves_some(pod, ticket)
            asked = equivalence_class, node, beside
            if asked not in self._suits:
                mismatch = self._mismatch(pod, node, beside=beside)
                self._suits[asked] = mismatch is None
                if mismatch is not None:
                    self._mismatches.setdefault(equivalence_class, set()).add(mismatch)
            if self._suits[asked]:
                yield ticket

    def _mismatch(self, pod: Pod, node: str, *, beside: bool) -> _Mismatch | None:
        site = self._market.site(node)
        closed = requirements.closed(pod, site)
        why = closed or (site is not None and requirements.crowded(pod, site, beside=beside))
        return _Mismatch(bool(closed), requirements.of_any_node(why, node)) if why else None


def _unused(needs: Resources, left: Resources) -> float:
    """How much of what a ticket has a pod would leave over."""
    return sum(
        (amount.nano - (needs[name].nano if name in needs else 0)) / amount.nano
        for name, amount in left.items()
        if amount.nano > 0
    )
