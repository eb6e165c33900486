"""What an order has, lacks and will do next.

`korder explain order` asks it; what follows an end is table 1.8 as `strategies` has it.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from korder import cron
from korder.api.reserve import (
    ORDER_FINALIZER,
    Order,
    OrderCondition,
    Reason,
    Strategy,
    StrategyType,
    Ticket,
    TicketPhase,
)
from korder.explanation import Explanation, shortened
from korder.reserve.claims.inventory import is_closed
from korder.reserve.explain import tickets as explain_tickets
from korder.reserve.orders import assignments, firings as order_firings
from korder.reserve.orders.firings import End, When
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects import conditions, instant
from kubeloop.objects.core import Node
from kubeloop.objects.meta import owned_by


@dataclass(frozen=True, slots=True)
class OrderQuestion:
    """An order, the tickets of its namespace, the moment of the question, and all nodes, as far as they can be read."""

    order: Order
    tickets: Collection[Ticket]
    now: datetime
    nodes: Collection[Node] = ()


def explain(asked: OrderQuestion) -> Explanation:
    """Says how it stands with the order."""
    order = asked.order
    mine = [t for t in asked.tickets if owned_by(t, order.metadata.uid)]
    per_node = order.spec.daemon_set and bool(asked.nodes)
    rows = shortened(_by_node(asked, mine) if per_node else _by_ticket(asked, mine))
    titles = ("NODE", "TICKET", "PHASE", "WHY") if per_node else ("TICKET", "PHASE", "NODE", "WHY")
    return Explanation(
        _verdict(order, mine),
        (*_state(order), *_next(asked), *_refresh(order)),
        titles if rows else (),
        rows,
    )


def _by_ticket(asked: OrderQuestion, mine: Collection[Ticket]) -> Iterator[tuple[str, ...]]:
    for ticket in sorted(mine, key=lambda t: (ticket_state.is_over(t), t.metadata.name)):
        phase, node = str(ticket_state.phase_of(ticket)), ticket.status.node_name
        yield ticket.metadata.name, phase, node, _why(ticket, asked.now)


def _by_node(asked: OrderQuestion, mine: Collection[Ticket]) -> Iterator[tuple[str, ...]]:
    """Every node: its ticket, or why it has none; those without come first."""
    spec = asked.order.spec.template.spec
    posts = assignments.posts_of(spec, asked.nodes, mine, asked.now)
    for post in sorted(posts, key=lambda each: (bool(each.live), each.node)):
        if not post.live:
            yield post.node, "", "", post.verdict.why_not or "no ticket yet"
        for ticket in post.live:
            phase, shut = str(ticket_state.phase_of(ticket)), post.verdict.why_not
            why = "; ".join(filter(None, (_why(ticket, asked.now), shut)))
            yield post.node, ticket.metadata.name, phase, why


def _verdict(order: Order, mine: Collection[Ticket]) -> str:
    counts = Counter(str(ticket_state.phase_of(t)) for t in mine)
    stated = ", ".join(f"{counts[p]} {p}" for p in map(str, TicketPhase) if counts[p])
    ready = conditions.find(order.status.conditions, OrderCondition.READY)
    if ready is None:
        return "No controller has looked at it yet: does `korder manager` run?"
    word = "Ready" if ready.status is conditions.Status.TRUE else "Not ready"
    why = f": {ready.message.removesuffix('.')}" if ready.message else ""
    return (
        f"{word} ({ready.reason}){why}. {f'Tickets: {stated}.' if stated else 'It has no tickets.'}"
    )


def _state(order: Order) -> Iterator[str]:
    """What keeps it from doing its work."""
    if order.metadata.deletion_timestamp is not None:
        left = (
            " It goes when its tickets are gone."
            if ORDER_FINALIZER in order.metadata.finalizers
            else ""
        )
        yield f"It is being deleted.{left}"
    if order.spec.paused:
        yield "It is paused: it makes and refreshes no tickets; those that are there go on."
    if is_closed(order):
        yield (
            f"It is closed: nobody may claim before {order.spec.min_available} tickets are held"
            f" for the first time; {order.status.available_replicas} are."
        )
    for condition in order.status.conditions:
        failed = condition.type == OrderCondition.FAILURE
        if failed and condition.status is conditions.Status.TRUE:
            yield f"It fails ({condition.reason}): {condition.message}"
        if condition.reason == Reason.ROLLOUT_BLOCKED:
            yield f"Its roll-out does not go on ({condition.reason}): {condition.message}"
    if order.metadata.generation > order.status.observed_generation:
        yield "Its last change has not been acted on yet."
    if order.spec.daemon_set:
        yield f"It keeps one ticket on every eligible node: {order.status.desired_replicas} of them."


def _next(asked: OrderQuestion) -> Iterator[str]:
    """When it fires."""
    strategy = order_firings.of(asked.order)
    if strategy.type is StrategyType.ONE_TIME:
        return
    wrong = cron.check(strategy.schedule, strategy.time_zone)
    if wrong:
        yield f"Its schedule cannot be read: {wrong}."
        return
    close = order_firings.only_close(asked.order)
    if not asked.order.spec.paused and (close is None or close > asked.now):
        yield from _next_firing(strategy, asked.now)
    last = asked.order.status.last_schedule_time
    if last is not None and last <= asked.now:
        yield f"It last fired {explain_tickets.when_text(last, asked.now)}."


def _next_firing(strategy: Strategy, now: datetime) -> Iterator[str]:
    firing = cron.parse(strategy.schedule, strategy.time_zone).next_after(now)
    yield f"It fires next {explain_tickets.when_text(firing, now)}, at {instant.render(firing)}."
    lead = order_firings.lead_time(strategy)
    if lead:
        yield f"Its guardians are placed {explain_tickets.span(lead.total_seconds())} before."


def _refresh(order: Order) -> Iterator[str]:
    """What follows the end of a ticket."""
    if order.spec.daemon_set:
        return
    strategy = order_firings.of(order)
    follows = {end: order_firings.replaced(strategy, end) for end in End}
    words = {End.CLAIM: "a claimed", End.EXPIRY: "an expired", End.LOSS: "a deleted"}
    stated = ", ".join(
        f"{words[end]} one {'never' if when is When.NEVER else when.value}"
        for end, when in follows.items()
    )
    yield f"{strategy.type} with {strategy.refresh_policy} replaces tickets so: {stated}."


def _why(ticket: Ticket, now: datetime) -> str:
    status = ticket.status
    who = explain_tickets.pods_of(ticket)
    stated = f"{status.reason}: {status.message}" if status.message else status.reason
    if status.phase in (TicketPhase.CLAIMING, TicketPhase.CLAIMED):
        stated = f"by {who}"
    elif status.phase is TicketPhase.RESERVED:
        stated = explain_tickets.life(ticket, now)
    return stated or explain_tickets.life(ticket, now)
