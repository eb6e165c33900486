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
from korder.reserve.tickets.snapshot import Loss, Picture, is_leaving, unschedulable
from kubeloop.objects import core, instant
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import controller_of, key_of
from kubeloop.objects.plan import Notice, Plan


def without_ended(picture: Picture, now: datetime) -> TicketStatus | None:
    """The status without the shares of pods that have ended; their room has to come back before it can be claimed."""
    ticket = picture.ticket
    shares = tuple(share for share in ticket.status.shared_by if picture.user(share) is not None)
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


def full(picture: Picture, now: datetime) -> Plan:
    """Pods share all the room."""
    ticket = picture.ticket
    rate = state.rate(ticket, state.taken(ticket.status.shared_by))
    status = ticket_status.in_use(ticket, "pods share all the room", rate, now)
    if ticket.status.phase is TicketPhase.CLAIMED:
        status = ticket_status.kept(ticket, rate, now)
    if status != ticket.status:
        return ticket_status.report(ticket, status)
    leaving = picture.leaving()
    if leaving:
        room = state.remainder(ticket, [s for s in ticket.status.shared_by if s not in leaving])
        return guardian_replacement.prepare(
            picture, room, Place(ticket.status.node_name, gated=True), now
        )
    return picture.dismissal(picture.guardians, now)


def expiry(picture: Picture, now: datetime) -> Plan:
    """The time is over: nobody's room is given up, pods keep what they have (rule 3)."""
    ticket, shares = picture.ticket, picture.ticket.status.shared_by
    if not shares:
        said = ticket_status.expired(ticket, now)
        if ticket.status.phase is TicketPhase.CLAIMED:
            said = ticket_status.released(ticket, "all its pods have ended", now)
        return ticket_status.report(ticket, said)
    rate = state.rate(ticket, state.taken(shares))
    if ticket.status.phase is TicketPhase.CLAIMED:
        told = ticket_status.report(ticket, ticket_status.kept(ticket, rate, now))
        return told if told.stages else picture.dismissal(picture.guardians, now)
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


def plan(picture: Picture, now: datetime) -> Plan:
    """The next step of a ticket that nobody, or only some pods in parts, have claimed."""
    ticket = picture.ticket
    start = deadlines.activation(ticket)
    end = deadlines.expiration(ticket, start, now)
    renewal = _renewal(picture, end, now)
    if renewal is not None:
        return renewal
    ended = without_ended(picture, now)
    if ended is not None:
        return ticket_status.report(ticket, ended)
    if end is not None and end <= now:
        return expiry(picture, now)
    due = deadlines.guardian_due(ticket)
    if due is not None and now < due:
        return _not_yet(picture, now).wake(due)
    look_at = deadlines.next_look(ticket, now)
    left = state.remainder(ticket, ticket.status.shared_by)
    if ticket.status.shared_by and not left:
        return full(picture, now).wake(end)
    return _held(picture, left, now).wake(end).wake(look_at)


def _renewal(picture: Picture, end: datetime | None, now: datetime) -> Plan | None:
    """Begins the next term of a ticket, or ends it if a quota forbids that; None if neither is due.

    A refusal before the end of the present term changes nothing: the ticket is judged again at its end.
    """
    ticket, start = picture.ticket, deadlines.next_start(picture.ticket, now)
    stands = deadlines.is_renewal(ticket, end, now)
    if start is None and not stands:
        return None
    barred = picture.barred(ticket, now)
    if barred and (stands or (end is not None and end <= now and not ticket.status.shared_by)):
        return ticket_status.report(ticket, ticket_status.not_renewed(ticket, barred, now))
    if barred or start is None:
        return None
    return ticket_status.report(ticket, ticket_status.renewed(ticket, start, now))


def _held(picture: Picture, left: Amounts, now: datetime) -> Plan:
    """Decides by the guardians there are."""
    bound = [pod for pod in picture.live if pod.spec.node_name]
    right = [pod for pod in bound if not guardian_replacement.differences(picture, pod, left)]
    if right:
        return _guarded(picture, min(right, key=lambda pod: _rank(picture, pod)), now)
    altered = [pod for pod in bound if guardian_replacement.is_altered(picture, pod, left)]
    if altered:
        return _altered(picture, altered[0], left, now)
    ticket = picture.ticket
    if ticket.status.phase is TicketPhase.RESERVED or ticket_status.is_held_ahead(ticket):
        return _loss(picture, bound, now)
    if bound:
        return _swap(picture, bound, left, now)
    return _wait(picture, left, now)


def _guarded(picture: Picture, chosen: Pod, now: datetime) -> Plan:
    """A bound guardian holds the room: the ticket is Reserved, unless its time has not come."""
    ticket = picture.ticket
    start = deadlines.opens_at(ticket)
    if start is not None and now < start:
        home = ticket.status.node_name if ticket.status.shared_by else ""
        status = ticket_status.held_ahead(ticket, chosen, start, now, home=home)
        return ticket_status.report(ticket, status).wake(start)
    cordoned = picture.is_cordoned(chosen)
    reason, message = Reason.HELD, f"guardian {chosen.metadata.name} holds the room"
    if cordoned:
        node = chosen.spec.node_name
        reason, message = Reason.NODE_CORDONED, f"node {node} is cordoned: it cannot be claimed"
    elif short := picture.overbooked(chosen):
        reason, message = Reason.NODE_TOO_SMALL, _too_small(chosen.spec.node_name, short)
    again_at = now + SMALL_FOR if reason is Reason.NODE_TOO_SMALL else None
    status = ticket_status.reserved(ticket, chosen, reason, message, now)
    if status != ticket.status:
        return ticket_status.report(ticket, status).wake(status.expiration_time).wake(again_at)
    if picture.leaving():
        staying = [share for share in ticket.status.shared_by if share not in picture.leaving()]
        room = state.remainder(ticket, staying)
        return guardian_replacement.prepare(
            picture, room, Place(chosen.spec.node_name, gated=True), now
        )
    if cordoned and not ticket.spec.node_name and not ticket.status.shared_by:
        return _move(picture, chosen, now)
    others = [pod for pod in picture.guardians if pod is not chosen]
    return picture.dismissal(others, now).wake(again_at)


def _too_small(node: str, short: Collection[str]) -> str:
    names = " and ".join(sorted(short))
    return f"node {node} has less {names} than the pods on it request: no pod can claim the ticket there"


def _altered(picture: Picture, pod: Pod, left: Amounts, now: datetime) -> Plan:
    """The guardian asks for something else than it was made with: it stays, because the next would fare no better, and it is said."""
    made = pod.metadata.creation_timestamp
    again_at = None if made is None else made + ALTERED_FOR
    if again_at is not None and now >= again_at:
        return picture.dismissal([pod], now)
    ticket = picture.ticket
    home = ticket.status.node_name if ticket.status.shared_by else ""
    wrong = ", ".join(guardian_replacement.differences(picture, pod, left))
    said = f"the guardian was changed on its way in or later: it holds {wrong}"
    status = ticket_status.pending(ticket, Reason.GUARDIAN_REFUSED, said, now, home=home)
    if status != ticket.status:
        return ticket_status.report(ticket, status).wake(again_at)
    return picture.dismissal([each for each in picture.guardians if each is not pod], now).wake(
        again_at
    )


def _move(picture: Picture, chosen: Pod, now: datetime) -> Plan:
    """Makes a second guardian elsewhere; once it is bound it is the chosen one, and the first goes (rule 12)."""
    amounts = state.held(picture.ticket)
    others = [pod for pod in picture.live if pod is not chosen]
    free = [
        pod
        for pod in others
        if guardian_replacement.fits(picture, pod, amounts, "")
        and not picture.is_cordoned(pod)
        and not picture.is_outdated(pod)
    ]
    astray = [
        pod
        for pod in others
        if picture.is_cordoned(pod) and (until := _astray_until(pod)) is not None and now < until
    ]
    kept = (chosen, *(free or astray)[:1])
    plan = picture.dismissal([pod for pod in picture.guardians if pod not in kept], now)
    if not free and not astray:
        return plan.then(*guardian_replacement.creation(picture, amounts, ANYWHERE))
    return plan if free else plan.wake(_astray_until(astray[0]))


def _astray_until(pod: Pod) -> datetime | None:
    made = pod.metadata.creation_timestamp
    return None if made is None else made + ASTRAY_FOR


def _loss(picture: Picture, bound: Sequence[Pod], now: datetime) -> Plan:
    """A Reserved ticket without the right guardian: it says so at once, and then gets another (S8)."""
    ticket = picture.ticket
    home = ticket.status.node_name
    if bound:
        resized = ticket_status.pending(
            ticket, Reason.RETURNING, "its size has changed", now, home=home
        )
        return ticket_status.report(ticket, resized)
    name = ticket.status.guardian_pod.partition("/")[2]
    lost = next((pod for pod in picture.lost if pod.metadata.name == name), None)
    loss = picture.loss_of(lost) if lost is not None else None
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


def _swap(picture: Picture, bound: Sequence[Pod], left: Amounts, now: datetime) -> Plan:
    """Replaces guardians of the wrong size: the right one waits nominated, and only then the wrong ones go."""
    home = bound[0].spec.node_name
    plan = guardian_replacement.prepare(picture, left, Place(home, gated=True), now)
    if plan.stages or not guardian_replacement.is_protected(picture, left, home):
        return plan
    return picture.dismissal(bound, now)


def _wait(picture: Picture, left: Amounts, now: datetime) -> Plan:
    """No guardian has room yet."""
    ticket, home = picture.ticket, picture.ticket.status.node_name
    fit = [pod for pod in picture.live if guardian_replacement.fits(picture, pod, left, home)]
    waiting = [pod for pod in fit if not picture.is_outdated(pod)]
    again_at = None if waiting else _again_at(picture, now)
    if again_at is not None:
        return Plan().wake(again_at)
    rest = [pod for pod in picture.guardians if pod not in waiting[:1]]
    plan = picture.dismissal(rest, now)
    if not waiting:
        bad = guardian.forbidden(ticket, picture.options)
        if bad:
            return plan if plan.stages else _refusal(picture, bad, now)
        made = guardian_replacement.creation(picture, left, Place(home))
        return guardian_replacement.arrival(picture, plan, made, now).tell(*_birth(picture))
    pod = waiting[0]
    if guardian.is_gated(pod):
        in_the_way = any(each.spec.node_name == home for each in rest)
        step = guardian_replacement.opening(pod, now)
        return plan if in_the_way else guardian_replacement.arrival(picture, plan, (step,), now)
    return _unplaced(picture, pod, plan, now)


def _unplaced(picture: Picture, pod: Pod, plan: Plan, now: datetime) -> Plan:
    """Says why a guardian has no node; one that returns to its node is given time while that seems to have room."""
    ticket, home = picture.ticket, picture.ticket.status.node_name
    why, patient_until = unschedulable(pod), _patient_until(pod)
    if not why and patient_until is not None and now >= patient_until:
        why = f"scheduler {ticket.spec.scheduler_name} has said nothing about {pod.metadata.name}"
    is_early = patient_until is not None and now < patient_until
    if not why:
        return plan.wake(patient_until)
    leaves = any(each.spec.node_name == home for each in picture.lost)
    if home and is_early and (leaves or picture.has_room(pod)):
        return plan.wake(now + guardian_replacement.PATIENCE)
    unplaced = ticket_status.unplaced(ticket, why, now, cordoned=picture.is_closed(home))
    return ticket_status.report(ticket, unplaced)


def _again_at(picture: Picture, now: datetime) -> datetime | None:
    """When the next guardian may follow one that failed as soon as it came, and stays to tell; None is now."""
    made = (
        pod.metadata.creation_timestamp
        for pod in picture.lost
        if core.is_finished(pod) and not is_leaving(pod)
    )
    return max((at + NEXT_TRY for at in made if at and at <= now < at + NEXT_TRY), default=None)


def _patient_until(pod: Pod) -> datetime | None:
    """When a guardian has waited for its scheduler for so long that people should know."""
    since = guardian_replacement.waits_since(pod)
    return None if since is None else since + SILENCE


def _refusal(picture: Picture, message: str, now: datetime) -> Plan:
    ticket, home = picture.ticket, picture.ticket.status.node_name
    status = ticket_status.pending(ticket, Reason.GUARDIAN_REFUSED, message, now, home=home)
    return ticket_status.report(ticket, status)


def _not_yet(picture: Picture, now: datetime) -> Plan:
    """The time of the ticket has not come, nor that of its guardian."""
    ticket = picture.ticket
    start = deadlines.opens_at(ticket)
    said = f"starts at {instant.render(start)}" if start is not None else ""
    home = ticket.status.node_name if ticket.status.shared_by else ""
    status = ticket_status.pending(ticket, Reason.SCHEDULED, said, now, home=home)
    if status != ticket.status:
        return ticket_status.report(ticket, status)
    return picture.dismissal(picture.guardians, now)


def _rank(picture: Picture, pod: Pod) -> tuple[bool, bool, str]:
    """The best of several guardians first: one that can be claimed, then the one that is known, then any."""
    known = str(key_of(pod)) == picture.ticket.status.guardian_pod
    return (picture.is_cordoned(pod), not known, pod.metadata.name)


def _birth(picture: Picture) -> tuple[Notice, ...]:
    """Tells of a ticket that nobody else tells of: one made by hand."""
    ticket = picture.ticket
    if ticket.status.phase is not None or controller_of(ticket) is not None:
        return ()
    return (Notice(TICKETS, ticket, "Created", "the ticket is looked after from now on"),)
