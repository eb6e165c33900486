"""A kubelet without containers: pods bound to simulated nodes are admitted, run, and end as on a real node.

Admission is the kubelet's own fit check: a bound pod for which the node has no room is failed for good (`OutOfcpu`), because
whoever bound it past the scheduler must see that here too. A pod that is being deleted ends after a short while, at the
latest when its grace is over, and only then its object goes; until then it holds its room. A pod whose annotations say so ends by
itself (`lifetimes`).
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from kubeloop.objects import core
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import Key, key_of
from kubeloop.objects.plan import NOTHING, Delete, Emit, EventType, Patch, PatchType, Plan
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change
from pocketkube.nodes import lifetimes, pod_status
from pocketkube.nodes.machines import Machines, Manners
from pocketkube.scheduler import pod_info
from pocketkube.scheduler.snapshot import Cluster

BY_NODE = "node"

START, ADMITTED, STOP = "start", "admitted", "stop"
"""What a kubelet has begun with a pod."""


def by_node(pod: Pod) -> Iterable[str]:
    """Index: the node that a pod is bound to."""
    return (pod.spec.node_name,) if pod.spec.node_name else ()


class Kubelet:
    """Plays the kubelets of all nodes of one fleet."""

    def __init__(self, manager: Manager, machines: Machines) -> None:
        self._machines = machines
        self._nodes = manager.informers.of(NODES)
        self._pods = manager.informers.of(PODS)
        self._pods.add_index(BY_NODE, by_node)
        self._snapshot = Cluster()
        """Who has room on which node; finished pods and those that are not admitted have none."""
        self._nodes.on_change(self._node_changed)
        self._pods.on_change(self._pod_changed)
        self._controller = manager.controller("kubelet", self._reconcile)
        self._controller.follow(self._pods, self._bound)
        self._controller.follow(self._nodes, lambda node: self._on(node.metadata.name))
        machines.attend("kubelet", self._look_after)
        self._marks: dict[Key, tuple[str, str, datetime]] = {}
        """What this kubelet has begun with a pod: its UID, what, and since when."""

    def _bound(self, pod: Pod) -> Iterable[Key]:
        return (key_of(pod),) if pod.spec.node_name else ()

    def _on(self, node: str) -> Iterable[Key]:
        return [key_of(pod) for pod in self._pods.reader.where(BY_NODE, node)]

    def _look_after(self, node: str) -> None:
        for key in self._on(node):
            self._controller.queue.add(key)

    def _node_changed(self, change: Change[Node]) -> None:
        self._snapshot.set_node(change.objects[0].metadata.name, change.new)

    def _pod_changed(self, change: Change[Pod]) -> None:
        pod = change.new
        if pod is not None and self._is_admitted(pod) and not core.is_finished(pod):
            self._snapshot.seat(pod_info.measure(pod), pod.spec.node_name)
        else:
            self._snapshot.leave(key_of(change.objects[0]))

    def _reconcile(self, key: Key, now: datetime) -> Plan:
        pod = self._pods.reader.get(key)
        if pod is None:
            self._marks.pop(key, None)
        machine = self._machines.get(pod.spec.node_name) if pod is not None else None
        if pod is None or machine is None or not machine.on:
            return NOTHING
        if pod.metadata.deletion_timestamp is not None:
            return self._end(pod, machine.manners, now)
        if core.is_finished(pod):
            return NOTHING
        if pod.status.start_time is not None:
            return _keep(pod, now)
        return self._admit(pod, machine.manners, now)

    def _end(self, pod: Pod, manners: Manners, now: datetime) -> Plan:
        grace = pod.metadata.deletion_grace_period_seconds or 0
        stopped_at = self._begun(pod, STOP, now) + timedelta(seconds=min(manners.stop, grace))
        if now < stopped_at:
            return Plan().requeue(stopped_at)
        return Plan().then(Delete(PODS, key_of(pod), pod.metadata.uid, grace_seconds=0))

    def _admit(self, pod: Pod, manners: Manners, now: datetime) -> Plan:
        name = pod.spec.node_name
        if name not in self._snapshot.nodes:
            return NOTHING
        if not self._is_admitted(pod):
            started_at = self._begun(pod, START, now) + timedelta(seconds=manners.start)
            if now < started_at:
                return Plan().requeue(started_at)
            tenant, room = pod_info.measure(pod), self._snapshot.site(name).room
            for short in room.lacks(tenant.demand):
                return _status(pod, pod_status.refused(short, tenant.demand, room))
            self._begun(pod, ADMITTED, now)
            self._snapshot.seat(tenant, name)
        bad = (_complaint(pod, each) for each in lifetimes.complaints(pod))
        return _status(pod, pod_status.started(pod, now)).tell(*bad)

    def _is_admitted(self, pod: Pod) -> bool:
        """Whether the pod has its room, by its status or because we have just decided so."""
        mark = self._marks.get(key_of(pod))
        decided = mark is not None and mark[:2] == (pod.metadata.uid, ADMITTED)
        return pod.status.start_time is not None or decided

    def _begun(self, pod: Pod, what: str, now: datetime) -> datetime:
        key, uid = key_of(pod), pod.metadata.uid
        mark = self._marks.get(key)
        if mark is None or mark[:2] != (uid, what):
            mark = self._marks[key] = (uid, what, now)
        return mark[2]


def _keep(pod: Pod, now: datetime) -> Plan:
    """What is to be said of a pod that has its place, if anything, and when to look at it again."""
    news, due = lifetimes.news(pod, now)
    if news is None and not core.is_ready(pod) and lifetimes.runs(pod):
        news = pod_status.ready_again(now)
    return (_status(pod, news) if news is not None else Plan()).requeue(due)


def _complaint(pod: Pod, words: str) -> Emit:
    return Emit(PODS, pod, "InvalidAnnotation", words, EventType.WARNING)


def _status(pod: Pod, status: pod_status.State) -> Plan:
    patch = Patch(
        PODS,
        key_of(pod),
        {"status": status},
        PatchType.STRATEGIC,
        subresource="status",
        uid=pod.metadata.uid,
    )
    return Plan().then(patch)
