"""What to do about an order that keeps a number of tickets: the whole turn as one pure function.

`controllers.orders` calls it; `daemonplan` is its twin for DaemonSet mode. Numbers and ends are written into the status, with the version
that was read, in a stage before the tickets they account for are made: whoever takes the next turn, after whatever crash,
finds out from the status alone which tickets are still to be made. Deletions come before creations, so that what a window
retires makes room for the next.
"""

from dataclasses import replace
from itertools import count, filterfalse, islice

import msgspec

from korder.api.plan import Create, Notice, Patch, Plan
from korder.reserve.rules.orders import (
    deeds,
    findings,
    firings,
    orderbooks,
    orderstatus,
    retiring,
    template,
    ticketnames,
    ticketstate,
    turnover,
)
from korder.reserve.rules.orders.accounting import Account
from korder.reserve.rules.orders.orderbooks import Books, Picture
from korder.reserve.rules.schedules import schedule

MOST_AT_ONCE = 100
"""Tickets that one turn makes; the next turn writes how many there are and makes the next."""


def plan(picture: Picture) -> Plan:
    """Decides what to do about an order that is not being deleted."""
    order = picture.order
    accounts = orderbooks.reckoned(picture)
    try:
        times = firings.timetable(order, picture.now, retiring.ends(order, accounts, picture.now))
    except schedule.InvalidSchedule as wrong:
        return _failed(picture, str(wrong))
    books = Books(accounts, times, order.status.next_index)
    if not order.spec.paused:
        books.accounts = orderbooks.refreshed(picture, accounts, times)
        _turn_over(picture, books)
    return _written(picture, books)


def _failed(picture: Picture, why: str) -> Plan:
    """An order with a schedule that says nothing: its tickets go on, none are made."""
    found = findings.of_failure(picture.order, why)
    status, next_at = orderstatus.status_of(picture.order, picture.tickets, found, picture.now)
    return Plan().then(*orderstatus.report(picture.order, status)).wake(next_at)


def _turn_over(picture: Picture, books: Books) -> None:
    """Chooses what goes and gives numbers to what comes."""
    of_nodes = filter(orderbooks.is_of_a_node, picture.tickets)
    books.removed += filter(ticketstate.is_idle, of_nodes)
    numbered = filterfalse(orderbooks.is_of_a_node, picture.tickets)
    books.removed += retiring.strays(picture.order, numbered, books.accounts, picture.now)
    is_current = template.currency(picture.order)
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
    booked = msgspec.structs.replace(order, status=orderbooks.booked(order, books, now))
    found = findings.of_pools(order, picture.tickets, books.accounts, books.times, now)
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
        .tell(*deeds.told_made(order, grant.made), *_told_gone(picture, books))
        .tell(*deeds.told_short(order, grant.short), *grant.told)
        .wake(next_at)
        .wake(grant.look_at)
        .wake(books.times.look_at)
        .wake(status.next_schedule_time)
    )
    close = firings.only_close(order)
    if close is not None and close > now:
        plan = plan.wake(close)
    for account in books.accounts:
        if account.firing is not None:
            edges = (account.firing, firings.closes(order, account.firing))
            plan = plan.wake(min((edge for edge in edges if edge > now), default=None))
    return plan


def _told_gone(picture: Picture, books: Books) -> tuple[Notice, ...]:
    order = picture.order
    is_current = template.currency(order)
    left = retiring.windowless(order, books.removed, books.accounts)
    told = {ticket.metadata.uid for ticket in left}
    others = [ticket for ticket in books.removed if ticket.metadata.uid not in told]
    old = [ticket for ticket in others if not is_current(ticket)]
    more = [ticket for ticket in others if is_current(ticket)]
    return (
        *deeds.told_gone(
            order,
            left,
            "their window goes: another has followed it, or the schedule has it no more",
        ),
        *deeds.told_gone(order, old, "tickets of the present template replace them"),
        *deeds.told_gone(order, more, "there are more than wanted"),
    )


def _terms(picture: Picture, books: Books) -> list[Patch]:
    """What is changed in place, of the tickets that stay."""
    going = {ticket.metadata.uid for ticket in books.removed}
    staying = (ticket for ticket in picture.tickets if ticket.metadata.uid not in going)
    return template.in_place(picture.order, staying)


def _creations(picture: Picture, books: Books) -> list[Create]:
    """All tickets that the books have and the cluster has not."""
    order = picture.order
    start = firings.clock_start(order, books.times, picture.now)
    return [
        template.ticket(order, _name(picture, account, number), firing=account.firing or start)
        for account in books.accounts
        for number in sorted(account.unmade)
    ]
