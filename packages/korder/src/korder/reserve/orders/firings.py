"""Firings of an order: which one is due, whether it is too late for it, and which end of a ticket brings a new one.

The table of strategy and refresh policy is here once (`replaced`, `keeps`, `renews_in_place`), with the timetable of firings, and the warning about gaps:
times in which tickets of a standing pool have ended and no firing has replaced them yet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from korder import cron
from korder.api.reserve import (
    MOST_WINDOWS,
    ORDERS,
    Order,
    OrderReason,
    OverlapPolicy,
    RefreshPolicy,
    Strategy,
    StrategyType,
    Ticket,
)
from korder.reserve.tickets import deadlines
from kubeloop.objects import duration, instant
from kubeloop.objects.plan import Emit, EventType


class End(StrEnum):
    """How a ticket stops being one that can be claimed."""

    CLAIM = "claim"
    EXPIRY = "expiry"
    LOSS = "loss"


class When(StrEnum):
    """When a ticket that has ended is replaced."""

    AT_ONCE = "at once"
    AT_THE_FIRING = "at the next firing"
    NEVER = "never"


_REPLACED: Mapping[tuple[StrategyType, RefreshPolicy], Mapping[End, When]] = {
    (StrategyType.ONE_TIME, RefreshPolicy.NEVER): {},
    (StrategyType.ONE_TIME, RefreshPolicy.ON_CLAIM): {End.CLAIM: When.AT_ONCE},
    (StrategyType.ONE_TIME, RefreshPolicy.ALWAYS): dict.fromkeys(End, When.AT_ONCE),
    (StrategyType.SCHEDULED, RefreshPolicy.NEVER): {},
    (StrategyType.SCHEDULED, RefreshPolicy.ON_CLAIM): {End.CLAIM: When.AT_ONCE},
    (StrategyType.SCHEDULED, RefreshPolicy.ALWAYS): {
        End.CLAIM: When.AT_ONCE,
        End.LOSS: When.AT_ONCE,
    },
    (StrategyType.RECURRING, RefreshPolicy.NEVER): {End.EXPIRY: When.AT_THE_FIRING},
    (StrategyType.RECURRING, RefreshPolicy.ON_CLAIM): {
        End.CLAIM: When.AT_THE_FIRING,
        End.EXPIRY: When.AT_THE_FIRING,
    },
    (StrategyType.RECURRING, RefreshPolicy.ALWAYS): dict.fromkeys(End, When.AT_THE_FIRING),
}


def of(order: Order) -> Strategy:
    """The strategy of an order; one that has none is OneTime."""
    spec = order.spec
    if spec.strategy is not None:
        return spec.strategy
    policy = spec.refresh_policy or RefreshPolicy.ON_CLAIM
    return Strategy(type=StrategyType.ONE_TIME, refresh_policy=policy)


def replaced(strategy: Strategy, end: End) -> When:
    """When a ticket that has ended so is replaced."""
    return _REPLACED[strategy.type, strategy.refresh_policy].get(end, When.NEVER)


def issues_once(strategy: Strategy) -> bool:
    """Says whether only more replicas than ever before bring tickets (rule 18)."""
    return strategy.type is StrategyType.ONE_TIME and strategy.refresh_policy is RefreshPolicy.NEVER


def keeps(strategy: Strategy) -> bool:
    """Says whether there are always to be as many tickets as replicas, however others have ended."""
    return (
        strategy.type is StrategyType.ONE_TIME and strategy.refresh_policy is RefreshPolicy.ALWAYS
    )


def renews_in_place(strategy: Strategy) -> bool:
    """Says whether a firing renews the tickets that stand."""
    return (
        strategy.type is StrategyType.RECURRING and strategy.refresh_policy is RefreshPolicy.ALWAYS
    )


def lead_time(strategy: Strategy) -> timedelta:
    """How long before a firing its tickets are made."""
    return duration.parse(strategy.lead_time or "0s").timedelta


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
    emits: tuple[Emit, ...] = ()


def timetable(order: Order, now: datetime, ends: Sequence[datetime] = ()) -> Timetable:
    """Decides about the firing that is due; `ends` are when the open windows close.

    Raises:
        InvalidSchedule: the schedule says nothing.
    """
    strategy = of(order)
    if strategy.type is StrategyType.ONE_TIME:
        return Timetable()
    close = only_close(order)
    if close is not None and close <= now:
        return Timetable(order.status.last_schedule_time)
    times = cron.parse(strategy.schedule, strategy.time_zone)
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
    stated = [why_not] if why_not else [(OrderReason.FIRED, f"fired for {instant.render(at)}")]
    if missed:
        stated.append((OrderReason.FIRING_MISSED, missed))
    elif why_not and why_not[0] is OrderReason.FIRING_MISSED and not _was_expected(order, at):
        stated.clear()
    emits = tuple(_emit(order, *each) for each in stated)
    look_at = following - lead_time(strategy)
    return Timetable(at, not why_not, following, look_at, emits)


def closes(order: Order, firing: datetime) -> datetime:
    """When the window of a firing closes."""
    return deadlines.shifted(firing, deadlines.hold_length(order.spec.template.spec))


def clock_start(order: Order, times: Timetable, now: datetime) -> datetime | None:
    """The firing at which the clock starts of a ticket that a standing pool makes now; None is when the ticket is held.

    What is made between firings belongs to the last one only where firings renew; never if the time of that firing is over.
    """
    strategy = of(order)
    renews = renews_in_place(strategy)
    last = renewal(order, times) if renews else times.last
    if strategy.type is not StrategyType.RECURRING or last is None or closes(order, last) <= now:
        return None
    grows = order.spec.replicas > order.status.issued_replicas
    is_made_for_it = times.opens or (now - last <= _deadline(strategy) and not grows)
    return last if renews or is_made_for_it else None


def renewal(order: Order, times: Timetable) -> datetime | None:
    """The last firing that renewed a standing pool; one for which it was too late did not."""
    if not renews_in_place(of(order)):
        return None
    return times.last if times.opens else order.status.last_renewal_time


def is_replaced_by_last(order: Order, ticket: Ticket) -> bool:
    """Says whether the last firing has brought a ticket for one that has expired: it was renewed then, or had its end by then."""
    renewed = order.status.last_renewal_time
    if renews_in_place(of(order)) and renewed is not None:
        created = ticket.metadata.creation_timestamp or renewed
        start = deadlines.activation(ticket) or created
        return start < renewed and created <= renewed
    last, end, noted = (
        order.status.last_schedule_time,
        ticket.status.expiration_time,
        ticket.status.finished_time,
    )
    if last is None or end is None or noted is None:
        return False
    return end <= last and noted - last <= _deadline(of(order))


def only_close(order: Order) -> datetime | None:
    """When the one window closes of a pool whose template has a fixed start; None if there is always another, or it stands for ever."""
    start = order.spec.template.spec.starts_at
    windowed = of(order).type is StrategyType.SCHEDULED
    return None if windowed or order.spec.daemon_set or start is None else closes(order, start)


def stands(order: Order, firing: datetime, now: datetime) -> bool:
    """Says whether a window opens after all: its firing has come, or the schedule as it is now has it."""
    strategy = of(order)
    return firing <= now or cron.parse(strategy.schedule, strategy.time_zone).has(firing)


def coming(
    order: Order, times: Timetable, opened: Iterable[datetime | None], now: datetime
) -> datetime | None:
    """The next firing, which lead time may have let be acted on; `opened` are those that have windows."""
    stands = of(order).type is StrategyType.RECURRING
    acted_on = (*opened, times.last if stands else None)
    return min((each for each in acted_on if each and each > now), default=times.following)


def _set_right(order: Order, times: cron.Schedule, now: datetime) -> Order:
    """The order without a last firing that lies further ahead than lead time reaches: the clock was ahead when it was acted on."""
    last, lead = order.status.last_schedule_time, lead_time(of(order))
    if last is None or last <= now + lead + _A_STEP_BACK:
        return order
    before = times.last_until(now) or now
    status = msgspec.structs.replace(order.status, last_schedule_time=before)
    return msgspec.structs.replace(order, status=status)


def _due(order: Order, times: cron.Schedule, now: datetime) -> datetime | None:
    """The firing to act on now; a standing pool is brought to the last one at once, windows are opened one after the other."""
    since, near = _since(order, now), now + _lead(order)
    if of(order).type is StrategyType.RECURRING:
        last = times.last_until(near, since)
        return None if last in _acted_on(order) else last
    passed = times.last_until(now, since)
    if passed is not None:
        return passed
    first = _first(order, times, max(now, since))
    return first if first <= near else None


def _lead(order: Order) -> timedelta:
    """How long before its time a firing is acted on; a standing pool that has just been made waits for the first one (rule 5)."""
    strategy = of(order)
    stands = strategy.type is StrategyType.RECURRING
    is_new = stands and order.status.last_schedule_time is None
    return timedelta() if is_new else lead_time(strategy)


def _first(order: Order, times: cron.Schedule, after: datetime) -> datetime:
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


def _reached(order: Order, times: cron.Schedule, now: datetime) -> datetime | None:
    """The last firing, if none is acted on now; an edit can leave others before it that are yet to come near, and a pause those that are near."""
    strategy, before = of(order), order.status.last_schedule_time
    if before is None:
        return None
    if _is_edited(order) and before > now and strategy.type is StrategyType.SCHEDULED:
        ahead = timedelta() if order.spec.paused else lead_time(strategy)
        before = min(before, times.last_until(now + ahead) or now)
    return max(_opened(order, now, before))


def _opened(order: Order, now: datetime, before: datetime) -> Iterator[datetime]:
    """Windows that were opened ahead of their time, which has come; at least one instant."""
    yield before
    yield from (pool.firing for pool in order.status.pools if pool.firing and pool.firing <= now)


def _since(order: Order, now: datetime) -> datetime:
    """The instant after which a firing counts."""
    strategy, before = of(order), order.status.last_schedule_time
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
    strategy, hold = of(order), deadlines.hold_length(order.spec.template.spec)
    if now - at > _deadline(strategy):
        seconds = strategy.starting_deadline_seconds
        stated = f"missed the firing of {instant.render(at)} by more than {seconds} s"
        return OrderReason.FIRING_MISSED, stated
    if strategy.type is not StrategyType.SCHEDULED:
        return None
    if closes(order, at) <= now:
        stated = f"missed the firing of {instant.render(at)}, whose window is over"
        return OrderReason.FIRING_MISSED, stated
    if strategy.overlap_policy is OverlapPolicy.FORBID:
        most, overlapping = 1, [end for end in ends if at < end < closes(order, at) + hold]
    else:
        most, overlapping = MOST_WINDOWS, list(ends)
    if len(overlapping) >= most:
        until = f"{len(overlapping)} open until {instant.render(max(overlapping))}"
        stated = f"left out the firing of {instant.render(at)}: of {most} windows at a time there are {until}"
        return OrderReason.WINDOWS_OVERLAP, stated
    return None


def _passed_over(order: Order, at: datetime, times: cron.Schedule, now: datetime) -> str:
    """Tells of firings between the last one and this; after an edit of the order there were none to miss."""
    if order.status.last_schedule_time is None or _is_edited(order):
        return ""
    first = _first(order, times, _since(order, now))
    if first >= at:
        return ""
    return f"missed the firings from {instant.render(first)} until {instant.render(at)}"


def _emit(order: Order, reason: OrderReason, stated: str) -> Emit:
    loud = EventType.NORMAL if reason is OrderReason.FIRED else EventType.WARNING
    return Emit(ORDERS, order, reason.value, stated, loud)


_FIRINGS_LOOKED_AT = 30
"""Of those to come: some weeks of a daily schedule, a day of an hourly one."""


def gap_message(strategy: Strategy, held: timedelta, firing: datetime) -> str:
    """Tells of the first gap that begins with this firing or one of those that follow; empty if there is none."""
    times = cron.parse(strategy.schedule, strategy.time_zone)
    for _ in range(_FIRINGS_LOOKED_AT):
        following = times.next_after(firing)
        if following - lead_time(strategy) > firing + held:
            return (
                f"tickets are held for {_human(held)}, but those of {instant.render(firing)}"
                f" are replaced only after {_human(following - firing)}"
            )
        firing = following
    return ""


def _human(length: timedelta) -> str:
    return duration.human(int(length.total_seconds()))
