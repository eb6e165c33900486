"""A ticket in a few words, for tables and explanations: who has it, and until when.

`korder tickets` and `explaining` ask it. Spans of time are told as Kubernetes tells ages.
"""

from datetime import datetime

from korder.api import duration
from korder.api.reserve import Ticket, TicketPhase
from korder.reserve.rules.orders import ticketstate
from korder.reserve.rules.tickets import clockwork, terms

_TAKEN = frozenset({TicketPhase.CLAIMING, TicketPhase.CLAIMED})


def span(seconds: float) -> str:
    """A length of time, such as 45s, 5m3s or 2d4h."""
    return duration.human(int(max(seconds, 0)))


def when(at: datetime, now: datetime) -> str:
    """How far an instant is from now, such as `in 5m` or `3h ago`."""
    seconds = (at - now).total_seconds()
    return f"in {span(seconds)}" if seconds >= 0 else f"{span(-seconds)} ago"


def deadline(at: datetime, now: datetime) -> str:
    """When a hand-over is undone, or was due to be."""
    if at < now:
        return f"The hand-over was due to be undone {when(at, now)}, at the latest."
    return f"The hand-over is undone {when(at, now)} if the pod is not bound by then."


def pods_of(ticket: Ticket) -> str:
    """The pod that has the ticket, or how many share it."""
    if not ticket.spec.allocate_once:
        names = [f"{share.namespace}/{share.name}" for share in ticket.status.shared_by]
        return names[0] if len(names) == 1 else f"{len(names)} pods" if names else ""
    return ticket.status.claimed_pod


def life(ticket: Ticket, now: datetime) -> str:
    """Until when a ticket is there for somebody, or since when it is not."""
    status, starts = ticket.status, clockwork.opens_at(ticket)
    if ticketstate.is_over(ticket):
        return f"ended {when(status.finished_time, now)}" if status.finished_time else "ended"
    if status.phase in _TAKEN:
        return "with its pod"
    if starts is not None and starts > now:
        return f"starts {when(starts, now)}"
    if status.expiration_time is None:
        return "not begun"
    is_renewed = clockwork.is_standing(ticket) or terms.goes_on(ticket)
    word = "renewed" if is_renewed else "expires"
    due = status.expiration_time <= now
    return f"{'due' if due else word} {when(status.expiration_time, now)}"
