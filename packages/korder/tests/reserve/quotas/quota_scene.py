"""What tests of quotas on a cluster say again and again: orders that want much, and what is used, short or exceeded."""

from collections.abc import Callable

from tests.reserve.scene import Scene

from korder.api.quota import QUOTAS, Quota, QuotaCondition
from korder.api.reserve import TICKETS, Order, OrderCondition, Reason, Ticket
from korder.testing.builders import an_order
from kubeloop.objects import conditions, quantity
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder

BACKEND: JSON = {
    "type": "NamespaceSelector",
    "namespaceSelector": {"matchLabels": {"team": "backend"}},
}


def wanting(name: str, replicas: int = 1, cpu: str = "500m", **spec: JSON) -> Builder[Order]:
    template: JSON = {"spec": {"duration": "1h", "resources": {"requests": {"cpu": cpu}}}}
    return an_order(name, replicas).but({"spec": {"template": template, **spec}})


def used(**amounts: str) -> Callable[[Quota], bool]:
    named = {key.replace("_", "."): amount for key, amount in amounts.items()}

    def holds(quota: Quota) -> bool:
        return not quota.status.pending and all(
            quantity.parse(quota.status.used.get(key, 0)) == quantity.parse(amount)
            for key, amount in named.items()
        )

    return holds


def is_short(order: Order) -> bool:
    ready = conditions.find(order.status.conditions, OrderCondition.READY)
    return ready is not None and ready.reason == Reason.QUOTA_EXCEEDED


def is_exceeded(quota: Quota) -> bool:
    return conditions.is_true(quota.status.conditions, QuotaCondition.EXCEEDED)


async def open_quota(cluster: Scene, quota: Builder[Quota]) -> None:
    await cluster.put(quota)
    name = quota.build().metadata.name
    await cluster.until(QUOTAS, name, lambda q: q.status.observed_generation > 0)


async def tickets(cluster: Scene, namespace: str = "") -> list[Ticket]:
    return await cluster.all(TICKETS, namespace)


async def label(cluster: Scene, namespace: str, labels: dict[str, JSON]) -> None:
    await cluster.edit(NAMESPACES, namespace, {"metadata": {"labels": labels}})
