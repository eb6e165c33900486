"""What an object counts for in a ResourceQuota: under which names, how much, and whether the quota means it at all.

Admission of the embedded server charges quotas by these rules and `pocketkube.controllers.quotas` recounts by them. They are those of
Kubernetes 1.36, except that claims on devices (`resourceclaims`) are counted and not weighed. Resources are named as
quotas name them after `count/`: `pods`, `deployments.apps`.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from kubeloop.objects import core, pod_requests, quantity, resources
from kubeloop.objects.core import Pod
from kubeloop.objects.limits import ResourceQuotaSpec, ScopeRequirement
from kubeloop.objects.meta import HasMetadata, Object
from kubeloop.objects.quantity import Quantity
from pocketkube.objects.provisions import PersistentVolumeClaim, Service

Usage = dict[str, Quantity]

IGNORED = frozenset({"events", "events.events.k8s.io", "bindings", "componentstatuses"})
"""What no quota counts."""
MODELS: Mapping[str, type[HasMetadata]] = {
    "pods": Pod,
    "services": Service,
    "persistentvolumeclaims": PersistentVolumeClaim,
}
"""The types to read objects as; all others are only counted."""

_ONE = quantity.parse(1)
_WEIGHED = "cpu", "memory", "ephemeral-storage"
_POD_NAMES = frozenset(
    {"pods", "count/pods", *_WEIGHED}
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _WEIGHED}
)
_DEMANDED = tuple(
    sorted(
        {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"},
    )
)
_SERVICE_NAMES = frozenset(
    {"services", "count/services", "services.nodeports", "services.loadbalancers"}
)
_CLAIM_NAMES = "persistentvolumeclaims", "requests.storage"
_BY_CLASS = ".storageclass.storage.k8s.io/"
_ALIASES = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets"})
_HUGE = "hugepages-"
_DEVICES = "requests.deviceclass.resource.kubernetes.io/"


def model_of(resource: str) -> type[HasMetadata]:
    """The type to read objects of a resource as."""
    return MODELS.get(resource, Object)


def matching(resource: str, names: Iterable[str]) -> list[str]:
    """Those of a quota's names that objects of this resource count for, in order."""
    counts = _MATCHERS.get(resource)
    if counts is not None:
        return sorted(filter(counts, names))
    own = {f"count/{resource}", *(_ALIASES & {resource})}
    return sorted(own.intersection(names))


def usage(resource: str, obj: HasMetadata, now: datetime) -> Usage:
    """How much an object counts for, under every name it has."""
    match obj:
        case Pod():
            return _pod(obj, now)
        case Service():
            return _service(obj)
        case PersistentVolumeClaim():
            return _claim(obj)
        case _:
            return dict.fromkeys((f"count/{resource}", *(_ALIASES & {resource})), _ONE)


def is_meant(obj: HasMetadata, requirements: Iterable[ScopeRequirement]) -> bool:
    """Says whether an object meets all scopes of a quota; only pods and claims have any."""
    return all(_meets(obj, each) for each in requirements)


def unspecified(names: Iterable[str], pod: Pod) -> str:
    """What containers must say because a quota limits it, in the words of a server; empty if nothing is missing."""
    whole = pod.spec.resources
    if whole is not None and (whole.requests or whole.limits):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        said = _named(container.resources.requests, container.resources.limits)
        for name in set(_DEMANDED).intersection(names) - said:
            missing.setdefault(name, set()).add(container.name)
    stated = [f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing)]
    return f"must specify {'; '.join(stated)}" if stated else ""


def counted(
    spec: ResourceQuotaSpec,
    objects: Callable[[str], Iterable[HasMetadata]],
    known: Iterable[str],
    now: datetime,
) -> Usage:
    """Counts anew what a quota limits, over the resources that are known."""
    requirements = spec.requirements
    total: Usage = {}
    for resource in known:
        names = matching(resource, spec.hard)
        if not names:
            continue
        total |= {name: total.get(name, quantity.ZERO) for name in names}
        for obj in objects(resource):
            if is_meant(obj, requirements):
                amounts = usage(resource, obj, now)
                used = {name: amounts[name] for name in names if name in amounts}
                total = resources.add(total, used)
    return total


def is_terminating(pod: Pod) -> bool:
    """Says whether a pod will end by itself, which is what the scope of that name means."""
    seconds = pod.spec.active_deadline_seconds
    return seconds is not None and seconds >= 0


def _counts_for_pods(name: str) -> bool:
    return (
        name in _POD_NAMES
        or name.startswith((_HUGE, f"requests.{_HUGE}", _DEVICES))
        or (name.startswith("requests.") and "/" in name and "kubernetes.io/" not in name)
    )


def _counts_for_claims(name: str) -> bool:
    return (
        name == "count/persistentvolumeclaims"
        or name in _CLAIM_NAMES
        or name.endswith(tuple(_BY_CLASS + each for each in _CLAIM_NAMES))
    )


_MATCHERS: Mapping[str, Callable[[str], bool]] = {
    "pods": _counts_for_pods,
    "services": _SERVICE_NAMES.__contains__,
    "persistentvolumeclaims": _counts_for_claims,
}


def _pod(pod: Pod, now: datetime) -> Usage:
    used: Usage = {"count/pods": _ONE}
    if not _is_charged(pod, now):
        return used
    asked, bound = pod_requests.requests(pod), pod_requests.limits(pod)
    for name, amount in asked.items():
        if name in _WEIGHED or name.startswith(_HUGE):
            used[name] = amount
        if name in _WEIGHED or name.startswith(_HUGE) or _is_extended(name):
            used[f"requests.{name}"] = amount
    used |= {f"limits.{name}": bound[name] for name in _WEIGHED if name in bound}
    return used | {"pods": _ONE}


def _is_charged(pod: Pod, now: datetime) -> bool:
    """A pod that has ended, or should long be gone, takes no room any more."""
    meta = pod.metadata
    if core.is_finished(pod):
        return False
    grace = meta.deletion_grace_period_seconds
    if meta.deletion_timestamp is None or grace is None:
        return True
    return now <= meta.deletion_timestamp + timedelta(seconds=grace)


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _named(requests: Mapping[str, object], limits: Mapping[str, object]) -> set[str]:
    asked = {name for name in _WEIGHED if name in requests}
    return asked | {f"requests.{name}" for name in asked} | {f"limits.{name}" for name in limits}


def _service(service: Service) -> Usage:
    spec = service.spec
    balanced = spec.type == "LoadBalancer"
    ports = len(spec.ports) if balanced or spec.type == "NodePort" else 0
    if balanced and spec.allocate_load_balancer_node_ports is False:
        ports = sum(port.node_port != 0 for port in spec.ports)
    return {
        "count/services": _ONE,
        "services": _ONE,
        "services.nodeports": quantity.parse(ports),
        "services.loadbalancers": quantity.parse(int(balanced)),
    }


def _claim(claim: PersistentVolumeClaim) -> Usage:
    annotated = claim.metadata.annotations.get("volume.beta.kubernetes.io/storage-class")
    storage_class = annotated or claim.spec.storage_class_name or ""
    used: Usage = {"count/persistentvolumeclaims": _ONE, "persistentvolumeclaims": _ONE}
    asked = resources.parse_list(claim.spec.resources.requests).get("storage")
    if asked is not None:
        given = resources.parse_list(claim.status.allocated_resources).get("storage", asked)
        most = max(asked, given)
        used["requests.storage"] = Quantity(most.value() * 10**9, most.format)
    if storage_class:
        used |= {
            storage_class + _BY_CLASS + name: used[name] for name in _CLAIM_NAMES if name in used
        }
    return used


def _meets(obj: HasMetadata, requirement: ScopeRequirement) -> bool:
    if isinstance(obj, PersistentVolumeClaim):
        names = {
            obj.spec.volume_attributes_class_name,
            obj.status.current_volume_attributes_class_name,
        } - {None, ""}
        return requirement.scope_name == "VolumeAttributesClass" and _selects(requirement, names)
    return isinstance(obj, Pod) and _pod_meets(obj, requirement)


def _pod_meets(pod: Pod, requirement: ScopeRequirement) -> bool:
    if requirement.scope_name == "PriorityClass":
        return _selects(requirement, {pod.spec.priority_class_name} - {""})
    test = _POD_SCOPES.get(requirement.scope_name)
    return test is not None and test(pod)


def _selects(requirement: ScopeRequirement, names: set[str | None] | set[str]) -> bool:
    match requirement.operator:
        case "Exists":
            return bool(names)
        case "DoesNotExist":
            return not names
        case "In":
            return not names.isdisjoint(requirement.values)
        case "NotIn":
            return not names or bool(names - set(requirement.values))
        case _:
            return False


def _is_best_effort(pod: Pod) -> bool:
    """Says whether a pod asks for neither processor nor memory."""
    whole = pod.spec.resources
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    asking = [whole] if whole is not None else [each.resources for each in containers]
    return not any(
        amount.nano > 0
        for each in asking
        for side in (each.requests, each.limits)
        for name, amount in resources.parse_list(side).items()
        if name in ("cpu", "memory")
    )


def _looks_abroad(pod: Pod) -> bool:
    """Says whether affinity to pods names other namespaces."""
    affinity = pod.spec.affinity
    sides = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ()
    return any(
        bool(term.get("namespaces")) or term.get("namespaceSelector") is not None
        for side in sides
        for term in _terms(side)
    )


def _terms(side: object) -> Iterable[Mapping[str, object]]:
    if not isinstance(side, dict):
        return
    yield from side.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    for weighted in side.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
        yield weighted.get("podAffinityTerm") or {}


_POD_SCOPES: Mapping[str, Callable[[Pod], bool]] = {
    "Terminating": is_terminating,
    "NotTerminating": lambda pod: not is_terminating(pod),
    "BestEffort": _is_best_effort,
    "NotBestEffort": lambda pod: not _is_best_effort(pod),
    "CrossNamespacePodAffinity": _looks_abroad,
}
