"""The controls of the level `baseline`: nothing that is known to lead out of a container."""

from pocketkube.apiserver.admission.podcontrols import (
    Control,
    Object,
    Pod,
    Violation,
    many,
    quoted,
    setters_of,
    who,
)
from pocketkube.apiserver.admission.verdicts import items, part
from pocketkube.apiserver.fielderrors import quote

_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def apparmor(pod: Pod) -> Violation | None:
    """AppArmor may not be switched off."""

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
    setters = setters_of(bad, pod=on_pod is not None)
    if annotations:
        setters.append(many("annotation", len(annotations)))
        values += annotations
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {quoted(values)}"
    return Violation(many("forbidden AppArmor profile", len(values)), detail)


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


def added(pod: Pod, allowed: frozenset[str]) -> str:
    """Tells who adds capabilities that are not allowed."""
    found = {
        name: {each for each in items(part(context, "capabilities"), "add") if each not in allowed}
        for name, _, context in pod.containers()
    }
    bad = [name for name, added in found.items() if added]
    extra = sorted(set().union(*found.values()))
    what = f"must not include {quoted(extra)} in securityContext.capabilities.add"
    return f"{who(bad)} {what}" if bad else ""


def capabilities(pod: Pod) -> Violation | None:
    """No capabilities beyond those of container runtimes."""
    detail = added(pod, _DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", detail) if detail else None


def host_namespaces(pod: Pod) -> Violation | None:
    """No network, processes or shared memory of the node's."""
    used = [f"{each}=true" for each in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(each)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def host_paths(pod: Pod) -> Violation | None:
    """No files of the node."""
    volumes = items(pod.spec, "volumes")
    bad = [each.get("name", "") for each in volumes if each.get("hostPath") is not None]
    return Violation("hostPath volumes", who(bad, "volume")) if bad else None


def host_ports(pod: Pod) -> Violation | None:
    """No ports of the node."""
    found = {
        name: {str(port["hostPort"]) for port in items(container, "ports") if port.get("hostPort")}
        for name, container, _ in pod.containers()
    }
    bad = [name for name, ports in found.items() if ports]
    ports = sorted(set().union(*found.values()))
    use, word = many("uses", len(bad), "use"), many("hostPort", len(ports))
    return Violation("hostPort", f"{who(bad)} {use} {word} {', '.join(ports)}") if bad else None


_PROBES = "livenessProbe", "readinessProbe", "startupProbe"


def probe_hosts(pod: Pod) -> Violation | None:
    """Probes and hooks may not name other hosts."""
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
    use, word = many("uses", len(bad), "use"), many("probe or lifecycle host", len(every))
    return Violation("probe or lifecycle host", f"{who(bad)} {use} {word} {quoted(every)}")


def privileged(pod: Pod) -> Violation | None:
    """No privileged containers."""
    bad = [name for name, _, context in pod.containers() if context.get("privileged")]
    detail = f"{who(bad)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if bad else None


def proc_mount(pod: Pod) -> Violation | None:
    """The usual masks over /proc."""
    found = [
        (name, context["procMount"])
        for name, _, context in pod.containers()
        if context.get("procMount") not in (None, "Default")
    ]
    kinds = sorted({kind for _, kind in found})
    what = f"must not set securityContext.procMount to {quoted(kinds)}"
    return Violation("procMount", f"{who([n for n, _ in found])} {what}") if found else None


SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})


def selinux(types: frozenset[str]) -> Control:
    """Only these types of SELinux contexts, and neither user nor role."""

    def control(pod: Pod) -> Violation | None:
        def faults(context: Object) -> set[tuple[str, str]]:
            options = part(context, "seLinuxOptions")
            kind = options.get("type", "")
            found = {("type", kind)} if kind not in types else set()
            return found | {(each, "") for each in ("user", "role") if options.get(each)}

        on_pod = faults(pod.context)
        found = {name: faults(context) for name, _, context in pod.containers()}
        setters = setters_of([name for name, each in found.items() if each], pod=bool(on_pod))
        every = on_pod.union(*found.values())
        kinds = sorted(kind for what, kind in every if what == "type")
        data = [f"{many('type', len(kinds))} {quoted(kinds)}"] if kinds else []
        data += [f"{each} may not be set" for each in ("user", "role") if (each, "") in every]
        stated = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return Violation("seLinuxOptions", stated) if setters else None

    return control


_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_TYPES = "RuntimeDefault", "Localhost"


def seccomp_annotations(pod: Pod) -> Violation | None:
    """Seccomp as it was said before there were fields for it."""
    annotations = part(pod.meta, "annotations")
    keys = {_SECCOMP, *(_SECCOMP_OF + name for name, _, _ in pod.containers())}
    bad = sorted(
        f"{key}={quote(annotations[key])}"
        for key in keys & annotations.keys()
        if annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    )
    detail = f"forbidden {many('annotation', len(bad))} {', '.join(bad)}"
    return Violation("seccompProfile", detail) if bad else None


def seccomp(*, required: bool) -> Control:
    """Seccomp may not be switched off; where it is `required` it must also be named."""

    def kind_of(context: Object) -> str | None:
        profile = context.get("seccompProfile")
        return None if profile is None else str(profile.get("type", ""))

    def control(pod: Pod) -> Violation | None:
        whole = kind_of(pod.context)
        each = [(name, kind_of(context)) for name, _, context in pod.containers()]
        wrong = [(name, kind) for name, kind in each if kind not in (None, *_SECCOMP_TYPES)]
        pod_is_bad = whole not in (None, *_SECCOMP_TYPES)
        setters = setters_of([name for name, _ in wrong], pod=pod_is_bad)
        if setters:
            values = sorted(
                {str(kind) for kind in (*([whole] if pod_is_bad else []), *dict(wrong).values())}
            )
            what = f"must not set securityContext.seccompProfile.type to {quoted(values)}"
            return Violation("seccompProfile", f"{' and '.join(setters)} {what}")
        silent = [name for name, kind in each if kind is None and whole is None and required]
        what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        return Violation("seccompProfile", f"pod or {who(silent)} {what}") if silent else None

    return control


SYSCTLS_0 = frozenset(
    [
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    ]
)
SYSCTLS_27 = SYSCTLS_0 | {"net.ipv4.ip_local_reserved_ports"}
SYSCTLS_29 = SYSCTLS_27 | {
    f"net.ipv4.tcp_{each}"
    for each in ("keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes")
}
SYSCTLS_32 = SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}


def sysctls(allowed: frozenset[str]) -> Control:
    """Only these kernel parameters."""

    def control(pod: Pod) -> Violation | None:
        names = [each.get("name", "") for each in items(pod.context, "sysctls")]
        bad = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(bad)) if bad else None

    return control


def host_process(pod: Pod) -> Violation | None:
    """No Windows containers that run as processes of the node."""

    def wants(context: Object) -> bool:
        return bool(part(context, "windowsOptions").get("hostProcess"))

    bad = [name for name, _, context in pod.containers() if wants(context)]
    setters = setters_of(bad, pod=wants(pod.context))
    what = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{' and '.join(setters)} {what}") if setters else None
