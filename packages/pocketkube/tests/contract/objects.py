"""The objects that the contract sends, as small as a server accepts them, and where they live.

`Home` is the namespace of one test: it knows the paths there. Builders take what matters to a test and leave the rest to
the server's defaults; the last argument is merged over the whole.
"""

from collections.abc import Iterable
from dataclasses import dataclass
import secrets
from typing import Any

Object = dict[str, Any]

GROUPS = {
    "apps": ("deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions"),
    "batch": ("jobs", "cronjobs"),
    "coordination.k8s.io": ("leases",),
    "rbac.authorization.k8s.io": ("roles", "rolebindings", "clusterroles", "clusterrolebindings"),
    "policy": ("poddisruptionbudgets",),
    "scheduling.k8s.io": ("priorityclasses",),
    "events.k8s.io": ("events.events.k8s.io",),
    "apiextensions.k8s.io": ("customresourcedefinitions",),
    "admissionregistration.k8s.io": (
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    ),
    "authorization.k8s.io": (
        "subjectaccessreviews",
        "selfsubjectaccessreviews",
        "localsubjectaccessreviews",
        "selfsubjectrulesreviews",
    ),
    "authentication.k8s.io": ("tokenreviews", "selfsubjectreviews"),
    "storage.k8s.io": ("storageclasses",),
    "networking.k8s.io": ("ingresses", "networkpolicies"),
    "autoscaling": ("horizontalpodautoscalers",),
}
_GROUP_OF = {plural: group for group, plurals in GROUPS.items() for plural in plurals}


def root(resource: str) -> str:
    """The path below which a group's resources are served."""
    if resource not in _GROUP_OF:
        return "/api/v1"
    group = _GROUP_OF[resource]
    return f"/apis/{group}/{'v2' if group == 'autoscaling' else 'v1'}"


def everywhere(resource: str, *rest: str) -> str:
    """The path of a resource that is not in a namespace, or of a list over all namespaces."""
    return "/".join((root(resource), resource.partition(".")[0], *rest))


@dataclass(frozen=True)
class Home:
    """The namespace of one test."""

    name: str

    def __call__(self, resource: str, *rest: str) -> str:
        plural = resource.partition(".")[0]
        return "/".join((root(resource), "namespaces", self.name, plural, *rest))


def unique(prefix: str = "x") -> str:
    """A name that no other test has, for what lives outside of namespaces."""
    return f"{prefix}-{secrets.token_hex(4)}"


def merged(base: Object, over: Object) -> Object:
    """The members of `over` laid over those of `base`, object by object."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        result[key] = (
            merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return result


def meta(name: str, **more: Any) -> Object:
    return {"metadata": {"name": name, **more}}


def config_map(name: str, data: Object | None = None, **metadata: Any) -> Object:
    obj: Object = {"apiVersion": "v1", "kind": "ConfigMap", **meta(name, **metadata)}
    return obj if data is None else {**obj, "data": data}


def pod(name: str, over: Object | None = None, **spec: Any) -> Object:
    base: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        **meta(name),
        "spec": {"containers": [{"name": "main", "image": "busybox"}], **spec},
    }
    return merged(base, over or {})


def template(labels: Object | None = None) -> Object:
    return {
        "metadata": {"labels": labels or {"app": "a"}},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }


def workload(kind: str, name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        **meta(name),
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template(), **spec},
    }


def simple(api_version: str, kind: str, name: str, **members: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, **meta(name), **members}


def cause(reason: str, message: str, field: str) -> Object:
    return {"reason": reason, "message": message, "field": field}


def names(found: Object) -> list[str]:
    """The names in a list, in its order."""
    return [item["metadata"]["name"] for item in found["items"]]


def essence(obj: Object) -> Object:
    """An object without what differs from server to server: ids, times, versions and the notes on ownership."""
    own = ("uid", "creationTimestamp", "resourceVersion", "managedFields", "selfLink")
    kept = {key: value for key, value in obj["metadata"].items() if key not in own}
    return {**obj, "metadata": kept}


def managers(obj: Object) -> list[tuple[str, str, str]]:
    """Who owns fields of an object, how, and through which subresource."""
    entries: Iterable[Object] = obj["metadata"].get("managedFields", ())
    return [(each["manager"], each["operation"], each.get("subresource", "")) for each in entries]
