"""Who a container runs as and what it may do, for one container and for the whole pod."""

from collections.abc import Iterator, Mapping, Sequence
import re
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.podspec import files, internal

Values = Mapping[str, Any]

_MOST: Final = 2**31 - 1
_POD_SECCOMP: Final = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER_SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES: Final = "Localhost", "RuntimeDefault", "Unconfined"
_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_KERNEL: Final = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_SHARED: Final = {
    "hostIPC": ("kernel/shm", "kernel/msg", "kernel/sem", "fs/mqueue/"),
    "hostNetwork": ("net/",),
}
"""Switches of the kernel that belong to a namespace, by the member that gives this namespace up."""


def check(field: str, given: Values | None, *, host_users: bool) -> Iterator[Cause]:
    """What is wrong with the security context of a container."""
    if given is None:
        return
    yield from _check_ids(field, given, "runAsUser", "runAsGroup")
    mount = given.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            yield fielderrors.not_supported(f"{field}.procMount", mount, ("Default", "Unmasked"))
        if host_users and mount == "Unmasked":
            said = "`hostUsers` must be false to use `Unmasked`"
            yield fielderrors.invalid(f"{field}.procMount", mount, said)
    yield from _check_seccomp(f"{field}.seccompProfile", given.get("seccompProfile"))
    yield from _check_escalation(field, given)
    yield from _check_armor(f"{field}.appArmorProfile", given.get("appArmorProfile"))


def check_pod(field: str, spec: Values) -> Iterator[Cause]:
    """What is wrong with the security context of a pod."""
    given = spec.get("securityContext") or {}
    yield from _check_ids(field, given, "fsGroup", "runAsUser", "runAsGroup")
    for at, group in enumerate(given.get("supplementalGroups") or ()):
        yield from _check_id(f"{field}.supplementalGroups[{at}]", group)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        said = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield fielderrors.invalid(f"{field}.shareProcessNamespace", True, said)  # noqa: FBT003 the refused value
    yield from _check_switches(f"{field}.sysctls", given.get("sysctls") or (), spec)
    yield from _check_word(field, given, "fsGroupChangePolicy", "Always", "OnRootMismatch")
    yield from _check_seccomp(f"{field}.seccompProfile", given.get("seccompProfile"))
    yield from _check_armor(f"{field}.appArmorProfile", given.get("appArmorProfile"))
    yield from _check_word(field, given, "supplementalGroupsPolicy", "Merge", "Strict")
    yield from _check_word(field, given, "seLinuxChangePolicy", "MountOption", "Recursive")


def check_host_users(field: str, spec: Values) -> Iterator[Cause]:
    """Users of the node and of the pod are the same, or nothing else is shared with the node."""
    if spec.get("hostUsers") is not False:
        return
    for member, stated in (
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ):
        if spec.get(member):
            yield fielderrors.forbidden(f"{field}.{stated}", "when `hostUsers` is false")
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for at, container in enumerate(spec.get(kind) or ()):
            if container.get("volumeDevices"):
                where = f"{field}.{kind}[{at}].volumeDevices"
                yield fielderrors.forbidden(where, "when `hostUsers` is false")


def _check_ids(field: str, given: Values, *members: str) -> Iterator[Cause]:
    for member in members:
        if given.get(member) is not None:
            yield from _check_id(f"{field}.{member}", given[member])


def _check_id(field: str, number: int) -> Iterator[Cause]:
    if not 0 <= number <= _MOST:
        yield fielderrors.invalid(field, number, naming.between(0, _MOST))


def _check_word(field: str, given: Values, member: str, *allowed: str) -> Iterator[Cause]:
    if given.get(member) is not None and given[member] not in allowed:
        yield fielderrors.not_supported(f"{field}.{member}", given[member], allowed)


def _check_escalation(field: str, given: Values) -> Iterator[Cause]:
    if given.get("allowPrivilegeEscalation") is not False:
        return
    stated = internal.text("SecurityContext", given)
    if given.get("privileged"):
        said = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield fielderrors.written(field, stated, said)
    if "CAP_SYS_ADMIN" in ((given.get("capabilities") or {}).get("add") or ()):
        said = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        yield fielderrors.written(field, stated, said)


def check_twice(field: str, annotations: Mapping[str, str], spec: Values) -> Iterator[Cause]:
    """A seccomp profile that stands in an old annotation too must be the same there."""
    said = {_POD_SECCOMP: (f"{field}.securityContext", spec.get("securityContext") or {})}
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for at, container in enumerate(spec.get(kind) or ()):
            where = f"{field}.{kind}[{at}].securityContext"
            key = f"{_CONTAINER_SECCOMP}{container.get('name', '')}"
            said[key] = where, container.get("securityContext") or {}
    for key, (where, context) in said.items():
        profile = context.get("seccompProfile")
        if key in annotations and profile is not None:
            yield from _check_same(f"{where}.seccompProfile", annotations[key], profile)


def _check_same(field: str, annotation: str, profile: Values) -> Iterator[Cause]:
    local = annotation.startswith("localhost/")
    known = {
        "Unconfined": annotation == "unconfined",
        "RuntimeDefault": annotation in ("runtime/default", "docker/default"),
        "Localhost": local,
    }
    if not known.get(profile.get("type", ""), True):
        said = "seccomp type in annotation and field must match"
        yield fielderrors.forbidden(f"{field}.type", said)
    elif local and annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
        said = "seccomp profile in annotation and field must match"
        yield fielderrors.forbidden(f"{field}.localhostProfile", said)


def _check_seccomp(field: str, profile: Values | None) -> Iterator[Cause]:
    if profile is None:
        return
    kind, path = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        said = "type is required when seccompProfile is set"
        yield fielderrors.required(f"{field}.type", said)
    elif kind not in _PROFILES:
        yield fielderrors.not_supported(f"{field}.type", kind, _PROFILES)
    if kind == "Localhost":
        if path is None:
            said = "must be set when seccomp type is Localhost"
            yield fielderrors.required(f"{field}.localhostProfile", said)
        else:
            yield from files.below(f"{field}.localhostProfile", path)
    elif path is not None:
        said = "can only be set when seccomp type is Localhost"
        yield fielderrors.written(
            f"{field}.localhostProfile", internal.text("SeccompProfile", profile), said
        )


def _check_armor(field: str, profile: Values | None) -> Iterator[Cause]:
    if profile is None:
        return
    kind, path = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        said = "type is required when appArmorProfile is set"
        yield fielderrors.required(f"{field}.type", said)
    elif kind not in _PROFILES:
        yield fielderrors.not_supported(f"{field}.type", kind, _PROFILES)
    elif kind != "Localhost":
        if path is not None:
            said = "can only be set when AppArmor type is Localhost"
            yield fielderrors.invalid(f"{field}.localhostProfile", path, said)
    elif not path:
        said = "must be set when AppArmor type is Localhost"
        yield fielderrors.required(f"{field}.localhostProfile", said)
    else:
        if path != path.strip():
            said = "must not be padded with whitespace"
            yield fielderrors.invalid(f"{field}.localhostProfile", path, said)
        if len(path.encode()) > 4095:
            yield fielderrors.too_long(f"{field}.localhostProfile", 4095)


def _check_switches(field: str, switches: Sequence[Values], spec: Values) -> Iterator[Cause]:
    seen: set[str] = set()
    for at, switch in enumerate(switches):
        name = switch.get("name", "")
        where = f"{field}[{at}].name"
        if not name:
            yield fielderrors.required(where)
        elif len(name) > 253 or not re.match(_KERNEL, name):
            said = f"must have at most 253 characters and match regex {_KERNEL}"
            yield fielderrors.invalid(where, name, said)
        elif name in seen:
            yield fielderrors.duplicate(where, name)
        seen.add(name)
        path = name.replace(".", "/")
        for member, begins in _SHARED.items():
            if spec.get(member) and path.startswith(begins):
                said = f"may not be specified when '{member}' is true"
                yield fielderrors.invalid(where, name, said)
