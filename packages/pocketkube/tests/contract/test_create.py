"""Creating objects: what the server adds, what it takes away, and what it says when it refuses."""

import re

from tests.contract.objects import Home, config_map, essence, everywhere, managers, unique
from tests.contract.wire import Server


async def test_a_new_object_gets_a_uid_a_version_and_a_time(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok(201)
    meta = made["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", meta["uid"])
    assert int(meta["resourceVersion"]) > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["creationTimestamp"])
    assert essence(made) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": home.name},
        "data": {"k": "v"},
    }


async def test_kind_and_version_may_be_left_out(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), {"metadata": {"name": "a"}})).ok(201)
    assert (made["apiVersion"], made["kind"]) == ("v1", "ConfigMap")


async def test_what_is_read_is_what_was_answered(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok(201)
    assert (await server.get(home("configmaps", "a"))).ok() == made


async def test_a_name_is_taken_once(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok(201)
    (await server.post(home("configmaps"), config_map("a"))).refused(
        409, "AlreadyExists", 'configmaps "a" already exists', {"name": "a", "kind": "configmaps"}
    )


async def test_a_group_is_part_of_the_words(server: Server, home: Home) -> None:
    (await server.get(home("deployments", "a"))).refused(
        404,
        "NotFound",
        'deployments.apps "a" not found',
        {"name": "a", "group": "apps", "kind": "deployments"},
    )


async def test_a_prefix_becomes_a_name(server: Server, home: Home) -> None:
    body = {"metadata": {"generateName": "web-"}}
    made = (await server.post(home("configmaps"), body)).ok(201)["metadata"]
    assert re.fullmatch(r"web-[bcdfghjklmnpqrstvwxz2456789]{5}", made["name"])
    assert made["generateName"] == "web-"


async def test_a_name_wins_over_a_prefix(server: Server, home: Home) -> None:
    body = {"metadata": {"generateName": "web-", "name": "mine"}}
    assert (await server.post(home("configmaps"), body)).ok(201)["metadata"]["name"] == "mine"


async def test_a_long_prefix_is_cut_to_leave_room(server: Server, home: Home) -> None:
    body = {"metadata": {"generateName": "p" * 63}}
    made = (await server.post(home("configmaps"), body)).ok(201)["metadata"]
    assert re.fullmatch(r"p{58}[a-z0-9]{5}", made["name"])


async def test_an_object_without_a_name_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), {"data": {}})).refused(
        422,
        "Invalid",
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        {
            "kind": "ConfigMap",
            "causes": [
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value: name or generateName is required",
                    "field": "metadata.name",
                }
            ],
        },
    )


async def test_a_name_that_is_no_subdomain_is_refused(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), config_map("No_Good"))
    answer.refused(
        422,
        "Invalid",
        'ConfigMap "No_Good" is invalid: metadata.name: Invalid value: "No_Good": a lowercase RFC 1123 subdomain must '
        "consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character "
        "(e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    )


async def test_a_name_of_254_letters_is_refused(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), config_map("a" * 254))
    status = answer.refused(422, "Invalid")
    assert status["details"]["causes"][0]["message"].endswith("must be no more than 253 characters")


async def test_a_label_that_is_no_label_is_refused(server: Server, home: Home) -> None:
    body = config_map("a", labels={"ok": "not ok!", "/": "x"})
    status = (await server.post(home("configmaps"), body)).refused(422, "Invalid")
    assert {cause["field"] for cause in status["details"]["causes"]} == {"metadata.labels"}


async def test_annotations_have_a_limit(server: Server, home: Home) -> None:
    body = config_map("a", annotations={"big": "x" * 262145})
    (await server.post(home("configmaps"), body)).refused(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes',
    )


async def test_a_finalizer_needs_a_domain(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), config_map("a", finalizers=["not ok"]))
    status = answer.refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "metadata.finalizers"


async def test_an_owner_needs_a_uid(server: Server, home: Home) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}
    answer = await server.post(home("configmaps"), config_map("a", ownerReferences=[owner]))
    answer.refused(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    )


async def test_only_one_owner_is_the_controller(server: Server, home: Home) -> None:
    owners = [
        {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
        for name in ("p", "q")
    ]
    answer = await server.post(home("configmaps"), config_map("a", ownerReferences=owners))
    status = answer.refused(422, "Invalid")
    assert "Only one reference can have Controller set to true" in status["message"]


async def test_what_the_server_decides_cannot_be_sent(server: Server, home: Home) -> None:
    body = config_map(
        "a",
        uid="mine",
        creationTimestamp="2001-01-01T00:00:00Z",
        deletionTimestamp="2001-01-01T00:00:00Z",
        deletionGracePeriodSeconds=5,
        generation=7,
        selfLink="/here",
    )
    meta = (await server.post(home("configmaps"), body)).ok(201)["metadata"]
    assert meta["uid"] != "mine"
    assert not meta["creationTimestamp"].startswith("2001")
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & set(meta)


async def test_a_version_cannot_be_sent_with_a_new_object(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), config_map("a", resourceVersion="5"))
    answer.fails("resourceVersion should not be set on objects to be created")


async def test_another_namespace_in_the_body_is_refused(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), config_map("a", namespace="elsewhere"))
    answer.refused(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    )


async def test_another_kind_in_the_body_is_refused(server: Server, home: Home) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    (await server.post(home("configmaps"), body)).refused(
        400,
        "BadRequest",
        'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    )


async def test_another_version_in_the_body_is_refused(server: Server, home: Home) -> None:
    body = {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}}
    answer = await server.post(home("configmaps"), body)
    answer.refused(
        400,
        "BadRequest",
        'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in '
        'scheme "pkg/runtime/scheme.go:111"',
    )


async def test_a_namespace_that_does_not_exist_is_not_found(server: Server) -> None:
    name = unique("nowhere")
    answer = await server.post(Home(name)("configmaps"), config_map("a"))
    answer.refused(
        404, "NotFound", f'namespaces "{name}" not found', {"name": name, "kind": "namespaces"}
    )


async def test_a_create_is_noted_as_an_update_of_its_client(server: Server, home: Home) -> None:
    headers = {"User-Agent": "painter/v1.2 (linux) abc"}
    made = (
        await server.post(home("configmaps"), config_map("a", {"k": "v"}), headers=headers)
    ).ok()
    assert managers(made) == [("painter", "Update", "")]
    entry = made["metadata"]["managedFields"][0]
    assert entry["fieldsType"] == "FieldsV1"
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:k": {}}}
    assert entry["apiVersion"] == "v1"


async def test_a_client_can_name_itself(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), config_map("a", {"k": "v"}), fieldManager="me")
    assert managers(answer.ok()) == [("me", "Update", "")]


async def test_a_create_at_the_path_of_an_object_is_not_allowed(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps", "a"), config_map("a"))
    answer.refused(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


async def test_a_namespaced_kind_cannot_be_made_outside_of_namespaces(server: Server) -> None:
    answer = await server.post(everywhere("configmaps"), config_map("a"))
    answer.refused(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )
