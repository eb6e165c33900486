"""What is to be done for a ticket, by its phase.

`korder.reserve.tickets.controller` calls `plan` with a picture and the instant, and `refused` when the server did not want a guardian. Tickets that
wait or are held go on in `reserve_phase`; this module has the rest: use, end, removal and deletion. A turn takes one step: it writes the
status or touches guardians, never both, so that it can break off anywhere. Claiming belongs to the hand-over; whatever meets it there
waits (rule 2).
"""

from datetime import datetime, timedelta

import msgspec

from korder.api.reserve import (
    ENDED_PHASES,
    TICKET_FINALIZER,
    TICKETS,
    AfterUse,
    Reason,
    Ticket,
    TicketCondition,
    TicketPhase,
)
from korder.reserve.tickets import (
    deadlines,
    guardian_replacement,
    reserve_phase,
    state,
    status as ticket_status,
)
from korder.reserve.tickets.guardian import Place
from korder.reserve.tickets.snapshot import Snapshot, is_leaving
from kubeloop.objects import conditions
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import NOTHING, Delete, Emit, EventType, Patch, Plan

SOONEST, LATEST = timedelta(seconds=1), timedelta(seconds=60)
"""The first and the longest pause before a refused guardian is tried again."""
_LONGEST_MESSAGE = 4_096


def plan(snapshot: Snapshot, now: datetime) -> Plan:
    """The next step, and when to look again."""
    ticket, phase = snapshot.ticket, snapshot.ticket.status.phase
    if ticket.metadata.deletion_timestamp is not None:
        return _deletion(snapshot, now)
    if snapshot.namespace_ends or phase is TicketPhase.CLAIMING:
        return NOTHING
    if phase in ENDED_PHASES:
        return _aftermath(snapshot, now)
    if TICKET_FINALIZER not in ticket.metadata.finalizers:
        return Plan().then(_finalizers(ticket, (*ticket.metadata.finalizers, TICKET_FINALIZER)))
    if phase is TicketPhase.CLAIMED and not ticket.status.shared_by:
        return _use(snapshot, now)
    return reserve_phase.plan(snapshot, now)


def refused(ticket: Ticket, message: str, now: datetime) -> Plan:
    """What follows when the server does not want the guardian: it is said, and tried again ever later (S9).

    The pause grows with the time for which the refusals last, so nothing has to be remembered but the ticket.
    """
    status, message = ticket.status, message[:_LONGEST_MESSAGE]
    if status.phase not in (None, TicketPhase.PENDING):
        emit = Emit(TICKETS, ticket, Reason.GUARDIAN_REFUSED, message, EventType.WARNING)
        return Plan().tell(emit).requeue(now + LATEST)
    judged = conditions.find(status.conditions, TicketCondition.GUARDIAN_READY)
    again = judged is not None and judged.reason == Reason.GUARDIAN_REFUSED
    since = judged.last_transition_time if judged is not None and again else None
    pause = min(max(now - since, SOONEST), LATEST) if since is not None else SOONEST
    said = ticket_status.pending(
        ticket, Reason.GUARDIAN_REFUSED, message, now, home=status.node_name
    )
    return ticket_status.report(ticket, said).requeue(now + pause).requeue(said.expiration_time)


def is_reworded(old: Ticket, new: Ticket) -> bool:
    """Says whether a refusal is only told in other words: when the next guardian is tried has been decided."""
    is_refused = new.status.reason == Reason.GUARDIAN_REFUSED
    return is_refused and _but_for_words(old) == _but_for_words(new)


def _but_for_words(ticket: Ticket) -> Ticket:
    meta = msgspec.structs.replace(ticket.metadata, resource_version="")
    status = msgspec.structs.replace(ticket.status, message="", conditions=())
    return msgspec.structs.replace(ticket, metadata=meta, status=status)


def _deletion(snapshot: Snapshot, now: datetime) -> Plan:
    """Guardians go first, then the ticket; a pod that has the room keeps it."""
    ticket = snapshot.ticket
    if TICKET_FINALIZER not in ticket.metadata.finalizers:
        return NOTHING
    if _is_handed_over(snapshot):
        return NOTHING
    if snapshot.guardians and not snapshot.namespace_ends:
        return snapshot.dismissal(snapshot.guardians, now)
    others = tuple(each for each in ticket.metadata.finalizers if each != TICKET_FINALIZER)
    gone = Emit(TICKETS, ticket, "Deleted", "the ticket is gone and holds nothing any more")
    return Plan().then(_finalizers(ticket, others)).tell(gone)


def _is_handed_over(snapshot: Snapshot) -> bool:
    """Says whether a pod may already be tied to the room and has to hear how its hand-over ends (rule 2).

    Where the namespace ends finalizers go at once (rule 13), but for a pod of another one, which stays.
    """
    ticket, owner = snapshot.ticket, snapshot.ticket.status.claimed_by
    stays = owner is not None and owner.namespace != ticket.metadata.namespace
    return ticket.status.phase is TicketPhase.CLAIMING and (stays or not snapshot.namespace_ends)


def _aftermath(snapshot: Snapshot, now: datetime) -> Plan:
    """A ticket that has ended holds nothing and goes when its time is over."""
    ticket = snapshot.ticket
    if ticket.status.finished_time is None:
        return ticket_status.report(
            ticket, msgspec.structs.replace(ticket.status, finished_time=deadlines.cut_off(now))
        )
    if snapshot.guardians:
        return snapshot.dismissal(snapshot.guardians, now)
    due = deadlines.removal_due(ticket)
    if due is None or due > now:
        return Plan().requeue(due)
    meta = ticket.metadata
    return Plan().then(
        Delete(TICKETS, key_of(ticket), meta.uid, resource_version=meta.resource_version)
    )


def _use(snapshot: Snapshot, now: datetime) -> Plan:
    """A ticket lives with its pod, however late it gets (rule 3), and follows `afterUse` when that ends."""
    ticket = snapshot.ticket
    owner = snapshot.user(ticket.status.claimed_by)
    if owner is None:
        return _end_of_use(ticket, snapshot, now)
    if not is_leaving(owner):
        if snapshot.guardians:
            return snapshot.dismissal(snapshot.guardians, now)
        rate = state.rate(ticket, state.share_of(ticket, owner))
        return ticket_status.report(ticket, ticket_status.kept(ticket, rate, now))
    if not returns(ticket, now):
        return snapshot.dismissal(snapshot.guardians, now)
    home = Place(owner.spec.node_name, gated=True)
    return guardian_replacement.prepare(snapshot, state.held(ticket), home, now).requeue(
        _end(ticket, now)
    )


def _end_of_use(ticket: Ticket, snapshot: Snapshot, now: datetime) -> Plan:
    said = f"pod {ticket.status.claimed_pod} has ended"
    if not returns(ticket, now):
        return ticket_status.report(ticket, ticket_status.released(ticket, said, now))
    home = ticket.status.node_name
    if home in snapshot.nodes:
        back = ticket_status.pending(ticket, Reason.RETURNING, said, now, home=home)
    else:
        back = ticket_status.pending(
            ticket, Reason.LOST, f"{said}, and node {home} is gone with it", now
        )
    return ticket_status.report(ticket, back)


def returns(ticket: Ticket, now: datetime) -> bool:
    """Says whether the ticket takes its room back after use: if it is told to and has time left (rules 3, 10)."""
    end = _end(ticket, now)
    return ticket.spec.after_use is AfterUse.RESERVE and (end is None or now < end)


def _end(ticket: Ticket, now: datetime) -> datetime | None:
    return deadlines.expiration(ticket, deadlines.activation(ticket), now)


def _finalizers(ticket: Ticket, wanted: tuple[str, ...]) -> Patch:
    meta = ticket.metadata
    listed: list[JSON] = [*wanted]
    body: JSON = {"metadata": {"finalizers": listed}}
    return Patch(
        TICKETS, key_of(ticket), body, uid=meta.uid, resource_version=meta.resource_version
    )
