"""The pools of an order: how many tickets each should have, which can still be claimed, and which may be created now.

A pool is the set of tickets of one firing, or the standing set of an order. The status of the order records what was issued; `booked` brings it up to date,
`Grant` says which of the missing tickets quotas allow, `ends` and `kept` say which windows of a Scheduled order close early.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from korder.api.reserve import (
    NODE_LABEL,
    Order,
    OrderStatus,
    OverlapPolicy,
    RefreshPolicy,
    Strategy,
    StrategyType,
    Ticket,
    TicketPhase,
    TicketPool,
)
from korder.reserve import names as object_names
from korder.reserve.names import Taken
from korder.reserve.orders import firings, firings as order_firings
from korder.reserve.orders.firings import End, Timetable, When
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects.plan import Create, Emit, Patch

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
        members = object_names.render({*self.tickets, *self.unmade})
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
        if ticket_state.is_open(ticket) or ticket_state.is_claiming(ticket)
    }
    members = object_names.parse(pool.members)
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
        when = firings.replaced(strategy, end)
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
    size = replicas if firings.renews_in_place(strategy) else account.size + account.owed
    return replace(account, size=min(size, replicas), owed=0)


def _end(ticket: Ticket | None) -> End:
    if ticket is None:
        return End.LOSS
    phase = ticket_state.phase_of(ticket)
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
    match firings.replaced(strategy, End.CLAIM):
        case When.AT_ONCE:
            return account
        case When.AT_THE_FIRING:
            return replace(account, size=account.size + 1, owed=max(account.owed - 1, 0))
        case When.NEVER:
            return replace(account, size=account.size + 1)


@dataclass(frozen=True, slots=True)
class Grant:
    """What may be made.

    Attributes:
        made: The tickets that may be made.
        charges: What must be written before, one after the other.
        short: Which limit the others would break, if there are others.
        look_at: When to ask again, if nothing else happens before.
        told: What there is to be told of the quotas that were charged.
        unsure: Why nobody can say yet whether the others may.
    """

    made: tuple[Create, ...]
    charges: tuple[Patch, ...] = ()
    short: str = ""
    look_at: datetime | None = None
    stated: tuple[Emit, ...] = ()
    unsure: str = ""


Granting = Callable[[Sequence[Create]], Grant]


def freely(wanted: Sequence[Create]) -> Grant:
    """Grants everything."""
    return Grant(tuple(wanted))


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
    if order_firings.of(order).type is not StrategyType.SCHEDULED:
        return []
    newest, known = _newest(order, accounts, now), {account.firing for account in accounts}

    def is_stray(ticket: Ticket) -> bool:
        firing = ticket_state.firing_of(ticket)
        if firing is None or firing in known or not ticket_state.is_idle(ticket):
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
    if order_firings.of(order).type is not StrategyType.SCHEDULED or not order.spec.replicas:
        return []
    staying = {account.firing for account in accounts if account.size}
    return [ticket for ticket in tickets if ticket_state.firing_of(ticket) not in staying]


def _newest(order: Order, accounts: Iterable[Account], now: datetime) -> datetime | None:
    """The last window that has opened, if earlier ones go then."""
    strategy = order_firings.of(order)
    follows = (
        strategy.refresh_policy is RefreshPolicy.ALWAYS
        or strategy.overlap_policy is OverlapPolicy.REPLACE
    )
    opened = (a.firing for a in accounts if a.firing is not None and a.firing <= now)
    return max(opened, default=None) if follows else None


@dataclass(frozen=True, slots=True)
class Snapshot:
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
class OrderPools:
    """What a turn has worked out before it becomes a plan."""

    accounts: list[Account]
    times: Timetable
    next_index: int
    collisions: int = 0
    removed: list[Ticket] = field(default_factory=list)


def unsettled(order: Order, gone: Mapping[str, Ticket]) -> dict[str, Ticket]:
    """Tickets that are gone, by name, of which the books do not tell yet that they were made, or how they ended."""
    open_ends = {each for pool in order.status.pools for each in object_names.parse(pool.members)}
    return {
        name: ticket
        for name, ticket in gone.items()
        if (number := object_names.number_of(name)) is not None
        and (number >= order.status.made_index or number in open_ends)
    }


def misses_some(order: Order, tickets: Iterable[Ticket]) -> bool:
    """Says whether a ticket is not to be seen that has been made: it is gone, or a cache is behind."""
    there = {object_names.number_of(ticket.metadata.name) for ticket in tickets}
    return any(
        number < order.status.made_index and number not in there
        for pool in order.status.pools
        for number in object_names.parse(pool.members)
    )


def reckoned(snapshot: Snapshot) -> list[Account]:
    """The books as they are now; windows that have closed are no longer kept."""
    order, strategy = snapshot.order, order_firings.of(snapshot.order)
    windowed = strategy.type is StrategyType.SCHEDULED
    filed: dict[datetime | None, dict[int, Ticket]] = {}
    for ticket in snapshot.tickets:
        number = object_names.number_of(ticket.metadata.name)
        if number is not None and not is_of_a_node(ticket):
            firing = ticket_state.firing_of(ticket) if windowed else None
            filed.setdefault(firing, {})[number] = ticket
    gone = {object_names.number_of(each.metadata.name): each for each in snapshot.gone}

    def is_made(number: int) -> bool:
        return number < order.status.made_index or number in gone

    def is_late(ticket: Ticket) -> bool:
        return firings.is_replaced_by_last(order, ticket)

    pools = order.status.pools or (() if windowed else (TicketPool(),))
    return [
        reckon(pool, filed.get(pool.firing, {}), strategy, is_made, gone.get, is_late)
        for pool in pools
        if pool.firing is None
        or is_kept(order, pool.firing, filed.get(pool.firing, {}).values(), snapshot.now)
    ]


def is_kept(order: Order, firing: datetime, tickets: Iterable[Ticket], now: datetime) -> bool:
    """Says whether a window is still in the books: until it closes; a pause, which leaves tickets alone, keeps it as long as its tickets."""
    return firings.closes(order, firing) > now or (
        order.spec.paused and any(map(ticket_state.is_open, tickets))
    )


def refreshed(snapshot: Snapshot, accounts: list[Account], times: Timetable) -> list[Account]:
    """Follows the number of replicas and the firing that is due; after its only window an order has no pool any more."""
    order, strategy = snapshot.order, order_firings.of(snapshot.order)
    replicas = order.spec.replicas
    close = firings.only_close(order)
    if close is not None and close <= snapshot.now:
        return [Account(None, 0, 0, {})]
    issued = 0 if order_firings.keeps(strategy) else order.status.issued_replicas
    more = max(replicas - issued, 0)
    is_fewer = order_firings.issues_once(strategy) and replicas < issued
    most = replicas - _claimed(snapshot) if is_fewer else replicas
    accounts = [scaled(account, more, most) for account in accounts]
    if times.opens and strategy.type is StrategyType.RECURRING:
        accounts = [fired(account, strategy, replicas) for account in accounts]
    if times.opens and strategy.type is StrategyType.SCHEDULED:
        accounts.append(Account(times.last, replicas, 0, {}))
    return kept(order, accounts, snapshot.now)


def _claimed(snapshot: Snapshot) -> int:
    return sum(ticket_state.phase_of(each) is TicketPhase.CLAIMED for each in snapshot.tickets)


def is_of_a_node(ticket: Ticket) -> bool:
    """Says whether a ticket was made when the order was in DaemonSet mode."""
    return NODE_LABEL in ticket.metadata.labels


def booked(order: Order, order_pools: OrderPools, now: datetime) -> OrderStatus:
    """The status as far as the books go."""
    unmade = [number for account in order_pools.accounts for number in account.unmade]
    issued, replicas = order.status.issued_replicas, order.spec.replicas
    if not order.spec.paused:
        once = order_firings.issues_once(order_firings.of(order))
        issued = max(issued, replicas) if once else replicas
    collisions = (order.status.collision_count or 0) + order_pools.collisions
    opened = [account.firing for account in order_pools.accounts]
    return msgspec.structs.replace(
        order.status,
        issued_replicas=issued,
        next_index=order_pools.next_index,
        made_index=min(unmade, default=order_pools.next_index),
        pools=tuple(account.as_status() for account in order_pools.accounts),
        last_schedule_time=order_pools.times.last,
        next_schedule_time=firings.coming(order, order_pools.times, opened, now),
        last_renewal_time=firings.renewal(order, order_pools.times),
        collision_count=collisions or None,
    )
