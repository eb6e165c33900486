"""The state of a ticket in the words that rules need, and how much of its capacity is in use or left for its guardian."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from fractions import Fraction

from korder.api.reserve import (
    ENDED_PHASES,
    SCHEDULED_TIME_ANNOTATION,
    TEMPLATE_HASH_LABEL,
    Reason,
    Share,
    Ticket,
    TicketPhase,
)
from kubeloop.objects import instant, pod_requests, quantity, resources
from kubeloop.objects.core import Pod
from kubeloop.objects.quantity import Quantity

_OPEN = (TicketPhase.PENDING, TicketPhase.RESERVED)


def phase_of(ticket: Ticket) -> TicketPhase:
    """How far the ticket is; a fresh one holds nothing yet."""
    return ticket.status.phase or TicketPhase.PENDING


def is_leaving(ticket: Ticket) -> bool:
    """Says whether the ticket has been deleted and only waits for its end."""
    return ticket.metadata.deletion_timestamp is not None


def is_open(ticket: Ticket) -> bool:
    """Says whether somebody can still claim the ticket, or what is left of it, now or later."""
    return phase_of(ticket) in _OPEN and not is_leaving(ticket)


def is_idle(ticket: Ticket) -> bool:
    """Says whether the ticket can go: nobody uses it, not even a part of it."""
    return is_open(ticket) and not ticket.status.shared_by


def is_claiming(ticket: Ticket) -> bool:
    """Says whether the ticket is being handed over."""
    return phase_of(ticket) is TicketPhase.CLAIMING


def is_over(ticket: Ticket) -> bool:
    """Says whether the ticket has ended; what is left of it waits for its TTL."""
    return phase_of(ticket) in ENDED_PHASES


def is_held(ticket: Ticket) -> bool:
    """Says whether room is held by the ticket for somebody to come."""
    return phase_of(ticket) is TicketPhase.RESERVED and not is_leaving(ticket)


def is_held_ahead(ticket: Ticket) -> bool:
    """Says whether a guardian holds the room in the lead time; the ticket cannot be claimed yet."""
    is_pending = phase_of(ticket) is TicketPhase.PENDING and not is_leaving(ticket)
    return is_pending and bool(ticket.status.guardian_pod)


def keeps_room(ticket: Ticket) -> bool:
    """Says whether room is held by the ticket, be it for a time to come, or it is about to take back what its pod leaves."""
    status = ticket.status
    keeps = bool(status.node_name) or status.reason == Reason.SCHEDULED
    return is_held(ticket) or (is_open(ticket) and keeps)


def has_hash(ticket: Ticket, value: str) -> bool:
    """Says whether the ticket was made from the template with this hash."""
    return ticket.metadata.labels.get(TEMPLATE_HASH_LABEL) == value


def firing_of(ticket: Ticket) -> datetime | None:
    """The firing for which the ticket was made."""
    text = ticket.metadata.annotations.get(SCHEDULED_TIME_ANNOTATION, "")
    try:
        return instant.parse(text) if text else None
    except instant.InvalidInstant:
        return None


Amounts = dict[str, Quantity]


def held(ticket: Ticket) -> Amounts:
    """All the room of a ticket."""
    return resources.parse_list(ticket.spec.requests)


def taken(shares: Iterable[Share]) -> Amounts:
    """What sharing pods have."""
    total: Amounts = {}
    for share in shares:
        total = resources.add(total, resources.parse_list(share.requests))
    return total


def remainder(ticket: Ticket, shares: Iterable[Share]) -> Amounts:
    """What is left of the ticket's room beside these shares; what is used up is not named."""
    used = taken(shares)
    rest = {name: amount - used.get(name, quantity.ZERO) for name, amount in held(ticket).items()}
    return {name: amount for name, amount in rest.items() if amount > quantity.ZERO}


def share_of(ticket: Ticket, pod: Pod) -> Amounts:
    """What a pod takes of the kinds of room that the ticket holds."""
    wanted = pod_requests.requests(pod)
    return {name: wanted[name] for name in held(ticket) if name in wanted}


def rate(ticket: Ticket, used: Mapping[str, Quantity]) -> str:
    """The part of the room that is used, of the resource that is used most: "75%"."""
    parts = [
        Fraction(used[name].nano, amount.nano)
        for name, amount in held(ticket).items()
        if name in used and not amount.is_zero
    ]
    return f"{round(max(parts, default=Fraction()) * 100)}%"
