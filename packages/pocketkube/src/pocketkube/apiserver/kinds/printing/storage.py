"""Volumes, claims, classes and drivers, and the few other kinds that nobody here judges, in tables."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from kubeloop.objects import duration
from pocketkube.apiserver.kinds.printer import NAME, Cells, Column, Object, Printer
from pocketkube.apiserver.kinds.printing.cells import (
    AGE,
    NONE,
    UNSET,
    age,
    amount,
    containers,
    integers,
    labels,
    name,
    named,
    part,
    wide,
)  # fmt: skip

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _modes(given: Iterable[str] | None) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in (given or ()))


def _class(obj: Object) -> str:
    old = (obj["metadata"].get("annotations") or {}).get(_OLD_CLASS)
    return str(old if old is not None else part(obj, "spec").get("storageClassName") or "")


def _phase(obj: Object) -> str:
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    return str(part(obj, "status").get("phase", ""))


def _volume(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    claim = spec.get("claimRef")
    return [
        name(obj),
        amount(part(spec, "capacity").get("storage")),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        part(obj, "status").get("reason", ""),
        age(obj, now),
        spec.get("volumeMode", UNSET),
    ]


def _claim(obj: Object, now: datetime) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    bound = bool(spec.get("volumeName"))
    return [
        name(obj),
        _phase(obj),
        spec.get("volumeName", ""),
        amount(part(status, "capacity").get("storage")) if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        _class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        age(obj, now),
        spec.get("volumeMode", UNSET),
    ]


def _storage_class(obj: Object, now: datetime) -> Cells:
    marks = obj["metadata"].get("annotations") or {}
    is_default = any(marks.get(mark) == "true" for mark in _DEFAULT_CLASS)
    return [
        f"{name(obj)} (default)" if is_default else name(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


def _attachment(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    return [
        name(obj),
        spec.get("attacher", ""),
        part(spec, "source").get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        bool(part(obj, "status").get("attached")),
        age(obj, now),
    ]


def _csi_node(obj: Object, now: datetime) -> Cells:
    return [name(obj), len(part(obj, "spec").get("drivers") or ()), age(obj, now)]


def _csi_driver(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    requests = spec.get("tokenRequests")
    return [
        name(obj),
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        UNSET if requests is None else ",".join(each.get("audience", "") for each in requests),
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(obj, now),
    ]


def _capacity(obj: Object, now: datetime) -> Cells:
    del now
    given = obj.get("capacity")
    return [name(obj), obj.get("storageClassName", ""), amount(given) if given else UNSET]


def _attributes_class(obj: Object, now: datetime) -> Cells:
    return [name(obj), obj.get("driverName", ""), age(obj, now)]


def _revision(obj: Object, now: datetime) -> Cells:
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next((each for each in owners if each.get("controller")), None)
    stated = NONE
    if owner:
        group = owner["apiVersion"].rpartition("/")[0]
        kind = owner["kind"].lower() + (f".{group}" if group else "")
        stated = f"{kind}/{owner['name']}"
    return [name(obj), stated, obj.get("revision", 0), age(obj, now)]


def _pod_template(obj: Object, now: datetime) -> Cells:
    del now
    template = part(obj, "template")
    return [name(obj), *containers(template), labels(part(template, "metadata").get("labels"))]


def _signing_request(obj: Object, now: datetime) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    kinds = {each.get("type") for each in status.get("conditions") or ()}
    stated = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    stated += ",Failed" if "Failed" in kinds else ""
    stated += ",Issued" if status.get("certificate") else ""
    seconds = spec.get("expirationSeconds")
    return [
        name(obj),
        age(obj, now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else duration.human(seconds),
        stated,
    ]


def _service_cidr(obj: Object, now: datetime) -> Cells:
    return [name(obj), ",".join(part(obj, "spec").get("cidrs") or ()), age(obj, now)]


def _slice(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    pool = part(spec, "pool").get("name", "")
    return [name(obj), spec.get("nodeName", ""), spec.get("driver", ""), pool, age(obj, now)]


PRINTERS: Final[Mapping[str, Printer]] = {
    "PersistentVolume": Printer(
        (
            NAME,
            *named("Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass"),
            *named("VolumeAttributesClass", "Reason"),
            AGE,
            *wide("VolumeMode"),
        ),
        _volume,
    ),
    "PersistentVolumeClaim": Printer(
        (
            NAME,
            *named("Status", "Volume", "Capacity", "Access Modes", "StorageClass"),
            *named("VolumeAttributesClass"),
            AGE,
            *wide("VolumeMode"),
        ),
        _claim,
    ),
    "StorageClass": Printer(
        (
            NAME,
            *named("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion"),
            AGE,
        ),
        _storage_class,
    ),
    "VolumeAttachment": Printer(
        (
            NAME,
            Column("Attacher", format="name"),
            *named("PV", "Node"),
            Column("Attached", "boolean"),
            AGE,
        ),
        _attachment,
    ),
    "CSINode": Printer((NAME, *integers("Drivers"), AGE), _csi_node),
    "CSIDriver": Printer(
        (
            NAME,
            *(Column(each, "boolean") for each in ("AttachRequired", "PodInfoOnMount")),
            Column("StorageCapacity", "boolean"),
            *named("TokenRequests"),
            Column("RequiresRepublish", "boolean"),
            *named("Modes"),
            AGE,
        ),
        _csi_driver,
    ),
    "CSIStorageCapacity": Printer((NAME, *named("StorageClassName", "Capacity")), _capacity),
    "VolumeAttributesClass": Printer((NAME, *named("DriverName"), AGE), _attributes_class),
    "ControllerRevision": Printer((NAME, *named("Controller", "Revision"), AGE), _revision),
    "PodTemplate": Printer((NAME, *named("Containers", "Images", "Pod Labels")), _pod_template),
    "CertificateSigningRequest": Printer(
        (NAME, AGE, *named("SignerName", "Requestor", "RequestedDuration", "Condition")),
        _signing_request,
    ),
    "ServiceCIDR": Printer((NAME, *named("CIDRs"), AGE), _service_cidr),
    "ResourceSlice": Printer((NAME, *named("Node", "Driver", "Pool"), AGE), _slice),
}
