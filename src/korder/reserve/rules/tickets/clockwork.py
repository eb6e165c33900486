"""The instants of a ticket: when its guardian is due, its clock starts, its hold ends, and it is removed.

`ticketplan` asks; it calls nothing. The clock starts at `startTime`, at the window's start or at the firing, otherwise when the ticket
is first Reserved, and then never stops (rule 1). All instants follow from the ticket alone, so edits of `duration` count at once,
in both directions. What is written has whole seconds, as everywhere in Kubernetes. A clock starts at the next of them, so that nobody's room
is held shorter than promised; all else is cut off where it is written, but an end is acted on when it is really due.
"""

from datetime import UTC, datetime, timedelta

from korder.api import duration, instant
from korder.api.reserve import (
    DEFAULT_DURATION,
    LEAD_TIME_ANNOTATION,
    SCHEDULED_TIME_ANNOTATION,
    STANDING_ANNOTATION,
    CleanupPolicy,
    Ticket,
)

SHORTEST_TURN = timedelta(seconds=1)
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


def length(ticket: Ticket) -> timedelta:
    """How long the room is held for somebody to claim it."""
    spec = ticket.spec
    text = spec.window.duration if spec.window is not None else spec.duration
    return duration.parse(text or DEFAULT_DURATION).timedelta


def expiration(ticket: Ticket, start: datetime | None, now: datetime) -> datetime | None:
    """When the hold ends whose clock starts at `start`; that of a standing ticket is always yet to come."""
    if start is None:
        return None
    span = length(ticket)
    if not is_standing(ticket) or now < start:
        return shifted(start, span)
    span = max(span, SHORTEST_TURN)
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
