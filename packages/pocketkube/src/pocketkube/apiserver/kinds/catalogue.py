"""The resources of Kubernetes this server has, as a real one lists them in discovery.

`builtin` is asked once, when a server starts; who judges the objects of a kind says `strategies`. Left out are what nobody here could answer for: aggregated API services, component statuses,
old versions of autoscalers, and the subresources that lead into a container or through a proxy.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pocketkube.apiserver.kinds.printer import PLAIN
from pocketkube.apiserver.kinds.printing.registry import PRINTERS
from pocketkube.apiserver.kinds.resource import ALL, Resource, Subresource
from pocketkube.apiserver.kinds.strategies import make

_PART: Final = "get", "patch", "update"
_CREATE: Final = ("create",)
_CLUSTER: Final = frozenset(
    [
        "Namespace",
        "Node",
        "PersistentVolume",
        "SelfSubjectReview",
        "TokenReview",
        "SelfSubjectAccessReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
        "CertificateSigningRequest",
        "IngressClass",
        "IPAddress",
        "ServiceCIDR",
        "ClusterRoleBinding",
        "ClusterRole",
        "CSIDriver",
        "CSINode",
        "StorageClass",
        "VolumeAttachment",
        "VolumeAttributesClass",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "CustomResourceDefinition",
        "PriorityClass",
        "RuntimeClass",
        "DeviceClass",
        "ResourceSlice",
        "FlowSchema",
        "PriorityLevelConfiguration",
    ]
)
_STATUS: Final = frozenset(
    [
        "Namespace",
        "Node",
        "PersistentVolumeClaim",
        "PersistentVolume",
        "Pod",
        "ReplicationController",
        "ResourceQuota",
        "Service",
        "DaemonSet",
        "Deployment",
        "ReplicaSet",
        "StatefulSet",
        "HorizontalPodAutoscaler",
        "CronJob",
        "Job",
        "CertificateSigningRequest",
        "Ingress",
        "ServiceCIDR",
        "PodDisruptionBudget",
        "VolumeAttachment",
        "ValidatingAdmissionPolicy",
        "CustomResourceDefinition",
        "ResourceClaim",
        "FlowSchema",
        "PriorityLevelConfiguration",
    ]
)
_GENERATIONAL: Final = frozenset(
    [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "CustomResourceDefinition",
        "DaemonSet",
        "Deployment",
        "ReplicaSet",
        "StatefulSet",
        "CronJob",
        "Job",
        "Pod",
        "PodTemplate",
        "ReplicationController",
        "EndpointSlice",
        "FlowSchema",
        "PriorityLevelConfiguration",
        "Ingress",
        "IngressClass",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "DeviceClass",
        "ResourceSlice",
        "PriorityClass",
    ]
)
_IN_ALL: Final = frozenset(
    [
        "Pod",
        "ReplicationController",
        "Service",
        "DaemonSet",
        "Deployment",
        "ReplicaSet",
        "StatefulSet",
        "HorizontalPodAutoscaler",
        "CronJob",
        "Job",
    ]
)
_SHOWN_WHEN_GONE: Final = frozenset(
    [
        "Namespace",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PodTemplate",
        "ResourceQuota",
        "Service",
        "ServiceAccount",
        "DeviceClass",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceSlice",
        "CSIDriver",
        "CSINode",
        "StorageClass",
        "VolumeAttachment",
        "VolumeAttributesClass",
    ]
)
_REVIEWS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
_EXTENSIONS: Final = frozenset({"admissionregistration.k8s.io", "apiextensions.k8s.io"})

_GROUPS: Final[Mapping[str, str]] = {
    "v1": """
        Binding ConfigMap:cm Endpoints:ep Event:ev LimitRange:limits Namespace:ns Node:no PersistentVolumeClaim:pvc
        PersistentVolume:pv Pod:po PodTemplate ReplicationController:rc ResourceQuota:quota Secret ServiceAccount:sa
        Service:svc
    """,
    "apps/v1": "ControllerRevision DaemonSet:ds Deployment:deploy ReplicaSet:rs StatefulSet:sts",
    "events.k8s.io/v1": "Event:ev",
    "authentication.k8s.io/v1": "SelfSubjectReview TokenReview",
    "authorization.k8s.io/v1": """
        LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
    """,
    "autoscaling/v2": "HorizontalPodAutoscaler:hpa",
    "batch/v1": "CronJob:cj Job",
    "certificates.k8s.io/v1": "CertificateSigningRequest:csr",
    "networking.k8s.io/v1": "IngressClass Ingress:ing IPAddress:ip NetworkPolicy:netpol ServiceCIDR",
    "policy/v1": "PodDisruptionBudget:pdb",
    "rbac.authorization.k8s.io/v1": "ClusterRoleBinding ClusterRole RoleBinding Role",
    "storage.k8s.io/v1": """
        CSIDriver CSINode CSIStorageCapacity StorageClass:sc VolumeAttachment VolumeAttributesClass:vac
    """,
    "admissionregistration.k8s.io/v1": """
        MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy
        ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
    """,
    "apiextensions.k8s.io/v1": "CustomResourceDefinition:crd,crds",
    "scheduling.k8s.io/v1": "PriorityClass:pc",
    "coordination.k8s.io/v1": "Lease",
    "node.k8s.io/v1": "RuntimeClass",
    "discovery.k8s.io/v1": "EndpointSlice",
    "resource.k8s.io/v1": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "flowcontrol.apiserver.k8s.io/v1": "FlowSchema PriorityLevelConfiguration",
}
"""Versions in the order of /apis, each with its kinds and their short names."""

_SCALE: Final = Subresource("scale", "Scale", _PART, "autoscaling", "v1")
_MORE_SUBRESOURCES: Final[Mapping[str, tuple[Subresource, ...]]] = {
    "Namespace": (Subresource("finalize", "Namespace", ("update",)),),
    "Pod": (
        Subresource("binding", "Binding", _CREATE),
        Subresource("ephemeralcontainers", "Pod", _PART),
        Subresource("eviction", "Eviction", _CREATE, "policy", "v1"),
        Subresource("log", "Pod", ("get",)),
        Subresource("resize", "Pod", _PART),
    ),
    "ReplicationController": (_SCALE,),
    "Deployment": (_SCALE,),
    "ReplicaSet": (_SCALE,),
    "StatefulSet": (_SCALE,),
    "ServiceAccount": (
        Subresource("token", "TokenRequest", _CREATE, "authentication.k8s.io", "v1"),
    ),
    "CertificateSigningRequest": (Subresource("approval", "CertificateSigningRequest", _PART),),
}


def builtin() -> tuple[Resource, ...]:
    """All resources, in the order of discovery."""
    return tuple(
        _resource(version, *kind.partition(":")[::2])
        for version, kinds in _GROUPS.items()
        for kind in kinds.split()
    )


def _resource(api_version: str, kind: str, short_names: str) -> Resource:
    group, _, version = api_version.rpartition("/")
    resource = Resource(
        group,
        version,
        kind,
        _plural(kind.lower()),
        make(
            api_version,
            kind,
            namespaced=kind not in _CLUSTER,
            has_status=kind in _STATUS,
            generational=kind in _GENERATIONAL,
        ),
        namespaced=kind not in _CLUSTER,
        singular=kind.lower(),
        short_names=tuple(short_names.split(",")) if short_names else (),
        categories=_categories(group, kind),
        subresources=_subresources(kind),
        printer=PRINTERS.get(kind, PLAIN),
        returns_deleted=kind in _SHOWN_WHEN_GONE,
    )
    if kind == "Binding" or group in _REVIEWS:
        resource = replace(resource, virtual=True, verbs=_CREATE)
    elif kind == "Namespace":
        resource = replace(
            resource, verbs=tuple(verb for verb in ALL if verb != "deletecollection")
        )
    elif kind == "Endpoints":
        stated = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        resource = replace(resource, deprecation=stated)
    elif kind == "Event" and group:
        resource = replace(resource, stored_as="events")
    return resource


def _subresources(kind: str) -> tuple[Subresource, ...]:
    found = _MORE_SUBRESOURCES.get(kind, ())
    if kind in _STATUS:
        found += (Subresource("status", kind, _PART),)
    return tuple(sorted(found, key=lambda each: each.name))


def _categories(group: str, kind: str) -> tuple[str, ...]:
    if group in _EXTENSIONS:
        return ("api-extensions",)
    return ("all",) if kind in _IN_ALL else ()


def _plural(name: str) -> str:
    if name.endswith(("policy", "capacity")):
        return name[:-1] + "ies"
    if name == "endpoints":
        return name
    return name + ("es" if name.endswith("s") else "s")
