"""Quantities against Kubernetes' own answers and against exact fractions."""

from decimal import Decimal
from fractions import Fraction
from math import ceil

from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import quantity
from kubeloop.objects.quantity import ZERO, Format, InvalidQuantity, Quantity

NANO = Fraction(1, 10**9)
WORTH = {
    "n": NANO,
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{prefix}i": Fraction(1024**power) for power, prefix in enumerate("KMGTPE", start=1)},
}
CAP = (2**63 - 1) * 10**9

digits = st.text(st.sampled_from("0123456789"), max_size=12)
wholes = st.integers(0, 10**8).map(str)
numbers = wholes | st.builds("{}.{}".format, wholes, digits) | st.builds(".{}0".format, digits)
signs = st.sampled_from(["", "+", "-"])
plain_texts = st.builds(lambda *parts: "".join(parts), signs, numbers, st.sampled_from(list(WORTH)))
exponent_texts = st.builds(
    lambda sign, number, e, power: f"{sign}{number}{e}{power}",
    signs,
    numbers,
    st.sampled_from("eE"),
    st.integers(-30, 30),
)
texts = plain_texts | exponent_texts
quantities = texts.map(quantity.parse)


def away_from_zero(number: Fraction) -> int:
    return ceil(number) if number > 0 else -ceil(-number)


def exact(amount: Quantity) -> Fraction:
    return amount.nano * NANO


def meaning(text: str) -> Fraction:
    """What the text says, worked out with fractions."""
    number = text.rstrip("numkKMGTPEi")
    suffix = text[len(number) :]
    if suffix not in WORTH or "e" in number or "E" in number:
        number, _, power = text.lower().partition("e")
        return Fraction(number.rstrip(".")) * Fraction(10) ** int(power)
    return Fraction(number.rstrip(".")) * WORTH[suffix]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("0Ki", "0"),
        ("0.000e9", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("007", "7"),
        ("1.", "1"),
        (".5", "500m"),
        ("-.5", "-500m"),
        ("1.5", "1500m"),
        ("1.500", "1500m"),
        ("3000m", "3"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1.2345", "1234500u"),
        ("1e0", "1"),
        ("1000e0", "1e3"),
        ("1E3", "1e3"),
        ("1e+3", "1e3"),
        ("1e03", "1e3"),
        ("1.5e3", "1500"),
        ("1e4", "10e3"),
        ("1e-4", "100e-6"),
        ("12e-1", "1200e-3"),
        ("1E", "1E"),
        ("1Ei", "1Ei"),
        ("1Ki", "1Ki"),
        ("1.Ki", "1Ki"),
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1024Ki", "1Mi"),
        ("1025Ki", "1025Ki"),
        ("0.5Ki", "512"),
        ("-0.5Ki", "-512"),
        ("0.9Ki", "921600m"),
        ("1.1Ki", "1126400m"),
        ("0.0005Ki", "512m"),
        ("-1.5Gi", "-1536Mi"),
        ("0.1Mi", "104857600m"),
        ("18446744073709551616", "18446744073709551616"),
        ("1e30", "1e30"),
        ("1000Ei", "9223372036854775807"),
        ("8Ei", "9223372036854775807"),
        ("-8Ei", "-9223372036854775807"),
        ("7Ei", "7Ei"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.1n", "2n"),
        ("1e-30", "1e-9"),
        ("0.0000000001Ki", "103n"),
        ("1000E", "1e21"),
        ("123456E", "123456E"),
    ],
)
def test_prints_the_canonical_form(text: str, printed: str) -> None:
    assert str(quantity.parse(text)) == printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "-",
        ".",
        "m",
        "Ki",
        "e3",
        " 1",
        "1 ",
        "1\n",
        "1.2.3",
        "1..2",
        "--1",
        "1i",
        "1ki",
        "1K",
        "1mm",
        "1e",
        "1e+",
        "1e1.5",
        "1ee3",
        "1m3",
        "1-3",
        "0x10",
        "1_000",
        "1,5",
        "\u0661",
        "nan",
        "inf",
        "1e1001",
        "1e-1001",
        "1e99999999999999999999",
        "1" * 1001,
        "1 Gi",
        "1KI",
    ],
)
def test_what_is_no_quantity_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidQuantity) as refusal:
        quantity.parse(text)
    assert repr(text[:64]) in str(refusal.value)


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        pytest.param(2, "2", id="an integer"),
        pytest.param(-1500, "-1500", id="a negative integer"),
        pytest.param(0.5, "500m", id="a fraction, as people write it in YAML"),
        pytest.param(1e22, "10e21", id="a number JSON writes with an exponent"),
    ],
)
def test_bare_numbers_are_read_as_they_were_written(number: float, printed: str) -> None:
    assert str(quantity.parse(number)) == printed


@pytest.mark.parametrize("number", [True, False, float("nan"), float("inf")])
def test_numbers_that_measure_nothing_are_refused(number: float) -> None:
    with pytest.raises(InvalidQuantity):
        quantity.parse(number)


@given(texts)
def test_parsing_keeps_the_value_down_to_nano(text: str) -> None:
    expected = away_from_zero(meaning(text) / NANO)
    parsed = quantity.parse(text)
    if text.endswith("i"):
        expected = max(-CAP, min(expected, CAP))
    assert parsed.nano == expected


@given(quantities)
def test_printing_and_parsing_again_changes_nothing(amount: Quantity) -> None:
    again = quantity.parse(str(amount))
    assert again == amount
    assert str(again) == str(amount)


@given(quantities)
def test_the_canonical_form_has_no_point_and_the_largest_suffix(amount: Quantity) -> None:
    text = str(amount)
    assert "." not in text
    mantissa = text.lstrip("-").rstrip("numkKMGTPEi").partition("e")[0]
    assert not mantissa.endswith("000")


@given(quantities, quantities)
def test_sums_and_differences_are_exact(left: Quantity, right: Quantity) -> None:
    assert exact(left + right) == exact(left) + exact(right)
    assert exact(left - right) == exact(left) - exact(right)
    assert exact(-left) == -exact(left)
    assert left + right == right + left
    assert left - left == ZERO
    assert (left - right).is_zero is (left == right)


@given(quantities, quantities, quantities)
def test_addition_can_be_grouped_freely(a: Quantity, b: Quantity, c: Quantity) -> None:
    assert (a + b) + c == a + (b + c)
    assert sum([a, b, c], ZERO) == a + b + c


@given(quantities, st.integers(-(10**6), 10**6))
def test_multiplying_by_a_whole_number_is_repeated_addition(amount: Quantity, factor: int) -> None:
    assert exact(amount * factor) == exact(amount) * factor
    assert factor * amount == amount * factor


@given(quantities, st.fractions() | st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_multiplying_by_a_fraction_rounds_only_below_nano(
    amount: Quantity, factor: Fraction | Decimal
) -> None:
    product = exact(amount) * Fraction(factor)
    assert (amount * factor).nano == away_from_zero(product / NANO)


def test_a_float_is_no_factor() -> None:
    with pytest.raises(TypeError):
        quantity.parse("1") * 0.1  # type: ignore[operator]


@given(quantities, quantities)
def test_order_and_equality_are_by_value(left: Quantity, right: Quantity) -> None:
    assert (left < right) is (exact(left) < exact(right))
    assert (left <= right) is (exact(left) <= exact(right))
    assert (left > right) is (exact(left) > exact(right))
    assert (left >= right) is (exact(left) >= exact(right))
    assert (left == right) is (exact(left) == exact(right))
    assert exact(max(left, right)) == max(exact(left), exact(right))
    assert exact(min(left, right)) == min(exact(left), exact(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [("3000m", "3"), ("1Ki", "1024"), ("1e3", "1k"), ("0", "0Ki"), ("1.0", "1")],
)
def test_the_same_amount_written_differently_is_equal(left: str, right: str) -> None:
    assert quantity.parse(left) == quantity.parse(right)
    assert len({quantity.parse(left), quantity.parse(right)}) == 1


def test_a_quantity_is_not_its_number_or_text() -> None:
    assert quantity.parse("1") != 1
    assert quantity.parse("1") != "1"


def test_a_quantity_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        quantity.parse("1").nano = 2  # type: ignore[misc]


def test_its_representation_is_readable() -> None:
    assert repr(quantity.parse("1.5Gi")) == "Quantity('1536Mi')"


@given(quantities)
def test_integers_for_the_kubelet_are_rounded_away_from_zero(amount: Quantity) -> None:
    assert amount.value() == away_from_zero(exact(amount))
    assert amount.milli() == away_from_zero(exact(amount) * 1000)


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [("1m", 1, 1), ("1001m", 2, 1001), ("1u", 1, 1), ("-1001m", -2, -1001), ("2Ki", 2048, 2048000)],
)
def test_known_integers(text: str, value: int, milli: int) -> None:
    assert (quantity.parse(text).value(), quantity.parse(text).milli()) == (value, milli)


@pytest.mark.parametrize(
    ("left", "right", "printed"),
    [
        pytest.param("1Gi", "1G", "2073741824", id="a sum keeps the family of its left side"),
        pytest.param("1G", "1Gi", "2073741824", id="and so prints decimally when that was decimal"),
        pytest.param("0", "1Mi", "1Mi", id="zero takes the family of the other"),
        pytest.param("0Ki", "1500", "1500", id="even a binary zero"),
        pytest.param("512Mi", "512Mi", "1Gi", id="halves make a whole"),
        pytest.param("1Ki", "1m", "1024001m", id="a binary fraction prints decimally"),
        pytest.param("1e3", "1", "1001", id="an exponent of zero is left out"),
        pytest.param("1e3", "1m", "1000001e-3", id="exponents stay exponents"),
        pytest.param("1Ki", "-1", "1023", id="less than 1024 prints decimally"),
    ],
)
def test_the_family_of_a_sum(left: str, right: str, printed: str) -> None:
    assert str(quantity.parse(left) + quantity.parse(right)) == printed
    assert str(quantity.parse(left) - -quantity.parse(right)) == printed


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("1", Format.DECIMAL_SI),
        ("1e3", Format.DECIMAL_EXPONENT),
        ("1Ki", Format.BINARY_SI),
        ("0Ki", Format.BINARY_SI),
        ("0.0009765625Ki", Format.BINARY_SI),
        ("0.0009765624Ki", Format.DECIMAL_SI),
        ("-0.0005Ki", Format.DECIMAL_SI),
    ],
)
def test_the_family_is_that_of_the_suffix_unless_less_than_one_binary_unit_is_meant(
    text: str, family: Format
) -> None:
    assert quantity.parse(text).format is family


def test_sums_of_binary_quantities_may_pass_the_cap_of_parsing() -> None:
    total = quantity.parse("7Ei") * 1024
    assert total.format is Format.BINARY_SI
    assert str(total) == "7168Ei"
