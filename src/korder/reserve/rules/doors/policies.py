"""Admission without webhooks: the same marks and refusals as CEL, for servers that have MutatingAdmissionPolicy (1.36 and newer).

`objects` installs them. `admission` says the same in Python for the webhooks; tests put both the same questions. A policy has no clock and
no calendar, so the advice that a webhook gives about a schedule is given by the order's conditions alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

from korder.api.meta import JSON
from korder.api.reserve import GROUP, SCHEDULING_GATE, VERSION
from korder.reserve.rules.doors import conditions, expressions
from korder.reserve.rules.doors.conditions import Condition
from korder.reserve.rules.doors.expressions import Demand
from korder.reserve.rules.doors.site import Site, meta

_API = "admissionregistration.k8s.io/v1"


class _Scope(NamedTuple):
    """Which writes a policy looks at."""

    group: str
    version: str
    operations: tuple[str, ...]
    resources: tuple[str, ...]


_PODS = _Scope("", "v1", ("CREATE",), ("pods",))
_OURS = _Scope(GROUP, VERSION, ("CREATE", "UPDATE"), ("orders", "tickets"))
_MARK = f"Object{{spec: Object.spec{{schedulingGates: [Object.spec.schedulingGates{{name: '{SCHEDULING_GATE}'}}]}}}}"


def policies(place: Site) -> tuple[dict[str, JSON], ...]:
    """All policies and their bindings."""
    others = conditions.not_by(place.manager_user)
    marking: dict[str, JSON] = {
        **_looked_at(_PODS, others, Condition(conditions.ASKS.name, expressions.SEEKS)),
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
            "korder-orders-and-tickets",
            _looked_at(_OURS, others, conditions.CHANGES),
            expressions.of_ours(system_classes=place.system_classes),
        ),
        *_judged(
            "korder-pods-advice",
            _looked_at(_PODS, others, conditions.CLAIMS),
            expressions.ADVICE_ON_PODS,
            "Warn",
        ),
        *_judged(
            "korder-orders-advice",
            _looked_at(_OURS._replace(resources=("orders",)), others, conditions.CHANGES),
            expressions.ADVICE_ON_ORDERS,
            "Warn",
        ),
    )


def _looked_at(scope: _Scope, *chosen: Condition) -> dict[str, JSON]:
    rule: JSON = {
        "apiGroups": [scope.group],
        "apiVersions": [scope.version],
        "operations": list(scope.operations),
        "resources": list(scope.resources),
        "scope": "Namespaced",
    }
    return {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": each.name, "expression": each.cel} for each in chosen],
    }


def _judged(
    name: str, looked_at: dict[str, JSON], demands: Sequence[Demand], action: str = "Deny"
) -> tuple[dict[str, JSON], ...]:
    validations: list[JSON] = [
        {"expression": each.cel, "message": each.message} for each in demands
    ]
    # What cannot be computed is refused, unless it is only advice.
    failure = "Fail" if action == "Deny" else "Ignore"
    spec = {**looked_at, "failurePolicy": failure, "validations": validations}
    variables: list[JSON] = [
        {"name": name, "expression": cel} for name, cel in expressions.VARIABLES.items()
    ]
    if any("variables." in each.cel for each in demands):
        spec["variables"] = variables
    return _bound("Validating", name, spec, validationActions=[action])


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
