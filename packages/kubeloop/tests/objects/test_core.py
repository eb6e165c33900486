from datetime import UTC, datetime

import msgspec
import pytest

from kubeloop.objects import codec, core
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind, ObjectMeta, key_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)

POD: dict[str, JSON] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-0",
        "namespace": "shop",
        "creationTimestamp": "2026-01-31T12:00:00Z",
        "managedFields": [{"manager": "kubelet"}],
    },
    "spec": {
        "volumes": [{"name": "token", "projected": {"sources": []}}],
        "initContainers": [
            {"name": "mesh", "image": "mesh:1", "restartPolicy": "Always", "resources": {}}
        ],
        "containers": [
            {
                "name": "web",
                "image": "web:1",
                "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": 1.5}},
                "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}],
                "terminationMessagePath": "/dev/termination-log",
            }
        ],
        "resources": {"requests": {"cpu": "2"}},
        "overhead": {"memory": "64Mi"},
        "nodeName": "n1",
        "nodeSelector": {"disk": "ssd"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "preference": {"matchFields": []}}
                ],
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []},
        },
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 300}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ],
        "schedulingGates": [{"name": "korder.dev/ticket"}],
        "priority": -5,
        "preemptionPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "hostNetwork": True,
    },
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
        ],
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.1",
        "startTime": "2026-01-31T12:00:00Z",
        "containerStatuses": [
            {
                "name": "web",
                "ready": True,
                "restartCount": 2,
                "image": "web:1",
                "imageID": "",
                "state": {"running": {"startedAt": None}},
                "lastState": {},
                "allocatedResources": {"cpu": "1"},
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
        "qosClass": "Burstable",
    },
}


def test_a_pod_as_a_server_sends_it_is_read_and_the_rest_forgotten() -> None:
    pod = codec.decode(msgspec.json.encode(POD), core.Pod)

    assert key_of(pod) == Key("shop", "web-0")
    assert pod.metadata.creation_timestamp == NOON
    (web,) = pod.spec.containers
    assert web.resources.requests == {"cpu": 1, "memory": "1Gi"}
    assert web.resources.limits == {"cpu": 1.5}
    assert (web.ports[0].host_port, web.ports[0].host_ip) == (8080, "10.0.0.1")
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.pod_anti_affinity == {
        "requiredDuringSchedulingIgnoredDuringExecution": []
    }
    assert pod.spec.affinity.node_affinity is not None
    assert pod.spec.affinity.node_affinity.required is not None
    assert pod.spec.affinity.node_affinity.preferred[0].weight == 7
    assert pod.spec.scheduling_gates == (core.SchedulingGate(name="korder.dev/ticket"),)
    assert pod.spec.topology_spread_constraints[0].label_selector is not None
    assert pod.status.start_time == NOON
    assert (pod.status.host_ip, pod.status.pod_ip) == ("10.0.0.1", "10.1.0.1")
    assert pod.status.container_statuses[0].allocated_resources == {"cpu": "1"}


def test_what_was_read_is_written_under_the_same_names() -> None:
    pod = codec.convert(POD, core.Pod)

    assert codec.decode(msgspec.json.encode(pod), core.Pod) == pod


def test_a_status_no_server_should_store_does_not_make_a_pod_unreadable() -> None:
    body: JSON = {"status": {"phase": "Odd", "conditions": [{"type": "x/y", "status": "perhaps"}]}}

    pod = codec.convert(body, core.Pod)

    assert core.reported(pod.status.conditions, "x/y") == core.ReportedCondition(
        type="x/y", status="perhaps"
    )


@pytest.mark.parametrize(
    ("phase", "finished"),
    [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True), ("", False)],
)
def test_a_pod_is_finished_when_it_can_never_run_again(phase: str, finished: bool) -> None:
    assert core.is_finished(core.Pod(status=core.PodStatus(phase=phase))) is finished


@pytest.mark.parametrize(
    ("policy", "stays"), [("Always", True), ("OnFailure", False), ("Never", False), (None, False)]
)
def test_an_init_container_that_always_restarts_is_a_sidecar(
    policy: str | None, stays: bool
) -> None:
    assert core.is_sidecar(core.Container(restart_policy=policy)) is stays


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "False"}], False),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([{"type": "MemoryPressure", "status": "True"}], False),
        ([], False),
    ],
    ids=["it says so", "it denies it", "nobody knows", "another condition is true", "it is silent"],
)
def test_a_node_is_ready_only_when_it_says_so(conditions: list[JSON], ready: bool) -> None:
    node = codec.convert({"status": {"conditions": conditions}}, core.Node)

    assert core.is_ready(node) is ready


def test_a_node_offers_amounts_and_carries_taints() -> None:
    body: JSON = {
        "metadata": {"name": "n1", "labels": {"zone": "a"}},
        "spec": {
            "podCIDR": "10.0.0.0/24",
            "providerID": "kind://n1",
            "unschedulable": True,
            "taints": [{"key": "gpu", "effect": "NoSchedule", "timeAdded": None}],
        },
        "status": {
            "allocatable": {"cpu": "4", "pods": 110},
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "machineID": "x"},
        },
    }

    node = codec.convert(body, core.Node)

    assert (node.spec.pod_cidr, node.spec.provider_id) == ("10.0.0.0/24", "kind://n1")
    assert node.spec.taints == (core.Taint(key="gpu", effect="NoSchedule"),)
    assert node.status.allocatable == {"cpu": "4", "pods": 110}
    assert node.status.node_info.kubelet_version == "v1.36.3"


def test_a_secret_is_read_as_bytes_and_shows_only_its_keys() -> None:
    body: JSON = {"metadata": {"name": "ca", "namespace": "k"}, "data": {"tls.key": "aHVzaA=="}}

    secret = codec.convert(body, core.Secret)

    assert secret.data == {"tls.key": b"hush"}
    assert repr(secret) == str(secret) == "Secret(k/ca, keys=['tls.key'])"
    assert b'"tls.key":"aHVzaA=="' in msgspec.json.encode(secret)


def test_events_and_leases_are_read_with_their_microseconds() -> None:
    event: JSON = {
        "eventTime": "2026-01-31T12:00:00.000001Z",
        "deprecatedFirstTimestamp": None,
        "regarding": {"kind": "Ticket", "name": "t1", "uid": "u"},
        "series": {"count": 3, "lastObservedTime": "2026-01-31T12:00:00.000000Z"},
        "reportingController": "korder",
    }
    lease: JSON = {
        "spec": {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "renewTime": "2026-01-31T12:00:00.500000Z",
            "leaseTransitions": 0,
        }
    }

    stated = codec.convert(event, core.Event)
    held = codec.convert(lease, core.Lease)

    assert stated.event_time == NOON.replace(microsecond=1)
    assert stated.series == core.EventSeries(count=3, last_observed_time=NOON)
    assert stated.regarding == core.ObjectReference(kind="Ticket", name="t1", uid="u")
    assert held.spec.renew_time == NOON.replace(microsecond=500_000)
    assert held.spec.acquire_time is None


def test_an_event_without_time_as_older_clients_write_it_is_read() -> None:
    assert codec.decode(b'{"eventTime":null}', core.Event).event_time is None


KINDS: dict[str, tuple[Kind[HasMetadata] | object, str, bool]] = {
    "pods": (core.PODS, "v1", True),
    "nodes": (core.NODES, "v1", False),
    "namespaces": (core.NAMESPACES, "v1", False),
    "secrets": (core.SECRETS, "v1", True),
    "configmaps": (core.CONFIG_MAPS, "v1", True),
    "serviceaccounts": (core.SERVICE_ACCOUNTS, "v1", True),
    "events.events.k8s.io": (core.EVENTS, "events.k8s.io/v1", True),
    "leases.coordination.k8s.io": (core.LEASES, "coordination.k8s.io/v1", True),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_name_their_resource(name: str) -> None:
    kind, api_version, namespaced = KINDS[name]

    assert isinstance(kind, Kind)
    assert str(kind) == name
    assert (kind.api_version, kind.namespaced) == (api_version, namespaced)
    assert codec.convert({"metadata": {"name": "x"}}, kind.model).metadata == ObjectMeta(name="x")


def test_small_kinds_keep_what_they_are_for() -> None:
    assert codec.convert({"data": {"a": "b"}}, core.ConfigMap).data == {"a": "b"}
    assert codec.convert({"status": {"phase": "Terminating"}}, core.Namespace).status.phase == (
        "Terminating"
    )
