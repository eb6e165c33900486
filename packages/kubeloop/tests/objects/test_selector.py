"""Label selectors as an API server reads, refuses and applies them."""

from collections.abc import Mapping

from hypothesis import given, strategies as st
import msgspec
import pytest

from kubeloop.objects import selector
from kubeloop.objects.selector import (
    EVERYTHING,
    NOTHING,
    InvalidSelector,
    LabelSelector,
    LabelSelectorRequirement,
    Match,
    Operator,
    Requirement,
    Selector,
)

KEYS = ["a", "b", "in", "notin", "example.com/app"]
NUMBERS = ["1", "2", "10"]
VALUES = [*NUMBERS, "", "x", "in", "notin"]

label_sets = st.dictionaries(st.sampled_from(KEYS), st.sampled_from([*VALUES, "1_0"]))
keys = st.sampled_from(KEYS)
one_value = st.sampled_from(VALUES).map(lambda value: frozenset((value,)))
one_number = st.integers(0, 12).map(lambda number: frozenset((str(number),)))
some_values = st.frozensets(st.sampled_from(VALUES), min_size=1)
requirements = st.one_of(
    st.builds(
        Requirement, keys, st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS]), one_value
    ),
    st.builds(Requirement, keys, st.sampled_from([Operator.IN, Operator.NOT_IN]), some_values),
    st.builds(Requirement, keys, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
    st.builds(Requirement, keys, st.sampled_from([Operator.GREATER, Operator.LESS]), one_number),
)
requirement_lists = st.lists(requirements, max_size=4)
selectors = requirement_lists.map(lambda each: selector.of(*each))


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """The rule in its plainest words."""
    value = labels.get(requirement.key)
    (bound,) = requirement.values if len(requirement.values) == 1 else ("",)
    match requirement.operator:
        case Operator.EQUALS | Operator.IN:
            return value is not None and value in requirement.values
        case Operator.NOT_EQUALS | Operator.NOT_IN:
            return value is None or value not in requirement.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case Operator.GREATER:
            return value in NUMBERS and int(value) > int(bound)
        case Operator.LESS:
            return value in NUMBERS and int(value) < int(bound)


@given(selectors)
def test_printing_and_parsing_again_changes_nothing(chosen: Selector) -> None:
    assert selector.parse(str(chosen)) == chosen


@given(requirement_lists, label_sets)
def test_all_requirements_must_hold(demands: list[Requirement], labels: dict[str, str]) -> None:
    assert selector.of(*demands).matches(labels) is all(holds(each, labels) for each in demands)


@given(selectors, selectors, label_sets)
def test_joining_selects_the_intersection(
    left: Selector, right: Selector, labels: dict[str, str]
) -> None:
    both = left.and_(right)
    assert both.matches(labels) is (left.matches(labels) and right.matches(labels))
    assert both == right.and_(left)
    assert both.and_(left) == both
    assert selector.parse(str(both)) == both


@given(st.data(), requirement_lists)
def test_order_and_repetition_do_not_show(data: st.DataObject, demands: list[Requirement]) -> None:
    shuffled = data.draw(st.permutations([*demands, *demands[:1]]))
    assert selector.of(*shuffled) == selector.of(*demands)
    assert hash(selector.of(*shuffled)) == hash(selector.of(*demands))
    assert str(selector.of(*shuffled)) == str(selector.of(*demands))


@given(label_sets, label_sets)
def test_selecting_by_labels_wants_all_of_them(
    wanted: dict[str, str], labels: dict[str, str]
) -> None:
    wanted = {key: value for key, value in wanted.items() if value != "1_0"}
    assert selector.from_labels(wanted).matches(labels) is (wanted.items() <= labels.items())


@given(label_sets)
def test_everything_and_nothing(labels: dict[str, str]) -> None:
    assert EVERYTHING.matches(labels)
    assert not NOTHING.matches(labels)
    assert not NOTHING.matches({**labels, NOTHING.requirements[0].key: ""})
    assert selector.parse(str(EVERYTHING)) == EVERYTHING
    assert selector.parse(str(NOTHING)) == NOTHING


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (" \t\r\n", ""),
        ("a", "a"),
        (" a ", "a"),
        ("!a", "!a"),
        ("! a", "!a"),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("a = b", "a=b"),
        ("a=", "a="),
        ("a= ,b", "a=,b"),
        ("a!=", "a!="),
        ("a !=\tb", "a!=b"),
        ("a>1,a<5", "a<5,a>1"),
        ("a in (b)", "a in (b)"),
        ("a in(b)", "a in (b)"),
        ("a in (c,b,c)", "a in (b,c)"),
        ("a in ( b , c )", "a in (b,c)"),
        ("a in ()", "a in ()"),
        ("a in (,)", "a in ()"),
        ("a in (,,)", "a in ()"),
        ("a in (b,)", "a in (,b)"),
        ("a in (,b)", "a in (,b)"),
        ("a in (b,,c)", "a in (,b,c)"),
        ("a notin (b)", "a notin (b)"),
        ("a\nnotin\n(b)", "a notin (b)"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin notin (notin)", "notin notin (notin)"),
        ("in", "in"),
        ("!in", "!in"),
        ("in=in", "in=in"),
        ("b=1,a=2", "a=2,b=1"),
        ("a=1,a=2", "a=1,a=2"),
        ("a=1,a=1", "a=1"),
        ("a,!a", "!a,a"),
        ("example.com/app.kubernetes_io-X=Y_y.y-y", "example.com/app.kubernetes_io-X=Y_y.y-y"),
        ("a" * 63 + "=" + "b" * 63, "a" * 63 + "=" + "b" * 63),
        (f"{'p' * 253}/a", f"{'p' * 253}/a"),
        ("a>9223372036854775807", "a>9223372036854775807"),
        ("a<007", "a<007"),
    ],
)
def test_reads_the_text_form(text: str, canonical: str) -> None:
    assert str(selector.parse(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        ",",
        "a,",
        ",a",
        "a,,b",
        "a b",
        "a=b c",
        "a=b=c",
        "a===b",
        "a= =b",
        "a=!b",
        "a! =b",
        "a!",
        "!",
        "!!a",
        "!a=b",
        "!a in (b)",
        "!=a",
        "=a",
        "a>",
        "a>b",
        "a>1.5",
        "a>-1",
        "a>=1",
        "a>9223372036854775808",
        "a<>1",
        "a in",
        "a in b",
        "a in (b",
        "a in b)",
        "a in (b c)",
        "a in (b=c)",
        "a in (b)(c)",
        "a in ((b))",
        "a in (b) c",
        "a IN (b)",
        "ain (b)",
        "a notin",
        "a not in (b)",
        "in (a)",
        "notin (a)",
        "(a)",
        "a=(b)",
        "a='b'",
        'a="b"',
        "a=b\\,c",
        "a=b\x0b",
        "a=\xa0b",
        "-a",
        "a-",
        "_a=1",
        "a=b-",
        "a=.b",
        "\u00e9=1",
        "a=\u00e9",
        "/a",
        "a/",
        "a/b/c",
        "Example.com/a",
        "a_b/c",
        ".a/b",
        "a./b",
        "a..b/c",
        "a" * 64,
        "a=" + "b" * 64,
        f"{'p' * 254}/a",
        "a in (" + "b" * 64 + ")",
        "a in (" + ", " * 2000 + "b c",
    ],
)
def test_refuses_what_the_server_refuses(text: str) -> None:
    with pytest.raises(InvalidSelector):
        selector.parse(text)


def test_a_nul_is_refused_although_a_server_stops_reading_there() -> None:
    with pytest.raises(InvalidSelector):
        selector.parse("a=b\x00,c=d")


@pytest.mark.parametrize(
    ("text", "labels", "answer"),
    [
        pytest.param("a!=b", {}, True, id="!= holds where the key is missing"),
        pytest.param("a notin (b)", {}, True, id="notin holds where the key is missing"),
        pytest.param("a notin ()", {}, True, id="a missing key is not an empty value"),
        pytest.param("a=", {}, False, id="nor does an empty value mean missing"),
        pytest.param("a=", {"a": ""}, True, id="an empty value equals an empty value"),
        pytest.param("a in (,b)", {"a": ""}, True, id="an empty member"),
        pytest.param("a", {"a": ""}, True, id="a key with an empty value exists"),
        pytest.param("a>1", {}, False, id="nothing is not greater"),
        pytest.param("a>1", {"a": "1"}, False, id="equal is not greater"),
        pytest.param("a<1", {"a": "1"}, False, id="equal is not less"),
        pytest.param("a<1", {}, False, id="nothing is not less"),
        pytest.param("a>9", {"a": "10"}, True, id="numbers are compared as numbers"),
        pytest.param("a>010", {"a": "9"}, False, id="leading zeros are decimal"),
        pytest.param("a<5", {"a": "-7"}, True, id="labels may be negative for a number's sake"),
        pytest.param("a<5", {"a": "x"}, False, id="a word is not less"),
        pytest.param("a<5", {"a": "1_0"}, False, id="underscores make no number"),
        pytest.param("a<5", {"a": " 1"}, False, id="nor do blanks"),
        pytest.param("a>5", {"a": "9223372036854775808"}, False, id="64 bits are the limit"),
        pytest.param("a=1,a=2", {"a": "1"}, False, id="contradictions select nothing"),
        pytest.param("a=1,a=2", {"a": "2"}, False, id="whichever comes last"),
    ],
)
def test_awkward_matches(text: str, labels: dict[str, str], answer: bool) -> None:
    assert selector.parse(text).matches(labels) is answer


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        pytest.param(Operator.EQUALS, (), id="equality without a value"),
        pytest.param(Operator.NOT_EQUALS, ("1", "2"), id="inequality with two"),
        pytest.param(Operator.IN, (), id="membership in nothing"),
        pytest.param(Operator.NOT_IN, (), id="no membership in nothing"),
        pytest.param(Operator.EXISTS, ("1",), id="existence with a value"),
        pytest.param(Operator.DOES_NOT_EXIST, ("1",), id="absence with a value"),
        pytest.param(Operator.GREATER, ("1", "2"), id="more than two numbers"),
        pytest.param(Operator.LESS, (), id="less than no number"),
        pytest.param(Operator.LESS, ("x",), id="less than a word"),
        pytest.param(Operator.IN, ("1", "not a value"), id="a member with blanks"),
    ],
)
def test_a_requirement_that_makes_no_sense_cannot_be_made(
    operator: Operator, values: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidSelector, match="app: "):
        Requirement("app", operator, frozenset(values))


def test_the_structured_form_is_translated() -> None:
    structured = msgspec.json.decode(
        b"""{"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["2", "1", "2"]},
            {"key": "c", "operator": "NotIn", "values": [""]},
            {"key": "d", "operator": "Exists"},
            {"key": "e", "operator": "DoesNotExist", "values": []}]}""",
        type=LabelSelector,
    )
    assert str(selector.from_struct(structured)) == "a=1,a in (1,2),b=2,c notin (),d,!e"


def test_a_missing_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert selector.from_struct(None) == NOTHING
    assert selector.from_struct(LabelSelector()) == EVERYTHING


@pytest.mark.parametrize(
    ("key", "operator", "values"),
    [
        pytest.param("a", Match.IN, (), id="In without values"),
        pytest.param("a", Match.EXISTS, ("1",), id="Exists with values"),
        pytest.param("-a", Match.EXISTS, (), id="a bad key"),
        pytest.param("a", Match.NOT_IN, ("-",), id="a bad value"),
    ],
)
def test_a_bad_expression_is_refused(key: str, operator: Match, values: tuple[str, ...]) -> None:
    expression = LabelSelectorRequirement(key=key, operator=operator, values=values)
    with pytest.raises(InvalidSelector):
        selector.from_struct(LabelSelector(match_expressions=(expression,)))


def test_an_unknown_operator_does_not_decode() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}, LabelSelector
        )
