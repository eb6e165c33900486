"""Scheduled orders with lead time: each firing that is near has its one window, whatever is edited (S28, rule 4)."""

from collections import Counter
from datetime import timedelta
from itertools import takewhile

from hypothesis import given, settings, strategies as st
import pytest
from tests.reserve.orders.desk import START, Desk
from tests.reserve.orders.windowed import a_desk, starts, stated, windows

from korder import cron
from korder.api.reserve import TicketPhase
from korder.testing.builders import an_order
from kubeloop.objects import instant
from kubeloop.objects.meta import JSON


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
        desk.reconcile(most=1)
    desk.settle()
    assert windows(desk) == opened
    assert len(desk.made) == 2 * len(opened)
    assert not stated(desk, "FiringMissed")
    assert desk.requeue_at is not None
    assert desk.requeue_at > desk.now


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
    assert desk.requeue_at == START + timedelta(seconds=30)
    desk.pass_time(minutes=1)
    desk.settle()
    assert len(desk.order.status.pools) == 1000
    assert desk.order.status.last_schedule_time == firings[-1] + timedelta(minutes=1)
    assert [emit.reason for emit in desk.emits] == ["Fired"]


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
    desk.emits.clear()
    for hour in (1, 2, 3, 4):
        desk.at(f"{hour:02}:00")
        desk.settle()
    fired = [f"fired for 2026-01-05T{hour:02}:00:00Z" for hour in range(last - 2, last + 1)]
    assert stated(desk, "Fired")[-3:] == fired
    assert len(set(stated(desk, "Fired"))) == len(stated(desk, "Fired"))


def test_a_longer_lead_time_opens_what_is_now_near() -> None:
    desk = a_desk("0 * * * *", "1h")
    desk.at("00:01")
    desk.settle()
    desk.at("00:30")
    desk.edit({"strategy": {"leadTime": "3h"}})
    desk.settle()
    assert windows(desk) == ["00:00", "01:00", "02:00", "03:00"]
    assert len(stated(desk, "Fired")) == 4
    assert not stated(desk, "FiringMissed")


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
    assert [emit[-20:] for emit in stated(desk, "Fired")] == [
        f"2026-01-05T0{hour}:00:00Z" for hour in (1, 2, 3, 4)
    ]
    assert not stated(desk, "FiringMissed")
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
    desk.reconcile(most=broken)
    desk.settle()
    assert windows(desk) == ["09:30"]
    assert len(stated(desk, "Fired")) <= 2
    for clock in ("09:30", "10:00", "10:29"):
        desk.at(clock)
        desk.settle()
        assert windows(desk) == ["09:30"]
    assert len(desk.made) == 4
    assert not stated(desk, "FiringMissed")


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
    assert sum("T10:00:00Z" in note for note in stated(desk, "Fired")) == 1
    assert not stated(desk, "FiringMissed")


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
    assert not stated(desk, "FiringMissed")


def test_a_shorter_lead_time_and_another_schedule_at_once() -> None:
    desk = a_desk("0 10 * * *", "1h", leadTime="1h")
    desk.at("09:05")
    desk.settle()
    desk.edit({"strategy": {"schedule": "30 9 * * *", "leadTime": "5m"}})
    desk.settle()
    assert windows(desk) == []
    assert desk.requeue_at == START.replace(hour=9, minute=25, second=0)
    desk.at("09:25")
    desk.settle()
    assert windows(desk) == ["09:30"]


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
            desk.reconcile(most=steps)
        over = [
            name for name in desk.free if starts(desk, name) + timedelta(minutes=30) <= desk.now
        ]
        for name in over:
            desk.become(name, TicketPhase.EXPIRED)
        desk.settle()
        assert desk.requeue_at is None or desk.requeue_at > desk.now
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
