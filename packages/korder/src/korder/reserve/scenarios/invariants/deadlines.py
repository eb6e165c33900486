"""The clocks of tickets and orders: starts, ends, times to live and firings, never early and at most a second late."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from korder.api.quota import QUOTAS
from korder.api.reserve import (
    ENDED_PHASES,
    ORDERS,
    RENEWAL_ANNOTATION,
    SCHEDULED_TIME_ANNOTATION,
    TICKETS,
    CleanupPolicy,
    Order,
    OverlapPolicy,
    StrategyType,
    Ticket,
    TicketPhase,
)
from korder.reserve.scenarios.invariants import charges, facts
from kubeloop.objects import duration, instant
from kubeloop.objects.core import NAMESPACES, PODS
from kubeloop.objects.meta import Key, controller_of
from pocketkube.simulation.auditing.invariant import (
    CALM,
    Broken,
    Finding,
    Invariant,
    Later,
    Tolerance,
)
from pocketkube.simulation.auditing.punctual import Punctual
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of
from pocketkube.simulation.invariants.binding import USER
from pocketkube.simulation.invariants.waiting import A_MOMENT

_STAMP = timedelta(seconds=1)
"""Instants in objects are written in whole seconds."""


class TicketsExpire(Punctual[Ticket]):
    """Only what nobody has can expire; a pod that shares a ticket has it."""

    name = "tickets-expire"
    promise = (
        "A ticket that nobody took expires at its time: never early, and at most a second late."
    )
    kind = TICKETS
    action = "expired"

    def due(self, obj: Ticket) -> datetime | None:
        status = obj.status
        if facts.is_going(obj) or status.shared_by:
            return None
        waits = status.phase in facts.OPEN or status.phase is TicketPhase.EXPIRED
        return status.expiration_time if waits else None

    def done(self, obj: Ticket) -> bool:
        return obj.status.phase is TicketPhase.EXPIRED

    def may_be_early(self, obj: Ticket, change: Change, view: View) -> bool:
        del view
        end = obj.spec.starts_at and obj.spec.starts_at + facts.length_of(obj)
        return end is not None and end <= change.at + self._tolerance.skew


class TicketsGo(Punctual[Ticket]):
    """Users, owners and namespaces may delete a ticket whenever they like; an order one that has not ended, or whose name its node's next one needs."""

    name = "tickets-go"
    promise = "A ticket that has ended is deleted when its time to live is over: never early, and at most a second late."
    reads = (NAMESPACES, ORDERS)
    kind = TICKETS
    action = "deleted"

    def due(self, obj: Ticket) -> datetime | None:
        life = obj.spec.lifecycle
        since = obj.status.finished_time
        if obj.status.phase not in ENDED_PHASES or since is None:
            return None
        if life.cleanup_policy is CleanupPolicy.RETAIN:
            return None
        return since + timedelta(seconds=life.ttl_seconds_after_finished)

    def done(self, obj: Ticket) -> bool:
        return facts.is_going(obj)

    def may_be_early(self, obj: Ticket, change: Change, view: View) -> bool:
        ends = view.of(NAMESPACES).get(Key("", change.namespace))
        order = facts.order_of(obj, view)
        adrift = controller_of(obj) is not None and (order is None or facts.is_going(order))
        standing = SCHEDULED_TIME_ANNOTATION not in obj.metadata.annotations
        replaced = order is not None and order.spec.daemon_set and standing
        free = obj.status.phase not in ENDED_PHASES or change.by == USER or adrift or replaced
        return free or ends is None or facts.is_going(ends)


class EndsAreDated(Invariant):
    """Else a time to live would never be over, or be over at once."""

    name = "ends-are-dated"
    promise = "A ticket that ends says when, truly and for good."
    resources = (TICKETS,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._slack = _STAMP + tolerance.skew + tolerance.stale

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(TICKETS)
        if new is None or new.status.phase not in ENDED_PHASES:
            return
        now = new.status.finished_time
        if old is not None and old.status.phase in ENDED_PHASES:
            was = old.status.finished_time
            if was is not None and was != now:
                yield Broken(f"its end moved from {was} to {now}", (subject_of(change),))
        elif now is None:
            yield Broken(
                f"it is {new.status.phase} and does not say since when", (subject_of(change),)
            )
        elif now - change.at > self._slack:
            yield Broken(
                f"it is {new.status.phase} since {now}, which is to come", (subject_of(change),)
            )


class ClocksAreTrue(Invariant):
    """Rule 1: the clock starts at startTime or the firing, otherwise when the ticket is first Reserved; later losses do not stop it.

    An order may renew an unclaimed ticket in place: then the clock starts once more, later than before.
    """

    name = "clocks-are-true"
    promise = "A ticket's time begins at its start or when it is first Reserved, again only if its order renews it, and its end is its length later."
    resources = (TICKETS,)
    reads = (ORDERS,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._slack = _STAMP + tolerance.skew + tolerance.stale

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(TICKETS)
        if new is None or not facts.is_ours(change) or change.before == change.after:
            return
        begins, ends = new.status.activation_time, new.status.expiration_time
        order = facts.order_of(new, view)
        if (order is not None and order.spec.daemon_set) or begins is None:
            return
        was = old.status.activation_time if old is not None else None
        said = f"its clock began at {begins:%X}"
        fired = new.metadata.annotations.get(SCHEDULED_TIME_ANNOTATION)
        start = new.spec.starts_at or (instant.parse(fired) if fired else None)
        if was is not None and was != begins and not _is_renewed(was, new):
            yield Broken(f"{said}, before it said {was:%X}", (subject_of(change),))
        elif was is None and start is not None and not _begins_at(start, new):
            yield Broken(f"{said} instead of {start:%X}", (subject_of(change),))
        elif was is None and start is None and abs(begins - change.at) > self._slack:
            yield Broken(f"{said}, which is not now", (subject_of(change),))
        fresh = old is None or old.status.expiration_time != ends
        right = begins + facts.length_of(new)
        if fresh and ends is not None and abs(ends - right) > _STAMP:
            yield Broken(f"it ends at {ends:%X} instead of {right:%X}", (subject_of(change),))


def _begins_at(start: datetime, ticket: Ticket) -> bool:
    """Whether the first clock of a ticket begins at its start; a ticket that waited for room until its term was over is renewed before it had one."""
    begins = ticket.status.activation_time
    if begins is None or abs(begins - start) <= _STAMP:
        return True
    return ticket.spec.starts_at is None and _is_renewed(start, ticket)


def _is_renewed(was: datetime, ticket: Ticket) -> bool:
    """Whether a ticket whose clock began at `was` has a later term that its order wrote on it, and no pod has claimed all of it."""
    begins = ticket.status.activation_time
    has_rule = RENEWAL_ANNOTATION in ticket.metadata.annotations
    return has_rule and begins is not None and begins > was and ticket.status.phase in facts.OPEN


class StartsAreKept(Invariant):
    """A guardian may be placed the order's lead time before; it is late only if there was nobody to refuse it."""

    name = "starts-are-kept"
    promise = "No room is held before a ticket's start, less the lead time of its order, and at the start it is asked for at most a second late."
    resources = (TICKETS, PODS)
    reads = (ORDERS, NAMESPACES)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._tolerance = tolerance

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        was, pod = view.both(PODS)
        if was is None and pod is not None and facts.is_guardian(pod) and facts.is_ours(change):
            ticket = facts.guarded(pod, view)
            start = ticket.spec.starts_at if ticket is not None else None
            if ticket is not None and start is not None:
                early = start - _lead(ticket, view) - self._tolerance.skew - change.at
                if early > timedelta():
                    stated = f"it was made {early.total_seconds():g} s early"
                    yield Broken(stated, (subject_of(change), facts.about(ticket)))
        old, new = view.both(TICKETS)
        start = new.spec.starts_at if new is not None else None
        if start is not None and (old is None or old.spec.starts_at != start):
            yield Later(self._tolerance.latest(max(start, change.at)), subject_of(change))

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        ticket = facts.ticket_at(subject, view)
        if ticket is None or facts.is_going(ticket) or ticket.status.phase not in facts.OPEN:
            return
        start = ticket.spec.starts_at
        if start is None or self._tolerance.latest(start) > view.now or ticket.status.message:
            return
        if not facts.guardians(ticket, view):
            yield Broken(f"nobody asked for its room at {start:%X}", (subject,))


def _lead(ticket: Ticket, view: View) -> timedelta:
    order = facts.order_of(ticket, view)
    if order is None or order.spec.strategy is None:
        return timedelta()
    return duration.parse(order.spec.strategy.lead_time).timedelta


class FiringsAreKept(Invariant):
    """Judged are orders that fire every so many minutes (`*/n * * * *`): there the judge can count himself."""

    name = "firings-are-kept"
    promise = "The tickets of a firing are made in its second, as far as quotas have room: never early, and at most a second late."
    resources = (ORDERS, TICKETS, QUOTAS)
    reads = (NAMESPACES,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._tolerance = tolerance
        self._fired: dict[str, set[datetime]] = {}
        self._edited: dict[str, datetime] = {}
        self._lifted: datetime | None = None
        """When a quota went last that may have been full until then."""

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        was, ticket = view.both(TICKETS)
        if was is None and ticket is not None and facts.is_ours(change):
            yield from self._made(ticket, change, view)
        limit, left = view.both(QUOTAS)
        if limit is not None and left is None:
            self._lifted = change.at
        old, new = view.both(ORDERS)
        if old is not None and new is None:
            self._fired.pop(old.metadata.uid, None)
            self._edited.pop(old.metadata.uid, None)
        if new is not None and period_of(new) and (old is None or old.spec != new.spec):
            self._edited[new.metadata.uid] = change.at
            yield self._next(new, change.at, subject_of(change))

    def _made(self, ticket: Ticket, change: Change, view: View) -> Iterable[Finding]:
        order = facts.order_of(ticket, view)
        text = ticket.metadata.annotations.get(SCHEDULED_TIME_ANNOTATION)
        if order is None or not text or not period_of(order):
            return
        firing = instant.parse(text)
        self._fired.setdefault(order.metadata.uid, set()).add(firing)
        early = firing - _lead(ticket, view) - self._tolerance.skew - change.at
        if early > timedelta():
            yield Broken(f"it was made {early.total_seconds():g} s early", (subject_of(change),))
        if firing.timestamp() % period_of(order).total_seconds():
            yield Broken(f"it is of {firing}, when its order does not fire", (subject_of(change),))

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        order = view.of(ORDERS).get(Key(subject.namespace, subject.name))
        period = period_of(order) if order is not None else timedelta()
        if order is None or not period or facts.is_going(order):
            return
        limit = self._tolerance.latest(view.now) - view.now
        firing = _before(view.now - limit + timedelta(microseconds=2), period)
        made = firing in self._fired.get(order.metadata.uid, ())
        full = charges.is_full_for(order, view, view.now - firing + A_MOMENT)
        full |= self._lifted is not None and self._lifted >= firing
        if _fires(order) and not (made or full) and self._edited[order.metadata.uid] < firing:
            yield Broken(f"nothing was made for its firing at {firing:%X}", (subject,))
        yield self._next(order, view.now, subject)

    def _next(self, order: Order, now: datetime, subject: Subject) -> Later:
        firing = _before(now, period_of(order)) + period_of(order)
        return Later(self._tolerance.latest(firing), subject)


def period_of(order: Order) -> timedelta:
    """How often a Scheduled order fires, if that can be read off its schedule; nothing if not."""
    strategy = order.spec.strategy
    if strategy is None or strategy.type is not StrategyType.SCHEDULED:
        return timedelta()
    step, _, rest = strategy.schedule.partition(" ")
    if rest != "* * * *" or not step.startswith("*/") or 60 % int(step[2:]):
        return timedelta()
    return timedelta(minutes=int(step[2:]))


def _before(now: datetime, period: timedelta) -> datetime:
    return now - timedelta(seconds=now.timestamp() % period.total_seconds())


def _fires(order: Order) -> bool:
    strategy = order.spec.strategy
    free = strategy is not None and strategy.overlap_policy is not OverlapPolicy.FORBID
    return free and not order.spec.paused and order.spec.replicas > 0 and not order.spec.daemon_set
