"""A quota with a limit that nobody can read, where no door was watched: it allows nothing of it, says so, and breaks nobody's turn."""

from tests.reserve.quotas.office import is_short, open_quota, wanting
from tests.reserve.quotas.quotas import MONDAY, a_quota
from tests.reserve.scene import scene

from korder.api import conditions
from korder.api.quota import QUOTAS, QuotaCondition
from korder.api.reserve import ORDERS
from korder.reserve.rules.quotas import limits
from korder.reserve.rules.telling import explainquotas
from korder.reserve.setup import add_reserve
from korder.runtime.clock import Clock


def test_a_limit_that_cannot_be_read_is_nothing() -> None:
    quota = a_quota("q", reserved_cpu="1h30m", max__duration="soon", tickets="2").build()
    assert limits.in_force(quota.spec, MONDAY).hard.render() == {
        "reserved.cpu": "0",
        "tickets": "2",
        "max-duration": "0s",
    }


def test_the_limit_is_named_to_whoever_asks() -> None:
    quota = a_quota("q", reserved_cpu="1h30m").build()
    assert (
        "Nobody can read spec.hard.reserved.cpu:"
        " it must be a quantity such as 20, 500m or 40Gi, not 1h30m."
    ) in explainquotas.explain(quota, MONDAY).facts


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
        assert "must be a quantity such as 20, 500m or 40Gi, not 1h30m" in ready.message
        await cluster.edit(QUOTAS, "q", {"spec": {"hard": {"reserved.cpu": "1"}}})
        await cluster.until(ORDERS, "o", lambda o: o.status.available_replicas == 1)
