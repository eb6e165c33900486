"""Which firing of an order is due, and whether it is too late for it.

`orderplan` and `daemonplan` call it; it asks `schedule`. Of several firings that nobody acted on only the last is made up for, within
`startingDeadlineSeconds`; the others are told as missed. A Scheduled order that is new looks back as far as that deadline
(rule 4), a Recurring one only to its own beginning, because its pool is made then (rule 5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from korder.api import instant
from korder.api.plan import EventType, Notice
from korder.api.reserve import (
    MOST_WINDOWS,
    ORDERS,
    Order,
    OrderReason,
    OverlapPolicy,
    Strategy,
    StrategyType,
)
from korder.reserve.rules.orders import schedule, strategies

_PUNCTUAL = timedelta(seconds=5)
"""What is acted on so soon is in time whatever the deadline: no timer is exact, and a deadline of zero must not mean never."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """What the schedule of an order says now.

    Attributes:
        last: The last firing that was acted on, be it only told as missed.
        opens: Whether `last` is acted on in this very turn, and in time.
        following: The firing after that; None for an order that never fires.
        look_at: When to look again for it.
        notices: What is to be told.
    """

    last: datetime | None = None
    opens: bool = False
    following: datetime | None = None
    look_at: datetime | None = None
    notices: tuple[Notice, ...] = ()


def timetable(order: Order, now: datetime, ends: Sequence[datetime] = ()) -> Timetable:
    """Decides about the firing that is due; `ends` are when the open windows close.

    Raises:
        InvalidSchedule: the schedule says nothing.
    """
    strategy = strategies.of(order)
    if strategy.type is StrategyType.ONE_TIME:
        return Timetable()
    times = schedule.parse(strategy.schedule, strategy.time_zone)
    lead = strategies.lead_time(strategy)
    before = order.status.last_schedule_time
    at = None if order.spec.paused else times.last_until(now + lead, _since(order, now))
    following = times.next_after(max(now + lead, before or now))
    quiet = Timetable(before, following=following, look_at=following - lead)
    if at is None:
        return quiet
    why_not = _hindrance(order, at, now, ends)
    missed = "" if why_not else _passed_over(order, at, times)
    told = [why_not] if why_not else [(OrderReason.FIRED, f"fired for {instant.render(at)}")]
    if missed:
        told.append((OrderReason.FIRING_MISSED, missed))
    notices = tuple(_notice(order, *each) for each in told)
    return Timetable(at, not why_not, following, following - lead, notices)


def closes(order: Order, firing: datetime) -> datetime:
    """When the window of a firing closes."""
    return firing + strategies.hold(order.spec.template.spec)


def only_close(order: Order) -> datetime | None:
    """When the one window closes of an order that never fires and whose template has a fixed start; None if it is always open."""
    spec = order.spec.template.spec
    if strategies.of(order).type is not StrategyType.ONE_TIME or spec.starts_at is None:
        return None
    return closes(order, spec.starts_at)


def _since(order: Order, now: datetime) -> datetime:
    """The instant after which a firing counts."""
    strategy, before = strategies.of(order), order.status.last_schedule_time
    if before is not None:
        return before
    created = order.metadata.creation_timestamp or now
    if strategy.type is StrategyType.RECURRING:
        return created
    return min(created, now - _deadline(strategy) - timedelta(microseconds=1))


def _deadline(strategy: Strategy) -> timedelta:
    return max(timedelta(seconds=strategy.starting_deadline_seconds), _PUNCTUAL)


def _hindrance(
    order: Order, at: datetime, now: datetime, ends: Sequence[datetime]
) -> tuple[OrderReason, str] | None:
    """Why nothing is made for a firing; None if nothing speaks against it."""
    strategy = strategies.of(order)
    if now - at > _deadline(strategy):
        seconds = strategy.starting_deadline_seconds
        told = f"missed the firing of {instant.render(at)} by more than {seconds} s"
        return OrderReason.FIRING_MISSED, told
    if strategy.type is not StrategyType.SCHEDULED:
        return None
    if closes(order, at) <= now:
        told = f"missed the firing of {instant.render(at)}, whose window is over"
        return OrderReason.FIRING_MISSED, told
    most = 1 if strategy.overlap_policy is OverlapPolicy.FORBID else MOST_WINDOWS
    overlapping = [end for end in ends if end > at]
    if len(overlapping) >= most:
        until = f"{len(overlapping)} open until {instant.render(max(overlapping))}"
        told = f"left out the firing of {instant.render(at)}: of {most} windows at a time there are {until}"
        return OrderReason.WINDOWS_OVERLAP, told
    return None


def _passed_over(order: Order, at: datetime, times: schedule.Schedule) -> str:
    """Tells of firings between the last one and this; after an edit of the order there were none to miss."""
    before = order.status.last_schedule_time
    if before is None or order.status.observed_generation != order.metadata.generation:
        return ""
    first = times.next_after(before)
    if first >= at:
        return ""
    return f"missed the firings from {instant.render(first)} until {instant.render(at)}"


def _notice(order: Order, reason: OrderReason, told: str) -> Notice:
    loud = EventType.NORMAL if reason is OrderReason.FIRED else EventType.WARNING
    return Notice(ORDERS, order, reason.value, told, loud)
