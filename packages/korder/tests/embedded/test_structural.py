"""Structural schemas: shaping, refusing, and the table of mistakes that a real server refuses too."""

from copy import deepcopy
from pathlib import Path
import runpy
from typing import Any, cast

from hypothesis import given, strategies as st
import pytest
from tests.tables.mistakes import MISTAKES
from tests.tables.mistakes.near_misses import NEAR_MISSES

from korder.install import crds as manifests
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.schemas import structural

E2E = Path("packages/pocketkube/tests/agreement")
RANDOM = runpy.run_path(str(E2E / "random_objects.py"))
Object = dict[str, Any]


def schema_of(crd: Any) -> structural.Structural:
    version = crd["spec"]["versions"][0]
    scale = version.get("subresources", {}).get("scale")
    return structural.compile_schema(
        version["schema"]["openAPIV3Schema"],
        structural.Scale(scale["specReplicasPath"], scale["statusReplicasPath"]) if scale else None,
    )


@pytest.fixture(scope="module")
def schemas() -> dict[str, structural.Structural]:
    crds = cast("Any", manifests.all_crds())
    return {crd["spec"]["names"]["kind"]: schema_of(crd) for crd in crds}


@pytest.fixture(scope="module")
def widget() -> structural.Structural:
    return schema_of(RANDOM["CRD"])


def verdict(schema: structural.Structural, row: Any) -> list[fielderrors.Cause]:
    """Does to the engine what the table's docstring does to a server."""
    before, after = deepcopy(row.before), deepcopy(row.after)
    schema.shape(after)
    if before is None:
        after.pop("status", None)
        return schema.check_create(after)
    schema.shape(before)
    if row.status:
        written = {name: part for name, part in before.items() if name != "status"}
        if "status" in after:
            written["status"] = after["status"]
        return schema.check_status(written, before)
    if "status" in before:
        after["status"] = before["status"]
    return schema.check_update(after, before)


def names(row: Any, cause: fielderrors.Cause) -> bool:
    stated = cause.field == row.field or (
        cause.field == fielderrors.NO_FIELD and row.field in cause.message
    )
    return stated and row.says in cause.message


def test_every_mistake_is_refused_by_the_name_of_its_field(
    schemas: dict[str, structural.Structural],
) -> None:
    rows = MISTAKES
    missed = [
        row.id
        for row in rows
        if not any(names(row, cause) for cause in verdict(schemas[row.after["kind"]], row))
    ]
    assert len(rows) > 300
    assert missed == []


def test_what_is_nearly_a_mistake_is_accepted(schemas: dict[str, structural.Structural]) -> None:
    refused = {row.id: verdict(schemas[row.after["kind"]], row) for row in NEAR_MISSES}
    assert {name: causes for name, causes in refused.items() if causes} == {}


def a_schema(**properties: Any) -> structural.Structural:
    return structural.compile_schema(
        {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": properties}},
        }
    )


def an_object(**spec: Any) -> Object:
    return {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("schema", "value", "reason", "message"),
    [
        ({"type": "integer", "minimum": 0}, -1, "FieldValueInvalid", "Invalid value: -1: spec.x in body should be greater than or equal to 0"),
        ({"type": "integer"}, "many", "FieldValueTypeInvalid", 'Invalid value: "string": spec.x in body must be of type integer: "string"'),
        ({"type": "string", "enum": ["A", "B"]}, "C", "FieldValueNotSupported", 'Unsupported value: "C": supported values: "A", "B"'),
        ({"type": "string", "maxLength": 1}, "ab", "FieldValueTooLong", "Too long: may not be more than 1 byte"),
        ({"type": "string", "minLength": 3}, "ab", "FieldValueInvalid", 'Invalid value: "ab": spec.x in body should be at least 3 chars long'),
        ({"type": "string", "pattern": "^a$"}, "a\n", "FieldValueInvalid", r"""Invalid value: "a\n": spec.x in body should match '^a$'"""),
        ({"type": "string", "format": "date-time"}, "soon", "FieldValueTypeInvalid", 'Invalid value: "soon": spec.x in body must be of type date-time: "soon"'),
        ({"type": "array", "maxItems": 1, "items": {"type": "string"}}, ["a", "b"], "FieldValueTooMany", "Too many: 2: must have at most 1 item"),
        ({"type": "array", "minItems": 1, "items": {"type": "string"}}, [], "FieldValueInvalid", "Invalid value: 0: spec.x in body should have at least 1 items"),
        ({"type": "object", "maxProperties": 0, "additionalProperties": {"type": "string"}}, {"a": "b"}, "FieldValueTooMany", "Too many: 1: must have at most 0 items"),
        ({"type": "number", "multipleOf": 0.5}, 0.7, "FieldValueInvalid", "Invalid value: 0.7: spec.x in body should be a multiple of 0.5"),
        ({"x-kubernetes-int-or-string": True}, True, "FieldValueTypeInvalid", 'Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"'),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_in_the_servers_words(
    schema: Object, value: Any, reason: str, message: str
) -> None:
    (cause,) = a_schema(x=schema).check_create(an_object(x=value))
    assert (cause.field, cause.reason, cause.message) == ("spec.x", reason, message)


def test_entries_of_sets_and_map_lists_stand_once() -> None:
    schema = a_schema(
        tags={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        parts={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {"type": "object", "properties": {"id": {"type": "string"}}},
        },
    )
    causes = schema.check_create(an_object(tags=["a", "a"], parts=[{"id": "x"}, {"id": "x"}]))
    assert [(cause.field, cause.message) for cause in causes] == [
        ("spec.tags[1]", 'Duplicate value: "a"'),
        ("spec.parts[1]", 'Duplicate value: {"id":"x"}'),
    ]


def test_unknown_fields_go_and_are_reported() -> None:
    schema = a_schema(a={"type": "string"}, list={"type": "array", "items": {"type": "object"}})
    obj = {**an_object(a="x", b=1, list=[{"c": 1}]), "extra": 1}
    obj["metadata"]["color"] = "red"
    unknown = schema.shape(obj)
    assert obj == an_object(a="x", list=[{}])
    assert unknown == ["extra", "metadata.color", "spec.b", "spec.list[0].c"]
    assert fielderrors.strict_decoding(unknown[:2]) == (
        'strict decoding error: unknown field "extra", unknown field "metadata.color"'
    )


def test_what_keeps_unknown_fields_still_prunes_what_it_knows() -> None:
    keeping = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"known": {"type": "object", "properties": {"x": {"type": "integer"}}}},
    }
    obj = an_object(free={"any": {"thing": None}, "known": {"x": 1, "y": 2}})
    a_schema(free=keeping).shape(obj)
    assert obj["spec"] == {"free": {"any": {"thing": None}, "known": {"x": 1}}}


def test_defaults_come_into_absent_members_and_into_nulls_that_may_not_be() -> None:
    schema = a_schema(
        a={"type": "string", "default": "A"},
        b={"type": "string", "default": "B", "nullable": True},
        c={"type": "string"},
        inner={
            "type": "object",
            "default": {},
            "properties": {"deep": {"type": "integer", "default": 7}},
        },
    )
    obj = an_object(a=None, b=None, c=None)
    schema.shape(obj)
    assert obj["spec"] == {"a": "A", "b": None, "inner": {"deep": 7}}


def test_what_was_wrong_before_and_did_not_change_is_forgiven() -> None:
    schema = a_schema(a={"type": "integer", "maximum": 1}, b={"type": "integer", "maximum": 1})
    old = an_object(a=5, b=5)
    assert [cause.field for cause in schema.check_update(an_object(a=5, b=6), old)] == ["spec.b"]


def test_a_transition_rule_waits_for_an_old_value() -> None:
    schema = a_schema(
        a={"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    )
    assert schema.check_create(an_object(a="x")) == []
    assert schema.check_update(an_object(a="x"), an_object()) == []
    (cause,) = schema.check_update(an_object(a="y"), an_object(a="x"))
    assert cause.message == 'Invalid value: "y": failed rule: self == oldSelf'


def test_entries_of_map_lists_meet_their_old_selves_by_key() -> None:
    schema = a_schema(
        parts={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "size": {"type": "integer"}},
                "x-kubernetes-validations": [
                    {"rule": "self.size >= oldSelf.size", "fieldPath": ".size"}
                ],
            },
        }
    )
    old = an_object(parts=[{"id": "a", "size": 3}, {"id": "b", "size": 1}])
    new = an_object(parts=[{"id": "b", "size": 2}, {"id": "a", "size": 2}])
    assert [cause.field for cause in schema.check_update(new, old)] == ["spec.parts[1].size"]


def test_sets_are_equal_in_any_order() -> None:
    tags = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    schema = a_schema(tags={**tags, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]})
    assert schema.check_update(an_object(tags=["b", "a"]), an_object(tags=["a", "b"])) == []


def test_instants_are_compared_as_instants() -> None:
    schema = structural.compile_schema(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "format": "date-time"},
                "b": {"type": "string", "format": "date-time"},
            },
            "x-kubernetes-validations": [
                {"rule": "self.a < self.b", "message": "a must be earlier", "fieldPath": ".a"}
            ],
        }
    )
    earlier = {"a": "2030-01-01T02:00:00+02:00", "b": "2030-01-01T00:30:00Z"}
    assert schema.check_create(dict(earlier)) == []
    (cause,) = schema.check_create({"a": earlier["b"], "b": earlier["a"]})
    assert (cause.field, cause.message) == ("a", "Invalid value: a must be earlier")


def test_rules_wait_until_the_object_is_sound() -> None:
    schema = a_schema(
        a={"type": "string", "enum": ["x"], "x-kubernetes-validations": [{"rule": "false"}]},
    )
    reasons = [(c.field, c.reason) for c in schema.check_create(an_object(a="y"))]
    assert reasons == [("spec.a", "FieldValueNotSupported"), ("<nil>", "FieldValueInvalid")]


def test_one_cause_and_many_make_a_sentence() -> None:
    causes = [fielderrors.required("spec.a"), fielderrors.too_long("spec.b", 3)]
    one = fielderrors.invalid_status("Order", "core.korder.dev", "x", causes[:1])
    assert one.message == 'Order.core.korder.dev "x" is invalid: spec.a: Required value'
    both = fielderrors.invalid_status("Order", "core.korder.dev", "x", [*causes, causes[0]])
    assert both.message.endswith(
        "is invalid: [spec.a: Required value, spec.b: Too long: may not be more than 3 bytes]"
    )
    assert both.details is not None
    assert len(both.details.causes) == 3


JSONS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(sorted(RANDOM["GOOD"])), below, max_size=4)
    ),
    max_leaves=12,
)


@given(spec=JSONS)
@pytest.mark.slow
def test_no_object_is_too_strange_to_be_judged(spec: Any) -> None:
    schema = WIDGET
    obj = {
        "apiVersion": "agree.korder.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "x"},
        "spec": spec,
    }
    schema.shape(obj)
    shaped = deepcopy(obj)
    assert schema.shape(obj) == []
    assert obj == shaped
    schema.check_create(obj)
    schema.check_update(obj, {**obj, "spec": {}})


WIDGET = schema_of(RANDOM["CRD"])


def test_a_rule_that_was_false_before_is_forgiven_where_nothing_changed() -> None:
    part = {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.x < 5"}],
    }
    schema = a_schema(a=part, b=part)
    old, new = an_object(a={"x": 9}, b={"x": 9}), an_object(a={"x": 9}, b={"x": 8})
    assert [cause.field for cause in schema.check_create(new)] == ["spec.a", "spec.b"]
    assert [cause.field for cause in schema.check_update(new, old)] == ["spec.b"]


def test_a_list_that_had_duplicates_may_keep_them() -> None:
    tags = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    schema = a_schema(tags=tags, a={"type": "string"})
    old = an_object(tags=["x", "x"])
    assert schema.check_update(an_object(tags=["x", "x"], a="new"), old) == []
    assert len(schema.check_update(an_object(tags=["x", "x"]), an_object(tags=["x"]))) == 1


def test_parts_of_seconds_and_spans_count() -> None:
    schema = a_schema(
        a={"type": "string", "format": "date-time"}, span={"type": "string", "format": "duration"}
    )
    rule = {"rule": "self.a > timestamp('2030-01-01T00:00:00Z') && self.span > duration('90m')"}
    ruled = deepcopy(dict(schema.node.schema))
    ruled["properties"]["spec"]["x-kubernetes-validations"] = [rule]
    compiled = structural.compile_schema(ruled)
    assert compiled.check_create(an_object(a="2030-01-01T00:00:00.5Z", span="2 hours")) == []
    assert compiled.check_create(an_object(a="2030-01-01T00:00:00Z", span="2h")) != []
    assert compiled.check_create(an_object(a="2030-01-01T00:00:01Z", span="89m")) != []


def test_whole_numbers_are_doubles_where_the_schema_says_number() -> None:
    schema = structural.compile_schema(
        {
            "type": "object",
            "properties": {"x": {"type": "number"}},
            "x-kubernetes-validations": [{"rule": "self.x + 0.5 > 1.0"}],
        }
    )
    assert schema.check_create({"x": 1}) == []
    assert len(schema.check_create({"x": 0})) == 1


def test_of_failed_alternatives_the_one_that_fits_best_is_reported() -> None:
    alternatives = [
        {"required": ["a", "b"]},
        {"required": ["c"], "properties": {"x": {"maximum": 3}, "y": {"maximum": 3}}},
    ]
    schema = a_schema(
        part={
            "type": "object",
            "properties": {name: {"type": "integer"} for name in "abcxy"},
            "anyOf": alternatives,
        }
    )
    causes = schema.check_create(an_object(part={"x": 1, "y": 1}))
    assert [(cause.field, cause.message) for cause in causes] == [
        ("<nil>", 'Invalid value: "": "spec.part" must validate at least one schema (anyOf)'),
        ("spec.part.c", "Required value"),
    ]
