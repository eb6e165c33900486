"""The limits of the days to come."""

from datetime import datetime, timedelta
from itertools import pairwise

from tests.reserve.quotas.quotas import MONDAY, a_quota

from korder.api.quota import QuotaSpec
from korder.reserve.explain import cluster_scoped
from korder.reserve.quotas import limits as quota_limits
from kubeloop.objects.meta import JSON


def spec_of(*windows: JSON) -> QuotaSpec:
    return a_quota("q", tickets="5").but({"spec": {"timeWindows": list(windows)}}).build().spec


def stated(spec: QuotaSpec, days: int) -> list[tuple[datetime, tuple[str, ...]]]:
    found = quota_limits.spans(spec, MONDAY, MONDAY + timedelta(days=days))
    assert found[0].begin == MONDAY
    assert found[-1].end == MONDAY + timedelta(days=days)
    assert all(one.end == following.begin for one, following in pairwise(found))
    return [(span.begin, span.force.windows) for span in found]


def test_spans_follow_each_other_without_a_gap() -> None:
    spec = spec_of({"name": "day", "schedule": "0 9-17 * * 1-5", "multiplier": "2"})
    assert stated(spec, 2) == [
        (MONDAY, ()),
        (MONDAY.replace(hour=9), ("day",)),
        (MONDAY.replace(hour=18), ()),
        (MONDAY.replace(day=2, hour=9), ("day",)),
        (MONDAY.replace(day=2, hour=18), ()),
    ]


def test_edges_that_change_nothing_are_none() -> None:
    low: JSON = {"name": "low", "schedule": "0 12 * * *", "multiplier": "9", "priority": -1}
    high: JSON = {"name": "high", "schedule": "* * * * *", "multiplier": "1"}
    assert stated(spec_of(low, high), 3) == [(MONDAY, ("high",))]


def test_every_span_says_what_is_in_force() -> None:
    night: JSON = {"name": "night", "hours": "22:00-06:00", "multiplier": "0.5"}
    freeze: JSON = {
        "name": "freeze",
        "schedule": "30 23 * * 5",
        "duration": "26h",
        "hard": {"tickets": "0"},
        "priority": 5,
    }
    spec = spec_of(night, freeze)
    for span in quota_limits.spans(spec, MONDAY, MONDAY + timedelta(days=7)):
        for part in (0, 1, 2):
            at = span.begin + (span.end - span.begin) * part / 3
            assert quota_limits.in_force(spec, at) == span.force


def test_a_timeline_that_ends_too_soon_says_so() -> None:
    often: JSON = {"name": "w", "schedule": "*/5 * * * *", "duration": "1m", "multiplier": "2"}
    quota = a_quota("q", tickets="5").but({"spec": {"timeWindows": [often]}}).build()
    *_, before, last = cluster_scoped.week(quota, MONDAY)
    assert last == (before[1], "2026-06-08T00:00:00Z", "not told: the limits change too often")
    *_, last = cluster_scoped.week(quota, MONDAY, days=1)
    assert last[1:] == ("2026-06-02T00:00:00Z", "no window: tickets 5, max-duration 168h0m0s")


def test_a_full_and_a_forbidden_limit_are_reported() -> None:
    quota = a_quota("q", tickets="4", orders="0").but(
        {"status": {"used": {"tickets": "3"}, "hard": {"tickets": "4"}}}
    )
    found = {row[1]: row[2:] for row in cluster_scoped.rows(quota.build(), MONDAY)}
    assert found["tickets"] == ("3", "4", "75%")
    assert found["orders"] == ("0", "0", "full")
