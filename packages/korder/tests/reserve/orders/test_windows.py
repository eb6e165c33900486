"""Scheduled orders: windows, firings that were missed, lead time and overlap (S28, rule 4)."""

from datetime import timedelta

import pytest
from tests.reserve.orders.order_harness import START, OrderHarness
from tests.reserve.orders.windowed import a_harness, hold_ahead, stated, windows

from korder.api.reserve import SCHEDULED_TIME_ANNOTATION, TicketPhase
from korder.reserve.tickets import deadlines
from korder.testing.builders import an_order
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node


def test_each_firing_opens_a_window_of_its_own() -> None:
    """S28: names contain the firing, the clock starts at it, and firings never mix."""
    harness = a_harness()
    harness.settle()
    assert harness.free == []
    harness.at("00:01")
    harness.settle()
    assert harness.free == ["o-202601050001-0", "o-202601050001-1"]
    ticket = harness.tickets[harness.free[0]]
    assert ticket.spec.start_time == "2026-01-05T00:01:00Z"
    assert ticket.metadata.annotations[SCHEDULED_TIME_ANNOTATION] == "2026-01-05T00:01:00Z"
    harness.pass_time(seconds=30)
    harness.settle()
    assert harness.order.status.pools == ()
    harness.at("00:02")
    harness.settle()
    assert harness.made[2:] == ["o-202601050002-2", "o-202601050002-3"]
    assert harness.order.status.last_schedule_time == harness.now
    assert harness.order.status.next_schedule_time == harness.now + timedelta(minutes=1)


def test_the_next_look_is_at_the_next_edge() -> None:
    harness = a_harness()
    harness.settle()
    assert harness.requeue_at == START + timedelta(seconds=30)
    harness.at("00:01")
    harness.settle()
    assert harness.requeue_at == harness.now + timedelta(seconds=30)


def test_lead_time_places_tickets_before_their_window() -> None:
    harness = a_harness("0 1 * * *", "1h", leadTime="10m")
    harness.settle()
    harness.at("00:49")
    harness.settle()
    assert harness.free == []
    assert harness.requeue_at == harness.now + timedelta(minutes=1)
    harness.at("00:50")
    harness.settle()
    assert len(harness.free) == 2
    ticket = harness.tickets[harness.free[0]]
    assert ticket.spec.start_time == "2026-01-05T01:00:00Z"
    assert ticket.metadata.annotations["korder.dev/lead-time"] == "10m"
    harness.at("01:59")
    harness.settle()
    assert len(harness.made) == 2
    assert len(harness.order.status.pools) == 1


def ready(harness: OrderHarness) -> tuple[str, str, str]:
    found = next(each for each in harness.order.status.conditions if each.type == "Ready")
    return found.status.value, found.reason, found.message


def test_a_roll_out_in_the_lead_time_keeps_the_old_tickets_until_the_new_ones_have_room() -> None:
    """Rule 7: a guardian holds room for a ticket that is still Pending, because its time has not come."""
    harness = a_harness("0 6 * * *", "30m", leadTime="1h")
    harness.at("05:30")
    harness.settle(hold=False)
    old = list(harness.tickets)
    for name in old:
        harness.become(name, TicketPhase.PENDING, reason="Scheduled")
    harness.edit({"template": {"spec": {"resources": {"requests": {"cpu": "2"}}}}})
    harness.settle(hold=False)
    (new,) = set(harness.tickets) - set(old)
    harness.become(new, TicketPhase.PENDING, reason="Unschedulable")
    harness.settle(hold=False)
    assert set(harness.tickets) == {*old, new}
    harness.become(new, TicketPhase.PENDING, reason="Scheduled")
    harness.reconcile()
    assert len(set(harness.tickets) & set(old)) == 1


def test_an_order_is_as_ready_as_the_windows_that_are_open() -> None:
    """Nobody can claim a ticket before its window opens, so nothing is wrong while it waits."""
    harness = a_harness("0 * * * *", "30m", leadTime="45m")
    harness.settle()
    harness.at("00:10")
    harness.settle()
    assert windows(harness) == ["00:00"]
    harness.at("00:15")
    harness.settle(hold=False)
    assert windows(harness) == ["00:00", "01:00"]
    assert ready(harness)[:2] == ("True", "AllHeld")
    harness.at("00:30")
    for name in harness.names(TicketPhase.RESERVED):
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle(hold=False)
    assert ready(harness)[:2] == ("False", "TicketsWait")
    hold_ahead(harness)
    harness.settle(hold=False)
    assert ready(harness)[:2] == ("True", "BetweenWindows")
    harness.at("01:00")
    harness.settle(hold=False)
    assert ready(harness)[:2] == ("False", "TicketsWait")
    harness.settle()
    assert ready(harness)[0] == "True"


def test_between_windows_nothing_is_wrong() -> None:
    """`kubectl wait` and alarms look at Ready: an order that has nothing to hold lacks nothing."""
    harness = a_harness("0 * * * *", "30m")
    harness.settle()
    harness.at("00:30")
    for name in harness.free:
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle()
    soon = "The next window opens at 2026-01-05T01:00:00Z."
    assert ready(harness) == ("True", "BetweenWindows", soon)


def test_an_order_in_its_lead_time_counts_the_guardians_that_hold_room() -> None:
    harness = a_harness("0 6 * * *", "30m", leadTime="1h")
    harness.at("05:00")
    harness.settle(hold=False)
    assert ready(harness) == (
        "False",
        "TicketsWait",
        "The next window opens at 2026-01-05T06:00:00Z; 0 of 2 tickets hold their room ahead of it.",
    )
    assert harness.order.status.unavailable_replicas == 2
    hold_ahead(harness)
    harness.settle(hold=False)
    assert ready(harness) == (
        "True",
        "BetweenWindows",
        "The next window opens at 2026-01-05T06:00:00Z; 2 of 2 tickets hold their room ahead of it.",
    )
    assert harness.order.status.unavailable_replicas == 0
    assert harness.order.status.available_replicas == 0


def test_a_ticket_without_room_in_the_lead_time_makes_its_order_not_ready() -> None:
    harness = a_harness("0 6 * * *", "30m", leadTime="1h")
    harness.at("05:00")
    harness.settle(hold=False)
    first, second = harness.free
    hold_ahead(harness, first)
    harness.become(
        second, TicketPhase.PENDING, reason="Unschedulable", message="0/3 nodes are available."
    )
    harness.settle(hold=False)
    status, reason, message = ready(harness)
    assert (status, reason) == ("False", "TicketsWait")
    assert message == (
        "The next window opens at 2026-01-05T06:00:00Z; 1 of 2 tickets hold their room ahead of it;"
        f" {second} waits: 0/3 nodes are available."
    )


def test_an_open_window_is_ready_and_says_that_the_next_one_lacks_room() -> None:
    harness = a_harness("0 * * * *", "30m", leadTime="45m")
    harness.settle()
    harness.at("00:15")
    harness.settle(hold=False)
    for name in harness.names(TicketPhase.PENDING):
        harness.become(name, TicketPhase.PENDING, reason="Unschedulable", message="no room.")
    harness.settle(hold=False)
    status, reason, message = ready(harness)
    assert (status, reason) == ("True", "AllHeld")
    assert message == (
        "2 of 2 tickets can be claimed; the next window opens at 2026-01-05T01:00:00Z;"
        " 0 of 2 tickets hold their room ahead of it; o-202601050100-2 waits: no room."
    )


def test_a_paused_order_promises_no_window() -> None:
    harness = a_harness("0 * * * *", "30m")
    harness.edit({"paused": True})
    harness.settle()
    assert ready(harness) == ("False", "Paused", "No window opens while the order is paused.")


@pytest.mark.parametrize(
    ("down", "made", "missed"),
    [
        pytest.param(timedelta(seconds=299), 2, 0, id="within the deadline"),
        pytest.param(timedelta(seconds=301), 0, 1, id="after the deadline"),
    ],
)
def test_a_firing_that_was_slept_through(down: timedelta, made: int, missed: int) -> None:
    """S28: made up for once within the starting deadline, otherwise left out with an Event."""
    harness = a_harness("0 1 * * *", "1h")
    harness.settle()
    harness.at("01:00")
    harness.now += down
    harness.settle()
    harness.settle()
    assert len(harness.made) == made
    assert len(stated(harness, "FiringMissed")) == missed


@pytest.mark.parametrize(("late", "made"), [(4, 2), (6, 0)])
def test_a_deadline_of_zero_still_lets_a_punctual_firing_happen(late: int, made: int) -> None:
    harness = a_harness("0 1 * * *", "1h", startingDeadlineSeconds=0)
    harness.settle()
    harness.at("01:00")
    harness.pass_time(seconds=late)
    harness.settle()
    assert len(harness.made) == made


def test_of_several_missed_firings_the_last_is_made_up_for_and_the_others_are_reported() -> None:
    harness = a_harness("* * * * *", "50s")
    harness.at("00:01")
    harness.settle()
    harness.at("00:05")
    harness.settle()
    assert harness.made[2:] == ["o-202601050005-2", "o-202601050005-3"]
    assert stated(harness, "FiringMissed") == [
        "missed the firings from 2026-01-05T00:02:00Z until 2026-01-05T00:05:00Z"
    ]


def test_a_firing_is_reported_of_although_its_tickets_could_not_be_made() -> None:
    """The next turn knows the firing from the status, and makes what is missing without another word about it."""
    harness = a_harness("0 1 * * *", "1h")
    harness.settle()
    harness.at("01:00")
    harness.reconcile(most=1)
    assert harness.made == []
    harness.settle()
    assert len(harness.made) == 2
    assert stated(harness, "Fired") == ["fired for 2026-01-05T01:00:00Z"]


def test_a_firing_that_only_a_new_schedule_has_was_not_missed() -> None:
    """The order did not fire then; what was due by its old schedule and nobody acted on was missed all the same."""
    harness = a_harness("0 1 * * *", "30m")
    harness.settle()
    harness.at("12:00")
    harness.settle()
    harness.emits.clear()
    harness.edit({"strategy": {"schedule": "0 8 * * *"}})
    harness.settle()
    assert stated(harness, "FiringMissed") == []
    harness.at("2026-01-06T09:00:00Z")
    harness.edit({"replicas": 3})
    harness.settle()
    assert len(stated(harness, "FiringMissed")) == 1


def test_a_window_that_is_over_is_not_opened() -> None:
    harness = a_harness("0 1 * * *", "30s")
    harness.settle()
    harness.at("01:01")
    harness.settle()
    assert harness.made == []
    assert "whose window is over" in stated(harness, "FiringMissed")[0]


@pytest.mark.parametrize(("deadline", "made"), [(3600, 2), (20, 0)], ids=str)
def test_an_order_applied_in_the_middle_of_a_window(deadline: int, made: int) -> None:
    """Rule 4; nothing was missed, because there was no order."""
    harness = a_harness("0 0 * * *", "1h", startingDeadlineSeconds=deadline)
    harness.settle()
    assert len(harness.made) == made
    assert stated(harness, "FiringMissed") == []


@pytest.mark.parametrize(
    ("policy", "free", "overlaps"),
    [("Allow", 4, 0), ("Forbid", 2, 1), ("Replace", 2, 0)],
    ids=["allow keeps both", "forbid leaves the second out", "replace retires the first"],
)
def test_windows_that_overlap(policy: str, free: int, overlaps: int) -> None:
    harness = a_harness("0 * * * *", "90m", overlapPolicy=policy)
    harness.settle()
    first = set(harness.free)
    harness.at("01:00")
    harness.settle()
    assert len(harness.free) == free
    assert bool(first & set(harness.free)) == (policy != "Replace")
    assert len(stated(harness, "WindowsOverlap")) == overlaps


def test_replace_does_not_touch_claimed_tickets() -> None:
    harness = a_harness("0 * * * *", "90m", overlapPolicy="Replace")
    harness.settle()
    mine = harness.free[0]
    harness.become(mine, TicketPhase.CLAIMED)
    harness.at("01:00")
    harness.settle()
    assert mine in harness.tickets


def test_with_lead_time_the_old_window_is_retired_when_the_new_one_opens() -> None:
    harness = a_harness("0 * * * *", "90m", overlapPolicy="Replace", leadTime="10m")
    harness.settle()
    harness.at("00:50")
    harness.settle()
    assert len(harness.free) == 4
    harness.at("01:00")
    harness.settle()
    assert len(harness.free) == 2


@pytest.mark.parametrize(
    "edit", [{"strategy": {"schedule": "30 9 * * *"}}, {}], ids=["edit", "next"]
)
def test_a_window_that_goes_before_its_time_is_reported_as_such(edit: dict[str, JSON]) -> None:
    harness = a_harness("0,30 10 * * *", "1h", leadTime="20m", overlapPolicy="Replace")
    harness.at("09:40")
    harness.settle()
    harness.edit(edit)
    harness.settle()
    harness.at("10:30")
    harness.settle()
    (said,) = stated(harness, "TicketsDeleted")
    assert said.endswith(
        "their window goes: another has followed it, or the schedule has it no more"
    )
    harness.edit({"replicas": 0})
    harness.settle()
    assert all("more than wanted" in each for each in stated(harness, "TicketsDeleted")[1:])


def test_a_schedule_that_says_nothing_is_a_failure_and_touches_no_ticket() -> None:
    harness = a_harness("0 0 * * *", "1h", startingDeadlineSeconds=3600)
    harness.settle()
    harness.edit({"strategy": {"schedule": "0 0 30 2 *"}})
    harness.settle()
    said = {each.type: each for each in harness.order.status.conditions}
    assert said["Failure"].status.value == "True"
    assert "never fires" in said["Failure"].message
    assert len(harness.free) == 2
    harness.edit({"strategy": {"schedule": "0 0 * * *"}})
    harness.settle()
    said = {each.type: each for each in harness.order.status.conditions}
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
    harness = OrderHarness(order)
    harness.settle()
    (ticket,) = harness.tickets.values()
    assert ticket.spec.window is not None
    assert ticket.spec.window.start_time == "2026-01-05T00:00:00Z"
    assert ticket.spec.start_time == ""


def test_a_window_that_changes_its_number_of_replicas() -> None:
    harness = a_harness("0 * * * *", "50m")
    harness.settle()
    harness.edit({"replicas": 5})
    harness.settle()
    assert len(harness.free) == 5
    harness.edit({"replicas": 1})
    harness.settle()
    assert len(harness.free) == 1


def test_a_paused_order_opens_nothing_and_makes_up_for_it_in_time() -> None:
    harness = a_harness("0 1 * * *", "1h")
    harness.edit({"paused": True})
    harness.settle()
    harness.at("01:00")
    harness.settle()
    assert harness.free == []
    harness.pass_time(minutes=4)
    harness.edit({"paused": False})
    harness.settle()
    assert len(harness.free) == 2


def test_a_firing_in_a_pause_was_not_missed() -> None:
    harness = a_harness("0 1 * * *", "1h")
    harness.edit({"paused": True})
    harness.settle()
    harness.at("01:00")
    harness.settle()
    harness.pass_time(minutes=30)
    harness.edit({"paused": False})
    harness.settle()
    assert harness.free == []
    assert stated(harness, "FiringMissed") == []


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_a_standing_pool_of_which_no_ticket_is_left_is_not_ready(policy: str) -> None:
    harness = a_harness("0 * * * *", "10m", type="Recurring", refreshPolicy=policy)
    harness.settle()
    assert ready(harness)[0] == "True"
    for name in harness.free:
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle()
    stated = "no ticket is left; the firing of 2026-01-05T01:00:00Z brings 2"
    assert ready(harness) == ("False", "GapBetweenTickets", stated)
    harness.edit({"paused": True})
    harness.settle()
    assert "while the order is paused" in ready(harness)[2]
    harness.edit({"paused": False})
    harness.at("01:00")
    harness.settle()
    assert ready(harness)[0] == "True"


def test_a_standing_pool_with_gaps_is_warned_about_once() -> None:
    """A standing pool with gaps is warned about once (rule 5)."""
    strategy = {"type": "Recurring", "schedule": "0 */6 * * *"}
    template = {"spec": {"duration": "2h"}}
    harness = OrderHarness(
        an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}})
    )
    harness.settle()
    harness.hold()
    harness.settle()
    assert stated(harness, "GapBetweenTickets") == [
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
    harness = OrderHarness(
        an_order("o", 1).but({"spec": {"strategy": strategy, "template": template}})
    )
    harness.settle()
    assert "".join(stated(harness, "GapBetweenTickets")).partition("2026-01-05T")[2] == gap


@pytest.mark.parametrize("paused", [False, True], ids=["at once", "after a pause"])
@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_a_standing_pool_that_is_made_within_the_lead_time_does_not_wait_for_the_firing(
    policy: str, *, paused: bool
) -> None:
    """Rule 5: the pool is made at creation; with Always the firing that is near renews it in its own time."""
    strategy: JSON = {"type": "Recurring", "schedule": "0 * * * *", "leadTime": "45m"}
    strategy = {**strategy, "refreshPolicy": policy}
    harness = OrderHarness(an_order("o", 2).but({"spec": {"strategy": strategy, "paused": paused}}))
    harness.pass_time(minutes=20)
    harness.settle(hold=False)
    harness.edit({"paused": False})
    harness.settle(hold=False)
    assert harness.free == ["o-0", "o-1"]
    assert [deadlines.activation(each) for each in harness.tickets.values()] == [None, None]
    assert harness.requeue_at == START.replace(hour=1, second=0)
    harness.at("01:00")
    harness.settle()
    assert harness.free == ["o-0", "o-1"]
    harness.at("01:15")
    harness.settle()
    assert harness.order.status.last_schedule_time == START.replace(hour=2, second=0)


@pytest.mark.parametrize("kind", ["Scheduled", "Recurring"])
def test_a_paused_order_tells_of_the_next_firing_however_near(kind: str) -> None:
    strategy: JSON = {"type": kind, "schedule": "0 * * * *", "leadTime": "90m"}
    harness = OrderHarness(an_order("o", 1).but({"spec": {"strategy": strategy, "paused": True}}))
    for hour in (1, 2, 3):
        harness.settle()
        assert harness.order.status.next_schedule_time == START.replace(hour=hour, second=0)
        assert harness.requeue_at == harness.order.status.next_schedule_time
        harness.at(f"{hour:02}:00")


@pytest.mark.parametrize("policy", ["OnClaim", "Always"])
@pytest.mark.parametrize("overlap", ["Allow", "Replace"])
def test_a_ticket_that_comes_back_to_a_window_that_was_retired_goes(
    overlap: str, policy: str
) -> None:
    harness = a_harness(
        "0 * * * *", "3h", overlapPolicy=overlap, refreshPolicy=policy, startingDeadlineSeconds=60
    )
    harness.settle()
    back = harness.free[0]
    harness.become(back, TicketPhase.CLAIMED)
    harness.at("01:00")
    harness.settle()
    harness.pass_time(minutes=1)
    harness.settle()
    harness.become(back, TicketPhase.RESERVED)
    harness.settle()
    retires = "Replace" in overlap or policy == "Always"
    assert windows(harness) == (["01:00"] if retires else ["00:00", "01:00"])
    assert len(harness.free) == (2 if retires else 4)


@pytest.mark.parametrize("lead", ["0s", "10m", "45m"])
def test_the_next_firing_is_reported_although_it_was_acted_on_ahead(lead: str) -> None:
    harness = a_harness("0 * * * *", "30m", leadTime=lead)
    harness.at("00:20")
    harness.settle(hold=False)
    assert harness.order.status.next_schedule_time == START.replace(hour=1, second=0)


def test_a_standing_pool_tells_the_next_firing_although_it_was_acted_on_ahead() -> None:
    harness = a_harness("0 * * * *", "2h", type="Recurring", leadTime="45m")
    for when in ("01:00", "01:20"):
        harness.at(when)
        harness.settle()
    assert harness.order.status.next_schedule_time == START.replace(hour=2, second=0)
    assert harness.requeue_at == START.replace(hour=2, second=0)
    harness.at("02:00")
    harness.settle()
    assert harness.order.status.next_schedule_time == START.replace(hour=3, second=0)


def test_a_firing_that_was_left_out_is_not_the_next() -> None:
    harness = a_harness("0 * * * *", "90m", leadTime="45m", overlapPolicy="Forbid")
    for when in ("00:20", "01:20"):
        harness.at(when)
        harness.settle()
    assert stated(harness, "WindowsOverlap")
    assert harness.order.status.next_schedule_time == START.replace(hour=3, second=0)


@pytest.mark.parametrize("kind", ["Scheduled", "Recurring"])
def test_a_firing_that_was_slept_through_is_reported_whatever_was_edited(kind: str) -> None:
    harness = a_harness("0 * * * *", "30m", type=kind, leadTime="45m", startingDeadlineSeconds=60)
    for when in ("01:00", "01:20"):
        harness.at(when)
        harness.settle()
    harness.edit({"minReadySeconds": 5})
    harness.at("03:10")
    harness.settle()
    assert [each for each in stated(harness, "FiringMissed") if "T03:00" in each]


def a_daemon_desk() -> OrderHarness:
    harness = a_harness("0 * * * *", "30m")
    harness.nodes = {name: a_node(name) for name in ("n1", "n2")}
    harness.edit({"daemonSet": True})
    return harness


@pytest.mark.parametrize("mode", ["nodes", "pool"])
def test_a_window_goes_on_that_a_pause_finds_open_whatever_is_edited_meanwhile(mode: str) -> None:
    harness = a_daemon_desk() if mode == "nodes" else a_harness("0 * * * *", "30m")
    harness.at("01:00")
    harness.settle()
    harness.edit({"paused": True, "template": {"spec": {"duration": "10m"}}})
    harness.at("01:15")
    harness.settle()
    harness.edit({"paused": False, "template": {"spec": {"duration": "30m"}}})
    harness.settle()
    assert harness.order.status.desired_replicas == 2
    assert len(harness.free) == len(harness.made) == 2
    if mode == "pool":
        harness.become(harness.free[0], TicketPhase.CLAIMED)
        harness.settle()
        assert len(harness.free) == 2


@pytest.mark.parametrize("deadline", [10**11, 2**53, 2**63 - 1])
@pytest.mark.parametrize("kind", ["Scheduled", "Recurring"])
def test_a_deadline_beyond_all_calendars_is_none(kind: str, deadline: int) -> None:
    harness = a_harness("0 * * * *", "30m", type=kind, startingDeadlineSeconds=deadline)
    harness.at("01:20")
    harness.settle()
    assert len(harness.free) == 2
