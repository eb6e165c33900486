"""Many quotas, ten of which mean what is asked, and many tickets: what `quotas` and `quotas_child` judge wishes by.

Scopes of all types are among the quotas that apply and among the others. Each has every key, a time window, an allocation and tickets that
are charged ahead, so that nothing a verdict has to look at is missing.
"""

from collections.abc import Iterable, Iterator

from korder.api.quota import QUOTAS
from korder.api.reserve import ORDERS, TICKETS, Order, Ticket
from korder.reserve.quotas.quota_cache import QuotaCache
from kubeloop.objects import codec
from kubeloop.objects.meta import JSON

APPLY = 10
HOME = "home"
_TIER = "tier"
_TEAM = "team"
_ELSEWHERE = 100
"""Namespaces of all other tickets."""
_AHEAD = 5
"""Tickets that each quota has charged ahead."""


def crowd(quotas: int, tickets: int) -> QuotaCache:
    """The tally of so many quotas and tickets."""
    quota_cache = QuotaCache()
    quota_cache.namespace_changed(HOME, {_TEAM: HOME})
    for number in range(_ELSEWHERE):
        quota_cache.namespace_changed(f"ns-{number}", {_TEAM: f"team-{number}"})
    for number in range(quotas):
        own = HOME if number < APPLY else f"team-{number}"
        scope = {"type": "Cluster"} if number == 0 else _scope(number, own)
        quota_cache.quota_changed(None, codec.convert(_quota(number, scope), QUOTAS.model))
    for ticket in tickets_of(range(tickets)):
        quota_cache.ticket_changed(None, ticket)
    return quota_cache


def tickets_of(numbers: Iterable[int]) -> Iterator[Ticket]:
    """Tickets by their numbers; one in ten is of the namespace that is asked for."""
    for number in numbers:
        namespace = HOME if number % 10 == 0 else f"ns-{number % _ELSEWHERE}"
        yield codec.convert(_ticket(number, namespace), TICKETS.model)


def wish(number: int) -> dict[str, JSON]:
    """An order for three tickets that ten quotas mean."""
    meta: JSON = {"name": f"order-{number}", "namespace": HOME, "labels": {_TIER: HOME}}
    template: JSON = {"metadata": {"labels": {_TIER: HOME}}, "spec": _spec()}
    return {
        "apiVersion": ORDERS.api_version,
        "kind": ORDERS.kind,
        "metadata": meta,
        "spec": {"replicas": 3, "strategy": {"type": "OneTime"}, "template": template},
    }


def wishes(count: int) -> list[Order]:
    """Orders as they are read."""
    return [codec.convert(wish(number), ORDERS.model) for number in range(count)]


def _scope(number: int, own: str) -> dict[str, JSON]:
    forms: tuple[dict[str, JSON], ...] = (
        {"type": "NamespaceList", "namespaces": [own]},
        {"type": "NamespaceSelector", "namespaceSelector": {"matchLabels": {_TEAM: own}}},
        {"type": "ObjectSelector", "objectSelector": {"matchLabels": {_TIER: own}}},
    )
    return forms[number % len(forms)]


def _quota(number: int, scope: JSON) -> dict[str, JSON]:
    many: JSON = {"orders": "100k", "tickets": "1M", "reserved.cpu": "1M", "reserved.memory": "1Ei"}
    charge: JSON = {"tickets": "1", "reserved.cpu": "500m"}
    pending: JSON = [
        {"namespace": HOME, "name": f"ahead-{number}-{each}", "charge": charge, "attempts": 1}
        for each in range(_AHEAD)
    ]
    window: JSON = {"name": "night", "schedule": "0 18-8 * * *", "multiplier": "2"}
    return {
        "metadata": {"name": f"quota-{number}", "generation": 1},
        "spec": {
            "scope": scope,
            "hard": {**many, "max-duration": "24h"},
            "timeWindows": [window],
            "allocation": [{"namespace": HOME, "limits": {"tickets": "500k"}}],
        },
        "status": {"observedGeneration": 1, "pending": pending},
    }


def _ticket(number: int, namespace: str) -> dict[str, JSON]:
    meta: JSON = {
        "name": f"ticket-{number}",
        "namespace": namespace,
        "labels": {_TIER: HOME if number % 10 == 0 else f"team-{number % _ELSEWHERE}"},
        "resourceVersion": str(number + 1),
    }
    return {"metadata": meta, "spec": _spec()}


def _spec() -> dict[str, JSON]:
    return {"duration": "1h", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
