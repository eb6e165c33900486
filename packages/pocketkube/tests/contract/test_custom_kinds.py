"""Features of custom kinds: versions, status, scale, columns, selectable fields, patches."""

from typing import Any

from tests.contract.definitions import NUMBER, TEXT, defined, schema, version
from tests.contract.objects import Home, managers, names
from tests.contract.wire import JSON_PATCH, STRATEGIC_PATCH, Server

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


async def test_versions_show_the_same_object(server: Server, home: Home) -> None:
    kind = await defined(server, home, version("v1"), version("v2", storage=False))
    (await kind.make("a", {"text": "x"})).ok(201)
    other = (await server.get(kind.path("a", version="v2"))).ok()
    assert other["apiVersion"] == f"{kind.group}/v2"
    assert other["spec"] == {"text": "x"}
    found = (await server.get(kind.path(version="v2"))).ok()
    assert (found["apiVersion"], found["kind"]) == (f"{kind.group}/v2", f"{kind.kind}List")
    assert found["items"][0]["apiVersion"] == f"{kind.group}/v2"


async def test_the_wrong_version_in_a_body_is_refused(server: Server, home: Home) -> None:
    kind = await defined(server, home, version("v1"), version("v2", storage=False))
    body = kind.object("a", version="v2")
    (await server.post(kind.path(), body)).refused(
        400,
        "BadRequest",
        f"the API version in the data ({kind.group}/v2) does not match the expected API version ({kind.group}/v1)",
    )


async def test_the_kind_in_a_body_is_needed(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    status = (await server.post(kind.path(), {"metadata": {"name": "a"}})).refused(
        400, "BadRequest"
    )
    assert "Object 'Kind' is missing in" in status["message"]


async def test_a_deprecated_version_warns(server: Server, home: Home) -> None:
    old = version("v1beta1", storage=False, deprecated=True)
    kind = await defined(server, home, version(), old)
    answer = await server.get(kind.path(version="v1beta1"))
    assert answer.warnings == [
        f"{kind.group}/v1beta1 {kind.kind} is deprecated; use {kind.group}/v1 {kind.kind}"
    ]


async def test_without_a_status_path_status_is_just_a_field(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    assert (await kind.make("a", status={"ok": True})).ok(201)["status"] == {"ok": True}
    assert (await server.get(kind.path("a", "status"))).status == 404


async def test_a_status_path_keeps_status_apart(server: Server, home: Home) -> None:
    kind = await defined(server, home, version(subresources={"status": {}}))
    made = (await kind.make("a", {"text": "x"}, status={"ok": True})).ok(201)
    assert "status" not in made
    assert made["metadata"]["generation"] == 1
    body = {"status": {"ok": True}, "spec": {"text": "y"}}
    changed = (await server.patch(kind.path("a", "status"), body, fieldManager="ctl")).ok()
    assert (changed["spec"], changed["status"]) == ({"text": "x"}, {"ok": True})
    assert changed["metadata"]["generation"] == 1
    assert ("ctl", "Update", "status") in managers(changed)
    changed = (await server.patch(kind.path("a"), body)).ok()
    assert (changed["spec"], changed["metadata"]["generation"]) == ({"text": "y"}, 2)


SCALE = {"specReplicasPath": ".spec.number", "statusReplicasPath": ".status.replicas"}


async def test_a_scale_path_scales(server: Server, home: Home) -> None:
    kind = await defined(server, home, version(subresources={"status": {}, "scale": SCALE}))
    (await kind.make("a", {"number": 2})).ok(201)
    scale = (await server.get(kind.path("a", "scale"))).ok()
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 0},
    )
    scale["spec"]["replicas"] = 6
    assert (await server.put(kind.path("a", "scale"), scale)).ok()["spec"] == {"replicas": 6}
    assert (await server.get(kind.path("a"))).ok()["spec"]["number"] == 6


async def test_who_scales_owns_the_replicas(server: Server, home: Home) -> None:
    kind = await defined(server, home, version(subresources={"status": {}, "scale": SCALE}))
    (await kind.make("a", {"number": 2})).ok(201)
    body = {"spec": {"replicas": 4}}
    (await server.patch(kind.path("a", "scale"), body, fieldManager="scaler")).ok()
    made = (await server.get(kind.path("a"))).ok()
    owned = {each["manager"]: each for each in made["metadata"]["managedFields"]}["scaler"]
    assert (owned["operation"], owned["subresource"]) == ("Update", "scale")
    assert (owned["apiVersion"], owned["fieldsV1"]) == (
        made["apiVersion"],
        {"f:spec": {"f:number": {}}},
    )


async def test_columns_can_be_chosen(server: Server, home: Home) -> None:
    columns = [
        {"name": "Text", "type": "string", "jsonPath": ".spec.text"},
        {"name": "Number", "type": "integer", "jsonPath": ".spec.number", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    kind = await defined(server, home, version(additionalPrinterColumns=columns))
    (await kind.make("a", {"text": "x", "number": 5})).ok(201)
    table = (await server.get(kind.path(), headers=TABLE)).ok()
    assert [
        (each["name"], each["type"], each["priority"]) for each in table["columnDefinitions"]
    ] == [
        ("Name", "string", 0),
        ("Text", "string", 0),
        ("Number", "integer", 1),
        ("Age", "date", 0),
    ]
    assert table["rows"][0]["cells"][:3] == ["a", "x", 5]


async def test_without_columns_the_age_is_shown(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a")).ok(201)
    table = (await server.get(kind.path(), headers=TABLE)).ok()
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Age"]


async def test_fields_can_be_selected(server: Server, home: Home) -> None:
    fields = [{"jsonPath": ".spec.text"}, {"jsonPath": ".spec.number"}]
    kind = await defined(server, home, version(selectableFields=fields))
    for name, text, number in (("a", "x", 1), ("b", "y", 2)):
        (await kind.make(name, {"text": text, "number": number})).ok(201)
    assert names((await server.get(kind.path(), fieldSelector="spec.text=y")).ok()) == ["b"]
    assert names((await server.get(kind.path(), fieldSelector="spec.number!=2")).ok()) == ["a"]
    status = (await server.get(kind.path(), fieldSelector="spec.other=y")).refused(
        400, "BadRequest"
    )
    assert "spec.other" in status["message"]


async def test_a_watch_can_select_fields(server: Server, home: Home) -> None:
    kind = await defined(server, home, version(selectableFields=[{"jsonPath": ".spec.text"}]))
    start = (await server.get(kind.path())).ok()["metadata"]["resourceVersion"]
    query = {"resourceVersion": start, "fieldSelector": "spec.text=in"}
    async with server.watch(kind.path(), **query) as watch:
        (await kind.make("a", {"text": "out"})).ok(201)
        (await server.patch(kind.path("a"), {"spec": {"text": "in"}})).ok()
        (await server.patch(kind.path("a"), {"spec": {"text": "out"}})).ok()
        events = [await watch.next() for _ in range(2)]
    assert [each["type"] for each in events] == ["ADDED", "DELETED"]


async def test_lists_can_be_merged_by_key(server: Server, home: Home) -> None:
    item = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "value": TEXT}}
    items = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    kind = await defined(server, home, version(openapi=schema({"items": items})))
    one = kind.object("a", {"items": [{"name": "x", "value": "1"}]})
    two = kind.object("a", {"items": [{"name": "y", "value": "2"}]})
    (await server.apply(kind.path("a"), one, "one")).ok(201)
    both = (await server.apply(kind.path("a"), two, "two")).ok()["spec"]["items"]
    assert [each["name"] for each in both] == ["x", "y"]
    twice = kind.object("b", {"items": [{"name": "x"}, {"name": "x"}]})
    (await server.post(kind.path(), twice)).refused(
        422, "Invalid", kind.invalid("b", 'spec.items[1]: Duplicate value: {"name":"x"}')
    )


async def test_an_apply_conflicts_among_custom_fields(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await server.apply(kind.path("a"), kind.object("a", {"text": "x"}), "one")).ok(201)
    answer = await server.apply(kind.path("a"), kind.object("a", {"text": "y"}), "two")
    answer.refused(409, "Conflict", 'Apply failed with 1 conflict: conflict with "one": .spec.text')


async def test_custom_objects_have_no_strategic_patch(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a")).ok(201)
    answer = await server.patch(kind.path("a"), {"spec": {"text": "x"}}, STRATEGIC_PATCH)
    answer.refused(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
        "application/merge-patch+json, application/apply-patch+yaml",
    )


async def test_custom_objects_take_the_other_patches(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a", {"text": "x"})).ok(201)
    assert (await server.patch(kind.path("a"), {"spec": {"number": 4}})).ok()["spec"]["number"] == 4
    operations = [{"op": "remove", "path": "/spec/text"}]
    assert (await server.patch(kind.path("a"), operations, JSON_PATCH)).ok()["spec"] == {
        "number": 4
    }


async def test_numbers_keep_their_kind(server: Server, home: Home) -> None:
    openapi = schema({"whole": NUMBER, "broken": {"type": "number"}})
    kind = await defined(server, home, version(openapi=openapi))
    made: dict[str, Any] = (await kind.make("a", {"whole": 2**53 + 1, "broken": 1.5})).ok(201)[
        "spec"
    ]
    assert made == {"whole": 9007199254740993, "broken": 1.5}


async def test_an_update_of_a_custom_object_needs_a_version(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a")).ok(201)
    (await server.put(kind.path("a"), kind.object("a", {"text": "x"}))).refused(
        422,
        "Invalid",
        f'{kind.plural}.{kind.group} "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    )


async def test_metadata_of_custom_objects_is_checked(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    body = kind.object("a")
    body["metadata"]["labels"] = {"bad label!": "x"}
    status = (await server.post(kind.path(), body)).refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "metadata.labels"


async def test_a_custom_object_is_deleted_with_a_status(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    uid = (await kind.make("a")).ok(201)["metadata"]["uid"]
    assert (await server.delete(kind.path("a"))).ok(200)["details"] == {
        "name": "a",
        "group": kind.group,
        "kind": kind.plural,
        "uid": uid,
    }


async def test_times_that_are_none_are_left_out_of_what_is_applied(
    server: Server, home: Home
) -> None:
    kind = await defined(server, home)
    body = kind.object("a")
    body["metadata"]["creationTimestamp"] = "yesterday"
    made = (await server.apply(kind.path("a"), body)).ok(201)
    assert made["metadata"]["creationTimestamp"] != "yesterday"
    (
        await server.post(kind.path(), {**body, "metadata": {**body["metadata"], "name": "b"}})
    ).refused(400, "BadRequest")


async def test_a_kind_is_needed_by_lenient_readers_too(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    body = {"apiVersion": f"{kind.group}/v1", "metadata": {"name": "a"}}
    answer = await server.post(kind.path(), body, fieldValidation="Ignore")
    status = answer.refused(400, "BadRequest")
    assert status["message"].startswith(
        f"{kind.kind} in version \"v1\" cannot be handled as a {kind.kind}: Object 'Kind' is missing in"
    )


async def test_a_patch_to_another_version_or_kind_is_refused(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a")).ok(201)
    answer = await server.patch(kind.path("a"), {"apiVersion": "x/v2", "kind": "Other"})
    status = answer.refused(422, "Invalid")
    stated = {each["field"]: each["message"] for each in status["details"]["causes"]}
    assert stated == {
        "kind": f'Invalid value: "Other": must be {kind.kind}',
        "apiVersion": f'Invalid value: "x/v2": must be {kind.group}/v1',
    }
    assert status["message"].startswith('Other.x "a" is invalid: ')
