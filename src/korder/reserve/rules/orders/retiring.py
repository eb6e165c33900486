"""Which windows of a Scheduled order go before they close, and which tickets no window has any more.

`orderplan` calls it. A window goes when a later one has followed it, where that is wished, or when an edit has left its firing out of the
schedule before it came. Tickets in use stay, and a window is forgotten when it has no others: one that comes back
later belongs nowhere, and goes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from korder.api.reserve import Order, OverlapPolicy, RefreshPolicy, StrategyType, Ticket
from korder.reserve.rules.orders import firings, strategies, ticketstate
from korder.reserve.rules.orders.accounting import Account


def ends(order: Order, accounts: Iterable[Account], now: datetime) -> list[datetime]:
    """When the windows close that are to open, or are open.

    Raises:
        InvalidSchedule: the schedule says nothing.
    """
    return [
        firings.closes(order, account.firing)
        for account in accounts
        if account.firing is not None and firings.stands(order, account.firing, now)
    ]


def kept(order: Order, accounts: Iterable[Account], now: datetime) -> list[Account]:
    """The windows that stay; those that others have followed are emptied first."""
    standing = [a for a in accounts if a.firing is None or firings.stands(order, a.firing, now)]
    newest = _newest(order, standing, now)
    found = []
    for account in standing:
        if newest is None or account.firing is None or account.firing >= newest:
            found.append(account)
        elif account.tickets:
            found.append(replace(account, size=0, owed=0, unmade=frozenset()))
    return found


def strays(
    order: Order, tickets: Iterable[Ticket], accounts: Sequence[Account], now: datetime
) -> list[Ticket]:
    """Idle tickets of windows that have gone before their time; those of windows that have closed expire by themselves."""
    if strategies.of(order).type is not StrategyType.SCHEDULED:
        return []
    newest, known = _newest(order, accounts, now), {account.firing for account in accounts}

    def is_stray(ticket: Ticket) -> bool:
        firing = ticketstate.firing_of(ticket)
        if firing is None or firing in known or not ticketstate.is_idle(ticket):
            return False
        if firings.closes(order, firing) <= now:
            return False
        followed = newest is not None and firing < newest
        return followed or not firings.stands(order, firing, now)

    return list(filter(is_stray, tickets))


def windowless(
    order: Order, tickets: Iterable[Ticket], accounts: Iterable[Account]
) -> list[Ticket]:
    """Those of the tickets that go whose window goes as a whole, and not because no tickets are wanted."""
    if strategies.of(order).type is not StrategyType.SCHEDULED or not order.spec.replicas:
        return []
    staying = {account.firing for account in accounts if account.size}
    return [ticket for ticket in tickets if ticketstate.firing_of(ticket) not in staying]


def _newest(order: Order, accounts: Iterable[Account], now: datetime) -> datetime | None:
    """The last window that has opened, if earlier ones go then."""
    strategy = strategies.of(order)
    follows = (
        strategy.refresh_policy is RefreshPolicy.ALWAYS
        or strategy.overlap_policy is OverlapPolicy.REPLACE
    )
    opened = (a.firing for a in accounts if a.firing is not None and a.firing <= now)
    return max(opened, default=None) if follows else None
