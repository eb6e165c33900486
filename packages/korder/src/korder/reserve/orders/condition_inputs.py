"""What one reconcile of an order finds for its conditions and Events: what is wanted, what is outdated, what stands in the way."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from korder.api.reserve import (
    ORDERS,
    TICKETS,
    Order,
    OrderReason,
    Reason,
    StrategyType,
    Ticket,
    TicketPhase,
)
from korder.reserve.orders import firings, template
from korder.reserve.orders.firings import Timetable
from korder.reserve.orders.pools import Account, Grant
from korder.reserve.orders.status import Findings
from korder.reserve.tickets import deadlines, state as ticket_state
from kubeloop.objects import instant
from kubeloop.objects.meta import key_of
from kubeloop.objects.plan import Create, Delete, Emit, EventType, Patch

_NAMED = 5


def removal(ticket: Ticket) -> Delete:
    """Deletes exactly the ticket that was judged: one that has been claimed meanwhile is another version."""
    meta = ticket.metadata
    return Delete(TICKETS, key_of(ticket), meta.uid, resource_version=meta.resource_version)


def with_events(status_patches: Sequence[Patch], emits: Iterable[Emit]) -> tuple[Emit, ...]:
    """Notices of what the status says from now on: they belong to the step that writes it, for the next turn knows it already."""
    (step,) = status_patches or (None,)
    return tuple(replace(emit, after=step) for emit in emits)


def made_event(order: Order, made: Sequence[Create]) -> tuple[Emit, ...]:
    """Tells of tickets that were made."""
    names = [str(_name(each)) for each in made]
    return _reported(order, OrderReason.TICKETS_CREATED, "made", names)


def gone_event(order: Order, gone: Sequence[Ticket], why: str) -> tuple[Emit, ...]:
    """Tells of tickets that were deleted."""
    names = [ticket.metadata.name for ticket in gone]
    return _reported(order, OrderReason.TICKETS_DELETED, "deleted", names, f": {why}")


_SHORT_REASONS = frozenset({Reason.QUOTA_EXCEEDED.value, Reason.ROLLOUT_BLOCKED.value})
"""The reasons of a Progressing condition while a quota does not allow all tickets."""


def short_event(order: Order, why: str) -> tuple[Emit, ...]:
    """Emits, once while it lasts, that a quota does not allow all tickets: the conditions have one of two reasons then."""
    is_reported = any(each.reason in _SHORT_REASONS for each in order.status.conditions)
    if not why or is_reported:
        return ()
    return (Emit(ORDERS, order, Reason.QUOTA_EXCEEDED.value, why, EventType.WARNING),)


def _reported(
    order: Order, reason: OrderReason, verb: str, names: Sequence[str], why: str = ""
) -> tuple[Emit, ...]:
    if not names:
        return ()
    listed = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    number = "a ticket" if len(names) == 1 else f"{len(names)} tickets"
    return (Emit(ORDERS, order, reason.value, f"{verb} {number} ({listed}){why}"),)


def _name(step: Create) -> object:
    body = step.body
    meta = body["metadata"] if isinstance(body, dict) else None
    return meta["name"] if isinstance(meta, dict) else ""


def of_pools(
    order: Order,
    tickets: Sequence[Ticket],
    accounts: Sequence[Account],
    times: Timetable,
    now: datetime,
) -> Findings:
    """What is found about an order that keeps a number of tickets."""
    windowed = firings.of(order).type is StrategyType.SCHEDULED
    present, is_current = template.template_hash(order.spec.template), template.currency(order)
    idle = [
        ticket
        for account in accounts
        for ticket in account.tickets.values()
        if ticket_state.is_idle(ticket)
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
        rolling=not all(ticket_state.has_hash(ticket, present) for ticket in idle),
        busy=unmade or any(map(ticket_state.is_leaving, tickets)),
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
    if firings.of(order).type is not StrategyType.SCHEDULED:
        return None
    return min(ahead, default=None if order.spec.paused else times.following)


def warnings(order: Order, times: Timetable) -> tuple[Emit, ...]:
    """Tells, once for each edit, that a standing pool will have gaps (rule 5)."""
    strategy = firings.of(order)
    if (
        strategy.type is not StrategyType.RECURRING
        or times.following is None
        or order.status.observed_generation == order.metadata.generation
    ):
        return ()
    stated = firings.gap_message(
        strategy, deadlines.hold_length(order.spec.template.spec), times.following
    )
    if not stated:
        return ()
    return (Emit(ORDERS, order, OrderReason.GAP.value, stated, EventType.WARNING),)


def _is_ahead(account: Account, now: datetime) -> bool:
    """Says whether a window has tickets by its lead time, which nobody can claim yet."""
    return account.firing is not None and account.firing > now


def _closed(order: Order, accounts: Sequence[Account], times: Timetable) -> tuple[str, str] | None:
    """Why the order cannot have tickets that can be claimed."""
    kind = firings.of(order).type
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
            and ticket_state.phase_of(ticket) is TicketPhase.PENDING
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
        and all(map(ticket_state.is_over, tickets))
    )
