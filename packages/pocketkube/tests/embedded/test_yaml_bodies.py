"""YAML as the JSON it stands for: what is built here must be what the full builder makes of it, which any anchor calls in."""

from typing import Any

from hypothesis import given, strategies as st
import pytest

from pocketkube.apiserver.serving import yamlbodies
from pocketkube.apiserver.serving.yamlbodies import NotYaml

PLAIN = (
    *("a", "a b", "x-1", "~", "null", "true", "No", "off", "<<", "=", "2026-01-01", "10:30:00", "1:90"),
    *("0", "-1", "1_000", "0x1f", "0b1", "0b_", "017", "08", "0o7", "1.5", "-.5", "1e3", "1.e+3", ".inf", ".nan", "12e99999"),
)  # fmt: skip
SCALARS = st.sampled_from(
    (*PLAIN, "", "'1'", '"true"', "''", "!!str 1", "!!int x", "!own 1", "*all")
)


def collections(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(inner, inner).map(lambda pair: f"? {pair[0]} : {pair[1]}")
    return st.one_of(
        st.lists(inner, max_size=4).map(lambda found: f"[{', '.join(found)}]"),
        st.lists(pairs, max_size=4).map(lambda found: f"{{{', '.join(found)}}}"),
    )


TEXTS = st.recursive(SCALARS, collections, max_leaves=12)


def outcome(text: str) -> Any:
    """What is read, or what is said."""
    try:
        return yamlbodies.decode(text)
    except NotYaml as error:
        return str(error)


@given(TEXTS)
def test_an_anchor_that_nobody_uses_changes_nothing(text: str) -> None:
    assert repr(outcome(f"[here, {text}]")) == repr(outcome(f"[&unused here, {text}]"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("a: 1\nb: [x, '1', null]\n", {"a": 1, "b": ["x", "1", None]}, id="plain"),
        pytest.param("a: 1\na: 2\n", {"a": 2}, id="a name twice"),
        pytest.param("2: a\ntrue: b\n~: c\n", {"2": "a", "true": "b", "null": "c"}, id="names"),
        pytest.param("a: 1\n---\nb: 2\n", {"a": 1}, id="a second document"),
        pytest.param("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}, id="an alias"),
        pytest.param("<<: {a: 1}\nb: 2\n", {"a": 1, "b": 2}, id="a merge"),
        pytest.param("a: !!str 1\n", {"a": "1"}, id="a tag"),
        pytest.param("at: 2026-01-01\n", {"at": "2026-01-01"}, id="a time"),
    ],
)
def test_yaml_stands_for_json(text: str, value: Any) -> None:
    assert yamlbodies.decode(text) == value


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        pytest.param("[" * 2_000 + "]" * 2_000, "exceeded max depth", id="deep"),
        pytest.param("&a " + "[" * 2_000 + "]" * 2_000, "exceeded max depth", id="deep, anchored"),
        pytest.param("? [a]\n: b\n", "found unhashable key", id="a list as a name"),
        pytest.param("a: .inf\n", "Out of range float", id="no number of JSON"),
        pytest.param("a: 1\nb: [\n", "line 2: did not find expected node content", id="no end"),
    ],
)
def test_what_is_no_yaml_is_refused_in_one_sentence(text: str, stated: str) -> None:
    with pytest.raises(NotYaml, match=stated) as caught:
        yamlbodies.decode(text)
    assert str(caught.value).count("yaml: ") == 1


def test_a_large_text_is_read_if_it_is_plain() -> None:
    maps = "- {a: 1}\n" * 50_000
    assert yamlbodies.decode(maps) == [{"a": 1}] * 50_000
    with pytest.raises(NotYaml, match="excessive aliasing"):
        yamlbodies.decode(f"- &unused here\n{maps}")
