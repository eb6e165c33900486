"""Who judges the objects of which kind. A kind that is not named here is plain: stored, with checked metadata only."""

from collections.abc import Mapping
from typing import Final

from pocketkube.apiserver.kinds.budgets import Budgets
from pocketkube.apiserver.kinds.completed import (
    COMPLETED,
    Completed,
    ResourceSlices,
    SigningRequests,
)
from pocketkube.apiserver.kinds.configs import ConfigMaps, Secrets
from pocketkube.apiserver.kinds.cronjobs import CronJobs
from pocketkube.apiserver.kinds.definition import Definitions
from pocketkube.apiserver.kinds.events import Events, NewEvents
from pocketkube.apiserver.kinds.jobs import Jobs
from pocketkube.apiserver.kinds.leases import Leases
from pocketkube.apiserver.kinds.limitranges import LimitRanges
from pocketkube.apiserver.kinds.namespaces import Namespaces
from pocketkube.apiserver.kinds.nodes import Nodes
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.pods import Pods
from pocketkube.apiserver.kinds.policies import Policies, PolicyBindings
from pocketkube.apiserver.kinds.priorities import PriorityClasses
from pocketkube.apiserver.kinds.quotas import ResourceQuotas
from pocketkube.apiserver.kinds.rbac import RoleBindings, Roles
from pocketkube.apiserver.kinds.services import Services
from pocketkube.apiserver.kinds.statefulsets import DaemonSets, StatefulSets
from pocketkube.apiserver.kinds.strategy import Strategy
from pocketkube.apiserver.kinds.templates import PodTemplates
from pocketkube.apiserver.kinds.webhookconfigurations import WebhookConfigurations
from pocketkube.apiserver.kinds.workloads import Deployments, ReplicaSets, ReplicationControllers

_JUDGED: Final[Mapping[str, type[Plain]]] = {
    **dict.fromkeys(COMPLETED, Completed),
    "CertificateSigningRequest": SigningRequests,
    "ClusterRole": Roles,
    "ClusterRoleBinding": RoleBindings,
    "ConfigMap": ConfigMaps,
    "CronJob": CronJobs,
    "CustomResourceDefinition": Definitions,
    "DaemonSet": DaemonSets,
    "Deployment": Deployments,
    "Event": Events,
    "Job": Jobs,
    "Lease": Leases,
    "LimitRange": LimitRanges,
    "MutatingAdmissionPolicy": Policies,
    "MutatingAdmissionPolicyBinding": PolicyBindings,
    "MutatingWebhookConfiguration": WebhookConfigurations,
    "Namespace": Namespaces,
    "Node": Nodes,
    "Pod": Pods,
    "PodDisruptionBudget": Budgets,
    "PodTemplate": PodTemplates,
    "PriorityClass": PriorityClasses,
    "ReplicaSet": ReplicaSets,
    "ReplicationController": ReplicationControllers,
    "ResourceQuota": ResourceQuotas,
    "ResourceSlice": ResourceSlices,
    "Role": Roles,
    "RoleBinding": RoleBindings,
    "Secret": Secrets,
    "Service": Services,
    "StatefulSet": StatefulSets,
    "ValidatingAdmissionPolicy": Policies,
    "ValidatingAdmissionPolicyBinding": PolicyBindings,
    "ValidatingWebhookConfiguration": WebhookConfigurations,
}

_VERSIONED: Final = frozenset(
    {
        "CSIDriver", "CSINode", "CSIStorageCapacity", "CustomResourceDefinition", "Lease",
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
        "PodDisruptionBudget", "RuntimeClass", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment",
    }
)  # fmt: skip
"""Updates of these must say which version they replace."""

_MADE_BY_UPDATE: Final = frozenset(
    {
        "ClusterRole", "ClusterRoleBinding", "Endpoints", "Event", "Lease", "LimitRange", "Role",
        "RoleBinding", "RuntimeClass", "Service",
    }
)  # fmt: skip


def make(
    api_version: str, kind: str, *, namespaced: bool, has_status: bool, generational: bool
) -> Strategy:
    """Makes the strategy of a kind in a version."""
    judge = NewEvents if api_version == "events.k8s.io/v1" else _JUDGED.get(kind, Plain)
    strategy = judge(
        api_version,
        kind,
        namespaced=namespaced,
        has_status=has_status,
        generational=generational,
    )
    strategy.unconditional = kind not in _VERSIONED
    strategy.created_by_update = kind in _MADE_BY_UPDATE
    return strategy
