"""What to do about an order that keeps a number of tickets: the whole turn as one pure function.

`controllers.orders` calls it; `daemonplan` is its twin for DaemonSet mode. Numbers and ends are written into the status, with the version
that was read, in a stage before the tickets they account for are made: whoever takes the next turn, after whatever crash,
finds out from the status alone which tickets are still to be made. Deletions come before creations, so that what a window
retires makes room for the next.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count, filterfalse, islice

import msgspec

from korder.api.plan import Create, Notice, Patch, Plan
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
    deeds,
    findings,
    firings,
    numbers,
    orderstatus,
    retiring,
    schedule,
    strategies,
    template,
    ticketnames,
    ticketstate,
    turnover,
)
from korder.reserve.rules.orders.accounting import Account
from korder.reserve.rules.orders.firings import Timetable
from korder.reserve.rules.orders.granting import Granting, freely
from korder.reserve.rules.orders.ticketnames import Taken

MOST_AT_ONCE = 1_000
"""Tickets that one turn makes; the next turn makes the next."""


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


def plan(picture: Picture) -> Plan:
    """Decides what to do about an order that is not being deleted."""
    order = picture.order
    accounts = _reckoned(picture)
    try:
        times = firings.timetable(order, picture.now, retiring.ends(order, accounts, picture.now))
    except schedule.InvalidSchedule as wrong:
        return _failed(picture, str(wrong))
    books = Books(accounts, times, order.status.next_index)
    if not order.spec.paused:
        books.accounts = _refreshed(picture, accounts, times)
        _turn_over(picture, books)
    return _written(picture, books)


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


def _failed(picture: Picture, why: str) -> Plan:
    """An order with a schedule that says nothing: its tickets go on, none are made."""
    found = findings.of_failure(picture.order, why)
    status, next_at = orderstatus.status_of(picture.order, picture.tickets, found, picture.now)
    return Plan().then(*orderstatus.report(picture.order, status)).wake(next_at)


def _reckoned(picture: Picture) -> list[Account]:
    """The books as they are now; windows that have closed are no longer kept."""
    order, strategy = picture.order, strategies.of(picture.order)
    windowed = strategy.type is StrategyType.SCHEDULED
    filed: dict[datetime | None, dict[int, Ticket]] = {}
    for ticket in picture.tickets:
        number = ticketnames.number_of(ticket.metadata.name)
        if number is not None and not _is_of_a_node(ticket):
            firing = ticketstate.firing_of(ticket) if windowed else None
            filed.setdefault(firing, {})[number] = ticket
    gone = {ticketnames.number_of(each.metadata.name): each for each in picture.gone}

    def is_made(number: int) -> bool:
        return number < order.status.made_index or number in gone

    pools = order.status.pools or (() if windowed else (TicketPool(),))
    return [
        accounting.reckon(pool, filed.get(pool.firing, {}), strategy, is_made, gone.get)
        for pool in pools
        if pool.firing is None or firings.closes(order, pool.firing) > picture.now
    ]


def _refreshed(picture: Picture, accounts: list[Account], times: Timetable) -> list[Account]:
    """Follows the number of replicas and the firing that is due; after its only window an order has no pool any more."""
    order, strategy = picture.order, strategies.of(picture.order)
    replicas = order.spec.replicas
    close = firings.only_close(order)
    if close is not None and close <= picture.now:
        return [Account(None, 0, 0, {})]
    issued = 0 if strategies.keeps(strategy) else order.status.issued_replicas
    more = max(replicas - issued, 0)
    most = replicas - _claimed(picture) if strategies.issues_once(strategy) else replicas
    accounts = [accounting.scaled(account, more, most) for account in accounts]
    if times.opens and strategy.type is StrategyType.RECURRING:
        accounts = [accounting.fired(account, strategy, replicas) for account in accounts]
    if times.opens and strategy.type is StrategyType.SCHEDULED:
        accounts.append(Account(times.last, replicas, 0, {}))
    return retiring.kept(order, accounts, picture.now)


def _claimed(picture: Picture) -> int:
    return sum(ticketstate.phase_of(each) is TicketPhase.CLAIMED for each in picture.tickets)


def _is_of_a_node(ticket: Ticket) -> bool:
    """Says whether a ticket was made when the order was in DaemonSet mode."""
    return NODE_LABEL in ticket.metadata.labels


def _turn_over(picture: Picture, books: Books) -> None:
    """Chooses what goes and gives numbers to what comes."""
    of_nodes = filter(_is_of_a_node, picture.tickets)
    books.removed += filter(ticketstate.is_idle, of_nodes)
    numbered = filterfalse(_is_of_a_node, picture.tickets)
    books.removed += retiring.strays(picture.order, numbered, books.accounts, picture.now)
    is_current = findings.currency(picture.order, books.times)
    for place, before in enumerate(books.accounts):
        lost = {each for each in before.unmade if picture.taken(_name(picture, before, each))}
        books.collisions += len(lost)
        account = turnover.trimmed(replace(before, unmade=before.unmade - lost), is_current)
        choice = turnover.choose(account, is_current)
        books.removed += choice.remove
        fresh = _numbers(picture, books, account, min(choice.make, MOST_AT_ONCE))
        books.accounts[place] = replace(account, unmade=account.unmade | fresh)


def _numbers(picture: Picture, books: Books, account: Account, wanted: int) -> frozenset[int]:
    """The next numbers whose names nobody has."""
    free = (
        number
        for number in count(books.next_index)
        if not picture.taken(_name(picture, account, number))
    )
    found = frozenset(islice(free, wanted))
    books.next_index = max(found, default=books.next_index - 1) + 1
    return found


def _name(picture: Picture, account: Account, number: int) -> str:
    return ticketnames.numbered(picture.order.metadata.name, number, account.firing)


def _written(picture: Picture, books: Books) -> Plan:
    """The plan that carries out what was worked out, the status first."""
    order, now = picture.order, picture.now
    booked = msgspec.structs.replace(order, status=_booked(order, books))
    found = findings.of_pools(order, picture.tickets, books.accounts, books.times)
    if books.removed:
        found = replace(found, busy=True)
    grant = picture.granting([] if order.spec.paused else _creations(picture, books))
    found = findings.with_shortage(found, grant)
    status, next_at = orderstatus.status_of(booked, picture.tickets, found, now)
    written = orderstatus.report(order, status)
    said = (*books.times.notices, *findings.warnings(order, books.times))
    plan = (
        Plan()
        .then(*written)
        .then(*map(deeds.removal, books.removed), *_terms(picture, books))
        .one_by_one(*grant.charges)
        .then(*grant.made)
        .tell(*deeds.told_with(written, said))
        .tell(*deeds.told_made(order, grant.made), *_told_gone(order, books))
        .tell(*deeds.told_short(order, grant.short), *grant.told)
        .wake(next_at)
        .wake(grant.look_at)
        .wake(books.times.look_at)
    )
    close = firings.only_close(order)
    if close is not None and close > now:
        plan = plan.wake(close)
    for account in books.accounts:
        if account.firing is not None:
            plan = plan.wake(firings.closes(order, account.firing))
            plan = plan.wake(account.firing if account.firing > now else None)
    return plan


def _told_gone(order: Order, books: Books) -> tuple[Notice, ...]:
    is_current = findings.currency(order, books.times)
    old = [ticket for ticket in books.removed if not is_current(ticket)]
    more = [ticket for ticket in books.removed if is_current(ticket)]
    return (
        *deeds.told_gone(order, old, "others of the present template or firing are there instead"),
        *deeds.told_gone(order, more, "there are more than wanted"),
    )


def _terms(picture: Picture, books: Books) -> list[Patch]:
    """What is changed in place, of the tickets that stay; a paused order changes nothing."""
    if picture.order.spec.paused:
        return []
    going = {ticket.metadata.uid for ticket in books.removed}
    staying = (ticket for ticket in picture.tickets if ticket.metadata.uid not in going)
    return template.in_place(picture.order, staying)


def _booked(order: Order, books: Books) -> OrderStatus:
    """The status as far as the books go."""
    unmade = [number for account in books.accounts for number in account.unmade]
    issued, replicas = order.status.issued_replicas, order.spec.replicas
    if not order.spec.paused:
        once = strategies.issues_once(strategies.of(order))
        issued = max(issued, replicas) if once else replicas
    collisions = (order.status.collision_count or 0) + books.collisions
    return msgspec.structs.replace(
        order.status,
        issued_replicas=issued,
        next_index=books.next_index,
        made_index=min(unmade, default=books.next_index),
        pools=tuple(account.as_status() for account in books.accounts),
        last_schedule_time=books.times.last,
        next_schedule_time=books.times.following,
        collision_count=collisions or None,
    )


def _creations(picture: Picture, books: Books) -> list[Create]:
    """All tickets that the books have and the cluster has not."""
    order = picture.order
    renewed = books.times.last if strategies.renews(strategies.of(order)) else None
    return [
        template.ticket(order, _name(picture, account, number), firing=account.firing or renewed)
        for account in books.accounts
        for number in sorted(account.unmade)
    ]
