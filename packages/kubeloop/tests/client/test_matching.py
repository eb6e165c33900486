"""Whether what is found is what was sent."""

from typing import Any

from hypothesis import given, strategies as st
import pytest

from kubeloop.client.recovery import contains

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(VALUES)
def test_everything_contains_itself(value: Any) -> None:
    assert contains(value, value)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), VALUES)
def test_what_a_server_adds_does_not_matter(sent: dict[str, Any], more: Any) -> None:
    assert contains({**sent, "added by the server": more}, sent)


@pytest.mark.parametrize(
    ("found", "sent", "same"),
    [
        pytest.param({"a": 1}, {"a": 2}, False, id="another value"),
        pytest.param({}, {"a": 1}, False, id="a missing value"),
        pytest.param({}, {"a": None, "b": {}, "c": [], "d": "", "e": False}, True, id="empty ones"),
        pytest.param({"a": 1}, {"a": None}, False, id="something where nothing was wanted"),
        pytest.param({"a": "x"}, {"a": {"b": 1}}, False, id="another type"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True, id="a default inside"),
        pytest.param([{"n": "z"}, {"n": "a", "d": 1}], [{"n": "a"}], True, id="one more in a list"),
        pytest.param([{"n": "b"}, {"n": "a"}], [{"n": "a"}, {"n": "b"}], False, id="another order"),
        pytest.param([1], [1, 1], False, id="fewer than sent"),
        pytest.param({"a": 1}, [1], False, id="no list at all"),
        pytest.param({"cpu": "500m"}, {"cpu": "0.5"}, True, id="a quantity in its canonical form"),
        pytest.param({"cpu": "1"}, {"cpu": 1}, True, id="a quantity sent as a number"),
        pytest.param({"memory": "1Gi"}, {"memory": "1G"}, False, id="another quantity"),
        pytest.param(
            {"ownerReferences": [{"name": "t", "uid": "2"}]},
            {"ownerReferences": [{"name": "t", "uid": "1"}]},
            False,
            id="another owner of the same name",
        ),
    ],
)
def test_contains(found: Any, sent: Any, same: bool) -> None:
    assert contains(found, sent) is same
