"""What a turn finds out about an order for its conditions: what is wanted, what is old, what stands in the way.

`orderplan` calls it; `orderstatus` makes words of it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from korder.api import instant
from korder.api.plan import EventType, Notice
from korder.api.reserve import (
    ORDERS,
    Order,
    OrderReason,
    Reason,
    StrategyType,
    Ticket,
    TicketPhase,
)
from korder.reserve.rules.orders import gaps, strategies, template, ticketstate
from korder.reserve.rules.orders.accounting import Account
from korder.reserve.rules.orders.firings import Timetable
from korder.reserve.rules.orders.granting import Grant
from korder.reserve.rules.orders.orderstatus import Findings


def of_pools(
    order: Order,
    tickets: Sequence[Ticket],
    accounts: Sequence[Account],
    times: Timetable,
    now: datetime,
) -> Findings:
    """What is found about an order that keeps a number of tickets."""
    windowed = strategies.of(order).type is StrategyType.SCHEDULED
    present, is_current = template.template_hash(order.spec.template), template.currency(order)
    idle = [
        ticket
        for account in accounts
        for ticket in account.tickets.values()
        if ticketstate.is_idle(ticket)
    ]
    old = [ticket for ticket in idle if not is_current(ticket)]
    ahead = [account for account in accounts if _is_ahead(account, now)]
    free = sum(account.size for account in accounts) - sum(account.size for account in ahead)
    unmade = any(account.unmade for account in accounts)
    return Findings(
        desired=0 if windowed and not accounts else order.spec.replicas,
        free=free,
        template_hash=present,
        closed=_closed(order, accounts, times),
        rests=windowed and len(ahead) == len(accounts),
        opens_at=opens_at(order, times, [each.firing for each in ahead if each.firing]),
        ahead=sum(account.size for account in ahead),
        blocked=_obstacle(idle, is_current) if old else "",
        rolling=not all(ticketstate.has_hash(ticket, present) for ticket in idle),
        busy=unmade or any(map(ticketstate.is_leaving, tickets)),
        unmade=unmade,
        complete=not unmade and times.following is None and _is_complete(order, tickets, free),
    )


def with_shortage(found: Findings, grant: Grant) -> Findings:
    """What is found besides that a quota stands in the way; a roll-out then keeps the old tickets (rule 7)."""
    if grant.unsure:
        remarks = "; ".join(each for each in (found.remarks, grant.unsure) if each)
        found = replace(found, remarks=remarks)
    if not grant.short:
        return found
    blocked = f"the old tickets stay: {grant.short}" if found.rolling else found.blocked
    return replace(found, short=grant.short, blocked=blocked)


def of_failure(order: Order, why: str) -> Findings:
    """What is found about an order that cannot work."""
    wanted = template.template_hash(order.spec.template)
    return Findings(
        desired=0, free=0, template_hash=wanted, failure=(OrderReason.INVALID_SCHEDULE, why)
    )


def opens_at(order: Order, times: Timetable, ahead: Iterable[datetime]) -> datetime | None:
    """When the next window opens; `ahead` are those that have tickets and have not opened."""
    if strategies.of(order).type is not StrategyType.SCHEDULED:
        return None
    return min(ahead, default=None if order.spec.paused else times.following)


def warnings(order: Order, times: Timetable) -> tuple[Notice, ...]:
    """Tells, once for each edit, that a standing pool will have gaps (rule 5)."""
    strategy = strategies.of(order)
    if (
        strategy.type is not StrategyType.RECURRING
        or times.following is None
        or order.status.observed_generation == order.metadata.generation
    ):
        return ()
    told = gaps.told(strategy, strategies.hold(order.spec.template.spec), times.following)
    if not told:
        return ()
    return (Notice(ORDERS, order, OrderReason.GAP.value, told, EventType.WARNING),)


def _is_ahead(account: Account, now: datetime) -> bool:
    """Says whether a window has tickets by its lead time, which nobody can claim yet."""
    return account.firing is not None and account.firing > now


def _closed(order: Order, accounts: Sequence[Account], times: Timetable) -> tuple[str, str] | None:
    """Why the order cannot have tickets that can be claimed."""
    kind = strategies.of(order).type
    owed = sum(account.owed for account in accounts)
    if kind is StrategyType.RECURRING and owed and not any(account.size for account in accounts):
        return OrderReason.GAP, _gap(order, owed, times)
    has_windows = kind is StrategyType.SCHEDULED
    if order.spec.paused and order.status.issued_replicas == 0 and not has_windows:
        return OrderReason.PAUSED, "the order was paused before its tickets were made"
    return None


def _gap(order: Order, owed: int, times: Timetable) -> str:
    """When a standing pool of which no ticket is left gets others."""
    if order.spec.paused or times.following is None:
        return "no ticket is left, and none comes while the order is paused"
    return f"no ticket is left; the firing of {instant.render(times.following)} brings {owed}"


def _obstacle(idle: Sequence[Ticket], is_current: Callable[[Ticket], bool]) -> str:
    """Why new tickets do not get the room that would let the old ones go (rule 7)."""
    for ticket in idle:
        status = ticket.status
        if (
            is_current(ticket)
            and ticketstate.phase_of(ticket) is TicketPhase.PENDING
            and status.reason not in ("", Reason.SCHEDULED)
        ):
            why = status.message or status.reason
            return f"the old tickets stay, because {ticket.metadata.name} has no room: {why}"
    return ""


def _is_complete(order: Order, tickets: Sequence[Ticket], free: int) -> bool:
    """Says whether all tickets have ended and, as there is no firing to come, no event but an edit can bring one."""
    return (
        order.status.issued_replicas > 0
        and order.spec.replicas > 0
        and free == 0
        and all(map(ticketstate.is_over, tickets))
    )
