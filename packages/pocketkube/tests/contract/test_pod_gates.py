"""The rules of a pod's spec that booking relies on: gates, affinity and priority."""

from typing import Any

from tests.contract.objects import Home, everywhere, pod, simple, unique
from tests.contract.wire import Server

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


async def test_a_gated_pod_says_so(server: Server, home: Home) -> None:
    made = (await server.post(home("pods"), pod("a", schedulingGates=gates("x.io/a")))).ok(201)
    [condition] = made["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "PodScheduled",
        "False",
        "SchedulingGated",
    )
    assert condition["message"] == "Scheduling is blocked due to non-empty scheduling gates"


async def test_gates_are_removed_in_any_order(server: Server, home: Home) -> None:
    body = pod("a", schedulingGates=gates("x.io/a", "x.io/b"))
    (await server.post(home("pods"), body)).ok(201)
    one = (
        await server.patch(home("pods", "a"), {"spec": {"schedulingGates": gates("x.io/b")}})
    ).ok()
    assert one["spec"]["schedulingGates"] == gates("x.io/b")
    none = (await server.patch(home("pods", "a"), {"spec": {"schedulingGates": None}})).ok()
    assert "schedulingGates" not in none["spec"]


async def test_gates_cannot_be_added(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", schedulingGates=gates("x.io/a")))).ok(201)
    change = {"spec": {"schedulingGates": gates("x.io/a", "x.io/b")}}
    (await server.patch(home("pods", "a"), change)).refused(
        422,
        "Invalid",
        'Pod "a" is invalid: spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate '
        "'x.io/b'",
    )


async def test_gates_are_unique(server: Server, home: Home) -> None:
    body = pod("a", schedulingGates=gates("x.io/a", "x.io/a"))
    (await server.post(home("pods"), body)).refused(
        422, "Invalid", 'Pod "a" is invalid: spec.schedulingGates[1]: Duplicate value: "x.io/a"'
    )


async def test_a_gated_pod_has_no_node(server: Server, home: Home) -> None:
    body = pod("a", schedulingGates=gates("x.io/a"), nodeName="n")
    status = (await server.post(home("pods"), body)).refused(422, "Invalid")
    assert status["message"] == (
        'Pod "a" is invalid: spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared'
    )


async def test_the_node_selector_of_a_gated_pod_may_grow(server: Server, home: Home) -> None:
    body = pod("a", schedulingGates=gates("x.io/a"), nodeSelector={"zone": "a"})
    (await server.post(home("pods"), body)).ok(201)
    grown = (
        await server.patch(home("pods", "a"), {"spec": {"nodeSelector": {"disk": "ssd"}}})
    ).ok()
    assert grown["spec"]["nodeSelector"] == {"zone": "a", "disk": "ssd"}
    answer = await server.patch(home("pods", "a"), {"spec": {"nodeSelector": {"zone": "b"}}})
    status = answer.refused(422, "Invalid")
    assert "spec.nodeSelector: Invalid value: {" in status["message"]
    assert (
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        in status["message"]
    )


async def test_the_affinity_of_a_gated_pod_may_be_set(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", schedulingGates=gates("x.io/a")))).ok(201)
    (await server.patch(home("pods", "a"), {"spec": {"affinity": affinity("a")}})).ok(200)


async def test_the_affinity_of_a_gated_pod_is_only_tightened(server: Server, home: Home) -> None:
    body = pod("a", schedulingGates=gates("x.io/a"), affinity=affinity("a", "b"))
    (await server.post(home("pods"), body)).ok(201)
    tighter = affinity("a", "b")
    [term] = tighter["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    term["matchExpressions"].append({"key": "disk", "operator": "Exists"})
    (await server.patch(home("pods", "a"), {"spec": {"affinity": tighter}})).ok(200)
    wider = {"spec": {"affinity": affinity("a", "b", "c")}}
    status = (await server.patch(home("pods", "a"), wider)).refused(422, "Invalid")
    assert (
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        in status["message"]
    )
    assert "only additions are allowed" in status["message"]


async def test_the_affinity_of_a_pod_without_gates_stays(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok(201)
    answer = await server.patch(home("pods", "a"), {"spec": {"affinity": affinity("a")}})
    assert answer.refused(422, "Invalid")["message"].startswith(IMMUTABLE)


async def test_a_class_gives_a_pod_its_priority(server: Server, home: Home) -> None:
    name = unique("class")
    body = simple("scheduling.k8s.io/v1", "PriorityClass", name, value=70, preemptionPolicy="Never")
    (await server.post(everywhere("priorityclasses"), body)).ok(201)
    answer = await server.until(
        lambda: server.post(home("pods"), pod("a", priorityClassName=name)),
        lambda answer: answer.status == 201,
    )
    spec = answer.ok()["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (70, "Never")
    (await server.delete(everywhere("priorityclasses", name))).ok()


async def test_a_class_that_does_not_exist_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", priorityClassName="none"))).refused(
        403, "Forbidden", 'pods "a" is forbidden: no PriorityClass with name none was found'
    )


async def test_a_priority_cannot_be_chosen_without_a_class(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", priority=5))).refused(
        403,
        "Forbidden",
        'pods "a" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission '
        "controller computed 0 from the given PriorityClass name",
    )


async def test_a_port_is_a_port(server: Server, home: Home) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["ports"] = [{"containerPort": 70000}]
    (await server.post(home("pods"), body)).refused(
        422,
        "Invalid",
        'Pod "a" is invalid: spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and '
        "65535, inclusive",
    )


async def test_a_toleration_that_makes_no_sense_is_refused(server: Server, home: Home) -> None:
    body = pod("a", tolerations=[{"key": "x", "operator": "Exists", "value": "y"}])
    (await server.post(home("pods"), body)).refused(
        422,
        "Invalid",
        'Pod "a" is invalid: spec.tolerations[0].operator: Invalid value: "y": '
        "value must be empty when `operator` is 'Exists'",
    )


async def test_a_host_port_is_the_container_port_of_a_host_pod(server: Server, home: Home) -> None:
    body = pod("a", hostNetwork=True)
    body["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
    made = (await server.post(home("pods"), body)).ok(201)
    assert made["spec"]["containers"][0]["ports"] == [
        {"hostPort": 80, "containerPort": 80, "protocol": "TCP"}
    ]
