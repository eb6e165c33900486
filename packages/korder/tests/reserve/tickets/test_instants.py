"""The instants of tickets and the parts of their room, for all kinds of lengths and sizes (rules 1, 11)."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from hypothesis import given, strategies as st
import msgspec

from korder.api.reserve import (
    LEAD_TIME_ANNOTATION,
    SCHEDULED_TIME_ANNOTATION,
    STANDING_ANNOTATION,
    Reason,
    Share,
)
from korder.reserve.tickets import deadlines, state as ticket_state, status as ticket_status
from korder.testing.builders import a_ticket
from kubeloop.objects import instant, quantity, resources
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS = st.integers(min_value=1, max_value=10**7)


@given(SECONDS, st.integers(0, 10**8))
def test_a_standing_ticket_ends_within_one_length_and_never_now(span: int, age: int) -> None:
    ticket = a_ticket("t", f"{span}s").annotated({STANDING_ANNOTATION: "true"}).build()
    now = NOW + timedelta(seconds=age)
    end = deadlines.expiration(ticket, NOW, now)
    assert end is not None
    assert now < end <= now + timedelta(seconds=span)
    assert (end - NOW) % timedelta(seconds=span) == timedelta()


@given(SECONDS, SECONDS, st.integers(0, 10**8))
def test_other_tickets_end_where_their_clock_says_whenever_they_are_asked(
    span: int, lead: int, age: int
) -> None:
    text = instant.render(NOW)
    notes = {SCHEDULED_TIME_ANNOTATION: text, LEAD_TIME_ANNOTATION: f"{lead}s"}
    ticket = a_ticket("t", f"{span}s").annotated(notes).build()
    start = deadlines.activation(ticket)
    assert start == NOW
    later = NOW + timedelta(seconds=age)
    assert deadlines.expiration(ticket, start, later) == NOW + timedelta(seconds=span)
    assert deadlines.guardian_due(ticket) is None
    windowed = a_ticket("t").annotated(notes).but({"spec": {"startTime": text}}).build()
    assert deadlines.guardian_due(windowed) == NOW - timedelta(seconds=lead)


def test_a_standing_ticket_of_no_length_is_renewed_every_second() -> None:
    ticket = a_ticket("t", "1ns").annotated({STANDING_ANNOTATION: "true"}).build()
    assert deadlines.expiration(ticket, NOW, NOW) == NOW + timedelta(seconds=1)


MICROSECONDS = st.integers(0, 10**12).map(lambda number: timedelta(microseconds=number))


@given(MICROSECONDS, MICROSECONDS, st.booleans())
def test_what_is_written_has_whole_seconds_and_nobody_gets_less_than_was_promised(
    age: timedelta, span: timedelta, standing: bool
) -> None:
    now = NOW + age
    notes = {STANDING_ANNOTATION: str(standing).lower()}
    fresh = a_ticket("t", f"{span.total_seconds():.6f}s").annotated(notes).build()
    guardian = a_pod("g").on("node-1").build()
    held = ticket_status.reserved(fresh, guardian, Reason.HELD, "held", now)
    over = ticket_status.expired(fresh, now)
    begins, ends, ended = held.activation_time, held.expiration_time, over.finished_time
    assert begins is not None
    assert ends is not None
    assert ended is not None
    assert {begins.microsecond, ends.microsecond, ended.microsecond} == {0}
    assert now <= begins < now + timedelta(seconds=1)
    assert ended <= now < ended + timedelta(seconds=1)
    kept = msgspec.structs.replace(fresh, status=held)
    due = deadlines.expiration(kept, begins, now)
    assert due is not None
    assert due >= now + span
    assert ends <= due < ends + timedelta(seconds=1)
    assert ticket_status.reserved(kept, guardian, Reason.HELD, "held", now) == held


def test_nonsense_in_annotations_counts_as_nothing() -> None:
    notes = {SCHEDULED_TIME_ANNOTATION: "soon", LEAD_TIME_ANNOTATION: "a while"}
    ticket = a_ticket("t").annotated(notes).build()
    assert deadlines.activation(ticket) is None
    assert deadlines.guardian_due(ticket) is None
    begun = ticket.metadata.annotations | {SCHEDULED_TIME_ANNOTATION: instant.render(NOW)}
    assert deadlines.activation(a_ticket("t").annotated(begun).build()) == NOW
    started = a_ticket("t").annotated(notes).but({"spec": {"startTime": instant.render(NOW)}})
    assert deadlines.guardian_due(started.build()) == NOW


def test_instants_beyond_all_calendars_are_their_edges() -> None:
    late = a_ticket("t", "2562047h").but({"spec": {"startTime": "9999-12-31T23:59:59Z"}}).build()
    start = deadlines.activation(late)
    assert deadlines.expiration(late, start, NOW) == datetime.max.replace(tzinfo=UTC)
    early = a_ticket("t").but({"spec": {"startTime": "0001-01-01T00:00:00Z"}})
    due = deadlines.guardian_due(early.annotated({LEAD_TIME_ANNOTATION: "1h"}).build())
    assert due == datetime.min.replace(tzinfo=UTC)


@given(st.lists(st.integers(0, 900), max_size=6), st.integers(1, 4000))
def test_shares_and_what_is_left_make_the_whole_rule_11(parts: list[int], whole: int) -> None:
    sizes: JSON = {"requests": {"cpu": f"{whole}m", "memory": "1Gi"}}
    ticket = a_ticket("t").but({"spec": {"resources": sizes}}).build()
    shares = [
        Share(namespace="n", name=f"p{i}", uid=f"u{i}", requests={"cpu": f"{part}m"})
        for i, part in enumerate(parts)
    ]
    left = ticket_state.remainder(ticket, shares)
    assert all(amount > quantity.ZERO for amount in left.values())
    assert left["memory"] == quantity.parse("1Gi")
    if sum(parts) < whole:
        assert resources.add(ticket_state.taken(shares), left)["cpu"] == quantity.parse(f"{whole}m")
    else:
        assert "cpu" not in left
    assert (
        ticket_state.rate(ticket, ticket_state.taken(shares))
        == f"{round(Fraction(sum(parts) * 100, whole))}%"
    )
