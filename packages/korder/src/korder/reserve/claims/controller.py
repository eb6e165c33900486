"""Claims: assigns the tickets of a namespace to the pods that wait for them, and reports pods with forged answers.

One key is one namespace. The controller gathers waiting pods and free tickets; `plan` decides. A second controller looks once at every new pod that
carries an annotation only korder writes.
"""

from collections.abc import Collection, Hashable, Iterable
from datetime import datetime
from typing import NamedTuple

from korder.api.reserve import HANDOVER_TAINT, ORDERS, TICKETS, Ticket, TicketPhase
from korder.reserve.admission import verdicts
from korder.reserve.claims import inventory, patches, plan
from korder.reserve.claims.inventory import Market, Stock
from korder.reserve.claims.requirements import Site
from korder.reserve.handovers import completion, handover_state
from kubeloop.client.errors import ApiError
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import HasMetadata, Key, key_of
from kubeloop.objects.plan import NOTHING, Patch, Plan, Step
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change, Reader, by_namespace

BY_NAMESPACE = "claims.namespace"
BY_NODE = "claims.node"
BY_CLAIMANT = "claims.claimant"
HANDED_OVER = "handovers.node"
"""Index of tickets: by the node on which they are handed over."""
EVERYWHERE = ""
"""Under this they are all listed in that index."""
_SOUGHT = "claims.sought"
_UNREPORTED = "claims.untold"
"""Index of pods: by namespace, those that went without a ticket and say that they wait."""
_WAITING = "claims.waiting"
_SHELVES = "claims.shelves"
_KINDS = "claims.kinds"
_CLAIMING = "claims.claiming"
_UNBOUND = "claims.unbound"
_DETAINED = "claims.detained"
"""Index of pods: by namespace, the guardians that cannot be deleted at once."""
_IN_USE = frozenset({TicketPhase.CLAIMING, TicketPhase.CLAIMED})


class _Shelf(NamedTuple):
    """Where tickets are listed that are alike."""

    namespace: str
    form: bytes


class Claims:
    """Matches waiting pods and free tickets."""

    def __init__(self, manager: Manager) -> None:
        self._pods = manager.informers.of(PODS)
        self._tickets = manager.informers.of(TICKETS)
        self._orders = manager.informers.of(ORDERS)
        self._nodes = manager.informers.of(NODES)
        self._pods.add_index(_SOUGHT, _sought)
        self._pods.add_index(_UNREPORTED, _unreported)
        self._pods.add_index(_WAITING, lambda pod: ("",) if any(_sought(pod)) else ())
        self._pods.add_index(BY_NODE, by_node)
        self._pods.add_index(_DETAINED, _detained)
        self._tickets.add_index(BY_NAMESPACE, by_namespace)
        self._tickets.add_index(BY_CLAIMANT, by_claimant)
        self._tickets.add_index(HANDED_OVER, handed_over)
        self._tickets.add_index(_SHELVES, _shelf)
        self._tickets.add_index(_KINDS, _kind)
        self._tickets.add_index(_CLAIMING, _claiming)
        self._tickets.add_index(_UNBOUND, _unbound)
        self._orders.add_index(BY_NAMESPACE, by_namespace)
        self._controller = manager.controller("claims", self._reconcile, refused=self._refused)
        self._controller.follow(self._pods, _concerned)
        self._controller.follow(self._tickets, _home)
        self._controller.follow(self._orders, _home)
        self._nodes.on_change(self._node_changed)

    def _reconcile(self, key: Key, now: datetime) -> Plan:
        waiting, unreported = self._without(_SOUGHT, key), self._without(_UNREPORTED, key)
        if not waiting and not unreported:
            return NOTHING
        market = Market(
            key.name,
            self._tickets.reader.where(BY_NAMESPACE, key.name),
            self._orders.reader.where(BY_NAMESPACE, key.name),
            self._site,
            now,
            self._stock(key.name),
            tuple(self._tickets.reader.where(_UNBOUND, key.name)),
            self._blocked(key.name),
        )
        return plan.plan(waiting, market, unreported)

    def _without(self, index: str, key: Key) -> list[Pod]:
        """The pods of an index that have no ticket and are not about to."""
        return [
            pod
            for pod in self._pods.reader.where(index, key.name)
            if not self._tickets.reader.where(BY_CLAIMANT, pod.metadata.uid)
        ]

    def _refused(self, _: Key, step: Step, error: ApiError, now: datetime) -> Plan | None:
        """Tells a pod that it may not even go without a ticket."""
        pod = self._pods.reader.get(step.key) if isinstance(step, Patch) else None
        if pod is None or not patches.lets_go(step, pod):
            return None
        return completion.report_unchanged(pod, error.message, now)

    def _stock(self, namespace: str) -> Stock:
        """What there is in a namespace, as the indexes have it."""
        kinds = [next(iter(alike)) for alike in self._alike(_KINDS, namespace)]
        claiming = self._tickets.reader.where(_CLAIMING, namespace)
        return Stock(self._alike(_SHELVES, namespace), claiming, kinds)

    def _blocked(self, namespace: str) -> dict[str, str]:
        """The tickets that cannot be handed over now, by UID; only guardians that cannot be deleted are looked at."""
        detained = self._pods.reader.where(_DETAINED, namespace)
        return handover_state.among(detained, self._tickets.reader.get)

    def _alike(self, index: str, namespace: str) -> list[Collection[Ticket]]:
        tickets = self._tickets.reader
        return [
            tickets.where(index, shelf)
            for shelf in tickets.values(index)
            if isinstance(shelf, _Shelf) and shelf.namespace == namespace
        ]

    def _site(self, name: str) -> Site | None:
        node = self._nodes.reader.get(Key("", name))
        if node is None:
            return None
        return Site(node, pods_on(name, self._pods.reader), self._coming(name))

    def _coming(self, node: str) -> list[Pod]:
        """The pods to which room is being handed over on a node."""
        claims = (
            ticket.status.claimed_by for ticket in self._tickets.reader.where(HANDED_OVER, node)
        )
        keys = (Key(by.namespace, by.name) for by in claims if by is not None)
        return [pod for key in keys if (pod := self._pods.reader.get(key)) is not None]

    def _node_changed(self, change: Change[Node]) -> None:
        """A node that opens, or is marked otherwise, may give hope to any pod that waits; a heartbeat does not."""
        old, new = change
        if new is None or (old is not None and _marks(old) == _marks(new)):
            return
        for pod in self._pods.reader.where(_WAITING, ""):
            for key in map(_key, _sought(pod)):
                self._controller.queue.add(key)


def pods_on(node: str, pods: Reader[Pod]) -> Collection[Pod]:
    """The pods that are bound to a node or have been promised it."""
    return pods.where(BY_NODE, node)


def by_node(pod: Pod) -> Iterable[Hashable]:
    """Index: the node a pod is on, or is about to be."""
    return filter(None, (pod.spec.node_name or pod.status.nominated_node_name,))


def by_claimant(ticket: Ticket) -> Iterable[Hashable]:
    """Index: the UIDs of the pods that have the ticket or are about to."""
    status = ticket.status
    if status.claimed_by is not None and status.phase in _IN_USE:
        yield status.claimed_by.uid
    yield from (share.uid for share in status.shared_by)


def handed_over(ticket: Ticket) -> Iterable[str]:
    """Index: the node on which a ticket is handed over, and all that are."""
    for node in nodes_of(ticket):
        yield node
        yield EVERYWHERE


def nodes_of(ticket: Ticket) -> Iterable[str]:
    """The node on which a ticket is handed over, if it is."""
    is_there = inventory.is_claiming(ticket) and ticket.status.node_name
    return (ticket.status.node_name,) if is_there else ()


def _shelf(ticket: Ticket) -> Iterable[Hashable]:
    form = inventory.shelf_of(ticket)
    return () if form is None else (_Shelf(ticket.metadata.namespace, form),)


def _kind(ticket: Ticket) -> Iterable[Hashable]:
    form = inventory.kind_of(ticket)
    return () if form is None else (_Shelf(ticket.metadata.namespace, form),)


def _claiming(ticket: Ticket) -> Iterable[Hashable]:
    return (ticket.metadata.namespace,) if inventory.is_claiming(ticket) else ()


def _unbound(ticket: Ticket) -> Iterable[Hashable]:
    return (ticket.metadata.namespace,) if ticket.status.unbound_workload else ()


def _detained(pod: Pod) -> Iterable[str]:
    return (pod.metadata.namespace,) if handover_state.ticket_key(pod) is not None else ()


def _concerned(pod: Pod) -> Iterable[Key]:
    """The namespaces in which a pod seeks, or in which it keeps a ticket from others: that changes with its finalizers alone."""
    keeps = _detained(pod) if pod.metadata.finalizers else ()
    return map(_key, (*_sought(pod), *_unreported(pod), *keeps))


def _sought(pod: Pod) -> Iterable[str]:
    return filter(None, (plan.sought_namespace(pod),))


def _unreported(pod: Pod) -> Iterable[str]:
    return (pod.metadata.namespace,) if plan.is_unreported(pod) else ()


def _key(namespace: str) -> Key:
    return Key("", namespace)


def _home(obj: HasMetadata) -> Iterable[Key]:
    return (_key(obj.metadata.namespace),)


def _marks(node: Node) -> object:
    taints = [taint for taint in node.spec.taints if taint.key != HANDOVER_TAINT]
    return node.metadata.labels, taints, node.spec.unschedulable


class SpoofedAnnotations:
    """Finds claims that are none."""

    def __init__(self, manager: Manager) -> None:
        self._pods = manager.informers.of(PODS)
        self._tickets = manager.informers.of(TICKETS)
        self._tickets.add_index(BY_CLAIMANT, by_claimant)
        self._controller = manager.controller("pretenders", self._reconcile, workers=1)
        self._pods.on_change(self._pod_changed)

    def _pod_changed(self, change: Change[Pod]) -> None:
        old, new = change
        if old is None and new is not None and verdicts.words(new):
            self._controller.queue.add(key_of(new))

    def _reconcile(self, key: Key, now: datetime) -> Plan:
        pod = self._pods.reader.get(key)
        if pod is None:
            return NOTHING
        claimed = self._tickets.reader.where(BY_CLAIMANT, pod.metadata.uid)
        return verdicts.plan(pod, now, claims=bool(claimed))
