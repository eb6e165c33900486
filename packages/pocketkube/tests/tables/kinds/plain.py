"""New objects of the kinds that only keep what they are told."""

from tests.tables.kinds.words import (
    BINDING,
    CBINDING,
    CM,
    CROLE,
    EVENT,
    LEASE,
    LIMITS,
    LONG,
    NEW_EVENT,
    NODE,
    NS,
    PC,
    PDB,
    QUOTA,
    ROLE,
    SECRET,
    SVC,
    Object,
    event,
    meta,
    named,
    new_event,
    owner,
)

PLAIN: list[tuple[str, str, Object]] = [
    (
        "a quota",
        QUOTA,
        named(
            spec={
                "hard": {
                    "cpu": "1",
                    "requests.memory": "1Gi",
                    "pods": "5",
                    "count/jobs.batch": "3",
                    "limits.example.com/gpu": "1",
                }
            }
        ),
    ),
    ("a quota of bad names", QUOTA, named(spec={"hard": {"foo": "1", "a b": "1", "storage": "1"}})),
    ("a quota of bad amounts", QUOTA, named(spec={"hard": {"pods": "500m", "cpu": "-1"}})),
    (
        "a quota of bad scopes",
        QUOTA,
        named(spec={"hard": {"configmaps": "1"}, "scopes": ["BestEffort", "NotBestEffort", "x"]}),
    ),
    (
        "a quota with a bad selector",
        QUOTA,
        named(
            spec={
                "hard": {"pods": "1"},
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In"},
                        {"scopeName": "BestEffort", "operator": "In", "values": ["a"]},
                        {"scopeName": "x", "operator": "y"},
                        {"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]},
                    ]
                },
            }
        ),
    ),
    (
        "a limit",
        LIMITS,
        named(
            spec={"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "100m"}}]}
        ),
    ),
    (
        "a limit with defaults",
        LIMITS,
        named(
            spec={
                "limits": [
                    {"type": "Container", "default": {"cpu": "1"}},
                    {"type": "Pod", "max": {"memory": "1Gi"}},
                ]
            }
        ),
    ),
    (
        "a limit with a request",
        LIMITS,
        named(
            spec={
                "limits": [
                    {
                        "type": "Container",
                        "default": {"cpu": "1"},
                        "defaultRequest": {"memory": "1"},
                        "max": {"memory": "2", "cpu": "3"},
                        "min": {"cpu": "1"},
                    }
                ]
            }
        ),
    ),
    (
        "a limit of an unknown type",
        LIMITS,
        named(spec={"limits": [{"type": "x"}, {"type": "a b"}]}),
    ),
    ("repeated limits", LIMITS, named(spec={"limits": [{"type": "Pod"}, {"type": "Pod"}]})),
    (
        "a pod limit with defaults",
        LIMITS,
        named(
            spec={
                "limits": [{"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}]
            }
        ),
    ),
    (
        "a claim limit without storage",
        LIMITS,
        named(spec={"limits": [{"type": "PersistentVolumeClaim"}]}),
    ),
    (
        "a limit of bad names",
        LIMITS,
        named(spec={"limits": [{"type": "Container", "max": {"foo": "1", "pods": "1"}}]}),
    ),
    (
        "limits that contradict",
        LIMITS,
        named(
            spec={
                "limits": [
                    {
                        "type": "Container",
                        "max": {"cpu": "1"},
                        "min": {"cpu": "2"},
                        "default": {"cpu": "3"},
                        "defaultRequest": {"cpu": "4"},
                        "maxLimitRequestRatio": {"cpu": "500m"},
                    }
                ]
            }
        ),
    ),
    (
        "a ratio too large",
        LIMITS,
        named(
            spec={
                "limits": [
                    {
                        "type": "Container",
                        "max": {"cpu": "2"},
                        "min": {"cpu": "1"},
                        "maxLimitRequestRatio": {"cpu": "3"},
                    }
                ]
            }
        ),
    ),
    (
        "a limit of shares",
        LIMITS,
        named(
            spec={
                "limits": [
                    {
                        "type": "Container",
                        "default": {"example.com/gpu": "2"},
                        "defaultRequest": {"example.com/gpu": "1"},
                    }
                ]
            }
        ),
    ),
    (
        "a volume",
        "persistentvolumes",
        named(
            "NAME",
            spec={
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/a"},
            },
        ),
    ),
    (
        "a claim",
        "persistentvolumeclaims",
        named(
            spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        ),
    ),
    ("a storage class", "storageclasses.storage.k8s.io", named("NAME", provisioner="a.b")),
    (
        "endpoints",
        "endpoints",
        named(subsets=[{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]),
    ),
    (
        "an endpoint slice",
        "endpointslices.discovery.k8s.io",
        named(addressType="IPv4", endpoints=[{"addresses": ["10.1.2.3"]}], ports=[{"port": 80}]),
    ),
    ("a driver", "csidrivers.storage.k8s.io", named("NAME", spec={})),
    (
        "a network policy",
        "networkpolicies.networking.k8s.io",
        named(spec={"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}),
    ),
    ("a runtime class", "runtimeclasses.node.k8s.io", named("NAME", handler="a")),
    (
        "an ingress class",
        "ingressclasses.networking.k8s.io",
        named("NAME", spec={"controller": "a.b/c"}),
    ),
    ("a driver's node", "csinodes.storage.k8s.io", named("NAME", spec={"drivers": []})),
    ("a revision", "controllerrevisions.apps", named(revision=1, data={"a": 1})),
    ("a claim template", "resourceclaimtemplates.resource.k8s.io", named(spec={"spec": {}})),
    ("a plain ConfigMap", CM, named(data={"a": "b"})),
    ("no name", CM, {"metadata": {}}),
    ("a name with a capital", CM, named("Abc")),
    ("a long name", CM, named(LONG)),
    ("a bad generateName", CM, {"metadata": {"name": "x", "generateName": "A-"}}),
    ("a bad label key", CM, meta(labels={"a b": "c"})),
    ("a bad label prefix", CM, meta(labels={"A.b/c": "c"})),
    ("an empty label prefix", CM, meta(labels={"/c": "c"})),
    ("a label with two slashes", CM, meta(labels={"a/b/c": "c"})),
    ("a long label key", CM, meta(labels={"a" * 64: "c"})),
    ("a bad label value", CM, meta(labels={"a": "-c"})),
    ("a bad annotation key", CM, meta(annotations={"a b": "c"})),
    ("an annotation key with capitals", CM, meta(annotations={"Example.com/A": "c"})),
    ("large annotations", CM, meta(annotations={"a": "b" * 262145})),
    ("an owner without members", CM, meta(ownerReferences=[{}])),
    (
        "two controllers",
        CM,
        meta(ownerReferences=[owner(controller=True), owner(name="c", controller=True)]),
    ),
    ("an event as owner", CM, meta(ownerReferences=[owner(kind="Event")])),
    ("a bad finalizer", CM, meta(finalizers=["a b"])),
    ("a finalizer without a domain", CM, meta(finalizers=["abc"])),
    ("two standard finalizers", CM, meta(finalizers=["orphan", "foregroundDeletion"])),
    ("a bad config key", CM, named(data={"a b": "c"})),
    ("a config key of dots", CM, named(data={"..": "c"})),
    ("a config key that begins with dots", CM, named(data={"..a": "c"})),
    ("a key in both data", CM, named(data={"a": "c"}, binaryData={"a": "Yg=="})),
    ("a large ConfigMap", CM, named(data={"a": "b" * (1024 * 1024 + 1)})),
    ("a namespace", NS, named("NAME")),
    ("a namespace with a dot", NS, named("a.b")),
    ("a namespace with finalizers", NS, named("NAME", spec={"finalizers": ["example.com/a"]})),
    ("a namespace with a bad finalizer", NS, named("NAME", spec={"finalizers": ["a b"]})),
    ("a node", NODE, named("NAME")),
    ("a node with a status", NODE, named("NAME", status={"capacity": {"cpu": "4"}})),
    (
        "a node with taints",
        NODE,
        named("NAME", spec={"taints": [{"key": "a", "effect": "NoSchedule"}]}),
    ),
    (
        "bad taints",
        NODE,
        named(
            "NAME", spec={"taints": [{"key": "a b", "value": "-", "effect": "No"}, {"key": "c"}]}
        ),
    ),
    (
        "repeated taints",
        NODE,
        named("NAME", spec={"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}),
    ),
    ("a bad pod range", NODE, named("NAME", spec={"podCIDRs": ["a"]})),
    (
        "two pod ranges of one family",
        NODE,
        named("NAME", spec={"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}),
    ),
    ("a secret", SECRET, named(data={"a": "Yg=="})),
    ("a secret with texts", SECRET, named(data={"a": "Yg=="}, stringData={"a": "c", "d": "e"})),
    ("a secret with a bad key", SECRET, named(data={"a b": "Yg=="})),
    (
        "a token secret without an account",
        SECRET,
        named(type="kubernetes.io/service-account-token"),
    ),
    ("a TLS secret without keys", SECRET, named(type="kubernetes.io/tls")),
    ("a TLS secret without a key", SECRET, named(type="kubernetes.io/tls", data={"tls.crt": ""})),
    ("a basic-auth secret without keys", SECRET, named(type="kubernetes.io/basic-auth")),
    ("an ssh secret without a key", SECRET, named(type="kubernetes.io/ssh-auth")),
    ("a docker secret without a key", SECRET, named(type="kubernetes.io/dockerconfigjson")),
    (
        "a docker secret with a list",
        SECRET,
        named(type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": "W10="}),
    ),
    ("a secret of an own type", SECRET, named(type="example.com/own")),
    ("a service account", "serviceaccounts", named()),
    ("a service without ports", SVC, named(spec={})),
    ("a service of an unknown type", SVC, named(spec={"type": "Foo", "ports": [{"port": 80}]})),
    (
        "a service with bad ports",
        SVC,
        named(spec={"ports": [{"port": 0, "protocol": "x"}, {"port": 80, "targetPort": "A_b"}]}),
    ),
    (
        "a service with repeated ports",
        SVC,
        named(spec={"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 80}]}),
    ),
    ("a headless service", SVC, named(spec={"clusterIP": "None", "selector": {"a": "b"}})),
    ("a headless service without a selector", SVC, named(spec={"clusterIP": "None"})),
    ("an external name", SVC, named(spec={"type": "ExternalName", "externalName": "a.b"})),
    ("an external name that is missing", SVC, named(spec={"type": "ExternalName"})),
    (
        "a service with a bad affinity",
        SVC,
        named(spec={"sessionAffinity": "x", "ports": [{"port": 80}]}),
    ),
    (
        "a service with client affinity",
        SVC,
        named(spec={"clusterIP": "None", "sessionAffinity": "ClientIP", "ports": [{"port": 80}]}),
    ),
    (
        "a service with a bad selector",
        SVC,
        named(spec={"selector": {"a b": "c"}, "ports": [{"port": 80}]}),
    ),
    ("a node port without the type", SVC, named(spec={"ports": [{"port": 80, "nodePort": 30500}]})),
    (
        "a node port out of range",
        SVC,
        named(spec={"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}),
    ),
    ("an address that is none", SVC, named(spec={"clusterIP": "1.2", "ports": [{"port": 80}]})),
    (
        "an address out of range",
        SVC,
        named(spec={"clusterIP": "192.168.1.1", "ports": [{"port": 80}]}),
    ),
    (
        "an outside policy on an inside service",
        SVC,
        named(spec={"externalTrafficPolicy": "Local", "ports": [{"port": 80}]}),
    ),
    ("a service name that begins with a digit", SVC, named("1a", spec={"clusterIP": "None"})),
    ("a service name with a dot", SVC, named("a.b", spec={"clusterIP": "None"})),
    ("a lease", LEASE, named(spec={"holderIdentity": "a", "leaseDurationSeconds": 15})),
    ("a lease without a spec", LEASE, named()),
    ("a lease of no length", LEASE, named(spec={"leaseDurationSeconds": 0})),
    ("a lease with negative transitions", LEASE, named(spec={"leaseTransitions": -1})),
    ("a lease with a loose finalizer", LEASE, meta(finalizers=["abc"])),
    ("a priority class", PC, named("NAME", value=5)),
    ("a high priority class", PC, named("NAME", value=1000000001)),
    ("a system priority class", PC, named("system-x", value=5)),
    ("a priority class with a bad policy", PC, named("NAME", value=5, preemptionPolicy="x")),
    ("a budget", PDB, named(spec={"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}})),
    ("an odd budget name", PDB, named("Some_Name", spec={"maxUnavailable": "50%"})),
    ("a budget of both", PDB, named(spec={"minAvailable": 1, "maxUnavailable": 1})),
    ("a budget with a bad percentage", PDB, named(spec={"minAvailable": "a"})),
    ("a budget above all", PDB, named(spec={"maxUnavailable": "101%"})),
    ("a negative budget", PDB, named(spec={"maxUnavailable": -1})),
    (
        "a budget with a bad selector",
        PDB,
        named(
            spec={
                "minAvailable": 1,
                "selector": {"matchExpressions": [{"key": "a", "operator": "x"}]},
            }
        ),
    ),
    (
        "a budget with a bad policy",
        PDB,
        named(spec={"minAvailable": 1, "unhealthyPodEvictionPolicy": "x"}),
    ),
    ("a role", ROLE, named(rules=[{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}])),
    ("a role with an odd name", ROLE, named("system:a:B_c")),
    ("a role with a slash", ROLE, named("a/b")),
    ("a role with empty rules", ROLE, named(rules=[{}])),
    ("a role about paths", ROLE, named(rules=[{"verbs": ["get"], "nonResourceURLs": ["/a"]}])),
    (
        "a cluster role about paths",
        CROLE,
        named("NAME", rules=[{"verbs": ["get"], "nonResourceURLs": ["/a"]}]),
    ),
    (
        "a cluster role about both",
        CROLE,
        named("NAME", rules=[{"verbs": ["get"], "nonResourceURLs": ["/a"], "resources": ["pods"]}]),
    ),
    ("an empty aggregation", CROLE, named("NAME", aggregationRule={})),
    (
        "a binding",
        BINDING,
        named(roleRef={"kind": "Role", "name": "a"}, subjects=[{"kind": "User", "name": "u"}]),
    ),
    ("a binding to nothing", BINDING, named()),
    (
        "a binding to another kind",
        BINDING,
        named(roleRef={"kind": "Pod", "name": "a", "apiGroup": "x"}),
    ),
    (
        "a binding of odd subjects",
        BINDING,
        named(
            roleRef={"kind": "Role", "name": "a"},
            subjects=[
                {"kind": "x"},
                {"kind": "ServiceAccount", "name": "A", "apiGroup": "x"},
                {"kind": "Group", "name": "g", "apiGroup": "x"},
            ],
        ),
    ),
    ("a cluster binding to a role", CBINDING, named("NAME", roleRef={"kind": "Role", "name": "a"})),
    (
        "a cluster binding of an account without a namespace",
        CBINDING,
        named(
            "NAME",
            roleRef={"kind": "ClusterRole", "name": "a"},
            subjects=[{"kind": "ServiceAccount", "name": "a"}],
        ),
    ),
    ("an event", EVENT, event(reason="r", message="m")),
    ("an event of another namespace", EVENT, named(involvedObject={"namespace": "other"})),
    ("an event without a namespace", EVENT, named(involvedObject={})),
    ("an event with a time", EVENT, event(eventTime="2026-01-01T00:00:00.000000Z")),
    ("a new event", NEW_EVENT, new_event()),
    ("a new event without anything", NEW_EVENT, named()),
    (
        "a new event with old members",
        NEW_EVENT,
        new_event(deprecatedCount=3, deprecatedSource={"component": "a"}),
    ),
    (
        "a new event with a bad series",
        NEW_EVENT,
        new_event(series={"count": 1, "lastObservedTime": None}),
    ),
    ("a new event of a bad type", NEW_EVENT, new_event(type="x")),
    ("a new event with long texts", NEW_EVENT, new_event(action="a" * 129, note="n" * 1025)),
]
