"""The permissions of the manager and the roles for users: what every installation needs, and what domains add."""

from collections.abc import Sequence

from korder import rbac
from korder.domains import DOMAINS
from korder.install_config import LEASE, MANAGER, WEBHOOK, Site, meta
from korder.rbac import Rule, may
from kubeloop.objects.meta import JSON

_ADMISSION = "admissionregistration.k8s.io"
_LEASES = "coordination.k8s.io"
_EVERYWHERE: tuple[Rule, ...] = (
    may(("create", "patch"), "events.k8s.io", "events"),
    may(
        ("get", "patch"),
        _ADMISSION,
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        names=(WEBHOOK,),
    ),
    may(("get",), rbac.GROUP, "clusterrolebindings", names=(MANAGER,)),
)
_AT_HOME: tuple[Rule, ...] = (
    may(("create",), _LEASES, "leases"),
    may(("get", "patch"), _LEASES, "leases", names=(LEASE,)),
    may(("create",), "", "secrets"),
    may(("get", "patch"), "", "secrets", names=(WEBHOOK,)),
)


def rights(place: Site) -> tuple[dict[str, JSON], ...]:
    """All roles and bindings of an installation."""
    home = place.namespace
    cluster = [rule for domain in DOMAINS for rule in domain.rbac.cluster]
    local: dict[str, list[Rule]] = {home: [*_AT_HOME]}
    for domain in DOMAINS:
        for namespace, rules in domain.rbac.namespaces.items():
            local.setdefault(namespace, []).extend(rules)
    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(MANAGER, home)},
        rbac.role("ClusterRole", meta(MANAGER), [*cluster, *_EVERYWHERE]),
        _binding("ClusterRoleBinding", meta(MANAGER), "ClusterRole", place),
        *(each for namespace, rules in local.items() for each in _local(namespace, rules, place)),
        *(role for domain in DOMAINS for role in domain.rbac.roles),
    )


def _local(namespace: str, rules: Sequence[Rule], place: Site) -> tuple[dict[str, JSON], ...]:
    metadata = meta(MANAGER, namespace)
    return (
        rbac.role("Role", metadata, rules),
        _binding("RoleBinding", metadata, "Role", place),
    )


def _binding(kind: str, metadata: dict[str, JSON], role: str, place: Site) -> dict[str, JSON]:
    return {
        "apiVersion": f"{rbac.GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": rbac.GROUP, "kind": role, "name": MANAGER},
        "subjects": [{"kind": "ServiceAccount", "name": MANAGER, "namespace": place.namespace}],
    }
