"""Where a container sees the volumes of its pod: as folders or as devices."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds.podspec import files

Values = Mapping[str, Any]

_PROPAGATION: Final = "Bidirectional", "HostToContainer", "None"
_RECURSIVE: Final = "Disabled", "Enabled", "IfPossible"


def check(field: str, container: Values, known: Mapping[str, Values]) -> Iterator[Cause]:
    """The mounts and devices of a container."""
    mounts = container.get("volumeMounts") or ()
    devices = container.get("volumeDevices") or ()
    paths = {one.get("name", ""): one.get("devicePath", "") for one in devices}
    yield from _check_mounts(f"{field}.volumeMounts", container, mounts, paths, known)
    mounted = {one.get("name", ""): one.get("mountPath", "") for one in mounts}
    yield from _check_devices(f"{field}.volumeDevices", devices, mounted, known)


def _check_mounts(
    field: str,
    container: Values,
    mounts: Sequence[Values],
    devices: Mapping[str, str],
    known: Mapping[str, Values],
) -> Iterator[Cause]:
    seen: set[str] = set()
    for at, mount in enumerate(mounts):
        name, path = mount.get("name", ""), mount.get("mountPath", "")
        where = f"{field}[{at}]"
        if not name:
            yield fielderrors.required(f"{where}.name")
        if name not in known:
            yield fielderrors.not_found(f"{where}.name", name)
        if not path:
            yield fielderrors.required(f"{where}.mountPath")
        if path in seen:
            yield fielderrors.invalid(f"{where}.mountPath", path, "must be unique")
        seen.add(path)
        if name in devices:
            said = "must not already exist in volumeDevices"
            yield fielderrors.invalid(f"{where}.name", name, said)
        if path in devices.values():
            said = "must not already exist as a path in volumeDevices"
            yield fielderrors.invalid(f"{where}.mountPath", path, said)
        yield from _check_options(field, where, mount, container)


def _check_options(field: str, where: str, mount: Values, container: Values) -> Iterator[Cause]:
    if mount.get("subPath"):
        yield from files.below(f"{field}.subPath", mount["subPath"])
    if mount.get("subPathExpr"):
        if mount.get("subPath"):
            said = "subPathExpr and subPath are mutually exclusive"
            yield fielderrors.invalid(f"{where}.subPathExpr", mount["subPathExpr"], said)
        yield from files.below(f"{field}.subPathExpr", mount["subPathExpr"])
    propagation = mount.get("mountPropagation")
    if propagation is not None and propagation not in _PROPAGATION:
        yield fielderrors.not_supported(f"{field}.mountPropagation", propagation, _PROPAGATION)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        said = "Bidirectional mount propagation is available only to privileged containers"
        yield fielderrors.forbidden(f"{field}.mountPropagation", said)
    yield from _check_recursive(f"{field}.recursiveReadOnly", mount, propagation)


def _check_recursive(field: str, mount: Values, propagation: str | None) -> Iterator[Cause]:
    asked = mount.get("recursiveReadOnly")
    if asked is None or asked == "Disabled":
        return
    if asked not in _RECURSIVE:
        yield fielderrors.not_supported(field, asked, _RECURSIVE)
        return
    if not mount.get("readOnly"):
        yield fielderrors.forbidden(field, "may only be specified when readOnly is true")
    if propagation not in (None, "None"):
        said = "may only be specified when mountPropagation is None or not specified"
        yield fielderrors.forbidden(field, said)


def _check_devices(
    field: str, devices: Sequence[Values], mounted: Mapping[str, str], known: Mapping[str, Values]
) -> Iterator[Cause]:
    names: set[str] = set()
    paths: set[str] = set()
    for at, device in enumerate(devices):
        name, path = device.get("name", ""), device.get("devicePath", "")
        where = f"{field}[{at}]"
        if not name:
            yield fielderrors.required(f"{where}.name")
        if name in names:
            yield fielderrors.invalid(f"{where}.name", name, "must be unique")
        yield from _check_device_source(f"{where}.name", name, known)
        if not path:
            yield fielderrors.required(f"{where}.devicePath")
        if path in paths:
            yield fielderrors.invalid(f"{where}.devicePath", path, "must be unique")
        if ".." in path.split("/"):
            said = "can not contain backsteps ('..')"
            yield fielderrors.invalid(f"{where}.devicePath", path, said)
        else:
            paths.add(path)
        if name in mounted:
            said = "must not already exist in volumeMounts"
            yield fielderrors.invalid(f"{where}.name", name, said)
        if path in mounted.values():
            said = "must not already exist as a path in volumeMounts"
            yield fielderrors.invalid(f"{where}.devicePath", path, said)
        if name:
            names.add(name)


def _check_device_source(field: str, name: str, known: Mapping[str, Values]) -> Iterator[Cause]:
    if name not in known:
        yield fielderrors.not_found(field, name)
    elif not any(known[name].get(kind) for kind in ("persistentVolumeClaim", "ephemeral")):
        said = (
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        )
        yield fielderrors.invalid(field, name, said)
