"""Which tickets of a pool go, and how many new ones it needs: scaling and roll-out in one choice.

`orderplan` calls it. Only idle tickets go: first those that are only promised, then those that hold nothing, then the youngest. Tickets of
an old template or an old firing are replaced make-before-break: a few new ones are made besides, and an old one that holds room goes
only when more are held than wanted. So without room for a new ticket the old one stays (rule 7). A ticket that is about to take its room
back after use counts as one that holds it: it stays, and its refill goes (S16).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from korder.api.reserve import Ticket
from korder.reserve.rules.orders import ticketnames, ticketstate
from korder.reserve.rules.orders.accounting import Account

_AT_ONCE = 4
"""One in so many tickets of a pool is replaced at a time, and at least one."""


class Choice(NamedTuple):
    """What to do with a pool."""

    make: int
    remove: tuple[Ticket, ...]


def trimmed(account: Account, is_current: Callable[[Ticket], bool]) -> Account:
    """Strikes from a pool what was promised and is wanted no more, the youngest first: what does not exist is the first to go."""
    old, _ = _sorted(account, is_current)
    beyond = account.count - account.size - _surge(account, len(old))
    kept = sorted(account.unmade)[: max(len(account.unmade) - max(beyond, 0), 0)]
    return replace(account, unmade=frozenset(kept))


def choose(account: Account, is_current: Callable[[Ticket], bool]) -> Choice:
    """Brings a pool nearer to its size and to what is current."""
    old, current = _sorted(account, is_current)
    extra = account.count - account.size
    missing = max(_surge(account, len(old)) - extra, 0)
    return Choice(missing, _removable(account, old, current, extra) if extra > 0 else ())


def _sorted(
    account: Account, is_current: Callable[[Ticket], bool]
) -> tuple[list[Ticket], list[Ticket]]:
    """The idle tickets of a pool: the old ones, and those that are current."""
    old: list[Ticket] = []
    current: list[Ticket] = []
    for ticket in account.tickets.values():
        if ticketstate.is_idle(ticket):
            (current if is_current(ticket) else old).append(ticket)
    return old, current


def _surge(account: Account, old: int) -> int:
    """How many tickets more than wanted there may be while old ones are replaced."""
    return min(-(-account.size // _AT_ONCE), old)


def _removable(
    account: Account, old: list[Ticket], current: list[Ticket], extra: int
) -> tuple[Ticket, ...]:
    """Picks from what is too much: of the old what holds nothing, the rest as far as enough is held; then of the new."""
    in_use = len(account.tickets) - len(old) - len(current)
    held = in_use + sum(map(ticketstate.keeps_room, (*old, *current)))
    spare = max(held - account.size, 0)
    gone = _first(old, spare)[:extra]
    spare -= sum(map(ticketstate.keeps_room, gone))
    beyond = extra - len(gone) - _surge(account, len(old) - len(gone))
    return (*gone, *_first(current, spare)[: max(beyond, 0)])


def _first(tickets: list[Ticket], spare: int) -> list[Ticket]:
    """In the order in which they go: all that hold nothing, and so many of those that do; the youngest first."""
    youngest = sorted(
        tickets, key=lambda each: ticketnames.number_of(each.metadata.name) or 0, reverse=True
    )
    empty = [ticket for ticket in youngest if not ticketstate.keeps_room(ticket)]
    return empty + [ticket for ticket in youngest if ticketstate.keeps_room(ticket)][:spare]
