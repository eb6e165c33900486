"""What is said about an order: its counters and its conditions.

`plan` and `daemonset` call it with what they have found out; it calls `kubeloop.objects.conditions`. Every counter is counted from the tickets
that are there, never carried on, so that it is true however it was wrong before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from korder.api.reserve import (
    ORDER_UID_LABEL,
    ORDERS,
    Order,
    OrderCondition,
    OrderReason,
    OrderStatus,
    Reason,
    StrategyType,
    Ticket,
    TicketCondition,
    TicketPhase,
)
from korder.reserve.orders import firings
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects import codec, conditions, instant
from kubeloop.objects.conditions import Condition, Status
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import Patch

_HOLDING = (TicketPhase.RESERVED, TicketPhase.CLAIMING, TicketPhase.CLAIMED)


@dataclass(frozen=True, slots=True)
class Findings:
    """What a plan knows about an order that its tickets do not tell.

    Attributes:
        desired: How many tickets there should be, claimed ones included where they count.
        free: How many of them should be there to be claimed.
        template_hash: The hash of the present template.
        closed: Why no ticket can be claimed, with its reason.
        rests: Whether no window is open, so that no ticket should be there to be claimed.
        opens_at: When the next window opens.
        ahead: How many tickets should hold room for windows that have not opened.
        blocked: Why a roll-out cannot go on.
        rolling: Whether tickets of an old template are being replaced.
        busy: Whether tickets are being made or taken away.
        failure: Why the order cannot work at all: a reason and a sentence.
        unmade: Whether there are tickets yet to be made: while there are, an earlier refusal stands.
        complete: Whether nothing will come any more.
        remarks: What to add to the message of tickets that wait.
        short: Which quota has no room for tickets that are yet to be made.
    """

    desired: int
    free: int
    template_hash: str
    closed: tuple[str, str] | None = None
    rests: bool = False
    opens_at: datetime | None = None
    ahead: int = 0
    blocked: str = ""
    rolling: bool = False
    busy: bool = False
    failure: tuple[str, str] | None = None
    unmade: bool = False
    complete: bool = False
    remarks: str = ""
    short: str = ""


def status_of(
    order: Order, tickets: Sequence[Ticket], found: Findings, now: datetime
) -> tuple[OrderStatus, datetime | None]:
    """The status of an order, and when the next ticket will have been held for long enough."""
    live = [ticket for ticket in tickets if not ticket_state.is_over(ticket)]
    phases = [ticket_state.phase_of(ticket) for ticket in live]
    available, next_at = _available(order, live, now)
    least = order.spec.min_available
    held = sum(phase in _HOLDING for phase in phases)
    counted = msgspec.structs.replace(
        order.status,
        observed_generation=order.metadata.generation,
        strategy=firings.of(order).type.value,
        desired_replicas=found.desired,
        replicas=found.desired if order.spec.daemon_set else len(live),
        available_replicas=available,
        unavailable_replicas=phases.count(TicketPhase.PENDING) - _held_ahead(live),
        claimed_replicas=sum(map(_has_a_pod, live)),
        terminal_replicas=len(tickets) - len(live),
        updated_replicas=sum(ticket_state.has_hash(each, found.template_hash) for each in live),
        opened=order.status.opened or (least is not None and held >= least),
        label_selector=f"{ORDER_UID_LABEL}={order.metadata.uid}",
    )
    return _judged(order, counted, live, found, now), next_at


def _has_a_pod(ticket: Ticket) -> bool:
    return ticket_state.phase_of(ticket) is TicketPhase.CLAIMED or bool(ticket.status.shared_by)


def _is_claimable(ticket: Ticket) -> bool:
    """Says whether a held ticket can be claimed: not on a cordoned node (rule 12)."""
    ready = conditions.find(ticket.status.conditions, TicketCondition.READY)
    is_barred = ready is not None and ready.status is Status.FALSE
    return ticket_state.is_held(ticket) and not is_barred


def _available(order: Order, live: Iterable[Ticket], now: datetime) -> tuple[int, datetime | None]:
    """Counts the tickets that have been held for long enough, and says when the next one will have been."""
    held = [ticket for ticket in live if _is_claimable(ticket)]
    if not order.spec.min_ready_seconds:
        return len(held), None
    wait = timedelta(seconds=order.spec.min_ready_seconds)
    since = [_held_since(ticket) for ticket in held]
    later = [at + wait for at in since if at is not None and at + wait > now]
    return len(held) - len(later), min(later, default=None)


def _held_since(ticket: Ticket) -> datetime | None:
    ready = conditions.find(ticket.status.conditions, TicketCondition.READY)
    if ready is not None and ready.status is Status.TRUE:
        return ready.last_transition_time
    return ticket.status.activation_time


def _judged(
    order: Order, status: OrderStatus, live: Sequence[Ticket], found: Findings, now: datetime
) -> OrderStatus:
    verdicts = (
        (OrderCondition.READY, *_ready(order, status, live, found, now)),
        (OrderCondition.PROGRESSING, *_progressing(order, found)),
        (OrderCondition.FAILURE, *_failing(order, found)),
        (
            OrderCondition.COMPLETE,
            found.complete,
            OrderReason.COMPLETE if found.complete else OrderReason.NOT_COMPLETE,
            f"{_ended(order)}; no ticket will follow." if found.complete else "",
        ),
    )
    said = status.conditions
    for name, holds, reason, message in verdicts:
        condition = Condition(
            type=name.value,
            status=Status.TRUE if holds else Status.FALSE,
            observed_generation=order.metadata.generation,
            reason=str(reason),
            message=message,
        )
        said = conditions.set_condition(said, condition, now)
    return msgspec.structs.replace(status, conditions=said)


def _failing(order: Order, found: Findings) -> tuple[bool, str, str]:
    if found.failure is not None:
        return True, *found.failure
    before = conditions.find(order.status.conditions, OrderCondition.FAILURE)
    if before is not None and before.reason == OrderReason.TICKETS_REFUSED and found.unmade:
        return True, before.reason, before.message
    return False, OrderReason.NO_FAILURE, ""


def _ready(
    order: Order, status: OrderStatus, live: Sequence[Ticket], found: Findings, now: datetime
) -> tuple[bool, str, str]:
    """Whether every ticket that should hold room now does so, for a pod to come or for its pod.

    An order that should hold nothing now lacks nothing: it is ready between windows and once it is
    complete.
    """
    wrong = found.failure or found.closed
    if found.complete and found.failure is None:
        return bool(order.status.next_index), OrderReason.COMPLETE, f"{_ended(order)}."
    if wrong is not None:
        return False, *wrong
    if found.rests:
        return _resting(order, live, found, now)
    least = order.spec.min_available
    if least is not None and not status.opened:
        return False, OrderReason.CLOSED, _shut(order, status, found, least)
    handed_over = sum(map(ticket_state.is_claiming, live))
    ready = status.available_replicas + handed_over
    if ready < found.free:
        return False, _lack(found), _waiting(order, live, ready, found, now)
    in_use = status.claimed_replicas + handed_over
    free = bool(status.available_replicas) or not in_use
    reason = OrderReason.ALL_HELD if free else OrderReason.ALL_IN_USE
    coming = _coming(live, found, now) if found.ahead else ""
    stated = _sentence(_counted(status, handed_over, found), coming)
    return True, reason, stated


def _resting(
    order: Order, live: Sequence[Ticket], found: Findings, now: datetime
) -> tuple[bool, str, str]:
    """Between windows; in the lead time of the next one its tickets should hold their room."""
    if found.opens_at is None and order.spec.paused:
        return False, OrderReason.PAUSED, "No window opens while the order is paused."
    stated = _sentence(_coming(live, found, now))
    if _held_ahead(live) < found.ahead:
        return False, _lack(found), stated
    return True, OrderReason.BETWEEN_WINDOWS, stated


def _lack(found: Findings) -> str:
    return Reason.QUOTA_EXCEEDED if found.short else OrderReason.TICKETS_WAIT


def _coming(live: Sequence[Ticket], found: Findings, now: datetime) -> str:
    """When the next window opens, and how many tickets hold room for those that have not opened."""
    if found.opens_at is None:
        return "no window follows"
    stated = f"the next window opens at {instant.render(found.opens_at)}"
    if not found.ahead:
        return stated
    held = _held_ahead(live)
    stated += f"; {held} of {found.ahead} tickets hold their room ahead of it"
    if held >= found.ahead:
        return stated
    waiting = [
        each for each in live if _is_early(each, now) and not ticket_state.is_held_ahead(each)
    ]
    return _joined(stated, _reporting(waiting), found.short, found.remarks)


def _counted(status: OrderStatus, handed_over: int, found: Findings) -> str:
    wanted = max(found.desired, status.available_replicas)
    stated = [f"{status.available_replicas} of {wanted} tickets can be claimed"]
    if status.claimed_replicas:
        stated.append(f"{_are(status.claimed_replicas)} in use")
    if handed_over:
        stated.append(f"{_are(handed_over)} being handed over")
    return ", ".join(stated)


def _are(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'}"


def _sentence(*parts: str) -> str:
    stated = _joined(*parts)
    return f"{stated[:1].upper()}{stated[1:].removesuffix('.')}."


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _held_ahead(live: Iterable[Ticket]) -> int:
    return sum(map(ticket_state.is_held_ahead, live))


def _is_early(ticket: Ticket, now: datetime) -> bool:
    """Says whether the ticket is for a window that has not opened."""
    firing = ticket_state.firing_of(ticket)
    return firing is not None and firing > now


def _ended(order: Order) -> str:
    if order.status.next_index:
        return "All tickets have ended"
    return "The time of the order was over before a ticket was created"


def _shut(order: Order, status: OrderStatus, found: Findings, least: int) -> str:
    """Why nobody can claim yet (rule 14), and what to do if nothing but an edit will change it."""
    stated = f"nobody can claim before {least} tickets are held at once"
    most = found.free + status.claimed_replicas
    once = firings.of(order).type is StrategyType.ONE_TIME and not order.spec.daemon_set
    if not once or most >= least:
        return stated
    return f"{stated}, and only {most} can be: raise replicas or lower minAvailable"


def _waiting(
    order: Order, live: Iterable[Ticket], ready: int, found: Findings, now: datetime
) -> str:
    least = order.spec.min_ready_seconds
    state = f"have been held for {least} s" if least else "can be claimed"
    stated = f"{ready} of {found.free} tickets {state}"
    waiting = [each for each in live if ticket_state.is_open(each) and not _is_claimable(each)]
    due = [each for each in waiting if not (found.ahead and _is_early(each, now))]
    return _joined(stated, _reporting(due), found.short, found.remarks)


def _reporting(waiting: Iterable[Ticket]) -> str:
    """What the first ticket says that waits."""
    first = min((each for each in waiting if each.status.message), key=_name, default=None)
    return f"{_name(first)} waits: {first.status.message}" if first is not None else ""


def _progressing(order: Order, found: Findings) -> tuple[bool, str, str]:
    if order.spec.paused:
        return False, OrderReason.PAUSED, "the order is paused; its tickets go on as they are"
    if found.blocked:
        return False, Reason.ROLLOUT_BLOCKED, found.blocked
    if found.rolling:
        return True, OrderReason.ROLLING_OUT, "tickets of the present template replace the old ones"
    if found.short:
        return False, Reason.QUOTA_EXCEEDED, found.short
    if found.busy:
        return True, OrderReason.WORKING, "tickets are being made or taken away"
    return False, OrderReason.SETTLED, ""


def _name(ticket: Ticket) -> str:
    return ticket.metadata.name


def report(order: Order, status: OrderStatus) -> tuple[Patch, ...]:
    """The step that writes a status, if it says something new; numbers are told even if they are zero."""
    if status == order.status:
        return ()
    said = codec.plain(status)
    body: dict[str, JSON] = {}
    for name, wire in codec.names(status):
        value = getattr(status, name)
        plain = value if isinstance(value, int) else None
        body[wire] = said.get(wire, plain)
    meta = order.metadata
    return (
        Patch(
            ORDERS,
            key_of(order),
            {"status": body},
            subresource="status",
            uid=meta.uid,
            resource_version=meta.resource_version,
        ),
    )
