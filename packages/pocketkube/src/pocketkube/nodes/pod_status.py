"""What a kubelet says of a pod: its status when it runs, is refused, waits to be run again, or has ended.

Called by `kubelet` and `lifetimes`; each answer is a status to be merged into the pod's. Containers of one pod share their fate: they start
and end together.
"""

from datetime import datetime
import hashlib

from kubeloop.objects import core, instant
from kubeloop.objects.core import Container, Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.node_room import Demand, NodeRoom

State = dict[str, JSON]
_READINESS = ("ContainersReady", "Ready")


def refused(name: str, demand: Demand, room: NodeRoom) -> State:
    """The words of a kubelet that cannot take a bound pod, because it has too little of the named resource."""
    requested, used = demand.amounts[name], room.used.get(name, 0)
    capacity = room.allocatable.get(name, 0)
    return {
        "phase": "Failed",
        "reason": f"OutOf{name}",
        "message": "Pod was rejected: Node didn't have enough resource: "
        f"{name}, requested: {requested}, used: {used}, capacity: {capacity}",
    }


def started(pod: Pod, now: datetime) -> State:
    """A pod that has its place and runs from now on."""
    at = instant.render(now)
    address = _address(pod.metadata.uid)
    ready = (_condition(kind, at) for kind in ("PodReadyToStartContainers", "Initialized"))
    return {
        "phase": "Running",
        "startTime": at,
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [*ready, *(_condition(kind, at) for kind in _READINESS)],
        "containerStatuses": [_running(each, at) for each in pod.spec.containers],
        "initContainerStatuses": [
            _running(each, at) if core.is_sidecar(each) else _passed(each, at)
            for each in pod.spec.init_containers
        ],
    }


def ready_again(now: datetime) -> State:
    """A pod that others took for lost with its node."""
    return {"conditions": [_condition("Ready", instant.render(now))]}


def restarted(pod: Pod, last: JSON, now: datetime) -> State:
    """A pod whose containers run again after they have ended as `last` says."""
    at, restarts = instant.render(now), _restarts(pod) + 1
    containers: list[JSON] = [_running(each, at, restarts, last) for each in pod.spec.containers]
    ready: list[JSON] = [
        {**_condition(kind, at), "reason": None, "message": None} for kind in _READINESS
    ]
    return {"containerStatuses": containers, "conditions": ready}


def waiting(pod: Pod, last: JSON, pause: str, now: datetime) -> State:
    """A pod whose containers will run again after a pause."""
    at, restarts = instant.render(now), _restarts(pod)
    meta = pod.metadata
    containers: list[JSON] = []
    for each in pod.spec.containers:
        which = f"container={each.name} pod={meta.name}_{meta.namespace}({meta.uid})"
        why: JSON = {
            "reason": "CrashLoopBackOff",
            "message": f"back-off {pause} restarting failed {which}",
        }
        status = _container(each, {"waiting": why}, restarts)
        containers.append({**status, "lastState": {"terminated": last}})
    names = " ".join(container.name for container in pod.spec.containers)
    message = f"containers with unready status: [{names}]"
    unready: list[JSON] = [
        {**_condition(kind, at, holds=False), "reason": "ContainersNotReady", "message": message}
        for kind in _READINESS
    ]
    return {"containerStatuses": containers, "conditions": unready}


def ended(pod: Pod, last: JSON, now: datetime, *, well: bool) -> State:
    """A pod that will not run again."""
    at, restarts = instant.render(now), _restarts(pod)
    reason = "PodCompleted" if well else "PodFailed"
    conditions: list[JSON] = [
        {**_condition(kind, at, holds=False), "reason": reason} for kind in _READINESS
    ]
    return {
        "phase": "Succeeded" if well else "Failed",
        "conditions": [_condition("PodReadyToStartContainers", at, holds=False), *conditions],
        "containerStatuses": [_ended(each, last, restarts) for each in pod.spec.containers],
    }


def exit_of(code: int, since: datetime, now: datetime) -> JSON:
    """How a container has ended."""
    return _exit(code, instant.render(since), instant.render(now))


def _exit(code: int, since: str, at: str) -> JSON:
    reason = "Error" if code else "Completed"
    return {"exitCode": code, "reason": reason, "startedAt": since, "finishedAt": at}


def _restarts(pod: Pod) -> int:
    return max((each.restart_count for each in pod.status.container_statuses), default=0)


def _condition(kind: str, at: str, *, holds: bool = True) -> State:
    return {"type": kind, "status": "True" if holds else "False", "lastTransitionTime": at}


def _running(container: Container, at: str, restarts: int = 0, last: JSON = None) -> State:
    status = _container(container, {"running": {"startedAt": at}}, restarts)
    ready: State = {"ready": True, "started": True}
    return {**status, **ready, **({"lastState": {"terminated": last}} if last else {})}


def _passed(container: Container, at: str) -> State:
    """An init container that has done its work, which counts as ready."""
    return {**_ended(container, _exit(0, at, at)), "ready": True}


def _ended(container: Container, last: JSON, restarts: int = 0) -> State:
    return _container(container, {"terminated": last}, restarts)


def _container(container: Container, state: JSON, restarts: int) -> State:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": restarts,
        "state": state,
    }


def _address(uid: str) -> str:
    """A stable address for a pod that has no network."""
    a, b, c = hashlib.sha256(uid.encode()).digest()[:3]
    return f"10.{a}.{b}.{c}"
