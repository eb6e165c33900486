"""Claims: assigns the tickets of a namespace to the pods that wait for them, and reports pods with forged answers.

One key is one namespace. The controller gathers waiting pods and free tickets; `plan` decides. A second controller looks once at every new pod that
carries an annotation only korder writes.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from korder.api.reserve import HANDOVER_TAINT, ORDERS, TICKETS, Ticket
from korder.reserve import indexes
from korder.reserve.admission import verdicts
from korder.reserve.claims import patches, plan
from korder.reserve.claims.inventory import Market, Stock
from korder.reserve.claims.requirements import Site
from korder.reserve.handovers import completion, handover_state
from kubeloop.client.errors import ApiError
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import HasMetadata, Key, key_of
from kubeloop.objects.plan import NOTHING, Patch, Plan, Step
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change


class Claims:
    """Matches waiting pods and free tickets."""

    def __init__(self, manager: Manager) -> None:
        self._pods = manager.informers.of(PODS)
        self._tickets = manager.informers.of(TICKETS)
        self._orders = manager.informers.of(ORDERS)
        self._nodes = manager.informers.of(NODES)
        self._pods.add_indexes(indexes.OF_PODS)
        self._tickets.add_indexes(indexes.OF_TICKETS)
        self._orders.add_indexes(indexes.OF_ORDERS)
        self._controller = manager.controller("claims", self._reconcile, refused=self._refused)
        self._controller.follow(self._pods, _concerned)
        self._controller.follow(self._tickets, _home)
        self._controller.follow(self._orders, _home)
        self._nodes.on_change(self._node_changed)

    def _reconcile(self, key: Key, now: datetime) -> Plan:
        waiting, unreported = (
            self._without(indexes.PODS_SEEKING, key),
            self._without(indexes.PODS_UNREPORTED, key),
        )
        if not waiting and not unreported:
            return NOTHING
        market = Market(
            key.name,
            self._tickets.reader.where(indexes.TICKETS_BY_NAMESPACE, key.name),
            self._orders.reader.where(indexes.ORDERS_BY_NAMESPACE, key.name),
            self._site,
            now,
            self._stock(key.name),
            tuple(self._tickets.reader.where(indexes.TICKETS_UNBOUND, key.name)),
            self._blocked(key.name),
        )
        return plan.plan(waiting, market, unreported)

    def _without(self, index: str, key: Key) -> list[Pod]:
        """The pods of an index that have no ticket and are not about to."""
        return [
            pod
            for pod in self._pods.reader.where(index, key.name)
            if not self._tickets.reader.where(indexes.TICKETS_BY_CLAIMANT, pod.metadata.uid)
        ]

    def _refused(self, _: Key, step: Step, error: ApiError, now: datetime) -> Plan | None:
        """Tells a pod that it may not even go without a ticket."""
        pod = self._pods.reader.get(step.key) if isinstance(step, Patch) else None
        if pod is None or not patches.lets_go(step, pod):
            return None
        return completion.report_unchanged(pod, error.message, now)

    def _stock(self, namespace: str) -> Stock:
        """What there is in a namespace, as the indexes have it."""
        kinds = [next(iter(alike)) for alike in self._alike(indexes.TICKETS_BY_KIND, namespace)]
        claiming = self._tickets.reader.where(indexes.TICKETS_CLAIMING, namespace)
        return Stock(self._alike(indexes.TICKETS_BY_SHELF, namespace), claiming, kinds)

    def _blocked(self, namespace: str) -> dict[str, str]:
        """The tickets that cannot be handed over now, by UID; only guardians that cannot be deleted are looked at."""
        detained = self._pods.reader.where(indexes.PODS_DETAINED, namespace)
        return handover_state.among(detained, self._tickets.reader.get)

    def _alike(self, index: str, namespace: str) -> list[Collection[Ticket]]:
        tickets = self._tickets.reader
        return [
            tickets.where(index, shelf)
            for shelf in tickets.values(index)
            if isinstance(shelf, indexes.Alike) and shelf.namespace == namespace
        ]

    def _site(self, name: str) -> Site | None:
        node = self._nodes.reader.get(Key("", name))
        if node is None:
            return None
        return Site(node, self._pods.reader.where(indexes.PODS_BY_NODE, name), self._coming(name))

    def _coming(self, node: str) -> list[Pod]:
        """The pods to which room is being handed over on a node."""
        claims = (
            ticket.status.claimed_by
            for ticket in self._tickets.reader.where(indexes.TICKETS_BY_HANDOVER_NODE, node)
        )
        keys = (Key(by.namespace, by.name) for by in claims if by is not None)
        return [pod for key in keys if (pod := self._pods.reader.get(key)) is not None]

    def _node_changed(self, change: Change[Node]) -> None:
        """A node that opens, or is marked otherwise, may give hope to any pod that waits; a heartbeat does not."""
        old, new = change
        if new is None or (old is not None and _marks(old) == _marks(new)):
            return
        for pod in self._pods.reader.where(indexes.PODS_SEEKING_ANYWHERE, indexes.ALL):
            for key in map(_key, indexes.sought_namespaces(pod)):
                self._controller.queue.add(key)


def _concerned(pod: Pod) -> Iterable[Key]:
    """The namespaces in which a pod seeks, or in which it keeps a ticket from others: that changes with its finalizers alone."""
    keeps = indexes.detained_namespaces(pod) if pod.metadata.finalizers else ()
    return map(_key, (*indexes.sought_namespaces(pod), *indexes.unreported_namespaces(pod), *keeps))


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
        self._tickets.add_indexes(indexes.OF_TICKETS)
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
        claimed = self._tickets.reader.where(indexes.TICKETS_BY_CLAIMANT, pod.metadata.uid)
        return verdicts.plan(pod, now, claims=bool(claimed))
