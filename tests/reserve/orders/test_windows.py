"""Scheduled orders: windows, firings that were missed, lead time and overlap (S28, rule 4)."""

from datetime import timedelta

import pytest
from tests.reserve.orders.desk import START, Desk

from korder.api.meta import JSON
from korder.api.reserve import SCHEDULED_TIME_ANNOTATION, TicketPhase
from korder.testing.builders import an_order


def a_desk(schedule: str = "* * * * *", duration: str = "30s", **strategy: JSON) -> Desk:
    said: dict[str, JSON] = {"type": "Scheduled", "schedule": schedule, **strategy}
    return Desk(
        an_order("o", 2).but(
            {"spec": {"strategy": said, "template": {"spec": {"duration": duration}}}}
        )
    )


def told(desk: Desk, reason: str) -> list[str]:
    return [notice.note for notice in desk.notices if notice.reason == reason]


def test_each_firing_opens_a_window_of_its_own() -> None:
    """S28: names contain the firing, the clock starts at it, and firings never mix."""
    desk = a_desk()
    desk.settle()
    assert desk.free == []
    desk.at("00:01")
    desk.settle()
    assert desk.free == ["o-202601050001-0", "o-202601050001-1"]
    ticket = desk.tickets[desk.free[0]]
    assert ticket.spec.start_time == "2026-01-05T00:01:00Z"
    assert ticket.metadata.annotations[SCHEDULED_TIME_ANNOTATION] == "2026-01-05T00:01:00Z"
    desk.pass_time(seconds=30)
    desk.settle()
    assert desk.order.status.pools == ()
    desk.at("00:02")
    desk.settle()
    assert desk.made[2:] == ["o-202601050002-2", "o-202601050002-3"]
    assert desk.order.status.last_schedule_time == desk.now
    assert desk.order.status.next_schedule_time == desk.now + timedelta(minutes=1)


def test_the_next_look_is_at_the_next_edge() -> None:
    desk = a_desk()
    desk.settle()
    assert desk.wake_at == START + timedelta(seconds=30)
    desk.at("00:01")
    desk.settle()
    assert desk.wake_at == desk.now + timedelta(seconds=30)


def test_lead_time_places_tickets_before_their_window() -> None:
    desk = a_desk("0 1 * * *", "1h", leadTime="10m")
    desk.settle()
    desk.at("00:49")
    desk.settle()
    assert desk.free == []
    assert desk.wake_at == desk.now + timedelta(minutes=1)
    desk.at("00:50")
    desk.settle()
    assert len(desk.free) == 2
    ticket = desk.tickets[desk.free[0]]
    assert ticket.spec.start_time == "2026-01-05T01:00:00Z"
    assert ticket.metadata.annotations["korder.dev/lead-time"] == "10m"
    desk.at("01:59")
    desk.settle()
    assert len(desk.made) == 2
    assert len(desk.order.status.pools) == 1


@pytest.mark.parametrize(
    ("down", "made", "missed"),
    [
        pytest.param(timedelta(seconds=299), 2, 0, id="within the deadline"),
        pytest.param(timedelta(seconds=301), 0, 1, id="after the deadline"),
    ],
)
def test_a_firing_that_was_slept_through(down: timedelta, made: int, missed: int) -> None:
    """S28: made up for once within the starting deadline, otherwise left out with an Event."""
    desk = a_desk("0 1 * * *", "1h")
    desk.settle()
    desk.at("01:00")
    desk.now += down
    desk.settle()
    desk.settle()
    assert len(desk.made) == made
    assert len(told(desk, "FiringMissed")) == missed


@pytest.mark.parametrize(("late", "made"), [(4, 2), (6, 0)])
def test_a_deadline_of_zero_still_lets_a_punctual_firing_happen(late: int, made: int) -> None:
    desk = a_desk("0 1 * * *", "1h", startingDeadlineSeconds=0)
    desk.settle()
    desk.at("01:00")
    desk.pass_time(seconds=late)
    desk.settle()
    assert len(desk.made) == made


def test_of_several_missed_firings_the_last_is_made_up_for_and_the_others_are_told() -> None:
    desk = a_desk("* * * * *", "50s")
    desk.at("00:01")
    desk.settle()
    desk.at("00:05")
    desk.settle()
    assert desk.made[2:] == ["o-202601050005-2", "o-202601050005-3"]
    assert told(desk, "FiringMissed") == [
        "missed the firings from 2026-01-05T00:02:00Z until 2026-01-05T00:05:00Z"
    ]


def test_a_firing_is_told_of_although_its_tickets_could_not_be_made() -> None:
    """The next turn knows the firing from the status, and makes what is missing without another word about it."""
    desk = a_desk("0 1 * * *", "1h")
    desk.settle()
    desk.at("01:00")
    desk.turn(most=1)
    assert desk.made == []
    desk.settle()
    assert len(desk.made) == 2
    assert told(desk, "Fired") == ["fired for 2026-01-05T01:00:00Z"]


def test_a_window_that_is_over_is_not_opened() -> None:
    desk = a_desk("0 1 * * *", "30s")
    desk.settle()
    desk.at("01:01")
    desk.settle()
    assert desk.made == []
    assert "whose window is over" in told(desk, "FiringMissed")[0]


@pytest.mark.parametrize(("deadline", "made"), [(3600, 2), (20, 0)], ids=str)
def test_an_order_applied_in_the_middle_of_a_window(deadline: int, made: int) -> None:
    """Rule 4; nothing was missed, because there was no order."""
    desk = a_desk("0 0 * * *", "1h", startingDeadlineSeconds=deadline)
    desk.settle()
    assert len(desk.made) == made
    assert told(desk, "FiringMissed") == []


@pytest.mark.parametrize(
    ("policy", "free", "overlaps"),
    [("Allow", 4, 0), ("Forbid", 2, 1), ("Replace", 2, 0)],
    ids=["allow keeps both", "forbid leaves the second out", "replace retires the first"],
)
def test_windows_that_overlap(policy: str, free: int, overlaps: int) -> None:
    desk = a_desk("0 * * * *", "90m", overlapPolicy=policy)
    desk.settle()
    first = set(desk.free)
    desk.at("01:00")
    desk.settle()
    assert len(desk.free) == free
    assert bool(first & set(desk.free)) == (policy != "Replace")
    assert len(told(desk, "WindowsOverlap")) == overlaps


def test_replace_does_not_touch_claimed_tickets() -> None:
    desk = a_desk("0 * * * *", "90m", overlapPolicy="Replace")
    desk.settle()
    mine = desk.free[0]
    desk.become(mine, TicketPhase.CLAIMED)
    desk.at("01:00")
    desk.settle()
    assert mine in desk.tickets


def test_with_lead_time_the_old_window_is_retired_when_the_new_one_opens() -> None:
    desk = a_desk("0 * * * *", "90m", overlapPolicy="Replace", leadTime="10m")
    desk.settle()
    desk.at("00:50")
    desk.settle()
    assert len(desk.free) == 4
    desk.at("01:00")
    desk.settle()
    assert len(desk.free) == 2


def test_a_schedule_that_says_nothing_is_a_failure_and_touches_no_ticket() -> None:
    desk = a_desk("0 0 * * *", "1h", startingDeadlineSeconds=3600)
    desk.settle()
    desk.edit({"strategy": {"schedule": "0 0 30 2 *"}})
    desk.settle()
    said = {each.type: each for each in desk.order.status.conditions}
    assert said["Failure"].status.value == "True"
    assert "never fires" in said["Failure"].message
    assert len(desk.free) == 2
    desk.edit({"strategy": {"schedule": "0 0 * * *"}})
    desk.settle()
    said = {each.type: each for each in desk.order.status.conditions}
    assert said["Failure"].status.value == "False"


def test_the_window_form_of_a_template_gets_its_start_there() -> None:
    order = an_order("o", 1).but(
        {
            "spec": {
                "strategy": {"type": "Scheduled", "schedule": "0 * * * *"},
                "template": {"spec": {"window": {"duration": "1h"}}},
            }
        }
    )
    desk = Desk(order)
    desk.settle()
    (ticket,) = desk.tickets.values()
    assert ticket.spec.window is not None
    assert ticket.spec.window.start_time == "2026-01-05T00:00:00Z"
    assert ticket.spec.start_time == ""


def test_a_window_that_changes_its_number_of_replicas() -> None:
    desk = a_desk("0 * * * *", "50m")
    desk.settle()
    desk.edit({"replicas": 5})
    desk.settle()
    assert len(desk.free) == 5
    desk.edit({"replicas": 1})
    desk.settle()
    assert len(desk.free) == 1


def test_a_paused_order_opens_nothing_and_makes_up_for_it_in_time() -> None:
    desk = a_desk("0 1 * * *", "1h")
    desk.edit({"paused": True})
    desk.settle()
    desk.at("01:00")
    desk.settle()
    assert desk.free == []
    desk.pass_time(minutes=4)
    desk.edit({"paused": False})
    desk.settle()
    assert len(desk.free) == 2


def test_a_standing_pool_with_gaps_is_warned_about_once() -> None:
    """Rule 5."""
    strategy = {"type": "Recurring", "schedule": "0 */6 * * *"}
    template = {"spec": {"duration": "2h"}}
    desk = Desk(an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}}))
    desk.settle()
    desk.hold()
    desk.settle()
    assert told(desk, "GapBetweenTickets") == [
        "tickets are held for 120m, but renewed only every 6h"
    ]
