"""A fence around the manager's right to patch nodes: a policy that lets it change exactly the hand-over taint.

`objects` installs it in both forms of admission, on servers that have ValidatingAdmissionPolicy (Kubernetes 1.30 and newer). It speaks of the
manager's service account only: a user who runs a manager has rights of his own.
"""

from korder.api.meta import JSON
from korder.api.reserve import HANDOVER_TAINT
from korder.reserve.rules.doors.site import Site, meta

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
