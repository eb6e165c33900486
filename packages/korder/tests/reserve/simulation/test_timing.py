"""Clocks: the auditor's promises about starts, ends and firings, each kept and each broken (design part 6, invariant 8)."""

import pytest
from tests.reserve.quotas.quotas import a_quota
from tests.reserve.simulation import story_objects
from tests.reserve.simulation.story_objects import WE, guardian, ordered, reserved, ticket

from korder.api.reserve import RENEWAL_ANNOTATION, SCHEDULED_TIME_ANNOTATION
from korder.reserve.scenarios.invariants import deadlines
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder
from pocketkube.testing.story import Story

MINUTE = "2026-01-01T00:01:00Z"
HERE = Builder(NAMESPACES, {"metadata": {"name": "default"}})


@pytest.mark.parametrize(
    ("after", "stated"),
    [
        (59.0, ["it was expired 1 s early"]),
        (60.0, []),
        (61.0, []),
        (62.0, ["it was not expired 1 s after that was due"]),
    ],
    ids=["early", "in time", "a second late", "two seconds late"],
)
def test_a_ticket_expires_at_its_time(after: float, stated: list[str]) -> None:
    """A ticket expires at its time (S2)."""
    story = Story(deadlines.TicketsExpire())
    story.tell(reserved(expirationTime=MINUTE))
    story.wait(after)
    story.tell(ticket("Expired", expirationTime=MINUTE), by=WE)
    assert story.broken == stated


def test_a_claimed_ticket_outlives_its_time() -> None:
    """A claimed ticket outlives its time (rule 3)."""
    story = Story(deadlines.TicketsExpire())
    story.tell(reserved(expirationTime=MINUTE), story_objects.claimed(expirationTime=MINUTE))
    story.wait(1000)
    assert story.broken == []


@pytest.mark.parametrize(
    ("after", "stated"),
    [
        (20.0, ["it was deleted 40 s early"]),
        (60.5, []),
        (70.0, ["it was not deleted 1 s after that was due"]),
    ],
    ids=["early", "in time", "late"],
)
def test_a_ticket_that_has_ended_goes_when_its_time_to_live_is_over(
    after: float, stated: list[str]
) -> None:
    """A ticket that has ended goes when its time to live is over (S2)."""
    story = Story(deadlines.TicketsGo())
    life: JSON = {"spec": {"lifecycle": {"ttlSecondsAfterFinished": 60}}}
    ended = ticket("Expired", finishedTime="2026-01-01T00:00:00Z").but(life)
    story.tell(HERE, ended)
    story.wait(after)
    story.tell(ended.deleted_at(story.now), by=WE)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("daemons", "annotations", "stated"),
    [
        (True, {}, []),
        (True, {SCHEDULED_TIME_ANNOTATION: MINUTE}, ["it was deleted 40 s early"]),
        (False, {}, ["it was deleted 40 s early"]),
    ],
    ids=["of a node", "of a node's window", "of a number"],
)
def test_a_standing_ticket_that_has_ended_makes_way_for_the_next_one_of_its_node(
    daemons: bool, annotations: dict[str, str], stated: list[str]
) -> None:
    """Design 4.1: it is named after the node."""
    story = Story(deadlines.TicketsGo())
    life: JSON = {"spec": {"lifecycle": {"ttlSecondsAfterFinished": 60}}}
    ended = ordered("t", "Expired", finishedTime="2026-01-01T00:00:00Z").but(life)
    ended = ended.annotated(annotations)
    story.tell(HERE, story_objects.order(daemonSet=daemons), ended)
    story.wait(20.0)
    story.tell(ended.deleted_at(story.now), by=WE)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("later", "stated"),
    [
        ("2026-01-01T00:00:00Z", []),
        (MINUTE, ["its end moved from 2026-01-01 00:00:00+00:00 to 2026-01-01 00:01:00+00:00"]),
    ],
    ids=["stands", "moves"],
)
def test_the_end_of_a_ticket_is_dated_once(later: str, stated: list[str]) -> None:
    story = Story(deadlines.EndsAreDated())
    story.tell(ticket("Expired", finishedTime="2026-01-01T00:00:00Z"), by=WE)
    story.tell(ticket("Expired", finishedTime=later), by=WE)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("begins", "ends", "stated"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", []),
        (
            "2026-01-01T00:00:00Z",
            "2026-01-01T02:00:00Z",
            ["it ends at 02:00:00 instead of 01:00:00"],
        ),
        ("2026-01-01T00:30:00Z", None, ["its clock began at 00:30:00, which is not now"]),
    ],
    ids=["true", "too long", "another beginning"],
)
def test_the_clock_of_a_ticket_is_true(begins: str, ends: str | None, stated: list[str]) -> None:
    """The clock of a ticket is true (rule 1)."""
    story = Story(deadlines.ClocksAreTrue())
    story.tell(reserved(activationTime=begins, expirationTime=ends), by=WE)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("annotations", "stated"),
    [
        ({RENEWAL_ANNOTATION: '{"trigger":"Firing"}'}, []),
        ({}, ["its clock began at 00:01:00 instead of 00:00:00"]),
    ],
    ids=["renewed by its order", "without a rule"],
)
def test_a_ticket_that_waited_for_room_during_its_first_term_may_begin_with_the_next(
    annotations: dict[str, str], stated: list[str]
) -> None:
    story = Story(deadlines.ClocksAreTrue())
    fired = {SCHEDULED_TIME_ANNOTATION: "2026-01-01T00:00:00Z", **annotations}
    story.tell(story_objects.order(), ordered("t", "Pending").annotated(fired))
    story.wait(60.0)
    later = ordered("t", "Pending", activationTime=MINUTE)
    story.tell(later.annotated(fired), by=WE)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("after", "stated"),
    [
        (50.0, ["it was made 10 s early"]),
        (60.0, []),
        (70.0, ["nobody asked for its room at 00:01:00"]),
    ],
    ids=["early", "in time", "late"],
)
def test_the_room_of_a_ticket_for_later_is_asked_for_at_its_start(
    after: float, stated: list[str]
) -> None:
    """The room of a ticket for later is asked for at its start (S3)."""
    story = Story(deadlines.StartsAreKept())
    story.tell(ticket("Pending").but({"spec": {"startTime": MINUTE}}))
    story.wait(after)
    story.tell(guardian(), by=WE)
    assert story.broken == stated


def scheduled(**strategy: JSON) -> Builder[story_objects.Order]:
    when: JSON = {"type": "Scheduled", "schedule": "*/5 * * * *", **strategy}
    return story_objects.order(strategy=when)


@pytest.mark.parametrize(
    ("after", "stated"),
    [
        (290.0, ["it was made 10 s early"]),
        (300.5, []),
        (303.0, ["nothing was made for its firing at 00:05:00"]),
    ],
    ids=["early", "in time", "late"],
)
def test_a_firing_makes_tickets_in_its_second(after: float, stated: list[str]) -> None:
    """A firing makes tickets in its second (S28)."""
    story = Story(deadlines.FiringsAreKept())
    story.tell(scheduled())
    story.wait(after)
    firing = {SCHEDULED_TIME_ANNOTATION: "2026-01-01T00:05:00Z"}
    story.tell(ordered("o-1").annotated(firing), by=WE)
    story.wait(10)
    assert story.broken == stated


@pytest.mark.parametrize(
    ("lifted", "stated"),
    [(300.5, []), (299.5, ["nothing was made for its firing at 00:05:00"])],
    ids=["after the firing", "before it"],
)
def test_a_quota_that_is_gone_since_may_have_been_full_at_a_firing(
    lifted: float, stated: list[str]
) -> None:
    story = Story(deadlines.FiringsAreKept())
    story.tell(scheduled(), a_quota("q", tickets="0"))
    story.wait(lifted)
    story.lose(a_quota("q"))
    story.wait(10)
    assert story.broken == stated


def test_a_paused_order_does_not_fire() -> None:
    story = Story(deadlines.FiringsAreKept())
    story.tell(scheduled().but({"spec": {"paused": True}}))
    story.wait(1000)
    assert story.broken == []
