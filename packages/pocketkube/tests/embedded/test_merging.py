"""Merging and comparing objects along their structure."""

from typing import Any

from hypothesis import given, strategies as st
import pytest

from pocketkube.apiserver.managed_fields import creation, fieldsets, listitems, merging, typed
from pocketkube.apiserver.managed_fields.structure import Node, of_schema

TEXT = {"type": "string"}
ITEM = {"type": "object", "properties": {"name": TEXT, "value": TEXT}}
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": TEXT,
        "items": {
            "type": "array",
            "items": ITEM,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "words": {"type": "array", "items": TEXT},
        "map": {"type": "object", "additionalProperties": TEXT},
        "fixed": {
            "type": "object",
            "additionalProperties": TEXT,
            "x-kubernetes-map-type": "atomic",
        },
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "nested": {"type": "object", "properties": {"a": TEXT}},
    },
}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"spec": SPEC}}
NODE: Node = of_schema(SCHEMA)

LETTERS = st.sampled_from("abc")
MAPS = st.dictionaries(LETTERS, LETTERS, max_size=3)
ITEMS = st.dictionaries(LETTERS, LETTERS, max_size=3).map(
    lambda found: [{"name": name, "value": value} for name, value in found.items()]
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "mode": LETTERS,
        "items": ITEMS,
        "tags": st.lists(LETTERS, unique=True),
        "words": st.lists(LETTERS),
        "map": MAPS,
        "fixed": MAPS,
        "open": st.dictionaries(LETTERS, st.one_of(LETTERS, MAPS, st.lists(LETTERS))),
        "nested": st.fixed_dictionaries({}, optional={"a": LETTERS}),
    },
)
OBJECTS = SPECS.map(lambda spec: {"spec": spec})


def texts(fields: fieldsets.FieldSet) -> set[str]:
    return {fieldsets.describe(path) for path in fields.paths()}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"mode": "x"}, {".spec.mode"}, id="a scalar"),
        pytest.param({"mode": None}, {".spec.mode"}, id="a null"),
        pytest.param({"words": ["a"]}, {".spec.words"}, id="an atomic list"),
        pytest.param({"fixed": {"a": "x"}}, {".spec.fixed"}, id="an atomic map"),
        pytest.param({"map": {"a": "x"}}, {".spec.map.a"}, id="a map"),
        pytest.param({"map": {}}, {".spec.map"}, id="an empty map"),
        pytest.param({"tags": []}, set(), id="an empty set"),
        pytest.param({"tags": ["a"]}, {'.spec.tags[="a"]'}, id="a set"),
        pytest.param({"tags": ["a", "a"]}, {'.spec.tags[="a"]'}, id="a value twice in a set"),
        pytest.param(
            {"items": [{"name": "a", "value": "x"}]},
            {
                '.spec.items[name="a"]',
                '.spec.items[name="a"].name',
                '.spec.items[name="a"].value',
            },
            id="a list of objects",
        ),
        pytest.param(
            {"items": [{"name": "a", "value": "x"}, {"name": "a"}]},
            {'.spec.items[name="a"]'},
            id="objects of the same name",
        ),
        pytest.param(
            {"open": {"p": {"q": 1}, "r": [1]}},
            {".spec.open.p", ".spec.open.p.q", ".spec.open.r"},
            id="what the schema does not describe",
        ),
        pytest.param({"nested": {"a": "x"}}, {".spec.nested.a"}, id="a struct"),
    ],
)
def test_an_object_has_the_fields_it_sets(spec: Any, expected: set[str]) -> None:
    assert texts(merging.fields_of(NODE, {"spec": spec})) == expected


@pytest.mark.parametrize(
    ("before", "after", "changed", "removed"),
    [
        pytest.param({"mode": "x"}, {"mode": "x"}, set(), set(), id="nothing"),
        pytest.param({"mode": "x"}, {"mode": "y"}, {".spec.mode"}, set(), id="a scalar"),
        pytest.param(
            {"words": ["a"]}, {"words": ["a", "b"]}, {".spec.words"}, set(), id="an atomic list"
        ),
        pytest.param(
            {"map": {"a": "x"}}, {"map": {"b": "x"}}, {".spec.map.b"}, {".spec.map.a"}, id="a map"
        ),
        pytest.param(
            {}, {"map": {"a": "x"}}, {".spec.map", ".spec.map.a"}, set(), id="a map that is new"
        ),
        pytest.param(
            {"tags": ["a"]},
            {"tags": ["b"]},
            {'.spec.tags[="b"]'},
            {'.spec.tags[="a"]'},
            id="a set",
        ),
        pytest.param(
            {"tags": ["a", "b"]}, {"tags": ["b", "a"]}, set(), set(), id="the order of a set"
        ),
        pytest.param(
            {"items": [{"name": "a"}, {"name": "a"}]},
            {"items": [{"name": "a"}]},
            {'.spec.items[name="a"]', '.spec.items[name="a"].name'},
            {'.spec.items[name="a"]'},
            id="a name that is no longer there twice",
        ),
        pytest.param(
            {"items": [{"name": "a"}, {"name": "a"}]},
            {"items": [{"name": "a"}, {"name": "a", "value": "x"}]},
            {'.spec.items[name="a"]'},
            set(),
            id="one of two of the same name",
        ),
        pytest.param(
            {"open": {"p": 1}},
            {"open": {"p": {"q": 1}}},
            {".spec.open.p", ".spec.open.p.q"},
            set(),
            id="a number that becomes an object",
        ),
    ],
)
def test_a_comparison_names_the_fields_that_differ(
    before: Any, after: Any, changed: set[str], removed: set[str]
) -> None:
    found = merging.compare(NODE, {"spec": before}, {"spec": after})
    assert (texts(found.changed), texts(found.removed)) == (changed, removed)


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        pytest.param("abc", "ca", "bca", id="applied ones in their order, others where they stood"),
        pytest.param("abc", "d", "abcd", id="a new one at the end"),
        pytest.param("xay", "ab", "xayb", id="a new one behind those that stood there"),
        pytest.param("abcd", "dcba", "dcba", id="all of them turned round"),
        pytest.param("aab", "a", "ab", id="what is stored twice gives way"),
        pytest.param("", "ba", "ba", id="into an empty list"),
        pytest.param("ba", "", "ba", id="nothing"),
    ],
)
def test_a_merged_list_has_an_order(live: str, applied: str, merged: str) -> None:
    result = merging.merge(NODE, {"spec": {"tags": [*live]}}, {"spec": {"tags": [*applied]}})
    assert result == {"spec": {"tags": [*merged]}}


@given(OBJECTS, OBJECTS)
def test_merging_twice_is_merging_once(live: Any, applied: Any) -> None:
    once = merging.merge(NODE, live, applied)
    assert merging.merge(NODE, once, applied) == once


@given(OBJECTS)
def test_merging_with_itself_or_with_nothing_changes_nothing(obj: Any) -> None:
    assert merging.merge(NODE, obj, obj) == obj
    assert merging.merge(NODE, obj, {}) == obj


@given(OBJECTS, OBJECTS)
def test_what_was_applied_is_there_afterwards(live: Any, applied: Any) -> None:
    merged = merging.merge(NODE, live, applied)
    difference = merging.compare(NODE, merged, merging.merge(NODE, {}, applied))
    assert not difference.changed & merging.fields_of(NODE, applied)


@given(OBJECTS, OBJECTS)
def test_two_objects_differ_in_both_directions_or_in_none(left: Any, right: Any) -> None:
    there, back = merging.compare(NODE, left, right), merging.compare(NODE, right, left)
    assert (there.changed | there.removed) == (back.changed | back.removed)


@given(OBJECTS, OBJECTS)
def test_removed_fields_are_gone_and_others_stay(obj: Any, other: Any) -> None:
    fields = merging.fields_of(NODE, other) & merging.fields_of(NODE, obj)
    left = merging.fields_of(NODE, merging.remove(NODE, obj, fields))
    gone = merging.fields_of(NODE, obj) - left
    assert not left & fields
    assert gone.without(fields) == fieldsets.EMPTY


def test_what_becomes_empty_is_null() -> None:
    fields = fieldsets.of_paths([("f:spec", "f:map", "f:a")])
    assert merging.remove(NODE, {"spec": {"map": {"a": "x"}}}, fields) == {"spec": {"map": None}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"map": [1]}, r".spec.map: expected map, got &{[1]}", id="a list for a map"),
        pytest.param({"items": {}}, r".spec.items: expected list, got &{map[]}", id="a map"),
        pytest.param({"nested": 5}, r".spec.nested: expected map, got &{5}", id="a number"),
        pytest.param(
            {"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]', id="twice"
        ),
    ],
)
def test_a_configuration_of_another_shape_is_refused(spec: Any, message: str) -> None:
    with pytest.raises(listitems.Unmergeable) as refused:
        typed.check(typed.of_schema(SCHEMA), NODE, {"spec": spec})
    assert str(refused.value) == message


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "value", "mode", "items", "x"]), inner)
    ),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from(["spec", "metadata", "kind", "y"]), _VALUES)


@given(_OBJECTS, st.sampled_from([{}, {"spec": {}}, {"spec": {"mode": "a"}, "kind": "a"}]))
def test_a_new_object_has_the_fields_in_which_it_differs_from_the_empty_one(
    new: dict[str, Any], empty: dict[str, Any]
) -> None:
    node = of_schema({"type": "object", "properties": {"spec": SPEC}})
    try:
        wanted = merging.compare(node, empty, new).changed
    except listitems.Unmergeable:
        with pytest.raises(listitems.Unmergeable):
            creation.fields(node, empty, new)
    else:
        assert creation.fields(node, empty, new) == wanted
