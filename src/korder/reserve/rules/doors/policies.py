"""Admission without webhooks: the same marks and refusals as CEL, for servers that have MutatingAdmissionPolicy (1.36 and newer).

`objects` installs them. `admission` says the same in Python for the webhooks; tests put both the same questions. A policy has no clock and
no calendar, so the advice that a webhook gives about a schedule is given by the order's conditions alone.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from korder.api.meta import JSON
from korder.api.quota import QUOTAS
from korder.api.reserve import GROUP, SCHEDULING_GATE, VERSION
from korder.reserve.rules.doors import conditions, expressions, quotaexpressions, soundexpressions
from korder.reserve.rules.doors.conditions import Condition
from korder.reserve.rules.doors.expressions import Demand
from korder.reserve.rules.doors.site import JUDGING, Site, meta

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
    """All policies and their bindings."""
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
        _QUOTAS._replace(operations=("CREATE",)), others, changes, soundexpressions.OF_CLUSTER
    )
    beyond = _looked_at(_OURS, others, changes)
    return (
        *_judged(
            "korder-quotas",
            _looked_at(_QUOTAS, others, changes),
            soundexpressions.OF_QUOTAS,
            variables=soundexpressions.VARIABLES,
        ),
        *_judged(
            "korder-quotas-advice",
            _looked_at(_QUOTAS, others, changes),
            soundexpressions.ADVICE_ON_QUOTAS,
            "Warn",
            "Ignore",
            variables=soundexpressions.VARIABLES,
        ),
        *_judged(
            "korder-quotas-once",
            {**_SHOWN_QUOTAS, **second},
            soundexpressions.ONE_FOR_THE_CLUSTER,
            paramRef=_ALL,
        ),
        *_judged(
            "korder-quotas-beyond",
            {**_SHOWN_QUOTAS, **beyond},
            quotaexpressions.BEYOND,
            failure="Ignore",
            reason="Forbidden",
            variables=quotaexpressions.ASKED,
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
