"""What tickets, guardians and claiming pods say of themselves, as the auditor reads it.

The invariants of this package ask. The rules of the domain know most of it too, but they are judged here. By the law of the simulation our
replicas are the processes whose name begins with `korder`.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from korder.api.reserve import (
    DEFAULT_DURATION,
    ENDED_PHASES,
    GUARDIAN_LABEL,
    ORDERS,
    SCHEDULING_GATE,
    TICKET_CLAIMED_ANNOTATION,
    TICKETS,
    Order,
    Ticket,
    TicketPhase,
)
from kubeloop.objects import core, duration, pod_requests, quantity
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import HasMetadata, Key, controller_of
from kubeloop.objects.quantity import Quantity
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject

KORDER = "korder"
CLAIMED = frozenset({TicketPhase.CLAIMING, TicketPhase.CLAIMED})
OPEN = frozenset({None, TicketPhase.PENDING, TicketPhase.RESERVED})


def is_ours(change: Change) -> bool:
    """Whether one of our replicas did it."""
    return change.by.startswith(KORDER)


def is_going(obj: HasMetadata) -> bool:
    """Whether its deletion has begun."""
    return obj.metadata.deletion_timestamp is not None


def about(ticket: Ticket) -> Subject:
    """Names a ticket for a report."""
    return Subject(str(TICKETS), ticket.metadata.namespace, ticket.metadata.name)


def about_pod(pod: Pod) -> Subject:
    """Names a pod for a report."""
    return Subject(str(PODS), pod.metadata.namespace, pod.metadata.name)


def ticket_at(subject: Subject, view: View) -> Ticket | None:
    """The ticket of this name."""
    return view.of(TICKETS).get(Key(subject.namespace, subject.name))


def order_of(ticket: Ticket, view: View) -> Order | None:
    """The order that a ticket belongs to, if that still is."""
    ref = controller_of(ticket)
    found = view.of(ORDERS).get(Key(ticket.metadata.namespace, ref.name)) if ref else None
    return found if found is not None and ref and found.metadata.uid == ref.uid else None


def is_guardian(pod: Pod) -> bool:
    """Whether a pod only holds room."""
    return pod.metadata.labels.get(GUARDIAN_LABEL) == "true"


def guardians(ticket: Ticket, view: View) -> list[Pod]:
    """All guardians of a ticket that exist, in whatever state."""
    return [pod for pod in view.owned(PODS, ticket.metadata.uid) if is_guardian(pod)]


def holds(pod: Pod) -> bool:
    """Whether a guardian holds room on a node, and is to go on."""
    return bool(pod.spec.node_name) and not core.is_finished(pod) and not is_going(pod)


def guarded(guardian: Pod, view: View) -> Ticket | None:
    """The ticket of a guardian, if that still is."""
    ref = controller_of(guardian)
    subject = view.bearer(ref.uid) if ref is not None else None
    return ticket_at(subject, view) if subject and subject.resource == str(TICKETS) else None


def holders(ticket: Ticket | None) -> frozenset[str]:
    """The UIDs of the pods that a ticket is given to."""
    if ticket is None or ticket.status.phase in ENDED_PHASES:
        return frozenset()
    status = ticket.status
    alone = {status.claimed_by.uid} if status.claimed_by and status.phase in CLAIMED else set()
    return frozenset(alone | {share.uid for share in status.shared_by})


def pod_of(uid: str, view: View) -> Pod | None:
    """The pod with this UID, if it exists."""
    subject = view.bearer(uid)
    if subject is None or subject.resource != str(PODS):
        return None
    return view.of(PODS).get(Key(subject.namespace, subject.name))


def lives(pod: Pod | None) -> bool:
    """Whether a pod exists and has neither ended nor been told to."""
    return pod is not None and not core.is_finished(pod) and not is_going(pod)


def is_gated(pod: Pod) -> bool:
    """Whether a pod waits for us."""
    return any(gate.name == SCHEDULING_GATE for gate in pod.spec.scheduling_gates)


def ticket_named_by(pod: Pod, view: View) -> Ticket | None:
    """The ticket that a pod was told to have: `name`, or `namespace/name`."""
    where, _, name = pod.metadata.annotations.get(TICKET_CLAIMED_ANNOTATION, "").rpartition("/")
    return view.of(TICKETS).get(Key(where or pod.metadata.namespace, name))


def is_let_go(change: Change, old: Pod | None, new: Pod | None) -> bool:
    """Whether the commit is the end of a pod's waiting, with a ticket that it is told of here; users may have written anything."""
    if old is None or new is None or not is_ours(change):
        return False
    was, now = (pod.metadata.annotations.get(TICKET_CLAIMED_ANNOTATION) for pod in (old, new))
    return is_gated(old) and not is_gated(new) and now is not None and now != was


def left(ticket: Ticket) -> dict[str, Quantity]:
    """What the pods that share a ticket leave of it."""
    rest = {name: quantity.parse(amount) for name, amount in ticket.spec.requests.items()}
    for share in ticket.status.shared_by:
        for name, amount in share.requests.items():
            if name in rest:
                rest[name] -= quantity.parse(amount)
    return _something(rest)


def asked_by(pod: Pod) -> dict[str, Quantity]:
    """What a pod takes from a node, but for its place."""
    return _something({n: q for n, q in pod_requests.requests(pod).items() if n != "pods"})


def fits(asked: Mapping[str, Quantity], room: Mapping[str, Quantity]) -> bool:
    """Whether everything that is asked for is there."""
    return all(amount <= room.get(name, quantity.ZERO) for name, amount in asked.items())


def length_of(ticket: Ticket) -> timedelta:
    """How long a ticket holds its room."""
    window = ticket.spec.window
    text = window.duration if window is not None else ticket.spec.duration
    return duration.parse(text or DEFAULT_DURATION).timedelta


def wants_replicas(order: Order) -> int:
    """How many tickets an order is to keep."""
    return 0 if is_going(order) else order.spec.replicas


def latest(instants: Iterable[datetime | None]) -> datetime | None:
    """The last of some instants."""
    return max((each for each in instants if each is not None), default=None)


def _something(amounts: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: amount for name, amount in amounts.items() if not amount.is_zero}
