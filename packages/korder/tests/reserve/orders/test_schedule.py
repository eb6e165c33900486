"""Firings of cron expressions in time zones (S29)."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, product
from zoneinfo import ZoneInfo

from hypothesis import given, settings, strategies as st
import pytest

from korder import cron
from kubeloop.objects import instant

MONDAY = datetime(2026, 6, 1, tzinfo=UTC)


def firings(expression: str, zone: str, begin: str, count: int) -> list[str]:
    """The firings after a local time, as local times with their offsets."""
    at = datetime.fromisoformat(begin).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    found = []
    for _ in range(count):
        at = cron.parse(expression, zone).next_after(at)
        found.append(at.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes"))
    return found


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        pytest.param("@daily", "0 0 * * *", id="a macro"),
        pytest.param("@WEEKLY", "0 0 * * 0", id="a macro in capitals"),
        pytest.param("0 2 * jan,Jul mon-fri", "0 2 * 1,7 1,2,3,4,5", id="names"),
        pytest.param("0 2 * * 7", "0 2 * * 0", id="seven is Sunday"),
        pytest.param("0 2 * * 5-7", "0 2 * * 5,6,0", id="a range that ends with seven"),
        pytest.param("0 2 * * 6-1", "0 2 * * 6,0,1", id="weekdays around the weekend"),
        pytest.param("10-30/10 * * * *", "10,20,30 * * * *", id="a range with a step"),
        pytest.param("5/20 * * * *", "5,25,45 * * * *", id="a start with a step"),
        pytest.param("0 1-3,8,22-23 * * *", "0 1,2,3,8,22,23 * * *", id="a list of ranges"),
        pytest.param("0 18-8 * * *", "0 18-23,0-8 * * *", id="hours around midnight"),
        pytest.param("0 18-8/2 * * *", "0 18,20,22,0,2,4,6,8 * * *", id="around midnight in steps"),
        pytest.param("0 0 1 11-2 *", "0 0 1 11,12,1,2 *", id="months around new year"),
        pytest.param("0 0 ? * 1", "0 0 * * 1", id="a question mark"),
        pytest.param("CRON_TZ=UTC 0 2 * * *", "0 2 * * *", id="a zone in front"),
        pytest.param(" 0  2 * *\t* ", "0 2 * * *", id="blanks"),
    ],
)
def test_forms_that_mean_the_same(expression: str, plain: str) -> None:
    assert firings(expression, "UTC", "2026-02-03T04:05", 30) == firings(
        plain, "UTC", "2026-02-03T04:05", 30
    )


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        pytest.param("0 2 * *", "has 4 fields", id="a field is missing"),
        pytest.param("0 2 * * * *", "has 6 fields", id="a field too many"),
        pytest.param("", "has 0 fields", id="nothing"),
        pytest.param(
            "60 * * * *", "'60' in the minute field: use numbers from 0 to 59", id="minute 60"
        ),
        pytest.param("0 24 * * *", "hour field: use numbers from 0 to 23", id="hour 24"),
        pytest.param("0 0 0 * *", "day-of-month field: use numbers from 1 to 31", id="day 0"),
        pytest.param(
            "0 0 * 13 *", "month field: use numbers from 1 to 12, or JAN to DEC", id="month 13"
        ),
        pytest.param("0 0 * * 8", "from 0 to 7, or SUN to SAT", id="weekday 8"),
        pytest.param("0 0 * * MOO", "'MOO' in the day-of-week field", id="no such name"),
        pytest.param("*/0 * * * *", "the step must be a number from 1 to 60", id="a step of zero"),
        pytest.param(
            "*/90 * * * *", "the step must be a number from 1 to 60", id="a step too long"
        ),
        pytest.param("1- * * * *", "'1-' in the minute field", id="half a range"),
        pytest.param("1-2-3 * * * *", "'1-2-3' in the minute field", id="two dashes"),
        pytest.param("1,,2 * * * *", "'' in the minute field", id="an empty term"),
        pytest.param("? * * * *", "'?' in the minute field", id="a question mark for minutes"),
        pytest.param("\u0661 * * * *", "in the minute field", id="digits of another script"),
        pytest.param("@often", "must be one of @yearly", id="no such macro"),
        pytest.param("0 0 30 2 *", "never fires", id="the thirtieth of February"),
        pytest.param("0 0 31 2,4,6 *", "never fires", id="the thirty-first of short months"),
        pytest.param(
            "CRON_TZ=Mars/Base 0 0 * * *", "time zone 'Mars/Base' is unknown", id="its zone"
        ),
    ],
)
def test_a_bad_expression_is_reported_in_one_sentence(expression: str, said: str) -> None:
    assert said in cron.check(expression)
    with pytest.raises(cron.InvalidSchedule):
        cron.parse(expression)


@pytest.mark.parametrize(
    "zone", ["Mars/Base", "Europe", "../etc/passwd", "/etc/localtime", "x" * 300]
)
def test_an_unknown_time_zone_is_reported(zone: str) -> None:
    assert "is unknown; use a name such as UTC or Europe/Berlin" in cron.check("@daily", zone)


def test_two_zones_that_contradict_are_reported() -> None:
    stated = cron.check("CRON_TZ=Europe/Berlin 0 2 * * *", "Asia/Tokyo")
    assert "names time zone Europe/Berlin, and timeZone names Asia/Tokyo" in stated
    assert cron.check("CRON_TZ=Europe/Berlin 0 2 * * *", "Europe/Berlin") == ""


def test_a_leap_day_is_waited_for() -> None:
    found = cron.parse("0 0 29 2 *").next_after(datetime(2026, 1, 1, tzinfo=UTC))
    assert found == datetime(2028, 2, 29, tzinfo=UTC)
    assert cron.parse("0 0 29 2 *").last_until(datetime(2103, 1, 1, tzinfo=UTC)) == datetime(
        2096, 2, 29, tzinfo=UTC
    )


def test_either_day_is_enough_when_both_are_restricted() -> None:
    assert firings("0 0 13 * 5", "UTC", "2026-06-01", 3) == [
        "2026-06-05T00:00+00:00",
        "2026-06-12T00:00+00:00",
        "2026-06-13T00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("expression", "begin", "expected"),
    [
        pytest.param(
            "30 2 * * *",
            "2026-03-28T12:00",
            ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"],
            id="spring, a time that is left out: at the end of the gap",
        ),
        pytest.param(
            "30 2 * * *",
            "2026-10-24T12:00",
            ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
            id="autumn, a time that comes twice: the first one only",
        ),
        pytest.param(
            "0 * * * *",
            "2026-03-29T00:30",
            ["2026-03-29T01:00+01:00", "2026-03-29T03:00+02:00", "2026-03-29T04:00+02:00"],
            id="spring, every hour: every hour that passes",
        ),
        pytest.param(
            "0 * * * *",
            "2026-10-25T01:30",
            ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00", "2026-10-25T03:00+01:00"],
            id="autumn, every hour: every hour that passes",
        ),
    ],
)
def test_when_clocks_change(expression: str, begin: str, expected: list[str]) -> None:
    """S29: the rule that the module documents."""
    assert firings(expression, "Europe/Berlin", begin, len(expected)) == expected


CHANGES = [
    ("Europe/Berlin", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-10-25T01:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
    ("America/Havana", "2026-03-08T05:00:00Z"),
    ("America/Havana", "2026-11-01T05:00:00Z"),
    ("Pacific/Chatham", "2026-04-04T14:00:00Z"),
    ("Pacific/Chatham", "2026-09-26T14:00:00Z"),
]
MINUTE = timedelta(minutes=1)
numbers = st.lists(st.integers(0, 59), min_size=1, max_size=3, unique=True)
hours = st.lists(st.integers(0, 3) | st.integers(0, 23), min_size=1, max_size=4, unique=True)


def fixed(
    minutes: list[int], at_hours: list[int], zone: ZoneInfo, middle: datetime
) -> list[datetime]:
    """By hand: each local time once, the first of two, and the end of a gap for those within it."""
    found = set()
    local = (middle - timedelta(hours=40)).astimezone(zone).replace(tzinfo=None)
    for step in range(80):
        for minute in minutes:
            naive = local.replace(minute=minute) + timedelta(hours=step)
            if naive.hour not in at_hours:
                continue
            at = naive.replace(tzinfo=zone)
            while at.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != at.replace(
                tzinfo=None
            ):
                at += MINUTE
            found.add(at.astimezone(UTC))
    return sorted(found)


@settings(max_examples=50)
@given(change=st.sampled_from(CHANGES), minutes=numbers, at_hours=hours, lead=st.integers(0, 2000))
def test_fixed_times_around_a_change_of_clocks(
    change: tuple[str, str], minutes: list[int], at_hours: list[int], lead: int
) -> None:
    """From wherever one asks, forward and back, the same firings are told."""
    zone, middle = ZoneInfo(change[0]), instant.parse(change[1])
    text = f"{','.join(map(str, minutes))} {','.join(map(str, at_hours))} * * *"
    expected = fixed(minutes, at_hours, zone, middle)
    asked = middle - timedelta(hours=16) + lead * MINUTE + timedelta(seconds=lead % 60)
    found = cron.parse(text, change[0])
    assert found.next_after(asked) == min(at for at in expected if at > asked)
    assert found.last_until(asked) == max(at for at in expected if at <= asked)


@given(change=st.sampled_from(CHANGES), minutes=numbers, lead=st.integers(0, 600))
def test_every_hour_around_a_change_of_clocks(
    change: tuple[str, str], minutes: list[int], lead: int
) -> None:
    zone, middle = ZoneInfo(change[0]), instant.parse(change[1])
    asked = middle - timedelta(hours=5) + lead * MINUTE
    expected = asked + MINUTE
    while expected.astimezone(zone).minute not in minutes:
        expected += MINUTE
    text = f"{','.join(map(str, minutes))} * * * *"
    assert cron.parse(text, change[0]).next_after(asked) == expected


HOUR = timedelta(hours=1)
ODD_CLOCKS = [
    pytest.param("Africa/Cairo", id="midnight is left out, and 23 comes twice"),
    pytest.param("Asia/Beirut", id="the same at other days"),
    pytest.param("America/Santiago", id="the same in the south"),
    pytest.param("America/Havana", id="midnight is left out, and comes twice"),
    pytest.param("Pacific/Chatham", id="at a quarter to the hour"),
    pytest.param("Australia/Lord_Howe", id="by half an hour"),
    pytest.param("Europe/Berlin", id="in the night, by an hour"),
]
STARRED = [
    "* 1",
    "* 2",
    "*/20 0",
    "*/20 1",
    "*/20 3,23",
    "*/45 3",
    "*/45 */2",
    "0 */2",
    "50 *",
    "59 */2",
]


def changes(zone: ZoneInfo) -> list[datetime]:
    """The hours of 2026 and 2027 before which clocks were set."""
    hourly = [datetime(2026, 1, 1, tzinfo=UTC) + HOUR * each for each in range(2 * 365 * 24)]
    return [
        after
        for before, after in pairwise(hourly)
        if before.astimezone(zone).utcoffset() != after.astimezone(zone).utcoffset()
    ]


def meant(field: str, size: int) -> set[int]:
    star, _, step = field.partition("/")
    return set(range(0, size, int(step or 1)) if star == "*" else map(int, field.split(",")))


@pytest.mark.parametrize("name", ODD_CLOCKS)
def test_a_star_follows_every_minute_that_passes(name: str) -> None:
    zone = ZoneInfo(name)
    for change in changes(zone):
        begin = change - 14 * HOUR
        passing = [(begin + MINUTE * each).astimezone(zone) for each in range(1, 28 * 60)]
        for text, day in product(STARRED, ("*", str(change.astimezone(zone).day))):
            minute, hour = text.split()
            at_minutes, at_hours, on = meant(minute, 60), meant(hour, 24), meant(day, 32)
            expected = [
                at.astimezone(UTC)
                for at in passing
                if at.minute in at_minutes and at.hour in at_hours and at.day in on
            ]
            found = cron.parse(f"{text} {day} * *", name).after(begin)
            assert list(islice(found, len(expected))) == expected, (text, day, change)
            assert next(found) > passing[-1]


def test_a_month_that_begins_without_its_midnight() -> None:
    """As October 2017 in Paraguay, where clocks went from 0:00 to 1:00."""
    assert firings("*/30 1 * 10 *", "America/Asuncion", "2017-09-05", 3) == [
        "2017-10-01T01:00-03:00",
        "2017-10-01T01:30-03:00",
        "2017-10-02T01:00-03:00",
    ]


terms = st.sampled_from(["*", "*/7", "5", "1-3", "3-1", "2-9/3", "1,4,7"])
days = st.sampled_from(["*", "*/2", "1-5", "5-1"])


@settings(max_examples=40)
@given(
    fields=st.tuples(terms, terms, days, st.sampled_from(["*", "*/5", "11-2"]), days),
    asked=st.integers(0, 6 * 366 * 86400).map(
        lambda s: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=s)
    ),
)
def test_next_and_last_agree(fields: tuple[str, ...], asked: datetime) -> None:
    """The firing after an instant is the last one until itself, and the last one until shortly before it is not later."""
    found = cron.parse(" ".join(fields))
    following = found.next_after(asked)
    assert following > asked
    assert found.last_until(following) == following
    before = found.last_until(following - timedelta(microseconds=1))
    assert before is not None
    assert before <= asked
    assert found.next_after(before) == following


def test_the_last_firing_is_looked_for_only_after_an_instant() -> None:
    nightly = cron.parse("0 2 * * *")
    two = MONDAY + timedelta(hours=2)
    assert nightly.last_until(two) == two
    assert nightly.last_until(two, after=two) is None
    assert nightly.last_until(two, after=two - MINUTE) == two
    assert nightly.last_until(two - MINUTE, after=MONDAY) is None
