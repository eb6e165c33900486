"""Scheduled orders: windows, firings that were missed, lead time and overlap (S28, rule 4)."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import takewhile

from hypothesis import given, settings, strategies as st
import pytest
from tests.reserve.orders.desk import START, Desk

from korder.api import instant
from korder.api.meta import JSON
from korder.api.reserve import SCHEDULED_TIME_ANNOTATION, TicketPhase
from korder.reserve.rules.orders import schedule as cron
from korder.reserve.rules.tickets import clockwork
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


def ready(desk: Desk) -> tuple[str, str, str]:
    found = next(each for each in desk.order.status.conditions if each.type == "Ready")
    return found.status.value, found.reason, found.message


def test_a_roll_out_in_the_lead_time_keeps_the_old_tickets_until_the_new_ones_have_room() -> None:
    """Rule 7: a guardian holds room for a ticket that is still Pending, because its time has not come."""
    desk = a_desk("0 6 * * *", "30m", leadTime="1h")
    desk.at("05:30")
    desk.settle(hold=False)
    old = list(desk.tickets)
    for name in old:
        desk.become(name, TicketPhase.PENDING, reason="Scheduled")
    desk.edit({"template": {"spec": {"resources": {"requests": {"cpu": "2"}}}}})
    desk.settle(hold=False)
    (new,) = set(desk.tickets) - set(old)
    desk.become(new, TicketPhase.PENDING, reason="Unschedulable")
    desk.settle(hold=False)
    assert set(desk.tickets) == {*old, new}
    desk.become(new, TicketPhase.PENDING, reason="Scheduled")
    desk.turn()
    assert len(set(desk.tickets) & set(old)) == 1


def test_an_order_is_as_ready_as_the_windows_that_are_open() -> None:
    """Nobody can claim a ticket before its window opens, so nothing is wrong while it waits."""
    desk = a_desk("0 * * * *", "30m", leadTime="45m")
    desk.settle()
    desk.at("00:10")
    desk.settle()
    assert windows(desk) == ["00:00"]
    desk.at("00:15")
    desk.settle(hold=False)
    assert windows(desk) == ["00:00", "01:00"]
    assert ready(desk)[:2] == ("True", "AllHeld")
    desk.at("00:30")
    for name in desk.names(TicketPhase.RESERVED):
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle(hold=False)
    soon = "the next window opens at 2026-01-05T01:00:00Z"
    assert ready(desk) == ("False", "BetweenWindows", soon)
    desk.at("01:00")
    desk.settle(hold=False)
    assert ready(desk)[:2] == ("False", "TicketsWait")
    desk.settle()
    assert ready(desk)[0] == "True"


def test_a_paused_order_promises_no_window() -> None:
    desk = a_desk("0 * * * *", "30m")
    desk.edit({"paused": True})
    desk.settle()
    assert ready(desk) == ("False", "BetweenWindows", "no window opens while the order is paused")


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


def test_a_firing_that_only_a_new_schedule_has_was_not_missed() -> None:
    """The order did not fire then; what was due by its old schedule and nobody acted on was missed all the same."""
    desk = a_desk("0 1 * * *", "30m")
    desk.settle()
    desk.at("12:00")
    desk.settle()
    desk.notices.clear()
    desk.edit({"strategy": {"schedule": "0 8 * * *"}})
    desk.settle()
    assert told(desk, "FiringMissed") == []
    desk.at("2026-01-06T09:00:00Z")
    desk.edit({"replicas": 3})
    desk.settle()
    assert len(told(desk, "FiringMissed")) == 1


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


@pytest.mark.parametrize(
    "edit", [{"strategy": {"schedule": "30 9 * * *"}}, {}], ids=["edit", "next"]
)
def test_a_window_that_goes_before_its_time_is_told_as_such(edit: dict[str, JSON]) -> None:
    desk = a_desk("0,30 10 * * *", "1h", leadTime="20m", overlapPolicy="Replace")
    desk.at("09:40")
    desk.settle()
    desk.edit(edit)
    desk.settle()
    desk.at("10:30")
    desk.settle()
    (said,) = told(desk, "TicketsDeleted")
    assert said.endswith(
        "their window goes: another has followed it, or the schedule has it no more"
    )
    desk.edit({"replicas": 0})
    desk.settle()
    assert all("more than wanted" in each for each in told(desk, "TicketsDeleted")[1:])


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


def test_a_firing_in_a_pause_was_not_missed() -> None:
    desk = a_desk("0 1 * * *", "1h")
    desk.edit({"paused": True})
    desk.settle()
    desk.at("01:00")
    desk.settle()
    desk.pass_time(minutes=30)
    desk.edit({"paused": False})
    desk.settle()
    assert desk.free == []
    assert told(desk, "FiringMissed") == []


def test_a_standing_pool_with_gaps_is_warned_about_once() -> None:
    """Rule 5."""
    strategy = {"type": "Recurring", "schedule": "0 */6 * * *"}
    template = {"spec": {"duration": "2h"}}
    desk = Desk(an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}}))
    desk.settle()
    desk.hold()
    desk.settle()
    assert told(desk, "GapBetweenTickets") == [
        "tickets are held for 120m, but those of 2026-01-05T06:00:00Z are replaced only after 6h"
    ]


@pytest.mark.parametrize(
    ("policy", "schedule", "duration", "gap"),
    [
        pytest.param("Always", "0 * * * *", "90m", "", id="renewed before they end"),
        pytest.param("OnClaim", "0 * * * *", "90m", "01:00:00Z are replaced only after 120m"),
        pytest.param("Never", "0 * * * *", "90m", "01:00:00Z are replaced only after 120m"),
        pytest.param("Never", "0 * * * *", "120m", "", id="they end with a firing"),
        pytest.param("Always", "0 9-17 * * *", "90m", "17:00:00Z are replaced only after 16h"),
        pytest.param("OnClaim", "0 9-17 * * *", "1h", "17:00:00Z are replaced only after 16h"),
        pytest.param("OnClaim", "0 9-17 * * *", "16h", "09:00:00Z are replaced only after 24h"),
    ],
)
def test_a_gap_after_any_of_the_coming_firings_is_warned_about(
    policy: str, schedule: str, duration: str, gap: str
) -> None:
    """Rule 5; only with Always are tickets replaced by a firing before they have ended."""
    strategy = {"type": "Recurring", "schedule": schedule, "refreshPolicy": policy}
    template = {"spec": {"duration": duration}}
    desk = Desk(an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}}))
    desk.settle()
    assert "".join(told(desk, "GapBetweenTickets")).partition("2026-01-05T")[2] == gap


@pytest.mark.parametrize("paused", [False, True], ids=["at once", "after a pause"])
@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_a_standing_pool_that_is_made_within_the_lead_time_does_not_wait_for_the_firing(
    policy: str, *, paused: bool
) -> None:
    """Rule 5: the pool is made at creation; with Always the firing that is near renews it in its own time."""
    strategy: JSON = {"type": "Recurring", "schedule": "0 * * * *", "leadTime": "45m"}
    strategy = {**strategy, "refreshPolicy": policy}
    desk = Desk(an_order("o", 2).but({"spec": {"strategy": strategy, "paused": paused}}))
    desk.pass_time(minutes=20)
    desk.settle(hold=False)
    desk.edit({"paused": False})
    desk.settle(hold=False)
    assert desk.free == ["o-0", "o-1"]
    assert [clockwork.starts_at(each) for each in desk.tickets.values()] == [None, None]
    assert desk.wake_at == START.replace(hour=1, second=0)
    desk.at("01:00")
    desk.settle()
    assert desk.free == (["o-2", "o-3"] if policy == "Always" else ["o-0", "o-1"])
    desk.at("01:15")
    desk.settle()
    assert desk.order.status.last_schedule_time == START.replace(hour=2, second=0)


@pytest.mark.parametrize("kind", ["Scheduled", "Recurring"])
def test_a_paused_order_tells_of_the_next_firing_however_near(kind: str) -> None:
    strategy: JSON = {"type": kind, "schedule": "0 * * * *", "leadTime": "90m"}
    desk = Desk(an_order("o", 1).but({"spec": {"strategy": strategy, "paused": True}}))
    for hour in (1, 2, 3):
        desk.settle()
        assert desk.order.status.next_schedule_time == START.replace(hour=hour, second=0)
        assert desk.wake_at == desk.order.status.next_schedule_time
        desk.at(f"{hour:02}:00")


def starts(desk: Desk, name: str) -> datetime:
    start = desk.tickets[name].spec.starts_at
    assert start is not None
    return start


def windows(desk: Desk) -> list[str]:
    """The windows that have tickets, by their time of day."""
    return [f"{start:%H:%M}" for start in sorted({starts(desk, name) for name in desk.free})]


@pytest.mark.parametrize(
    ("schedule", "duration", "lead", "applied", "opened"),
    [
        pytest.param("0 * * * *", "1h", "2h", "00:30", ["01:00", "02:00"], id="two are to come"),
        pytest.param("0 * * * *", "1h", "3h", "00:30", ["01:00", "02:00", "03:00"], id="three are"),
        pytest.param("*/5 * * * *", "5m", "2m", "00:03", ["00:00", "00:05"], id="one is open"),
        pytest.param("*/5 * * * *", "5m", "1m", "00:03", ["00:00"], id="one is open, none is near"),
    ],
)
def test_lead_time_swallows_no_firing(
    schedule: str, duration: str, lead: str, applied: str, opened: list[str]
) -> None:
    """Rule 4: each firing opens once, and those that are yet to come are not missed."""
    desk = a_desk(schedule, duration, leadTime=lead)
    desk.at(applied)
    for _ in range(20):
        desk.turn(most=1)
    desk.settle()
    assert windows(desk) == opened
    assert len(desk.made) == 2 * len(opened)
    assert not told(desk, "FiringMissed")
    assert desk.wake_at is not None
    assert desk.wake_at > desk.now


def test_no_more_windows_are_opened_ahead_than_a_status_can_hold() -> None:
    """The others wait until one closes, and nobody is told that they are missed."""
    firings = [START.replace(second=0) + timedelta(minutes=each) for each in range(1, 1001)]
    status: JSON = {
        "observedGeneration": 1,
        "issuedReplicas": 0,
        "lastScheduleTime": instant.render(firings[-1]),
        "pools": [{"firing": instant.render(each)} for each in firings],
    }
    strategy = {"type": "Scheduled", "schedule": "* * * * *", "leadTime": "48h"}
    template = {"spec": {"duration": "30s"}}
    spec: JSON = {"strategy": strategy, "template": template}
    desk = Desk(an_order("o", 0).but({"spec": spec, "status": status}))
    desk.settle()
    assert len(desk.order.status.pools) == 1000
    assert desk.wake_at == START + timedelta(seconds=30)
    desk.pass_time(minutes=1)
    desk.settle()
    assert len(desk.order.status.pools) == 1000
    assert desk.order.status.last_schedule_time == firings[-1] + timedelta(minutes=1)
    assert [notice.reason for notice in desk.notices] == ["Fired"]


@pytest.mark.parametrize(("lead", "last"), [("0s", 4), ("90m", 5)])
@pytest.mark.parametrize("kind", ["Scheduled", "Recurring"])
def test_a_clock_that_was_a_month_ahead_swallows_no_firing(kind: str, lead: str, last: int) -> None:
    strategy: JSON = {"type": kind, "schedule": "0 * * * *", "leadTime": lead}
    template: JSON = {"spec": {"duration": "30m"}}
    desk = Desk(an_order("o", 2).but({"spec": {"strategy": strategy, "template": template}}))
    desk.settle()
    desk.pass_time(days=30)
    desk.settle()
    desk.pass_time(days=-30)
    desk.settle()
    desk.notices.clear()
    for hour in (1, 2, 3, 4):
        desk.at(f"{hour:02}:00")
        desk.settle()
    fired = [f"fired for 2026-01-05T{hour:02}:00:00Z" for hour in range(last - 2, last + 1)]
    assert told(desk, "Fired")[-3:] == fired
    assert len(set(told(desk, "Fired"))) == len(told(desk, "Fired"))


def test_a_longer_lead_time_opens_what_is_now_near() -> None:
    desk = a_desk("0 * * * *", "1h")
    desk.at("00:01")
    desk.settle()
    desk.at("00:30")
    desk.edit({"strategy": {"leadTime": "3h"}})
    desk.settle()
    assert windows(desk) == ["00:00", "01:00", "02:00", "03:00"]
    assert len(told(desk, "Fired")) == 4
    assert not told(desk, "FiringMissed")


def test_a_shorter_lead_time_opens_nothing_twice() -> None:
    desk = a_desk("0 * * * *", "30m", leadTime="3h")
    desk.at("00:31")
    desk.settle()
    desk.edit({"strategy": {"leadTime": "10m"}})
    desk.settle()
    for clock in ("00:50", "01:00", "01:31", "02:45", "03:45", "03:50"):
        desk.at(clock)
        for name in desk.free:
            if starts(desk, name) + timedelta(minutes=30) <= desk.now:
                desk.become(name, TicketPhase.EXPIRED)
        desk.settle()
    assert [notice[-20:] for notice in told(desk, "Fired")] == [
        f"2026-01-05T0{hour}:00:00Z" for hour in (1, 2, 3, 4)
    ]
    assert not told(desk, "FiringMissed")
    assert len(desk.made) == 8


@pytest.mark.parametrize("broken", range(6))
@pytest.mark.parametrize("overlap", ["Allow", "Forbid", "Replace"])
def test_a_schedule_edited_within_its_lead_time_follows_the_new_one(
    overlap: str, broken: int
) -> None:
    """The window that the new schedule has opens, and that of the old one goes, wherever a turn is broken off."""
    desk = a_desk("0 10 * * *", "1h", leadTime="1h", overlapPolicy=overlap)
    desk.at("09:00")
    desk.settle()
    assert windows(desk) == ["10:00"]
    desk.at("09:05")
    desk.edit({"strategy": {"schedule": "30 9 * * *"}})
    desk.turn(most=broken)
    desk.settle()
    assert windows(desk) == ["09:30"]
    assert len(told(desk, "Fired")) <= 2
    for clock in ("09:30", "10:00", "10:29"):
        desk.at(clock)
        desk.settle()
        assert windows(desk) == ["09:30"]
    assert len(desk.made) == 4
    assert not told(desk, "FiringMissed")


def test_an_edit_within_lead_time_opens_nothing_twice() -> None:
    desk = a_desk("0 10 * * *", "1h", leadTime="1h")
    desk.at("09:00")
    desk.settle()
    for change in (
        {"replicas": 3},
        {"strategy": {"startingDeadlineSeconds": 3600}},
        {"strategy": {"schedule": "0,30 9-10 * * *"}},
        {"strategy": {"schedule": "0 10 * * *"}},
    ):
        desk.edit(change)
        desk.settle()
    assert windows(desk) == ["10:00"]
    assert len(set(desk.made)) == len(desk.made)
    desk.at("10:30")
    desk.settle()
    assert windows(desk) == ["10:00"]
    assert sum("T10:00:00Z" in note for note in told(desk, "Fired")) == 1
    assert not told(desk, "FiringMissed")


@pytest.mark.parametrize("resumed", ["09:40", "09:48"])
def test_a_schedule_edited_within_its_lead_time_and_paused_loses_no_firing(resumed: str) -> None:
    """A firing that comes while the order is paused is made up for within the deadline, whatever was near before."""
    desk = a_desk("0 10 * * *", "1h", leadTime="1h")
    desk.at("09:30")
    desk.settle()
    desk.edit({"paused": True, "strategy": {"schedule": "45 9 * * *"}})
    desk.settle()
    desk.at(resumed)
    desk.settle()
    desk.edit({"paused": False})
    desk.settle()
    assert windows(desk) == ["09:45"]


def test_a_pause_within_lead_time_opens_nothing_twice() -> None:
    desk = a_desk("0 * * * *", "30m", leadTime="1h")
    desk.at("00:31")
    desk.settle()
    assert windows(desk) == ["01:00"]
    for clock, paused in (("00:40", True), ("00:45", False), ("00:50", True), ("01:10", False)):
        desk.at(clock)
        desk.edit({"paused": paused})
        desk.settle()
    assert windows(desk) == ["01:00", "02:00"]
    assert len(desk.made) == 4
    assert not told(desk, "FiringMissed")


def test_a_shorter_lead_time_and_another_schedule_at_once() -> None:
    desk = a_desk("0 10 * * *", "1h", leadTime="1h")
    desk.at("09:05")
    desk.settle()
    desk.edit({"strategy": {"schedule": "30 9 * * *", "leadTime": "5m"}})
    desk.settle()
    assert windows(desk) == []
    assert desk.wake_at == START.replace(hour=9, minute=25, second=0)
    desk.at("09:25")
    desk.settle()
    assert windows(desk) == ["09:30"]


@pytest.mark.parametrize("policy", ["OnClaim", "Always"])
@pytest.mark.parametrize("overlap", ["Allow", "Replace"])
def test_a_ticket_that_comes_back_to_a_window_that_was_retired_goes(
    overlap: str, policy: str
) -> None:
    desk = a_desk(
        "0 * * * *", "3h", overlapPolicy=overlap, refreshPolicy=policy, startingDeadlineSeconds=60
    )
    desk.settle()
    back = desk.free[0]
    desk.become(back, TicketPhase.CLAIMED)
    desk.at("01:00")
    desk.settle()
    desk.pass_time(minutes=1)
    desk.settle()
    desk.become(back, TicketPhase.RESERVED)
    desk.settle()
    retires = "Replace" in overlap or policy == "Always"
    assert windows(desk) == (["01:00"] if retires else ["00:00", "01:00"])
    assert len(desk.free) == (2 if retires else 4)


SCHEDULES = ("0 * * * *", "*/20 * * * *", "10,50 * * * *", "5 1,3 * * *")
LEADS = {"0s": 0, "7m": 7, "45m": 45, "2h": 120}
happenings = st.tuples(
    st.integers(0, 70),
    st.none() | st.sampled_from(SCHEDULES),
    st.none() | st.sampled_from(sorted(LEADS)),
    st.booleans(),
    st.none() | st.integers(0, 4),
)


@settings(max_examples=80)
@given(history=st.lists(happenings, max_size=8))
def test_whatever_is_edited_each_firing_that_is_near_has_its_one_window(
    history: list[tuple[int, str | None, str | None, bool, int | None]],
) -> None:
    """Rule 4: also if a turn is broken off after any of its steps, and after a pause."""
    desk = a_desk(SCHEDULES[0], "30m", leadTime="0s")
    desk.settle()
    for minutes, schedule, lead, paused, steps in history:
        desk.pass_time(minutes=minutes)
        said: dict[str, JSON] = {}
        said |= {"schedule": schedule} if schedule else {}
        said |= {"leadTime": lead} if lead else {}
        if said or paused != desk.order.spec.paused:
            desk.edit({"strategy": said, "paused": paused})
        if steps is not None:
            desk.turn(most=steps)
        over = [
            name for name in desk.free if starts(desk, name) + timedelta(minutes=30) <= desk.now
        ]
        for name in over:
            desk.become(name, TicketPhase.EXPIRED)
        desk.settle()
        assert desk.wake_at is None or desk.wake_at > desk.now
        if paused:
            continue
        strategy = desk.order.spec.strategy
        assert strategy is not None
        near = desk.now + timedelta(minutes=LEADS[strategy.lead_time or "0s"])
        ahead = cron.parse(strategy.schedule).after(desk.now)
        wanted = set(takewhile(lambda firing, near=near: firing <= near, ahead))
        open_now = Counter(starts(desk, name) for name in desk.free)
        assert wanted <= {start for start in open_now if start > desk.now}
        assert all(cron.parse(strategy.schedule).has(each) for each in open_now if each > desk.now)
        assert set(open_now.values()) <= {2}
    assert len(set(desk.made)) == len(desk.made)
