"""Objects of custom kinds: pruning, defaults, messages, CEL, versions, status, scale, columns, selectable fields."""

from typing import Any

from tests.contract.definitions import NUMBER, TEXT, defined, schema, version
from tests.contract.objects import Home, managers, names
from tests.contract.wire import JSON_PATCH, STRATEGIC_PATCH, Server

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


async def test_unknown_fields_are_pruned(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    made = (await kind.make("a", {"text": "x", "extra": 1}, other={"deep": True})).ok(201)
    assert made["spec"] == {"text": "x"}
    assert "other" not in made


async def test_unknown_fields_can_be_refused(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    body = kind.object("a", {"text": "x", "extra": 1})
    (await server.post(kind.path(), body, fieldValidation="Strict")).refused(
        400,
        "BadRequest",
        f'{kind.kind} in version "v1" cannot be handled as a {kind.kind}: strict decoding error: unknown field "spec.extra"',
    )


async def test_unknown_fields_are_warned_about(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    answer = await kind.make("a", {"extra": 1})
    answer.ok(201)
    assert answer.warnings == ['unknown field "spec.extra"']


async def test_fields_can_be_preserved(server: Server, home: Home) -> None:
    openapi = schema({}, **{"x-kubernetes-preserve-unknown-fields": True})
    kind = await defined(server, home, version(openapi=openapi))
    made = (await kind.make("a", {"any": {"thing": [1, "two"]}})).ok(201)
    assert made["spec"] == {"any": {"thing": [1, "two"]}}


async def test_defaults_are_filled_in(server: Server, home: Home) -> None:
    openapi = schema(
        {
            "size": {"type": "integer", "default": 3},
            "deep": {
                "type": "object",
                "default": {},
                "properties": {"on": {"type": "boolean", "default": True}},
            },
        }
    )
    kind = await defined(server, home, version(openapi=openapi))
    assert (await kind.make("a")).ok(201)["spec"] == {"size": 3, "deep": {"on": True}}
    assert (await kind.make("b", {"size": 0})).ok(201)["spec"]["size"] == 0


async def test_null_becomes_the_default(server: Server, home: Home) -> None:
    openapi = schema({"size": {"type": "integer", "default": 3}, "text": TEXT})
    kind = await defined(server, home, version(openapi=openapi))
    assert (await kind.make("a", {"size": None})).ok(201)["spec"] == {"size": 3}


async def test_new_defaults_are_seen_in_old_objects(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a", {"text": "x"})).ok(201)
    openapi = schema({"text": TEXT, "size": {"type": "integer", "default": 9}})
    (await server.patch(kind.definition, {"spec": {"versions": [version(openapi=openapi)]}})).ok()
    answer = await server.until(
        lambda: server.get(kind.path("a")), lambda answer: "size" in answer.json["spec"]
    )
    assert answer.ok()["spec"] == {"text": "x", "size": 9}


async def test_a_wrong_type_is_named(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a", {"number": "five"})).refused(
        422,
        "Invalid",
        kind.invalid(
            "a",
            'spec.number: Invalid value: "string": spec.number in body must be of type integer: "string"',
        ),
        {
            "name": "a",
            "group": kind.group,
            "kind": kind.kind,
            "causes": [
                {
                    "reason": "FieldValueTypeInvalid",
                    "message": 'Invalid value: "string": spec.number in body must be of type integer: "string"',
                    "field": "spec.number",
                }
            ],
        },
    )


async def test_limits_and_patterns_have_words(server: Server, home: Home) -> None:
    openapi = schema(
        {
            "size": {"type": "integer", "minimum": 1, "maximum": 5},
            "code": {"type": "string", "pattern": "^[a-z]+$"},
            "name": {"type": "string", "maxLength": 3},
            "mode": {"type": "string", "enum": ["on", "off"]},
            "many": {"type": "array", "minItems": 1, "items": TEXT},
        }
    )
    kind = await defined(server, home, version(openapi=openapi))
    spec = {"size": 9, "code": "AB", "name": "long", "mode": "maybe", "many": []}
    status = (await kind.make("a", spec)).refused(422, "Invalid")
    assert {each["field"]: each["message"] for each in status["details"]["causes"]} == {
        "spec.size": "Invalid value: 9: spec.size in body should be less than or equal to 5",
        "spec.code": "Invalid value: \"AB\": spec.code in body should match '^[a-z]+$'",
        "spec.name": "Too long: may not be more than 3 bytes",
        "spec.mode": 'Unsupported value: "maybe": supported values: "on", "off"',
        "spec.many": "Invalid value: 0: spec.many in body should have at least 1 items",
    }


async def test_required_fields_are_required(server: Server, home: Home) -> None:
    kind = await defined(server, home, version(openapi=schema({"text": TEXT}, required=["text"])))
    (await kind.make("a")).refused(422, "Invalid", kind.invalid("a", "spec.text: Required value"))


async def test_a_rule_speaks(server: Server, home: Home) -> None:
    rules = [{"rule": "self.low <= self.high", "message": "low must not exceed high"}]
    openapi = schema({"low": NUMBER, "high": NUMBER}, **{"x-kubernetes-validations": rules})
    kind = await defined(server, home, version(openapi=openapi))
    (await kind.make("ok", {"low": 1, "high": 2})).ok(201)
    (await kind.make("a", {"low": 3, "high": 2})).refused(
        422, "Invalid", kind.invalid("a", "spec: Invalid value: low must not exceed high")
    )


async def test_a_rule_can_make_its_message(server: Server, home: Home) -> None:
    rules = [
        {
            "rule": "self.size < 10",
            "messageExpression": "self.size > 100 ? 'far too much' : 'too much'",
            "fieldPath": ".size",
            "reason": "FieldValueForbidden",
        }
    ]
    kind = await defined(
        server,
        home,
        version(openapi=schema({"size": NUMBER}, **{"x-kubernetes-validations": rules})),
    )
    (await kind.make("a", {"size": 11})).refused(
        422, "Invalid", kind.invalid("a", "spec.size: Forbidden: too much")
    )


async def test_a_rule_can_compare_with_the_past(server: Server, home: Home) -> None:
    rules = [{"rule": "self == oldSelf", "message": "text is immutable"}]
    text = {"type": "string", "x-kubernetes-validations": rules}
    kind = await defined(server, home, version(openapi=schema({"text": text, "number": NUMBER})))
    (await kind.make("a", {"text": "x"})).ok(201)
    (await server.patch(kind.path("a"), {"spec": {"number": 1}})).ok()
    (await server.patch(kind.path("a"), {"spec": {"text": "y"}})).refused(
        422, "Invalid", kind.invalid("a", 'spec.text: Invalid value: "y": text is immutable')
    )


async def test_old_faults_do_not_block_other_changes(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a", {"text": "x", "number": 1})).ok(201)
    tight = schema({"text": {"type": "string", "minLength": 5}, "number": NUMBER})
    (await server.patch(kind.definition, {"spec": {"versions": [version(openapi=tight)]}})).ok()
    await server.until(
        lambda: server.post(kind.path(), kind.object("b", {"text": "x"}), dryRun="All"),
        lambda answer: answer.status == 422,
    )
    (await server.patch(kind.path("a"), {"spec": {"number": 2}})).ok(200)
    (await server.patch(kind.path("a"), {"spec": {"text": "y"}})).refused(422, "Invalid")


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
