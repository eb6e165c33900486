"""JSON patch and merge patch against their RFCs."""

import copy

from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import patch
from kubeloop.objects.meta import JSON
from kubeloop.objects.patch import InvalidPatch, PatchFailed

leaves: st.SearchStrategy[JSON] = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([1.0, 0.5, "", "x"])
)
names = st.sampled_from(["a", "b", "c/d", "~e", "", "0", "-"])
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(names, values, max_size=4)


def without_nulls(value: JSON) -> JSON:
    """Drops null members of objects, which a merge patch cannot express; lists stay as they are."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return value


def identical(left: JSON, right: JSON) -> bool:
    """Equality that tells `true` from 1."""
    try:
        patch.apply_json(left, [{"op": "test", "path": "", "value": right}])
    except PatchFailed:
        return False
    return True


def pointers(value: JSON, prefix: str = "") -> list[str]:
    found = [prefix]
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for token, child in members:
        escaped = str(token).replace("~", "~0").replace("/", "~1")
        found += pointers(child, f"{prefix}/{escaped}")
    return found


@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [
        pytest.param(
            {"foo": "bar"},
            [{"op": "add", "path": "/baz", "value": "qux"}],
            {"baz": "qux", "foo": "bar"},
            id="A.1 adding an object member",
        ),
        pytest.param(
            {"foo": ["bar", "baz"]},
            [{"op": "add", "path": "/foo/1", "value": "qux"}],
            {"foo": ["bar", "qux", "baz"]},
            id="A.2 adding an array element",
        ),
        pytest.param(
            {"baz": "qux", "foo": "bar"},
            [{"op": "remove", "path": "/baz"}],
            {"foo": "bar"},
            id="A.3 removing an object member",
        ),
        pytest.param(
            {"foo": ["bar", "qux", "baz"]},
            [{"op": "remove", "path": "/foo/1"}],
            {"foo": ["bar", "baz"]},
            id="A.4 removing an array element",
        ),
        pytest.param(
            {"baz": "qux", "foo": "bar"},
            [{"op": "replace", "path": "/baz", "value": "boo"}],
            {"baz": "boo", "foo": "bar"},
            id="A.5 replacing a value",
        ),
        pytest.param(
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
            id="A.6 moving a value",
        ),
        pytest.param(
            {"foo": ["all", "grass", "cows", "eat"]},
            [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
            {"foo": ["all", "cows", "eat", "grass"]},
            id="A.7 moving an array element",
        ),
        pytest.param(
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [
                {"op": "test", "path": "/baz", "value": "qux"},
                {"op": "test", "path": "/foo/1", "value": 2},
            ],
            {"baz": "qux", "foo": ["a", 2, "c"]},
            id="A.8 testing with success",
        ),
        pytest.param(
            {"foo": "bar"},
            [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
            {"foo": "bar", "child": {"grandchild": {}}},
            id="A.10 adding a nested member object",
        ),
        pytest.param(
            {"foo": "bar"},
            [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}],
            {"foo": "bar", "baz": "qux"},
            id="A.11 ignoring unknown members",
        ),
        pytest.param(
            {"/": 9, "~1": 10},
            [{"op": "test", "path": "/~01", "value": 10}],
            {"/": 9, "~1": 10},
            id="A.14 escape ordering",
        ),
        pytest.param(
            {"foo": ["bar"]},
            [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
            {"foo": ["bar", ["abc", "def"]]},
            id="A.16 adding an array value",
        ),
        pytest.param({"a": 1}, [], {"a": 1}, id="no operations"),
        pytest.param({"a": 1}, [{"op": "add", "path": "", "value": 2}], 2, id="a new document"),
        pytest.param(
            {"a": 1}, [{"op": "replace", "path": "", "value": None}], None, id="replaced by null"
        ),
        pytest.param({"": 1}, [{"op": "remove", "path": "/"}], {}, id="the empty key"),
        pytest.param(
            {"a": 1},
            [{"op": "add", "path": "/a", "value": None}],
            {"a": None},
            id="null is a value",
        ),
        pytest.param(
            [1, 2], [{"op": "add", "path": "/2", "value": 3}], [1, 2, 3], id="just past the end"
        ),
        pytest.param([], [{"op": "add", "path": "/0", "value": 1}], [1], id="into an empty list"),
        pytest.param(
            {"a": [{"b": 1}]},
            [{"op": "replace", "path": "/a/0/b", "value": 2}],
            {"a": [{"b": 2}]},
            id="through a list",
        ),
        pytest.param(
            {"a": {"b": 1}},
            [{"op": "copy", "from": "/a", "path": "/a/c"}],
            {"a": {"b": 1, "c": {"b": 1}}},
            id="copied into itself",
        ),
        pytest.param(
            {"a": 1},
            [{"op": "copy", "from": "", "path": "/b"}],
            {"a": 1, "b": {"a": 1}},
            id="all of it",
        ),
        pytest.param(
            {"a": 1}, [{"op": "move", "from": "/a", "path": "/a"}], {"a": 1}, id="moved nowhere"
        ),
        pytest.param({"a": 1}, [{"op": "move", "from": "", "path": ""}], {"a": 1}, id="nor all"),
        pytest.param(
            {"a": 1, "b": 2},
            [{"op": "move", "from": "/a", "path": "/b"}],
            {"b": 1},
            id="moved over",
        ),
        pytest.param(
            {"a": {"b": 5}}, [{"op": "move", "from": "/a/b", "path": ""}], 5, id="moved to the root"
        ),
        pytest.param(
            {"a": 1}, [{"op": "test", "path": "/a", "value": 1.0}], {"a": 1}, id="numbers by value"
        ),
        pytest.param(
            {"a": {"x": [1], "y": 2}},
            [{"op": "test", "path": "/a", "value": {"y": 2, "x": [1]}}],
            {"a": {"x": [1], "y": 2}},
            id="members in any order",
        ),
        pytest.param(
            {"0": "x"},
            [{"op": "replace", "path": "/0", "value": "y"}],
            {"0": "y"},
            id="digits as key",
        ),
    ],
)
def test_operations_that_succeed(document: JSON, operations: JSON, expected: JSON) -> None:
    before = copy.deepcopy((document, operations))
    assert identical(patch.apply_json(document, operations), expected)
    assert (document, operations) == before


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        pytest.param({"baz": "qux"}, {"op": "test", "path": "/baz", "value": "bar"}, id="A.9"),
        pytest.param({"foo": 1}, {"op": "add", "path": "/baz/bat", "value": 1}, id="A.12"),
        pytest.param({"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": "10"}, id="A.15"),
        pytest.param({}, {"op": "remove", "path": "/a"}, id="removing what is not there"),
        pytest.param({"a": 1}, {"op": "remove", "path": ""}, id="removing everything"),
        pytest.param({}, {"op": "replace", "path": "/a", "value": 1}, id="replacing nothing"),
        pytest.param({}, {"op": "move", "from": "/a", "path": "/b"}, id="moving nothing"),
        pytest.param({}, {"op": "move", "from": "/a", "path": "/a"}, id="not even to itself"),
        pytest.param({}, {"op": "copy", "from": "/a", "path": "/b"}, id="copying nothing"),
        pytest.param({"a": {}}, {"op": "move", "from": "/a", "path": "/a/b"}, id="into itself"),
        pytest.param({"a": 1}, {"op": "move", "from": "", "path": "/a"}, id="all into a part"),
        pytest.param({}, {"op": "test", "path": "/a", "value": None}, id="missing is not null"),
        pytest.param({"a": True}, {"op": "test", "path": "/a", "value": 1}, id="true is not 1"),
        pytest.param({"a": [0]}, {"op": "test", "path": "/a", "value": [False]}, id="in lists too"),
        pytest.param({"a": [1]}, {"op": "test", "path": "/a", "value": [1, 2]}, id="a longer list"),
        pytest.param({"a": {}}, {"op": "test", "path": "/a", "value": []}, id="no list"),
        pytest.param(
            {"a": {"b": 1}}, {"op": "test", "path": "/a", "value": {"c": 1}}, id="other key"
        ),
        pytest.param([1], {"op": "add", "path": "/2", "value": 1}, id="a gap in a list"),
        pytest.param([1], {"op": "replace", "path": "/1", "value": 1}, id="past the end"),
        pytest.param([1], {"op": "remove", "path": "/-"}, id="the place after the last"),
        pytest.param([1], {"op": "remove", "path": "/-1"}, id="a negative index"),
        pytest.param([1, 2], {"op": "remove", "path": "/01"}, id="a leading zero"),
        pytest.param([1, 2], {"op": "remove", "path": "/1e0"}, id="an exponent"),
        pytest.param([1, 2], {"op": "remove", "path": "/\u0661"}, id="other digits"),
        pytest.param([1], {"op": "add", "path": "/" + "9" * 5000, "value": 1}, id="a huge index"),
        pytest.param([1], {"op": "add", "path": "/a", "value": 1}, id="a name in a list"),
        pytest.param("text", {"op": "add", "path": "/0", "value": 1}, id="into a text"),
        pytest.param({"a": "text"}, {"op": "remove", "path": "/a/0"}, id="inside a text"),
    ],
)
def test_operations_that_do_not_fit(document: JSON, operation: JSON) -> None:
    before = copy.deepcopy(document)
    with pytest.raises(PatchFailed, match="operation 0: "):
        patch.apply_json(document, [operation])
    assert document == before


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param("add", id="no object"),
        pytest.param({"path": "/a", "value": 1}, id="no op"),
        pytest.param({"op": "spam", "path": "/a"}, id="an unknown op"),
        pytest.param({"op": ["add"], "path": "/a"}, id="an op that is no text"),
        pytest.param({"op": "add", "value": 1}, id="no path"),
        pytest.param({"op": "add", "path": 1, "value": 1}, id="a path that is no text"),
        pytest.param({"op": "add", "path": "a", "value": 1}, id="a path without slash"),
        pytest.param({"op": "add", "path": "/~", "value": 1}, id="a lone tilde"),
        pytest.param({"op": "add", "path": "/~2", "value": 1}, id="an unknown escape"),
        pytest.param({"op": "add", "path": "/a"}, id="add without value"),
        pytest.param({"op": "replace", "path": "/a"}, id="replace without value"),
        pytest.param({"op": "test", "path": "/a"}, id="test without value"),
        pytest.param({"op": "move", "path": "/a"}, id="move without from"),
        pytest.param({"op": "copy", "path": "/a", "from": None}, id="copy from null"),
    ],
)
def test_malformed_operations_are_refused_with_their_number(operation: JSON) -> None:
    with pytest.raises(InvalidPatch, match="operation 1: "):
        patch.apply_json({"a": 1}, [{"op": "test", "path": "/a", "value": 1}, operation])


@pytest.mark.parametrize("operations", [{}, None, "add", 1])
def test_a_json_patch_is_a_list(operations: JSON) -> None:
    with pytest.raises(InvalidPatch):
        patch.apply_json({}, operations)


@given(st.data(), documents, values)
def test_every_place_can_be_read_replaced_and_removed(
    data: st.DataObject, document: dict[str, JSON], value: JSON
) -> None:
    before = copy.deepcopy(document)
    place = data.draw(st.sampled_from(pointers(document)))
    operations: JSON = [
        {"op": "replace", "path": place, "value": value},
        {"op": "test", "path": place, "value": value},
    ]
    patch.apply_json(document, operations)
    if place:
        removed = patch.apply_json(document, [{"op": "remove", "path": place}])
        assert len(pointers(removed)) < len(pointers(document))
    assert identical(document, before)


@given(st.data(), documents)
def test_moving_there_and_back_changes_nothing(
    data: st.DataObject, document: dict[str, JSON]
) -> None:
    places = [place for place in pointers(document) if place]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    moves: JSON = [
        {"op": "move", "from": place, "path": "/new"},
        {"op": "move", "from": "/new", "path": place},
    ]
    assert identical(patch.apply_json(document, moves), document)


@pytest.mark.parametrize(
    ("target", "change", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_merge_examples_of_the_rfc(target: JSON, change: JSON, expected: JSON) -> None:
    before = copy.deepcopy((target, change))
    assert identical(patch.apply_merge(target, change), expected)
    assert (target, change) == before


@given(values, values)
def test_merging_twice_is_merging_once(target: JSON, change: JSON) -> None:
    once = patch.apply_merge(target, change)
    assert identical(patch.apply_merge(once, change), once)


@given(documents, documents)
def test_applying_a_difference_gives_the_other(
    before: dict[str, JSON], after: dict[str, JSON]
) -> None:
    wanted = without_nulls(after)
    assert isinstance(wanted, dict)
    kept = copy.deepcopy((before, wanted))
    change = patch.diff_merge(before, wanted)
    assert identical(patch.apply_merge(before, change), wanted)
    assert (change == {}) is identical(before, wanted)
    assert (before, wanted) == kept


@given(documents, documents)
def test_null_members_count_as_absent(before: dict[str, JSON], after: dict[str, JSON]) -> None:
    merged = patch.apply_merge(before, patch.diff_merge(before, after))
    assert identical(without_nulls(merged), without_nulls(after))


@given(documents, documents)
def test_a_difference_says_nothing_needless(
    before: dict[str, JSON], after: dict[str, JSON]
) -> None:
    change = patch.diff_merge(before, after)
    for place in pointers(change):
        if place and not place.rpartition("/")[2].isdigit():
            smaller = patch.apply_json(change, [{"op": "remove", "path": place}])
            assert not identical(
                patch.apply_merge(before, smaller), patch.apply_merge(before, change)
            )


@given(documents)
def test_no_difference_is_an_empty_patch(document: dict[str, JSON]) -> None:
    assert patch.diff_merge(document, copy.deepcopy(document)) == {}


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        pytest.param({"a": 1}, {"a": True}, {"a": True}, id="true is not 1"),
        pytest.param({"a": 1}, {"a": 1.0}, {}, id="numbers by value"),
        pytest.param({"a": None}, {}, {"a": None}, id="a null goes away"),
        pytest.param({}, {"a": {}}, {"a": {}}, id="an empty object is something"),
        pytest.param({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}, id="an object loses its last"),
        pytest.param({"a": 5}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="a number becomes an object"),
        pytest.param({"a": {"b": 1}}, {"a": 5}, {"a": 5}, id="an object becomes a number"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, {"a": [1]}, id="lists are replaced"),
        pytest.param(
            {"a": {"b": 1, "c": {"d": 1}}},
            {"a": {"b": 1, "c": {"d": 2}}},
            {"a": {"c": {"d": 2}}},
            id="only what differs",
        ),
    ],
)
def test_known_differences(
    before: dict[str, JSON], after: dict[str, JSON], change: dict[str, JSON]
) -> None:
    assert identical(patch.diff_merge(before, after), change)
