"""Sets of fields: an algebra, and a text that is the same for the same set."""

import json

from hypothesis import given, strategies as st
import pytest

from pocketkube.apiserver.managed_fields import fieldsets
from pocketkube.apiserver.managed_fields.fieldsets import FieldSet, MalformedFields

STEPS = st.sampled_from(
    ["f:a", "f:b", "f:c", 'k:{"name":"a"}', 'k:{"port":80,"protocol":"TCP"}', 'v:"x"', "v:1", "i:0"]
)
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(tuple)
SETS = st.lists(PATHS, max_size=12).map(fieldsets.of_paths)


def paths(fields: FieldSet) -> set[fieldsets.Path]:
    return set(fields.paths())


@given(SETS, SETS)
def test_union_difference_and_intersection_are_those_of_sets_of_paths(
    left: FieldSet, right: FieldSet
) -> None:
    assert paths(left | right) == paths(left) | paths(right)
    assert paths(left - right) == paths(left) - paths(right)
    assert paths(left & right) == paths(left) & paths(right)


@given(SETS, SETS)
def test_leaving_out_a_field_leaves_out_what_is_below_it(left: FieldSet, right: FieldSet) -> None:
    gone = paths(right)
    kept = {
        path
        for path in paths(left)
        if not any(path[:length] in gone for length in range(1, len(path) + 1))
    }
    assert paths(left.without(right)) == kept


@given(SETS)
def test_sets_with_the_same_paths_are_equal_however_they_were_made(fields: FieldSet) -> None:
    assert fieldsets.of_paths(reversed([*fields.paths()])) == fields
    assert (fields | fields) - fieldsets.EMPTY == fields
    assert not fields - fields


@given(SETS)
def test_what_is_written_is_read_again(fields: FieldSet) -> None:
    assert fieldsets.from_json(fieldsets.to_json(fields)) == fields


def test_the_text_has_the_order_and_the_marks_of_the_real_server() -> None:
    fields = fieldsets.of_paths(
        [
            ("f:spec", "f:ports", 'k:{"port":443,"protocol":"TCP"}'),
            ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}'),
            ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:port"),
            ("f:spec", "f:ports"),
            ("f:metadata", "f:finalizers", 'v:"b"'),
            ("f:metadata", "f:finalizers", 'v:"a"'),
        ]
    )
    assert json.dumps(fieldsets.to_json(fields)) == json.dumps(
        {
            "f:metadata": {"f:finalizers": {'v:"a"': {}, 'v:"b"': {}}},
            "f:spec": {
                "f:ports": {
                    ".": {},
                    'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}},
                    'k:{"port":443,"protocol":"TCP"}': {},
                }
            },
        }
    )


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        pytest.param('k:{"b": 1, "a": "x"}', 'k:{"a":"x","b":1}', id="keys in any order"),
        pytest.param('k:{"port":80.0}', 'k:{"port":80}', id="a whole number with a point"),
        pytest.param('v:"<"', 'v:"\\u003c"', id="a sign that HTML would read"),
        pytest.param('v:"\\u00fc"', 'v:"ü"', id="an escaped letter"),
        pytest.param("v:true", "v:true", id="a boolean"),
        pytest.param("i:3", "i:3", id="an index"),
        pytest.param("f:a:b", "f:a:b", id="a name with a colon"),
    ],
)
def test_steps_that_mean_the_same_are_the_same(written: str, canonical: str) -> None:
    assert [*fieldsets.from_json({written: {}}).paths()] == [(canonical,)]


def test_a_step_of_a_later_kind_is_passed_over() -> None:
    assert fieldsets.from_json({"z:new": {"f:a": {}}, "f:b": {}}) == fieldsets.of_paths([("f:b",)])


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([], id="a list"),
        pytest.param({"f:a": 1}, id="a number below a step"),
        pytest.param({"f": {}}, id="no colon"),
        pytest.param({"k:[]": {}}, id="keys that are no object"),
        pytest.param({"k:{": {}}, id="keys that are no JSON"),
        pytest.param({'i:"x"': {}}, id="an index that is a text"),
        pytest.param({"v:": {}}, id="no value"),
    ],
)
def test_what_is_no_set_of_fields_is_refused(value: object) -> None:
    with pytest.raises(MalformedFields):
        fieldsets.from_json(value)  # type: ignore[arg-type]


def test_paths_read_as_in_messages() -> None:
    path = ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name")
    assert fieldsets.describe(path) == '.spec.ports[port=80,protocol="TCP"].name'
    assert fieldsets.describe(("f:tags", 'v:"a"')) == '.tags[="a"]'
    assert fieldsets.describe(("f:list", "i:7")) == ".list[7]"
