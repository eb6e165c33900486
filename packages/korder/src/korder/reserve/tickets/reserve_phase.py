"""Tickets that wait for capacity, hold it, or share it with pods: which guardian there should be, and which phase follows."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

import msgspec

from korder.api.reserve import TICKETS, Reason, TicketPhase, TicketStatus
from korder.reserve.tickets import (
    deadlines,
    guardian,
    guardian_replacement,
    state,
    status as ticket_status,
)
from korder.reserve.tickets.guardian import ANYWHERE, Place
from korder.reserve.tickets.guardian_replacement import Amounts
from korder.reserve.tickets.snapshot import Loss, Snapshot, is_leaving, unschedulable
from kubeloop.objects import core, instant
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import controller_of, key_of
from kubeloop.objects.plan import Emit, Plan


def without_ended(snapshot: Snapshot, now: datetime) -> TicketStatus | None:
    """The status without the shares of pods that have ended; their room has to come back before it can be claimed."""
    ticket = snapshot.ticket
    shares = tuple(share for share in ticket.status.shared_by if snapshot.user(share) is not None)
    if len(shares) == len(ticket.status.shared_by):
        return None
    kept = msgspec.structs.replace(
        ticket, status=msgspec.structs.replace(ticket.status, shared_by=shares)
    )
    end = deadlines.expiration(ticket, deadlines.activation(ticket), now)
    if end is not None and end <= now and shares:
        return ticket_status.kept(kept, state.rate(kept, state.taken(shares)), now)
    if end is not None and end <= now:
        return ticket_status.released(kept, "all its pods have ended", now)
    return ticket_status.pending(
        kept, Reason.RETURNING, "a pod that shared it has ended", now, home=ticket.status.node_name
    )


def full(snapshot: Snapshot, now: datetime) -> Plan:
    """Pods share all the room."""
    ticket = snapshot.ticket
    rate = state.rate(ticket, state.taken(ticket.status.shared_by))
    status = ticket_status.in_use(ticket, "pods share all the room", rate, now)
    if ticket.status.phase is TicketPhase.CLAIMED:
        status = ticket_status.kept(ticket, rate, now)
    if status != ticket.status:
        return ticket_status.report(ticket, status)
    leaving = snapshot.leaving()
    if leaving:
        room = state.remainder(ticket, [s for s in ticket.status.shared_by if s not in leaving])
        return guardian_replacement.prepare(
            snapshot, room, Place(ticket.status.node_name, gated=True), now
        )
    return snapshot.dismissal(snapshot.guardians, now)


def expiry(snapshot: Snapshot, now: datetime) -> Plan:
    """The time is over: nobody's room is given up, pods keep what they have (rule 3)."""
    ticket, shares = snapshot.ticket, snapshot.ticket.status.shared_by
    if not shares:
        said = ticket_status.expired(ticket, now)
        if ticket.status.phase is TicketPhase.CLAIMED:
            said = ticket_status.released(ticket, "all its pods have ended", now)
        return ticket_status.report(ticket, said)
    rate = state.rate(ticket, state.taken(shares))
    if ticket.status.phase is TicketPhase.CLAIMED:
        stated = ticket_status.report(ticket, ticket_status.kept(ticket, rate, now))
        return stated if stated.stages else snapshot.dismissal(snapshot.guardians, now)
    message = "its time is over; its pods keep their room"
    return ticket_status.report(ticket, ticket_status.in_use(ticket, message, rate, now))


SILENCE = timedelta(seconds=60)
"""How long a scheduler may say nothing about a guardian."""
ASTRAY_FOR = timedelta(minutes=1)
"""How long a second guardian stays that has come to a cordoned node like the first: of very many it can avoid only some."""
NEXT_TRY = timedelta(seconds=5)
"""How long after a guardian was made that has failed the next is made, at the soonest: where one is turned away, others are too."""
SMALL_FOR = timedelta(seconds=30)
"""How often a node that has less than its pods request is looked at again; nothing tells of pods that leave it."""
ALTERED_FOR = timedelta(minutes=5)
"""How old a guardian gets that somebody made another size than it was meant to have, before one more is tried."""


def plan(snapshot: Snapshot, now: datetime) -> Plan:
    """The next step of a ticket that nobody, or only some pods in parts, have claimed."""
    ticket = snapshot.ticket
    start = deadlines.activation(ticket)
    end = deadlines.expiration(ticket, start, now)
    renewal = _renewal(snapshot, end, now)
    if renewal is not None:
        return renewal
    ended = without_ended(snapshot, now)
    if ended is not None:
        return ticket_status.report(ticket, ended)
    if end is not None and end <= now:
        return expiry(snapshot, now)
    due = deadlines.guardian_due(ticket)
    if due is not None and now < due:
        return _not_yet(snapshot, now).requeue(due)
    look_at = deadlines.next_look(ticket, now)
    left = state.remainder(ticket, ticket.status.shared_by)
    if ticket.status.shared_by and not left:
        return full(snapshot, now).requeue(end)
    return _held(snapshot, left, now).requeue(end).requeue(look_at)


def _renewal(snapshot: Snapshot, end: datetime | None, now: datetime) -> Plan | None:
    """Begins the next term of a ticket, or ends it if a quota forbids that; None if neither is due.

    A refusal before the end of the present term changes nothing: the ticket is judged again at its end.
    """
    ticket, start = snapshot.ticket, deadlines.next_start(snapshot.ticket, now)
    stands = deadlines.is_renewal(ticket, end, now)
    if start is None and not stands:
        return None
    barred = snapshot.barred(ticket, now)
    if barred and (stands or (end is not None and end <= now and not ticket.status.shared_by)):
        return ticket_status.report(ticket, ticket_status.not_renewed(ticket, barred, now))
    if barred or start is None:
        return None
    return ticket_status.report(ticket, ticket_status.renewed(ticket, start, now))


def _held(snapshot: Snapshot, left: Amounts, now: datetime) -> Plan:
    """Decides by the guardians there are."""
    bound = [pod for pod in snapshot.live if pod.spec.node_name]
    right = [pod for pod in bound if not guardian_replacement.differences(snapshot, pod, left)]
    if right:
        return _guarded(snapshot, min(right, key=lambda pod: _rank(snapshot, pod)), now)
    altered = [pod for pod in bound if guardian_replacement.is_altered(snapshot, pod, left)]
    if altered:
        return _altered(snapshot, altered[0], left, now)
    ticket = snapshot.ticket
    if ticket.status.phase is TicketPhase.RESERVED or ticket_status.is_held_ahead(ticket):
        return _loss(snapshot, bound, now)
    if bound:
        return _swap(snapshot, bound, left, now)
    return _wait(snapshot, left, now)


def _guarded(snapshot: Snapshot, chosen: Pod, now: datetime) -> Plan:
    """A bound guardian holds the room: the ticket is Reserved, unless its time has not come."""
    ticket = snapshot.ticket
    start = deadlines.opens_at(ticket)
    if start is not None and now < start:
        home = ticket.status.node_name if ticket.status.shared_by else ""
        status = ticket_status.held_ahead(ticket, chosen, start, now, home=home)
        return ticket_status.report(ticket, status).requeue(start)
    cordoned = snapshot.is_cordoned(chosen)
    reason, message = Reason.HELD, f"guardian {chosen.metadata.name} holds the room"
    if cordoned:
        node = chosen.spec.node_name
        reason, message = Reason.NODE_CORDONED, f"node {node} is cordoned: it cannot be claimed"
    elif short := snapshot.overbooked(chosen):
        reason, message = Reason.NODE_TOO_SMALL, _too_small(chosen.spec.node_name, short)
    again_at = now + SMALL_FOR if reason is Reason.NODE_TOO_SMALL else None
    status = ticket_status.reserved(ticket, chosen, reason, message, now)
    if status != ticket.status:
        return (
            ticket_status.report(ticket, status).requeue(status.expiration_time).requeue(again_at)
        )
    if snapshot.leaving():
        staying = [share for share in ticket.status.shared_by if share not in snapshot.leaving()]
        room = state.remainder(ticket, staying)
        return guardian_replacement.prepare(
            snapshot, room, Place(chosen.spec.node_name, gated=True), now
        )
    if cordoned and not ticket.spec.node_name and not ticket.status.shared_by:
        return _move(snapshot, chosen, now)
    others = [pod for pod in snapshot.guardians if pod is not chosen]
    return snapshot.dismissal(others, now).requeue(again_at)


def _too_small(node: str, short: Collection[str]) -> str:
    names = " and ".join(sorted(short))
    return f"node {node} has less {names} than the pods on it request: no pod can claim the ticket there"


def _altered(snapshot: Snapshot, pod: Pod, left: Amounts, now: datetime) -> Plan:
    """The guardian asks for something else than it was made with: it stays, because the next would fare no better, and it is said."""
    made = pod.metadata.creation_timestamp
    again_at = None if made is None else made + ALTERED_FOR
    if again_at is not None and now >= again_at:
        return snapshot.dismissal([pod], now)
    ticket = snapshot.ticket
    home = ticket.status.node_name if ticket.status.shared_by else ""
    wrong = ", ".join(guardian_replacement.differences(snapshot, pod, left))
    said = f"the guardian was changed on its way in or later: it holds {wrong}"
    status = ticket_status.pending(ticket, Reason.GUARDIAN_REFUSED, said, now, home=home)
    if status != ticket.status:
        return ticket_status.report(ticket, status).requeue(again_at)
    return snapshot.dismissal(
        [each for each in snapshot.guardians if each is not pod], now
    ).requeue(again_at)


def _move(snapshot: Snapshot, chosen: Pod, now: datetime) -> Plan:
    """Makes a second guardian elsewhere; once it is bound it is the chosen one, and the first goes (rule 12)."""
    amounts = state.held(snapshot.ticket)
    others = [pod for pod in snapshot.live if pod is not chosen]
    free = [
        pod
        for pod in others
        if guardian_replacement.fits(snapshot, pod, amounts, "")
        and not snapshot.is_cordoned(pod)
        and not snapshot.is_outdated(pod)
    ]
    astray = [
        pod
        for pod in others
        if snapshot.is_cordoned(pod) and (until := _astray_until(pod)) is not None and now < until
    ]
    kept = (chosen, *(free or astray)[:1])
    plan = snapshot.dismissal([pod for pod in snapshot.guardians if pod not in kept], now)
    if not free and not astray:
        return plan.then(*guardian_replacement.creation(snapshot, amounts, ANYWHERE))
    return plan if free else plan.requeue(_astray_until(astray[0]))


def _astray_until(pod: Pod) -> datetime | None:
    made = pod.metadata.creation_timestamp
    return None if made is None else made + ASTRAY_FOR


def _loss(snapshot: Snapshot, bound: Sequence[Pod], now: datetime) -> Plan:
    """A Reserved ticket without the right guardian: it says so at once, and then gets another (S8)."""
    ticket = snapshot.ticket
    home = ticket.status.node_name
    if bound:
        resized = ticket_status.pending(
            ticket, Reason.RETURNING, "its size has changed", now, home=home
        )
        return ticket_status.report(ticket, resized)
    name = ticket.status.guardian_pod.partition("/")[2]
    lost = next((pod for pod in snapshot.lost if pod.metadata.name == name), None)
    loss = snapshot.loss_of(lost) if lost is not None else None
    reason, message = loss or Loss(Reason.GUARDIAN_DELETED, f"guardian {name} is gone")
    stays = bool(ticket.spec.node_name or ticket.status.shared_by)
    status = ticket_status.pending(
        ticket,
        Reason.LOST if stays else reason,
        message,
        now,
        home=home if ticket.status.shared_by else "",
    )
    return ticket_status.report(ticket, status)


def _swap(snapshot: Snapshot, bound: Sequence[Pod], left: Amounts, now: datetime) -> Plan:
    """Replaces guardians of the wrong size: the right one waits nominated, and only then the wrong ones go."""
    home = bound[0].spec.node_name
    plan = guardian_replacement.prepare(snapshot, left, Place(home, gated=True), now)
    if plan.stages or not guardian_replacement.is_protected(snapshot, left, home):
        return plan
    return snapshot.dismissal(bound, now)


def _wait(snapshot: Snapshot, left: Amounts, now: datetime) -> Plan:
    """No guardian has room yet."""
    ticket, home = snapshot.ticket, snapshot.ticket.status.node_name
    fit = [pod for pod in snapshot.live if guardian_replacement.fits(snapshot, pod, left, home)]
    waiting = [pod for pod in fit if not snapshot.is_outdated(pod)]
    again_at = None if waiting else _again_at(snapshot, now)
    if again_at is not None:
        return Plan().requeue(again_at)
    rest = [pod for pod in snapshot.guardians if pod not in waiting[:1]]
    plan = snapshot.dismissal(rest, now)
    if not waiting:
        bad = guardian.forbidden(ticket, snapshot.options)
        if bad:
            return plan if plan.stages else _refusal(snapshot, bad, now)
        made = guardian_replacement.creation(snapshot, left, Place(home))
        return guardian_replacement.arrival(snapshot, plan, made, now).tell(*_birth(snapshot))
    pod = waiting[0]
    if guardian.is_gated(pod):
        in_the_way = any(each.spec.node_name == home for each in rest)
        step = guardian_replacement.opening(pod, now)
        return plan if in_the_way else guardian_replacement.arrival(snapshot, plan, (step,), now)
    return _unplaced(snapshot, pod, plan, now)


def _unplaced(snapshot: Snapshot, pod: Pod, plan: Plan, now: datetime) -> Plan:
    """Says why a guardian has no node; one that returns to its node is given time while that seems to have room."""
    ticket, home = snapshot.ticket, snapshot.ticket.status.node_name
    why, patient_until = unschedulable(pod), _patient_until(pod)
    if not why and patient_until is not None and now >= patient_until:
        why = f"scheduler {ticket.spec.scheduler_name} has said nothing about {pod.metadata.name}"
    is_early = patient_until is not None and now < patient_until
    if not why:
        return plan.requeue(patient_until)
    leaves = any(each.spec.node_name == home for each in snapshot.lost)
    if home and is_early and (leaves or snapshot.has_room(pod)):
        return plan.requeue(now + guardian_replacement.PATIENCE)
    unplaced = ticket_status.unplaced(ticket, why, now, cordoned=snapshot.is_closed(home))
    return ticket_status.report(ticket, unplaced)


def _again_at(snapshot: Snapshot, now: datetime) -> datetime | None:
    """When the next guardian may follow one that failed as soon as it came, and stays to tell; None is now."""
    made = (
        pod.metadata.creation_timestamp
        for pod in snapshot.lost
        if core.is_finished(pod) and not is_leaving(pod)
    )
    return max((at + NEXT_TRY for at in made if at and at <= now < at + NEXT_TRY), default=None)


def _patient_until(pod: Pod) -> datetime | None:
    """When a guardian has waited for its scheduler for so long that people should know."""
    since = guardian_replacement.waits_since(pod)
    return None if since is None else since + SILENCE


def _refusal(snapshot: Snapshot, message: str, now: datetime) -> Plan:
    ticket, home = snapshot.ticket, snapshot.ticket.status.node_name
    status = ticket_status.pending(ticket, Reason.GUARDIAN_REFUSED, message, now, home=home)
    return ticket_status.report(ticket, status)


def _not_yet(snapshot: Snapshot, now: datetime) -> Plan:
    """The time of the ticket has not come, nor that of its guardian."""
    ticket = snapshot.ticket
    start = deadlines.opens_at(ticket)
    said = f"starts at {instant.render(start)}" if start is not None else ""
    home = ticket.status.node_name if ticket.status.shared_by else ""
    status = ticket_status.pending(ticket, Reason.SCHEDULED, said, now, home=home)
    if status != ticket.status:
        return ticket_status.report(ticket, status)
    return snapshot.dismissal(snapshot.guardians, now)


def _rank(snapshot: Snapshot, pod: Pod) -> tuple[bool, bool, str]:
    """The best of several guardians first: one that can be claimed, then the one that is known, then any."""
    known = str(key_of(pod)) == snapshot.ticket.status.guardian_pod
    return (snapshot.is_cordoned(pod), not known, pod.metadata.name)


def _birth(snapshot: Snapshot) -> tuple[Emit, ...]:
    """Tells of a ticket that nobody else tells of: one made by hand."""
    ticket = snapshot.ticket
    if ticket.status.phase is not None or controller_of(ticket) is not None:
        return ()
    return (Emit(TICKETS, ticket, "Created", "the ticket is looked after from now on"),)
