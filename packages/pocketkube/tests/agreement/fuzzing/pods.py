"""Bodies of pods: small ones, with gates, ports, volumes and requests, and statuses a kubelet might write."""

import random
from typing import Any

from tests.agreement.fuzzing.values import metadata, some, sometimes

Object = dict[str, Any]
Edits = tuple[tuple[tuple[str | int, ...], Any], ...]

_CONTAINER: dict[str, tuple[Any, ...]] = {
    "image": ("nginx", "nginx:1.2", "busybox:latest", "", " x "),
    "command": (["sleep", "1"], []),
    "ports": (
        [{"containerPort": 80}],
        [{"containerPort": 80, "name": "web", "protocol": "TCP"}, {"containerPort": 80}],
        [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
        [{"containerPort": 0}],
        [{"containerPort": 80, "name": "x"}, {"containerPort": 81, "name": "x"}],
        [{"containerPort": 80, "hostPort": 8080}],
        [],
    ),
    "env": (
        [{"name": "A", "value": "1"}],
        [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
        [{"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        [{"name": "", "value": "x"}],
        [{"name": "C", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "a"}}}],
        [{"name": "C", "valueFrom": {}}],
    ),
    "resources": (
        {"requests": {"cpu": "100m", "memory": "64Mi"}},
        {"requests": {"cpu": "0.1", "memory": 1024}, "limits": {"cpu": "1"}},
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
        {"requests": {"cpu": "many"}},
        {"requests": {"example.com/gpu": "1"}},
        {"limits": {"example.com/gpu": "1"}},
        {"requests": {"cpu": "-1"}},
        {"limits": {"memory": "1.5Gi"}},
    ),
    "imagePullPolicy": ("Always", "Never", "Sometimes"),
    "livenessProbe": (
        {"httpGet": {"port": 80}},
        {"exec": {"command": ["x"]}, "periodSeconds": 3},
        {},
    ),
    "volumeMounts": ([{"name": "v", "mountPath": "/v"}],),
    "terminationMessagePath": ("/x",),
    "securityContext": ({"privileged": False}, {"runAsUser": 5}, {"runAsUser": -1}),
    "workingDir": ("/w",),
}
_SPEC: dict[str, tuple[Any, ...]] = {
    "restartPolicy": ("Always", "Never", "OnFailure", "Maybe"),
    "terminationGracePeriodSeconds": (0, 5, 30, -1),
    "activeDeadlineSeconds": (10, 0),
    "schedulingGates": (
        [{"name": "example.com/g"}],
        [{"name": "g"}, {"name": "h"}],
        [{"name": "g"}, {"name": "g"}],
        [],
        [{"name": ""}],
    ),
    "nodeSelector": ({"zone": "a"}, {}, {"bad key": "x"}),
    "nodeName": ("node-1",),
    "tolerations": (
        [{"key": "k", "operator": "Exists"}],
        [{"key": "k", "value": "v", "effect": "NoSchedule"}],
        [{"operator": "Exists", "value": "x"}],
        [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        [{"operator": "Odd"}],
    ),
    "volumes": (
        [{"name": "v", "emptyDir": {}}],
        [{"name": "v"}],
        [{"name": "v", "configMap": {"name": "a"}}],
        [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}],
        [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}, "configMap": {"name": "a"}}],
    ),
    "serviceAccountName": ("default", "missing"),
    "automountServiceAccountToken": (False,),
    "hostNetwork": (True,),
    "dnsPolicy": ("Default", "ClusterFirst", "None"),
    "priorityClassName": ("system-node-critical", "missing"),
    "priority": (0, 5),
    "enableServiceLinks": (False,),
    "hostname": ("h", "Bad_Host"),
    "initContainers": (
        [{"name": "i", "image": "x"}],
        [{"name": "main", "image": "x"}],
        [{"name": "i", "image": "x", "restartPolicy": "Always"}],
    ),
    "securityContext": ({"runAsUser": 5}, {"fsGroup": 5}, {}),
    "topologySpreadConstraints": (
        [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
        [{"maxSkew": 0}],
    ),
    "overhead": ({"cpu": "1"},),
    "readinessGates": ([{"conditionType": "example.com/r"}],),
}


def container(rng: random.Random, name: str) -> Object:
    made: Object = {"name": name, "image": "nginx"}
    for key in some(rng, sorted(_CONTAINER), 3):
        made[key] = rng.choice(_CONTAINER[key])
    return made


def pod(rng: random.Random, name: str) -> Object:
    spec: Object = {"containers": [container(rng, "main")]}
    if sometimes(rng, 0.25):
        spec["containers"].append(container(rng, rng.choice(("side", "side", "main", "Bad_Name"))))
    for key in some(rng, sorted(_SPEC), 3):
        spec[key] = rng.choice(_SPEC[key])
    if sometimes(rng, 0.04):
        del spec["containers"]
    made: Object = {"metadata": metadata(rng, name), "spec": spec}
    if sometimes(rng, 0.1):
        made["status"] = pod_status(rng)
    return made


def pod_edits(rng: random.Random) -> Edits:
    return (
        rng.choice(
            (
                (("spec", "containers", 0, "image"), rng.choice(("nginx:2", "busybox", ""))),
                (("spec", "containers", 0, "name"), "renamed"),
                (("spec", "containers", 0, "resources"), rng.choice(_CONTAINER["resources"])),
                (("spec", "containers", 1), rng.choice(("<drop>", {"name": "late", "image": "x"}))),
                (
                    ("spec", "schedulingGates"),
                    rng.choice(([], "<drop>", [{"name": "g"}], [{"name": "new"}])),
                ),
                (
                    ("spec", "nodeSelector"),
                    rng.choice(({"zone": "a"}, {"zone": "a", "rack": "b"}, {})),
                ),
                (("spec", "nodeName"), rng.choice(("node-2", "<drop>"))),
                (("spec", "activeDeadlineSeconds"), rng.choice((5, 20, "<drop>", -1))),
                (("spec", "terminationGracePeriodSeconds"), rng.choice((1, 60, -1))),
                (("spec", "tolerations", 0), {"key": "new", "operator": "Exists"}),
                (("spec", "tolerations"), rng.choice(_SPEC["tolerations"])),
                (("spec", "priority"), 7),
                (("spec", "restartPolicy"), "Never"),
                (("spec", "unknown"), 1),
                (("status", "phase"), "Running"),
                (("spec", "volumes"), []),
            )
        ),
    )


def pod_status(rng: random.Random) -> Object:
    made: Object = {}
    if sometimes(rng, 0.7):
        made["phase"] = rng.choice(
            ("Pending", "Running", "Succeeded", "Failed", "Unknown", "Odd", "")
        )
    if sometimes(rng, 0.5):
        made["conditions"] = rng.choice(_CONDITIONS)
    if sometimes(rng, 0.3):
        made |= rng.choice(
            (
                {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
                {"podIP": "10.0.0.1"},
                {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
                {"podIP": "nonsense"},
                {"hostIP": "10.1.0.1"},
                {"startTime": "2024-02-02T02:02:02Z"},
                {
                    "containerStatuses": [
                        {
                            "name": "main",
                            "ready": True,
                            "restartCount": 1,
                            "image": "x",
                            "imageID": "y",
                        }
                    ]
                },
                {"containerStatuses": [{"name": "other"}]},
                {"nominatedNodeName": "node-9"},
                {"qosClass": "Guaranteed"},
                {"observedGeneration": 3},
                {"observedGeneration": -1},
                {"reason": "Because", "message": "so"},
                {"unknown": 1},
            )
        )
    return made


_CONDITIONS: tuple[Any, ...] = (
    [{"type": "Ready", "status": "True"}],
    [
        {"type": "Ready", "status": "False", "reason": "X", "message": "m"},
        {"type": "PodScheduled", "status": "True"},
    ],
    [{"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}],
    [{"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}],
    [{"type": "Ready"}],
    [{"type": "Bad Type", "status": "True"}],
    [],
    None,
)
