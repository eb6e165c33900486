"""What a pod must say, what is filled in, and what stays."""

from typing import Any

import pytest
from tests.contract.objects import Home, pod
from tests.contract.wire import JSON_PATCH, Server

IMMUTABLE = (
    'Pod "a" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,'
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def affinity(*values: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(values)}]}
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def gates(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


async def test_a_pod_is_completed(server: Server, home: Home) -> None:
    spec = (await server.post(home("pods"), pod("a"))).ok(201)["spec"]
    plain = {key: value for key, value in spec.items() if key not in ("containers", "volumes")}
    assert plain == {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{trouble}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for trouble in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


async def test_requests_are_taken_from_limits(server: Server, home: Home) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "500m", "memory": "1Gi"}}
    made = (await server.post(home("pods"), body)).ok(201)
    assert made["spec"]["containers"][0]["resources"]["requests"] == {
        "cpu": "500m",
        "memory": "1Gi",
    }
    assert made["status"]["qosClass"] == "Guaranteed"


async def test_requests_make_a_pod_burstable(server: Server, home: Home) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "0.1"}}
    made = (await server.post(home("pods"), body)).ok(201)
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "100m"}
    assert made["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("image", "policy"), [("a:latest", "Always"), ("a", "Always"), ("a:1.2", "IfNotPresent")]
)
async def test_an_image_is_pulled_by_its_tag(
    server: Server, home: Home, image: str, policy: str
) -> None:
    body = pod("a", containers=[{"name": "main", "image": image}])
    made = (await server.post(home("pods"), body)).ok(201)
    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


async def test_a_pod_without_containers_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", containers=[]))).refused(
        422, "Invalid", 'Pod "a" is invalid: spec.containers: Required value'
    )


async def test_names_of_containers_are_unique(server: Server, home: Home) -> None:
    containers = [{"name": "main", "image": "a"}, {"name": "main", "image": "b"}]
    (await server.post(home("pods"), pod("a", containers=containers))).refused(
        422, "Invalid", 'Pod "a" is invalid: spec.containers[1].name: Duplicate value: "main"'
    )


async def test_requests_do_not_exceed_limits(server: Server, home: Home) -> None:
    body = pod("a")
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    body["spec"]["containers"][0]["resources"] = resources
    (await server.post(home("pods"), body)).refused(
        422,
        "Invalid",
        'Pod "a" is invalid: spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu '
        "limit of 1",
    )


async def test_a_restart_policy_nobody_knows_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", restartPolicy="Maybe"))).refused(
        422,
        "Invalid",
        'Pod "a" is invalid: spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", '
        '"Never"',
    )


async def test_a_mount_needs_its_volume(server: Server, home: Home) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["volumeMounts"] = [{"name": "none", "mountPath": "/x"}]
    (await server.post(home("pods"), body)).refused(
        422,
        "Invalid",
        'Pod "a" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "none"',
    )


async def test_most_of_a_spec_stays(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok(201)
    answer = await server.patch(home("pods", "a"), {"spec": {"hostname": "other"}})
    status = answer.refused(422, "Invalid")
    assert status["message"].startswith(IMMUTABLE)


async def test_an_image_may_change(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok(201)
    change = [{"op": "replace", "path": "/spec/containers/0/image", "value": "other"}]
    assert (await server.patch(home("pods", "a"), change, JSON_PATCH)).ok()["metadata"][
        "generation"
    ] == 2


async def test_tolerations_may_be_added_but_not_removed(server: Server, home: Home) -> None:
    made = (await server.post(home("pods"), pod("a"))).ok(201)
    old = made["spec"]["tolerations"]
    more = {"spec": {"tolerations": [*old, {"key": "x", "operator": "Exists"}]}}
    assert len((await server.patch(home("pods", "a"), more)).ok()["spec"]["tolerations"]) == 3
    status = (await server.patch(home("pods", "a"), {"spec": {"tolerations": old}})).refused(
        422, "Invalid"
    )
    assert status["message"].startswith('Pod "a" is invalid: spec.tolerations: Forbidden: existing')


async def test_the_number_of_containers_stays(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok(201)
    change = [{"op": "add", "path": "/spec/containers/-", "value": {"name": "b", "image": "b"}}]
    (await server.patch(home("pods", "a"), change, JSON_PATCH)).refused(
        422,
        "Invalid",
        'Pod "a" is invalid: spec.containers: Forbidden: pod updates may not add or remove containers',
    )


async def test_a_deadline_may_come_closer_but_not_go(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", activeDeadlineSeconds=100))).ok(201)
    (await server.patch(home("pods", "a"), {"spec": {"activeDeadlineSeconds": 50}})).ok()
    answer = await server.patch(home("pods", "a"), {"spec": {"activeDeadlineSeconds": 60}})
    status = answer.refused(422, "Invalid")
    assert "spec.activeDeadlineSeconds: Invalid value: 60" in status["message"]
