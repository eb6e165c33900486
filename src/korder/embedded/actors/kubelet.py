"""A kubelet without containers: pods bound to simulated nodes are admitted, run, and end as on a real node.

Admission is the kubelet's own fit check: a bound pod for which the node has no room is failed for good (`OutOfcpu`), because
whoever bound it past the scheduler must see that here too. A pod that is being deleted ends after a short while, at the
latest when its grace is over, and only then its object goes; until then it holds its room.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
import hashlib

from korder.api import core, instant, noderoom
from korder.api.core import NODES, PODS, Container, Pod
from korder.api.meta import JSON, Key, key_of
from korder.api.plan import NOTHING, Delete, Patch, PatchType, Plan
from korder.embedded.actors import podmaking
from korder.embedded.actors.machines import Machines, Manners
from korder.runtime.manager import Manager

BY_NODE = "node"

START, ADMITTED, STOP = "start", "admitted", "stop"
"""What a kubelet has begun with a pod."""


class Kubelet:
    """Plays the kubelets of all nodes of one fleet."""

    def __init__(self, manager: Manager, machines: Machines) -> None:
        self._machines = machines
        self._nodes = manager.informers.of(NODES)
        self._pods = manager.informers.of(PODS)
        self._pods.add_index(
            BY_NODE, lambda pod: (pod.spec.node_name,) if pod.spec.node_name else ()
        )
        self._controller = manager.controller("kubelet", self._turn)
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

    def _turn(self, key: Key, now: datetime) -> Plan:
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
            return NOTHING if podmaking.is_ready(pod) else _status(pod, _ready_again(now))
        return self._admit(pod, machine.manners, now)

    def _end(self, pod: Pod, manners: Manners, now: datetime) -> Plan:
        grace = pod.metadata.deletion_grace_period_seconds or 0
        stopped_at = self._begun(pod, STOP, now) + timedelta(seconds=min(manners.stop, grace))
        if now < stopped_at:
            return Plan().wake(stopped_at)
        return Plan().then(Delete(PODS, key_of(pod), pod.metadata.uid, grace_seconds=0))

    def _admit(self, pod: Pod, manners: Manners, now: datetime) -> Plan:
        node = self._nodes.reader.get(Key("", pod.spec.node_name))
        if node is None:
            return NOTHING
        if not self._is_admitted(pod):
            started_at = self._begun(pod, START, now) + timedelta(seconds=manners.start)
            if now < started_at:
                return Plan().wake(started_at)
        others = self._pods.reader.where(BY_NODE, pod.spec.node_name)
        admitted = (other for other in others if other is not pod and self._is_admitted(other))
        room = noderoom.room_of(node, admitted)
        demand = noderoom.demand_of(pod)
        for short in room.shortages(demand):
            used = room.used.get(short.name, 0)
            return _status(pod, _refusal(short.name, demand.amounts[short.name], used, room))
        self._begun(pod, ADMITTED, now)
        return _status(pod, _running(pod, now))

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


def _status(pod: Pod, status: dict[str, JSON]) -> Plan:
    patch = Patch(
        PODS,
        key_of(pod),
        {"status": status},
        PatchType.STRATEGIC,
        subresource="status",
        uid=pod.metadata.uid,
    )
    return Plan().then(patch)


def _refusal(name: str, requested: int, used: int, room: noderoom.NodeRoom) -> dict[str, JSON]:
    """The words of a kubelet that cannot take a bound pod."""
    capacity = room.allocatable.get(name, 0)
    return {
        "phase": "Failed",
        "reason": f"OutOf{name}",
        "message": "Pod was rejected: Node didn't have enough resource: "
        f"{name}, requested: {requested}, used: {used}, capacity: {capacity}",
    }


def _running(pod: Pod, now: datetime) -> dict[str, JSON]:
    at = instant.render(now)
    address = _address(pod.metadata.uid)
    conditions: list[JSON] = [
        {"type": kind, "status": "True", "lastTransitionTime": at}
        for kind in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    ]
    return {
        "phase": "Running",
        "startTime": at,
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": conditions,
        "containerStatuses": [_container(container, at) for container in pod.spec.containers],
        "initContainerStatuses": [
            _container(container, at, done=not core.is_sidecar(container))
            for container in pod.spec.init_containers
        ],
    }


def _ready_again(now: datetime) -> dict[str, JSON]:
    """What a kubelet says of a pod that others took for lost with its node."""
    ready: JSON = {"type": "Ready", "status": "True", "lastTransitionTime": instant.render(now)}
    return {"conditions": [ready]}


def _container(container: Container, at: str, *, done: bool = False) -> JSON:
    ended: JSON = {
        "terminated": {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}
    }
    running: JSON = {"running": {"startedAt": at}}
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": True,
        "started": not done,
        "restartCount": 0,
        "state": ended if done else running,
    }


def _address(uid: str) -> str:
    """A stable address for a pod that has no network."""
    a, b, c = hashlib.sha256(uid.encode()).digest()[:3]
    return f"10.{a}.{b}.{c}"
