"""Pods and other objects that admission has an opinion about, by the namespace they are sent to."""

from typing import Any

Object = dict[str, Any]


def pod(*containers: Object, meta: Object | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta or {},
        "spec": {"containers": list(containers) or [container("c")], **spec},
    }


def container(name: str, **members: Any) -> Object:
    return {"name": name, "image": "app:1", **members}


def using(name: str = "c", requests: Object | None = None, limits: Object | None = None) -> Object:
    """What a server would have filled in is said: a limit is also a request."""
    said = {"requests": {**(limits or {}), **(requests or {})}, "limits": limits or {}}
    return container(name, resources={side: said[side] for side in said if said[side]})


def secured(name: str = "c", **context: Any) -> Object:
    return container(name, securityContext=context)


GOOD = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
HTTP = {"httpGet": {"port": 80, "host": "h1"}}
TCP = {"tcpSocket": {"port": 80, "host": "h2"}}
STANDARDS: dict[str, Object] = {
    "nothing is said": pod(),
    "two containers say nothing": pod(container("a"), container("b")),
    "all is well": pod(secured(**GOOD)),
    "well for the pod as a whole": pod(
        secured(allowPrivilegeEscalation=False, capabilities={"drop": ["ALL"]}),
        securityContext={
            "runAsNonRoot": True,
            "seccompProfile": {"type": "Localhost", "localhostProfile": "p"},
        },
    ),
    "privileged": pod(secured("a", privileged=True), secured("b", privileged=True)),
    "escalation": pod(secured(**{**GOOD, "allowPrivilegeEscalation": True})),
    "apparmor of containers": pod(
        secured("a", appArmorProfile={"type": "Unconfined"}), container("b")
    ),
    "apparmor of the pod": pod(securityContext={"appArmorProfile": {"type": "Unconfined"}}),
    "apparmor by annotation": pod(
        secured("c", appArmorProfile={"type": "Unconfined"}),
        meta={"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}},
    ),
    "capabilities": pod(
        secured("a", capabilities={"add": ["SYS_ADMIN", "CHOWN", "NET_RAW"]}),
        secured("b", capabilities={"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}),
        secured("d", capabilities={"add": ["CHOWN"], "drop": ["KILL"]}),
    ),
    "host namespaces": pod(hostNetwork=True, hostPID=True, hostIPC=True),
    "host paths": pod(
        volumes=[
            {"name": "a", "hostPath": {"path": "/a", "type": ""}},
            {"name": "b", "hostPath": {"path": "/b", "type": ""}},
        ]
    ),
    "other volumes": pod(
        volumes=[
            {"name": "a", "nfs": {"server": "s", "path": "/a"}},
            {
                "name": "b",
                "iscsi": {
                    "targetPortal": "1.2.3.4",
                    "iqn": "iqn.2015-02.example.com:t",
                    "lun": 1,
                    "iscsiInterface": "default",
                },
            },
            {"name": "d", "emptyDir": {}},
            {"name": "e", "configMap": {"name": "m", "defaultMode": 420}},
        ]
    ),
    "host ports": pod(
        container(
            "a",
            ports=[{"containerPort": 80, "hostPort": 80}, {"containerPort": 9, "hostPort": 443}],
        ),
        container("b", ports=[{"containerPort": 81}]),
    ),
    "one host port": pod(container("a", ports=[{"containerPort": 80, "hostPort": 80}])),
    "hosts of probes": pod(
        container("b", livenessProbe=HTTP, readinessProbe=TCP),
        container("a", startupProbe=HTTP, lifecycle={"preStop": TCP}),
    ),
    "host of one probe": pod(container("a", lifecycle={"postStart": HTTP})),
    "proc mount": pod(
        secured("a", procMount="Unmasked"), secured("b", procMount="Default"), hostUsers=False
    ),
    "selinux": pod(
        secured("a", seLinuxOptions={"type": "spc_t", "user": "u"}),
        secured("b", seLinuxOptions={"role": "r"}),
        secured("d", seLinuxOptions={"type": "container_engine_t"}),
        securityContext={"seLinuxOptions": {"type": "other_t"}},
    ),
    "selinux of one type": pod(secured("a", seLinuxOptions={"type": "spc_t"})),
    "seccomp of containers": pod(
        secured("a", seccompProfile={"type": "Unconfined"}), container("b")
    ),
    "seccomp of the pod": pod(securityContext={"seccompProfile": {"type": "Unconfined"}}),
    "seccomp of one container": pod(
        secured("a", seccompProfile={"type": "RuntimeDefault"}), container("b")
    ),
    "seccomp by annotation": pod(
        secured("c", seccompProfile={"type": "Unconfined"}),
        meta={"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}},
    ),
    "sysctls": pod(
        securityContext={
            "sysctls": [
                {"name": "kernel.msgmax", "value": "1"},
                {"name": "net.ipv4.tcp_rmem", "value": "1"},
                {"name": "net.core.somaxconn", "value": "1"},
            ]
        }
    ),
    "host process": pod(
        secured("a", windowsOptions={"hostProcess": True}),
        hostNetwork=True,
        securityContext={"windowsOptions": {"hostProcess": True}},
    ),
    "windows": pod(secured(runAsNonRoot=True), os={"name": "windows"}),
    "root by number": pod(
        secured("a", **GOOD, runAsUser=0),
        secured("b", **GOOD, runAsUser=7),
        securityContext={"runAsUser": 0},
    ),
    "root allowed": pod(
        secured("a", runAsNonRoot=False), container("b"), securityContext={"runAsNonRoot": False}
    ),
    "root inside of a user namespace": pod(
        secured("a", **{**GOOD, "runAsNonRoot": False}, runAsUser=0), hostUsers=False
    ),
    "init containers": pod(
        secured(**GOOD), initContainers=[secured("i", privileged=True), container("j")]
    ),
}

LIMITED: dict[str, Object] = {
    "nothing is said": pod(),
    "request only": pod(using(requests={"cpu": "200m"})),
    "limit only": pod(using(limits={"cpu": "300m", "memory": "64Mi"})),
    "too little": pod(using(requests={"cpu": "10m"}, limits={"cpu": "500m"})),
    "too much": pod(using(limits={"cpu": "9"})),
    "limit below the least": pod(using(requests={"cpu": "50m"}, limits={"cpu": "50m"})),
    "too far apart": pod(using(requests={"cpu": "100m"}, limits={"cpu": "1"})),
    "two wrongs": pod(using(limits={"cpu": "9", "memory": "1Ti"})),
    "init container": pod(
        using(limits={"cpu": "300m"}), initContainers=[using("i", limits={"cpu": "9"})]
    ),
    "too much together": pod(*(using(f"c{n}", limits={"cpu": "900m"}) for n in range(3))),
    "sidecar counts": pod(
        using("a", limits={"cpu": "900m"}),
        initContainers=[{**using("s", limits={"cpu": "950m"}), "restartPolicy": "Always"}],
    ),
    "two containers": pod(container("a"), using("b", limits={"memory": "100Mi"})),
}

PRIORITIES: dict[str, Object] = {
    "no class": pod(),
    "a class": pod(priorityClassName="system-node-critical"),
    "an unknown class": pod(priorityClassName="nobody"),
    "the right number": pod(priorityClassName="system-node-critical", priority=2000001000),
    "another number": pod(priority=7),
    "another policy": pod(preemptionPolicy="Never"),
    "class that does not preempt": pod(priorityClassName="admission-polite"),
    "class that does not preempt, told otherwise": pod(
        priorityClassName="admission-polite", preemptionPolicy="PreemptLowerPriority"
    ),
}

ACCOUNTS: dict[str, Object] = {
    "default": pod(),
    "named": pod(serviceAccountName="builder"),
    "missing": pod(serviceAccountName="nobody"),
    "no token wanted": pod(automountServiceAccountToken=False),
    "account without token": pod(serviceAccountName="shy"),
    "account without token, wanted by the pod": pod(
        serviceAccountName="shy", automountServiceAccountToken=True
    ),
    "mounted elsewhere": pod(
        container(
            "a",
            volumeMounts=[
                {"name": "v", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
            ],
        ),
        container("b"),
        volumes=[{"name": "v", "emptyDir": {}}],
        initContainers=[container("i")],
    ),
    "volume named like the token": pod(
        container("a"), volumes=[{"name": "kube-api-access-mine", "emptyDir": {}}]
    ),
    "own pull secrets": pod(serviceAccountName="builder", imagePullSecrets=[{"name": "own"}]),
    "mountable secrets": pod(
        serviceAccountName="strict", volumes=[{"name": "v", "secret": {"secretName": "other"}}]
    ),
    "mountable secrets in the environment": pod(
        container("c", envFrom=[{"secretRef": {"name": "other"}}]), serviceAccountName="strict"
    ),
    "mountable pull secrets": pod(serviceAccountName="strict", imagePullSecrets=[{"name": "p"}]),
    "mirror": pod(meta={"annotations": {"kubernetes.io/config.mirror": "x"}}, nodeName="n"),
    "mirror with account": pod(
        meta={"annotations": {"kubernetes.io/config.mirror": "x"}},
        serviceAccountName="builder",
        nodeName="n",
    ),
    "tolerations of its own": pod(
        tolerations=[
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
            {"key": "x", "operator": "Exists"},
        ]
    ),
    "tolerates everything": pod(tolerations=[{"operator": "Exists"}]),
    "unknown runtime": pod(runtimeClassName="nobody"),
    "runtime": pod(runtimeClassName="admission-box", nodeSelector={"own": "a"}),
    "runtime with a conflict": pod(runtimeClassName="admission-box", nodeSelector={"box": "no"}),
    "overhead of nobody": pod(overhead={"cpu": "1"}),
}

SMALL = {"cpu": "100m", "memory": "10Mi"}
QUOTAS: dict[str, Object] = {
    "nothing is said": pod(),
    "small": pod(using(limits=SMALL)),
    "two containers, one silent": pod(using("b", limits=SMALL), container("a")),
    "only requests": pod(using(requests=SMALL)),
    "too much processor": pod(using(limits={"cpu": "9", "memory": "10Mi"})),
    "too much of two": pod(using(limits={"cpu": "9", "memory": "10Gi"})),
    "devices": pod(using(limits={**SMALL, "nvidia.com/gpu": "3"})),
    "huge pages": pod(using(limits={**SMALL, "hugepages-2Mi": "8Mi"})),
    "ends by itself": pod(using(limits=SMALL), activeDeadlineSeconds=9),
    "of a class": pod(using(limits=SMALL), priorityClassName="admission-polite"),
    "with a neighbour abroad": pod(
        using(limits=SMALL),
        affinity={
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "k", "namespaces": ["other"], "labelSelector": {}}
                ]
            }
        },
    ),
    "with init container": pod(
        using(limits=SMALL), initContainers=[using("i", limits={"cpu": "9", "memory": "1Mi"})]
    ),
}


def service(kind: str, ports: int, **spec: Any) -> Object:
    listed = [{"name": f"p{n}", "port": 80 + n} for n in range(ports)]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {},
        "spec": {"type": kind, "ports": listed, **spec},
    }


def claim(size: str, **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }


OTHERS: dict[str, Object] = {
    "plain service": service("ClusterIP", 1),
    "two node ports": service("NodePort", 2),
    "a balancer": service("LoadBalancer", 1),
    "a balancer without ports": service("LoadBalancer", 1, allocateLoadBalancerNodePorts=False),
    "a claim": claim("1Gi"),
    "a large claim": claim("50Gi"),
    "a tiny claim": claim("1Mi"),
    "a claim of a class": claim("3Gi", storageClassName="gold"),
    "a config map": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}},
    "a secret": {"apiVersion": "v1", "kind": "Secret", "metadata": {}},
}
