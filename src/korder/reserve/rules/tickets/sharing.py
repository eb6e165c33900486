"""Pods that have parts of a ticket: what their ends give back, what is left for a guardian, and how the ticket itself ends.

`holding` calls it.
"""

from datetime import datetime

import msgspec

from korder.api.plan import Plan
from korder.api.reserve import Reason, TicketPhase, TicketStatus
from korder.reserve.rules.tickets import clockwork, succession, ticketstatus, usage
from korder.reserve.rules.tickets.guardian import Place
from korder.reserve.rules.tickets.picture import Picture


def without_ended(picture: Picture, now: datetime) -> TicketStatus | None:
    """The status without the shares of pods that have ended; their room has to come back before it can be claimed."""
    ticket = picture.ticket
    shares = tuple(share for share in ticket.status.shared_by if picture.user(share) is not None)
    if len(shares) == len(ticket.status.shared_by):
        return None
    kept = msgspec.structs.replace(
        ticket, status=msgspec.structs.replace(ticket.status, shared_by=shares)
    )
    end = clockwork.expiration(ticket, clockwork.activation(ticket), now)
    if end is not None and end <= now and shares:
        return ticketstatus.kept(kept, usage.rate(kept, usage.taken(shares)), now)
    if end is not None and end <= now:
        return ticketstatus.released(kept, "all its pods have ended", now)
    return ticketstatus.pending(
        kept, Reason.RETURNING, "a pod that shared it has ended", now, home=ticket.status.node_name
    )


def full(picture: Picture, now: datetime) -> Plan:
    """Pods share all the room."""
    ticket = picture.ticket
    rate = usage.rate(ticket, usage.taken(ticket.status.shared_by))
    status = ticketstatus.in_use(ticket, "pods share all the room", rate, now)
    if ticket.status.phase is TicketPhase.CLAIMED:
        status = ticketstatus.kept(ticket, rate, now)
    if status != ticket.status:
        return ticketstatus.report(ticket, status)
    leaving = picture.leaving()
    if leaving:
        room = usage.remainder(ticket, [s for s in ticket.status.shared_by if s not in leaving])
        return succession.prepare(picture, room, Place(ticket.status.node_name, gated=True), now)
    return picture.dismissal(picture.guardians, now)


def expiry(picture: Picture, now: datetime) -> Plan:
    """The time is over: nobody's room is given up, pods keep what they have (rule 3)."""
    ticket, shares = picture.ticket, picture.ticket.status.shared_by
    if not shares:
        said = ticketstatus.expired(ticket, now)
        if ticket.status.phase is TicketPhase.CLAIMED:
            said = ticketstatus.released(ticket, "all its pods have ended", now)
        return ticketstatus.report(ticket, said)
    rate = usage.rate(ticket, usage.taken(shares))
    if ticket.status.phase is TicketPhase.CLAIMED:
        told = ticketstatus.report(ticket, ticketstatus.kept(ticket, rate, now))
        return told if told.stages else picture.dismissal(picture.guardians, now)
    message = "its time is over; its pods keep their room"
    return ticketstatus.report(ticket, ticketstatus.in_use(ticket, message, rate, now))
