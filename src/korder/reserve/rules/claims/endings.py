"""How a hand-over ends: what is written on the ticket, and told.

`handover` calls it, `ticketstatus` knows what is said in each phase. A ticket whose pod did not come is Reserved again if its guardian
still stands; otherwise it is Pending, and the ticket controller takes the room again, first of all where it was.
"""

from datetime import datetime

import msgspec

from korder.api.core import Pod
from korder.api.meta import key_of
from korder.api.plan import EventType, Notice, Plan
from korder.api.reserve import TICKETS, Reason, TicketPhase, TicketStatus
from korder.reserve.rules.claims import backoff
from korder.reserve.rules.claims.members import Member
from korder.reserve.rules.tickets import clockwork, ticketstatus, usage


def done(member: Member, pod: Pod, now: datetime) -> Plan:
    """The pod has its room."""
    ticket = member.ticket
    if member.shares:
        return ticketstatus.report(ticket, _shared(member, now))
    rate = usage.rate(ticket, usage.share_of(ticket, pod))
    used = ticketstatus.in_use(ticket, f"pod {key_of(pod)} has the room", rate, now)
    since = clockwork.cut_off(now)
    status = msgspec.structs.replace(used, claimed_time=since, claim_deadline=None)
    return ticketstatus.report(ticket, status)


def undone(member: Member, now: datetime) -> Plan:
    """There is no pod to take the room."""
    name, pod = member.ticket.status.claimed_pod, member.pod
    if pod is None:
        why = f"pod {name} was gone before it had the room"
    elif member.is_rival:
        why = f"pod {name} has another ticket"
    elif pod.spec.node_name:
        why = f"pod {name} went to node {pod.spec.node_name}"
    else:
        why = f"pod {name} ended before it had the room"
    return _back(member, Reason.CLAIM_UNDONE, why, now)


def lost(member: Member, now: datetime) -> Plan:
    """The guardian went before anything had begun: the pod can have another ticket."""
    return _back(member, Reason.LOST, "the guardian was lost before the hand-over began", now)


def too_late(member: Member, now: datetime) -> Plan:
    """The guardians did not go in time, or the node's other hand-overs took too long."""
    return _back(member, Reason.CLAIM_UNDONE, "the hand-over took too long", now)


def closed(member: Member, why: str, now: datetime) -> Plan:
    """The node takes the pod no more."""
    name = member.ticket.status.claimed_pod
    return _back(member, Reason.CLAIM_UNDONE, f"pod {name} can have the room no more: {why}", now)


def crowded(member: Member, node: str, now: datetime) -> Plan:
    """The node takes no pod besides the guardian of what would be left."""
    return _back(member, Reason.CLAIM_UNDONE, f"node {node} takes no more pods", now)


def refused(member: Member, why: str, now: datetime) -> Plan:
    """The server does not take the guardian of what would be left."""
    return _back(member, Reason.GUARDIAN_REFUSED, why, now)


def kept_back(member: Member, why: str, now: datetime) -> Plan:
    """The server does not let the pod be tied to the node."""
    name = member.ticket.status.claimed_pod
    return _back(member, Reason.CLAIM_UNDONE, f"pod {name} cannot be tied to the node: {why}", now)


def unbound(member: Member, reason: Reason, why: str, now: datetime) -> Plan:
    """The pod was let go and the node did not take it; if that was not for want of room, others shall rather be tried."""
    name = member.ticket.status.claimed_pod
    counts = reason is Reason.NEVER_BOUND
    return _back(member, reason, f"pod {name} was not bound: {why}", now, is_unbound=counts)


def _shared(member: Member, now: datetime) -> TicketStatus:
    """The pod has a share; the rest is held, or has to be."""
    ticket, heir = member.shared(), member.heir
    if not member.rest:
        rate = usage.rate(ticket, usage.taken(member.shares))
        return ticketstatus.in_use(ticket, "pods share all the room", rate, now)
    if member.keeps_guardian and member.firm:
        return _held_by(member, ticket.status)
    if heir is None or not heir.spec.node_name:
        home = ticket.status.node_name
        return ticketstatus.pending(
            ticket, Reason.RETURNING, "a pod shares it from now on", now, home=home
        )
    words = f"guardian {heir.metadata.name} holds the room"
    return ticketstatus.reserved(ticket, heir, Reason.HELD, words, now)


def _held_by(member: Member, status: TicketStatus) -> TicketStatus:
    """The ticket holds its room again, or still, by the guardian that stands."""
    name = str(key_of(member.firm[0]))
    return msgspec.structs.replace(status, phase=TicketPhase.RESERVED, guardian_pod=name)


def _back(
    member: Member, reason: Reason, why: str, now: datetime, *, is_unbound: bool = False
) -> Plan:
    ticket = member.ticket
    if member.firm:
        unclaimed = msgspec.structs.replace(
            ticket.status, claimed_by=None, claimed_pod="", claim_deadline=None
        )
        status = _held_by(member, unclaimed)
    else:
        returns = reason not in (Reason.STOLEN, Reason.LOST) or bool(ticket.status.shared_by)
        home = ticket.status.node_name if returns else ""
        status = ticketstatus.pending(ticket, reason, why, now, home=home)
    if is_unbound:
        workload = backoff.workload_of(member.pod) if member.pod is not None else ""
        status = msgspec.structs.replace(
            status,
            unbound_time=clockwork.cut_off(now),
            unbound_workload=workload,
            unbound_count=backoff.counted(ticket, workload),
        )
    written = ticketstatus.report(ticket, status)
    step = written.stages[0][0]
    told = Notice(TICKETS, ticket, reason, why, EventType.WARNING, "GiveBack", step)
    return Plan(written.stages, (told,))
