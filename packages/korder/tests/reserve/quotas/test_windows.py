"""When time windows of quotas are open (spec 1.9): all forms, in zones whose clocks are set."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise, product
import random
from zoneinfo import ZoneInfo

from hypothesis import given, settings, strategies as st
import pytest
from tests.reserve.quotas.quotas import a_window

from korder.api.quota import TimeWindow
from korder.reserve.quotas import limits as quota_limits
from kubeloop.objects.meta import JSON

MINUTE = timedelta(minutes=1)


def local(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def open_spans(window: TimeWindow, begin: datetime, end: datetime) -> list[tuple[str, str]]:
    """When a window is open between two instants, as local times."""
    times, zone = quota_limits.times_of(window), ZoneInfo(window.time_zone)

    def stated(at: datetime) -> str:
        return at.astimezone(zone).strftime("%a %d %H:%M")

    return [
        (stated(since), stated(until))
        for since, until, is_open in _states(times, begin, end)
        if is_open
    ]


def _states(
    times: quota_limits.Times, begin: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime, bool]]:
    at = begin
    while at < end:
        following = times.until(at)
        assert following > at
        yield at, min(following, end), times.holds(at)
        at = following


@pytest.mark.parametrize(
    ("said", "spans"),
    [
        pytest.param(
            {"schedule": "0 9-17 * * 1-5"},
            [("Fri 05 09:00", "Fri 05 18:00"), ("Mon 08 09:00", "Mon 08 18:00")],
            id="the sample: business hours, the hour of 17 included, minutes ignored",
        ),
        pytest.param(
            {"schedule": "0 18-8 * * *"},
            [
                ("Fri 05 00:00", "Fri 05 09:00"),
                ("Fri 05 18:00", "Sat 06 09:00"),
                ("Sat 06 18:00", "Sun 07 09:00"),
                ("Sun 07 18:00", "Mon 08 09:00"),
                ("Mon 08 18:00", "Tue 09 00:00"),
            ],
            id="the sample: nights, around midnight",
        ),
        pytest.param(
            {"schedule": "* * * * 0,6"},
            [("Sat 06 00:00", "Mon 08 00:00")],
            id="the sample: weekends",
        ),
        pytest.param(
            {"schedule": "0 22 * * 5", "duration": "10h"},
            [("Fri 05 22:00", "Sat 06 08:00")],
            id="so long after a firing",
        ),
        pytest.param(
            {"schedule": "0 0-12/6 6 * *", "duration": "6h"},
            [("Sat 06 00:00", "Sat 06 18:00")],
            id="firings whose windows touch are one window",
        ),
        pytest.param(
            {"weekdays": ["Mon", "Fri"], "hours": "09:00-17:00"},
            [("Fri 05 09:00", "Fri 05 17:00"), ("Mon 08 09:00", "Mon 08 17:00")],
            id="the later sample: weekdays and hours, the end excluded",
        ),
        pytest.param(
            {"weekdays": ["Fri"], "hours": "22:30-06:15"},
            [("Fri 05 22:30", "Sat 06 06:15")],
            id="hours past midnight belong to the day on which they begin",
        ),
        pytest.param(
            {"weekdays": ["Sat", "Sun"]},
            [("Sat 06 00:00", "Mon 08 00:00")],
            id="weekdays alone are whole days",
        ),
        pytest.param(
            {"weekdays": ["Sat"], "hours": "08:00-08:00"},
            [("Sat 06 08:00", "Sun 07 08:00")],
            id="two equal times are a day",
        ),
        pytest.param(
            {"weekdays": ["Sun"], "hours": "18:00-24:00"},
            [("Sun 07 18:00", "Mon 08 00:00")],
            id="until midnight",
        ),
        pytest.param(
            {"schedule": "0 12 7 * 5"},
            [("Fri 05 12:00", "Fri 05 13:00"), ("Sun 07 12:00", "Sun 07 13:00")],
            id="either day is enough when both are restricted",
        ),
    ],
)
def test_windows_mean_what_they_say(said: dict[str, JSON], spans: list[tuple[str, str]]) -> None:
    window = a_window(multiplier="2", **said)
    assert open_spans(window, local("2026-06-05"), local("2026-06-09")) == spans


@pytest.mark.parametrize(
    ("said", "begin", "hours"),
    [
        pytest.param({"schedule": "0 1-3 * * *"}, "2026-03-29", 2, id="an hour is left out"),
        pytest.param({"schedule": "0 1-3 * * *"}, "2026-10-25", 4, id="an hour comes twice"),
        pytest.param({"schedule": "0 2 * * *"}, "2026-03-29", 0, id="just the hour left out"),
        pytest.param(
            {"hours": "01:30-03:30"}, "2026-10-25", 3, id="in plain words, an hour comes twice"
        ),
        pytest.param(
            {"schedule": "30 1 * * *", "duration": "4h"},
            "2026-03-29",
            4,
            id="a duration is as long as it says",
        ),
    ],
)
def test_when_clocks_are_set(said: dict[str, JSON], begin: str, hours: int) -> None:
    window = a_window(multiplier="2", zone="Europe/Berlin", **said)
    day = local(begin, "Europe/Berlin")
    states = _states(quota_limits.times_of(window), day, day + timedelta(hours=12))
    assert sum((u - s for s, u, is_open in states if is_open), timedelta()) == timedelta(
        hours=hours
    )


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param({"schedule": "0 25 * * *"}, "hour field: use numbers", id="no such hour"),
        pytest.param({"schedule": "0 0 30 2 *"}, "never fires", id="no such day"),
        pytest.param(
            {"hours": "09:00-10:00", "zone": "Mars/Base"}, "is unknown", id="no such zone"
        ),
    ],
)
def test_a_window_that_says_nothing_is_reported(said: dict[str, JSON], why: str) -> None:
    assert why in quota_limits.check(a_window(multiplier="1", **said))


def test_what_never_changes_is_said_to_hold_for_long() -> None:
    """A timer on it costs a look every few years, or after thousands of firings."""
    begin = local("2026-01-01")
    always = quota_limits.times_of(a_window(schedule="* * * * *", multiplier="1"))
    assert always.until(begin) - begin > timedelta(days=3000)
    again = quota_limits.times_of(a_window(schedule="* * * * *", duration="2m", multiplier="1"))
    assert again.holds(begin)
    assert again.until(begin) - begin > timedelta(days=3)


def test_a_day_that_comes_every_fourth_year_is_found() -> None:
    times = quota_limits.times_of(a_window(schedule="0 9 29 2 *", multiplier="1"))
    assert times.until(local("2026-06-01")) == local("2028-02-29T09:00")
    assert times.until(local("2096-06-01")) == local("2104-02-29T09:00")


# --- the oracle: every minute of a leap year, by brute force -------------------------------------------------

YEAR = 2028
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "UTC")
"""Clocks set by an hour, by half an hour, and at midnight."""


def _expanded(field: str, first: int, last: int) -> set[int]:
    """A field of a cron expression, in the plainest way."""
    found: set[int] = set()
    for term in field.split(","):
        base, _, step = term.partition("/")
        if base == "*":
            numbers = list(range(first, last + 1))
        else:
            low, _, high = base.partition("-")
            begin, end = int(low), int(high or low)
            size = last - first + 1
            count = (end - begin) % size + 1
            numbers = [(begin - first + each) % size + first for each in range(count)]
        found.update(numbers[:: int(step or 1)])
    return found


def _days_fit(fields: list[str], at: datetime) -> bool:
    dom, month, dow = fields[2:]
    by_date = at.day in _expanded(dom, 1, 31)
    by_weekday = (at.weekday() + 1) % 7 in _expanded(dow, 0, 6)
    either = not dom.startswith("*") and not dow.startswith("*")
    fits = (by_date or by_weekday) if either else (by_date and by_weekday)
    return fits and at.month in _expanded(month, 1, 12)


@cache
def _year(zone: str) -> tuple[datetime, list[datetime]]:
    """All minutes of a year by the clock on the wall of a zone, one after the other as they pass."""
    begin = datetime(YEAR, 1, 1, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    end = datetime(YEAR + 1, 1, 1, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    count = int((end - begin) / MINUTE)
    wall = ZoneInfo(zone)
    # The offset can change only at whole half hours, so only they are asked.
    walls: list[datetime] = []
    for half_hour in range(0, count, 30):
        at = (begin + half_hour * MINUTE).astimezone(wall).replace(tzinfo=None)
        walls += [at + minute * MINUTE for minute in range(min(30, count - half_hour))]
    return begin, walls


def _covered(fields: list[str], walls: list[datetime]) -> bytes:
    """For each minute whether its hour and its day fit."""
    hours = _expanded(fields[1], 0, 23)
    days: dict[tuple[int, int], bool] = {}
    for at in walls[::30]:
        days.setdefault((at.month, at.day), _days_fit(fields, at))
    return bytes(at.hour in hours and days[at.month, at.day] for at in walls)


def _random_fields(rng: random.Random) -> list[str]:
    def term(first: int, last: int) -> str:
        low, high = rng.randint(first, last), rng.randint(first, last)
        return rng.choice([f"{low}", f"{low}-{high}", f"{low},{high}", f"{low}-{high}/2", "*/3"])

    def field(first: int, last: int, often: float) -> str:
        return "*" if rng.random() < often else term(first, last)

    return [
        field(0, 59, 0.3),
        field(0, 23, 0.1),
        field(1, 28, 0.6),
        field(1, 12, 0.7),
        field(0, 6, 0.4),
    ]


def _exists(wall: datetime, zone: ZoneInfo) -> bool:
    """Whether the clocks of a zone ever show a time."""
    return wall.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == wall


def _follows_time(fields: list[str]) -> bool:
    """Whether a schedule fires by the time that really passes, and not once by the clock on the wall."""
    return fields[0].startswith("*") or fields[1].startswith("*")


def _firings(fields: list[str], zone: str) -> Iterator[int]:
    """The minutes of the year at which a schedule fires, as `schedule` says what happens when clocks are set."""
    begin, walls = _year(zone)
    minutes, hours = _expanded(fields[0], 0, 59), _expanded(fields[1], 0, 23)
    days = dict.fromkeys(at.replace(hour=0, minute=0) for at in walls[::30])
    fitting = {day for day in days if _days_fit(fields, day)}
    if _follows_time(fields):
        for number, at in enumerate(walls):
            due = at.minute in minutes and at.hour in hours
            if due and at.replace(hour=0, minute=0) in fitting:
                yield number
        return
    for day, hour, minute in product(sorted(fitting), sorted(hours), sorted(minutes)):
        at = day.replace(hour=hour, minute=minute)
        while not _exists(at, ZoneInfo(zone)):
            at += MINUTE
        yield int((at.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC) - begin) / MINUTE)


def _after_firings(fields: list[str], zone: str, length: int) -> bytes:
    """For each minute whether one of so many minutes before it was a firing."""
    _, walls = _year(zone)
    found, end = bytearray(len(walls)), 0
    for firing in sorted(_firings(fields, zone)):
        since, end = max(firing, end), min(firing + length, len(walls))
        found[since:end] = bytes([1]) * (end - since)
    return bytes(found)


def _agrees_all_year(fields: list[str], zone: str, length: int = 0) -> None:
    """Compares all of a year; after firings, all but what firings of the year before may reach."""
    begin, walls = _year(zone)
    end = begin + len(walls) * MINUTE
    said: dict[str, JSON] = {"duration": f"{length}m"} if length else {}
    window = a_window(schedule=" ".join(fields), zone=zone, multiplier="2", **said)
    found = bytearray(length)
    for since, until, is_open in _states(
        quota_limits.times_of(window), begin + length * MINUTE, end
    ):
        found += bytes([is_open]) * int((until - since) / MINUTE)
    covered = _after_firings(fields, zone, length) if length else _covered(fields, walls)
    expected = bytes(length) + covered[length:]
    if found != expected:
        wrong = next(n for n, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b)
        raise AssertionError(f"{fields} in {zone} differs at {walls[wrong]}: {found[wrong]}")


@pytest.mark.parametrize("zone", ZONES)
def test_every_minute_of_a_leap_year_agrees_with_brute_force(zone: str) -> None:
    _agrees_all_year(_random_fields(random.Random(0)), zone)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("schedule", "length"),
    [
        pytest.param("30 2 * * *", 45, id="once in the hour that is left out or comes twice"),
        pytest.param("15,45 0-3 * * 0,6", 20, id="fixed times all around it"),
        pytest.param("*/20 0-3 * * 0", 10, id="the time that really passes"),
        pytest.param("40 */2 * 3,4,10,11 *", 45, id="every other hour"),
        pytest.param("30 0 * * *", 2400, id="longer than the time between firings"),
    ],
)
def test_so_long_after_firings_agrees_with_brute_force_when_clocks_are_set(
    zone: str, schedule: str, length: int
) -> None:
    _agrees_all_year(schedule.split(), zone, length)


@pytest.mark.parametrize("minutes", ["*/3", "45"])
def test_time_that_really_passes_agrees_where_clocks_are_set_by_half_an_hour(minutes: str) -> None:
    for hours in ("*", "*/3", "*/2"):
        _agrees_all_year([minutes, hours, "*", "4,10", "0"], "Australia/Lord_Howe", 10)


@pytest.mark.soak
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("length", [0, 45, 2400])
@pytest.mark.parametrize("seed", range(100, 110))
def test_every_minute_of_a_leap_year_agrees_for_many_windows(
    seed: int, length: int, zone: str
) -> None:
    fields = _random_fields(random.Random(seed))
    _agrees_all_year(fields, zone, length)


@settings(max_examples=30)
@given(
    st.integers(0, 10**6),
    st.sampled_from(ZONES),
    st.integers(0, 3 * 365 * 24 * 60),
    st.sampled_from([None, "45m", "3h", "40h"]),
)
def test_a_window_does_not_change_before_it_says(
    seed: int, zone: str, minute: int, length: str | None
) -> None:
    said: dict[str, JSON] = {"duration": length} if length else {}
    schedule = " ".join(_random_fields(random.Random(seed)))
    times = quota_limits.times_of(a_window(schedule=schedule, zone=zone, multiplier="1", **said))
    edges = [datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC) + minute * MINUTE]
    for _ in range(3):
        edges.append(times.until(edges[-1]))
    for since, until in pairwise(edges):
        held = times.holds(since)
        for part in range(1, 8):
            assert times.holds(since + (until - since) * part / 8) is held
        assert times.holds(until - timedelta(microseconds=1)) is held


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 364 * 24 * 60), st.integers(1, 3000))
def test_so_long_after_firings_agrees_with_counting_them(
    seed: int, minute: int, length: int
) -> None:
    """In UTC, where no clock is set: open if one of the last minutes is a firing."""
    fields = _random_fields(random.Random(seed))
    window = a_window(schedule=" ".join(fields), duration=f"{length}m", multiplier="1")
    at = datetime(YEAR, 1, 8, tzinfo=UTC) + minute * MINUTE
    minutes, hours = _expanded(fields[0], 0, 59), _expanded(fields[1], 0, 23)
    expected = any(
        then.minute in minutes and then.hour in hours and _days_fit(fields, then)
        for then in (at - back * MINUTE for back in range(length))
    )
    assert quota_limits.times_of(window).holds(at) is expected
