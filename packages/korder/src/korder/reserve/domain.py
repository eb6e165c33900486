"""The domain `reserve`: what it contributes to korder, its controllers one line each."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated

from korder import install_config, rbac
from korder.api import quota, reserve as api
from korder.api.reserve import GUARDIAN_PRIORITY_CLASS, ORDERS, RETURN_FINALIZER, SCHEDULING_GATE
from korder.domain import Domain, Flag, Trace
from korder.install_config import JUDGING, meta
from korder.rbac import READ, WRITE, Rbac, may
from korder.reserve.admission import configs, webhook
from korder.reserve.admission.webhook import Counted
from korder.reserve.claims import patches as claim_patches
from korder.reserve.claims.controller import Claims, SpoofedAnnotations
from korder.reserve.explain import reader
from korder.reserve.handovers import handover_state
from korder.reserve.handovers.controller import HandOvers
from korder.reserve.handovers.handover_state import Handover
from korder.reserve.metrics import Measuring
from korder.reserve.orders.controller import Orders
from korder.reserve.quotas.controller import QuotaCounter, Quotas, Renewing
from korder.reserve.tickets import guardian
from korder.reserve.tickets.controller import Tickets
from kubeloop.client.client import Client
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import Patch
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.webhook.handler import AdmissionHandler

_ROLES = {"admin": ("*",), "editor": (*READ, *WRITE), "viewer": READ}
_JOINS = {"admin": "admin", "editor": "edit", "viewer": "view"}
"""The role of Kubernetes that ours becomes a part of."""
_KINDS = {"order": "orders", "ticket": "tickets", "quota": "quotas"}
_NAMESPACED = ("order", "ticket")
_OURS = "core.korder.dev"


def _role(kind: str, name: str) -> dict[str, JSON]:
    metadata = meta(f"korder-{kind}-{name}")
    if kind in _NAMESPACED:
        aggregation: dict[str, JSON] = {f"{rbac.GROUP}/aggregate-to-{_JOINS[name]}": "true"}
        metadata["labels"] = {**install_config.PART_OF, **aggregation}
    plural = _KINDS[kind]
    rules = [may(_ROLES[name], _OURS, plural), may(("get",), _OURS, f"{plural}/status")]
    if kind == "order" and name != "viewer":
        rules.append(may(("get", "patch", "update"), _OURS, "orders/scale"))
    return rbac.role("ClusterRole", metadata, rules)


_RBAC = Rbac(
    cluster=(
        may(("get", "list", "watch", "create", "patch", "delete"), "", "pods"),
        may(("patch",), "", "pods/status"),
        may(READ, "", "nodes", "namespaces"),
        may(("patch",), "", "nodes"),
        may(("get", "list", "watch", "patch"), _OURS, "orders", "quotas"),
        may(("get", "list", "watch", "create", "patch", "delete"), _OURS, "tickets"),
        may(("patch",), _OURS, "orders/status", "tickets/status", "quotas/status"),
        may(("update",), _OURS, "orders/finalizers", "tickets/finalizers"),
        may(
            ("get",),
            "admissionregistration.k8s.io",
            "validatingadmissionpolicies",
            names=(JUDGING,),
        ),
    ),
    # A scheduler that restarts has to get the nominations again.
    namespaces={
        "kube-system": [
            may(("list", "watch"), "coordination.k8s.io", "leases", names=("kube-scheduler",))
        ]
    },
    roles=tuple(_role(*each) for each in product(_KINDS, _ROLES)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How orders and tickets are served.

    Attributes:
        guardian_image: The image of guardians.
        pull_secrets: Secrets with which that image is pulled, in the namespaces of the tickets.
        allow_system_classes: Whether a ticket may name a priority class of the system.
        recreate_stuck_pods: Whether a pod that was given a ticket and cannot be bound is deleted if its controller makes another.
        handover: How room on a full node is kept while it is handed over.
        return_finalizer: Whether pods whose room goes back to their ticket are deleted only behind the barrier, by a finalizer on them.
    """

    guardian_image: Annotated[str, Flag("What guardians run.")] = guardian.DEFAULT_IMAGE
    pull_secrets: Annotated[
        tuple[str, ...],
        Flag(
            "A Secret to pull that image with; can be said several times.", "--guardian-pull-secret"
        ),
    ] = ()
    allow_system_classes: Annotated[
        bool, Flag("Let guardians have a system- priority class.", "--allow-system-classes")
    ] = False
    recreate_stuck_pods: Annotated[
        bool, Flag("Delete pods that cannot be bound, if their controller makes new.")
    ] = True
    handover: Annotated[
        Handover, Flag("Keep room for claimants by a taint, or by nomination only.")
    ] = Handover.TAINT
    return_finalizer: Annotated[
        bool,
        Flag(
            "Keep deleted pods of tickets with afterUse: Reserve until their room is protected.",
            "--return-finalizer",
        ),
    ] = False


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


def _controllers(
    manager: Manager, options: Options, clock: Clock
) -> Mapping[str, AdmissionHandler]:
    counted = add_reserve(manager, options)
    return webhook.by_path(clock, counted, system_classes=options.allow_system_classes)


PRIORITY = 1_000_000
"""Of guardians: above what people usually run, far below what the system itself runs."""


def priority_class() -> dict[str, JSON]:
    """The class of guardians: pods of usual priorities do not preempt them, and they preempt no pod."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": meta(GUARDIAN_PRIORITY_CLASS),
        "value": PRIORITY,
        "preemptionPolicy": "Never",
        "description": "Pods that hold room for tickets of korder.",
    }


def _untainted(node: Node) -> Patch | None:
    return claim_patches.lowered(node) if claim_patches.token_of(node) else None


def _released(pod: Pod) -> Patch | None:
    return claim_patches.release(pod) if RETURN_FINALIZER in pod.metadata.finalizers else None


async def _left_waiting(client: Client) -> str:
    waiting = [
        str(key_of(pod))
        for pod in (await client.list(PODS)).items
        if any(gate.name == SCHEDULING_GATE for gate in pod.spec.scheduling_gates)
    ]
    return (
        f"still waiting for tickets that nobody will give: {', '.join(waiting)}" if waiting else ""
    )


RESERVE: Domain[Options] = Domain(
    name="reserve",
    definitions=(*api.DEFINITIONS, *quota.DEFINITIONS),
    options=USUAL,
    controllers=_controllers,
    check=webhook.check,
    rbac=_RBAC,
    objects=lambda _: (priority_class(),),
    webhooks=configs.webhooks,
    policies=configs.policies,
    guards=configs.fence,
    unguarded="the manager's right to patch nodes is not limited to its taint",
    verbs={"tickets": "korder.cli.tickets", "quota": "korder.cli.quota"},
    explains={
        PODS: reader.explain_pod,
        ORDERS: reader.explain_order,
        api.TICKETS: reader.explain_ticket,
        quota.QUOTAS: reader.explain_quota,
        NODES: reader.explain_node,
    },
    explain_reads=(ORDERS, api.TICKETS),
    traces=(Trace(NODES, _untainted), Trace(PODS, _released)),
    left_waiting=_left_waiting,
    scenario="korder.reserve.scenarios.scenario:RESERVE",
)
