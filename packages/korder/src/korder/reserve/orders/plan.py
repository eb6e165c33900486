"""What to do about an order that keeps a number of tickets: the whole reconcile as one pure function.

`controller` gathers and calls `plan`. Also here: the finalizer of an order and the deletion of its tickets before itself, what an order does when the
server refuses its tickets, and which tickets of a pool go or are missing (scaling and roll-out in one choice).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count, filterfalse, islice
from typing import NamedTuple

import msgspec

from korder import cron
from korder.api.reserve import ORDER_FINALIZER, ORDERS, Order, OrderCondition, OrderReason, Ticket
from korder.reserve import names as object_names
from korder.reserve.orders import condition_inputs, firings, pools, status as order_status, template
from korder.reserve.orders.pools import Account, OrderPools, Snapshot
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects import conditions
from kubeloop.objects.conditions import Condition, Status
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import NOTHING, Create, Emit, EventType, Patch, Plan

_ORPHAN = "orphan"
"""The finalizer of a deletion that leaves dependents alone."""


def beginning(order: Order) -> Plan | None:
    """What has to happen before anything else; None if it has happened."""
    if ORDER_FINALIZER in order.metadata.finalizers:
        return None
    return Plan().then(_with_finalizers(order, [*order.metadata.finalizers, ORDER_FINALIZER]))


def ending(order: Order, tickets: Sequence[Ticket]) -> Plan:
    """What is left to do for an order that is being deleted."""
    finalizers = order.metadata.finalizers
    if ORDER_FINALIZER not in finalizers:
        return NOTHING
    if not tickets:
        kept: list[JSON] = [each for each in finalizers if each != ORDER_FINALIZER]
        return Plan().then(_with_finalizers(order, kept))
    if _ORPHAN in finalizers:
        return NOTHING
    going = [ticket for ticket in tickets if not ticket_state.is_leaving(ticket)]
    return (
        Plan()
        .then(*map(condition_inputs.removal, going))
        .tell(*condition_inputs.gone_event(order, going, "their order is being deleted"))
    )


def _with_finalizers(order: Order, finalizers: Sequence[JSON]) -> Patch:
    meta = order.metadata
    body: JSON = {"metadata": {"finalizers": list(finalizers)}}
    return Patch(ORDERS, key_of(order), body, uid=meta.uid, resource_version=meta.resource_version)


SOONEST, LATEST = timedelta(seconds=1), timedelta(seconds=300)
"""The pauses before another try. The longest is longer than a ticket counts ahead in quotas after a try (two minutes, decision 0020): in
between others get the room that is held for nothing."""
_LONGEST_MESSAGE = 1_024


def refused(order: Order, message: str, now: datetime) -> Plan:
    """Writes a refusal down, and tries again ever later."""
    reason = OrderReason.TICKETS_REFUSED.value
    before = conditions.find(order.status.conditions, OrderCondition.FAILURE)
    since = before.last_transition_time if before is not None and before.reason == reason else None
    pause = min(max(now - since, SOONEST), LATEST) if since is not None else SOONEST
    failure = Condition(
        type=OrderCondition.FAILURE.value,
        status=Status.TRUE,
        observed_generation=order.metadata.generation,
        reason=reason,
        message=message[:_LONGEST_MESSAGE],
    )
    said = conditions.set_condition(order.status.conditions, failure, now)
    status = msgspec.structs.replace(order.status, conditions=said)
    plan = Plan().then(*order_status.report(order, status)).requeue(now + pause)
    if since is not None:
        return plan
    return plan.tell(Emit(ORDERS, order, reason, failure.message, EventType.WARNING))


def is_reworded(old: Order, new: Order) -> bool:
    """Says whether a refusal is only told in other words: when the tickets are tried again has been decided."""
    failure = conditions.find(new.status.conditions, OrderCondition.FAILURE)
    is_refused = failure is not None and failure.reason == OrderReason.TICKETS_REFUSED
    return is_refused and _but_for_words(old) == _but_for_words(new)


def _but_for_words(order: Order) -> Order:
    meta = msgspec.structs.replace(order.metadata, resource_version="")
    said = tuple(
        msgspec.structs.replace(each, message="") if each.type == OrderCondition.FAILURE else each
        for each in order.status.conditions
    )
    status = msgspec.structs.replace(order.status, conditions=said)
    return msgspec.structs.replace(order, metadata=meta, status=status)


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
        if ticket_state.is_idle(ticket):
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
    held = in_use + sum(map(ticket_state.keeps_room, (*old, *current)))
    spare = max(held - account.size, 0)
    gone = _first(old, spare)[:extra]
    spare -= sum(map(ticket_state.keeps_room, gone))
    beyond = extra - len(gone) - _surge(account, len(old) - len(gone))
    return (*gone, *_first(current, spare)[: max(beyond, 0)])


def _first(tickets: list[Ticket], spare: int) -> list[Ticket]:
    """In the order in which they go: all that hold nothing, and so many of those that do; the youngest first."""
    youngest = sorted(
        tickets, key=lambda each: object_names.number_of(each.metadata.name) or 0, reverse=True
    )
    empty = [ticket for ticket in youngest if not ticket_state.keeps_room(ticket)]
    return empty + [ticket for ticket in youngest if ticket_state.keeps_room(ticket)][:spare]


MOST_AT_ONCE = 100
"""Tickets that one turn makes; the next turn writes how many there are and makes the next."""


def plan(snapshot: Snapshot) -> Plan:
    """Decides what to do about an order that is not being deleted."""
    order = snapshot.order
    accounts = pools.reckoned(snapshot)
    try:
        times = firings.timetable(order, snapshot.now, pools.ends(order, accounts, snapshot.now))
    except cron.InvalidSchedule as wrong:
        return _failed(snapshot, str(wrong))
    order_pools = OrderPools(accounts, times, order.status.next_index)
    if not order.spec.paused:
        order_pools.accounts = pools.refreshed(snapshot, accounts, times)
        _roll_over(snapshot, order_pools)
    return _written(snapshot, order_pools)


def _failed(snapshot: Snapshot, why: str) -> Plan:
    """An order with a schedule that says nothing: its tickets go on, none are made."""
    found = condition_inputs.of_failure(snapshot.order, why)
    status, next_at = order_status.status_of(snapshot.order, snapshot.tickets, found, snapshot.now)
    return Plan().then(*order_status.report(snapshot.order, status)).requeue(next_at)


def _roll_over(snapshot: Snapshot, order_pools: OrderPools) -> None:
    """Chooses what goes and gives numbers to what comes."""
    of_nodes = filter(pools.is_of_a_node, snapshot.tickets)
    order_pools.removed += filter(ticket_state.is_idle, of_nodes)
    numbered = filterfalse(pools.is_of_a_node, snapshot.tickets)
    order_pools.removed += pools.strays(
        snapshot.order, numbered, order_pools.accounts, snapshot.now
    )
    is_current = template.currency(snapshot.order)
    for place, before in enumerate(order_pools.accounts):
        lost = {each for each in before.unmade if snapshot.taken(_name(snapshot, before, each))}
        order_pools.collisions += len(lost)
        account = trimmed(replace(before, unmade=before.unmade - lost), is_current)
        choice = choose(account, is_current)
        order_pools.removed += choice.remove
        fresh = _numbers(snapshot, order_pools, account, min(choice.make, MOST_AT_ONCE))
        order_pools.accounts[place] = replace(account, unmade=account.unmade | fresh)


def _numbers(
    snapshot: Snapshot, order_pools: OrderPools, account: Account, wanted: int
) -> frozenset[int]:
    """The next numbers whose names nobody has."""
    free = (
        number
        for number in count(order_pools.next_index)
        if not snapshot.taken(_name(snapshot, account, number))
    )
    found = frozenset(islice(free, wanted))
    order_pools.next_index = max(found, default=order_pools.next_index - 1) + 1
    return found


def _name(snapshot: Snapshot, account: Account, number: int) -> str:
    return object_names.numbered(snapshot.order.metadata.name, number, account.firing)


def _written(snapshot: Snapshot, order_pools: OrderPools) -> Plan:
    """The plan that carries out what was worked out, the status first."""
    order, now = snapshot.order, snapshot.now
    booked = msgspec.structs.replace(order, status=pools.booked(order, order_pools, now))
    found = condition_inputs.of_pools(
        order, snapshot.tickets, order_pools.accounts, order_pools.times, now
    )
    if order_pools.removed:
        found = replace(found, busy=True)
    grant = snapshot.granting([] if order.spec.paused else _creations(snapshot, order_pools))
    found = condition_inputs.with_shortage(found, grant)
    status, next_at = order_status.status_of(booked, snapshot.tickets, found, now)
    written = order_status.report(order, status)
    said = (*order_pools.times.emits, *condition_inputs.warnings(order, order_pools.times))
    plan = (
        Plan()
        .then(*written)
        .then(*map(condition_inputs.removal, order_pools.removed), *_terms(snapshot, order_pools))
        .one_by_one(*grant.charges)
        .then(*grant.made)
        .tell(*condition_inputs.with_events(written, said))
        .tell(*condition_inputs.made_event(order, grant.made), *_gone_event(snapshot, order_pools))
        .tell(*condition_inputs.short_event(order, grant.short), *grant.stated)
        .requeue(next_at)
        .requeue(grant.look_at)
        .requeue(order_pools.times.look_at)
        .requeue(status.next_schedule_time)
    )
    close = firings.only_close(order)
    if close is not None and close > now:
        plan = plan.requeue(close)
    for account in order_pools.accounts:
        if account.firing is not None:
            edges = (account.firing, firings.closes(order, account.firing))
            plan = plan.requeue(min((edge for edge in edges if edge > now), default=None))
    return plan


def _gone_event(snapshot: Snapshot, order_pools: OrderPools) -> tuple[Emit, ...]:
    order = snapshot.order
    is_current = template.currency(order)
    left = pools.windowless(order, order_pools.removed, order_pools.accounts)
    stated = {ticket.metadata.uid for ticket in left}
    others = [ticket for ticket in order_pools.removed if ticket.metadata.uid not in stated]
    old = [ticket for ticket in others if not is_current(ticket)]
    more = [ticket for ticket in others if is_current(ticket)]
    return (
        *condition_inputs.gone_event(
            order,
            left,
            "their window goes: another has followed it, or the schedule has it no more",
        ),
        *condition_inputs.gone_event(order, old, "tickets of the present template replace them"),
        *condition_inputs.gone_event(order, more, "there are more than wanted"),
    )


def _terms(snapshot: Snapshot, order_pools: OrderPools) -> list[Patch]:
    """What is changed in place, of the tickets that stay."""
    going = {ticket.metadata.uid for ticket in order_pools.removed}
    staying = (ticket for ticket in snapshot.tickets if ticket.metadata.uid not in going)
    return template.in_place(snapshot.order, staying)


def _creations(snapshot: Snapshot, order_pools: OrderPools) -> list[Create]:
    """All tickets that the books have and the cluster has not."""
    order = snapshot.order
    start = firings.clock_start(order, order_pools.times, snapshot.now)
    return [
        template.ticket(order, _name(snapshot, account, number), firing=account.firing or start)
        for account in order_pools.accounts
        for number in sorted(account.unmade)
    ]
