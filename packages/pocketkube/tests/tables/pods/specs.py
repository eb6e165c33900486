"""Pods, good and bad, as changes to a small one."""

from tests.tables.pods.words import (
    APART,
    CHOSEN,
    DROP,
    EMPTY,
    LIKED,
    MOUNT,
    NEAR,
    NODES,
    SPREAD,
    VOL,
    C,
    Case,
    I,
    env,
    init,
    need,
    probe,
    tolerate,
    volume,
)

# fmt: off


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
    "a signal to stop": {f"{C}lifecycle": {"stopSignal": "SIGUSR1", "preStop": {"sleep": {"seconds": 1}}}},
    "nothing but a signal to stop": {"spec.os": {"name": "linux"}, f"{C}lifecycle": {"stopSignal": "SIGUSR1"}},
    "a group": {"spec.schedulingGroup": {"podGroupName": "g"}},
    "a source of certificates": volume(projected={"sources": [{"clusterTrustBundle": {"name": "x", "path": "p"}}]}),
    "an order of files": env(valueFrom={"fileKeyRef": {"volumeName": "v", "path": "p", "key": "K"}}),
    "a variable from a file": {VOL: EMPTY, **env(valueFrom={"fileKeyRef": {"volumeName": "v", "path": "p", "key": "K"}})},
    "a variable from a file of a map": {**volume(configMap={"name": "m"}), **env(valueFrom={"fileKeyRef": {"volumeName": "v", "path": "../p", "key": "K"}})},
    "windows": {"spec.os": {"name": "windows"}},
    "windows with what it does not have": {"spec.os": {"name": "windows"}, "spec.hostPID": True, "spec.securityContext": {"runAsUser": 1, "fsGroup": 2, "sysctls": [{"name": "kernel.x", "value": "1"}], "seLinuxOptions": {"level": "x"}}, f"{C}securityContext": {"privileged": False, "capabilities": {"add": ["X"]}, "runAsUser": 1}},
    "linux with what it does not have": {"spec.os": {"name": "linux"}, "spec.securityContext": {"windowsOptions": {"runAsUserName": "x"}}, f"{C}securityContext": {"windowsOptions": {"runAsUserName": "y"}}},
    "amounts for windows as a whole": {"spec.os": {"name": "windows"}, "spec.resources": {"limits": {"cpu": "1"}}},
    "a seccomp profile said twice": {"metadata.annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}, "spec.securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
    "a disk of a vendor": volume(gcePersistentDisk={"pdName": ""}),
    "ceph": volume(rbd={"monitors": [], "image": ""}),
    "fibre": volume(fc={}),
    "a flocker": volume(flocker={}),
    "a repository": volume(gitRepo={"repository": ""}),
    "amounts beyond all numbers": need({"memory": "1e30"}),
    "a toleration of everything for a while": tolerate(operator="Exists", effect="NoExecute", tolerationSeconds=-5),
    "many searches": {"spec.dnsConfig": {"searches": ["a.b"] * 33}},
    "a claim for a token": volume(projected={"sources": [{"serviceAccountToken": {"path": "../t", "audience": "a"}}]}),
    "a bad account": {"spec.serviceAccountName": "A b"},
}
