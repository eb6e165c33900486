"""Requests that make no sense: a proper answer to each, and the server lives on."""

import json

import pytest
from tests.contract.objects import Home, config_map, everywhere, pod
from tests.contract.wire import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Server

NOT_ALLOWED = "the server does not allow this method on the requested resource"


async def test_a_body_that_is_no_json_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), b'{"metadata": ')).refused(
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: "
        'unexpected end of JSON input ({"metadata": )',
    )


async def test_an_empty_body_is_refused(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), b"")
    answer.refused(
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: "
        "unexpected end of JSON input (<empty>)",
    )


async def test_broken_utf8_is_not_fatal(server: Server, home: Home) -> None:
    body = b'{"metadata": {"name": "a"}, "data": {"k": "\xff\xfe"}}'
    assert (await server.post(home("configmaps"), body)).ok(201)["data"] == {"k": "\ufffd\ufffd"}


@pytest.mark.parametrize(
    "body", [b"[]", b"5", b'"text"', b"true"], ids=["list", "number", "text", "truth"]
)
async def test_a_body_that_is_no_object_is_refused(server: Server, home: Home, body: bytes) -> None:
    status = (await server.post(home("configmaps"), body)).refused(400, "BadRequest")
    assert status["message"].startswith(
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: "
        "json: cannot unmarshal "
    )


async def test_deep_nesting_is_refused(server: Server, home: Home) -> None:
    body = b'{"metadata":{"name":"a"},"data":' + b'{"a":' * 20000 + b"1" + b"}" * 20000 + b"}"
    assert (await server.post(home("configmaps"), body)).status == 400


async def test_a_member_of_the_wrong_type_is_named(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), {"metadata": {"name": "a"}, "data": []})).refused(
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field '
        "ConfigMap.data of type map[string]string",
    )


async def test_metadata_of_the_wrong_type_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), {"metadata": "a"})).refused(
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field '
        "ConfigMap.metadata of type v1.ObjectMeta",
    )


async def test_a_deep_member_of_the_wrong_type_is_named(server: Server, home: Home) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["ports"] = [{"containerPort": "eighty"}]
    (await server.post(home("pods"), body)).refused(
        400,
        "BadRequest",
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field '
        "ContainerPort.spec.containers.ports.containerPort of type int32",
    )


async def test_a_number_that_does_not_fit_is_refused(server: Server, home: Home) -> None:
    body = pod("a", terminationGracePeriodSeconds=10**30)
    (await server.post(home("pods"), body)).refused(400, "BadRequest")


async def test_a_quantity_that_is_none_is_refused(server: Server, home: Home) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "a lot"}}
    status = (await server.post(home("pods"), body)).refused(400, "BadRequest")
    assert status["message"] == (
        'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


async def test_a_time_that_is_none_is_refused(server: Server, home: Home) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"renewTime": "yesterday"}}
    status = (await server.post(home("leases"), body)).refused(400, "BadRequest")
    assert 'parsing time "yesterday" as ' in status["message"]


async def test_null_members_are_as_if_left_out(server: Server, home: Home) -> None:
    body = {"metadata": {"name": "a", "labels": None}, "data": None}
    made = (await server.post(home("configmaps"), body)).ok(201)
    assert "data" not in made
    assert "labels" not in made["metadata"]


async def test_a_huge_body_is_refused(server: Server, home: Home) -> None:
    body = config_map("a", {"k": "x" * (4 * 1024 * 1024)})
    answer = await server.post(home("configmaps"), body)
    answer.refused(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    )


async def test_a_config_map_has_a_limit(server: Server, home: Home) -> None:
    body = config_map("a", {"k": "x" * (1024 * 1024 + 1)})
    (await server.post(home("configmaps"), body)).refused(
        422, "Invalid", 'ConfigMap "a" is invalid: []: Too long: may not be more than 1048576 bytes'
    )


async def test_a_content_type_nobody_reads_is_refused(server: Server, home: Home) -> None:
    headers = {"Content-Type": "text/plain"}
    answer = await server.post(home("configmaps"), config_map("a"), headers=headers)
    status = answer.refused(415, "UnsupportedMediaType")
    assert status["message"].startswith(
        "the body of the request was in an unknown format - accepted media types include: application/json, "
        "application/yaml"
    )


async def test_yaml_may_be_sent(server: Server, home: Home) -> None:
    headers = {"Content-Type": "application/yaml"}
    body = b"metadata:\n  name: a\ndata:\n  k: v\n"
    assert (await server.post(home("configmaps"), body, headers=headers)).ok(201)["data"] == {
        "k": "v"
    }


async def test_broken_yaml_is_refused(server: Server, home: Home) -> None:
    headers = {"Content-Type": "application/yaml"}
    answer = await server.post(home("configmaps"), b"a: [b", headers=headers)
    answer.refused(400, "BadRequest")


async def test_a_content_type_with_a_charset_is_read(server: Server, home: Home) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    (await server.post(home("configmaps"), config_map("a"), headers=headers)).ok(201)


@pytest.mark.parametrize("kind", [MERGE_PATCH, JSON_PATCH, STRATEGIC_PATCH, APPLY_PATCH])
async def test_a_patch_of_rubbish_is_refused(server: Server, home: Home, kind: str) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok()
    for body in (b"", b"\xff\xfe", b"5", b'"x"', b'{"metadata": 7}', b"[[[["):
        answer = await server.patch(home("configmaps", "a"), body, kind, fieldManager="x")
        assert answer.json["kind"] == "Status"
        assert 400 <= answer.status <= 500


async def test_a_method_nobody_knows_is_not_allowed(server: Server, home: Home) -> None:
    answer = await server.request("TRACE", home("configmaps"))
    assert answer.status == 405


async def test_a_collection_of_all_namespaces_cannot_be_deleted(server: Server) -> None:
    (await server.delete(everywhere("configmaps"))).refused(405, "MethodNotAllowed", NOT_ALLOWED)


async def test_a_subresource_nobody_knows_is_not_found(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok()
    (await server.get(home("configmaps", "a", "nope"))).refused(
        404, "NotFound", "the server could not find the requested resource"
    )


async def test_a_name_that_is_no_name_is_just_not_found(server: Server, home: Home) -> None:
    (await server.get(home("configmaps", "No_Good"))).refused(
        404, "NotFound", 'configmaps "No_Good" not found'
    )


async def test_a_query_of_rubbish_is_refused(server: Server, home: Home) -> None:
    answer = await server.get(home("configmaps"), timeoutSeconds="soon")
    answer.refused(400, "BadRequest")


async def test_a_truth_can_be_anything(server: Server, home: Home) -> None:
    answer = await server.get(home("configmaps"), watch="maybe", timeoutSeconds="1")
    assert answer.status == 200
    assert answer.body == b""


async def test_large_numbers_survive(server: Server, home: Home) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"leaseTransitions": 2**31 - 1}}
    made = (await server.post(home("leases"), body)).ok(201)
    assert made["spec"]["leaseTransitions"] == 2147483647
    body["metadata"]["name"] = "b"  # type: ignore[index]
    body["spec"]["leaseTransitions"] = 2**31  # type: ignore[index]
    status = (await server.post(home("leases"), body)).refused(400, "BadRequest")
    assert "cannot unmarshal number 2147483648 into Go struct field" in status["message"]


async def test_control_characters_are_kept(server: Server, home: Home) -> None:
    text = 'tab\t quote" back\\ nul\u0000 line\u2028 face\U0001f600'
    (await server.post(home("configmaps"), config_map("a", {"k": text}))).ok(201)
    assert json.loads((await server.get(home("configmaps", "a"))).body)["data"]["k"] == text


async def test_a_list_is_not_an_object(server: Server, home: Home) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMapList", "items": []}
    status = (await server.post(home("configmaps"), body)).refused(400, "BadRequest")
    assert "ConfigMapList" in status["message"]
