import re
from typing import Annotated

from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import duration, instant, quantity
from kubeloop.objects.meta import Base
from kubeloop.schema import field_types, structural


def accepts(alias: object, text: str) -> bool:
    """Judges a text as the API server does: by pattern, and by the `matches` of a rule."""

    class Holder(Base):
        """Holds one value."""

        value: Annotated[alias, structural.doc("A value.")]  # type: ignore[valid-type]

    value = structural.render(structural.describe(Holder))["properties"]["value"]
    patterns = [value["pattern"]] if "pattern" in value else []
    for rule in value.get("x-kubernetes-validations", ()):
        patterns += re.findall(r"self\.matches\(r'(.*?)'\)", rule["rule"])
    assert patterns
    return len(text) <= value.get("maxLength", 10**6) and all(
        re.search(pattern, text) is not None for pattern in patterns
    )


GOOD = {
    "Duration": ["0", "0s"],
    "PositiveDuration": ["24h", "1h30m", "1.5h", "3600s", "10µs", "399999h", "000000001h"],
    "Instant": ["2023-01-01T20:00:00Z", "2026-10-25T02:30:00.123456789+02:00"],
    "InstantOrEmpty": ["", "2032-02-29T08:00:00Z", "2000-02-29T08:00:00Z"],
    "TimeZone": ["", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5"],
    "Schedule": [
        "0 2 * * *",
        "0 */6 * * *",
        "0 18-8 * * MON-FRI",
        "@daily",
        "",
        "0 2\t* * * ",
        " @daily",
    ],
    "ZonedSchedule": ["CRON_TZ=Europe/Berlin 30 2 * * *", "@every 1h", "0 2 * * *\t"],
    "ClockRange": ["09:00-17:00", "22:00-06:00", "00:00-24:00"],
    "Recurrence": ["FREQ=WEEKLY;BYDAY=MO,WE;INTERVAL=2", "RRULE:FREQ=DAILY"],
    "Quantity": ["8025424Ki", "1050m", "0", "1e3"],
    "PositiveQuantity": ["0.5", ".001"],
    "SignedQuantity": ["-1050m"],
    "Limit": ["40Gi", "24h", "604800"],
    "Decimal": ["0.05"],
}
BAD = {
    "PositiveDuration": ["", "1d", "-1h", "60", "1h ", "400000h", "399999h" * 7],
    "Duration": ["h" * 65],
    "Instant": [
        "2023-01-01T20:00:00",
        "2023-01-01 20:00:00Z",
        "2023-01-01T20:00:60Z",
        "2023-01-01",
        "0000-01-01T20:00:00Z",
        "2031-02-29T08:00:00Z",
        "2100-02-29T08:00:00Z",
        "2030-02-30T08:00:00Z",
        "2030-04-31T08:00:00Z",
        "2030-13-01T08:00:00Z",
        "an instant with its offset such as 2030-01-31T08:30:00Z",
    ],
    "TimeZone": ["Central Europe", "+01:00"],
    "Schedule": ["0 2 * *", "0 2 * * * *", "CRON_TZ=UTC 0 2 * * *", "@every 1h", "@often", "  "],
    "ZonedSchedule": ["", "@every day"],
    "ClockRange": ["9-17", "09:00-24:01"],
    "Recurrence": ["every week"],
    "Quantity": ["-1", "1 Gi", "1Qi", "a quantity such as 20, 500m or 40Gi, not less than zero"],
    "PositiveQuantity": ["0", "0.000", "0Gi", "0e9"],
    "Limit": ["-24h"],
    "Decimal": ["-0.5", "1e3"],
}


def rows(table: dict[str, list[str]]) -> list[object]:
    return [
        pytest.param(name, text, id=f"{name} {text[:40]!r}")
        for name, texts in table.items()
        for text in texts
    ]


@pytest.mark.parametrize(("name", "text"), rows(GOOD))
def test_a_good_text_is_accepted(name: str, text: str):
    assert accepts(getattr(field_types, name), text)


@pytest.mark.parametrize(("name", "text"), rows(BAD))
def test_a_bad_text_is_refused(name: str, text: str):
    assert not accepts(getattr(field_types, name), text)


_DIGITS = st.text("0123456789", max_size=4)
_SUFFIXES = st.sampled_from(["", "m", "k", "M", "Ki", "Gi", "Ei", "e3", "E-2", "x", "mi"])
_QUANTITIES = st.builds(
    lambda sign, whole, point, rest, suffix: f"{sign}{whole}{point}{rest}{suffix}",
    st.sampled_from(["", "+", "-"]),
    _DIGITS,
    st.sampled_from(["", "."]),
    _DIGITS,
    _SUFFIXES,
)


@given(_QUANTITIES)
def test_signed_quantities_are_exactly_what_we_can_read(text: str):
    try:
        quantity.parse(text)
    except ValueError:
        readable = False
    else:
        readable = True

    assert accepts(field_types.SignedQuantity, text) == readable


@given(_QUANTITIES)
def test_positive_quantities_are_exactly_those_above_zero(text: str):
    try:
        positive = quantity.parse(text) > quantity.parse("0")
    except ValueError:
        positive = False

    assert accepts(field_types.PositiveQuantity, text) == positive


@given(
    st.lists(
        st.tuples(
            st.integers(0, 99),
            st.sampled_from(["", ".5", "."]),
            st.sampled_from(["h", "m", "s", "ms", "d"]),
        ),
        max_size=3,
    )
)
def test_durations_are_exactly_what_go_reads(parts: list[tuple[int, str, str]]):
    text = "".join(f"{whole}{fraction}{unit}" for whole, fraction, unit in parts)
    try:
        duration.parse(text)
    except ValueError:
        readable = False
    else:
        readable = True

    assert accepts(field_types.Duration, text) == readable


@pytest.mark.parametrize("unit", ["h", "m", "s", "ms", "us", "ns"])
def test_no_duration_that_is_matched_is_too_long_for_go(unit: str):
    """A rule that reads one which is too long fails itself, with words that nobody understands."""
    parts = [f"{lead}{'9' * nines}.9{unit}" for lead in range(10) for nines in range(20)]
    longest = max((p for p in parts if accepts(field_types.Duration, p)), key=duration.parse)

    assert duration.parse(longest * 6) > duration.parse("200000h")


@given(st.datetimes(min_value=instant.parse("1000-01-02T00:00:00Z").replace(tzinfo=None)))
def test_every_instant_we_write_is_accepted(moment):
    written = f"{moment.isoformat()}Z"

    assert accepts(field_types.Instant, written) == (moment.year < 3000)
    assert accepts(field_types.InstantOrEmpty, written) == (moment.year < 3000)
