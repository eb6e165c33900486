"""Pods: binding them to nodes, evicting them within budgets, and their status."""

from typing import Any

import pytest
from tests.contract.objects import Home, pod, simple
from tests.contract.wire import Server


def binding(name: str, node: str = "n", **metadata: Any) -> dict[str, Any]:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = simple("v1", "Binding", name, target=target)
    body["metadata"] |= metadata
    return body


@pytest.fixture
async def a(server: Server, home: Home) -> str:
    (await server.post(home("pods"), pod("a", {"metadata": {"labels": {"app": "a"}}}))).ok(201)
    return home("pods", "a")


async def test_a_binding_gives_a_pod_its_node(server: Server, a: str) -> None:
    answer = (await server.post(f"{a}/binding", binding("a"))).ok(201)
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    bound = (await server.get(a)).ok()
    assert bound["spec"]["nodeName"] == "n"
    condition = {each["type"]: each["status"] for each in bound["status"]["conditions"]}
    assert condition["PodScheduled"] == "True"


async def test_a_pod_is_bound_once(server: Server, a: str) -> None:
    (await server.post(f"{a}/binding", binding("a"))).ok(201)
    (await server.post(f"{a}/binding", binding("a", "m"))).refused(
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n"',
    )


async def test_a_binding_carries_annotations_over(server: Server, a: str) -> None:
    (await server.post(f"{a}/binding", binding("a", annotations={"x": "y"}))).ok(201)
    assert (await server.get(a)).ok()["metadata"]["annotations"]["x"] == "y"


async def test_a_binding_of_another_uid_is_a_conflict(server: Server, a: str) -> None:
    (await server.post(f"{a}/binding", binding("a", uid="other"))).refused(409, "Conflict")
    assert "nodeName" not in (await server.get(a)).ok()["spec"]


async def test_a_binding_needs_a_target(server: Server, a: str) -> None:
    answer = await server.post(
        f"{a}/binding", simple("v1", "Binding", "a", target={"kind": "Node"})
    )
    answer.fails("target.name: Required value")


async def test_a_binding_goes_to_a_node(server: Server, a: str) -> None:
    target = {"kind": "Minion", "name": "n"}
    answer = await server.post(f"{a}/binding", simple("v1", "Binding", "a", target=target))
    answer.fails('target.kind: Unsupported value: "Minion": supported values: "Node", "<empty>"')


async def test_a_pod_that_is_not_there_cannot_be_bound(server: Server, home: Home) -> None:
    answer = await server.post(home("pods", "none", "binding"), binding("none"))
    answer.refused(404, "NotFound", 'pods "none" not found')


async def test_the_old_path_of_bindings_works(server: Server, home: Home, a: str) -> None:
    (await server.post(home("bindings"), binding("a"))).ok(201)
    assert (await server.get(a)).ok()["spec"]["nodeName"] == "n"


async def test_a_gated_pod_cannot_be_bound(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("b", schedulingGates=[{"name": "x.io/a"}]))).ok(201)
    answer = await server.post(home("pods", "b", "binding"), binding("b"))
    answer.refused(
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods/binding "b": pod b has non-empty .spec.schedulingGates',
    )


async def test_a_pod_in_deletion_cannot_be_bound(server: Server, home: Home) -> None:
    body = pod("b", {"metadata": {"finalizers": ["x.io/wait"]}})
    (await server.post(home("pods"), body)).ok(201)
    (await server.delete(home("pods", "b"))).ok()
    answer = await server.post(home("pods", "b", "binding"), binding("b"))
    answer.refused(
        409,
        "Conflict",
        'Operation cannot be fulfilled on pods/binding "b": pod b is being deleted, cannot be assigned to a host',
    )


async def test_a_pod_without_a_budget_is_evicted(server: Server, a: str) -> None:
    answer = (await server.post(f"{a}/eviction", simple("policy/v1", "Eviction", "a"))).ok(201)
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert (await server.get(a)).status == 404


async def test_an_evicted_pod_on_a_node_is_given_its_grace(server: Server, a: str) -> None:
    (await server.post(f"{a}/binding", binding("a"))).ok()
    (await server.patch(f"{a}/status", {"status": {"phase": "Running"}})).ok()
    (await server.post(f"{a}/eviction", simple("policy/v1", "Eviction", "a"))).ok(201)
    evicted = (await server.get(a)).ok()
    assert evicted["metadata"]["deletionTimestamp"]
    reasons = {each["type"]: each.get("reason") for each in evicted["status"]["conditions"]}
    assert reasons["DisruptionTarget"] == "EvictionByEvictionAPI"


async def budget(server: Server, home: Home, allowed: int, **spec: Any) -> str:
    selector = {"matchLabels": {"app": "a"}}
    body = simple(
        "policy/v1",
        "PodDisruptionBudget",
        "b",
        spec={"minAvailable": 1, "selector": selector, **spec},
    )
    path = home("poddisruptionbudgets")
    generation = (await server.post(path, body)).ok(201)["metadata"]["generation"]
    status = {
        "observedGeneration": generation,
        "disruptionsAllowed": allowed,
        "currentHealthy": allowed + 1,
        "desiredHealthy": 1,
        "expectedPods": allowed + 1,
    }
    (await server.patch(f"{path}/b/status", {"status": status})).ok()
    return f"{path}/b"


async def running(server: Server, a: str) -> None:
    (await server.post(f"{a}/binding", binding("a"))).ok()
    ready = [{"type": "Ready", "status": "True"}]
    (await server.patch(f"{a}/status", {"status": {"phase": "Running", "conditions": ready}})).ok()


async def test_a_spent_budget_holds_a_pod(server: Server, home: Home, a: str) -> None:
    await running(server, a)
    await budget(server, home, 0)
    answer = await server.post(f"{a}/eviction", simple("policy/v1", "Eviction", "a"))
    status = answer.refused(
        429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget."
    )
    assert status["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 1 healthy pods and has 1 currently",
        }
    ]


async def test_an_eviction_spends_a_budget(server: Server, home: Home, a: str) -> None:
    await running(server, a)
    path = await budget(server, home, 1)
    (await server.post(f"{a}/eviction", simple("policy/v1", "Eviction", "a"))).ok(201)
    status = (await server.get(path)).ok()["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["a"]


async def test_a_pending_pod_is_evicted_whatever_the_budget(
    server: Server, home: Home, a: str
) -> None:
    await budget(server, home, 0)
    (await server.post(f"{a}/eviction", simple("policy/v1", "Eviction", "a"))).ok(201)


async def test_a_budget_that_was_not_seen_yet_asks_for_patience(
    server: Server, home: Home, a: str
) -> None:
    await running(server, a)
    path = await budget(server, home, 1)
    (await server.patch(path, {"spec": {"minAvailable": 2}})).ok()
    answer = await server.post(f"{a}/eviction", simple("policy/v1", "Eviction", "a"))
    status = answer.refused(429, "TooManyRequests")
    assert status["details"]["retryAfterSeconds"] == 10
    assert answer.headers["Retry-After"] == "10"


async def test_an_eviction_must_name_its_pod(server: Server, a: str) -> None:
    answer = await server.post(f"{a}/eviction", simple("policy/v1", "Eviction", "other"))
    answer.refused(400, "BadRequest", "name in URL does not match name in Eviction object")


async def test_the_node_of_a_pod_stays_in_its_status_path(server: Server, a: str) -> None:
    (await server.post(f"{a}/binding", binding("a"))).ok()
    answer = await server.patch(f"{a}/status", {"spec": {"nodeName": "m"}})
    assert answer.ok()["spec"]["nodeName"] == "n"


async def test_the_first_address_of_a_pod_is_among_its_addresses(server: Server, a: str) -> None:
    (await server.post(f"{a}/binding", binding("a"))).ok()
    single = (await server.patch(f"{a}/status", {"status": {"podIP": "10.0.0.1"}})).ok()
    assert single["status"]["podIPs"] == [{"ip": "10.0.0.1"}]
    owned = single["metadata"]["managedFields"][-1]["fieldsV1"]["f:status"]
    assert {"f:podIP", "f:podIPs"} <= owned.keys()


async def test_an_address_that_is_none_is_refused(server: Server, a: str) -> None:
    answer = await server.patch(f"{a}/status", {"status": {"podIP": "nonsense"}})
    status = answer.refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "status.podIPs[0]"


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        pytest.param("Binding", "v7", id="version"),
        pytest.param("Other", "v1", id="kind"),
    ],
)
async def test_a_binding_of_another_kind_is_refused(
    server: Server, a: str, kind: str, version: str
) -> None:
    body = {**binding("a"), "kind": kind, "apiVersion": version}
    (await server.post(f"{a}/binding", body)).refused(
        400,
        "BadRequest",
        f'{kind} in version "{version}" cannot be handled as a Binding: '
        f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"',
    )
