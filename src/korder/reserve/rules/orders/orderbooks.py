"""The books of an order in one turn: what its status says, brought up to what is true now and to what is wanted now.

`orderplan` calls it and decides what follows; it asks `accounting` about each pool. `controllers.orders` asks which tickets the books do not
account for yet.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from korder.api.reserve import (
    NODE_LABEL,
    Order,
    OrderStatus,
    StrategyType,
    Ticket,
    TicketPhase,
    TicketPool,
)
from korder.reserve.rules.orders import (
    accounting,
    firings,
    numbers,
    retiring,
    strategies,
    ticketnames,
    ticketstate,
)
from korder.reserve.rules.orders.accounting import Account
from korder.reserve.rules.orders.firings import Timetable
from korder.reserve.rules.orders.granting import Granting, freely
from korder.reserve.rules.orders.ticketnames import Taken


@dataclass(frozen=True, slots=True)
class Picture:
    """An order, all tickets that belong to it by UID, the instant, which names are in use, and whom one has seen go."""

    order: Order
    tickets: Sequence[Ticket]
    now: datetime
    taken: Taken
    gone: Collection[Ticket] = ()
    """Tickets that are not there any more, as they were last seen, as far as the status does not tell their end yet."""
    granting: Granting = freely
    """Who says which tickets may be made."""


@dataclass(slots=True)
class Books:
    """What a turn has worked out before it becomes a plan."""

    accounts: list[Account]
    times: Timetable
    next_index: int
    collisions: int = 0
    removed: list[Ticket] = field(default_factory=list)


def unsettled(order: Order, gone: Mapping[str, Ticket]) -> dict[str, Ticket]:
    """Tickets that are gone, by name, of which the books do not tell yet that they were made, or how they ended."""
    open_ends = {each for pool in order.status.pools for each in numbers.parse(pool.members)}
    return {
        name: ticket
        for name, ticket in gone.items()
        if (number := ticketnames.number_of(name)) is not None
        and (number >= order.status.made_index or number in open_ends)
    }


def misses_some(order: Order, tickets: Iterable[Ticket]) -> bool:
    """Says whether a ticket is not to be seen that has been made: it is gone, or a cache is behind."""
    there = {ticketnames.number_of(ticket.metadata.name) for ticket in tickets}
    return any(
        number < order.status.made_index and number not in there
        for pool in order.status.pools
        for number in numbers.parse(pool.members)
    )


def reckoned(picture: Picture) -> list[Account]:
    """The books as they are now; windows that have closed are no longer kept."""
    order, strategy = picture.order, strategies.of(picture.order)
    windowed = strategy.type is StrategyType.SCHEDULED
    filed: dict[datetime | None, dict[int, Ticket]] = {}
    for ticket in picture.tickets:
        number = ticketnames.number_of(ticket.metadata.name)
        if number is not None and not is_of_a_node(ticket):
            firing = ticketstate.firing_of(ticket) if windowed else None
            filed.setdefault(firing, {})[number] = ticket
    gone = {ticketnames.number_of(each.metadata.name): each for each in picture.gone}

    def is_made(number: int) -> bool:
        return number < order.status.made_index or number in gone

    def is_late(ticket: Ticket) -> bool:
        return firings.is_replaced_by_last(order, ticket)

    pools = order.status.pools or (() if windowed else (TicketPool(),))
    return [
        accounting.reckon(pool, filed.get(pool.firing, {}), strategy, is_made, gone.get, is_late)
        for pool in pools
        if pool.firing is None
        or is_kept(order, pool.firing, filed.get(pool.firing, {}).values(), picture.now)
    ]


def is_kept(order: Order, firing: datetime, tickets: Iterable[Ticket], now: datetime) -> bool:
    """Says whether a window is still in the books: until it closes; a pause, which leaves tickets alone, keeps it as long as its tickets."""
    return firings.closes(order, firing) > now or (
        order.spec.paused and any(map(ticketstate.is_open, tickets))
    )


def refreshed(picture: Picture, accounts: list[Account], times: Timetable) -> list[Account]:
    """Follows the number of replicas and the firing that is due; after its only window an order has no pool any more."""
    order, strategy = picture.order, strategies.of(picture.order)
    replicas = order.spec.replicas
    close = firings.only_close(order)
    if close is not None and close <= picture.now:
        return [Account(None, 0, 0, {})]
    issued = 0 if strategies.keeps(strategy) else order.status.issued_replicas
    more = max(replicas - issued, 0)
    is_fewer = strategies.issues_once(strategy) and replicas < issued
    most = replicas - _claimed(picture) if is_fewer else replicas
    accounts = [accounting.scaled(account, more, most) for account in accounts]
    if times.opens and strategy.type is StrategyType.RECURRING:
        accounts = [accounting.fired(account, strategy, replicas) for account in accounts]
    if times.opens and strategy.type is StrategyType.SCHEDULED:
        accounts.append(Account(times.last, replicas, 0, {}))
    return retiring.kept(order, accounts, picture.now)


def _claimed(picture: Picture) -> int:
    return sum(ticketstate.phase_of(each) is TicketPhase.CLAIMED for each in picture.tickets)


def is_of_a_node(ticket: Ticket) -> bool:
    """Says whether a ticket was made when the order was in DaemonSet mode."""
    return NODE_LABEL in ticket.metadata.labels


def booked(order: Order, books: Books, now: datetime) -> OrderStatus:
    """The status as far as the books go."""
    unmade = [number for account in books.accounts for number in account.unmade]
    issued, replicas = order.status.issued_replicas, order.spec.replicas
    if not order.spec.paused:
        once = strategies.issues_once(strategies.of(order))
        issued = max(issued, replicas) if once else replicas
    collisions = (order.status.collision_count or 0) + books.collisions
    opened = [account.firing for account in books.accounts]
    return msgspec.structs.replace(
        order.status,
        issued_replicas=issued,
        next_index=books.next_index,
        made_index=min(unmade, default=books.next_index),
        pools=tuple(account.as_status() for account in books.accounts),
        last_schedule_time=books.times.last,
        next_schedule_time=firings.coming(order, books.times, opened, now),
        last_renewal_time=firings.renewal(order, books.times),
        collision_count=collisions or None,
    )
