"""Guardians that come in the place of something: behind a gate, nominated, and let go when the room is free.

`holding` and `ticketplan` call it. Where a new guardian is to take room that is still in use it waits behind a gate, nominated to its
node, and the gate falls when the room is free (rules 10, 11): ungated it would fail to fit, and a failed attempt costs the nomination
(K9). Which guardian is meant for what is read from the mark it was made with, so a crash in between changes nothing.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from korder.api import quantity
from korder.api.core import PODS, Pod
from korder.api.meta import JSON, key_of
from korder.api.plan import Create, Patch, Plan
from korder.api.quantity import Quantity
from korder.api.reserve import GUARDIAN_HASH_ANNOTATION
from korder.reserve.rules.tickets import guardian, usage
from korder.reserve.rules.tickets.guardian import Place
from korder.reserve.rules.tickets.picture import Picture

Amounts = Mapping[str, Quantity]
PATIENCE = timedelta(seconds=1)
"""How long to leave a node alone that is busy with a hand-over."""


def prepare(picture: Picture, amounts: Amounts, place: Place, now: datetime) -> Plan:
    """Places a guardian behind its gate, nominated to the node whose room it is to take.

    Not while a hand-over is under way there: what is nominated counts besides what still stands, and a pod of the batch would not fit.
    """
    if picture.node_is_busy:
        return Plan().wake(now + PATIENCE)
    waiting = [pod for pod in picture.live if not pod.spec.node_name]
    fit = [pod for pod in waiting if fits(picture, pod, amounts, place.node)]
    if not fit:
        return picture.dismissal(waiting, now).then(*creation(picture, amounts, place))
    named = fit[0].status.nominated_node_name == place.node
    if picture.options.nominate and guardian.is_gated(fit[0]) and not named:
        return Plan().then(nomination(fit[0], place.node))
    return picture.dismissal([pod for pod in waiting if pod is not fit[0]], now)


def differences(picture: Picture, pod: Pod, amounts: Amounts) -> list[str]:
    """In what a guardian is not of this size; servers round what is finer than a thousandth."""
    has = guardian.holds(pod)
    pairs = (
        (name, has.get(name, quantity.ZERO), amounts.get(name, quantity.ZERO))
        for name in usage.held(picture.ticket)
    )
    return [
        f"{name} {found} instead of {wanted}"
        for name, found, wanted in pairs
        if found.milli() != wanted.milli()
    ]


def is_altered(picture: Picture, pod: Pod, amounts: Amounts) -> bool:
    """Says whether a bound guardian was made for this size and has another."""
    return bool(differences(picture, pod, amounts)) and any(
        fits(picture, pod, amounts, node) for node in ("", pod.spec.node_name)
    )


def fits(picture: Picture, pod: Pod, amounts: Amounts, node: str) -> bool:
    """Says whether a guardian without a node is of the right size and on its way to the right place."""
    made_for = pod.metadata.annotations.get(GUARDIAN_HASH_ANNOTATION)
    return made_for == guardian.fingerprint(picture.ticket, amounts, node)


def creation(picture: Picture, amounts: Amounts, place: Place) -> tuple[Create, ...]:
    """One more guardian, unless the ticket may have none."""
    if guardian.forbidden(picture.ticket, picture.options):
        return ()
    made = guardian.body(picture.ticket, picture.free_name, picture.options, amounts, place)
    return (Create(PODS, made),)


def nomination(pod: Pod, node: str) -> Patch:
    """Lets the scheduler keep the room for a guardian behind its gate."""
    body: JSON = {"status": {"nominatedNodeName": node}}
    return Patch(PODS, key_of(pod), body, subresource="status", uid=pod.metadata.uid)


def opening(pod: Pod) -> Patch:
    """Takes the gate off, from exactly the guardian that was seen."""
    meta = pod.metadata
    body: JSON = {"spec": {"schedulingGates": None}}
    return Patch(PODS, key_of(pod), body, uid=meta.uid, resource_version=meta.resource_version)
