"""The books of an order: which of its tickets can still be claimed, and how many there should be.

`orderplan` calls it. The status of an order names the members of each pool. A member that is no longer claimable has ended in one of three
ways, and the new status, written with the version that was read, settles that end once and for all: no crash and no lost answer
can count it twice. A ticket that comes back after use undoes its claim. While there are more members than wanted, those that go
are the surplus that was to go, and cost nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from korder.api.reserve import Strategy, Ticket, TicketPhase, TicketPool
from korder.reserve.rules.orders import numbers, strategies, ticketstate
from korder.reserve.rules.orders.strategies import End, When

_CLAIMED = (TicketPhase.CLAIMED, TicketPhase.RELEASED)


@dataclass(frozen=True, slots=True)
class Account:
    """A pool as it is now.

    Attributes:
        firing: The firing that opened the window; None for a pool that is always open.
        size: How many tickets there should be.
        owed: How many the next firing adds.
        tickets: Those that can be claimed, or are about to be, by number.
        unmade: Numbers of tickets that are still to be made.
    """

    firing: datetime | None
    size: int
    owed: int
    tickets: Mapping[int, Ticket]
    unmade: frozenset[int] = frozenset()

    @property
    def count(self) -> int:
        """How many tickets there are, or will be."""
        return len(self.tickets) + len(self.unmade)

    def as_status(self) -> TicketPool:
        members = numbers.render({*self.tickets, *self.unmade})
        return TicketPool(firing=self.firing, members=members, size=self.size, owed=self.owed)


def reckon(
    pool: TicketPool,
    tickets: Mapping[int, Ticket],
    strategy: Strategy,
    is_made: Callable[[int], bool],
    seen: Callable[[int], Ticket | None],
    is_late: Callable[[Ticket], bool],
) -> Account:
    """Settles what has ended since the status was written.

    `tickets` are all there are of the pool; `is_made` tells which of those that are not there have been, and `seen` as what
    they were last seen: a ticket can be claimed, used and gone between two looks. `is_late` tells of an expiry whether the firing that
    replaces it has been acted on already.
    """
    live = {
        number: ticket
        for number, ticket in tickets.items()
        if ticketstate.is_open(ticket) or ticketstate.is_claiming(ticket)
    }
    members = numbers.parse(pool.members)
    unmade = frozenset(
        number for number in members if number not in tickets and not is_made(number)
    )
    account = Account(pool.firing, pool.size, pool.owed, live, unmade)
    for _ in live.keys() - members:
        account = _undone(account, strategy)
    surplus = max(len(members) - pool.size, 0)
    for number in sorted(members - live.keys() - unmade):
        ticket = tickets.get(number) or seen(number)
        end = _end(ticket)
        when = strategies.replaced(strategy, end)
        if end is not End.CLAIM and surplus > 0:
            surplus -= 1
        elif when is When.AT_THE_FIRING and end is End.EXPIRY and ticket and is_late(ticket):
            account = _settled(account, When.AT_ONCE)
        else:
            account = _settled(account, when)
    return account


def scaled(account: Account, more: int, most: int) -> Account:
    """Follows the number of replicas: so many more, and never above the most."""
    size = max(min(account.size + more, most), 0)
    return replace(account, size=size, owed=max(min(account.owed, most - size), 0))


def fired(account: Account, strategy: Strategy, replicas: int) -> Account:
    """Refreshes a standing pool at a firing."""
    size = replicas if strategies.renews(strategy) else account.size + account.owed
    return replace(account, size=min(size, replicas), owed=0)


def _end(ticket: Ticket | None) -> End:
    if ticket is None:
        return End.LOSS
    phase = ticketstate.phase_of(ticket)
    if phase in _CLAIMED:
        return End.CLAIM
    return End.EXPIRY if phase is TicketPhase.EXPIRED else End.LOSS


def _settled(account: Account, when: When) -> Account:
    match when:
        case When.AT_ONCE:
            return account
        case When.AT_THE_FIRING:
            return replace(account, size=max(account.size - 1, 0), owed=account.owed + 1)
        case When.NEVER:
            return replace(account, size=max(account.size - 1, 0))


def _undone(account: Account, strategy: Strategy) -> Account:
    """A ticket is back after its use."""
    match strategies.replaced(strategy, End.CLAIM):
        case When.AT_ONCE:
            return account
        case When.AT_THE_FIRING:
            return replace(account, size=account.size + 1, owed=max(account.owed - 1, 0))
        case When.NEVER:
            return replace(account, size=account.size + 1)
