"""The objects that put admission before an API server: webhook configurations, or policies for servers that have them (1.36 and newer).

`fence` is the policy that restricts the manager's right to patch nodes to the hand-over taint.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from korder.api.quota import QUOTAS
from korder.api.reserve import (
    GROUP,
    HANDOVER_TAINT,
    MANAGER_USER_ANNOTATION,
    SCHEDULING_GATE,
    VERSION,
)
from korder.install_config import JUDGING, WEBHOOK, Site, meta
from korder.reserve.admission import expressions, expressions as conditions, quota_expressions
from korder.reserve.admission.expressions import Condition, Demand
from kubeloop.objects.meta import JSON

API = "admissionregistration.k8s.io/v1"
KIND = "ValidatingAdmissionPolicy"
NAME = "korder-nodes"
_MESSAGE = f"korder may change only the taint {HANDOVER_TAINT} of a node"


def _taints(node: str) -> str:
    return f"(has({node}.spec.taints) ? {node}.spec.taints : [])"


def _others(node: str) -> str:
    return f"{_taints(node)}.filter(t, t.key != '{HANDOVER_TAINT}')"


def _same(field: str) -> str:
    new, old = f"object.{field}", f"oldObject.{field}"
    return f"has({new}) == has({old}) && (!has({new}) || {new} == {old})"


_FIELDS = (
    "metadata.labels",
    "metadata.annotations",
    "metadata.finalizers",
    "metadata.ownerReferences",
    "spec.unschedulable",
    "spec.podCIDR",
    "spec.providerID",
)
_DEMANDS = (
    f"{_others('object')} == {_others('oldObject')}",
    f"{_taints('object')}.all(t, t.key != '{HANDOVER_TAINT}' || t.effect == 'NoSchedule')",
    *map(_same, _FIELDS),
)


def fence(place: Site) -> tuple[dict[str, JSON], ...]:
    """The policy and its binding."""
    user = Site(place.namespace).manager_user
    rule: JSON = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["nodes"],
        "scope": "Cluster",
    }
    spec: dict[str, JSON] = {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [
            {"name": "by-the-manager", "expression": f"request.userInfo.username == '{user}'"}
        ],
        "failurePolicy": "Fail",
        "validations": [
            {"expression": cel, "message": _MESSAGE, "reason": "Forbidden"} for cel in _DEMANDS
        ],
    }
    return (
        {"apiVersion": API, "kind": KIND, "metadata": meta(NAME), "spec": spec},
        {
            "apiVersion": API,
            "kind": f"{KIND}Binding",
            "metadata": meta(NAME),
            "spec": {"policyName": NAME, "validationActions": ["Deny"]},
        },
    )


PODS_HANDLER, TOLERATIONS, RESERVE_HANDLER, QUOTAS_HANDLER = (
    "pods",
    "tolerations",
    "reserve",
    "quotas",
)
"""The gates of the manager, by the path they answer at."""
_SECONDS = 5
"""How long an API server waits for an answer; the gates ask nobody, so even this is long."""


def webhooks(place: Site) -> tuple[dict[str, JSON], ...]:
    """Both configurations."""
    of_pods = _rule("", "v1", ("CREATE",), ("pods",))
    of_tolerations = _rule("", "v1", ("CREATE", "UPDATE"), ("pods",))
    of_ours = _rule(GROUP, VERSION, ("CREATE", "UPDATE"), ("orders", "orders/scale", "tickets"))
    of_quotas = _rule(GROUP, VERSION, ("CREATE", "UPDATE"), ("quotas",), "Cluster")
    required = [expressions.not_by(place.manager_user), expressions.MUST]
    preferred = [expressions.not_by(place.manager_user), expressions.MAY]
    passing = [
        expressions.not_handed_over_by(place.manager_user),
        expressions.PASSES,
        expressions.NO_MANAGER,
    ]
    ours = [expressions.not_by(place.manager_user), expressions.CHANGES]
    return (
        _configuration(
            "Mutating",
            place,
            _webhook("ticket-required.korder.dev", PODS_HANDLER, of_pods, required, place, "Fail"),
            _webhook(
                "ticket-preferred.korder.dev", PODS_HANDLER, of_pods, preferred, place, "Ignore"
            ),
        ),
        _configuration(
            "Validating",
            place,
            _webhook("tolerations.korder.dev", TOLERATIONS, of_tolerations, passing, place, "Fail"),
            _webhook(
                "orders-and-tickets.korder.dev", RESERVE_HANDLER, of_ours, ours, place, "Fail"
            ),
            _webhook("quotas.korder.dev", QUOTAS_HANDLER, of_quotas, ours, place, "Fail"),
        ),
    )


def _exempting(name: str, place: Site) -> dict[str, JSON]:
    """The metadata of an object that lets the writes of this manager pass."""
    return {**meta(name), "annotations": {MANAGER_USER_ANNOTATION: place.manager_user}}


def _configuration(kind: str, place: Site, *hooks: dict[str, JSON]) -> dict[str, JSON]:
    if kind == "Mutating":
        # A later webhook may add the annotations that ask for a ticket.
        hooks = tuple({**hook, "reinvocationPolicy": "IfNeeded"} for hook in hooks)
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": _exempting(WEBHOOK, place),
        "webhooks": list(hooks),
    }


def _webhook(
    name: str,
    gate: str,
    rule: dict[str, JSON],
    conditions: Sequence[expressions.Condition],
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


_API = "admissionregistration.k8s.io/v1"


class _Scope(NamedTuple):
    """Which writes a policy looks at."""

    group: str
    version: str
    operations: tuple[str, ...]
    resources: tuple[str, ...]
    scope: str = "Namespaced"


_PODS = _Scope("", "v1", ("CREATE",), ("pods",))
_TOLERATIONS = _PODS._replace(operations=("CREATE", "UPDATE"))
_OURS = _Scope(GROUP, VERSION, ("CREATE", "UPDATE"), ("orders", "tickets"))
_QUOTAS = _Scope(GROUP, VERSION, ("CREATE", "UPDATE"), ("quotas",), "Cluster")
_SHOWN_QUOTAS: dict[str, JSON] = {
    "paramKind": {"apiVersion": f"{GROUP}/{VERSION}", "kind": QUOTAS.kind}
}
_ALL: JSON = {"selector": {}, "parameterNotFoundAction": "Allow"}
_MARK = f"Object{{spec: Object.spec{{schedulingGates: [Object.spec.schedulingGates{{name: '{SCHEDULING_GATE}'}}]}}}}"


def policies(place: Site) -> tuple[dict[str, JSON], ...]:
    """All policies and their bindings; the one that judges orders and tickets names the user that it lets pass."""
    return tuple(
        {**each, "metadata": _exempting(JUDGING, place)} if _is_judging(each) else each
        for each in _policies(place)
    )


def _is_judging(policy: Mapping[str, JSON]) -> bool:
    return policy["kind"] == KIND and policy["metadata"] == meta(JUDGING)


def _policies(place: Site) -> tuple[dict[str, JSON], ...]:
    others = conditions.not_by(place.manager_user)
    marking: dict[str, JSON] = {
        **_looked_at(_PODS, others, Condition(conditions.ASKS.name, expressions.GATED)),
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": _MARK}}
        ],
    }
    return (
        *_bound("Mutating", "korder-pods", marking),
        *_judged("korder-pods", _looked_at(_PODS, others, conditions.ASKS), expressions.OF_PODS),
        *_judged(
            "korder-pods-tolerations",
            _looked_at(
                _TOLERATIONS,
                conditions.not_handed_over_by(place.manager_user),
                conditions.PASSES,
                conditions.NO_MANAGER,
            ),
            expressions.OF_TOLERATIONS,
        ),
        *_judged(
            JUDGING,
            _looked_at(_OURS, others, conditions.CHANGES),
            expressions.of_ours(system_classes=place.system_classes),
        ),
        *_judged(
            "korder-pods-advice",
            _looked_at(_PODS, others, conditions.CLAIMS),
            expressions.ADVICE_ON_PODS,
            "Warn",
            "Ignore",
        ),
        *_judged(
            "korder-orders-advice",
            _looked_at(_OURS._replace(resources=("orders",)), others, conditions.CHANGES),
            expressions.ADVICE_ON_ORDERS,
            "Warn",
            "Ignore",
        ),
        *_of_quotas(others),
    )


def _of_quotas(others: Condition) -> tuple[dict[str, JSON], ...]:
    """What is said to quotas, and by them: each of them is shown to the policies that have it as their parameter.

    What cannot be computed is refused, unless it is only advice, as it is what they say to orders and tickets.
    """
    changes = conditions.CHANGES
    second = _looked_at(
        _QUOTAS._replace(operations=("CREATE",)), others, changes, quota_expressions.OF_CLUSTER
    )
    beyond = _looked_at(_OURS, others, changes)
    return (
        *_judged(
            "korder-quotas",
            _looked_at(_QUOTAS, others, changes),
            quota_expressions.OF_QUOTAS,
            variables=quota_expressions.VARIABLES,
        ),
        *_judged(
            "korder-quotas-advice",
            _looked_at(_QUOTAS, others, changes),
            quota_expressions.ADVICE_ON_QUOTAS,
            "Warn",
            "Ignore",
            variables=quota_expressions.VARIABLES,
        ),
        *_judged(
            "korder-quotas-once",
            {**_SHOWN_QUOTAS, **second},
            quota_expressions.ONE_FOR_THE_CLUSTER,
            paramRef=_ALL,
        ),
        *_judged(
            "korder-quotas-beyond",
            {**_SHOWN_QUOTAS, **beyond},
            quota_expressions.BEYOND,
            failure="Ignore",
            reason="Forbidden",
            variables=quota_expressions.ASKED,
            paramRef=_ALL,
        ),
    )


def _looked_at(scope: _Scope, *chosen: Condition) -> dict[str, JSON]:
    rule: JSON = {
        "apiGroups": [scope.group],
        "apiVersions": [scope.version],
        "operations": list(scope.operations),
        "resources": list(scope.resources),
        "scope": scope.scope,
    }
    return {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": each.name, "expression": each.cel} for each in chosen],
    }


def _judged(
    name: str,
    looked_at: dict[str, JSON],
    demands: Sequence[Demand],
    action: str = "Deny",
    failure: str = "Fail",
    reason: str = "Invalid",
    variables: Mapping[str, str] = expressions.VARIABLES,
    **binding: JSON,
) -> tuple[dict[str, JSON], ...]:
    validations: list[JSON] = [_validation(each, reason) for each in demands]
    spec = {**looked_at, "failurePolicy": failure, "validations": validations}
    if any("variables." in each.cel for each in demands):
        spec["variables"] = [{"name": name, "expression": cel} for name, cel in variables.items()]
    return _bound("Validating", name, spec, validationActions=[action], **binding)


def _validation(demand: Demand, reason: str) -> dict[str, JSON]:
    said: dict[str, JSON] = {
        "expression": demand.cel,
        "message": demand.message,
        "reason": reason,
    }
    return {**said, "messageExpression": demand.tell} if demand.tell else said


def _bound(
    kind: str, name: str, spec: dict[str, JSON], **binding: JSON
) -> tuple[dict[str, JSON], ...]:
    return (
        {
            "apiVersion": _API,
            "kind": f"{kind}AdmissionPolicy",
            "metadata": meta(name),
            "spec": spec,
        },
        {
            "apiVersion": _API,
            "kind": f"{kind}AdmissionPolicyBinding",
            "metadata": meta(name),
            "spec": {"policyName": name, **binding},
        },
    )
