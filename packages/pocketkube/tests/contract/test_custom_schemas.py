"""Objects of custom kinds against their schemas: pruning, defaults, messages and CEL."""

from tests.contract.definitions import NUMBER, TEXT, defined, schema, version
from tests.contract.objects import Home
from tests.contract.wire import Server

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


async def test_lists_and_watches_show_new_defaults_of_old_objects(
    server: Server, home: Home
) -> None:
    kind = await defined(server, home)
    (await kind.make("a", {"text": "x"})).ok(201)
    for size in (9, 10):
        openapi = schema({"text": TEXT, "size": {"type": "integer", "default": size}})
        await server.patch(kind.definition, {"spec": {"versions": [version(openapi=openapi)]}})
        await server.until(
            lambda: server.get(kind.path("a")),
            lambda answer, size=size: answer.json["spec"].get("size") == size,
        )
        listed = await server.until(
            lambda: server.get(kind.path()), lambda answer: answer.status == 200
        )
        (found,) = listed.ok()["items"]
        assert found["spec"] == {"text": "x", "size": size}
        async with server.watch(kind.path()) as watch:
            stated = (await watch.next())["object"]
        assert stated["spec"] == {"text": "x", "size": size}


async def test_a_patch_builds_on_new_defaults_of_an_old_object(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a", {"text": "x"})).ok(201)
    openapi = schema({"text": TEXT, "size": {"type": "integer", "default": 9}})
    (await server.patch(kind.definition, {"spec": {"versions": [version(openapi=openapi)]}})).ok()
    await server.until(
        lambda: server.get(kind.path("a")), lambda answer: "size" in answer.json["spec"]
    )
    patch = [
        {"op": "test", "path": "/spec/size", "value": 9},
        {"op": "remove", "path": "/spec/text"},
    ]
    answer = await server.patch(kind.path("a"), patch, "application/json-patch+json")
    assert answer.ok()["spec"] == {"size": 9}


async def test_what_a_schema_no_longer_knows_is_not_shown(server: Server, home: Home) -> None:
    kind = await defined(server, home, version(openapi=schema({"text": TEXT, "more": TEXT})))
    (await kind.make("a", {"text": "x", "more": "y"})).ok(201)
    without = version(openapi=schema({"text": TEXT}))
    (await server.patch(kind.definition, {"spec": {"versions": [without]}})).ok()
    answer = await server.until(
        lambda: server.get(kind.path("a")), lambda answer: "more" not in answer.json["spec"]
    )
    assert answer.ok()["spec"] == {"text": "x"}


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
