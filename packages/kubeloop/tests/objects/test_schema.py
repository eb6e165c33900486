from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, ClassVar

import pytest

from kubeloop.objects.meta import Base
from kubeloop.schema import structural
from kubeloop.schema.structural import Refusal, Rule, doc


class Colour(StrEnum):
    RED = "Red"
    BLUE = "Blue"


class Inner(Base):
    """Something inside."""

    colour: Colour = Colour.BLUE
    size: int = 3
    note: str = ""


class Sample(Base):
    """What this is for, in a paragraph
    of two lines.

    And more that nobody reads.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("self.a == self.b", "a must be b", field=".a", reason=Refusal.FORBIDDEN),
    )

    needed: Annotated[str, doc("Its name.", min_length=1, max_length=9, pattern="^[a-z]*$")]
    number: Annotated[int, doc("How many.", minimum=0, maximum=5, format="int32")] = 0
    truth: bool = False
    ratio: float = 0.0
    moment: datetime | None = None
    day: date | None = None
    colour: Colour = Colour.RED
    amount: str | int = 0
    factor: str | int | float | None = None
    texts: tuple[str, ...] = ("a",)
    inners: Annotated[
        tuple[Inner, ...], doc("Many.", list_type="map", list_keys=["note"], max_items=3)
    ] = ()
    table: Mapping[str, Inner] = {}
    inner: Annotated[Inner, doc("One.")] = Inner(size=7)
    open_ended: Annotated[Inner | None, doc(keep_unknown=True)] = None


Positive = Annotated[int, doc("", Rule("self > 0", "must be more than zero"))]
Short = Annotated[str, doc("Any short text.", max_length=5)]


def rendered(model: type = Sample) -> dict:
    return structural.render(structural.describe(model))


def member(name: str) -> dict:
    return rendered()["properties"][name]


def test_a_struct_is_an_object_with_its_first_paragraph_as_description():
    described = rendered()

    assert described["type"] == "object"
    assert described["description"] == "What this is for, in a paragraph of two lines."


def test_only_members_without_a_default_are_required():
    assert rendered()["required"] == ["needed"]
    assert "required" not in rendered(Inner)


def test_names_are_those_of_the_wire():
    assert "openEnded" in rendered()["properties"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "needed",
            {
                "type": "string",
                "description": "Its name.",
                "minLength": 1,
                "maxLength": 9,
                "pattern": "^[a-z]*$",
            },
            id="a text with bounds",
        ),
        pytest.param(
            "number",
            {
                "type": "integer",
                "format": "int32",
                "description": "How many.",
                "minimum": 0,
                "maximum": 5,
            },
            id="a number with bounds",
        ),
        pytest.param("truth", {"type": "boolean"}, id="a yes or no"),
        pytest.param("ratio", {"type": "number"}, id="a fraction"),
        pytest.param("moment", {"type": "string", "format": "date-time"}, id="an instant"),
        pytest.param("day", {"type": "string", "format": "date"}, id="a day"),
        pytest.param(
            "colour",
            {"type": "string", "enum": ["Red", "Blue"], "default": "Red"},
            id="one of some words",
        ),
        pytest.param(
            "amount",
            {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
            },
            id="a whole number or a text",
        ),
        pytest.param(
            "texts",
            {
                "type": "array",
                "x-kubernetes-list-type": "atomic",
                "items": {"type": "string"},
                "default": ["a"],
            },
            id="a list",
        ),
    ],
)
def test_a_type_becomes_a_schema(name: str, expected: dict):
    assert member(name) == expected


def test_a_number_or_a_text_shuts_everything_else_out():
    factor = member("factor")

    assert "type" not in factor
    assert factor["x-kubernetes-preserve-unknown-fields"] is True
    assert factor["not"] == {"enum": [True, False, {}, []]}
    assert factor["maxItems"] == factor["maxProperties"] == 0


def test_a_list_of_structs_is_keyed():
    inners = member("inners")

    assert inners["x-kubernetes-list-type"] == "map"
    assert inners["x-kubernetes-list-map-keys"] == ["note"]
    assert inners["maxItems"] == 3
    assert inners["items"]["properties"]["colour"]["enum"] == ["Red", "Blue"]


def test_a_map_has_a_greatest_size():
    table = member("table")

    assert table["maxProperties"] == structural.MAX_PROPERTIES
    assert table["additionalProperties"]["description"] == "Something inside."


def test_a_struct_as_default_is_written_out_with_its_inner_defaults():
    assert member("inner")["default"] == {"colour": "Blue", "size": 7}


def test_unknown_members_are_kept_where_asked():
    assert member("openEnded")["x-kubernetes-preserve-unknown-fields"] is True


def test_rules_of_a_struct_carry_field_and_reason():
    assert rendered()["x-kubernetes-validations"] == [
        {
            "rule": "self.a == self.b",
            "message": "a must be b",
            "fieldPath": ".a",
            "reason": "FieldValueForbidden",
        }
    ]


def test_a_rule_that_does_not_know_its_field_is_given_the_name():
    class Wallet(Base):
        """Money."""

        coins: Annotated[
            Positive, doc("How many.", Rule("self != 13", "13 is not a number of coins"))
        ]
        notes: tuple[Positive, ...] = ()
        debts: Annotated[Positive | None, doc("What is owed.")] = None

    properties = rendered(Wallet)["properties"]
    assert [rule["message"] for rule in properties["coins"]["x-kubernetes-validations"]] == [
        "coins must be more than zero",
        "13 is not a number of coins",
    ]
    (rule,) = properties["notes"]["items"]["x-kubernetes-validations"]
    assert rule["message"] == "notes must be more than zero"
    (rule,) = properties["debts"]["x-kubernetes-validations"]
    assert rule["message"] == "debts must be more than zero"


def test_the_outer_description_wins_and_the_inner_bounds_stay():
    class Tag(Base):
        """A tag."""

        text: Annotated[Short | None, doc("The tag's text.")] = None

    assert rendered(Tag)["properties"]["text"] == {
        "type": "string",
        "maxLength": 5,
        "description": "The tag's text.",
    }


def test_exactly_one_of_some_members_may_be_asked_for():
    class Choice(Base):
        """This or that."""

        ONE_OF: ClassVar[tuple[str, ...]] = ("this", "that")

        this: str = ""
        that: str = ""

    assert rendered(Choice)["oneOf"] == [{"required": ["this"]}, {"required": ["that"]}]


def test_a_stand_in_is_described_instead_of_the_type_itself():
    class Full(Base):
        """All of it."""

        everything: str = ""

    class Holder(Base):
        """Holds something."""

        inner: Inner = Inner()

    described = structural.render(structural.describe(Holder, {Inner: Full}))
    assert list(described["properties"]["inner"]["properties"]) == ["everything"]


def test_no_two_parts_are_one_object():
    """YAML would write an anchor and an alias for them."""

    class Twice(Base):
        """The same type twice."""

        one: str | int = 0
        two: str | int = 0

    properties = rendered(Twice)["properties"]
    assert properties["one"] == properties["two"]
    assert properties["one"]["anyOf"] is not properties["two"]["anyOf"]


def test_a_misspelt_keyword_is_an_error():
    with pytest.raises(KeyError, match="minimun"):
        doc("How many.", minimun=0)


def test_a_type_no_schema_can_hold_is_an_error():
    class Odd(Base):
        """Odd."""

        value: bool | str = ""

    with pytest.raises(TypeError, match="no structural schema"):
        structural.describe(Odd)
