"""Names of kinds, and short ways to write their objects."""

from typing import Any

Object = dict[str, Any]


def named(name: str = "x", **members: Any) -> Object:
    return {"metadata": {"name": name}, **members}


def meta(**members: Any) -> Object:
    return {"metadata": {"name": "x", **members}}


def owner(**members: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b", **members}


def hook(**members: Any) -> Object:
    return {
        "name": "a.b.c",
        "clientConfig": {"url": "https://example.com/x"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **members,
    }


def rule(**members: Any) -> Object:
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
        **members,
    }


def policy(**members: Any) -> Object:
    matching = {"resourceRules": [rule()]}
    return named(
        spec={"matchConstraints": matching, "validations": [{"expression": "true"}], **members}
    )


def event(**members: Any) -> Object:
    return named(involvedObject={"kind": "Pod", "name": "p", "namespace": "NAMESPACE"}, **members)


def new_event(**members: Any) -> Object:
    return {
        "metadata": {"name": "x"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "NAMESPACE"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/me",
        "reportingInstance": "me-1",
        "action": "Do",
        "reason": "Done",
        "type": "Normal",
        **members,
    }


LONG = "a" * 254
CM, NS, NODE, SECRET, SVC = "configmaps", "namespaces", "nodes", "secrets", "services"
LEASE, PC, PDB = (
    "leases.coordination.k8s.io",
    "priorityclasses.scheduling.k8s.io",
    "poddisruptionbudgets.policy",
)
RBAC = "rbac.authorization.k8s.io"
ROLE, BINDING = f"roles.{RBAC}", f"rolebindings.{RBAC}"
CROLE, CBINDING = f"clusterroles.{RBAC}", f"clusterrolebindings.{RBAC}"
EVENT, NEW_EVENT = "events", "events.events.k8s.io"
QUOTA, LIMITS = "resourcequotas", "limitranges"
ADMISSION = "admissionregistration.k8s.io"
VWC, MWC = (
    f"validatingwebhookconfigurations.{ADMISSION}",
    f"mutatingwebhookconfigurations.{ADMISSION}",
)
VAP, VAPB = (
    f"validatingadmissionpolicies.{ADMISSION}",
    f"validatingadmissionpolicybindings.{ADMISSION}",
)
MAP, MAPB = f"mutatingadmissionpolicies.{ADMISSION}", f"mutatingadmissionpolicybindings.{ADMISSION}"
