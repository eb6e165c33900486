"""The instants of a ticket: when its guardian is due, its clock starts, its hold ends, it is renewed in place, and it is removed."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

import msgspec

from korder import cron
from korder.api.reserve import (
    DEFAULT_DURATION,
    LEAD_TIME_ANNOTATION,
    RENEWAL_ANNOTATION,
    SCHEDULED_TIME_ANNOTATION,
    STANDING_ANNOTATION,
    CleanupPolicy,
    Ticket,
    TicketPhase,
    TicketSpec,
)
from korder.cron import Schedule
from kubeloop.objects import duration, instant
from kubeloop.objects.meta import controller_of

SHORTEST_INTERVAL = timedelta(seconds=1)
"""A standing ticket is renewed no more often than this."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)


def opens_at(ticket: Ticket) -> datetime | None:
    """The instant from which somebody may claim it; None is as soon as it is held, as in a pool that stands, whenever its clock starts."""
    return ticket.spec.starts_at


def guardian_due(ticket: Ticket) -> datetime | None:
    """When the guardian is placed: by the lead time before anybody may claim it; None is at once."""
    start = opens_at(ticket)
    return None if start is None else shifted(start, -lead_time(ticket))


def activation(ticket: Ticket) -> datetime | None:
    """When the clock of the present term started or will start; None while that is not known.

    The status notes renewals, the annotation the firing of the first term: the later one counts.
    """
    known = [at for at in (_firing(ticket), ticket.status.activation_time) if at is not None]
    start = ticket.spec.starts_at or max(known, default=None)
    return None if start is None else rounded_up(start)


def length_of(ticket: Ticket) -> timedelta:
    """How long the room is held for somebody to claim it."""
    return hold_length(ticket.spec)


def hold_length(spec: TicketSpec) -> timedelta:
    """How long a ticket with this spec is held."""
    text = spec.window.duration if spec.window is not None else spec.duration
    return duration.parse(text or DEFAULT_DURATION).timedelta


def expiration(ticket: Ticket, start: datetime | None, now: datetime) -> datetime | None:
    """When the hold ends whose clock starts at `start`; that of a standing ticket is always yet to come."""
    if start is None:
        return None
    span = length_of(ticket)
    if not is_standing(ticket) or now < start:
        return shifted(start, span)
    span = max(span, SHORTEST_INTERVAL)
    return shifted(start, span * ((now - start) // span + 1))


def is_standing(ticket: Ticket) -> bool:
    """Says whether the ticket is renewed in place for ever, as those of DaemonSet mode are."""
    return ticket.metadata.annotations.get(STANDING_ANNOTATION) == "true"


def is_renewal(ticket: Ticket, end: datetime | None, now: datetime) -> bool:
    """Says whether the end that is yet to come would follow one that has passed, and nobody has any of the room."""
    last = ticket.status.expiration_time
    return (
        is_standing(ticket)
        and not ticket.status.shared_by
        and end is not None
        and last is not None
        and last <= now
        and last < cut_off(end)
    )


def removal_due(ticket: Ticket) -> datetime | None:
    """When a ticket that has ended is deleted; None is never."""
    ended, lifecycle = ticket.status.finished_time, ticket.spec.lifecycle
    if ended is None or lifecycle.cleanup_policy is CleanupPolicy.RETAIN:
        return None
    return shifted(ended, timedelta(seconds=lifecycle.ttl_seconds_after_finished))


def rounded_up(at: datetime) -> datetime:
    """The first whole second that is not earlier."""
    whole = at.replace(microsecond=0)
    return whole if whole == at else shifted(whole, timedelta(seconds=1))


def cut_off(at: datetime) -> datetime:
    """The last whole second that is not later."""
    return at.replace(microsecond=0)


def shifted(at: datetime, by: timedelta) -> datetime:
    """Adds a length of time; what lies beyond all calendars is their first or last instant."""
    try:
        return at + by
    except OverflowError:
        return _LATEST if by > timedelta() else _EARLIEST


def _firing(ticket: Ticket) -> datetime | None:
    text = ticket.metadata.annotations.get(SCHEDULED_TIME_ANNOTATION, "")
    try:
        return instant.parse(text) if text else None
    except instant.InvalidInstant:
        return None


def lead_time(ticket: Ticket) -> timedelta:
    """How long before its start, or a firing, the order wants the ticket to be held."""
    text = ticket.metadata.annotations.get(LEAD_TIME_ANNOTATION, "")
    try:
        return max(duration.parse(text).timedelta, timedelta()) if text else timedelta()
    except duration.InvalidDuration:
        return timedelta()


_UNCLAIMED = (None, TicketPhase.PENDING, TicketPhase.RESERVED)


class RenewalTrigger(StrEnum):
    """What starts the next term."""

    EXPIRY = "Expiry"
    """The end of the present term; the next one follows it."""
    EXPIRY_AFTER_FIRING = "ExpiryAfterFiring"
    """The end of a term in which the order has fired; the next one counts from the last firing."""
    FIRING = "Firing"
    """Each firing; the next term counts from it."""


class RenewalRule(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """How an order renews a ticket."""

    trigger: RenewalTrigger
    schedule: str = ""
    time_zone: str = "UTC"

    def render(self) -> str:
        """The rule as it is written on a ticket."""
        return msgspec.json.encode(self).decode()


def rule_of(ticket: Ticket) -> RenewalRule | None:
    """How the ticket is renewed; None if it is not, or the annotation is not readable."""
    text = ticket.metadata.annotations.get(RENEWAL_ANNOTATION, "")
    if not text or ticket.spec.starts_at is not None or controller_of(ticket) is None:
        return None
    try:
        return msgspec.json.decode(text, type=RenewalRule)
    except msgspec.MsgspecError:
        return None


def next_start(ticket: Ticket, now: datetime) -> datetime | None:
    """The start of the term to begin now; None while the present term goes on, and after the last one.

    A firing counts from its lead time on. Of several firings that were missed the last one counts, unless its term is over too.
    """
    rule, start = rule_of(ticket), activation(ticket)
    if rule is None or start is None or ticket.status.phase not in _UNCLAIMED:
        return None
    length = length_of(ticket)
    end = shifted(start, length)
    if now < end and rule.trigger is not RenewalTrigger.FIRING:
        return None
    if rule.trigger is RenewalTrigger.EXPIRY:
        span = max(length, SHORTEST_INTERVAL)
        return rounded_up(start + span * ((now - start) // span))
    lead, times = lead_time(ticket), _times(rule)
    if times is None or _first_after(times, start) - lead > min(end, now):
        return None
    last = times.last_until(now + lead, start)
    return last if last is not None and shifted(last, length) > now else None


def next_look(ticket: Ticket, now: datetime) -> datetime | None:
    """The instant at which the next term begins, if that can be before the end of the present one."""
    rule, start = rule_of(ticket), activation(ticket)
    if rule is None or start is None or rule.trigger is not RenewalTrigger.FIRING:
        return None
    times = _times(rule)
    if times is None:
        return None
    opens = _first_after(times, start) - lead_time(ticket)
    return opens if opens > now else None


def goes_on(ticket: Ticket) -> bool:
    """Says whether the ticket is held beyond the end of its present term, if no pod claims it and no quota forbids it."""
    start = activation(ticket)
    if start is None:
        return False
    return next_start(ticket, shifted(start, length_of(ticket))) is not None


def _times(rule: RenewalRule) -> Schedule | None:
    try:
        return cron.parse(rule.schedule, rule.time_zone)
    except cron.InvalidSchedule:
        return None


@lru_cache(maxsize=1024)
def _first_after(times: Schedule, start: datetime) -> datetime:
    """The first firing of a term; all tickets of a pool ask for the same one."""
    return times.next_after(start)
