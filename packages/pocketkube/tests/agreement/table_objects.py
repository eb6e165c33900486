"""Objects with a status, to be shown in tables by a real server and by the printers: `(resource, object)`."""

from typing import Any

Object = dict[str, Any]

LONG_AGO = "2026-01-01T00:00:00Z"


def pod(name: str, status: Object, *, containers: int = 1, **spec: Any) -> tuple[str, Object]:
    several = [{"name": f"c{index}", "image": f"i{index}"} for index in range(containers)]
    return "pods", {
        "metadata": {"name": name},
        "spec": {"containers": several, **spec},
        "status": status,
    }


def state(index: int, kind: str, prefix: str = "c", **members: Any) -> Object:
    found = {
        "name": f"{prefix}{index}",
        "ready": False,
        "restartCount": 0,
        "image": "",
        "imageID": "",
    }
    inner = {key: members.pop(key) for key in ("reason", "exitCode", "signal") if key in members}
    if kind == "terminated":
        inner.setdefault("exitCode", 0)
    return {**found, "state": {kind: inner}, **members}


INIT = [{"name": "n0", "image": "x"}, {"name": "n1", "image": "x"}]
SIDECAR = [{"name": "n0", "image": "x", "restartPolicy": "Always"}]
READY = [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}]
ENDED = {"terminated": {"exitCode": 1, "finishedAt": LONG_AGO}}
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]},
}
SELECTOR = {"matchLabels": {"a": "b"}}

OBJECTS: list[tuple[str, Object]] = [
    pod("pending", {}),
    pod("gated", {}, schedulingGates=[{"name": "a.b/c"}]),
    pod("running", {"phase": "Running", "conditions": READY, "podIPs": [{"ip": "10.0.0.1"}], "podIP": "10.0.0.1", "containerStatuses": [state(0, "running", ready=True), state(1, "running", ready=True)]}, containers=2, nodeName="n"),
    pod("restarted", {"phase": "Running", "conditions": READY, "containerStatuses": [state(0, "running", ready=True, restartCount=3, lastState=ENDED)]}),
    pod("waiting", {"phase": "Pending", "containerStatuses": [state(0, "waiting", reason="ImagePullBackOff")]}),
    pod("completed", {"phase": "Succeeded", "containerStatuses": [state(0, "terminated", reason="Completed")]}),
    pod("failed", {"phase": "Failed", "containerStatuses": [state(0, "terminated", exitCode=3)]}),
    pod("signalled", {"phase": "Failed", "containerStatuses": [state(0, "terminated", exitCode=137, signal=9)]}),
    pod("half-done", {"phase": "Running", "containerStatuses": [state(0, "terminated", reason="Completed"), state(1, "running", ready=True)]}, containers=2),
    pod("half-done-ready", {"phase": "Running", "conditions": READY, "containerStatuses": [state(0, "terminated", reason="Completed"), state(1, "running", ready=True)]}, containers=2),
    pod("evicted", {"phase": "Failed", "reason": "Evicted"}),
    pod("init-waiting", {"phase": "Pending", "initContainerStatuses": [state(0, "waiting", "n", reason="PodInitializing"), state(1, "waiting", "n")]}, initContainers=INIT),
    pod("init-second", {"phase": "Pending", "initContainerStatuses": [state(0, "terminated", "n", reason="Completed"), state(1, "running", "n", restartCount=2)]}, initContainers=INIT),
    pod("init-error", {"phase": "Pending", "initContainerStatuses": [state(0, "terminated", "n", exitCode=1)]}, initContainers=INIT),
    pod("init-reason", {"phase": "Pending", "initContainerStatuses": [state(0, "waiting", "n", reason="CrashLoopBackOff", restartCount=5, lastState=ENDED)]}, initContainers=INIT),
    pod("sidecar", {"phase": "Running", "conditions": READY, "initContainerStatuses": [state(0, "running", "n", ready=True, started=True, restartCount=1)], "containerStatuses": [state(0, "running", ready=True)]}, initContainers=SIDECAR),
    pod("gates", {"phase": "Running", "conditions": [{"type": "a.b/x", "status": "True"}]}, readinessGates=[{"conditionType": "a.b/x"}, {"conditionType": "a.b/y"}]),
    pod("nominated", {"phase": "Pending", "nominatedNodeName": "n"}),
    ("nodes", {"metadata": {"name": "NAME-a", "labels": {"node-role.kubernetes.io/b": "", "node-role.kubernetes.io/a": "", "kubernetes.io/role": "c"}}, "spec": {"unschedulable": True}, "status": {"conditions": [{"type": "Ready", "status": "True"}], "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}], "nodeInfo": {"kubeletVersion": "v1", "osImage": "o", "kernelVersion": "k", "architecture": "arm64", "containerRuntimeVersion": "r", "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "", "operatingSystem": ""}}}),
    ("nodes", {"metadata": {"name": "NAME-b"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}),
    ("services", {"metadata": {"name": "headless"}, "spec": {"clusterIP": "None", "selector": {"b": "c", "a": "b"}}}),
    ("services", {"metadata": {"name": "balanced"}, "spec": {"type": "LoadBalancer", "clusterIP": "10.96.77.7", "externalIPs": ["1.2.3.4"], "ports": [{"name": "a", "port": 80, "nodePort": 30077}, {"name": "b", "port": 53, "protocol": "UDP", "nodePort": 30078}]}}),
    ("services", {"metadata": {"name": "named"}, "spec": {"type": "ExternalName", "externalName": "a.b"}}),
    ("configmaps", {"metadata": {"name": "x"}, "data": {"a": "b"}, "binaryData": {"c": "ZA=="}}),
    ("secrets", {"metadata": {"name": "x"}, "stringData": {"a": "b"}}),
    ("leases.coordination.k8s.io", {"metadata": {"name": "x"}, "spec": {"holderIdentity": "me"}}),
    ("leases.coordination.k8s.io", {"metadata": {"name": "y"}}),
    ("events", {"metadata": {"name": "old"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "NAMESPACE", "fieldPath": "spec"}, "reason": "R", "message": " m \n", "type": "Normal", "source": {"component": "c", "host": "h"}, "firstTimestamp": LONG_AGO, "lastTimestamp": LONG_AGO, "count": 4}),
    ("events", {"metadata": {"name": "bare"}, "involvedObject": {"namespace": "NAMESPACE"}}),
    ("events.events.k8s.io", {"metadata": {"name": "new"}, "regarding": {"kind": "Pod", "name": "p", "namespace": "NAMESPACE"}, "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "a/b", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Warning", "note": "n", "series": {"count": 7, "lastObservedTime": "2026-02-01T00:00:00.000000Z"}}),
    ("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "NAME"}, "value": 7}),
    ("poddisruptionbudgets.policy", {"metadata": {"name": "x"}, "spec": {"minAvailable": "50%", "selector": SELECTOR}}),
    ("poddisruptionbudgets.policy", {"metadata": {"name": "y"}, "spec": {"maxUnavailable": 1, "selector": SELECTOR}}),
    ("roles.rbac.authorization.k8s.io", {"metadata": {"name": "x"}}),
    ("rolebindings.rbac.authorization.k8s.io", {"metadata": {"name": "x"}, "roleRef": {"kind": "Role", "name": "x"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "User", "name": "v"}, {"kind": "Group", "name": "g"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]}),
    ("limitranges", {"metadata": {"name": "x"}, "spec": {"limits": []}}),
    ("deployments.apps", {"metadata": {"name": "x"}, "spec": {"replicas": 0, "paused": True, "selector": SELECTOR, "template": TEMPLATE}}),
    ("replicasets.apps", {"metadata": {"name": "x"}, "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["c", "b"]}, {"key": "a", "operator": "Exists"}]}, "template": TEMPLATE}}),
    ("replicationcontrollers", {"metadata": {"name": "x"}, "spec": {"replicas": 0, "selector": {"a": "b"}, "template": TEMPLATE}}),
    ("statefulsets.apps", {"metadata": {"name": "x"}, "spec": {"replicas": 0, "serviceName": "s", "selector": SELECTOR, "template": TEMPLATE}}),
    ("daemonsets.apps", {"metadata": {"name": "x"}, "spec": {"selector": SELECTOR, "template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"nowhere": "x"}}}}}),
    ("jobs.batch", {"metadata": {"name": "x"}, "spec": {"suspend": True, "parallelism": 3, "template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}}),
    ("cronjobs.batch", {"metadata": {"name": "x"}, "spec": {"schedule": "0 0 1 1 *", "suspend": True, "timeZone": "UTC", "jobTemplate": {"spec": {"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}}}}),
    ("endpoints", {"metadata": {"name": "x"}, "subsets": [{"addresses": [{"ip": f"10.1.1.{index}"} for index in range(1, 6)], "ports": [{"port": 80}]}]}),
    ("endpoints", {"metadata": {"name": "y"}}),
    ("endpointslices.discovery.k8s.io", {"metadata": {"name": "x"}, "addressType": "IPv4", "endpoints": [{"addresses": ["10.1.1.1"]}, {"addresses": ["10.1.1.2"]}], "ports": [{"port": 80}]}),
    ("endpointslices.discovery.k8s.io", {"metadata": {"name": "y"}, "addressType": "IPv4", "endpoints": []}),
    ("persistentvolumes", {"metadata": {"name": "NAME"}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"], "hostPath": {"path": "/a"}, "storageClassName": "s"}}),
    ("persistentvolumeclaims", {"metadata": {"name": "x"}, "spec": {"storageClassName": "none", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    ("storageclasses.storage.k8s.io", {"metadata": {"name": "NAME", "annotations": {"storageclass.kubernetes.io/is-default-class": "false"}}, "provisioner": "a.b"}),
    ("csidrivers.storage.k8s.io", {"metadata": {"name": "NAME"}, "spec": {}}),
    ("csinodes.storage.k8s.io", {"metadata": {"name": "NAME"}, "spec": {"drivers": []}}),
    ("runtimeclasses.node.k8s.io", {"metadata": {"name": "NAME"}, "handler": "h"}),
    ("networkpolicies.networking.k8s.io", {"metadata": {"name": "x"}, "spec": {"podSelector": {}}}),
    ("ingressclasses.networking.k8s.io", {"metadata": {"name": "NAME"}, "spec": {"controller": "a.b/c", "parameters": {"apiGroup": "a.b", "kind": "K", "name": "n", "scope": "Cluster"}}}),
    ("validatingwebhookconfigurations.admissionregistration.k8s.io", {"metadata": {"name": "NAME"}, "webhooks": []}),
    ("validatingadmissionpolicies.admissionregistration.k8s.io", {"metadata": {"name": "NAME"}, "spec": {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": {"resourceRules": [{"apiGroups": ["none"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}]}, "validations": [{"expression": "true"}]}}),
    ("validatingadmissionpolicybindings.admissionregistration.k8s.io", {"metadata": {"name": "NAME"}, "spec": {"policyName": "NAME", "validationActions": ["Deny"], "paramRef": {"name": "n", "parameterNotFoundAction": "Allow"}}}),
    ("resourcequotas", {"metadata": {"name": "x"}, "spec": {"hard": {"pods": "100", "limits.cpu": "100", "requests.memory": "100Gi"}}, "status": {"hard": {"pods": "100", "limits.cpu": "100", "requests.memory": "100Gi"}, "used": {"pods": "1", "limits.cpu": "500m"}}}),
    ("controllerrevisions.apps", {"metadata": {"name": "x", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "x", "uid": "u", "controller": True}]}, "revision": 4, "data": {"a": 1}}),
    ("ingresses.networking.k8s.io", {"metadata": {"name": "x"}, "spec": {"ingressClassName": "c", "tls": [{"hosts": ["h0"]}], "rules": [{"host": f"h{index}"} for index in range(5)]}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "h"}]}}}),
    ("ingresses.networking.k8s.io", {"metadata": {"name": "y"}, "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}}),
    ("horizontalpodautoscalers.autoscaling", {"metadata": {"name": "x"}, "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}, "minReplicas": 2, "maxReplicas": 4, "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}, {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1k"}}}, {"type": "External", "external": {"metric": {"name": "e"}, "target": {"type": "Value", "value": "5"}}}]}}),
    ("resourceclaims.resource.k8s.io", {"metadata": {"name": "x"}, "spec": {}}),
    ("flowschemas.flowcontrol.apiserver.k8s.io", {"metadata": {"name": "NAME"}, "spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 900}}),
    ("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", {"metadata": {"name": "NAME"}, "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}}),
    ("ipaddresses.networking.k8s.io", {"metadata": {"name": "10.96.255.250"}, "spec": {"parentRef": {"group": "", "resource": "services", "namespace": "NAMESPACE", "name": "none"}}}),
]  # fmt: skip
