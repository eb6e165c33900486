"""Field selectors as an API server reads and applies them."""

from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import field_selector
from kubeloop.objects.field_selector import FieldSelector, InvalidFieldSelector, Term

PATHS = ["metadata.name", "spec.nodeName", "status.phase"]

values = st.text(st.sampled_from("ab,=\\! "), max_size=4)
terms = st.builds(Term, st.sampled_from(PATHS), values, st.booleans())
selectors = st.lists(terms, max_size=4).map(lambda each: field_selector.of(*each))
objects = st.dictionaries(st.sampled_from(PATHS), values)


@given(selectors)
def test_printing_and_parsing_again_changes_nothing(chosen: FieldSelector) -> None:
    assert field_selector.parse(str(chosen)) == chosen


@given(st.lists(terms, max_size=4), objects)
def test_all_terms_must_hold(demands: list[Term], found: dict[str, str]) -> None:
    expected = all((found.get(term.path, "") == term.value) == term.equal for term in demands)
    assert field_selector.of(*demands).matches(found) is expected


@given(selectors, selectors, objects)
def test_joining_selects_the_intersection(
    left: FieldSelector, right: FieldSelector, found: dict[str, str]
) -> None:
    both = left.and_(right)
    assert both.matches(found) is (left.matches(found) and right.matches(found))
    assert both == right.and_(left)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (",", ""),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("a!=", "a!="),
        ("b=1,a=2", "a=2,b=1"),
        (",a=b,,c=d,", "a=b,c=d"),
        ("a=b,a=b", "a=b"),
        (r"a=b\,c", r"a=b\,c"),
        (r"a=\=", r"a=\="),
        (r"a=\\", r"a=\\"),
        (r"a=\\,b=c", r"a=\\,b=c"),
        ("a=b c!", "a=b c!"),
        ("metadata.name=x\ny", "metadata.name=x\ny"),
    ],
)
def test_reads_the_text_form(text: str, canonical: str) -> None:
    assert str(field_selector.parse(text)) == canonical


@pytest.mark.parametrize(
    "text",
    ["a", "a,b=c", "=b", "!=b", "a=b=c", "a===b", "a=b\\", r"a=\b", "a b=c", r"a\,b=c", "a!b"],
)
def test_refuses_what_is_no_field_selector(text: str) -> None:
    with pytest.raises(InvalidFieldSelector):
        field_selector.parse(text)


def test_escapes_are_undone() -> None:
    assert field_selector.parse(r"a=\\\,\=") == FieldSelector((Term("a", "\\,="),))


def test_a_missing_field_counts_as_empty() -> None:
    assert field_selector.parse("spec.nodeName=").matches({})
    assert not field_selector.parse("spec.nodeName!=").matches({})


@pytest.mark.parametrize("path", ["", "a=b", "a,b", "a b", "a!", "a\\b"])
def test_a_path_that_could_not_be_read_back_is_refused(path: str) -> None:
    with pytest.raises(InvalidFieldSelector):
        Term(path, "x")
