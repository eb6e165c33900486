"""Nodes that are lost: their condition becomes unknown, they are tainted, and pods that do not tolerate it are evicted.

Stands in for two controllers of kube-controller-manager. What counts is when a heartbeat was seen here, not what it says:
clocks of machines differ. Nothing is rationed: however many nodes are lost at once, all are tainted. `add_workloads` leaves
this out, because machines of tests that have no heartbeat would be lost; the embedded cluster adds it beside `Nodes`. Without
`leases` nobody is missed here: `nodes` says which Node is unknown, and all that follows from it is the same.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from kubeloop.objects import core, instant, scheduling
from kubeloop.objects.core import LEASES, NODES, PODS, Lease, Node, Pod, Taint
from kubeloop.objects.meta import JSON, Key, key_of
from kubeloop.objects.plan import NOTHING, Delete, Patch, PatchType, Plan
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Reader
from pocketkube.controllers import pod_control
from pocketkube.nodes.conditions import GRACE, silenced, tainted
from pocketkube.nodes.heartbeat import LEASE_NAMESPACE
from pocketkube.nodes.kubelet import BY_NODE, by_node


class _Beat(NamedTuple):
    uid: str
    renewed: datetime | None
    said: datetime | None
    at: datetime
    """When it was seen here."""


class NodeLifecycle:
    """Watches heartbeats, taints nodes, and empties those that are lost."""

    def __init__(self, manager: Manager, *, leases: bool = True) -> None:
        self._nodes = manager.informers.of(NODES)
        self._leases = manager.informers.of(LEASES) if leases else None
        self._pods = manager.informers.of(PODS)
        self._pods.add_index(BY_NODE, by_node)
        nodes = manager.controller("node-lifecycle", self._look)
        nodes.follow(self._nodes)
        if self._leases is not None:
            nodes.follow(self._leases, _node_of)
        pods = manager.controller("taint-eviction", self._judge)
        pods.follow(self._pods, self._threatened)
        pods.follow(self._nodes, lambda node: map(key_of, self._on(node)) if _expels(node) else ())
        self._heard: dict[str, _Beat] = {}
        """The last sign of life of each node."""
        self._tainted: dict[Key, tuple[str, datetime]] = {}
        """Since when pods are seen on a node that may drive them out, with their UID."""

    def _on(self, node: Node) -> Iterable[Pod]:
        return self._pods.reader.where(BY_NODE, node.metadata.name)

    def _threatened(self, pod: Pod) -> Iterable[Key]:
        """A pod whose node may drive it out, or did so until now; all others change often and are none of our business."""
        node = self._nodes.reader.get(Key("", pod.spec.node_name)) if pod.spec.node_name else None
        key = key_of(pod)
        return (key,) if key in self._tainted or (node is not None and _expels(node)) else ()

    def _look(self, key: Key, now: datetime) -> Plan:
        node = self._nodes.reader.get(key)
        if node is None:
            self._heard.pop(key.name, None)
            return NOTHING
        due = self._silent_at(node, now)
        if due is None or now < due:
            return Plan().then(*tainted(node, now)).requeue(due)
        silence = silenced(node, now)
        if silence:
            return Plan().then(*silence)
        ready = [pod for pod in self._on(node) if pod_control.is_ready(pod)]
        return Plan().then(*tainted(node, now), *(_not_ready(pod, now) for pod in ready))

    def _silent_at(self, node: Node, now: datetime) -> datetime | None:
        """When the node is or was to be given up."""
        if self._leases is not None:
            return self._last_heard(node, self._leases.reader, now) + GRACE
        ready = core.reported(node.status.conditions, "Ready")
        return now if ready is not None and ready.status == "Unknown" else None

    def _last_heard(self, node: Node, leases: Reader[Lease], now: datetime) -> datetime:
        """When the node last renewed its lease or said that it is ready; what others say of it is no sign of life."""
        meta = node.metadata
        lease = leases.get(Key(LEASE_NAMESPACE, meta.name))
        renewed = lease.spec.renew_time if lease is not None else None
        heard = self._heard.get(meta.name)
        ready = core.reported(node.status.conditions, "Ready")
        said = heard.said if heard is not None else None
        if ready is not None and ready.status == "True":
            said = ready.last_transition_time
        if heard is None or heard[:3] != (meta.uid, renewed, said):
            heard = self._heard[meta.name] = _Beat(meta.uid, renewed, said, now)
        return heard.at

    def _judge(self, key: Key, now: datetime) -> Plan:
        pod = self._pods.reader.get(key)
        node = self._nodes.reader.get(Key("", pod.spec.node_name)) if pod is not None else None
        taints = _expels(node) if node is not None else []
        if pod is None or not taints or pod.metadata.deletion_timestamp is not None:
            self._tainted.pop(key, None)
            return NOTHING
        stays = patience(pod, taints)
        if stays is None:
            return NOTHING
        since = self._tainted.get(key)
        if since is None or since[0] != pod.metadata.uid:
            since = self._tainted[key] = pod.metadata.uid, now
        due = since[1] + stays
        return Plan().requeue(due) if now < due else _eviction(pod, now)


def _expels(node: Node) -> list[Taint]:
    """The taints that drive pods out."""
    return [taint for taint in node.spec.taints if taint.effect == "NoExecute"]


def _node_of(lease: Lease) -> Iterable[Key]:
    meta = lease.metadata
    return (Key("", meta.name),) if meta.namespace == LEASE_NAMESPACE else ()


def patience(pod: Pod, taints: Iterable[Taint]) -> timedelta | None:
    """How long a pod stays on a node with these taints; None is for ever."""
    seconds: list[int] = []
    for taint in taints:
        covering = [each for each in pod.spec.tolerations if scheduling.tolerates(each, taint)]
        if not covering:
            return timedelta()
        limits = (each.toleration_seconds for each in covering)
        seconds += [max(limit, 0) for limit in limits if limit is not None]
    return timedelta(seconds=min(seconds)) if seconds else None


def _not_ready(pod: Pod, now: datetime) -> Patch:
    return _condition(pod, {"type": "Ready", "status": "False"}, now)


def _eviction(pod: Pod, now: datetime) -> Plan:
    target: dict[str, JSON] = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
    }
    # Named by the UID alone: the condition that is written first moves the version.
    gone = Delete(PODS, key_of(pod), pod.metadata.uid)
    return Plan().then(_condition(pod, target, now)).then(gone)


def _condition(pod: Pod, condition: dict[str, JSON], now: datetime) -> Patch:
    said: JSON = {**condition, "lastTransitionTime": instant.render(now)}
    return Patch(
        PODS,
        key_of(pod),
        {"status": {"conditions": [said]}},
        PatchType.STRATEGIC,
        subresource="status",
        uid=pod.metadata.uid,
    )
