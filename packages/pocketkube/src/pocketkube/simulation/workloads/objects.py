"""Manifests as users write them, with what traffic varies left open: size, labels, replicas, how pods end.

`tenants` and `traffic` call it. Only what matters to the cluster is said; everything else is the server's default.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pocketkube.simulation.script import Manifest

APP = "app"
"""The label by which workloads find their pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """What pods of one sort have in common.

    Attributes:
        cpu: In thousandths of a core.
        memory: In mebibytes.
        ends: Annotations that say when their containers end.
        selector: Labels of the nodes they may run on.
        asks: Annotations by which they ask for something.
        gates: Who must agree before they are scheduled.
        scheduler: The scheduler they name; the default one if empty.
        beside: The app label of pods on whose node they must run (required pod affinity).
        tolerates: Whether they tolerate every taint.
    """

    cpu: int
    memory: int
    priority: str = ""
    grace: int = 30
    ends: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    restarts: str = "Always"
    asks: Mapping[str, str] = field(default_factory=dict)
    gates: tuple[str, ...] = ()
    scheduler: str = ""
    beside: str = ""
    tolerates: bool = False


def priority_class(name: str, value: int, *, preempts: bool = True) -> Manifest:
    """How important pods of a class are."""
    head = _head("scheduling.k8s.io/v1", "PriorityClass", name, "")
    policy = {} if preempts else {"preemptionPolicy": "Never"}
    return {**head, "value": value, **policy}


def namespace(name: str) -> Manifest:
    """A place for the things of one team."""
    return _head("v1", "Namespace", name, "")


def pod(name: str, where: str, pods: Pods) -> Manifest:
    """A pod that nobody looks after."""
    template = _template(name, pods)
    return {**_head("v1", "Pod", name, where, **template["metadata"]), "spec": template["spec"]}


def deployment(name: str, where: str, pods: Pods, replicas: int) -> Manifest:
    """Replicas without names."""
    spec = {"replicas": replicas, **_selected(name, pods)}
    return {**_head("apps/v1", "Deployment", name, where), "spec": spec}


def stateful_set(name: str, where: str, pods: Pods, replicas: int, policy: str) -> Manifest:
    """Replicas with names, made in order or all at once."""
    spec = {
        "replicas": replicas,
        "serviceName": name,
        "podManagementPolicy": policy,
        **_selected(name, pods),
    }
    return {**_head("apps/v1", "StatefulSet", name, where), "spec": spec}


def daemon_set(name: str, where: str, pods: Pods) -> Manifest:
    """A pod on every node that it selects."""
    return {**_head("apps/v1", "DaemonSet", name, where), "spec": _selected(name, pods)}


def job(name: str, where: str, pods: Pods, completions: int, parallelism: int) -> Manifest:
    """Pods that are made until enough of them have ended well."""
    spec = {
        "completions": completions,
        "parallelism": parallelism,
        "backoffLimit": 4,
        "template": _template(name, pods),
    }
    return {**_head("batch/v1", "Job", name, where), "spec": spec}


def _selected(name: str, pods: Pods) -> Manifest:
    return {"selector": {"matchLabels": {APP: name}}, "template": _template(name, pods)}


def _template(name: str, pods: Pods) -> Manifest:
    requests = {"cpu": f"{pods.cpu}m", "memory": f"{pods.memory}Mi"}
    spec: Manifest = {
        "containers": [{"name": "main", "image": "app:1", "resources": {"requests": requests}}],
        "terminationGracePeriodSeconds": pods.grace,
        "restartPolicy": pods.restarts,
    }
    if pods.priority:
        spec["priorityClassName"] = pods.priority
    if pods.selector:
        spec["nodeSelector"] = dict(pods.selector)
    if pods.gates:
        spec["schedulingGates"] = [{"name": gate} for gate in pods.gates]
    if pods.scheduler:
        spec["schedulerName"] = pods.scheduler
    if pods.beside:
        spec["affinity"] = {"podAffinity": _required(pods.beside)}
    if pods.tolerates:
        spec["tolerations"] = [{"operator": "Exists"}]
    metadata: Manifest = {"labels": {APP: name}}
    if pods.ends or pods.asks:
        metadata["annotations"] = {**pods.ends, **pods.asks}
    return {"metadata": metadata, "spec": spec}


def _required(app: str) -> Manifest:
    term = {
        "labelSelector": {"matchLabels": {APP: app}},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def _head(version: str, kind: str, name: str, where: str, **more: object) -> Manifest:
    place = {"namespace": where} if where else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **place, **more}}
