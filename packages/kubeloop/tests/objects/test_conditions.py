"""The one setter of conditions."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st
import msgspec
import pytest

from kubeloop.objects import conditions
from kubeloop.objects.conditions import Condition, Status

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)

READY = Condition(type="Ready", status=Status.TRUE, reason="AllGood", last_transition_time=NOON)
IDLE = Condition(type="Idle", status=Status.FALSE, reason="Busy", last_transition_time=NOON)

news = st.builds(
    Condition,
    type=st.sampled_from(["Ready", "Idle", "Failure"]),
    status=st.sampled_from(Status),
    observed_generation=st.integers(0, 5),
    reason=st.sampled_from(["A", "B"]),
    message=st.sampled_from(["", "because"]),
)


def test_a_new_condition_goes_to_the_end_with_the_time_of_now() -> None:
    failure = Condition(type="Failure", status=Status.FALSE, reason="None")
    after = conditions.set_condition((READY, IDLE), failure, LATER)
    assert after[:2] == (READY, IDLE)
    assert after[2] == msgspec.structs.replace(failure, last_transition_time=LATER)


def test_words_are_refreshed_while_the_status_stays_and_the_time_does_not_move() -> None:
    new = Condition(
        type="Ready", status=Status.TRUE, reason="Better", message="new", observed_generation=7
    )
    after = conditions.set_condition((READY, IDLE), new, LATER)
    assert after == (msgspec.structs.replace(new, last_transition_time=NOON), IDLE)


def test_the_time_moves_when_the_status_flips() -> None:
    new = msgspec.structs.replace(READY, status=Status.UNKNOWN)
    after = conditions.set_condition((READY, IDLE), new, LATER)
    assert after == (msgspec.structs.replace(new, last_transition_time=LATER), IDLE)


def test_a_condition_that_lost_its_time_gets_one() -> None:
    timeless = msgspec.structs.replace(READY, last_transition_time=None)
    assert conditions.set_condition((timeless,), READY, LATER)[0].last_transition_time == LATER


def test_times_have_whole_seconds_as_on_the_wire() -> None:
    (ready,) = conditions.set_condition((), READY, NOON + timedelta(microseconds=999_999))
    assert ready.last_transition_time == NOON
    assert b'"lastTransitionTime":"2026-03-01T12:00:00Z"' in msgspec.json.encode(ready)


@given(st.lists(news, max_size=6), news)
def test_setting_twice_is_setting_once_and_others_stay(
    history: list[Condition], new: Condition
) -> None:
    before: tuple[Condition, ...] = ()
    for each in history:
        before = conditions.set_condition(before, each, NOON)
    once = conditions.set_condition(before, new, LATER)
    assert conditions.set_condition(once, new, LATER + timedelta(hours=1)) == once
    assert [each.type for each in once][: len(before)] == [each.type for each in before]
    assert [each for each in once if each.type != new.type] == [
        each for each in before if each.type != new.type
    ]
    found = conditions.find(once, new.type)
    assert found is not None
    assert msgspec.structs.replace(found, last_transition_time=None) == new


@pytest.mark.parametrize(
    ("status", "answer"), [(Status.TRUE, True), (Status.FALSE, False), (Status.UNKNOWN, False)]
)
def test_only_true_is_true(status: Status, answer: bool) -> None:
    ready = msgspec.structs.replace(READY, status=status)
    assert conditions.is_true((IDLE, ready), "Ready") is answer


def test_what_is_not_there_is_not_true() -> None:
    assert conditions.find((READY,), "Idle") is None
    assert not conditions.is_true((READY,), "Idle")


def test_a_condition_decodes_from_the_wire() -> None:
    wire = b'{"type":"Ready","status":"True","lastTransitionTime":"2026-03-01T12:00:00Z","reason":"AllGood"}'
    assert msgspec.json.decode(wire, type=Condition) == READY
