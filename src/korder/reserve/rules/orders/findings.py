"""What a turn finds out about an order for its conditions: what is wanted, what is old, what stands in the way.

`orderplan` calls it; `orderstatus` makes words of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from korder.api import duration, instant
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
from korder.reserve.rules.orders import schedule, strategies, template, ticketstate
from korder.reserve.rules.orders.accounting import Account
from korder.reserve.rules.orders.firings import Timetable
from korder.reserve.rules.orders.granting import Grant
from korder.reserve.rules.orders.orderstatus import Findings


def currency(order: Order, times: Timetable) -> Callable[[Ticket], bool]:
    """Tells the tickets that need not be replaced: of the present template and, where firings renew, of the last firing."""
    wanted = template.template_hash(order.spec.template)
    if not strategies.renews(strategies.of(order)):
        return lambda ticket: ticketstate.has_hash(ticket, wanted)
    return lambda ticket: (
        ticketstate.has_hash(ticket, wanted) and ticketstate.firing_of(ticket) == times.last
    )


def of_pools(
    order: Order,
    tickets: Sequence[Ticket],
    accounts: Sequence[Account],
    times: Timetable,
) -> Findings:
    """What is found about an order that keeps a number of tickets."""
    windowed = strategies.of(order).type is StrategyType.SCHEDULED
    is_current = currency(order, times)
    idle = [
        ticket
        for account in accounts
        for ticket in account.tickets.values()
        if ticketstate.is_idle(ticket)
    ]
    old = [ticket for ticket in idle if not is_current(ticket)]
    free = sum(account.size for account in accounts)
    unmade = any(account.unmade for account in accounts)
    return Findings(
        desired=0 if windowed and not accounts else order.spec.replicas,
        free=free,
        template_hash=template.template_hash(order.spec.template),
        closed=_closed(order, accounts, times),
        blocked=_obstacle(idle, is_current) if old else "",
        rolling=bool(old),
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


def between_windows(times: Timetable) -> tuple[str, str]:
    """Why an order whose windows are all closed is not ready."""
    following = times.following
    when = f"the next window opens at {instant.render(following)}" if following else ""
    return OrderReason.BETWEEN_WINDOWS, when


def warnings(order: Order, times: Timetable) -> tuple[Notice, ...]:
    """Tells, once for each edit, that a standing pool will have gaps (rule 5)."""
    strategy = strategies.of(order)
    if (
        strategy.type is not StrategyType.RECURRING
        or times.following is None
        or order.status.observed_generation == order.metadata.generation
    ):
        return ()
    after = schedule.parse(strategy.schedule, strategy.time_zone).next_after(times.following)
    held, pause = strategies.hold(order.spec.template.spec), after - times.following
    if held >= pause:
        return ()
    told = (
        f"tickets are held for {duration.human(int(held.total_seconds()))},"
        f" but renewed only every {duration.human(int(pause.total_seconds()))}"
    )
    return (Notice(ORDERS, order, OrderReason.GAP.value, told, EventType.WARNING),)


def _closed(order: Order, accounts: Sequence[Account], times: Timetable) -> tuple[str, str] | None:
    """Why there is nothing to be ready for."""
    if strategies.of(order).type is StrategyType.SCHEDULED and not accounts:
        return between_windows(times)
    if order.spec.paused and order.status.issued_replicas == 0:
        return OrderReason.PAUSED, "the order was paused before its tickets were made"
    return None


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
