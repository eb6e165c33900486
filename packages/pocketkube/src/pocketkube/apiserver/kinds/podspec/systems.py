"""What a pod may say only if its operating system has it; `checks` calls this."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause

Values = Mapping[str, Any]

_NOT_ON_WINDOWS: Final = "cannot be set for a windows pod"
_NOT_ON_LINUX: Final = "windows options cannot be set for a linux pod"
_OF_PODS: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser",
    "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_OF_CONTAINERS: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def check(field: str, spec: Values) -> Iterator[Cause]:
    """What is wrong with the operating system, or does not fit to it."""
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name", "")
    if not name:
        yield fielderrors.required(f"{field}.os.name")
    elif name == "linux":
        yield from _check_linux(field, spec)
    elif name == "windows":
        yield from _check_windows(field, spec)
    else:
        yield fielderrors.not_supported(f"{field}.os", name, ("linux", "windows"))


def contexts(field: str, spec: Values) -> Iterator[tuple[str, Values]]:
    """The security contexts of all containers, and where they stand."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for at, container in enumerate(spec.get(kind) or ()):
            context = container.get("securityContext")
            if context is not None:
                yield f"{field}.{kind}[{at}].securityContext", context


def _check_linux(field: str, spec: Values) -> Iterator[Cause]:
    whole = f"{field}.securityContext", spec.get("securityContext") or {}
    for where, context in (whole, *contexts(field, spec)):
        if context.get("windowsOptions") is not None:
            yield fielderrors.forbidden(f"{where}.windowsOptions", _NOT_ON_LINUX)


def _check_windows(field: str, spec: Values) -> Iterator[Cause]:
    context = spec.get("securityContext") or {}
    for member in _OF_PODS:
        if context.get(member) is not None:
            yield fielderrors.forbidden(f"{field}.securityContext.{member}", _NOT_ON_WINDOWS)
    for member in ("hostUsers", "shareProcessNamespace"):
        if spec.get(member) is not None:
            yield fielderrors.forbidden(f"{field}.{member}", _NOT_ON_WINDOWS)
    for member in ("hostPID", "hostIPC"):
        if spec.get(member):
            yield fielderrors.forbidden(f"{field}.{member}", _NOT_ON_WINDOWS)
    for where, own in contexts(field, spec):
        for member in _OF_CONTAINERS:
            if own.get(member) is not None:
                yield fielderrors.forbidden(f"{where}.{member}", _NOT_ON_WINDOWS)
