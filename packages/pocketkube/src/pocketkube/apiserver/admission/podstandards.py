"""The Pod Security Standards: which controls hold on which level, as of which version of Kubernetes.

`podsecurity` asks `violations` of pods and of workloads' templates. Texts and versions are those of the reference
implementation.
"""

from functools import lru_cache

from pocketkube.apiserver.admission import (
    baselinecontrols as baseline,
    restrictedcontrols as restricted,
)
from pocketkube.apiserver.admission.podcontrols import (
    Control,
    Object,
    Pod,
    Violation,
    on_linux,
    without_own_users,
)

_BASELINE: dict[str, dict[int, Control]] = {
    "appArmorProfile": {0: baseline.apparmor},
    "capabilities_baseline": {0: baseline.capabilities},
    "hostNamespaces": {0: baseline.host_namespaces},
    "hostPathVolumes": {0: baseline.host_paths},
    "hostPorts": {0: baseline.host_ports},
    "hostProbesAndHostLifecycle": {34: baseline.probe_hosts},
    "privileged": {0: baseline.privileged},
    "procMount": {0: baseline.proc_mount, 35: without_own_users(baseline.proc_mount)},
    "seLinuxOptions": {
        0: baseline.selinux(baseline.SELINUX_TYPES),
        31: baseline.selinux(baseline.SELINUX_TYPES | {"container_engine_t"}),
    },
    "seccompProfile_baseline": {
        0: baseline.seccomp_annotations,
        19: baseline.seccomp(required=False),
    },
    "sysctls": {
        0: baseline.sysctls(baseline.SYSCTLS_0),
        27: baseline.sysctls(baseline.SYSCTLS_27),
        29: baseline.sysctls(baseline.SYSCTLS_29),
        32: baseline.sysctls(baseline.SYSCTLS_32),
    },
    "windowsHostProcess": {0: baseline.host_process},
}
"""Each control by the minor version of Kubernetes 1 from which it reads so."""

_RESTRICTED: dict[str, dict[int, Control]] = {
    "allowPrivilegeEscalation": {
        8: restricted.privilege_escalation,
        25: on_linux(restricted.privilege_escalation),
    },
    "capabilities_restricted": {
        22: restricted.few_capabilities,
        25: on_linux(restricted.few_capabilities),
    },
    "procMount_restricted": {35: baseline.proc_mount},
    "restrictedVolumes": {0: restricted.volume_types},
    "runAsNonRoot": {0: restricted.not_root, 35: without_own_users(restricted.not_root)},
    "runAsUser": {23: restricted.user_zero, 35: without_own_users(restricted.user_zero)},
    "seccompProfile_restricted": {
        19: baseline.seccomp(required=True),
        25: on_linux(baseline.seccomp(required=True)),
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
