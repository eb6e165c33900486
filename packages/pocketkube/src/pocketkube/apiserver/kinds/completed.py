"""Kinds that nobody here judges but that a server completes: volumes, devices, endpoints, network policies, autoscalers.

Controllers rely on what is filled in here; who wants rules as well writes a module of its own.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Object

Members = dict[str, Any]


def _volume(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if spec.get("hostPath") is not None:
        spec["hostPath"].setdefault("type", "")


def _claim(obj: Object) -> None:
    obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _storage_class(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _driver(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    for member in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(member, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _endpoints(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        _protocols(subset.get("ports"))


def _endpoint_slice(obj: Object) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
    _protocols(obj.get("ports"))


def _network_policy(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
        _protocols(rule.get("ports"))
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _device_claim(obj: Object) -> None:
    for request in obj.setdefault("spec", {}).get("devices", {}).get("requests") or ():
        exactly = request.get("exactly")
        for wanted in [
            *([] if exactly is None else [exactly]),
            *(request.get("firstAvailable") or ()),
        ]:
            if wanted.setdefault("allocationMode", "ExactCount") == "ExactCount":
                wanted.setdefault("count", 1)


def _device_claim_template(obj: Object) -> None:
    _device_claim(obj.setdefault("spec", {}))


def _autoscaler(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if spec.get("behavior") is not None:
        percent, pods = (
            {"type": kind, "value": value, "periodSeconds": 15}
            for kind, value in (("Percent", 100), ("Pods", 4))
        )
        up = spec["behavior"].setdefault("scaleUp", {})
        up.setdefault("stabilizationWindowSeconds", 0)
        down = spec["behavior"].setdefault("scaleDown", {})
        for rules, policies in ((up, [pods, percent]), (down, [dict(percent)])):
            rules.setdefault("selectPolicy", "Max")
            rules.setdefault("policies", policies)


def _protocols(ports: list[Members] | None) -> None:
    for port in ports or ():
        port.setdefault("protocol", "TCP")


COMPLETED: Final[Mapping[str, Callable[[Object], None]]] = {
    "CSIDriver": _driver,
    "EndpointSlice": _endpoint_slice,
    "Endpoints": _endpoints,
    "HorizontalPodAutoscaler": _autoscaler,
    "NetworkPolicy": _network_policy,
    "PersistentVolume": _volume,
    "PersistentVolumeClaim": _claim,
    "ResourceClaim": _device_claim,
    "ResourceClaimTemplate": _device_claim_template,
    "StorageClass": _storage_class,
}


class Completed(Plain):
    """A kind with defaults."""

    def default(self, obj: Object) -> None:
        COMPLETED[self.kind](obj)

    def before_create(self, obj: Object) -> None:
        super().before_create(obj)
        if self.kind in ("PersistentVolume", "PersistentVolumeClaim"):
            obj["status"] = {"phase": "Pending"}


class SigningRequests(Plain):
    """CertificateSigningRequests, which can be selected by their signer."""

    more_selectable: tuple[str, ...] = ("spec.signerName",)

    def _meta_fields(self) -> tuple[str, ...]:
        return ("metadata.name",)


class ResourceSlices(Plain):
    """ResourceSlices, which drivers and nodes look up."""

    more_selectable: tuple[str, ...] = ("spec.driver", "spec.nodeName")

    def _meta_fields(self) -> tuple[str, ...]:
        return ("metadata.name",)

    def unselectable(self, field: str) -> str:
        return f"field label not supported for {self.api_version}, Kind={self.kind}: {field}"
