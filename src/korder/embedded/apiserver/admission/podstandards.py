"""The Pod Security Standards: every control as a function from a pod to what it violates.

`podsecurity` asks `violations` of pods and of workloads' templates. A control is known by its place in the two tables at the
end: from which version of the standards it holds, and which one of the lower level it replaces. Texts are those of the
reference implementation.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from korder.embedded.apiserver.admission.verdicts import items, part
from korder.embedded.apiserver.fielderrors import quote

Object = dict[str, Any]


class Violation(NamedTuple):
    """What is forbidden, and who does it."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class Pod(NamedTuple):
    """What controls look at."""

    meta: Object
    spec: Object

    @property
    def context(self) -> Object:
        return part(self.spec, "securityContext")

    def containers(self) -> Iterator[tuple[str, Object, Object]]:
        """Name, container and its security context."""
        for member in ("initContainers", "containers", "ephemeralContainers"):
            for container in items(self.spec, member):
                yield container.get("name", ""), container, part(container, "securityContext")


Control = Callable[[Pod], Violation | None]


def _many(word: str, count: int, several: str = "") -> str:
    return word if count == 1 else several or f"{word}s"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _who(names: list[str], word: str = "container") -> str:
    return f"{_many(word, len(names))} {_quoted(names)}"


def _setters(names: list[str], *, pod: bool) -> list[str]:
    return [*(["pod"] if pod else []), *([_who(names)] if names else [])]


def _may_be_windows(pod: Pod) -> bool:
    return part(pod.spec, "os").get("name") == "windows"


def _on_linux(control: Control) -> Control:
    return lambda pod: None if _may_be_windows(pod) else control(pod)


def _without_own_users(control: Control) -> Control:
    """Root inside of a user namespace is nobody outside."""
    return lambda pod: None if pod.spec.get("hostUsers") is False else control(pod)


def _privilege_escalation(pod: Pod) -> Violation | None:
    bad = [
        name
        for name, _, context in pod.containers()
        if context.get("allowPrivilegeEscalation") is not False
    ]
    detail = f"{_who(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if bad else None


_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def _apparmor(pod: Pod) -> Violation | None:
    def forbidden(context: Object) -> str | None:
        profile = context.get("appArmorProfile")
        kind = None if profile is None else str(profile.get("type", ""))
        return None if kind in (None, "RuntimeDefault", "Localhost") else kind

    on_pod = forbidden(pod.context)
    on_containers = {name: forbidden(context) for name, _, context in pod.containers()}
    bad = [name for name, kind in on_containers.items() if kind is not None]
    values = sorted({kind for kind in (on_pod, *on_containers.values()) if kind is not None})
    annotations = sorted(
        f"{key}={quote(value)}"
        for key, value in part(pod.meta, "annotations").items()
        if key.startswith(_APPARMOR)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    setters = _setters(bad, pod=on_pod is not None)
    if annotations:
        setters.append(_many("annotation", len(annotations)))
        values += annotations
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(values)}"
    return Violation(_many("forbidden AppArmor profile", len(values)), detail)


_DEFAULT_CAPABILITIES = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)


def _added(pod: Pod, allowed: frozenset[str]) -> str:
    """Tells who adds capabilities that are not allowed."""
    found = {
        name: {each for each in items(part(context, "capabilities"), "add") if each not in allowed}
        for name, _, context in pod.containers()
    }
    bad = [name for name, added in found.items() if added]
    extra = sorted(set().union(*found.values()))
    what = f"must not include {_quoted(extra)} in securityContext.capabilities.add"
    return f"{_who(bad)} {what}" if bad else ""


def _capabilities(pod: Pod) -> Violation | None:
    detail = _added(pod, _DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", detail) if detail else None


def _few_capabilities(pod: Pod) -> Violation | None:
    keeping = [
        name
        for name, _, context in pod.containers()
        if "ALL" not in items(part(context, "capabilities"), "drop")
    ]
    drop = 'must set securityContext.capabilities.drop=["ALL"]'
    added = _added(pod, frozenset({"NET_BIND_SERVICE"}))
    details = [*([f"{_who(keeping)} {drop}"] if keeping else []), *([added] if added else [])]
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def _host_namespaces(pod: Pod) -> Violation | None:
    used = [f"{each}=true" for each in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(each)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def _host_paths(pod: Pod) -> Violation | None:
    volumes = items(pod.spec, "volumes")
    bad = [each.get("name", "") for each in volumes if each.get("hostPath") is not None]
    return Violation("hostPath volumes", _who(bad, "volume")) if bad else None


def _host_ports(pod: Pod) -> Violation | None:
    found = {
        name: {str(port["hostPort"]) for port in items(container, "ports") if port.get("hostPort")}
        for name, container, _ in pod.containers()
    }
    bad = [name for name, ports in found.items() if ports]
    ports = sorted(set().union(*found.values()))
    use, word = _many("uses", len(bad), "use"), _many("hostPort", len(ports))
    return Violation("hostPort", f"{_who(bad)} {use} {word} {', '.join(ports)}") if bad else None


_PROBES = "livenessProbe", "readinessProbe", "startupProbe"


def _probe_hosts(pod: Pod) -> Violation | None:
    found: dict[str, set[str]] = {}
    for name, container, _ in pod.containers():
        lifecycle = part(container, "lifecycle")
        handlers = [part(container, probe) for probe in _PROBES]
        handlers += [part(lifecycle, "postStart"), part(lifecycle, "preStop")]
        hosts = {
            part(handler, way).get("host", "")
            for handler in handlers
            for way in ("httpGet", "tcpSocket")
        } - {""}
        if hosts:
            found.setdefault(name, set()).update(hosts)
    if not found:
        return None
    bad, every = sorted(found), sorted(set().union(*found.values()))
    use, word = _many("uses", len(bad), "use"), _many("probe or lifecycle host", len(every))
    return Violation("probe or lifecycle host", f"{_who(bad)} {use} {word} {_quoted(every)}")


def _privileged(pod: Pod) -> Violation | None:
    bad = [name for name, _, context in pod.containers() if context.get("privileged")]
    detail = f"{_who(bad)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if bad else None


def _proc_mount(pod: Pod) -> Violation | None:
    found = [
        (name, context["procMount"])
        for name, _, context in pod.containers()
        if context.get("procMount") not in (None, "Default")
    ]
    kinds = sorted({kind for _, kind in found})
    what = f"must not set securityContext.procMount to {_quoted(kinds)}"
    return Violation("procMount", f"{_who([n for n, _ in found])} {what}") if found else None


_PLAIN_VOLUMES = frozenset(
    [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ]
)
_OTHER_VOLUMES = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
]


def _volume_types(pod: Pod) -> Violation | None:
    bad, kinds = [], set()
    for volume in items(pod.spec, "volumes"):
        present = {member for member, value in volume.items() if value is not None}
        if not present & _PLAIN_VOLUMES:
            bad.append(volume.get("name", ""))
            kinds.add(next((kind for kind in _OTHER_VOLUMES if kind in present), "unknown"))
    use, word = _many("uses", len(bad), "use"), _many("restricted volume type", len(kinds))
    detail = f"{_who(bad, 'volume')} {use} {word} {_quoted(sorted(kinds))}"
    return Violation("restricted volume types", detail) if bad else None


def _not_root(pod: Pod) -> Violation | None:
    wish = pod.context.get("runAsNonRoot")
    each = [(name, context.get("runAsNonRoot")) for name, _, context in pod.containers()]
    setters = _setters([name for name, own in each if own is False], pod=wish is False)
    silent = [name for name, own in each if own is None and not wish]
    detail = f"pod or {_who(silent)} must set securityContext.runAsNonRoot=true" if silent else ""
    if setters:
        detail = f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
    return Violation("runAsNonRoot != true", detail) if detail else None


def _user_zero(pod: Pod) -> Violation | None:
    bad = [name for name, _, context in pod.containers() if context.get("runAsUser") == 0]
    setters = _setters(bad, pod=pod.context.get("runAsUser") == 0)
    detail = f"{' and '.join(setters)} must not set runAsUser=0"
    return Violation("runAsUser=0", detail) if setters else None


_SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})


def _selinux(types: frozenset[str]) -> Control:
    def control(pod: Pod) -> Violation | None:
        def faults(context: Object) -> set[tuple[str, str]]:
            options = part(context, "seLinuxOptions")
            kind = options.get("type", "")
            found = {("type", kind)} if kind not in types else set()
            return found | {(each, "") for each in ("user", "role") if options.get(each)}

        on_pod = faults(pod.context)
        found = {name: faults(context) for name, _, context in pod.containers()}
        setters = _setters([name for name, each in found.items() if each], pod=bool(on_pod))
        every = on_pod.union(*found.values())
        kinds = sorted(kind for what, kind in every if what == "type")
        data = [f"{_many('type', len(kinds))} {_quoted(kinds)}"] if kinds else []
        data += [f"{each} may not be set" for each in ("user", "role") if (each, "") in every]
        told = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return Violation("seLinuxOptions", told) if setters else None

    return control


_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_TYPES = "RuntimeDefault", "Localhost"


def _seccomp_annotations(pod: Pod) -> Violation | None:
    annotations = part(pod.meta, "annotations")
    keys = {_SECCOMP, *(_SECCOMP_OF + name for name, _, _ in pod.containers())}
    bad = sorted(
        f"{key}={quote(annotations[key])}"
        for key in keys & annotations.keys()
        if annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    )
    detail = f"forbidden {_many('annotation', len(bad))} {', '.join(bad)}"
    return Violation("seccompProfile", detail) if bad else None


def _seccomp(*, required: bool) -> Control:
    def kind_of(context: Object) -> str | None:
        profile = context.get("seccompProfile")
        return None if profile is None else str(profile.get("type", ""))

    def control(pod: Pod) -> Violation | None:
        whole = kind_of(pod.context)
        each = [(name, kind_of(context)) for name, _, context in pod.containers()]
        wrong = [(name, kind) for name, kind in each if kind not in (None, *_SECCOMP_TYPES)]
        pod_is_bad = whole not in (None, *_SECCOMP_TYPES)
        setters = _setters([name for name, _ in wrong], pod=pod_is_bad)
        if setters:
            values = sorted(
                {str(kind) for kind in (*([whole] if pod_is_bad else []), *dict(wrong).values())}
            )
            what = f"must not set securityContext.seccompProfile.type to {_quoted(values)}"
            return Violation("seccompProfile", f"{' and '.join(setters)} {what}")
        silent = [name for name, kind in each if kind is None and whole is None and required]
        what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        return Violation("seccompProfile", f"pod or {_who(silent)} {what}") if silent else None

    return control


_SYSCTLS_0 = frozenset(
    [
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    ]
)
_SYSCTLS_27 = _SYSCTLS_0 | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29 = _SYSCTLS_27 | {
    f"net.ipv4.tcp_{each}"
    for each in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")
}
_SYSCTLS_32 = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def _sysctls(allowed: frozenset[str]) -> Control:
    def control(pod: Pod) -> Violation | None:
        names = [each.get("name", "") for each in items(pod.context, "sysctls")]
        bad = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return control


def _host_process(pod: Pod) -> Violation | None:
    def wants(context: Object) -> bool:
        return bool(part(context, "windowsOptions").get("hostProcess"))

    bad = [name for name, _, context in pod.containers() if wants(context)]
    setters = _setters(bad, pod=wants(pod.context))
    what = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{' and '.join(setters)} {what}") if setters else None


_BASELINE: dict[str, dict[int, Control]] = {
    "appArmorProfile": {0: _apparmor},
    "capabilities_baseline": {0: _capabilities},
    "hostNamespaces": {0: _host_namespaces},
    "hostPathVolumes": {0: _host_paths},
    "hostPorts": {0: _host_ports},
    "hostProbesAndHostLifecycle": {34: _probe_hosts},
    "privileged": {0: _privileged},
    "procMount": {0: _proc_mount, 35: _without_own_users(_proc_mount)},
    "seLinuxOptions": {
        0: _selinux(_SELINUX_TYPES),
        31: _selinux(_SELINUX_TYPES | {"container_engine_t"}),
    },
    "seccompProfile_baseline": {0: _seccomp_annotations, 19: _seccomp(required=False)},
    "sysctls": {
        0: _sysctls(_SYSCTLS_0),
        27: _sysctls(_SYSCTLS_27),
        29: _sysctls(_SYSCTLS_29),
        32: _sysctls(_SYSCTLS_32),
    },
    "windowsHostProcess": {0: _host_process},
}
"""Each control by the minor version of Kubernetes 1 from which it reads so."""

_RESTRICTED: dict[str, dict[int, Control]] = {
    "allowPrivilegeEscalation": {8: _privilege_escalation, 25: _on_linux(_privilege_escalation)},
    "capabilities_restricted": {22: _few_capabilities, 25: _on_linux(_few_capabilities)},
    "procMount_restricted": {35: _proc_mount},
    "restrictedVolumes": {0: _volume_types},
    "runAsNonRoot": {0: _not_root, 35: _without_own_users(_not_root)},
    "runAsUser": {23: _user_zero, 35: _without_own_users(_user_zero)},
    "seccompProfile_restricted": {
        19: _seccomp(required=True),
        25: _on_linux(_seccomp(required=True)),
    },
}
_REPLACED = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "restrictedVolumes": "hostPathVolumes",
    "seccompProfile_restricted": "seccompProfile_baseline",
}
NEWEST = 35
"""The version after which no control has changed."""


def violations(level: str, minor: int | None, meta: Object, spec: Object) -> list[Violation]:
    """Everything that a pod does against a level of the standards as of a version; None means the newest."""
    if level == "privileged":
        return []
    pod = Pod(meta, spec)
    controls = _controls(level, NEWEST if minor is None else min(minor, NEWEST))
    return [found for control in controls if (found := control(pod)) is not None]


@lru_cache(maxsize=128)
def _controls(level: str, minor: int) -> tuple[Control, ...]:
    """What holds, the lower level first."""
    strict = _as_of(_RESTRICTED, minor) if level == "restricted" else {}
    replaced = {_REPLACED.get(name) for name in strict}
    basic = {name: each for name, each in _as_of(_BASELINE, minor).items() if name not in replaced}
    return (*basic.values(), *strict.values())


def _as_of(table: dict[str, dict[int, Control]], minor: int) -> dict[str, Control]:
    held = {name: [since for since in table[name] if since <= minor] for name in sorted(table)}
    return {name: table[name][max(since)] for name, since in held.items() if since}
