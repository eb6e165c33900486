"""Pods and workloads, good and bad, as changes to a small one: what is set where, by paths with dots.

`DROP` takes a member away. Cases of `CHANGES` are pairs: how the object is first, and how it is to become.
"""

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


PODS: dict[str, Case] = {
    "a small pod": {},
    "an image without a tag": {f"{C}image": "img"},
    "an image with a tag that moves": {f"{C}image": "reg:5000/x/img:latest"},
    "an image with a digest": {f"{C}image": "img@sha256:" + "a" * 64},
    "an image nobody can pull": {f"{C}image": "IMG!!"},
    "an image of a registry with a port": {f"{C}image": "reg:5000/img"},
    "an image with blanks around": {f"{C}image": " img "},
    "no image": {f"{C}image": DROP},
    "no containers": {"spec.containers": []},
    "no name": {f"{C}name": DROP},
    "a name with capitals": {f"{C}name": "A_b"},
    "a name with dots": {f"{C}name": "a.b"},
    "a name that is too long": {f"{C}name": "a" * 64},
    "two containers of one name": {"spec.containers.1": {"name": "a", "image": "img:1"}},
    "a pod's name with capitals": {"metadata.name": "Case"},
    "no pull policy that is known": {f"{C}imagePullPolicy": "Sometimes"},
    "a pull policy": {f"{C}imagePullPolicy": "Never"},
    "no message policy that is known": {f"{C}terminationMessagePolicy": "Loud"},
    "ports with and without names": {
        f"{C}ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}]
    },
    "a port without a number": {f"{C}ports": [{"name": "http"}]},
    "a port beyond the last": {f"{C}ports": [{"containerPort": 70000}]},
    "a port below the first": {f"{C}ports": [{"containerPort": -1}]},
    "a port with a bad name": {f"{C}ports": [{"containerPort": 80, "name": "-A--b-"}]},
    "a port with a long name of digits": {f"{C}ports": [{"containerPort": 80, "name": "1" * 16}]},
    "two ports of one name": {
        f"{C}ports": [{"containerPort": 80, "name": "x"}, {"containerPort": 81, "name": "x"}]
    },
    "a port of no protocol that is known": {
        f"{C}ports": [{"containerPort": 80, "protocol": "ICMP"}]
    },
    "the same port of the host twice": {
        f"{C}ports": [
            {"containerPort": 80, "hostPort": 8080},
            {"containerPort": 81, "hostPort": 8080},
        ]
    },
    "a port of the host that is none": {f"{C}ports": [{"containerPort": 80, "hostPort": 99999}]},
    "the network of the host": {"spec.hostNetwork": True, f"{C}ports": [{"containerPort": 80}]},
    "the network of the host with another port": {
        "spec.hostNetwork": True,
        f"{C}ports": [{"containerPort": 80, "hostPort": 81}],
    },
    "an environment": {f"{C}env": [{"name": "A", "value": "1"}, {"name": "B"}]},
    "a variable without a name": {f"{C}env": [{"value": "1"}]},
    "a variable with a bad name": {f"{C}env": [{"name": "A=B"}]},
    "a variable with an odd but allowed name": {f"{C}env": [{"name": "1 a"}]},
    "a variable from nothing": env(valueFrom={}),
    "a variable from a field": env(valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
    "a variable from a label": env(valueFrom={"fieldRef": {"fieldPath": "metadata.labels['app']"}}),
    "a variable from a bad label": env(
        valueFrom={"fieldRef": {"fieldPath": "metadata.labels['a b']"}}
    ),
    "a variable from an unknown field": env(valueFrom={"fieldRef": {"fieldPath": "spec.wrong"}}),
    "a variable from a field that is not for variables": env(
        valueFrom={"fieldRef": {"fieldPath": "status.phase"}}
    ),
    "a variable from a part of a field": env(
        valueFrom={"fieldRef": {"fieldPath": "spec.nodeName['x']"}}
    ),
    "a variable from an old version": env(
        valueFrom={"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}
    ),
    "a variable from two sources": env(
        valueFrom={
            "fieldRef": {"fieldPath": "metadata.name"},
            "secretKeyRef": {"name": "s", "key": "k"},
        }
    ),
    "a variable with a value and a source": env(
        value="x", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}
    ),
    "a variable from a secret without a key": env(valueFrom={"secretKeyRef": {"name": "s"}}),
    "a variable from a map with a bad key": env(
        valueFrom={"configMapKeyRef": {"name": "S!", "key": "a/b"}}
    ),
    "a variable from a limit": env(
        valueFrom={"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}
    ),
    "a variable from a limit in odd units": env(
        valueFrom={"resourceFieldRef": {"resource": "limits.cpu", "divisor": "3"}}
    ),
    "a variable from a limit in odd bytes": env(
        valueFrom={"resourceFieldRef": {"resource": "requests.memory", "divisor": "3Mi"}}
    ),
    "a variable from an unknown amount": env(
        valueFrom={"resourceFieldRef": {"resource": "limits.gpu"}}
    ),
    "variables from nothing": {f"{C}envFrom": [{}]},
    "variables from a map": {f"{C}envFrom": [{"prefix": "P_", "configMapRef": {"name": "m"}}]},
    "variables from a map without a name": {f"{C}envFrom": [{"configMapRef": {}}]},
    "variables from two things": {
        f"{C}envFrom": [{"configMapRef": {"name": "m"}, "secretRef": {"name": "s"}}]
    },
    "limits only": need(limits={"cpu": "1", "memory": "1Gi"}),
    "requests and limits": need({"cpu": "100m"}, {"cpu": "1", "memory": "1Gi"}),
    "more asked than allowed": need({"cpu": "2"}, {"cpu": "1"}),
    "a negative amount": need({"cpu": "-1"}),
    "an amount finer than thousandths": need({"cpu": "1.0001"}),
    "an amount nobody knows": need({"gpu": "1"}),
    "an amount that is not for containers": need({"pods": "1"}),
    "a device": need(limits={"example.com/gpu": "2"}),
    "a device without a limit": need({"example.com/gpu": "2"}),
    "a device asked and allowed differently": need(
        {"example.com/gpu": "1"}, {"example.com/gpu": "2"}
    ),
    "half a device": need(limits={"example.com/gpu": "500m"}),
    "a device with a bad name": need(limits={"requests.example.com/gpu": "1"}),
    "a device with a worse name": need(limits={"a/b/c": "1"}),
    "huge pages": need(limits={"hugepages-2Mi": "4Mi", "cpu": "1"}),
    "huge pages alone": need(limits={"hugepages-2Mi": "4Mi"}),
    "one and a half huge pages": need(limits={"hugepages-2Mi": "3Mi", "cpu": "1"}),
    "amounts for the whole pod": {
        "spec.resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
        **need({"cpu": "1"}),
    },
    "amounts for the whole pod that are too small": {
        "spec.resources": {"requests": {"cpu": "1"}},
        **need({"cpu": "2"}),
    },
    "limits of a container beyond those of the pod": {
        "spec.resources": {"limits": {"cpu": "1"}},
        **need({"cpu": "1"}, {"cpu": "2"}),
    },
    "a device for the whole pod": {"spec.resources": {"limits": {"example.com/gpu": "1"}}},
    "claims nobody made": {f"{C}resources": {"claims": [{"name": "x"}]}},
    "claims": {
        f"{C}resources": {"claims": [{"name": "x"}]},
        "spec.resourceClaims": [{"name": "x", "resourceClaimName": "c"}],
    },
    "a claim without a source": {"spec.resourceClaims": [{"name": "x"}]},
    "a claim with two sources": {
        "spec.resourceClaims": [
            {"name": "x", "resourceClaimName": "c", "resourceClaimTemplateName": "d"}
        ]
    },
    "a first container": init(resources={"requests": {"cpu": "1"}}),
    "a sidecar": init(restartPolicy="Always", readinessProbe={"tcpSocket": {"port": 1}}),
    "a first container with a probe": init(livenessProbe={"tcpSocket": {"port": 1}}, lifecycle={}),
    "a first container with the name of another": {I: [{"name": "a", "image": "img:1"}]},
    "a first container that restarts oddly": init(restartPolicy="Sometimes"),
    "a first container that restarts on failure": init(restartPolicy="OnFailure"),
    "a container with a restart policy": {f"{C}restartPolicy": "Never"},
    "a container with rules but no policy": {
        f"{C}restartPolicyRules": [
            {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
        ]
    },
    "a container with bad rules": {
        f"{C}restartPolicy": "Never",
        f"{C}restartPolicyRules": [
            {"action": "Go"},
            {"action": "Restart", "exitCodes": {"operator": "X"}},
        ],
    },
    "a resize policy": {
        f"{C}resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    },
    "bad resize policies": {
        f"{C}resizePolicy": [
            {"resourceName": "gpu", "restartPolicy": "Maybe"},
            {"resourceName": "gpu", "restartPolicy": "NotRequired"},
        ]
    },
    "a probe": probe(),
    "a probe over HTTP": {f"{C}livenessProbe": {"httpGet": {"port": "http"}}},
    "a probe over HTTP with bad parts": {
        f"{C}livenessProbe": {
            "httpGet": {"port": 0, "scheme": "FTP", "httpHeaders": [{"name": "a b", "value": "x"}]}
        }
    },
    "a probe by a command": {
        f"{C}readinessProbe": {"exec": {"command": ["true"]}, "successThreshold": 3}
    },
    "a probe by no command": {f"{C}readinessProbe": {"exec": {}}},
    "a probe by gRPC": {f"{C}startupProbe": {"grpc": {"port": 5}}},
    "a probe by nothing": {f"{C}livenessProbe": {"periodSeconds": 5}},
    "a probe by two things": probe(exec={"command": ["x"]}),
    "a probe with negative numbers": probe(
        periodSeconds=-1, timeoutSeconds=-2, initialDelaySeconds=-3
    ),
    "a probe that must succeed twice": probe(successThreshold=2),
    "a probe with its own patience": probe(terminationGracePeriodSeconds=5),
    "a probe with no patience": probe(terminationGracePeriodSeconds=0),
    "a readiness probe with patience": probe("readinessProbe", terminationGracePeriodSeconds=5),
    "hooks": {
        f"{C}lifecycle": {
            "postStart": {"exec": {"command": ["x"]}},
            "preStop": {"httpGet": {"port": 80}},
        }
    },
    "a hook that sleeps too long": {f"{C}lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
    "a hook of nothing": {f"{C}lifecycle": {"preStop": {}}},
    "a volume of no type": {VOL: [{"name": "v"}]},
    "a volume without a name": {VOL: [{"emptyDir": {}}]},
    "a volume with a bad name": {VOL: [{"name": "V", "emptyDir": {}}]},
    "two volumes of one name": {
        VOL: [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]
    },
    "a volume of two types": volume(emptyDir={}, hostPath={"path": "/x"}),
    "an empty volume below nothing": volume(emptyDir={"sizeLimit": "-1"}),
    "a volume of the host": volume(hostPath={"path": "/x"}),
    "a volume of the host without a path": volume(hostPath={"path": ""}),
    "a volume of the host with steps back": volume(hostPath={"path": "/a/../b", "type": "Cloud"}),
    "a volume of a secret": volume(
        secret={"secretName": "s", "items": [{"key": "k", "path": "p"}]}
    ),
    "a volume of a secret without a name": volume(secret={}),
    "a volume of a map with bad items": volume(
        configMap={
            "name": "m",
            "defaultMode": 1000,
            "items": [
                {"key": "", "path": "../x"},
                {"key": "k", "path": "/abs", "mode": -1},
                {"key": "k", "path": "..x"},
            ],
        }
    ),
    "a volume about the pod": volume(
        downwardAPI={"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}
    ),
    "a volume about the pod with bad items": volume(
        downwardAPI={
            "items": [
                {"path": "x"},
                {"path": "", "fieldRef": {"fieldPath": "status.podIP"}},
                {"path": "y", "resourceFieldRef": {"resource": "limits.cpu"}},
            ]
        }
    ),
    "a projected volume": volume(
        projected={
            "sources": [
                {"serviceAccountToken": {"path": "t"}},
                {"configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}},
            ]
        }
    ),
    "a projected volume with bad sources": volume(
        projected={
            "sources": [
                {"serviceAccountToken": {"path": "", "expirationSeconds": 5}},
                {
                    "configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]},
                    "secret": {"name": "s", "items": [{"key": "k", "path": "p"}]},
                },
            ]
        }
    ),
    "a claimed volume": volume(persistentVolumeClaim={"claimName": "c"}),
    "a claimed volume without a claim": volume(persistentVolumeClaim={"claimName": ""}),
    "a volume that comes and goes": volume(
        ephemeral={
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        }
    ),
    "a volume that comes and goes without a size": volume(
        ephemeral={"volumeClaimTemplate": {"spec": {"accessModes": ["Sometimes"]}}}
    ),
    "a volume over NFS": volume(nfs={"server": "s", "path": "x"}),
    "a volume of a driver": volume(csi={"driver": "a.b"}),
    "a volume of an image": volume(image={"reference": "img"}),
    "a mount": {VOL: EMPTY, f"{C}volumeMounts": [MOUNT]},
    "a mount of nothing": {f"{C}volumeMounts": [MOUNT]},
    "two mounts in one place": {VOL: EMPTY, f"{C}volumeMounts": [MOUNT, MOUNT]},
    "a mount without a place": {VOL: EMPTY, f"{C}volumeMounts": [{"name": "v", "mountPath": ""}]},
    "a mount of a part outside": {
        VOL: EMPTY,
        f"{C}volumeMounts": [
            {**MOUNT, "subPath": "../x"},
            {"name": "v", "mountPath": "/w", "subPath": "a", "subPathExpr": "/b"},
        ],
    },
    "a mount that spreads": {
        VOL: EMPTY,
        f"{C}volumeMounts": [
            {**MOUNT, "mountPropagation": "Bidirectional"},
            {"name": "v", "mountPath": "/w", "mountPropagation": "X"},
        ],
    },
    "a mount that is read only to the bottom": {
        VOL: EMPTY,
        f"{C}volumeMounts": [{**MOUNT, "recursiveReadOnly": "Enabled"}],
    },
    "a device of an empty volume": {
        VOL: EMPTY,
        f"{C}volumeDevices": [
            {"name": "v", "devicePath": "/dev/x"},
            {"name": "w", "devicePath": ""},
        ],
    },
    "a node selector": {"spec.nodeSelector": {"a": "b"}},
    "a bad node selector": {"spec.nodeSelector": {"a b": "c d"}},
    "wanted nodes": {
        NODES: [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
    },
    "no wanted nodes": {NODES: []},
    "wanted nodes with mistakes": {
        NODES: [
            {
                "matchExpressions": [
                    {"key": "a", "operator": "In"},
                    {"key": "", "operator": "Exists", "values": ["x"]},
                    {"key": "a", "operator": "Gt", "values": []},
                    {"key": "a", "operator": "Is"},
                    {"key": "a", "operator": "In", "values": ["b c"]},
                ]
            }
        ]
    },
    "wanted nodes by name": {
        NODES: [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    },
    "wanted nodes by other fields": {
        NODES: [
            {
                "matchFields": [
                    {"key": "metadata.uid", "operator": "Exists"},
                    {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
                ]
            }
        ]
    },
    "liked nodes of no weight": {
        LIKED: [
            {"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
        ]
    },
    "neighbours": {
        NEAR: [{"labelSelector": CHOSEN, "topologyKey": "zone", "matchLabelKeys": ["app"]}]
    },
    "neighbours nowhere": {
        NEAR: [
            {
                "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]},
                "topologyKey": "",
                "namespaces": ["A"],
            }
        ]
    },
    "disliked neighbours of too much weight": {
        APART: [
            {"weight": 101, "podAffinityTerm": {"topologyKey": "zone", "matchLabelKeys": ["app"]}}
        ]
    },
    "a toleration": tolerate(key="a", operator="Equal", value="b", effect="NoSchedule"),
    "a toleration of everything": tolerate(operator="Exists"),
    "a toleration without a key": tolerate(operator="Equal"),
    "a toleration of a bad key": tolerate(key="a b", operator="Exists", value="x"),
    "a toleration with no operator that is known": tolerate(key="a", operator="Like"),
    "a toleration that compares": tolerate(key="a", operator="Gt", value="5"),
    "a toleration with no effect that is known": tolerate(
        key="a", operator="Exists", effect="Panic"
    ),
    "a toleration for a while of the wrong effect": tolerate(
        key="a", operator="Exists", effect="NoSchedule", tolerationSeconds=5
    ),
    "a toleration of a bad value": tolerate(key="a", value="b c"),
    "spread": {
        "spec.topologySpreadConstraints": [
            {**SPREAD, "labelSelector": CHOSEN, "matchLabelKeys": ["app"], "minDomains": 2}
        ]
    },
    "spread with mistakes": {
        "spec.topologySpreadConstraints": [
            {
                "maxSkew": 0,
                "topologyKey": "",
                "whenUnsatisfiable": "Never",
                "nodeTaintsPolicy": "X",
            },
            {
                **SPREAD,
                "whenUnsatisfiable": "ScheduleAnyway",
                "minDomains": 0,
                "matchLabelKeys": ["a"],
            },
        ]
    },
    "spread twice in one way": {"spec.topologySpreadConstraints": [SPREAD, SPREAD]},
    "a gate": {"spec.schedulingGates": [{"name": "a.b/c"}]},
    "bad gates": {"spec.schedulingGates": [{"name": "a"}, {"name": "a"}, {"name": "b c"}]},
    "a gate and a node": {"spec.schedulingGates": [{"name": "a"}], "spec.nodeName": "n1"},
    "a node": {"spec.nodeName": "n1"},
    "a bad node": {"spec.nodeName": "N 1"},
    "no restart policy that is known": {"spec.restartPolicy": "Sometimes"},
    "never again": {"spec.restartPolicy": "Never"},
    "no DNS policy that is known": {"spec.dnsPolicy": "Mine"},
    "DNS of one's own without servers": {"spec.dnsPolicy": "None"},
    "DNS of one's own with empty servers": {"spec.dnsPolicy": "None", "spec.dnsConfig": {}},
    "DNS with mistakes": {
        "spec.dnsConfig": {
            "nameservers": ["1.1.1.1", "x", "1.1.1.2", "1.1.1.3"],
            "searches": ["A b", "."],
            "options": [{"value": "x"}],
        }
    },
    "a deadline": {"spec.activeDeadlineSeconds": 5},
    "a deadline of nothing": {"spec.activeDeadlineSeconds": 0},
    "no patience": {"spec.terminationGracePeriodSeconds": 0},
    "less than no patience": {"spec.terminationGracePeriodSeconds": -5},
    "a host name": {"spec.hostname": "a", "spec.subdomain": "b"},
    "a bad host name": {"spec.hostname": "A", "spec.subdomain": "b.c"},
    "aliases": {"spec.hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}]},
    "bad aliases": {"spec.hostAliases": [{"ip": "1.2.3", "hostnames": ["A b"]}]},
    "no preemption policy that is known": {"spec.preemptionPolicy": "Sometimes"},
    "an operating system": {"spec.os": {"name": "linux"}},
    "no operating system that is known": {"spec.os": {"name": "dos"}},
    "an operating system without a name": {"spec.os": {}},
    "readiness gates": {"spec.readinessGates": [{"conditionType": "a b"}]},
    "a security context": {
        "spec.securityContext": {"runAsUser": 1, "fsGroup": 2},
        f"{C}securityContext": {"runAsNonRoot": True},
    },
    "a bad security context": {
        "spec.securityContext": {
            "runAsUser": -1,
            "fsGroup": -2,
            "supplementalGroups": [-3],
            "fsGroupChangePolicy": "X",
            "seccompProfile": {"type": "Localhost"},
            "sysctls": [{"name": "A", "value": "1"}],
        }
    },
    "a bad security context of a container": {
        f"{C}securityContext": {
            "runAsUser": -1,
            "procMount": "X",
            "seccompProfile": {"type": "X"},
            "appArmorProfile": {"type": "Localhost"},
        }
    },
    "a container that may and may not": {
        f"{C}securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["CAP_SYS_ADMIN"]},
        }
    },
    "a profile at the wrong place": {
        "spec.securityContext": {"seccompProfile": {"type": "Unconfined", "localhostProfile": "x"}}
    },
    "users of its own and the network of the host": {
        "spec.hostUsers": False,
        "spec.hostNetwork": True,
        "spec.hostPID": True,
    },
    "processes shared with all": {"spec.shareProcessNamespace": True, "spec.hostPID": True},
    "containers for debugging from the start": {
        "spec.ephemeralContainers": [{"name": "d", "image": "img:1"}]
    },
    "a price of deletion": {
        "metadata.annotations": {"controller.kubernetes.io/pod-deletion-cost": "5"}
    },
    "a bad price of deletion": {
        "metadata.annotations": {"controller.kubernetes.io/pod-deletion-cost": "05"}
    },
    "a host name of its own": {"spec.hostnameOverride": "a.b", "spec.setHostnameAsFQDN": True},
    "secrets for images": {"spec.imagePullSecrets": [{"name": "s"}]},
    "a scheduler of one's own": {"spec.schedulerName": "mine"},
    "an account under its old name": {
        "spec.serviceAccountName": DROP,
        "spec.serviceAccount": "default",
    },
    "a bad account": {"spec.serviceAccountName": "A b"},
}

GATED = {"spec.schedulingGates": [{"name": "g1"}, {"name": "g2"}]}
TERM = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
MORE = {"matchExpressions": [*TERM["matchExpressions"], {"key": "c", "operator": "Exists"}]}

CHANGES: dict[str, tuple[Case, Case]] = {
    "nothing": ({}, {}),
    "an image": ({}, {f"{C}image": "img:2"}),
    "an image to nothing": ({}, {f"{C}image": ""}),
    "labels": ({}, {"metadata.labels.more": "x"}),
    "a deadline that was not there": ({}, {"spec.activeDeadlineSeconds": 5}),
    "a deadline to a later one": (
        {"spec.activeDeadlineSeconds": 5},
        {"spec.activeDeadlineSeconds": 6},
    ),
    "a deadline to an earlier one": (
        {"spec.activeDeadlineSeconds": 5},
        {"spec.activeDeadlineSeconds": 4},
    ),
    "a deadline to none": ({"spec.activeDeadlineSeconds": 5}, {"spec.activeDeadlineSeconds": DROP}),
    "a deadline to less than nothing": ({}, {"spec.activeDeadlineSeconds": -1}),
    "one more toleration": ({}, {"spec.tolerations.2": {"key": "b", "operator": "Exists"}}),
    "a toleration to another": (
        tolerate(key="a", operator="Exists"),
        {"spec.tolerations.0.key": "b"},
    ),
    "a toleration to a longer one": ({}, {"spec.tolerations.0.tolerationSeconds": 5}),
    "one gate less": (GATED, {"spec.schedulingGates": [{"name": "g2"}]}),
    "no gates any more": (GATED, {"spec.schedulingGates": DROP}),
    "one gate for another": (GATED, {"spec.schedulingGates": [{"name": "g3"}]}),
    "a gate that was not there": ({}, {"spec.schedulingGates": [{"name": "g3"}]}),
    "a selector of a gated pod": (GATED, {"spec.nodeSelector": {"a": "b"}}),
    "less of a selector of a gated pod": (
        {**GATED, "spec.nodeSelector": {"a": "b"}},
        {"spec.nodeSelector": {"c": "d"}},
    ),
    "a selector of a free pod": ({}, {"spec.nodeSelector": {"a": "b"}}),
    "wanted nodes of a gated pod": (GATED, {NODES: [TERM]}),
    "more demands of a gated pod": ({**GATED, NODES: [TERM]}, {NODES: [MORE]}),
    "fewer demands of a gated pod": ({**GATED, NODES: [MORE]}, {NODES: [TERM]}),
    "another choice of a gated pod": ({**GATED, NODES: [TERM]}, {NODES: [TERM, TERM]}),
    "wanted nodes of a free pod": ({}, {NODES: [TERM]}),
    "neighbours of a gated pod": (
        GATED,
        {NEAR: [{"topologyKey": "zone", "labelSelector": CHOSEN}]},
    ),
    "a gated pod's command": (GATED, {f"{C}command": ["x"]}),
    "a command": ({}, {f"{C}command": ["x", "y"]}),
    "a node": ({}, {"spec.nodeName": "n1"}),
    "amounts": (need({"cpu": "1"}), {f"{C}resources.requests.cpu": "2"}),
    "a container more": ({}, {"spec.containers.1": {"name": "b", "image": "img:1"}}),
    "a first container more": ({}, {I: [{"name": "i", "image": "img:1"}]}),
    "patience": ({}, {"spec.terminationGracePeriodSeconds": 1}),
    "a volume": ({}, {VOL: EMPTY}),
    "a priority": ({}, {"spec.priority": 5}),
    "the network": ({}, {"spec.hostNetwork": True}),
    "a probe and an environment": (
        {},
        {
            **probe(),
            f"{C}env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        },
    ),
    "wrong and forbidden at once": ({}, {"spec.restartPolicy": "Sometimes", f"{C}image": " x"}),
    "many things": (
        volume(configMap={"name": "m"}),
        {
            **volume(secret={"secretName": "s"}),
            "spec.hostname": "x",
            "spec.securityContext": {
                "runAsUser": 5,
                "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}],
            },
            "spec.topologySpreadConstraints": [{**SPREAD, "labelSelector": CHOSEN}],
        },
    ),
    "a bad label": ({}, {"metadata.labels.more": "x y", "metadata.annotations": {"a b": "c"}}),
    "a claim of the kubelet": ({}, {"metadata.annotations": {"kubernetes.io/config.mirror": "x"}}),
}

TEMPLATE = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"containers": [{"name": "a", "image": "img:1"}]},
}
ONCE = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
T = "spec.template."
J = "spec.jobTemplate.spec."
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
COMPLETE = {"type": "Complete", "status": "True"}

WORKLOADS: dict[str, Case] = {
    "Deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": 0, "selector": CHOSEN, "template": TEMPLATE},
    },
    "ReplicaSet": {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "spec": {"replicas": 0, "selector": CHOSEN, "template": TEMPLATE},
    },
    "ReplicationController": {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "spec": {"replicas": 0, "template": TEMPLATE},
    },
    "StatefulSet": {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "spec": {"replicas": 0, "selector": CHOSEN, "serviceName": "s", "template": TEMPLATE},
    },
    "DaemonSet": {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "spec": {"selector": CHOSEN, "template": TEMPLATE},
    },
    "Job": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": True, "template": ONCE}},
    "CronJob": {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "spec": {
            "schedule": "0 0 1 1 *",
            "suspend": True,
            "jobTemplate": {"spec": {"template": ONCE}},
        },
    },
    "PodTemplate": {"apiVersion": "v1", "kind": "PodTemplate", "template": TEMPLATE},
}

MADE: dict[str, dict[str, Case]] = {
    "Deployment": {
        "a small one": {},
        "without numbers": {"spec.replicas": DROP},
        "fewer than none": {
            "spec.replicas": -1,
            "spec.minReadySeconds": -1,
            "spec.revisionHistoryLimit": -1,
            "spec.progressDeadlineSeconds": -1,
        },
        "a deadline that is too short": {"spec.minReadySeconds": 700},
        "no selector": {"spec.selector": DROP},
        "an empty selector": {"spec.selector": {}},
        "a selector of others": {"spec.selector": {"matchLabels": {"app": "b"}}},
        "a bad selector": {
            "spec.selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}
        },
        "a bad selector value": {"spec.selector": {"matchLabels": {"app": "b c"}}},
        "no template": {"spec.template": {}},
        "a template that ends": {
            f"{T}spec.restartPolicy": "Never",
            f"{T}spec.activeDeadlineSeconds": 5,
        },
        "a template with bad labels": {
            f"{T}metadata.labels": {"app": "a", "b c": "d e"},
            f"{T}metadata.annotations": {"a b": "c"},
        },
        "a template with a bad container": {
            f"{T}spec.containers.0.name": "A",
            f"{T}spec.containers.0.image": DROP,
        },
        "a template with limits": {
            f"{T}spec.containers.0.resources": {"limits": {"cpu": "1.0001"}}
        },
        "a template with the network of the host": {
            f"{T}spec.hostNetwork": True,
            f"{T}spec.containers.0.ports": [{"containerPort": 80}],
        },
        "a template with many parts": {
            f"{T}spec.volumes": [{"name": "v", "secret": {"secretName": "s"}}],
            f"{T}spec.initContainers": [{"name": "i", "image": "x"}],
            f"{T}spec.containers.0.livenessProbe": {"httpGet": {"port": 1}},
        },
        "another strategy": {"spec.strategy": {"type": "Recreate"}},
        "two strategies": {"spec.strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        "no strategy that is known": {"spec.strategy": {"type": "Fast"}},
        "no pods to spare": {
            "spec.strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
        },
        "bad shares": {
            "spec.strategy": {"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "150%"}}
        },
        "negative shares": {"spec.strategy": {"rollingUpdate": {"maxSurge": -1}}},
    },
    "ReplicaSet": {
        "a small one": {},
        "without numbers": {"spec.replicas": DROP},
        "fewer than none": {"spec.replicas": -1, "spec.minReadySeconds": -1},
        "an empty selector": {"spec.selector": {}},
        "a selector of others": {"spec.selector": {"matchLabels": {"app": "b"}}},
        "a template that ends": {f"{T}spec.restartPolicy": "Never"},
    },
    "ReplicationController": {
        "a small one": {},
        "fewer than none": {"spec.replicas": -1, "spec.minReadySeconds": -1},
        "a selector of others": {"spec.selector": {"app": "b"}},
        "no template": {"spec.template": DROP},
        "a template that ends": {
            f"{T}spec.restartPolicy": "Never",
            f"{T}spec.activeDeadlineSeconds": 5,
        },
    },
    "StatefulSet": {
        "a small one": {},
        "with claims": {
            "spec.volumeClaimTemplates": [CLAIM],
            f"{T}spec.containers.0.volumeMounts": [{"name": "data", "mountPath": "/d"}],
        },
        "with bad claims": {
            "spec.volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]
        },
        "a bad name": {"metadata.name": "a.b"},
        "no policy that is known": {
            "spec.podManagementPolicy": "Wild",
            "spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Sell"},
        },
        "another strategy": {"spec.updateStrategy": {"type": "OnDelete"}},
        "two strategies": {
            "spec.updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}
        },
        "no strategy that is known": {"spec.updateStrategy": {"type": "Fast"}},
        "a part below nothing": {
            "spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}
        },
        "fewer than none": {
            "spec.replicas": -1,
            "spec.minReadySeconds": -1,
            "spec.ordinals": {"start": -1},
        },
        "a bad service": {"spec.serviceName": "A"},
        "a bad selector": {
            "spec.selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}
        },
        "an empty selector": {"spec.selector": {}},
        "a template that ends": {
            f"{T}spec.restartPolicy": "Never",
            f"{T}spec.activeDeadlineSeconds": 5,
        },
        "a template with bad labels": {f"{T}metadata.labels": {"app": "a", "b c": "d"}},
    },
    "DaemonSet": {
        "a small one": {},
        "no selector": {"spec.selector": DROP},
        "an empty selector": {"spec.selector": {}},
        "a template that ends": {
            f"{T}spec.restartPolicy": "Never",
            f"{T}spec.activeDeadlineSeconds": 5,
        },
        "no strategy that is known": {"spec.updateStrategy": {"type": "Fast"}},
        "another strategy": {"spec.updateStrategy": {"type": "OnDelete"}},
        "both shares": {
            "spec.updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
        },
        "no shares": {
            "spec.updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
        },
        "bad shares": {
            "spec.updateStrategy": {"rollingUpdate": {"maxSurge": "200%", "maxUnavailable": 0}}
        },
        "fewer than none": {"spec.minReadySeconds": -1, "spec.revisionHistoryLimit": -1},
    },
    "Job": {
        "a small one": {},
        "for ever": {f"{T}spec.restartPolicy": "Always"},
        "no restart policy": {f"{T}spec.restartPolicy": DROP},
        "a strange restart policy": {f"{T}spec.restartPolicy": "Sometimes"},
        "only parallel": {"spec.parallelism": 2},
        "only complete": {"spec.completions": 3},
        "fewer than none": {
            "spec.parallelism": -1,
            "spec.completions": -1,
            "spec.backoffLimit": -1,
            "spec.activeDeadlineSeconds": -1,
            "spec.ttlSecondsAfterFinished": -1,
        },
        "with indexes": {
            "spec.completionMode": "Indexed",
            "spec.completions": 3,
            "spec.backoffLimitPerIndex": 1,
            "spec.maxFailedIndexes": 2,
        },
        "with indexes but no number": {"spec.completionMode": "Indexed", "spec.parallelism": 1},
        "with more failures than indexes": {
            "spec.completionMode": "Indexed",
            "spec.completions": 3,
            "spec.backoffLimitPerIndex": 1,
            "spec.maxFailedIndexes": 4,
        },
        "without indexes but limits for them": {
            "spec.backoffLimitPerIndex": 1,
            "spec.maxFailedIndexes": 2,
        },
        "no mode that is known": {"spec.completionMode": "Random"},
        "a failure policy": {
            "spec.podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
            }
        },
        "a bad failure policy": {
            "spec.podFailurePolicy": {
                "rules": [
                    {
                        "action": "",
                        "onExitCodes": {
                            "operator": "In",
                            "values": [0, 2, 1, 2],
                            "containerName": "zz",
                        },
                    },
                    {"action": "FailIndex"},
                    {
                        "action": "Cry",
                        "onExitCodes": {"operator": "Like"},
                        "onPodConditions": [{"type": "a b", "status": "Maybe"}],
                    },
                ]
            }
        },
        "a failure policy with restarts": {
            f"{T}spec.restartPolicy": "OnFailure",
            "spec.podFailurePolicy": {
                "rules": [
                    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}
                ]
            },
        },
        "a success policy": {
            "spec.completionMode": "Indexed",
            "spec.completions": 3,
            "spec.successPolicy": {"rules": [{"succeededCount": 4}, {}]},
        },
        "a success policy without indexes": {
            "spec.successPolicy": {"rules": [{"succeededCount": 4}]}
        },
        "no replacement policy that is known": {"spec.podReplacementPolicy": "Soon"},
        "a selector of its own": {"spec.selector": CHOSEN},
        "a selector by hand": {"spec.selector": CHOSEN, "spec.manualSelector": True},
        "a manager": {"spec.managedBy": "a.b/c"},
        "a bad manager": {"spec.managedBy": "abc"},
        "labels of its own": {f"{T}metadata.labels": {"job-name": "x"}},
    },
    "CronJob": {
        "a small one": {},
        "no timetable": {"spec.schedule": ""},
        "a short timetable": {"spec.schedule": "* * *"},
        "a strange timetable": {"spec.schedule": "61 * * * *"},
        "a stranger timetable": {"spec.schedule": "a * * * *"},
        "a backward timetable": {"spec.schedule": "5-3 * * * *"},
        "a timetable with names": {"spec.schedule": "*/5 1,2 * jan mon-fri"},
        "a timetable by a word": {"spec.schedule": "@daily"},
        "a timetable by a strange word": {"spec.schedule": "@often"},
        "a timetable with a zone": {"spec.schedule": "TZ=UTC * * * * *"},
        "a zone": {"spec.timeZone": "Europe/Berlin"},
        "a strange zone": {"spec.timeZone": "Mars/Base"},
        "a local zone": {"spec.timeZone": "Local"},
        "no policy that is known": {"spec.concurrencyPolicy": "Maybe"},
        "fewer than none": {
            "spec.startingDeadlineSeconds": -1,
            "spec.successfulJobsHistoryLimit": -1,
            "spec.failedJobsHistoryLimit": -1,
        },
        "jobs with a selector": {f"{J}selector": CHOSEN, f"{J}manualSelector": True},
        "jobs for ever": {f"{J}template.spec.restartPolicy": "Always", f"{J}parallelism": -1},
        "a long name": {"metadata.name": "a" * 53},
    },
    "PodTemplate": {
        "a small one": {},
        "a bad container": {"template.spec.containers.0.name": "A"},
    },
}

MADE_AND_CHANGED: dict[str, dict[str, tuple[Case, Case]]] = {
    "Deployment": {
        "nothing": ({}, {}),
        "a number": ({}, {"spec.replicas": 2}),
        "an annotation": ({}, {"metadata.annotations": {"a": "b"}}),
        "a label": ({}, {"metadata.labels": {"a": "b"}}),
        "the selector": (
            {},
            {"spec.selector": {"matchLabels": {"app": "b"}}, f"{T}metadata.labels": {"app": "b"}},
        ),
        "the template": ({}, {f"{T}spec.containers.0.image": "img:2"}),
        "the template and a label badly": (
            {},
            {f"{T}spec.containers.0.name": "A", "metadata.labels": {"a b": "c"}},
        ),
    },
    "ReplicaSet": {
        "a number": ({}, {"spec.replicas": 2}),
        "the selector": (
            {},
            {"spec.selector": {"matchLabels": {"app": "b"}}, f"{T}metadata.labels": {"app": "b"}},
        ),
    },
    "ReplicationController": {
        "the selector": ({}, {"spec.selector": {"app": "b"}, f"{T}metadata.labels": {"app": "b"}}),
    },
    "StatefulSet": {
        "a number": ({}, {"spec.replicas": 2}),
        "the service": ({}, {"spec.serviceName": "t"}),
        "the claims": ({}, {"spec.volumeClaimTemplates": [CLAIM]}),
        "the policy": ({}, {"spec.podManagementPolicy": "Parallel"}),
        "the selector": (
            {},
            {"spec.selector": {"matchLabels": {"app": "b"}}, f"{T}metadata.labels": {"app": "b"}},
        ),
        "the rest": (
            {},
            {
                "spec.minReadySeconds": 5,
                "spec.ordinals": {"start": 1},
                f"{T}spec.containers.0.image": "img:2",
                "spec.revisionHistoryLimit": 3,
            },
        ),
    },
    "DaemonSet": {
        "the template": ({}, {f"{T}spec.containers.0.image": "img:2"}),
        "the history": ({}, {"spec.revisionHistoryLimit": 3}),
        "the selector": (
            {},
            {"spec.selector": {"matchLabels": {"app": "b"}}, f"{T}metadata.labels": {"app": "b"}},
        ),
    },
    "Job": {
        "nothing": ({}, {}),
        "the parallelism": ({}, {"spec.parallelism": 3}),
        "the parallelism to less than nothing": (
            {},
            {"spec.parallelism": -3, "metadata.labels.more": "x y"},
        ),
        "the completions": ({}, {"spec.completions": 3}),
        "the completions with indexes": (
            {"spec.completionMode": "Indexed", "spec.completions": 2},
            {"spec.completions": 3, "spec.parallelism": 3},
        ),
        "the completions with indexes alone": (
            {"spec.completionMode": "Indexed", "spec.completions": 2},
            {"spec.completions": 3},
        ),
        "the mode": ({"spec.completions": 2}, {"spec.completionMode": "Indexed"}),
        "a number of retries": ({}, {"spec.backoffLimit": 3}),
        "the image while suspended": ({}, {f"{T}spec.containers.0.image": "img:2"}),
        "nodes while suspended": (
            {},
            {
                f"{T}spec.nodeSelector": {"a": "b"},
                f"{T}spec.tolerations": [{"operator": "Exists"}],
                f"{T}metadata.annotations": {"x": "y"},
            },
        ),
        "wanted nodes while suspended": (
            {},
            {
                f"{T}spec.affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [TERM]
                        }
                    }
                }
            },
        ),
        "amounts while suspended": (
            {},
            {f"{T}spec.containers.0.resources": {"requests": {"cpu": "1"}}},
        ),
        "the manager": ({}, {"spec.managedBy": "a.b/c"}),
        "the policy": (
            {},
            {
                "spec.podFailurePolicy": {
                    "rules": [
                        {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}
                    ]
                },
                "spec.podReplacementPolicy": "Failed",
            },
        ),
        "a selector": ({}, {"spec.selector": CHOSEN}),
    },
    "CronJob": {
        "the timetable": ({}, {"spec.schedule": "* * * * *"}),
        "the jobs": ({}, {f"{J}parallelism": 5}),
    },
    "PodTemplate": {
        "the template": ({}, {"template.spec.containers.0.image": "img:2"}),
    },
}

S = "status."
ENDED = {"terminated": {"exitCode": 0, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}}
FAILED = {"terminated": {"exitCode": 1, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}}
GOING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def state(current: Case, name: str = "a") -> Case:
    return {f"{S}containerStatuses": [{"name": name, "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": current}]}


def conditions(*types: str) -> Case:
    return {f"{S}conditions": [{"type": one, "status": "True"} for one in types]}


BOUND = {"spec.nodeName": "n1"}
BEGUN = {f"{S}startTime": "2026-01-01T00:00:00Z"}
OVER = {f"{S}completionTime": "2026-01-01T00:00:05Z"}

STATUSES: dict[str, dict[str, tuple[Case, Case, Case]]] = {
    "Pod": {
        "running": ({}, {}, {f"{S}phase": "Running", **state(GOING), f"{S}podIP": "10.0.0.1", f"{S}podIPs": [{"ip": "10.0.0.1"}]}),
        "another class": ({}, {}, {f"{S}qosClass": "Guaranteed"}),
        "no class": ({}, {}, {f"{S}qosClass": DROP}),
        "a nomination": ({}, {}, {f"{S}nominatedNodeName": "n2"}),
        "a bad nomination": ({}, {}, {f"{S}nominatedNodeName": "N 2"}),
        "a nomination of a bound pod": (BOUND, {}, {f"{S}nominatedNodeName": "n2"}),
        "bad conditions": ({}, {}, {f"{S}conditions": [{"type": "a b", "status": "True", "observedGeneration": -1}]}),
        "a negative generation": ({}, {}, {f"{S}observedGeneration": -1}),
        "generations that are kept": ({}, {f"{S}observedGeneration": 1, f"{S}conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}, {f"{S}observedGeneration": DROP, f"{S}conditions": [{"type": "Ready", "status": "False"}]}),
        "bad addresses": ({}, {}, {f"{S}podIPs": [{"ip": "x"}, {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], f"{S}hostIP": "1.1.1.1", f"{S}hostIPs": [{"ip": "1.1.1.2"}]}),
        "a restart": ({}, state(ENDED), state(GOING)),
        "a restart that is not allowed": ({"spec.restartPolicy": "Never"}, state(ENDED), state(GOING)),
        "a restart on failure": ({"spec.restartPolicy": "OnFailure"}, state(FAILED), state(GOING)),
        "a restart on success": ({"spec.restartPolicy": "OnFailure"}, state(ENDED), state(GOING)),
        "a spec and a label on the way": ({}, {}, {"spec.priority": 5, "metadata.labels.more": "x", f"{S}phase": "Running"}),
        "owners on the way": ({}, {}, {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}], f"{S}phase": "Running"}),
        "fine amounts": ({}, {}, {f"{S}containerStatuses": [{"name": "a", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "allocatedResources": {"cpu": "1.0001"}}]}),
    },
    "Deployment": {
        "numbers": ({}, {}, {f"{S}replicas": 2, f"{S}readyReplicas": 1, f"{S}availableReplicas": 1, f"{S}updatedReplicas": 2}),
        "bad numbers": ({}, {}, {f"{S}replicas": 1, f"{S}readyReplicas": 2, f"{S}availableReplicas": 3, f"{S}updatedReplicas": 2, f"{S}unavailableReplicas": -1}),
        "fewer collisions": ({}, {f"{S}collisionCount": 2}, {f"{S}collisionCount": 1}),
        "labels on the way": ({}, {}, {"metadata.labels": {"x": "y"}, f"{S}replicas": 1}),
    },
    "ReplicaSet": {
        "bad numbers": ({}, {}, {f"{S}replicas": 1, f"{S}readyReplicas": 2, f"{S}availableReplicas": 3, f"{S}fullyLabeledReplicas": 2}),
    },
    "StatefulSet": {
        "bad numbers": ({}, {}, {f"{S}replicas": 1, f"{S}readyReplicas": 2, f"{S}availableReplicas": 3, f"{S}currentReplicas": 2, f"{S}updatedReplicas": 2}),
    },
    "DaemonSet": {
        "bad numbers": ({}, {}, {f"{S}numberReady": -1, f"{S}currentNumberScheduled": -1}),
    },
    "Job": {
        "begun": ({}, {}, {**BEGUN, f"{S}active": 1}),
        "complete": ({}, BEGUN, {**OVER, **conditions("SuccessCriteriaMet", "Complete")}),
        "complete at once": ({}, BEGUN, conditions("Complete")),
        "failed at once": ({}, BEGUN, conditions("Failed")),
        "failed": ({}, BEGUN, conditions("FailureTarget", "Failed")),
        "failed and complete": ({}, BEGUN, {**OVER, **conditions("Failed", "Complete")}),
        "ready but not active": ({}, {}, {f"{S}ready": 2, f"{S}active": 1}),
        "fewer failures": ({}, {f"{S}failed": 2}, {f"{S}failed": 1}),
        "over but not complete": ({}, BEGUN, OVER),
        "complete but active": ({}, BEGUN, {**OVER, **conditions("SuccessCriteriaMet", "Complete"), f"{S}active": 1}),
    },
}
