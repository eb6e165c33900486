"""Free tickets where pods look for them: on all shelves, under one name, or on the only nodes where a pod can be.

`choosing` asks it for every sort of pod. The lookups are made when the first pod needs them and serve all others of the round, so
the pods of a DaemonSet, of which each has a node of its own, cost no more than as many tickets.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from korder.api.reserve import Ticket
from korder.api.resources import Resources
from korder.reserve.rules.claims import fitting, seeking
from korder.reserve.rules.claims.seeking import Market, Seeker, Stock
from korder.reserve.rules.tickets import usage


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
            Lot(first, usage.remainder(first, first.status.shared_by), shelf)
            for first, shelf in firsts
            if seeking.maker_of(first, closed) is None
        ]

    def offers(self, seeker: Seeker) -> Iterator[Lot]:
        """Of each shelf that is for the pod, the tickets that may be meant, as long as there is time."""
        for lot in self._meant(seeker):
            if seeking.is_shelf_for(seeker, lot.first):
                yield lot._replace(tickets=[each for each in lot.tickets if self._is_usable(each)])

    def blocked(self, seeker: Seeker) -> Iterator[Ticket]:
        """Of each shelf that is for the pod, the tickets that only their guardian keeps from being handed over."""
        if not self._blocked:
            return
        for lot in self._meant(seeker):
            if seeking.is_shelf_for(seeker, lot.first):
                in_time = (each for each in lot.tickets if seeking.is_in_time(each, self._now))
                yield from (each for each in in_time if each.metadata.uid in self._blocked)

    def _is_usable(self, ticket: Ticket) -> bool:
        return ticket.metadata.uid not in self._blocked and seeking.is_in_time(ticket, self._now)

    def _meant(self, seeker: Seeker) -> Collection[Lot]:
        if seeker.request.ticket:
            lot = self._by_name.get(seeker.request.ticket)
            return (lot,) if lot is not None else ()
        nodes = fitting.only_nodes(seeker.pod)
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
