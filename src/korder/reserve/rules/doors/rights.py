"""Who may do what: the manager exactly what it does, and roles for people to be given.

`objects` puts them among what is installed. The roles for people add themselves to Kubernetes' own admin, edit and view, so that who
may change the pods of a namespace may change its orders. Nobody is given `status`: what it says is the manager's word.
"""

from collections.abc import Sequence
from itertools import product

from korder.api.meta import JSON
from korder.reserve.rules.doors import site
from korder.reserve.rules.doors.site import JUDGING, MANAGER, WEBHOOK, Site, meta

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_LEASES = "coordination.k8s.io"
READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")

_ROLES = {"admin": ("*",), "editor": (*READ, *WRITE), "viewer": READ}
_JOINS = {"admin": "admin", "editor": "edit", "viewer": "view"}
"""The role of Kubernetes that ours becomes a part of."""
_KINDS = {"order": "orders", "ticket": "tickets", "quota": "quotas"}
_NAMESPACED = ("order", "ticket")


def _may(
    verbs: Sequence[str], group: str, *resources: str, names: Sequence[str] = ()
) -> dict[str, JSON]:
    rule: dict[str, JSON] = {
        "apiGroups": [group],
        "resources": list(resources),
        "verbs": list(verbs),
    }
    return {**rule, "resourceNames": list(names)} if names else rule


_OURS = "core.korder.dev"
_EVERYWHERE: tuple[dict[str, JSON], ...] = (
    _may(("get", "list", "watch", "create", "patch", "delete"), "", "pods"),
    _may(("patch",), "", "pods/status"),
    _may(READ, "", "nodes", "namespaces"),
    _may(("patch",), "", "nodes"),
    _may(("get", "list", "watch", "patch"), _OURS, "orders", "quotas"),
    _may(("get", "list", "watch", "create", "patch", "delete"), _OURS, "tickets"),
    _may(("patch",), _OURS, "orders/status", "tickets/status", "quotas/status"),
    _may(("update",), _OURS, "orders/finalizers", "tickets/finalizers"),
    _may(("create", "patch"), "events.k8s.io", "events"),
    _may(
        ("get", "patch"),
        _ADMISSION,
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        names=(WEBHOOK,),
    ),
    _may(("get",), _ADMISSION, "validatingadmissionpolicies", names=(JUDGING,)),
    _may(("get",), _RBAC, "clusterrolebindings", names=(MANAGER,)),
)
_AT_HOME: tuple[dict[str, JSON], ...] = (
    _may(("create",), _LEASES, "leases"),
    _may(("get", "patch"), _LEASES, "leases", names=(site.LEASE,)),
    _may(("create",), "", "secrets"),
    _may(("get", "patch"), "", "secrets", names=(WEBHOOK,)),
)


def rights(place: Site) -> tuple[dict[str, JSON], ...]:
    """All roles and bindings of an installation."""
    return (*_managers(place), *(_for_people(*each) for each in product(_KINDS, _ROLES)))


def _managers(place: Site) -> tuple[dict[str, JSON], ...]:
    home = place.namespace
    scheduler = _may(("list", "watch"), _LEASES, "leases", names=("kube-scheduler",))
    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(MANAGER, home)},
        _role("ClusterRole", meta(MANAGER), _EVERYWHERE),
        _binding("ClusterRoleBinding", meta(MANAGER), "ClusterRole", place),
        _role("Role", meta(MANAGER, home), _AT_HOME),
        _binding("RoleBinding", meta(MANAGER, home), "Role", place),
        # A scheduler that begins anew has to be told again which room is spoken for.
        _role("Role", meta(MANAGER, "kube-system"), [scheduler]),
        _binding("RoleBinding", meta(MANAGER, "kube-system"), "Role", place),
    )


def _for_people(kind: str, role: str) -> dict[str, JSON]:
    metadata = meta(f"korder-{kind}-{role}")
    if kind in _NAMESPACED:
        aggregation: dict[str, JSON] = {f"{_RBAC}/aggregate-to-{_JOINS[role]}": "true"}
        metadata["labels"] = {**site.PART_OF, **aggregation}
    plural = _KINDS[kind]
    rules = [_may(_ROLES[role], _OURS, plural), _may(("get",), _OURS, f"{plural}/status")]
    if kind == "order" and role != "viewer":
        rules.append(_may(("get", "patch", "update"), _OURS, "orders/scale"))
    return _role("ClusterRole", metadata, rules)


def _role(
    kind: str, metadata: dict[str, JSON], rules: Sequence[dict[str, JSON]]
) -> dict[str, JSON]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": list(rules),
    }


def _binding(kind: str, metadata: dict[str, JSON], role: str, place: Site) -> dict[str, JSON]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": role, "name": MANAGER},
        "subjects": [{"kind": "ServiceAccount", "name": MANAGER, "namespace": place.namespace}],
    }
