"""A small pod, and short ways to say how another one differs from it."""

from typing import Any

# fmt: off


DROP = "<drop>"
Case = dict[str, Any]

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "case", "labels": {"app": "a"}},
    "spec": {
        "serviceAccountName": "default",
        "automountServiceAccountToken": False,
        "containers": [{"name": "a", "image": "img:1"}],
    },
}

C = "spec.containers.0."
I = "spec.initContainers"  # noqa: E741  short for a table
NODES = (
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
)
LIKED = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
NEAR = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"
APART = "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
VOL = "spec.volumes"
MOUNT = {"name": "v", "mountPath": "/v"}
EMPTY = [{"name": "v", "emptyDir": {}}]
CHOSEN = {"matchLabels": {"app": "a"}}


def volume(**source: Any) -> Case:
    return {VOL: [{"name": "v", **source}]}


def probe(kind: str = "livenessProbe", **parts: Any) -> Case:
    return {f"{C}{kind}": {"tcpSocket": {"port": 80}, **parts}}


def init(**parts: Any) -> Case:
    return {I: [{"name": "i", "image": "img:1", **parts}]}


def need(requests: Any = None, limits: Any = None) -> Case:
    found = {"requests": requests, "limits": limits}
    return {f"{C}resources": {kind: value for kind, value in found.items() if value}}


def env(**parts: Any) -> Case:
    return {f"{C}env": [{"name": "X", **parts}]}


def tolerate(**parts: Any) -> Case:
    return {"spec.tolerations": [parts]}
