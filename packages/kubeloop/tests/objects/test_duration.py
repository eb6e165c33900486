"""Durations as Go reads and prints them."""

from datetime import timedelta
from fractions import Fraction

from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import duration
from kubeloop.objects.duration import HOUR, MILLISECOND, MINUTE, SECOND, Duration, InvalidDuration

LONGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("-0", 0),
        ("0s", 0),
        ("5s", 5 * SECOND),
        ("+5s", 5 * SECOND),
        ("-5s", -5 * SECOND),
        ("1h30m", 90 * MINUTE),
        ("30m1h", 90 * MINUTE),
        ("1s1s", 2 * SECOND),
        ("1.5h", 90 * MINUTE),
        ("90s", 90 * SECOND),
        ("-1m", -MINUTE),
        (".5s", 500 * MILLISECOND),
        ("1.s", SECOND),
        ("1.0s", SECOND),
        ("0.1us", 100),
        ("1\u00b5s", 1000),
        ("1\u03bcs", 1000),
        ("1us", 1000),
        ("1ms", MILLISECOND),
        ("00100h", 100 * HOUR),
        ("0.100000000000000000000h", 6 * MINUTE),
        ("0.9223372036854775807h", 3320413933267),
        ("0.3333333333333333333h", 20 * MINUTE),
        ("0.830103483285477580700h", 2988372539827),
        ("39h9m14.425s", 39 * HOUR + 9 * MINUTE + 14_425 * MILLISECOND),
        ("9223372036854775807ns", LONGEST),
        ("-9223372036854775808ns", -LONGEST - 1),
        ("0" * 5000 + "1s", SECOND),
        ("0." + "0" * 5000 + "1s", 0),
    ],
)
def test_reads_what_go_reads(text: str, nanoseconds: int) -> None:
    assert duration.parse(text) == Duration(nanoseconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "-",
        "3",
        "00",
        "s",
        ".",
        ".s",
        "-.s",
        "1",
        "1.5",
        "--1s",
        "1h ",
        " 1h",
        "1 h",
        "1h 30m",
        "1H",
        "1d",
        "1w",
        "1hm",
        "1.2.3s",
        "1h-30m",
        "1e3s",
        "\u0661s",
        "9223372036854775808ns",
        "9223372036854775.808us",
        "-9223372036854775809ns",
        "3000000h",
        "99999999999999999999ns",
        "9" * 5000 + "s",
        "2562047h47m16.854775808s",
    ],
)
def test_refuses_what_go_refuses(text: str) -> None:
    with pytest.raises(InvalidDuration) as refusal:
        duration.parse(text)
    assert repr(text[:64]) in str(refusal.value)


@pytest.mark.parametrize(
    ("nanoseconds", "printed"),
    [
        (0, "0s"),
        (1, "1ns"),
        (-1, "-1ns"),
        (999, "999ns"),
        (1000, "1\u00b5s"),
        (MILLISECOND, "1ms"),
        (SECOND, "1s"),
        (1100, "1.1\u00b5s"),
        (2_200_000, "2.2ms"),
        (100 * MILLISECOND, "100ms"),
        (1_500 * MILLISECOND, "1.5s"),
        (59 * SECOND, "59s"),
        (MINUTE, "1m0s"),
        (90 * MINUTE, "1h30m0s"),
        (HOUR, "1h0m0s"),
        (-MINUTE, "-1m0s"),
        (HOUR + 1, "1h0m0.000000001s"),
        (4 * MINUTE + 5_001 * MILLISECOND, "4m5.001s"),
        (LONGEST, "2562047h47m16.854775807s"),
        (-LONGEST - 1, "-2562047h47m16.854775808s"),
    ],
)
def test_prints_as_go_prints(nanoseconds: int, printed: str) -> None:
    assert str(Duration(nanoseconds)) == printed


@given(st.integers(-LONGEST - 1, LONGEST))
def test_printing_and_parsing_again_changes_nothing(nanoseconds: int) -> None:
    assert duration.parse(str(Duration(nanoseconds))) == Duration(nanoseconds)


@given(
    st.lists(
        st.tuples(st.integers(0, 10**4), st.sampled_from(["ns", "us", "ms", "s", "m", "h"])),
        min_size=1,
    )
)
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    total = sum(duration.parse(f"{number}{unit}").nanoseconds for number, unit in parts)
    text = "".join(f"{number}{unit}" for number, unit in parts)
    assert duration.parse(text).nanoseconds == total
    assert duration.parse("-" + text).nanoseconds == -total


@given(st.from_regex(r"[0-9]{1,6}\.[0-9]{1,15}", fullmatch=True))
def test_a_fraction_is_cut_off_below_a_nanosecond(number: str) -> None:
    exact = Fraction(number) * SECOND
    assert abs(duration.parse(f"{number}s").nanoseconds - exact) < 1 + exact / 2**52


@given(st.integers(), st.integers())
def test_durations_are_ordered_by_length(left: int, right: int) -> None:
    assert (Duration(left) < Duration(right)) is (left < right)
    assert (Duration(left) == Duration(right)) is (left == right)


@pytest.mark.parametrize(
    ("nanoseconds", "seconds", "delta"),
    [
        pytest.param(1_999_999_999, 1, timedelta(seconds=1, microseconds=999_999), id="cut off"),
        pytest.param(
            -1_999_999_999, -1, -timedelta(seconds=1, microseconds=999_999), id="below zero"
        ),
        pytest.param(90 * MINUTE, 5400, timedelta(minutes=90), id="even"),
    ],
)
def test_in_other_units(nanoseconds: int, seconds: int, delta: timedelta) -> None:
    assert Duration(nanoseconds).seconds == seconds
    assert Duration(nanoseconds).timedelta == delta
