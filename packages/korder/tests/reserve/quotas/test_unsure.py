"""While nobody can say whether there is room: nothing is made, nobody is told of a shortage, and one looks again soon."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.reserve.quotas.quota_scene import BACKEND, is_short, wanting
from tests.reserve.quotas.quotas import MONDAY, a_quota
from tests.reserve.scene import scene

from korder.api.quota import MOST_PENDING, Quota
from korder.api.reserve import ORDERS, OrderCondition
from korder.reserve.domain import add_reserve
from korder.reserve.orders import condition_inputs, template as order_template
from korder.reserve.orders.pools import Grant
from korder.reserve.orders.status import Findings
from korder.reserve.quotas import charging
from korder.reserve.quotas.charging import View
from korder.reserve.quotas.quota_cache import QuotaCache
from kubeloop.objects import conditions
from kubeloop.objects.core import EVENTS
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder

COUNTED: JSON = {"metadata": {"generation": 1}, "status": {"observedGeneration": 1}}
BY_LABEL: JSON = {"name": "part", "namespaceSelector": {}, "limits": {"tickets": "1"}}


def granted(quota_cache: QuotaCache, *quotas: Builder[Quota]) -> Grant:
    for quota in quotas:
        quota_cache.quota_changed(None, quota.but(COUNTED).build())
    order = wanting("o", 2).in_namespace("fresh").stored("u").build()
    steps = [order_template.ticket(order, f"o-{number}") for number in range(2)]
    return charging.grant(View(quota_cache, 1, 1, 1), order, steps, MONDAY)[0]


@pytest.mark.parametrize(
    "quotas",
    [
        pytest.param([a_quota("q", dict(BACKEND), tickets="1")], id="a quota by label"),
        pytest.param(
            [a_quota("q", tickets="9").but({"spec": {"allocation": [BY_LABEL]}})],
            id="an allocation by label",
        ),
    ],
)
def test_nothing_is_made_before_the_labels_of_a_namespace_that_count_are_seen(
    quotas: Sequence[Builder[Quota]],
) -> None:
    quota_cache = QuotaCache()
    first = granted(quota_cache, *quotas)
    assert (first.made, first.charges, first.short) == ((), (), "")
    assert first.unsure == "namespace fresh is not to be seen yet"
    assert first.look_at is not None
    assert MONDAY < first.look_at <= MONDAY + timedelta(seconds=1)
    quota_cache.namespace_changed("fresh", {"team": "backend"})
    then = granted(quota_cache)
    assert len(then.made) == 1
    assert "tickets used 1 of 1" in then.short


def test_a_namespace_is_not_waited_for_where_no_label_counts() -> None:
    assert len(granted(QuotaCache(), a_quota("q", tickets="9")).made) == 2


def test_a_full_ledger_is_called_what_it_is() -> None:
    entries: list[JSON] = [
        {"namespace": "fresh", "name": f"t{number}", "charge": {}} for number in range(MOST_PENDING)
    ]
    full = granted(QuotaCache(), a_quota("q", tickets="9999").but({"status": {"pending": entries}}))
    assert full.made == ()
    assert full.unsure == "quota q has 2000 tickets on their way, and no more at a time"


def test_an_order_that_is_not_to_be_seen_may_be_meant_and_keeps_its_place() -> None:
    """Another manager serves an order that this one is yet to be shown."""
    gold: JSON = {"matchLabels": {"tier": "gold"}}
    scope: dict[str, JSON] = {"type": "ObjectSelector", "objectSelector": gold}
    entry: JSON = {"namespace": "fresh", "name": "other-0", "ownerUID": "other", "charge": {}}
    quota_cache = QuotaCache()
    quota = a_quota("q", scope, orders="1").but({"status": {"pending": [entry]}})
    quota_cache.quota_changed(None, quota.but(COUNTED).build())
    order = wanting("o").in_namespace("fresh").labelled({"tier": "gold"}).stored("u").build()
    quota_cache.order_changed(None, order)
    step = order_template.ticket(order, "o-0")
    assert (
        "orders used 1 of 1"
        in charging.grant(View(quota_cache, 1, 1, 1), order, [step], MONDAY)[0].short
    )
    other = wanting("other").in_namespace("fresh").stored("other").build()
    quota_cache.order_changed(None, other)
    then, _ = charging.grant(View(quota_cache, 1, 1, 1), order, [step], MONDAY)
    assert then.made == (step,)
    assert then.charges == (), "the quota does not mean the ticket"


def test_what_is_unsure_is_a_remark_and_no_shortage() -> None:
    found = condition_inputs.with_shortage(
        Findings(desired=1, free=1, template_hash=""), Grant((), unsure="quota q is being counted")
    )
    assert (found.short, found.remarks) == ("", "quota q is being counted")


async def test_the_real_shortage_is_reported_though_the_quota_came_with_the_order(
    clock: Clock,
) -> None:
    async with scene(clock, add_reserve) as cluster:
        await cluster.put(a_quota("q", tickets="1"))
        await cluster.put(wanting("o", 3))
        order = await cluster.until(ORDERS, "o", is_short)
        ready = conditions.find(order.status.conditions, OrderCondition.READY)
        assert ready is not None
        assert "quota q: tickets used 1 of 1, requested 1" in ready.message
        stated = [e.note for e in await cluster.all(EVENTS) if e.reason == ready.reason]
        assert stated == ["quota q: tickets used 1 of 1, requested 1"]
