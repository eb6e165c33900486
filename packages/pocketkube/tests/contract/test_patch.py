"""JSON, merge and strategic-merge patches: what they do, and what is said about those that cannot be."""

import pytest
from tests.contract.objects import Home, config_map, essence, pod, workload
from tests.contract.wire import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Server


@pytest.fixture
async def a(server: Server, home: Home) -> str:
    """The path of a config map with one key."""
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok(201)
    return home("configmaps", "a")


async def test_a_merge_patch_adds_changes_and_removes(server: Server, a: str) -> None:
    assert (await server.patch(a, {"data": {"l": "w"}})).ok(200)["data"] == {"k": "v", "l": "w"}
    assert (await server.patch(a, {"data": {"k": None, "l": "x"}})).ok()["data"] == {"l": "x"}


async def test_a_merge_patch_of_null_removes_a_whole_member(server: Server, a: str) -> None:
    assert "data" not in (await server.patch(a, {"data": None})).ok()


async def test_a_merge_patch_replaces_lists(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/a", "x.io/b"]))).ok()
    patched = await server.patch(home("configmaps", "a"), {"metadata": {"finalizers": ["x.io/c"]}})
    assert patched.ok()["metadata"]["finalizers"] == ["x.io/c"]
    (await server.patch(home("configmaps", "a"), {"metadata": {"finalizers": None}})).ok()


async def test_a_patch_without_a_change_keeps_the_version(server: Server, a: str) -> None:
    before = (await server.get(a)).ok()
    assert (await server.patch(a, {"data": {"k": "v"}})).ok() == before


async def test_a_patch_with_a_stale_version_is_a_conflict(server: Server, a: str) -> None:
    old = (await server.get(a)).ok()["metadata"]["resourceVersion"]
    (await server.patch(a, {"data": {"k": "w"}})).ok()
    answer = await server.patch(a, {"metadata": {"resourceVersion": old}, "data": {"k": "x"}})
    answer.refused(
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again",
    )


async def test_a_patch_cannot_change_the_uid(server: Server, a: str) -> None:
    (await server.patch(a, {"metadata": {"uid": "other"}})).refused(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable',
    )


async def test_a_patch_cannot_change_the_name(server: Server, a: str) -> None:
    answer = await server.patch(a, {"metadata": {"name": "b"}})
    answer.refused(
        400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"
    )


async def test_a_patch_cannot_change_the_kind(server: Server, a: str) -> None:
    status = (await server.patch(a, {"kind": "Pod"})).refused(422, "Invalid")
    assert status["message"].endswith("converting (v1.Pod) to (core.ConfigMap): unknown conversion")


async def test_a_patch_of_what_is_not_there_is_not_found(server: Server, home: Home) -> None:
    answer = await server.patch(home("configmaps", "none"), {"data": {}})
    answer.refused(404, "NotFound", 'configmaps "none" not found')


async def test_a_result_that_is_invalid_is_refused(server: Server, a: str) -> None:
    answer = await server.patch(a, {"data": {"no good": "x"}})
    answer.refused(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: data[no good]: Invalid value: "no good": a valid config key must consist of '
        "alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for "
        "validation is '[-._a-zA-Z0-9]+')",
    )


async def test_a_result_of_the_wrong_type_is_refused(server: Server, a: str) -> None:
    status = (await server.patch(a, {"data": {"k": 5}})).refused(422, "Invalid")
    assert status["message"].startswith(' "" is invalid: patch: Invalid value: "{')
    assert status["message"].endswith(
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    )
    assert status["details"]["causes"][0]["field"] == "patch"


async def test_a_merge_patch_that_is_no_json_is_refused(server: Server, a: str) -> None:
    (await server.patch(a, b"{")).refused(
        400, "BadRequest", "error decoding patch: unexpected end of JSON input"
    )


async def test_a_merge_patch_that_is_a_list_is_refused(server: Server, a: str) -> None:
    status = (await server.patch(a, [])).refused(400, "BadRequest")
    assert status["message"].startswith("error decoding patch: json: cannot unmarshal array")


async def test_a_patch_type_nobody_knows_is_refused(server: Server, a: str) -> None:
    (await server.patch(a, {}, "application/json")).refused(
        415,
        "UnsupportedMediaType",
        "415: Unsupported Media Type",
    )


async def test_a_patch_of_a_collection_is_not_allowed(server: Server, home: Home) -> None:
    (await server.patch(home("configmaps"), {})).refused(405, "MethodNotAllowed")


async def test_operations_of_a_json_patch_run_in_order(server: Server, a: str) -> None:
    operations = [
        {"op": "test", "path": "/data/k", "value": "v"},
        {"op": "add", "path": "/data/l", "value": "1"},
        {"op": "copy", "from": "/data/l", "path": "/data/m"},
        {"op": "move", "from": "/data/k", "path": "/data/n"},
        {"op": "replace", "path": "/data/l", "value": "2"},
        {"op": "remove", "path": "/data/m"},
    ]
    patched = (await server.patch(a, operations, JSON_PATCH)).ok()
    assert patched["data"] == {"l": "2", "n": "v"}


async def test_pointers_of_a_json_patch_are_unescaped(server: Server, a: str) -> None:
    path = "/metadata/annotations"
    operations = [
        {"op": "add", "path": path, "value": {}},
        {"op": "add", "path": f"{path}/x.io~1a", "value": "1"},
    ]
    patched = (await server.patch(a, operations, JSON_PATCH)).ok()
    assert patched["metadata"]["annotations"] == {"x.io/a": "1"}


async def test_a_dash_appends_to_a_list(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/a"]))).ok()
    add = [{"op": "add", "path": "/metadata/finalizers/-", "value": "x.io/b"}]
    patched = await server.patch(home("configmaps", "a"), add, JSON_PATCH)
    assert patched.ok()["metadata"]["finalizers"] == ["x.io/a", "x.io/b"]


async def test_a_test_that_fails_refuses_the_patch(server: Server, a: str) -> None:
    operations = [{"op": "test", "path": "/data/k", "value": "other"}]
    answer = await server.patch(a, operations, JSON_PATCH)
    answer.refused(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    )


async def test_removing_what_is_not_there_refuses_the_patch(server: Server, a: str) -> None:
    answer = await server.patch(a, [{"op": "remove", "path": "/data/none"}], JSON_PATCH)
    answer.refused(422, "Invalid", "the server rejected our request due to an error in our request")


async def test_a_json_patch_that_is_no_list_is_refused(server: Server, a: str) -> None:
    status = (await server.patch(a, {}, JSON_PATCH)).refused(400, "BadRequest")
    assert "error decoding patch" in status["message"]


async def test_a_json_patch_has_at_most_10000_operations(server: Server, a: str) -> None:
    operation = {"op": "test", "path": "/data/k", "value": "v"}
    answer = await server.patch(a, [operation] * 10001, JSON_PATCH)
    answer.refused(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    )


async def test_a_strategic_patch_merges_lists_by_their_key(server: Server, home: Home) -> None:
    (await server.post(home("deployments"), workload("Deployment", "a"))).ok(201)
    container = {"name": "main", "image": "new"}
    second = {"name": "side", "image": "other"}
    body = {"spec": {"template": {"spec": {"containers": [container, second]}}}}
    patched = (await server.patch(home("deployments", "a"), body, STRATEGIC_PATCH)).ok()
    found = patched["spec"]["template"]["spec"]["containers"]
    assert [(each["name"], each["image"]) for each in found] == [("main", "new"), ("side", "other")]


async def test_a_strategic_patch_deletes_an_item(server: Server, home: Home) -> None:
    spec = {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}
    body = workload("Deployment", "a")
    body["spec"]["template"]["spec"]["containers"][0].update(spec)
    (await server.post(home("deployments"), body)).ok(201)
    env = [{"name": "A", "$patch": "delete"}]
    change = {"spec": {"template": {"spec": {"containers": [{"name": "main", "env": env}]}}}}
    patched = (await server.patch(home("deployments", "a"), change, STRATEGIC_PATCH)).ok()
    assert patched["spec"]["template"]["spec"]["containers"][0]["env"] == [
        {"name": "B", "value": "2"}
    ]


async def test_a_strategic_patch_replaces_on_demand(server: Server, a: str) -> None:
    body = {"data": {"$patch": "replace", "n": "1"}}
    assert (await server.patch(a, body, STRATEGIC_PATCH)).ok()["data"] == {"n": "1"}


async def test_a_strategic_patch_removes_from_a_list_of_texts(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/a", "x.io/b"]))).ok()
    body = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/a"]}}
    patched = (await server.patch(home("configmaps", "a"), body, STRATEGIC_PATCH)).ok()
    assert patched["metadata"]["finalizers"] == ["x.io/b"]


async def test_a_strategic_patch_adds_to_a_list_of_texts(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a", finalizers=["x.io/a"]))).ok()
    body = {"metadata": {"finalizers": ["x.io/b"]}}
    patched = (await server.patch(home("configmaps", "a"), body, STRATEGIC_PATCH)).ok()
    assert set(patched["metadata"]["finalizers"]) == {"x.io/a", "x.io/b"}


async def test_a_strategic_patch_keeps_only_wanted_keys(server: Server, home: Home) -> None:
    volumes = [{"name": "v", "emptyDir": {}}]
    body = workload("Deployment", "a")
    body["spec"]["template"]["spec"]["volumes"] = volumes
    (await server.post(home("deployments"), body)).ok(201)
    source = {"name": "v", "configMap": {"name": "c"}, "$retainKeys": ["name", "configMap"]}
    change = {"spec": {"template": {"spec": {"volumes": [source]}}}}
    patched = (await server.patch(home("deployments", "a"), change, STRATEGIC_PATCH)).ok()
    assert patched["spec"]["template"]["spec"]["volumes"] == [
        {"name": "v", "configMap": {"name": "c", "defaultMode": 420}}
    ]


async def test_a_strategic_item_without_its_key_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("deployments"), workload("Deployment", "a"))).ok(201)
    change = {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}
    answer = await server.patch(home("deployments", "a"), change, STRATEGIC_PATCH)
    answer.fails("map: map[image:x] does not contain declared merge key: name")


async def test_a_status_is_patched_through_its_own_path(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok(201)
    ready = {"type": "Ready", "status": "True"}
    body = {"status": {"phase": "Running", "conditions": [ready]}}
    patched = (await server.patch(home("pods", "a", "status"), body, STRATEGIC_PATCH)).ok()
    assert patched["status"]["phase"] == "Running"
    more = {"status": {"conditions": [{"type": "Initialized", "status": "True"}]}}
    patched = (await server.patch(home("pods", "a", "status"), more, STRATEGIC_PATCH)).ok()
    assert {each["type"] for each in patched["status"]["conditions"]} == {"Ready", "Initialized"}


async def test_a_patch_answers_with_the_whole_object(server: Server, a: str) -> None:
    answer = (await server.patch(a, {"data": {"l": "w"}}, MERGE_PATCH)).ok()
    assert essence(answer) == essence((await server.get(a)).ok())


async def test_a_json_patch_can_count_from_the_end(server: Server, home: Home) -> None:
    finalizers = ["x.io/a", "x.io/b", "x.io/c"]
    (await server.post(home("configmaps"), config_map("a", finalizers=finalizers))).ok()
    path, place = home("configmaps", "a"), "/metadata/finalizers"
    shorter = await server.patch(path, [{"op": "remove", "path": f"{place}/-2"}], JSON_PATCH)
    assert shorter.ok()["metadata"]["finalizers"] == ["x.io/a", "x.io/c"]
    more = [{"op": "add", "path": f"{place}/-1", "value": "x.io/d"}]
    longer = await server.patch(path, more, JSON_PATCH)
    assert longer.ok()["metadata"]["finalizers"] == ["x.io/a", "x.io/c", "x.io/d"]
    (await server.patch(path, {"metadata": {"finalizers": None}})).ok()


async def test_of_several_faults_the_first_by_name_is_reported(server: Server, a: str) -> None:
    operations = [
        {"op": "add", "path": "/metadata/uid", "value": 1},
        {"op": "add", "path": "/metadata/generation", "value": []},
    ]
    status = (await server.patch(a, operations, JSON_PATCH)).refused(422, "Invalid")
    fault = "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.generation of type int64"
    assert status["message"].endswith(fault)


async def test_bytes_that_are_no_base64_are_reported_by_a_strategic_patch(
    server: Server, a: str
) -> None:
    body = {"binaryData": {"e": "!"}}
    status = (await server.patch(a, body, STRATEGIC_PATCH)).refused(422, "Invalid")
    assert status["details"]["causes"][0]["message"] == (
        'Invalid value: "map[binaryData:map[e:!]]": error decoding from json: illegal base64 data at input byte 0'
    )
