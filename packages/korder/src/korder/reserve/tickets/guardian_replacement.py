"""Guardians that come in the place of something: behind a gate, nominated, and let go when the room is free.

`reserve_phase` and `plan` call it. Where a new guardian is to take room that is still in use it waits behind a gate, nominated to its
node, and the gate falls when the room is free (rules 10, 11): ungated it would fail to fit, and a failed attempt costs the nomination
(K9). Which guardian is meant for what is read from the mark it was made with, so a crash in between changes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from korder.api.reserve import (
    GUARDIAN_HASH_ANNOTATION,
    NOMINATION_SCHEDULER_ANNOTATION,
    OPENED_ANNOTATION,
    ROOM_PROMISED_CONDITION,
    Reason,
    Ticket,
    TicketPhase,
)
from korder.reserve.claims import patches as claim_patches
from korder.reserve.tickets import guardian, state
from korder.reserve.tickets.guardian import Place
from korder.reserve.tickets.snapshot import Snapshot
from kubeloop.objects import instant, quantity, scheduling
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import Create, Patch, PatchType, Plan, Step
from kubeloop.objects.quantity import Quantity

Amounts = Mapping[str, Quantity]
PATIENCE = timedelta(seconds=1)
"""How long to leave a node alone on which others are about to take room."""
_ON_THE_WAY = frozenset({Reason.RETURNING, Reason.CLAIM_UNDONE, Reason.NEVER_BOUND})


def prepare(snapshot: Snapshot, amounts: Amounts, place: Place, now: datetime) -> Plan:
    """Places a guardian behind its gate, nominated to the node whose room it is to take.

    Not while others are about to take room there: what is nominated counts besides what still stands, and they would not fit.
    """
    if snapshot.options.nominate and snapshot.node_is_crowded:
        return Plan().requeue(now + PATIENCE)
    waiting = [pod for pod in snapshot.live if not pod.spec.node_name]
    bound = (pod for pod in snapshot.live if pod.spec.node_name == place.node)
    if any(fits(snapshot, pod, amounts, place.node) for pod in bound):
        return snapshot.dismissal(waiting, now)
    fit = [pod for pod in waiting if fits(snapshot, pod, amounts, place.node)]
    if not fit:
        return snapshot.dismissal(waiting, now).then(*creation(snapshot, amounts, place))
    known = _is_known(fit[0], place.node, snapshot.scheduler)
    if snapshot.options.nominate and guardian.is_gated(fit[0]) and not known:
        return Plan().then(_nomination(fit[0], place.node, snapshot.scheduler, now))
    return snapshot.dismissal([pod for pod in waiting if pod is not fit[0]], now)


def is_protected(snapshot: Snapshot, amounts: Amounts, node: str) -> bool:
    """Says whether room that is vacated on the node is kept for the guardian that waits for it."""
    if snapshot.options.nominate:
        return not snapshot.node_is_crowded
    waiting = (pod for pod in snapshot.live if not pod.spec.node_name)
    return bool(snapshot.barrier) and any(
        claim_patches.tolerates(pod, snapshot.barrier)
        for pod in waiting
        if fits(snapshot, pod, amounts, node)
    )


def differences(snapshot: Snapshot, pod: Pod, amounts: Amounts) -> list[str]:
    """In what a guardian is not of this size; servers round what is finer than a thousandth."""
    has = guardian.holds(pod)
    pairs = (
        (name, has.get(name, quantity.ZERO), amounts.get(name, quantity.ZERO))
        for name in state.held(snapshot.ticket)
    )
    return [
        f"{name} {found} instead of {wanted}"
        for name, found, wanted in pairs
        if found.milli() != wanted.milli()
    ]


def is_altered(snapshot: Snapshot, pod: Pod, amounts: Amounts) -> bool:
    """Says whether a bound guardian was made for this size and has another."""
    return bool(differences(snapshot, pod, amounts)) and any(
        fits(snapshot, pod, amounts, node) for node in ("", pod.spec.node_name)
    )


def fits(snapshot: Snapshot, pod: Pod, amounts: Amounts, node: str) -> bool:
    """Says whether a guardian without a node is of the right size and on its way to the right place."""
    made_for = pod.metadata.annotations.get(GUARDIAN_HASH_ANNOTATION)
    return made_for == guardian.fingerprint(snapshot.ticket, amounts, node)


def creation(snapshot: Snapshot, amounts: Amounts, place: Place) -> tuple[Create, ...]:
    """One more guardian, unless the ticket may have none."""
    if guardian.forbidden(snapshot.ticket, snapshot.options):
        return ()
    spec = snapshot.ticket.spec
    if scheduling.tolerates_cordon(spec.tolerations) and not (place.node or spec.node_name):
        place = replace(place, avoided=tuple(snapshot.cordoned()))
    place = replace(place, taints=tuple(snapshot.taints()))
    made = guardian.body(snapshot.ticket, snapshot.free_name, snapshot.options, amounts, place)
    return (Create(PODS, made),)


def arrival(snapshot: Snapshot, plan: Plan, steps: Iterable[Step], now: datetime) -> Plan:
    """Lets a guardian take the room that is free for it; what others are promised there besides what they still have is taken back first.

    It counts like a pod, and the guardian would not fit. They are promised it again when the guardian is bound.
    """
    promised = snapshot.promised() if snapshot.ticket.status.node_name else ()
    if promised and snapshot.node_is_busy:
        return plan.requeue(now + PATIENCE)
    return plan.then(*(_withdrawal(each) for each in promised)).then(*steps)


def is_arriving(ticket: Ticket) -> bool:
    """Says whether a ticket is about to take its room on a node back, and nothing is known that keeps it from that."""
    status = ticket.status
    return (
        status.phase is TicketPhase.PENDING
        and ticket.metadata.deletion_timestamp is None
        and bool(status.node_name)
        and status.reason in _ON_THE_WAY
    )


def _nomination(pod: Pod, node: str, scheduler: str, now: datetime) -> Patch:
    """Lets the scheduler keep the room for a guardian behind its gate; to one that took over, the new words are news enough."""
    said: dict[str, JSON] = {"nominatedNodeName": node}
    if scheduler:
        condition: JSON = {
            "type": ROOM_PROMISED_CONDITION,
            "status": "True",
            "reason": "Nominated",
            "message": _words(node, scheduler),
            "lastTransitionTime": instant.render(now),
        }
        said["conditions"] = [condition]
    noted: JSON = {"annotations": {NOMINATION_SCHEDULER_ANNOTATION: scheduler}}
    body: JSON = {"metadata": noted, "status": said} if scheduler else {"status": said}
    form, uid = PatchType.STRATEGIC, pod.metadata.uid
    return Patch(PODS, key_of(pod), body, form, subresource="status", uid=uid)


def _withdrawal(pod: Pod) -> Patch:
    body: JSON = {"status": {"nominatedNodeName": None}}
    return Patch(PODS, key_of(pod), body, subresource="status", uid=pod.metadata.uid)


def _is_known(pod: Pod, node: str, scheduler: str) -> bool:
    """Says whether the scheduler that is at work now knows what a guardian is promised."""
    noted = pod.metadata.annotations.get(NOMINATION_SCHEDULER_ANNOTATION, "")
    is_news = scheduler and noted != scheduler
    return pod.status.nominated_node_name == node and not is_news


def _words(node: str, scheduler: str) -> str:
    return f"Room on node {node} is kept for this guardian. Scheduler {scheduler} knows."


def opening(pod: Pod, now: datetime) -> Patch:
    """Takes the gate off, from exactly the guardian that was seen, and notes when; the hand-over lets it pass a barrier."""
    meta = pod.metadata
    opened: JSON = {"annotations": {OPENED_ANNOTATION: instant.render(now)}}
    body: JSON = {"metadata": opened, "spec": {"schedulingGates": None}}
    return Patch(PODS, key_of(pod), body, uid=meta.uid, resource_version=meta.resource_version)


def waits_since(pod: Pod) -> datetime | None:
    """Since when the scheduler may place a guardian: since its gate fell, or since it was made."""
    try:
        return instant.parse(pod.metadata.annotations.get(OPENED_ANNOTATION, ""))
    except instant.InvalidInstant:
        return pod.metadata.creation_timestamp
