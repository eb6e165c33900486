"""What a pod requires of a ticket: what it asks for, whether it may claim it, whether it fits, and how long its workload backs off."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
import re

from korder.api.reserve import (
    FALLBACK_AFTER_ANNOTATION,
    HANDOVER_TAINT,
    ORDER_ANNOTATION,
    ORDER_REQUEST_ANNOTATION,
    REQUIRED_ANNOTATION,
    TICKET_REQUEST_ANNOTATION,
    Owner,
    Ticket,
)
from korder.reserve.tickets import state as ticket_state
from kubeloop.objects import (
    duration,
    node_room,
    pod_requests,
    quantity,
    resources,
    scheduling,
    selector,
)
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import Key, controller_of
from kubeloop.objects.node_room import Demand
from kubeloop.objects.resources import Resources
from kubeloop.objects.selector import Selector
from kubeloop.objects.workloads import STATEFUL_SETS

FIRST, LONGEST = timedelta(seconds=10), timedelta(minutes=5)
"""The first pause after a failure, doubled with each further one, and the longest."""
_MOST_DOUBLINGS = 5
_FORGOTTEN_AFTER = timedelta(hours=1)


def workload_of(pod: Pod) -> str:
    """What the pods have in common that are made in place of this one; empty for a pod that no controller makes again."""
    owner = controller_of(pod)
    if owner is None:
        return ""
    is_set = (owner.api_version, owner.kind) == (STATEFUL_SETS.api_version, STATEFUL_SETS.kind)
    return f"{owner.uid}/{pod.metadata.name}" if is_set else owner.uid


def counted(ticket: Ticket, workload: str) -> int:
    """How often pods of this workload were not bound by the ticket, with the failure of now."""
    is_again = bool(workload) and ticket.status.unbound_workload == workload
    return ticket.status.unbound_count + 1 if is_again else 1


def pauses(tickets: Iterable[Ticket], now: datetime) -> dict[str, datetime]:
    """Until when workloads claim nothing, by what these tickets say of them; a failure is forgotten after an hour."""
    last: dict[str, datetime] = {}
    times: dict[str, int] = {}
    for ticket in tickets:
        at, workload = ticket.status.unbound_time, ticket.status.unbound_workload
        if workload and at is not None and now < at + _FORGOTTEN_AFTER:
            last[workload] = max(at, last.get(workload, at))
            times[workload] = times.get(workload, 0) + ticket.status.unbound_count
    until = {each: at + _pause(times[each]) for each, at in last.items()}
    return {each: at for each, at in until.items() if at > now}


def _pause(failures: int) -> timedelta:
    return min(FIRST * (1 << min(max(failures - 1, 0), _MOST_DOUBLINGS)), LONGEST)


_SLOT = "pods"
_NODE_NAME = "metadata.name"
_PASSING = (HANDOVER_TAINT,)
"""Taints that are gone when the pod comes, or that it will tolerate."""


@dataclass(frozen=True, slots=True)
class Site:
    """A node, the pods on it, and those that have claimed a ticket there and are on their way."""

    node: Node
    pods: Collection[Pod] = field(default_factory=tuple)
    coming: Collection[Pod] = field(default_factory=tuple)


def needs_of(pod: Pod) -> dict[str, quantity.Quantity]:
    """What the pod takes of a ticket: its effective requests; its place in the node's pod count is not held by tickets."""
    needs = pod_requests.requests(pod)
    needs.pop(_SLOT, None)
    return needs


def too_small(needs: Resources, left: Resources) -> str:
    """Says what a ticket has too little of; nothing if it is large enough."""
    for short in resources.fits(needs, left):
        held = short.free if short.free.nano > 0 else "none"
        return f"needs {short.name} {short.requested}, it holds {held}"
    return ""


def is_large_enough(needs: Resources, left: Resources) -> bool:
    """Says whether a ticket has enough of everything."""
    return not resources.fits(needs, left)


def leaves_some(pod: Pod, ticket: Ticket) -> bool:
    """Says whether a guardian stays beside the pod, for what it leaves of a ticket that may be shared."""
    if ticket.spec.allocate_once:
        return False
    needs, left = needs_of(pod), ticket_state.remainder(ticket, ticket.status.shared_by)
    return any(amount > needs.get(name, quantity.ZERO) for name, amount in left.items())


def only_nodes(pod: Pod) -> Collection[str] | None:
    """The names of the only nodes where the pod can be, as those of a DaemonSet have it; nothing if its affinity leaves others open."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    names: set[str] = set()
    for term in terms:
        fixed = [
            each for each in term.match_fields if each.key == _NODE_NAME and each.operator == "In"
        ]
        if not fixed:
            return None
        names.update(fixed[0].values)
    return sorted(names) or None


def places(site: Site) -> int:
    """How many more pods the node takes."""
    free = node_room.room_of(site.node, site.pods).free().get(_SLOT, quantity.ZERO)
    return free.value()


def unsuited(pod: Pod, site: Site | None, *, beside: bool = False) -> str:
    """Says why the pod cannot be on the ticket's node, beside its guardian if that stays; nothing if it can."""
    why = closed(pod, site)
    return why if why or site is None else crowded(pod, site, beside=beside)


def closed(pod: Pod, site: Site | None) -> str:
    """Says why the node takes no such pod, whoever else is there; nothing if it does. One that is cordoned takes none, whatever it tolerates (rule 12)."""
    if site is None:
        return "its node is gone"
    if site.node.spec.unschedulable:
        return f"node {site.node.metadata.name} is cordoned"
    for mismatch in scheduling.unsuited(pod.spec, site.node, _PASSING):
        return mismatch.message
    return ""


def crowded(pod: Pod, site: Site, *, beside: bool) -> str:
    """Says what the pods on the node have, or will have, that this one needs; nothing if they leave it all."""
    demand = node_room.demand_of(pod)
    for name in overbooked(site, demand):
        return f"needs {name}, of which the pods on node {site.node.metadata.name} request more than it has"
    if demand.ports:
        room = node_room.room_of(site.node, (*site.pods, *site.coming))
        for port in room.taken_ports(demand):
            return f"needs host port {port}, which is taken on node {site.node.metadata.name}"
    if beside and places(site) < 1:
        return (
            f"needs a place beside the guardian, node {site.node.metadata.name} takes no more pods"
        )
    return ""


def overbooked(site: Site, demand: Demand) -> list[str]:
    """What the pods on a node request more of than it has now, of what a pod needs: a guardian's place would not do for it."""
    free = _left_by_bound(site)
    return [name for name in demand.amounts if free.get(name, quantity.ZERO) < quantity.ZERO]


def is_overbooked(site: Site) -> bool:
    """Says whether the pods on a node request more of anything than it has now."""
    return any(amount < quantity.ZERO for amount in _left_by_bound(site).values())


def _left_by_bound(site: Site) -> dict[str, quantity.Quantity]:
    bound = [pod for pod in site.pods if pod.spec.node_name]
    return node_room.room_of(site.node, bound).free()


def of_any_node(mismatch: str, node: str) -> str:
    """Why a node does not suit, in words that are the same for all nodes like it; each names its node last."""
    before, found, after = mismatch.rpartition(f"node {node}")
    return f"{before}its node{after}" if found else mismatch


_DEFAULT_ACCOUNT = "default"


def may_claim(ticket: Ticket, pod: Pod) -> bool:
    """Says whether the pod is one of those the ticket is for."""
    home = ticket.metadata.namespace
    if not ticket.spec.owners:
        return pod.metadata.namespace == home
    return any(_covers(owner, pod, home) for owner in ticket.spec.owners)


def labels_asked_for(tickets: Iterable[Ticket]) -> frozenset[str]:
    """The keys of all labels of pods that decide who may claim."""
    selectors = (owner.pod_selector for ticket in tickets for owner in ticket.spec.owners)
    return frozenset(
        key
        for each in selectors
        if each is not None
        for key in (*each.match_labels, *(one.key for one in each.match_expressions))
    )


def _covers(owner: Owner, pod: Pod, home: str) -> bool:
    account = pod.spec.service_account_name or _DEFAULT_ACCOUNT
    return (
        pod.metadata.namespace in (owner.namespaces or (home,))
        and account in (owner.service_accounts or (account,))
        and (owner.pod_selector is None or _selects(owner, pod))
    )


def _selects(owner: Owner, pod: Pod) -> bool:
    try:
        return selector.from_struct(owner.pod_selector).matches(pod.metadata.labels)
    except selector.InvalidSelector:
        return False


REQUEST_ANNOTATIONS = (
    REQUIRED_ANNOTATION,
    ORDER_ANNOTATION,
    ORDER_REQUEST_ANNOTATION,
    TICKET_REQUEST_ANNOTATION,
    FALLBACK_AFTER_ANNOTATION,
)
"""All annotations by which a pod asks for a ticket; a pod with none of them asks for none."""

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")
_FORMS = "name:<ticket>, selector:<labels>, group:<group>, or the ticket's bare name"


class InvalidRequest(ValueError):
    """The annotations cannot be understood or contradict each other; its text is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a pod wants to have.

    Attributes:
        asks: Whether the pod wants a ticket at all.
        required: Whether it waits for one, however long.
        order: The order it must be of, with its namespace where that is not the pod's own.
        ticket: The ticket's name, if only one will do.
        labels: What labels the ticket must have.
        group: The ticket group it must be of.
        fallback_after: How long a pod that only prefers a ticket waits for one.
    """

    asks: bool = True
    required: bool = False
    order: Key | None = None
    ticket: str = ""
    labels: Selector = selector.EVERYTHING
    group: str = ""
    fallback_after: timedelta = timedelta()

    def namespace(self, own: str) -> str:
        """Where the tickets are that come into question, for a pod of the namespace `own`."""
        return self.order.namespace or own if self.order is not None else own


def request_of(annotations: Mapping[str, str]) -> Request:
    """Reads what a pod asks for.

    Raises:
        InvalidRequest: nobody could say what is wanted.
    """
    required = _required(annotations)
    order = _order(annotations)
    sought = annotations.get(TICKET_REQUEST_ANNOTATION)
    if sought is not None and ORDER_REQUEST_ANNOTATION in annotations:
        raise InvalidRequest(
            f"annotations {TICKET_REQUEST_ANNOTATION} and {ORDER_REQUEST_ANNOTATION} exclude each other: "
            f"use one of them, or {ORDER_ANNOTATION} to narrow {TICKET_REQUEST_ANNOTATION}"
        )
    ticket, labels, group = _ticket(sought) if sought is not None else ("", selector.EVERYTHING, "")
    wait = annotations.get(FALLBACK_AFTER_ANNOTATION)
    if wait is not None and required:
        raise InvalidRequest(
            f"annotation {FALLBACK_AFTER_ANNOTATION} must not be used together with {REQUIRED_ANNOTATION}=true: "
            "a pod that requires a ticket never falls back"
        )
    asks = required or order is not None or sought is not None or wait is not None
    return Request(asks, required, order, ticket, labels, group, _wait(wait))


def _required(annotations: Mapping[str, str]) -> bool:
    text = annotations.get(REQUIRED_ANNOTATION, "false")
    if text not in ("true", "false"):
        raise InvalidRequest(
            f"annotation {REQUIRED_ANNOTATION} must be true or false, not {text[:64]!r}"
        )
    return text == "true"


def _order(annotations: Mapping[str, str]) -> Key | None:
    names = (ORDER_ANNOTATION, ORDER_REQUEST_ANNOTATION)
    said = {name: _order_key(name, annotations[name]) for name in names if name in annotations}
    if len(set(said.values())) > 1:
        raise InvalidRequest(
            f"annotations {ORDER_ANNOTATION} and {ORDER_REQUEST_ANNOTATION} name different orders, "
            f"{said[ORDER_ANNOTATION]} and {said[ORDER_REQUEST_ANNOTATION]}: use one of them"
        )
    return next(iter(said.values()), None)


def _order_key(annotation: str, text: str) -> Key:
    namespace, slash, name = text.rpartition("/")
    if (slash and not _is_name(namespace, 63)) or not _is_name(name, 253):
        raise InvalidRequest(
            f"annotation {annotation} must be an order's name or namespace/name, not {text[:128]!r}"
        )
    return Key(namespace, name)


def _ticket(text: str) -> tuple[str, Selector, str]:
    """A ticket's name, labels or group, of which one is given."""
    form, colon, rest = text.partition(":")
    if not colon:
        form, rest = "name", text
    if form == "name" and _is_name(rest, 253):
        return rest, selector.EVERYTHING, ""
    if form == "group" and rest.strip() == rest and rest:
        return "", selector.EVERYTHING, rest
    if form == "selector" and rest.strip():
        try:
            return "", selector.parse(rest), ""
        except selector.InvalidSelector as error:
            raise InvalidRequest(f"annotation {TICKET_REQUEST_ANNOTATION}: {error}") from None
    raise InvalidRequest(
        f"annotation {TICKET_REQUEST_ANNOTATION} must be {_FORMS}, not {text[:128]!r}"
    )


def _wait(text: str | None) -> timedelta:
    if text is None:
        return timedelta()
    try:
        wait = duration.parse(text)
    except duration.InvalidDuration as error:
        raise InvalidRequest(f"annotation {FALLBACK_AFTER_ANNOTATION}: {error}") from None
    if wait.nanoseconds < 0:
        raise InvalidRequest(
            f"annotation {FALLBACK_AFTER_ANNOTATION} must not be negative, as {text[:64]!r} is"
        )
    return wait.timedelta


def _is_name(text: str, most: int) -> bool:
    return len(text) <= most and _NAME.fullmatch(text) is not None
