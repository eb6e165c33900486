"""What is told of a quota is told by whoever writes it first, an order that charges included."""

from tests.reserve.quotas.quotas import MONDAY, a_quota

from korder.reserve.orders import template as order_template
from korder.reserve.quotas import charging
from korder.reserve.quotas.charging import View
from korder.reserve.quotas.quota_cache import QuotaCache
from korder.testing.builders import an_order
from kubeloop.objects.meta import JSON

WINDOW: JSON = {"name": "day", "weekdays": ["Mon"], "multiplier": "2"}
BEFORE: JSON = {"observedGeneration": 1, "hard": {"tickets": "1"}}


def test_an_order_that_charges_first_after_an_edge_tells_of_the_window() -> None:
    quota = a_quota("q", tickets="1").but(
        {"metadata": {"generation": 1}, "spec": {"timeWindows": [WINDOW]}, "status": BEFORE}
    )
    quota_cache = QuotaCache()
    quota_cache.quota_changed(None, quota.build())
    order = an_order("o").stored("u").build()
    granted, _ = charging.grant(
        View(quota_cache, 1, 1, 1), order, [order_template.ticket(order, "o-0")], MONDAY
    )
    (charge,) = granted.charges
    (stated,) = granted.stated
    assert (stated.reason, stated.after) == ("LimitsChanged", charge)
    assert stated.note == "window day is open: tickets 2, max-duration 168h0m0s"
