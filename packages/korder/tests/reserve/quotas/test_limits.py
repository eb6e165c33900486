"""Which limits are in force: what is written, defaults, windows and their order (sections 1.4 and 1.9)."""

from datetime import datetime, timedelta
from pathlib import Path

from cronsim import CronSim
import pytest
from tests.reserve.quotas.quotas import MONDAY, a_quota
import yaml

from korder.api.quota import QUOTAS, Quota
from korder.reserve.quotas import charging, limits as quota_limits
from korder.reserve.quotas.charging import View
from korder.reserve.quotas.quota_cache import QuotaCache
from kubeloop.objects import codec
from kubeloop.objects.meta import JSON

NOON, NIGHT = MONDAY.replace(hour=12), MONDAY.replace(hour=22)
DAY_WINDOW: JSON = {"name": "day", "schedule": "0 9-17 * * 1-5", "multiplier": "2"}


def with_windows(*windows: JSON, **hard: str) -> Quota:
    return a_quota("q", **hard).but({"spec": {"timeWindows": list(windows)}}).build()


def hard(quota: Quota, at: datetime = NOON) -> dict[str, str]:
    return quota_limits.in_force(quota.spec, at).hard.render()


def test_the_quota_of_the_seed_means_what_it_says() -> None:
    text = Path("packages/korder/tests/seeds/000-quota-team-quota.yaml").read_text()
    quota = codec.convert(yaml.safe_load(text), QUOTAS.model)
    assert hard(quota) == {
        "orders": "10",
        "tickets": "50",
        "reserved.cpu": "20",
        "reserved.memory": "40Gi",
        "max-duration": "24h0m0s",
    }


@pytest.mark.parametrize("written", ["24h", "86400", 86400, "1440m", "8.64e4"], ids=repr)
def test_a_longest_duration_is_read_in_every_form(written: str | int) -> None:
    assert quota_limits.length(written).timedelta == timedelta(days=1)


def test_a_quota_without_limits_has_the_usual_ones() -> None:
    assert hard(a_quota("q").build()) == {
        "orders": "100",
        "tickets": "1k",
        "reserved.cpu": "1k",
        "reserved.memory": "2000Gi",
        "max-duration": "168h0m0s",
    }


def test_a_multiplier_is_exact_and_leaves_durations_alone() -> None:
    quota = with_windows(
        {**dict(DAY_WINDOW), "multiplier": "1.1"},
        tickets="5",
        reserved_cpu="500m",
        max__duration="1h",
    )
    assert hard(quota) == {"tickets": "5500m", "reserved.cpu": "550m", "max-duration": "1h0m0s"}
    assert hard(quota, NIGHT)["tickets"] == "5"


def test_limits_of_a_window_take_the_place_of_those_that_they_name() -> None:
    window: JSON = {
        "name": "day",
        "schedule": "0 9-17 * * *",
        "hard": {"tickets": "1", "max-duration": "2h"},
    }
    quota = with_windows(window, tickets="5", orders="3")
    assert hard(quota) == {"tickets": "1", "orders": "3", "max-duration": "2h0m0s"}


@pytest.mark.parametrize(
    ("other", "expected", "names"),
    [
        pytest.param({"multiplier": "3"}, "10", ("day", "x"), id="of equals the strictest counts"),
        pytest.param({"multiplier": "3", "priority": 1}, "15", ("x",), id="the highest counts"),
        pytest.param({"multiplier": "1", "priority": -1}, "10", ("day",), id="a lower does not"),
        pytest.param({"hard": {"tickets": "4"}}, "4", ("day", "x"), id="own limits are stricter"),
        pytest.param(
            {"hard": {"orders": "4"}}, "10", ("day", "x"), id="own limits speak only of their keys"
        ),
    ],
)
def test_several_open_windows(
    other: dict[str, JSON], expected: str, names: tuple[str, ...]
) -> None:
    quota = with_windows(DAY_WINDOW, {"name": "x", "schedule": "* * * * *", **other}, tickets="5")
    force = quota_limits.in_force(quota.spec, NOON)
    assert force.hard.render()["tickets"] == expected
    assert force.windows == names


def test_allocations_grow_with_the_quota() -> None:
    allocation: JSON = [{"namespace": "prod", "limits": {"reserved.cpu": "1"}}]
    quota = a_quota("q", reserved_cpu="3").but(
        {"spec": {"timeWindows": [DAY_WINDOW], "allocation": allocation}}
    )
    spec = quota.build().spec
    assert [a.render() for a in quota_limits.in_force(spec, NOON).allocations] == [
        {"reserved.cpu": "2"}
    ]
    assert [a.render() for a in quota_limits.in_force(spec, NIGHT).allocations] == [
        {"reserved.cpu": "1"}
    ]


ALWAYS: dict[str, JSON] = {"name": "odd", "schedule": "* * * * *", "multiplier": "0", "priority": 9}


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"schedule": "0 25 * * *"}, id="an hour that never comes"),
        pytest.param({"duration": "1 day"}, id="a duration in words"),
        pytest.param({"duration": "-1h"}, id="a duration less than zero"),
        pytest.param({"schedule": "", "hours": "9-17"}, id="hours without minutes"),
        pytest.param({"schedule": "", "hours": "09:00"}, id="one time alone"),
        pytest.param({"multiplier": "abc"}, id="a word for a multiplier"),
        pytest.param({"multiplier": ""}, id="no multiplier"),
        pytest.param({"multiplier": "1/0"}, id="a fraction that is no number"),
        pytest.param({"multiplier": "-2"}, id="a multiplier less than zero"),
        pytest.param({"multiplier": 1e300}, id="a multiplier too large"),
    ],
)
def test_a_window_that_nobody_can_read_is_never_open(odd: dict[str, JSON]) -> None:
    quota = with_windows({**ALWAYS, **odd}, DAY_WINDOW, tickets="5")
    assert hard(quota)["tickets"] == "10"
    assert quota_limits.next_change(quota.spec, NOON) == MONDAY.replace(hour=18)


def test_the_next_change_is_seen_behind_a_window_that_never_closes() -> None:
    """A window that opens every minute for five: thousands of firings lie before the change."""
    always: JSON = {"name": "always", "schedule": "* * * * *", "duration": "5m", "multiplier": 2}
    july: JSON = {"name": "july", "schedule": "0 0 1 7 *", "multiplier": "3", "priority": 5}
    quota = with_windows(always, july, tickets="5")
    assert quota_limits.next_change(quota.spec, NOON) == MONDAY.replace(month=7)


def test_the_next_change_passes_over_edges_that_change_nothing() -> None:
    low: JSON = {"name": "low", "schedule": "0 14 * * *", "multiplier": "9", "priority": -1}
    quota = with_windows(DAY_WINDOW, low, tickets="5")
    assert quota_limits.surely_until(quota.spec, NOON) == MONDAY.replace(hour=14)
    assert quota_limits.next_change(quota.spec, NOON) == MONDAY.replace(hour=18)
    assert quota_limits.next_change(with_windows(tickets="5").spec, NOON) is None


def test_memory_says_what_is_worked_out_anew() -> None:
    quota = with_windows(DAY_WINDOW, tickets="5")
    memory = quota_limits.Memory(quota.spec)
    for hours in (0, 8, 9, 12, 17, 18, 3, 33, 200, 10):
        at = MONDAY + timedelta(hours=hours)
        assert memory.at(at) == quota_limits.in_force(quota.spec, at)
        assert memory.next_change(at) == quota_limits.next_change(quota.spec, at)
        assert memory.surely_until(at) == quota_limits.surely_until(quota.spec, at)


def test_firings_of_a_window_that_never_closes_are_followed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window: JSON = {"name": "on", "schedule": "* * * * *", "duration": "2m", "multiplier": "2"}
    quota_cache, quota = QuotaCache(), with_windows(window, tickets="5")
    quota_cache.quota_changed(None, quota)
    view = View(quota_cache, 0, 0, 0)
    followed = 0
    advance = CronSim.advance

    def counted(firings: CronSim) -> None:
        nonlocal followed
        followed += 1
        advance(firings)

    monkeypatch.setattr(CronSim, "advance", counted)
    charging.plan(view, quota, NOON)
    once = followed
    for minute in range(60):
        charging.plan(view, quota, NOON + timedelta(minutes=minute))
    assert followed == once
    assert once < 12_000
