"""Instants as RFC 3339 texts."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import instant
from kubeloop.objects.instant import InvalidInstant

offsets = st.integers(-(24 * 60 - 1), 24 * 60 - 1).map(
    lambda minutes: timezone(timedelta(minutes=minutes))
)
instants = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=offsets)  # noqa: DTZ001 bounds are naive


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31T08:30:00Z", datetime(2026, 1, 31, 8, 30, tzinfo=UTC)),
        ("2026-01-31T09:30:00+01:00", datetime(2026, 1, 31, 8, 30, tzinfo=UTC)),
        ("2026-01-31T08:30:00-00:00", datetime(2026, 1, 31, 8, 30, tzinfo=UTC)),
        ("2026-01-01T00:00:00+14:00", datetime(2025, 12, 31, 10, tzinfo=UTC)),
        ("2024-02-29T23:59:59Z", datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)),
        ("2026-01-31T08:30:00.1Z", datetime(2026, 1, 31, 8, 30, 0, 100_000, tzinfo=UTC)),
        ("2026-01-31T08:30:00.123456Z", datetime(2026, 1, 31, 8, 30, 0, 123_456, tzinfo=UTC)),
        ("2026-01-31T08:30:00.999999999Z", datetime(2026, 1, 31, 8, 30, 0, 999_999, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_reads_an_instant_into_utc(text: str, expected: datetime) -> None:
    parsed = instant.parse(text)
    assert parsed == expected
    assert parsed.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("2026-01-31", id="only a date"),
        pytest.param("2026-01-31T08:30:00", id="no offset"),
        pytest.param("2026-01-31 08:30:00Z", id="a space"),
        pytest.param("2026-01-31t08:30:00Z", id="a small t"),
        pytest.param("2026-01-31T08:30:00z", id="a small z"),
        pytest.param("20260131T083000Z", id="the basic format"),
        pytest.param("2026-W05-6T08:30:00Z", id="a week date"),
        pytest.param("2026-01-31T08:30Z", id="no seconds"),
        pytest.param("2026-01-31T8:30:00Z", id="a short hour"),
        pytest.param("2026-01-31T24:00:00Z", id="hour 24"),
        pytest.param("2026-01-31T08:60:00Z", id="minute 60"),
        pytest.param("2026-12-31T23:59:60Z", id="a leap second"),
        pytest.param("2026-02-29T00:00:00Z", id="no leap year"),
        pytest.param("2026-13-01T00:00:00Z", id="month 13"),
        pytest.param("2026-00-01T00:00:00Z", id="month 0"),
        pytest.param("0000-01-01T00:00:00Z", id="year 0"),
        pytest.param("2026-01-31T08:30:00.Z", id="an empty fraction"),
        pytest.param("2026-01-31T08:30:00,5Z", id="a comma"),
        pytest.param("2026-01-31T08:30:00.1234567890Z", id="ten digits"),
        pytest.param("2026-01-31T08:30:00+0100", id="an offset without colon"),
        pytest.param("2026-01-31T08:30:00+01", id="an offset without minutes"),
        pytest.param("2026-01-31T08:30:00+24:00", id="an offset of a day"),
        pytest.param("2026-01-31T08:30:00+01:60", id="an offset minute of 60"),
        pytest.param("2026-01-31T08:30:00 Z", id="a space before the offset"),
        pytest.param("2026-01-31T08:30:00Z\n", id="a line end"),
        pytest.param("+2026-01-31T08:30:00Z", id="a signed year"),
        pytest.param("٢٠٢٦-01-31T08:30:00Z", id="other digits"),
        pytest.param("0001-01-01T00:00:00+01:00", id="before the first year"),
        pytest.param("9999-12-31T23:59:59-01:00", id="after the last year"),
    ],
)
def test_everything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInstant) as refusal:
        instant.parse(text)
    assert repr(text) in str(refusal.value)


@given(instants)
def test_microseconds_survive_the_way_there_and_back(moment: datetime) -> None:
    assert instant.parse(instant.render_micro(moment)) == moment


@given(instants)
def test_seconds_are_cut_off_and_never_rounded_up(moment: datetime) -> None:
    assert instant.parse(instant.render(moment)) == moment.replace(microsecond=0)


@given(instants)
def test_any_offset_names_the_same_instant(moment: datetime) -> None:
    assert instant.parse(moment.isoformat(timespec="microseconds")) == moment


def test_the_written_forms() -> None:
    moment = datetime(26, 1, 2, 4, 4, 5, 678, tzinfo=timezone(timedelta(hours=1)))
    assert instant.render(moment) == "0026-01-02T03:04:05Z"
    assert instant.render_micro(moment) == "0026-01-02T03:04:05.000678Z"


@pytest.mark.parametrize("write", [instant.render, instant.render_micro])
def test_a_wall_clock_reading_without_zone_is_not_written(write: object) -> None:
    assert callable(write)
    with pytest.raises(ValueError, match="no time zone"):
        write(datetime(2026, 1, 1))  # noqa: DTZ001 the mistake under test
