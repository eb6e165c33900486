"""Namespaces and nodes: the places where everything else lives."""

import pytest
from tests.contract.objects import Home, config_map, simple, unique
from tests.contract.wire import Server

SPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"


async def test_a_namespace_is_labelled_finalized_and_active(server: Server) -> None:
    name = unique("ns")
    made = (await server.post(SPACES, {"metadata": {"name": name}})).ok(201)
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}


async def test_the_label_of_its_name_comes_back(server: Server, home: Home) -> None:
    path = f"{SPACES}/{home.name}"
    label = "kubernetes.io/metadata.name"
    changed = (await server.patch(path, {"metadata": {"labels": {label: None, "x": "y"}}})).ok()
    assert changed["metadata"]["labels"] == {label: home.name, "x": "y"}


async def test_the_name_of_a_namespace_is_a_dns_label(server: Server) -> None:
    status = (await server.post(SPACES, {"metadata": {"name": "a.b"}})).refused(422, "Invalid")
    assert status["message"] == (
        'Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots'
    )


async def test_a_deleted_namespace_waits_for_its_contents(server: Server, home: Home) -> None:
    path = f"{SPACES}/{home.name}"
    gone = (await server.delete(path)).ok(200)
    assert gone["status"]["phase"] == "Terminating"
    assert gone["metadata"]["deletionTimestamp"]
    assert (await server.get(path)).ok()["spec"]["finalizers"] == ["kubernetes"]


async def test_nothing_new_is_made_in_a_terminating_namespace(server: Server, home: Home) -> None:
    (await server.delete(f"{SPACES}/{home.name}")).ok()
    answer = await server.post(home("configmaps"), config_map("late"))
    answer.refused(
        403,
        "Forbidden",
        f'configmaps "late" is forbidden: unable to create new content in namespace {home.name} because it is being '
        "terminated",
        {
            "name": "late",
            "kind": "configmaps",
            "causes": [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {home.name} is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        },
    )


async def test_what_is_there_can_still_be_changed_while_terminating(
    server: Server, home: Home
) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok()
    (await server.delete(f"{SPACES}/{home.name}")).ok()
    (await server.patch(home("configmaps", "a"), {"data": {"k": "v"}})).ok(200)
    (await server.delete(home("configmaps", "a"))).ok(200)


async def test_finalizing_ends_a_terminating_namespace(server: Server, home: Home) -> None:
    path = f"{SPACES}/{home.name}"
    marked = (await server.delete(path)).ok()
    marked["spec"] = {}
    (await server.put(f"{path}/finalize", marked)).ok(200)
    assert (await server.get(path)).status == 404


async def test_finalizing_a_living_namespace_only_takes_the_finalizer(
    server: Server, home: Home
) -> None:
    path = f"{SPACES}/{home.name}"
    space = (await server.get(path)).ok()
    space["spec"] = {}
    assert (await server.put(f"{path}/finalize", space)).ok(200)["spec"] == {}
    assert (await server.get(path)).status == 200


async def test_the_main_path_does_not_touch_spec_finalizers(server: Server, home: Home) -> None:
    path = f"{SPACES}/{home.name}"
    space = (await server.get(path)).ok()
    space["spec"] = {"finalizers": []}
    assert (await server.put(path, space)).ok()["spec"] == {"finalizers": ["kubernetes"]}


async def test_own_finalizers_hold_a_namespace_after_its_contents(server: Server) -> None:
    name = unique("ns")
    path = f"{SPACES}/{name}"
    body = {"metadata": {"name": name, "finalizers": ["x.io/wait"]}}
    (await server.post(SPACES, body)).ok(201)
    (await server.delete(path)).ok()
    waiting = (await server.get(path)).ok()
    waiting["spec"] = {}
    (await server.put(f"{path}/finalize", waiting)).ok()
    assert (await server.get(path)).ok()["metadata"]["finalizers"] == ["x.io/wait"]
    (await server.patch(path, {"metadata": {"finalizers": None}})).ok()
    assert (await server.get(path)).status == 404


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease"])
async def test_some_namespaces_are_there_from_the_start(server: Server, name: str) -> None:
    found = await server.until(
        lambda: server.get(f"{SPACES}/{name}"), lambda answer: answer.status == 200
    )
    assert found.ok()["status"]["phase"] == "Active"


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_cannot_be_deleted(server: Server, name: str) -> None:
    (await server.delete(f"{SPACES}/{name}")).refused(
        403, "Forbidden", f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    )


async def test_the_status_of_a_namespace_has_its_own_path(server: Server, home: Home) -> None:
    path = f"{SPACES}/{home.name}"
    condition = {"type": "x.io/Checked", "status": "True", "reason": "Ok", "message": ""}
    body = {"status": {"conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    changed = (await server.patch(f"{path}/status", body)).ok()
    assert changed["status"]["conditions"][0]["type"] == "x.io/Checked"
    assert "conditions" not in (await server.patch(path, {"status": None})).ok().get("spec", {})


async def test_namespaces_are_selected_by_status(server: Server, home: Home) -> None:
    (await server.delete(f"{SPACES}/{home.name}")).ok()
    query = {"fieldSelector": f"status.phase=Terminating,metadata.name={home.name}"}
    assert len((await server.get(SPACES, **query)).ok()["items"]) == 1


async def test_a_new_node_is_tainted_as_not_ready(server: Server) -> None:
    name = unique("node")
    made = (await server.post(NODES, simple("v1", "Node", name))).ok(201)
    assert made["spec"]["taints"] == [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    ]
    (await server.delete(f"{NODES}/{name}")).ok()


async def test_a_new_node_keeps_its_own_taints(server: Server) -> None:
    name = unique("node")
    taint = {"key": "gpu", "value": "yes", "effect": "NoExecute"}
    made = (await server.post(NODES, simple("v1", "Node", name, spec={"taints": [taint]}))).ok(201)
    assert [each["key"] for each in made["spec"]["taints"]] == [
        "gpu",
        "node.kubernetes.io/not-ready",
    ]
    (await server.delete(f"{NODES}/{name}")).ok()


async def test_a_bad_taint_is_refused(server: Server) -> None:
    taints = [{"key": "gpu", "value": "yes", "effect": "Sometimes"}]
    answer = await server.post(NODES, simple("v1", "Node", unique("node"), spec={"taints": taints}))
    status = answer.refused(422, "Invalid")
    assert status["details"]["causes"] == [
        {
            "reason": "FieldValueNotSupported",
            "message": 'Unsupported value: "Sometimes": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            "field": "metadata.taints[0].effect",
        }
    ]


async def test_the_status_of_a_node_says_what_it_has(server: Server) -> None:
    name = unique("node")
    (await server.post(NODES, simple("v1", "Node", name))).ok(201)
    body = {"status": {"capacity": {"cpu": "4000m"}, "allocatable": {"cpu": "3500m"}}}
    status = (await server.patch(f"{NODES}/{name}/status", body)).ok()["status"]
    assert status["capacity"] == {"cpu": "4"}
    assert status["allocatable"] == {"cpu": "3500m"}
    (await server.delete(f"{NODES}/{name}")).ok()


async def test_nodes_are_selected_by_schedulability(server: Server) -> None:
    name = unique("node")
    (await server.post(NODES, simple("v1", "Node", name, spec={"unschedulable": True}))).ok(201)
    query = {"fieldSelector": f"spec.unschedulable=true,metadata.name={name}"}
    assert len((await server.get(NODES, **query)).ok()["items"]) == 1
    (await server.delete(f"{NODES}/{name}")).ok()


async def test_the_identity_of_a_node_stays(server: Server) -> None:
    name = unique("node")
    (await server.post(NODES, simple("v1", "Node", name, spec={"providerID": "a://b"}))).ok(201)
    answer = await server.patch(f"{NODES}/{name}", {"spec": {"providerID": "a://c"}})
    status = answer.refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "spec.providerID"
    (await server.delete(f"{NODES}/{name}")).ok()


async def test_a_second_deletion_changes_nothing_while_the_namespace_is_held(
    server: Server,
) -> None:
    name = unique("ns")
    path = f"{SPACES}/{name}"
    body = simple("v1", "Namespace", name, spec={"finalizers": ["example.com/x"]})
    (await server.post(SPACES, body)).ok(201)
    (await server.delete(path)).ok()
    again = (await server.delete(path, {"propagationPolicy": "Orphan"})).ok()
    assert "finalizers" not in again["metadata"]
    (await server.put(f"{path}/finalize", simple("v1", "Namespace", name, spec={}))).ok()
