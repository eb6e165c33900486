"""A quota with a limit that nobody can read, where no door was watched: it allows nothing of it, says so, and breaks nobody's turn."""

import pytest
from tests.reserve.quotas.quota_scene import is_short, open_quota, wanting
from tests.reserve.quotas.quotas import MONDAY, a_quota
from tests.reserve.scene import scene

from korder.api.quota import QUOTAS, Enforcement, QuotaCondition
from korder.api.reserve import ORDERS
from korder.reserve.domain import add_reserve
from korder.reserve.explain import cluster_scoped
from korder.reserve.quotas import limits as quota_limits
from kubeloop.objects import conditions
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock


def test_a_limit_that_cannot_be_read_is_nothing() -> None:
    quota = a_quota("q", reserved_cpu="1h30m", max__duration="soon", tickets="2").build()
    assert quota_limits.in_force(quota.spec, MONDAY).hard.render() == {
        "reserved.cpu": "0",
        "tickets": "2",
        "max-duration": "0s",
    }


def test_the_limit_is_named_to_whoever_asks() -> None:
    quota = a_quota("q", reserved_cpu="1h30m").build()
    assert (
        "Nobody can read spec.hard.reserved.cpu:"
        " must be a quantity such as 20, 500m or 40Gi, not 1h30m."
    ) in cluster_scoped.explain_quota(quota, MONDAY).facts


def test_the_window_is_named_to_whoever_asks() -> None:
    window: JSON = {"name": "w", "schedule": "0 25 * * *", "multiplier": "2"}
    quota = a_quota("q", tickets="1").but({"spec": {"timeWindows": [window]}}).build()
    (fact,) = (f for f in cluster_scoped.explain_quota(quota, MONDAY).facts if "Nobody" in f)
    assert fact.startswith("Nobody can read spec.timeWindows[0]: window w: '25' in the hour field")


@pytest.mark.parametrize(
    ("enforcement", "stated"),
    [
        (Enforcement.REFUSE, "means the whole cluster; refuses what goes beyond"),
        (Enforcement.WAIT, "means the whole cluster; lets what goes beyond wait"),
    ],
)
def test_what_happens_to_what_goes_beyond_is_said(enforcement: Enforcement, stated: str) -> None:
    quota = a_quota("q", tickets="1").but({"spec": {"enforcement": enforcement}}).build()
    assert cluster_scoped.standing(quota, MONDAY) == stated


async def test_an_order_waits_and_the_quota_says_what_is_wrong(clock: Clock) -> None:
    async with scene(clock, add_reserve) as cluster:
        await open_quota(cluster, a_quota("q", reserved_cpu="1h30m"))
        await cluster.put(wanting("o"))
        await cluster.until(ORDERS, "o", is_short)
        quota = await cluster.get(QUOTAS, "q")
        assert quota is not None
        ready = conditions.find(quota.status.conditions, QuotaCondition.READY)
        assert ready is not None
        assert ready.reason == "InvalidQuota"
        assert (
            ready.message
            == "spec.hard.reserved.cpu: must be a quantity such as 20, 500m or 40Gi, not 1h30m"
        )
        await cluster.edit(QUOTAS, "q", {"spec": {"hard": {"reserved.cpu": "1"}}})
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 1)
