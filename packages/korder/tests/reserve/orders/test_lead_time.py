"""Scheduled orders with lead time: each firing that is near has its one window, whatever is edited (S28, rule 4)."""

from collections import Counter
from datetime import timedelta
from itertools import takewhile

from hypothesis import given, settings, strategies as st
import pytest
from tests.reserve.orders.order_harness import START, OrderHarness
from tests.reserve.orders.windowed import a_harness, starts, stated, windows

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
    harness = a_harness(schedule, duration, leadTime=lead)
    harness.at(applied)
    for _ in range(20):
        harness.reconcile(most=1)
    harness.settle()
    assert windows(harness) == opened
    assert len(harness.made) == 2 * len(opened)
    assert not stated(harness, "FiringMissed")
    assert harness.requeue_at is not None
    assert harness.requeue_at > harness.now


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
    harness = OrderHarness(an_order("o", 0).but({"spec": spec, "status": status}))
    harness.settle()
    assert len(harness.order.status.pools) == 1000
    assert harness.requeue_at == START + timedelta(seconds=30)
    harness.pass_time(minutes=1)
    harness.settle()
    assert len(harness.order.status.pools) == 1000
    assert harness.order.status.last_schedule_time == firings[-1] + timedelta(minutes=1)
    assert [emit.reason for emit in harness.emits] == ["Fired"]


@pytest.mark.parametrize(("lead", "last"), [("0s", 4), ("90m", 5)])
@pytest.mark.parametrize("kind", ["Scheduled", "Recurring"])
def test_a_clock_that_was_a_month_ahead_swallows_no_firing(kind: str, lead: str, last: int) -> None:
    strategy: JSON = {"type": kind, "schedule": "0 * * * *", "leadTime": lead}
    template: JSON = {"spec": {"duration": "30m"}}
    harness = OrderHarness(
        an_order("o", 2).but({"spec": {"strategy": strategy, "template": template}})
    )
    harness.settle()
    harness.pass_time(days=30)
    harness.settle()
    harness.pass_time(days=-30)
    harness.settle()
    harness.emits.clear()
    for hour in (1, 2, 3, 4):
        harness.at(f"{hour:02}:00")
        harness.settle()
    fired = [f"fired for 2026-01-05T{hour:02}:00:00Z" for hour in range(last - 2, last + 1)]
    assert stated(harness, "Fired")[-3:] == fired
    assert len(set(stated(harness, "Fired"))) == len(stated(harness, "Fired"))


def test_a_longer_lead_time_opens_what_is_now_near() -> None:
    harness = a_harness("0 * * * *", "1h")
    harness.at("00:01")
    harness.settle()
    harness.at("00:30")
    harness.edit({"strategy": {"leadTime": "3h"}})
    harness.settle()
    assert windows(harness) == ["00:00", "01:00", "02:00", "03:00"]
    assert len(stated(harness, "Fired")) == 4
    assert not stated(harness, "FiringMissed")


def test_a_shorter_lead_time_opens_nothing_twice() -> None:
    harness = a_harness("0 * * * *", "30m", leadTime="3h")
    harness.at("00:31")
    harness.settle()
    harness.edit({"strategy": {"leadTime": "10m"}})
    harness.settle()
    for clock in ("00:50", "01:00", "01:31", "02:45", "03:45", "03:50"):
        harness.at(clock)
        for name in harness.free:
            if starts(harness, name) + timedelta(minutes=30) <= harness.now:
                harness.become(name, TicketPhase.EXPIRED)
        harness.settle()
    assert [emit[-20:] for emit in stated(harness, "Fired")] == [
        f"2026-01-05T0{hour}:00:00Z" for hour in (1, 2, 3, 4)
    ]
    assert not stated(harness, "FiringMissed")
    assert len(harness.made) == 8


@pytest.mark.parametrize("broken", range(6))
@pytest.mark.parametrize("overlap", ["Allow", "Forbid", "Replace"])
def test_a_schedule_edited_within_its_lead_time_follows_the_new_one(
    overlap: str, broken: int
) -> None:
    """The window that the new schedule has opens, and that of the old one goes, wherever a turn is broken off."""
    harness = a_harness("0 10 * * *", "1h", leadTime="1h", overlapPolicy=overlap)
    harness.at("09:00")
    harness.settle()
    assert windows(harness) == ["10:00"]
    harness.at("09:05")
    harness.edit({"strategy": {"schedule": "30 9 * * *"}})
    harness.reconcile(most=broken)
    harness.settle()
    assert windows(harness) == ["09:30"]
    assert len(stated(harness, "Fired")) <= 2
    for clock in ("09:30", "10:00", "10:29"):
        harness.at(clock)
        harness.settle()
        assert windows(harness) == ["09:30"]
    assert len(harness.made) == 4
    assert not stated(harness, "FiringMissed")


def test_an_edit_within_lead_time_opens_nothing_twice() -> None:
    harness = a_harness("0 10 * * *", "1h", leadTime="1h")
    harness.at("09:00")
    harness.settle()
    for change in (
        {"replicas": 3},
        {"strategy": {"startingDeadlineSeconds": 3600}},
        {"strategy": {"schedule": "0,30 9-10 * * *"}},
        {"strategy": {"schedule": "0 10 * * *"}},
    ):
        harness.edit(change)
        harness.settle()
    assert windows(harness) == ["10:00"]
    assert len(set(harness.made)) == len(harness.made)
    harness.at("10:30")
    harness.settle()
    assert windows(harness) == ["10:00"]
    assert sum("T10:00:00Z" in note for note in stated(harness, "Fired")) == 1
    assert not stated(harness, "FiringMissed")


@pytest.mark.parametrize("resumed", ["09:40", "09:48"])
def test_a_schedule_edited_within_its_lead_time_and_paused_loses_no_firing(resumed: str) -> None:
    """A firing that comes while the order is paused is made up for within the deadline, whatever was near before."""
    harness = a_harness("0 10 * * *", "1h", leadTime="1h")
    harness.at("09:30")
    harness.settle()
    harness.edit({"paused": True, "strategy": {"schedule": "45 9 * * *"}})
    harness.settle()
    harness.at(resumed)
    harness.settle()
    harness.edit({"paused": False})
    harness.settle()
    assert windows(harness) == ["09:45"]


def test_a_pause_within_lead_time_opens_nothing_twice() -> None:
    harness = a_harness("0 * * * *", "30m", leadTime="1h")
    harness.at("00:31")
    harness.settle()
    assert windows(harness) == ["01:00"]
    for clock, paused in (("00:40", True), ("00:45", False), ("00:50", True), ("01:10", False)):
        harness.at(clock)
        harness.edit({"paused": paused})
        harness.settle()
    assert windows(harness) == ["01:00", "02:00"]
    assert len(harness.made) == 4
    assert not stated(harness, "FiringMissed")


def test_a_shorter_lead_time_and_another_schedule_at_once() -> None:
    harness = a_harness("0 10 * * *", "1h", leadTime="1h")
    harness.at("09:05")
    harness.settle()
    harness.edit({"strategy": {"schedule": "30 9 * * *", "leadTime": "5m"}})
    harness.settle()
    assert windows(harness) == []
    assert harness.requeue_at == START.replace(hour=9, minute=25, second=0)
    harness.at("09:25")
    harness.settle()
    assert windows(harness) == ["09:30"]


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
    harness = a_harness(SCHEDULES[0], "30m", leadTime="0s")
    harness.settle()
    for minutes, schedule, lead, paused, steps in history:
        harness.pass_time(minutes=minutes)
        said: dict[str, JSON] = {}
        said |= {"schedule": schedule} if schedule else {}
        said |= {"leadTime": lead} if lead else {}
        if said or paused != harness.order.spec.paused:
            harness.edit({"strategy": said, "paused": paused})
        if steps is not None:
            harness.reconcile(most=steps)
        over = [
            name
            for name in harness.free
            if starts(harness, name) + timedelta(minutes=30) <= harness.now
        ]
        for name in over:
            harness.become(name, TicketPhase.EXPIRED)
        harness.settle()
        assert harness.requeue_at is None or harness.requeue_at > harness.now
        if paused:
            continue
        strategy = harness.order.spec.strategy
        assert strategy is not None
        near = harness.now + timedelta(minutes=LEADS[strategy.lead_time or "0s"])
        ahead = cron.parse(strategy.schedule).after(harness.now)
        wanted = set(takewhile(lambda firing, near=near: firing <= near, ahead))
        open_now = Counter(starts(harness, name) for name in harness.free)
        assert wanted <= {start for start in open_now if start > harness.now}
        assert all(
            cron.parse(strategy.schedule).has(each) for each in open_now if each > harness.now
        )
        assert set(open_now.values()) <= {2}
    assert len(set(harness.made)) == len(harness.made)
