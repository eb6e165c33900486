"""What to do about an order in DaemonSet mode: exactly one ticket, claimed or not, on every eligible node.

`korder.reserve.orders.controller` calls it; `plan` is its twin for orders that keep a number of tickets. Names come from nodes, so nothing has to be
booked before a ticket is made: a second create finds the first. A ticket is replaced break-before-make, because its node has room for
one (rule 7), a tenth of the nodes at a time: while that many have no room for the new one, the others keep the old. Refresh policies
do not count here (rule 19); a firing opens a window of a Scheduled order and otherwise only looks again. With a lead time the tickets of
the coming window are made besides those of the open one.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from korder import cron
from korder.api.reserve import (
    ORDERS,
    Order,
    OrderReason,
    Reason,
    StrategyType,
    Ticket,
    TicketPhase,
    TicketPool,
)
from korder.reserve import names as object_names
from korder.reserve.names import Taken
from korder.reserve.orders import (
    assignments,
    condition_inputs,
    firings,
    firings as order_firings,
    pools,
    status as order_status,
    template,
)
from korder.reserve.orders.assignments import Post, Wish, Work
from korder.reserve.orders.firings import Timetable
from korder.reserve.orders.pools import Granting, freely
from korder.reserve.orders.status import Findings
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects.core import Node
from kubeloop.objects.plan import Create, Emit, EventType, Plan

_REASONS_NAMED = 3


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An order, its tickets, all nodes, the instant, which names of tickets are in use, and who else books on a node."""

    order: Order
    tickets: Sequence[Ticket]
    nodes: Collection[Node]
    now: datetime
    taken: Taken
    rivals: Callable[[str], Iterable[str]]
    granting: Granting = freely
    """Who says which tickets may be made."""


def plan(snapshot: Snapshot) -> Plan:
    """Decides what to do about an order in DaemonSet mode that is not being deleted."""
    order, now = snapshot.order, snapshot.now
    known = [pool.firing for pool in order.status.pools if pool.firing is not None]
    known = [each for each in known if pools.is_kept(order, each, _of(snapshot, each), now)]
    try:
        known = [each for each in known if firings.stands(order, each, now)]
        times = firings.timetable(order, now, [firings.closes(order, each) for each in known])
    except cron.InvalidSchedule as wrong:
        found = condition_inputs.of_failure(order, str(wrong))
        status, _ = order_status.status_of(order, snapshot.tickets, found, now)
        return Plan().then(*order_status.report(order, status))
    wish = Wish(template.currency(order), _windows(order, known, times, now))
    posts = assignments.posts_of(order.spec.template.spec, snapshot.nodes, snapshot.tickets, now)
    work = Work() if order.spec.paused else assignments.work_on(posts, wish, now)
    return _written(snapshot, posts, work, times, wish)


def _of(snapshot: Snapshot, firing: datetime) -> list[Ticket]:
    """The tickets of a window."""
    return [each for each in snapshot.tickets if ticket_state.firing_of(each) == firing]


def _windows(
    order: Order, known: Iterable[datetime], times: Timetable, now: datetime
) -> tuple[datetime | None, ...]:
    """What opened the windows that count: the youngest of those that are open, and those whose lead time has begun."""
    if order_firings.of(order).type is not StrategyType.SCHEDULED:
        return (None,)
    fired = sorted({*known, times.last} if times.opens and times.last else {*known})
    opened = [each for each in fired if each <= now]
    return (*opened[-1:], *(each for each in fired if each > now))


def _written(
    snapshot: Snapshot, posts: Sequence[Post], work: Work, times: Timetable, wish: Wish
) -> Plan:
    order, now = snapshot.order, snapshot.now
    windows = [firing for firing in wish.firings if firing is not None]
    booked = msgspec.structs.replace(
        order.status,
        pools=tuple(TicketPool(firing=firing) for firing in windows),
        issued_replicas=0,
        last_schedule_time=times.last,
        next_schedule_time=firings.coming(order, times, windows, now),
    )
    grant = snapshot.granting([_creation(snapshot, node, firing) for node, firing in work.bare])
    found = _found(snapshot, posts, work, times, wish)
    found = condition_inputs.with_shortage(found, grant)
    status, next_at = order_status.status_of(
        msgspec.structs.replace(order, status=booked), snapshot.tickets, found, now
    )
    going = {ticket.metadata.uid for ticket in work.gone}
    staying = [ticket for ticket in snapshot.tickets if ticket.metadata.uid not in going]
    written = order_status.report(order, status)
    plan = (
        Plan()
        .then(*written)
        .then(
            *map(condition_inputs.removal, work.gone),
            *([] if order.spec.paused else template.in_place(order, staying)),
        )
        .one_by_one(*grant.charges)
        .then(*grant.made)
        .tell(*condition_inputs.with_events(written, (*times.emits, *_replicas_ignored(order))))
        .tell(
            *condition_inputs.made_event(order, grant.made),
            *condition_inputs.short_event(order, grant.short),
        )
        .tell(*grant.stated)
        .tell(*condition_inputs.gone_event(order, work.unwanted, work.why))
        .tell(*condition_inputs.gone_event(order, work.outdated, "of an old template"))
        .requeue(next_at)
        .requeue(times.look_at)
        .requeue(status.next_schedule_time)
        .requeue(grant.look_at)
    )
    for firing in windows:
        edges = (firing, firings.closes(order, firing))
        plan = plan.requeue(min((edge for edge in edges if edge > now), default=None))
    for post in posts:
        if post.verdict.until is not None and post.verdict.until > now and post.tickets:
            plan = plan.requeue(post.verdict.until)
    return plan


def _creation(snapshot: Snapshot, node: str, firing: datetime | None) -> Create:
    meta = snapshot.order.metadata
    name = object_names.on_node(meta.name, meta.uid, node, firing, snapshot.taken)
    return template.ticket(snapshot.order, name, firing=firing, node=node)


def _found(
    snapshot: Snapshot,
    posts: Sequence[Post],
    work: Work,
    times: Timetable,
    wish: Wish,
) -> Findings:
    """What is found for the conditions."""
    eligible = [
        post
        for post in posts
        if post.verdict.takes or (post.verdict.keeps(snapshot.now) and post.serves)
    ]
    claimed = sum(
        any(ticket_state.phase_of(each) is TicketPhase.CLAIMED for each in post.tickets)
        for post in eligible
    )
    present = template.template_hash(snapshot.order.spec.template)
    idle = filter(ticket_state.is_idle, snapshot.tickets)
    base = Findings(
        desired=len(eligible),
        free=len(eligible) - claimed,
        template_hash=present,
        blocked=_obstacle(snapshot, wish) if work.halted else "",
        rolling=not all(ticket_state.has_hash(ticket, present) for ticket in idle),
        busy=bool(work.gone or work.bare or any(map(ticket_state.is_leaving, snapshot.tickets))),
        unmade=bool(work.bare),
        remarks=_rivalry(snapshot),
    )
    ahead = [firing for firing in wish.firings if firing is not None and firing > snapshot.now]
    base = replace(
        base,
        rests=len(ahead) == len(wish.firings),
        opens_at=condition_inputs.opens_at(snapshot.order, times, ahead),
        ahead=base.free * len(ahead),
    )
    if not wish.firings:
        return replace(base, desired=0, free=0)
    if not eligible:
        return replace(base, closed=(Reason.NO_ELIGIBLE_NODE, _no_node(posts)))
    return replace(base, free=0) if base.rests else base


def _obstacle(snapshot: Snapshot, wish: Wish) -> str:
    """Why the tickets that were replaced do not get the room that would let others follow (rule 7)."""
    waiting = (
        ticket
        for ticket in snapshot.tickets
        if ticket_state.phase_of(ticket) is TicketPhase.PENDING
        and not wish.is_old(ticket)
        and ticket.status.reason not in ("", Reason.SCHEDULED)
    )
    first = min(waiting, key=lambda each: each.metadata.name, default=None)
    if first is None:
        return ""
    why = first.status.message or first.status.reason
    return f"the old tickets stay, because {first.metadata.name} has no room: {why}"


def _no_node(posts: Sequence[Post]) -> str:
    if not posts:
        return "there is no node"
    reasons = list(dict.fromkeys(post.verdict.why_not for post in posts))
    more = f"; and {len(reasons) - _REASONS_NAMED} more" if len(reasons) > _REASONS_NAMED else ""
    return f"none of {len(posts)} nodes: {'; '.join(reasons[:_REASONS_NAMED])}{more}"


def _rivalry(snapshot: Snapshot) -> str:
    """Names the orders that have tickets on the nodes where ours wait: who competes, competes visibly."""
    waiting = [
        ticket.spec.node_name
        for ticket in snapshot.tickets
        if ticket_state.phase_of(ticket) is TicketPhase.PENDING and ticket.status.message
    ]
    stated = []
    for node in sorted(waiting)[:_REASONS_NAMED]:
        others = sorted(set(snapshot.rivals(node)))
        if others:
            stated.append(f"node {node} is also booked by {', '.join(others)}")
    return "; ".join(stated)


def _replicas_ignored(order: Order) -> tuple[Emit, ...]:
    """Tells, once for each edit, that a number of replicas has no effect."""
    if order.spec.replicas == 1 or order.status.observed_generation == order.metadata.generation:
        return ()
    stated = (
        f"replicas {order.spec.replicas} has no effect: there is one ticket on each eligible node"
    )
    reason = OrderReason.REPLICAS_IGNORED.value
    return (Emit(ORDERS, order, reason, stated, EventType.WARNING),)
