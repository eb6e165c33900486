"""Scheduled orders: windows, firings that were missed, lead time and overlap (S28, rule 4)."""

from datetime import timedelta

import pytest
from tests.reserve.orders.desk import START, Desk
from tests.reserve.orders.windowed import a_desk, hold_ahead, stated, windows

from korder.api.reserve import SCHEDULED_TIME_ANNOTATION, TicketPhase
from korder.reserve.tickets import deadlines
from korder.testing.builders import an_order
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node


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
    assert desk.requeue_at == START + timedelta(seconds=30)
    desk.at("00:01")
    desk.settle()
    assert desk.requeue_at == desk.now + timedelta(seconds=30)


def test_lead_time_places_tickets_before_their_window() -> None:
    desk = a_desk("0 1 * * *", "1h", leadTime="10m")
    desk.settle()
    desk.at("00:49")
    desk.settle()
    assert desk.free == []
    assert desk.requeue_at == desk.now + timedelta(minutes=1)
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
    desk.reconcile()
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
    assert ready(desk)[:2] == ("False", "TicketsWait")
    hold_ahead(desk)
    desk.settle(hold=False)
    assert ready(desk)[:2] == ("True", "BetweenWindows")
    desk.at("01:00")
    desk.settle(hold=False)
    assert ready(desk)[:2] == ("False", "TicketsWait")
    desk.settle()
    assert ready(desk)[0] == "True"


def test_between_windows_nothing_is_wrong() -> None:
    """`kubectl wait` and alarms look at Ready: an order that has nothing to hold lacks nothing."""
    desk = a_desk("0 * * * *", "30m")
    desk.settle()
    desk.at("00:30")
    for name in desk.free:
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle()
    soon = "The next window opens at 2026-01-05T01:00:00Z."
    assert ready(desk) == ("True", "BetweenWindows", soon)


def test_an_order_in_its_lead_time_counts_the_guardians_that_hold_room() -> None:
    desk = a_desk("0 6 * * *", "30m", leadTime="1h")
    desk.at("05:00")
    desk.settle(hold=False)
    assert ready(desk) == (
        "False",
        "TicketsWait",
        "The next window opens at 2026-01-05T06:00:00Z; 0 of 2 tickets hold their room ahead of it.",
    )
    assert desk.order.status.unavailable_replicas == 2
    hold_ahead(desk)
    desk.settle(hold=False)
    assert ready(desk) == (
        "True",
        "BetweenWindows",
        "The next window opens at 2026-01-05T06:00:00Z; 2 of 2 tickets hold their room ahead of it.",
    )
    assert desk.order.status.unavailable_replicas == 0
    assert desk.order.status.available_replicas == 0


def test_a_ticket_without_room_in_the_lead_time_makes_its_order_not_ready() -> None:
    desk = a_desk("0 6 * * *", "30m", leadTime="1h")
    desk.at("05:00")
    desk.settle(hold=False)
    first, second = desk.free
    hold_ahead(desk, first)
    desk.become(
        second, TicketPhase.PENDING, reason="Unschedulable", message="0/3 nodes are available."
    )
    desk.settle(hold=False)
    status, reason, message = ready(desk)
    assert (status, reason) == ("False", "TicketsWait")
    assert message == (
        "The next window opens at 2026-01-05T06:00:00Z; 1 of 2 tickets hold their room ahead of it;"
        f" {second} waits: 0/3 nodes are available."
    )


def test_an_open_window_is_ready_and_says_that_the_next_one_lacks_room() -> None:
    desk = a_desk("0 * * * *", "30m", leadTime="45m")
    desk.settle()
    desk.at("00:15")
    desk.settle(hold=False)
    for name in desk.names(TicketPhase.PENDING):
        desk.become(name, TicketPhase.PENDING, reason="Unschedulable", message="no room.")
    desk.settle(hold=False)
    status, reason, message = ready(desk)
    assert (status, reason) == ("True", "AllHeld")
    assert message == (
        "2 of 2 tickets can be claimed; the next window opens at 2026-01-05T01:00:00Z;"
        " 0 of 2 tickets hold their room ahead of it; o-202601050100-2 waits: no room."
    )


def test_a_paused_order_promises_no_window() -> None:
    desk = a_desk("0 * * * *", "30m")
    desk.edit({"paused": True})
    desk.settle()
    assert ready(desk) == ("False", "Paused", "No window opens while the order is paused.")


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
    assert len(stated(desk, "FiringMissed")) == missed


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
    assert stated(desk, "FiringMissed") == [
        "missed the firings from 2026-01-05T00:02:00Z until 2026-01-05T00:05:00Z"
    ]


def test_a_firing_is_told_of_although_its_tickets_could_not_be_made() -> None:
    """The next turn knows the firing from the status, and makes what is missing without another word about it."""
    desk = a_desk("0 1 * * *", "1h")
    desk.settle()
    desk.at("01:00")
    desk.reconcile(most=1)
    assert desk.made == []
    desk.settle()
    assert len(desk.made) == 2
    assert stated(desk, "Fired") == ["fired for 2026-01-05T01:00:00Z"]


def test_a_firing_that_only_a_new_schedule_has_was_not_missed() -> None:
    """The order did not fire then; what was due by its old schedule and nobody acted on was missed all the same."""
    desk = a_desk("0 1 * * *", "30m")
    desk.settle()
    desk.at("12:00")
    desk.settle()
    desk.emits.clear()
    desk.edit({"strategy": {"schedule": "0 8 * * *"}})
    desk.settle()
    assert stated(desk, "FiringMissed") == []
    desk.at("2026-01-06T09:00:00Z")
    desk.edit({"replicas": 3})
    desk.settle()
    assert len(stated(desk, "FiringMissed")) == 1


def test_a_window_that_is_over_is_not_opened() -> None:
    desk = a_desk("0 1 * * *", "30s")
    desk.settle()
    desk.at("01:01")
    desk.settle()
    assert desk.made == []
    assert "whose window is over" in stated(desk, "FiringMissed")[0]


@pytest.mark.parametrize(("deadline", "made"), [(3600, 2), (20, 0)], ids=str)
def test_an_order_applied_in_the_middle_of_a_window(deadline: int, made: int) -> None:
    """Rule 4; nothing was missed, because there was no order."""
    desk = a_desk("0 0 * * *", "1h", startingDeadlineSeconds=deadline)
    desk.settle()
    assert len(desk.made) == made
    assert stated(desk, "FiringMissed") == []


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
    assert len(stated(desk, "WindowsOverlap")) == overlaps


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
    (said,) = stated(desk, "TicketsDeleted")
    assert said.endswith(
        "their window goes: another has followed it, or the schedule has it no more"
    )
    desk.edit({"replicas": 0})
    desk.settle()
    assert all("more than wanted" in each for each in stated(desk, "TicketsDeleted")[1:])


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
    assert stated(desk, "FiringMissed") == []


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_a_standing_pool_of_which_no_ticket_is_left_is_not_ready(policy: str) -> None:
    desk = a_desk("0 * * * *", "10m", type="Recurring", refreshPolicy=policy)
    desk.settle()
    assert ready(desk)[0] == "True"
    for name in desk.free:
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle()
    stated = "no ticket is left; the firing of 2026-01-05T01:00:00Z brings 2"
    assert ready(desk) == ("False", "GapBetweenTickets", stated)
    desk.edit({"paused": True})
    desk.settle()
    assert "while the order is paused" in ready(desk)[2]
    desk.edit({"paused": False})
    desk.at("01:00")
    desk.settle()
    assert ready(desk)[0] == "True"


def test_a_standing_pool_with_gaps_is_warned_about_once() -> None:
    """A standing pool with gaps is warned about once (rule 5)."""
    strategy = {"type": "Recurring", "schedule": "0 */6 * * *"}
    template = {"spec": {"duration": "2h"}}
    desk = Desk(an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}}))
    desk.settle()
    desk.hold()
    desk.settle()
    assert stated(desk, "GapBetweenTickets") == [
        "tickets are held for 120m, but those of 2026-01-05T06:00:00Z are replaced only after 6h"
    ]


@pytest.mark.parametrize(
    ("policy", "schedule", "duration", "gap"),
    [
        pytest.param("Always", "0 * * * *", "90m", "", id="renewed before they end"),
        pytest.param("OnClaim", "0 * * * *", "90m", "", id="renewed when they end"),
        pytest.param("Never", "0 * * * *", "59m", "01:00:00Z are replaced only after 60m"),
        pytest.param("Never", "0 * * * *", "120m", "", id="they end with a firing"),
        pytest.param("Always", "0 9-17 * * *", "90m", "17:00:00Z are replaced only after 16h"),
        pytest.param("OnClaim", "0 9-17 * * *", "1h", "17:00:00Z are replaced only after 16h"),
        pytest.param("OnClaim", "0 9-17 * * *", "16h", "", id="the last one lasts for the night"),
    ],
)
def test_a_gap_after_any_of_the_coming_firings_is_warned_about(
    policy: str, schedule: str, duration: str, gap: str
) -> None:
    """Rule 5; a firing in the term of a ticket renews it, at once with Always and at its end otherwise."""
    strategy = {"type": "Recurring", "schedule": schedule, "refreshPolicy": policy}
    template = {"spec": {"duration": duration}}
    desk = Desk(an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}}))
    desk.settle()
    assert "".join(stated(desk, "GapBetweenTickets")).partition("2026-01-05T")[2] == gap


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
    assert [deadlines.activation(each) for each in desk.tickets.values()] == [None, None]
    assert desk.requeue_at == START.replace(hour=1, second=0)
    desk.at("01:00")
    desk.settle()
    assert desk.free == ["o-0", "o-1"]
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
        assert desk.requeue_at == desk.order.status.next_schedule_time
        desk.at(f"{hour:02}:00")


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


@pytest.mark.parametrize("lead", ["0s", "10m", "45m"])
def test_the_next_firing_is_told_although_it_was_acted_on_ahead(lead: str) -> None:
    desk = a_desk("0 * * * *", "30m", leadTime=lead)
    desk.at("00:20")
    desk.settle(hold=False)
    assert desk.order.status.next_schedule_time == START.replace(hour=1, second=0)


def test_a_standing_pool_tells_the_next_firing_although_it_was_acted_on_ahead() -> None:
    desk = a_desk("0 * * * *", "2h", type="Recurring", leadTime="45m")
    for when in ("01:00", "01:20"):
        desk.at(when)
        desk.settle()
    assert desk.order.status.next_schedule_time == START.replace(hour=2, second=0)
    assert desk.requeue_at == START.replace(hour=2, second=0)
    desk.at("02:00")
    desk.settle()
    assert desk.order.status.next_schedule_time == START.replace(hour=3, second=0)


def test_a_firing_that_was_left_out_is_not_the_next() -> None:
    desk = a_desk("0 * * * *", "90m", leadTime="45m", overlapPolicy="Forbid")
    for when in ("00:20", "01:20"):
        desk.at(when)
        desk.settle()
    assert stated(desk, "WindowsOverlap")
    assert desk.order.status.next_schedule_time == START.replace(hour=3, second=0)


@pytest.mark.parametrize("kind", ["Scheduled", "Recurring"])
def test_a_firing_that_was_slept_through_is_told_whatever_was_edited(kind: str) -> None:
    desk = a_desk("0 * * * *", "30m", type=kind, leadTime="45m", startingDeadlineSeconds=60)
    for when in ("01:00", "01:20"):
        desk.at(when)
        desk.settle()
    desk.edit({"minReadySeconds": 5})
    desk.at("03:10")
    desk.settle()
    assert [each for each in stated(desk, "FiringMissed") if "T03:00" in each]


def a_daemon_desk() -> Desk:
    desk = a_desk("0 * * * *", "30m")
    desk.nodes = {name: a_node(name) for name in ("n1", "n2")}
    desk.edit({"daemonSet": True})
    return desk


@pytest.mark.parametrize("mode", ["nodes", "pool"])
def test_a_window_goes_on_that_a_pause_finds_open_whatever_is_edited_meanwhile(mode: str) -> None:
    desk = a_daemon_desk() if mode == "nodes" else a_desk("0 * * * *", "30m")
    desk.at("01:00")
    desk.settle()
    desk.edit({"paused": True, "template": {"spec": {"duration": "10m"}}})
    desk.at("01:15")
    desk.settle()
    desk.edit({"paused": False, "template": {"spec": {"duration": "30m"}}})
    desk.settle()
    assert desk.order.status.desired_replicas == 2
    assert len(desk.free) == len(desk.made) == 2
    if mode == "pool":
        desk.become(desk.free[0], TicketPhase.CLAIMED)
        desk.settle()
        assert len(desk.free) == 2


@pytest.mark.parametrize("deadline", [10**11, 2**53, 2**63 - 1])
@pytest.mark.parametrize("kind", ["Scheduled", "Recurring"])
def test_a_deadline_beyond_all_calendars_is_none(kind: str, deadline: int) -> None:
    desk = a_desk("0 * * * *", "30m", type=kind, startingDeadlineSeconds=deadline)
    desk.at("01:20")
    desk.settle()
    assert len(desk.free) == 2
