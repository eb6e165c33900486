"""What is said of a ticket in each phase, and the one write that says it.

`plan` and `reserve_phase` call it, and so does whoever ends a hand-over. Each phase is one function from the status that was to the
status that is; `report` turns the difference into one patch with the version that was read, and one Event if the ticket came to another
phase or for another reason. Where nothing is new nothing is written.
"""

from datetime import datetime
from typing import Any

import msgspec

from korder.api.reserve import (
    TICKETS,
    PodReference,
    Reason,
    Ticket,
    TicketCondition,
    TicketPhase,
    TicketStatus,
)
from korder.reserve.tickets import deadlines, state
from kubeloop.objects import codec, conditions, instant
from kubeloop.objects.conditions import Condition, Status
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import Emit, EventType, Patch, Plan

_BAD = frozenset(
    {
        Reason.LOST,
        Reason.EVICTED,
        Reason.PREEMPTED,
        Reason.GUARDIAN_FAILED,
        Reason.GUARDIAN_DELETED,
        Reason.GUARDIAN_REFUSED,
        Reason.NODE_LOST,
        Reason.NODE_CORDONED,
        Reason.NODE_TOO_SMALL,
        Reason.UNSCHEDULABLE,
    }
)
"""Reasons somebody should look at."""


def pending(
    ticket: Ticket,
    reason: Reason,
    message: str,
    now: datetime,
    *,
    home: str = "",
    guardian: Pod | None = None,
) -> TicketStatus:
    """Nothing can be claimed, and why; `home` is the node to which the guardian returns.

    `guardian` is the bound guardian, if the room is held already.
    """
    return _changed(
        ticket,
        now,
        (Status.FALSE, Status.FALSE if guardian is None else Status.TRUE),
        phase=TicketPhase.PENDING,
        reason=reason,
        message=message,
        node_name=home,
        guardian_pod="" if guardian is None else str(key_of(guardian)),
        claimed_by=None,
        claimed_pod="",
        claimed_time=None,
        claim_deadline=None,
        utilization_rate=_rate(ticket),
    )


def unplaced(ticket: Ticket, why: str, now: datetime, *, cordoned: bool) -> TicketStatus:
    """The scheduler has no place; room to which a ticket wanted to return is then lost (rule 10), be it that its node was cordoned."""
    home = ticket.status.node_name
    if home and not ticket.status.shared_by:
        said = f"the room on node {home} could not be taken back: {why}"
        if cordoned:
            said = f"node {home} is cordoned: its room there is given up"
        return pending(ticket, Reason.LOST, said, now)
    reason = Reason.LOST if home or ticket.status.reason == Reason.LOST else Reason.UNSCHEDULABLE
    return pending(ticket, reason, why, now, home=home)


def reserved(
    ticket: Ticket, guardian: Pod, reason: Reason, message: str, now: datetime
) -> TicketStatus:
    """A bound guardian holds the room; the clock has started at the latest now (rule 1)."""
    claimable = Status.TRUE if reason is Reason.HELD else Status.FALSE
    return _changed(
        ticket,
        now,
        (claimable, Status.TRUE),
        phase=TicketPhase.RESERVED,
        reason=reason,
        message=message,
        node_name=guardian.spec.node_name,
        guardian_pod=str(key_of(guardian)),
        activation_time=deadlines.activation(ticket) or deadlines.rounded_up(now),
        utilization_rate=_rate(ticket),
    )


def held_ahead(
    ticket: Ticket, guardian: Pod, opens_at: datetime, now: datetime, *, home: str = ""
) -> TicketStatus:
    """A bound guardian holds the room in the lead time; the ticket cannot be claimed yet.

    `nodeName` stays empty: it is set for room that is held to be claimed, or that is taken back.
    """
    message = (
        f"Guardian {guardian.metadata.name} holds the room on node {guardian.spec.node_name};"
        f" it can be claimed from {instant.render(opens_at)} on."
    )
    status = pending(ticket, Reason.SCHEDULED, message, now, home=home, guardian=guardian)
    held = _condition(
        ticket, TicketCondition.GUARDIAN_READY, Status.TRUE, Reason.HELD, status.message
    )
    return msgspec.structs.replace(
        status, conditions=conditions.set_condition(status.conditions, held, now)
    )


def is_held_ahead(ticket: Ticket) -> bool:
    """Says whether the status reports a guardian that holds the room in the lead time."""
    status = ticket.status
    return status.phase is TicketPhase.PENDING and bool(status.guardian_pod)


def claiming(
    ticket: Ticket, owner: PodReference, deadline: datetime, now: datetime
) -> TicketStatus:
    """A pod has claimed the room and its guardian makes way for it: from now on it may be gone at any moment."""
    pod = f"{owner.namespace}/{owner.name}"
    return _changed(
        ticket,
        now,
        (Status.FALSE, Status.FALSE),
        phase=TicketPhase.CLAIMING,
        reason=Reason.HANDING_OVER,
        message=f"The room on node {ticket.status.node_name} is handed over to pod {pod}.",
        guardian_pod="",
        claimed_by=owner,
        claimed_pod=pod,
        claim_deadline=deadlines.cut_off(deadline),
    )


def in_use(ticket: Ticket, message: str, rate: str, now: datetime) -> TicketStatus:
    """Pods have all the room that can be had."""
    return _changed(
        ticket,
        now,
        (Status.TRUE, Status.FALSE),
        phase=TicketPhase.CLAIMED,
        reason=Reason.IN_USE,
        message=message,
        guardian_pod="",
        utilization_rate=rate,
    )


def expired(ticket: Ticket, now: datetime) -> TicketStatus:
    """Nobody came in time."""
    return _ended(ticket, TicketPhase.EXPIRED, Reason.EXPIRED, "nobody claimed it in time", now)


def renewed(ticket: Ticket, start: datetime, now: datetime) -> TicketStatus:
    """The same room, held for another term."""
    term = msgspec.structs.replace(ticket.status, activation_time=start)
    ahead = msgspec.structs.replace(ticket, status=term)
    return kept(ahead, term.utilization_rate, now)


def not_renewed(ticket: Ticket, why: str, now: datetime) -> TicketStatus:
    """The term of a ticket that its order would renew was the last."""
    stated = f"it is not renewed: {why}"
    status = _ended(ticket, TicketPhase.EXPIRED, Reason.QUOTA_EXCEEDED, stated, now)
    return msgspec.structs.replace(status, expiration_time=ticket.status.expiration_time)


def released(ticket: Ticket, message: str, now: datetime) -> TicketStatus:
    """Its pod has ended."""
    return _ended(ticket, TicketPhase.RELEASED, Reason.RELEASED, message, now)


def kept(ticket: Ticket, rate: str, now: datetime) -> TicketStatus:
    """The same status, true to the present spec and use."""
    return msgspec.structs.replace(
        ticket.status,
        observed_generation=ticket.metadata.generation,
        expiration_time=_end(ticket, now),
        utilization_rate=rate,
    )


def report(ticket: Ticket, status: TicketStatus) -> Plan:
    """Writes the status if it is news, and tells of it if it is a step."""
    old = ticket.status
    if status == old:
        return Plan()
    patch = written(ticket, status)
    plan = Plan().then(patch)
    if (old.phase, old.reason) != (status.phase, status.reason):
        bad = EventType.WARNING if status.reason in _BAD else EventType.NORMAL
        stated = _headline(status)
        return plan.tell(Emit(TICKETS, ticket, stated, status.message or stated, bad, after=patch))
    if old.expiration_time and old.expiration_time != status.expiration_time:
        until = instant.render(status.expiration_time) if status.expiration_time else "for ever"
        is_renewed = deadlines.is_standing(ticket) or old.activation_time != status.activation_time
        stated = "Renewed" if is_renewed else "Rescheduled"
        return plan.tell(Emit(TICKETS, ticket, stated, f"held until {until}", after=patch))
    return plan


def written(ticket: Ticket, status: TicketStatus) -> Patch:
    """Writes what is new in a status, if the ticket still is as it was read."""
    meta = ticket.metadata
    return Patch(
        TICKETS,
        key_of(ticket),
        {"status": _difference(ticket.status, status)},
        subresource="status",
        uid=meta.uid,
        resource_version=meta.resource_version,
    )


def _headline(status: TicketStatus) -> str:
    """The Event's reason: the phase, unless the reason says more."""
    plain = status.phase is not TicketPhase.PENDING and status.reason not in _BAD
    return str(status.phase) if plain else str(status.reason)


def _ended(
    ticket: Ticket, phase: TicketPhase, reason: Reason, message: str, now: datetime
) -> TicketStatus:
    status = _changed(
        ticket,
        now,
        (Status.FALSE, Status.FALSE),
        phase=phase,
        reason=reason,
        message=message,
        guardian_pod="",
        finished_time=deadlines.cut_off(now),
    )
    over = _condition(ticket, TicketCondition.EXPIRING, Status.TRUE, reason, message)
    if phase is not TicketPhase.EXPIRED:
        return status
    return msgspec.structs.replace(
        status, conditions=conditions.set_condition(status.conditions, over, now)
    )


def _changed(
    ticket: Ticket, now: datetime, judged: tuple[Status, Status], **said: Any
) -> TicketStatus:
    """The status with what is said, judged `Ready` and `GuardianReady`, and true to the present spec."""
    status = msgspec.structs.replace(ticket.status, **said)
    found = status.conditions
    for kind, holds in zip(
        (TicketCondition.READY, TicketCondition.GUARDIAN_READY), judged, strict=True
    ):
        new = _condition(ticket, kind, holds, Reason(status.reason), status.message)
        found = conditions.set_condition(found, new, now)
    return msgspec.structs.replace(
        status,
        conditions=found,
        observed_generation=ticket.metadata.generation,
        expiration_time=_end(msgspec.structs.replace(ticket, status=status), now),
    )


def _end(ticket: Ticket, now: datetime) -> datetime | None:
    """When the hold ends, as it is written."""
    end = deadlines.expiration(ticket, deadlines.activation(ticket), now)
    return None if end is None else deadlines.cut_off(end)


def _condition(
    ticket: Ticket, kind: TicketCondition, holds: Status, reason: Reason, message: str
) -> Condition:
    return Condition(
        type=kind,
        status=holds,
        observed_generation=ticket.metadata.generation,
        reason=reason,
        message=message,
    )


def _rate(ticket: Ticket) -> str:
    return state.rate(ticket, state.taken(ticket.status.shared_by))


def _difference(old: TicketStatus, new: TicketStatus) -> dict[str, JSON]:
    """A merge patch that names only what changed; what is gone becomes null."""
    said = codec.plain(new)
    return {
        wire: said.get(wire)
        for name, wire in codec.names(new)
        if getattr(old, name) != getattr(new, name)
    }
