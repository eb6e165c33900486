"""The domain `reserve`: its controllers, one line each, and the RBAC rules they need.

`korder manager` adds it on any cluster, `korder up` and simulation on the embedded one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from korder import install_config
from korder.api.reserve import ORDERS
from korder.install_config import JUDGING, MANAGER, WEBHOOK, Site, meta
from korder.reserve.admission.webhook import Counted
from korder.reserve.claims.controller import Claims, SpoofedAnnotations
from korder.reserve.handovers import handover_state
from korder.reserve.handovers.controller import HandOvers
from korder.reserve.handovers.handover_state import Handover
from korder.reserve.metrics import Measuring
from korder.reserve.orders.controller import Orders
from korder.reserve.quotas.controller import QuotaCounter, Quotas, Renewing
from korder.reserve.tickets import guardian
from korder.reserve.tickets.controller import Tickets
from kubeloop.objects.core import NODES
from kubeloop.objects.meta import JSON
from kubeloop.runtime.manager import Manager

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
    _may(("get", "patch"), _LEASES, "leases", names=(install_config.LEASE,)),
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
        metadata["labels"] = {**install_config.PART_OF, **aggregation}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How orders and tickets are served.

    Attributes:
        guardian_image: What guardians run.
        pull_secrets: Secrets with which that image is pulled, in the namespaces of the tickets.
        allow_system_classes: Whether a ticket may name a priority class of the system.
        recreate_stuck_pods: Whether a pod that was given a ticket and cannot be bound is deleted if its controller makes another.
        handover: What keeps room on a full node while it is handed over.
        return_finalizer: Whether pods whose room goes back to their ticket are deleted only behind the barrier, by a finalizer on them.
    """

    guardian_image: str = guardian.DEFAULT_IMAGE
    pull_secrets: tuple[str, ...] = ()
    allow_system_classes: bool = False
    recreate_stuck_pods: bool = True
    handover: Handover = Handover.TAINT
    return_finalizer: bool = False


USUAL = Options()


def add_reserve(manager: Manager, options: Options = USUAL) -> Counted:
    """Puts everything that looks after orders, tickets, quotas and the pods that ask for them on a manager, and what measures it.

    What comes back is what gates ask that serve admission in the same process.
    """
    guardians = guardian.Options(
        options.guardian_image,
        options.pull_secrets,
        options.allow_system_classes,
        options.handover is Handover.NOMINATE,
    )
    quota_counter = QuotaCounter(manager)
    Orders(manager, quota_counter)
    Quotas(manager, quota_counter)
    Tickets(manager, guardians, Renewing(quota_counter.quota_cache))
    Claims(manager)
    settings = handover_state.Settings(
        options.handover, options.recreate_stuck_pods, options.return_finalizer, guardians
    )
    HandOvers(manager, settings)
    SpoofedAnnotations(manager)
    Measuring(manager)
    nodes, orders = manager.informers.of(NODES).reader, manager.informers.of(ORDERS).reader
    return Counted(quota_counter.quota_cache, nodes.all, orders.get)
