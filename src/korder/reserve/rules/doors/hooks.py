"""Admission by webhooks: which writes are sent to the manager, and what happens when it does not answer.

`objects` installs them where admission policies are not to be had; `korder.reserve.webhooks` answers them. A pod that must have a ticket
is refused while nobody answers; one that only prefers a ticket is let through and goes without. Pods that ask for nothing are never
sent unless they tolerate hand-overs by name, nor is anything the manager itself writes.
"""

from collections.abc import Sequence

from korder.api.meta import JSON
from korder.api.reserve import GROUP, VERSION
from korder.reserve.rules.doors import conditions
from korder.reserve.rules.doors.site import WEBHOOK, Site, meta

PODS, TOLERATIONS, RESERVE, QUOTAS = "pods", "tolerations", "reserve", "quotas"
"""The gates of the manager, by the path they answer at."""
_SECONDS = 5
"""How long an API server waits for an answer; the gates ask nobody, so even this is long."""


def webhooks(place: Site) -> tuple[dict[str, JSON], ...]:
    """Both configurations."""
    of_pods = _rule("", "v1", ("CREATE",), ("pods",))
    of_tolerations = _rule("", "v1", ("CREATE", "UPDATE"), ("pods",))
    of_ours = _rule(GROUP, VERSION, ("CREATE", "UPDATE"), ("orders", "orders/scale", "tickets"))
    of_quotas = _rule(GROUP, VERSION, ("CREATE", "UPDATE"), ("quotas",), "Cluster")
    required = [conditions.not_by(place.manager_user), conditions.MUST]
    preferred = [conditions.not_by(place.manager_user), conditions.MAY]
    passing = [conditions.not_handed_over_by(place.manager_user), conditions.PASSES]
    ours = [conditions.not_by(place.manager_user), conditions.CHANGES]
    return (
        _configuration(
            "Mutating",
            _webhook("ticket-required.korder.dev", PODS, of_pods, required, place, "Fail"),
            _webhook("ticket-preferred.korder.dev", PODS, of_pods, preferred, place, "Ignore"),
        ),
        _configuration(
            "Validating",
            _webhook("tolerations.korder.dev", TOLERATIONS, of_tolerations, passing, place, "Fail"),
            _webhook("orders-and-tickets.korder.dev", RESERVE, of_ours, ours, place, "Fail"),
            _webhook("quotas.korder.dev", QUOTAS, of_quotas, ours, place, "Fail"),
        ),
    )


def _configuration(kind: str, *hooks: dict[str, JSON]) -> dict[str, JSON]:
    if kind == "Mutating":
        # A later webhook may add the annotations that ask for a ticket.
        hooks = tuple({**hook, "reinvocationPolicy": "IfNeeded"} for hook in hooks)
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": meta(WEBHOOK),
        "webhooks": list(hooks),
    }


def _webhook(
    name: str,
    gate: str,
    rule: dict[str, JSON],
    conditions: Sequence[conditions.Condition],
    place: Site,
    failure: str,
) -> dict[str, JSON]:
    return {
        "name": name,
        "clientConfig": _where(place, gate),
        "rules": [rule],
        "matchConditions": [{"name": each.name, "expression": each.cel} for each in conditions],
        "failurePolicy": failure,
        "sideEffects": "None",
        "timeoutSeconds": _SECONDS,
        "admissionReviewVersions": ["v1"],
    }


def _where(place: Site, gate: str) -> dict[str, JSON]:
    if place.webhook_url:
        return {"url": f"{place.webhook_url.rstrip('/')}/{gate}"}
    service: JSON = {"namespace": place.namespace, "name": WEBHOOK, "path": f"/{gate}", "port": 443}
    return {"service": service}


def _rule(
    group: str,
    version: str,
    operations: Sequence[str],
    resources: Sequence[str],
    scope: str = "Namespaced",
) -> dict[str, JSON]:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": list(resources),
        "scope": scope,
    }
