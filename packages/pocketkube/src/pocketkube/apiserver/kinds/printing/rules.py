"""Roles' bindings, classes, budgets, webhooks and policies, in tables."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from pocketkube.apiserver.kinds.printer import NAME, Cells, Column, Object, Printer
from pocketkube.apiserver.kinds.printing.cells import (
    AGE,
    NONE,
    UNSET,
    age,
    integers,
    name,
    named,
    part,
    selector,
    wide,
)  # fmt: skip


def _binding(obj: Object, now: datetime) -> Cells:
    role, subjects = part(obj, "roleRef"), obj.get("subjects") or ()

    def those(kind: str) -> str:
        return ", ".join(
            f"{each.get('namespace', '')}/{each['name']}"
            if kind == "ServiceAccount"
            else each["name"]
            for each in subjects
            if each.get("kind") == kind
        )

    kinds = ("User", "Group", "ServiceAccount")
    reference = f"{role.get('kind', '')}/{role.get('name', '')}"
    return [name(obj), reference, age(obj, now), *map(those, kinds)]


def _priority_class(obj: Object, now: datetime) -> Cells:
    return [
        name(obj),
        obj.get("value", 0),
        bool(obj.get("globalDefault")),
        age(obj, now),
        obj.get("preemptionPolicy", ""),
    ]


def _runtime_class(obj: Object, now: datetime) -> Cells:
    return [name(obj), obj.get("handler", ""), age(obj, now)]


def _budget(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    return [
        name(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        part(obj, "status").get("disruptionsAllowed", 0),
        age(obj, now),
    ]


def _webhooks(obj: Object, now: datetime) -> Cells:
    return [name(obj), len(obj.get("webhooks") or ()), age(obj, now)]


def _policy(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    rules = spec.get("validations") or spec.get("mutations") or ()
    kind = spec.get("paramKind")
    stated = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
    return [name(obj), len(rules), stated, age(obj, now)]


def _policy_binding(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    return [name(obj), spec.get("policyName", ""), _parameters(spec.get("paramRef")), age(obj, now)]


def _parameters(reference: Mapping[str, Any] | None) -> str:
    if not reference:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return selector(reference["selector"]) if reference.get("selector") else UNSET


def _network_policy(obj: Object, now: datetime) -> Cells:
    return [name(obj), selector(part(obj, "spec", "podSelector")), age(obj, now)]


def _ingress_class(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    title = name(obj)
    marks = obj["metadata"].get("annotations") or {}
    if marks.get("ingressclass.kubernetes.io/is-default-class") == "true":
        title += " (default)"
    stated, given = NONE, spec.get("parameters")
    if given:
        group = f".{given['apiGroup']}" if given.get("apiGroup") is not None else ""
        stated = f"{given.get('kind', '')}{group}/{given.get('name', '')}"
    return [title, spec.get("controller", ""), stated, age(obj, now)]


_BINDINGS: Final = Printer(
    (NAME, *named("Role"), AGE, *wide("Users", "Groups", "ServiceAccounts")), _binding
)
_WEBHOOKS: Final = Printer((NAME, *integers("Webhooks"), AGE), _webhooks)
_POLICY_BINDINGS: Final = Printer((NAME, *named("PolicyName", "ParamRef"), AGE), _policy_binding)

PRINTERS: Final[Mapping[str, Printer]] = {
    "RoleBinding": _BINDINGS,
    "ClusterRoleBinding": _BINDINGS,
    "PriorityClass": Printer(
        (
            NAME,
            *integers("Value"),
            Column("Global-Default", "boolean"),
            AGE,
            *named("PreemptionPolicy"),
        ),
        _priority_class,
    ),
    "RuntimeClass": Printer((NAME, *named("Handler"), AGE), _runtime_class),
    "PodDisruptionBudget": Printer(
        (
            NAME,
            *named("Min Available", "Max Unavailable"),
            *integers("Allowed Disruptions"),
            AGE,
        ),
        _budget,
    ),
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingAdmissionPolicy": Printer(
        (NAME, *integers("Validations"), *named("ParamKind"), AGE), _policy
    ),
    "MutatingAdmissionPolicy": Printer(
        (NAME, *integers("Mutations"), *named("ParamKind"), AGE), _policy
    ),
    "ValidatingAdmissionPolicyBinding": _POLICY_BINDINGS,
    "MutatingAdmissionPolicyBinding": _POLICY_BINDINGS,
    "NetworkPolicy": Printer((NAME, *named("Pod-Selector"), AGE), _network_policy),
    "IngressClass": Printer((NAME, *named("Controller", "Parameters"), AGE), _ingress_class),
}
