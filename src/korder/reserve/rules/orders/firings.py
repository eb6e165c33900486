"""Which firing of an order is due, and whether it is too late for it.

`orderplan` and `daemonplan` call it; it asks `schedule`. Of several firings that have passed and nobody acted on only the last is made up
for, within `startingDeadlineSeconds`; the others are told as missed. Those that lead time brings near are acted on one by one, the first
first: one in each turn, and while there are too many windows, none. A Scheduled order that is new looks back as far as that deadline (rule 4), a Recurring one only to its own
beginning, because its pool is made then (rule 5). Who edits an order within its lead time gets the firings of the new schedule from then
on; that a firing was acted on is told by its pool, so none opens twice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from korder.api import duration, instant
from korder.api.plan import EventType, Notice
from korder.api.reserve import (
    MOST_WINDOWS,
    ORDERS,
    Order,
    OrderReason,
    OverlapPolicy,
    Strategy,
    StrategyType,
    Ticket,
)
from korder.reserve.rules.orders import strategies
from korder.reserve.rules.schedules import schedule
from korder.reserve.rules.tickets import clockwork

_PUNCTUAL = timedelta(seconds=5)
"""What is acted on so soon is in time whatever the deadline: no timer is exact, and a deadline of zero must not mean never."""

_A_STEP_BACK = timedelta(minutes=1)
"""So far a clock is set back now and then, and firings that were acted on are not to come again."""


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
    close = only_close(order)
    if close is not None and close <= now:
        return Timetable(order.status.last_schedule_time)
    times = schedule.parse(strategy.schedule, strategy.time_zone)
    order = _set_right(order, times, now)
    at = None if order.spec.paused else _due(order, times, now)
    if at is None:
        before = _reached(order, times, now)
        lead = timedelta() if order.spec.paused else _lead(order)
        following = _first(order, times, max(now + lead, before or now))
        return Timetable(before, following=following, look_at=following - lead)
    if at > now and len(ends) >= MOST_WINDOWS:
        return Timetable(_since(order, now), following=at, look_at=at)
    following = _first(order, times, max(now, at))
    why_not = _hindrance(order, at, now, ends)
    missed = "" if why_not else _passed_over(order, at, times, now)
    told = [why_not] if why_not else [(OrderReason.FIRED, f"fired for {instant.render(at)}")]
    if missed:
        told.append((OrderReason.FIRING_MISSED, missed))
    elif why_not and why_not[0] is OrderReason.FIRING_MISSED and not _was_expected(order, at):
        told.clear()
    notices = tuple(_notice(order, *each) for each in told)
    look_at = following - strategies.lead_time(strategy)
    return Timetable(at, not why_not, following, look_at, notices)


def closes(order: Order, firing: datetime) -> datetime:
    """When the window of a firing closes."""
    return clockwork.shifted(firing, strategies.hold(order.spec.template.spec))


def clock_start(order: Order, times: Timetable, now: datetime) -> datetime | None:
    """The firing at which the clock starts of a ticket that a standing pool makes now; None is when the ticket is held.

    What is made between firings belongs to the last one only where firings renew; never if the time of that firing is over.
    """
    strategy = strategies.of(order)
    renews = strategies.renews(strategy)
    last = renewal(order, times) if renews else times.last
    if strategy.type is not StrategyType.RECURRING or last is None or closes(order, last) <= now:
        return None
    grows = order.spec.replicas > order.status.issued_replicas
    is_made_for_it = times.opens or (now - last <= _deadline(strategy) and not grows)
    return last if renews or is_made_for_it else None


def renewal(order: Order, times: Timetable) -> datetime | None:
    """The last firing that renewed a standing pool; one for which it was too late did not."""
    if not strategies.renews(strategies.of(order)):
        return None
    return times.last if times.opens else order.status.last_renewal_time


def is_replaced_by_last(order: Order, ticket: Ticket) -> bool:
    """Says whether the last firing has brought a ticket for one that has expired: it was renewed then, or had its end by then."""
    renewed = order.status.last_renewal_time
    if strategies.renews(strategies.of(order)) and renewed is not None:
        created = ticket.metadata.creation_timestamp or renewed
        start = clockwork.activation(ticket) or created
        return start < renewed and created <= renewed
    last, end, noted = (
        order.status.last_schedule_time,
        ticket.status.expiration_time,
        ticket.status.finished_time,
    )
    if last is None or end is None or noted is None:
        return False
    return end <= last and noted - last <= _deadline(strategies.of(order))


def only_close(order: Order) -> datetime | None:
    """When the one window closes of a pool whose template has a fixed start; None if there is always another, or it stands for ever."""
    start = order.spec.template.spec.starts_at
    windowed = strategies.of(order).type is StrategyType.SCHEDULED
    return None if windowed or order.spec.daemon_set or start is None else closes(order, start)


def stands(order: Order, firing: datetime, now: datetime) -> bool:
    """Says whether a window opens after all: its firing has come, or the schedule as it is now has it."""
    strategy = strategies.of(order)
    return firing <= now or schedule.parse(strategy.schedule, strategy.time_zone).has(firing)


def coming(
    order: Order, times: Timetable, opened: Iterable[datetime | None], now: datetime
) -> datetime | None:
    """The next firing, which lead time may have let be acted on; `opened` are those that have windows."""
    stands = strategies.of(order).type is StrategyType.RECURRING
    acted_on = (*opened, times.last if stands else None)
    return min((each for each in acted_on if each and each > now), default=times.following)


def _set_right(order: Order, times: schedule.Schedule, now: datetime) -> Order:
    """The order without a last firing that lies further ahead than lead time reaches: the clock was ahead when it was acted on."""
    last, lead = order.status.last_schedule_time, strategies.lead_time(strategies.of(order))
    if last is None or last <= now + lead + _A_STEP_BACK:
        return order
    before = times.last_until(now) or now
    status = msgspec.structs.replace(order.status, last_schedule_time=before)
    return msgspec.structs.replace(order, status=status)


def _due(order: Order, times: schedule.Schedule, now: datetime) -> datetime | None:
    """The firing to act on now; a standing pool is brought to the last one at once, windows are opened one after the other."""
    since, near = _since(order, now), now + _lead(order)
    if strategies.of(order).type is StrategyType.RECURRING:
        last = times.last_until(near, since)
        return None if last in _acted_on(order) else last
    passed = times.last_until(now, since)
    if passed is not None:
        return passed
    first = _first(order, times, max(now, since))
    return first if first <= near else None


def _lead(order: Order) -> timedelta:
    """How long before its time a firing is acted on; a standing pool that has just been made waits for the first one (rule 5)."""
    strategy = strategies.of(order)
    stands = strategy.type is StrategyType.RECURRING
    is_new = stands and order.status.last_schedule_time is None
    return timedelta() if is_new else strategies.lead_time(strategy)


def _first(order: Order, times: schedule.Schedule, after: datetime) -> datetime:
    """The first firing later than an instant that nobody has acted on."""
    acted_on = _acted_on(order)
    return next(firing for firing in times.after(after) if firing not in acted_on)


def _acted_on(order: Order) -> set[datetime | None]:
    """Firings that have opened, as far as their windows have not closed, and the last of all."""
    return {order.status.last_schedule_time, *(pool.firing for pool in order.status.pools)}


def _is_edited(order: Order) -> bool:
    return order.status.observed_generation != order.metadata.generation


def _was_expected(order: Order, at: datetime) -> bool:
    """Says whether one could miss a firing: not if only an edit has brought it, or it came in a pause."""
    expected = order.status.next_schedule_time
    return not _is_edited(order) or expected is None or expected <= at


def _reached(order: Order, times: schedule.Schedule, now: datetime) -> datetime | None:
    """The last firing, if none is acted on now; an edit can leave others before it that are yet to come near, and a pause those that are near."""
    strategy, before = strategies.of(order), order.status.last_schedule_time
    if before is None:
        return None
    if _is_edited(order) and before > now and strategy.type is StrategyType.SCHEDULED:
        ahead = timedelta() if order.spec.paused else strategies.lead_time(strategy)
        before = min(before, times.last_until(now + ahead) or now)
    return max(_opened(order, now, before))


def _opened(order: Order, now: datetime, before: datetime) -> Iterator[datetime]:
    """Windows that were opened ahead of their time, which has come; at least one instant."""
    yield before
    yield from (pool.firing for pool in order.status.pools if pool.firing and pool.firing <= now)


def _since(order: Order, now: datetime) -> datetime:
    """The instant after which a firing counts."""
    strategy, before = strategies.of(order), order.status.last_schedule_time
    if before is not None:
        return max(_opened(order, now, min(before, now) if _is_edited(order) else before))
    created = order.metadata.creation_timestamp or now
    if strategy.type is StrategyType.RECURRING:
        return created
    return min(created, now - _deadline(strategy) - timedelta(microseconds=1))


def _deadline(strategy: Strategy) -> timedelta:
    return max(duration.of_seconds(strategy.starting_deadline_seconds), _PUNCTUAL)


def _hindrance(
    order: Order, at: datetime, now: datetime, ends: Sequence[datetime]
) -> tuple[OrderReason, str] | None:
    """Why nothing is made for a firing; None if nothing speaks against it."""
    strategy, hold = strategies.of(order), strategies.hold(order.spec.template.spec)
    if now - at > _deadline(strategy):
        seconds = strategy.starting_deadline_seconds
        told = f"missed the firing of {instant.render(at)} by more than {seconds} s"
        return OrderReason.FIRING_MISSED, told
    if strategy.type is not StrategyType.SCHEDULED:
        return None
    if closes(order, at) <= now:
        told = f"missed the firing of {instant.render(at)}, whose window is over"
        return OrderReason.FIRING_MISSED, told
    if strategy.overlap_policy is OverlapPolicy.FORBID:
        most, overlapping = 1, [end for end in ends if at < end < closes(order, at) + hold]
    else:
        most, overlapping = MOST_WINDOWS, list(ends)
    if len(overlapping) >= most:
        until = f"{len(overlapping)} open until {instant.render(max(overlapping))}"
        told = f"left out the firing of {instant.render(at)}: of {most} windows at a time there are {until}"
        return OrderReason.WINDOWS_OVERLAP, told
    return None


def _passed_over(order: Order, at: datetime, times: schedule.Schedule, now: datetime) -> str:
    """Tells of firings between the last one and this; after an edit of the order there were none to miss."""
    if order.status.last_schedule_time is None or _is_edited(order):
        return ""
    first = _first(order, times, _since(order, now))
    if first >= at:
        return ""
    return f"missed the firings from {instant.render(first)} until {instant.render(at)}"


def _notice(order: Order, reason: OrderReason, told: str) -> Notice:
    loud = EventType.NORMAL if reason is OrderReason.FIRED else EventType.WARNING
    return Notice(ORDERS, order, reason.value, told, loud)
