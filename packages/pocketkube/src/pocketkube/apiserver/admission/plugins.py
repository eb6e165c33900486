"""The chain of a default kube-apiserver 1.36, in its order; what it has and this one lacks is in docs/embedded-differences.md.

The server makes it once. Policies and webhooks come after everything that is built in and before the quota, which is last so
that only what will be written is charged.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from random import Random

from pocketkube.apiserver.admission.attributes import Plugin
from pocketkube.apiserver.admission.lifecycle import NamespaceLifecycle
from pocketkube.apiserver.admission.limitranger import LimitRanger
from pocketkube.apiserver.admission.nodetaint import TaintNodesByCondition
from pocketkube.apiserver.admission.podsecurity import PodSecurity
from pocketkube.apiserver.admission.priority import Priority
from pocketkube.apiserver.admission.resourcequota import ResourceQuota
from pocketkube.apiserver.admission.runtimeclass import RuntimeClass
from pocketkube.apiserver.admission.serviceaccount import ServiceAccount
from pocketkube.apiserver.admission.storageclass import DefaultStorageClass
from pocketkube.apiserver.admission.storageprotection import StorageObjectInUseProtection
from pocketkube.apiserver.admission.tolerationseconds import DefaultTolerationSeconds
from pocketkube.apiserver.admission.topologylabels import PodTopologyLabels
from pocketkube.apiserver.view import View


def default_plugins(
    view: View, now: Callable[[], datetime], rng: Random, dynamic: Sequence[Plugin] = ()
) -> tuple[Plugin, ...]:
    """All plugins; `dynamic` are policies and webhooks: those that mutate first, then those that only judge."""
    return (
        NamespaceLifecycle(view),
        LimitRanger(view),
        ServiceAccount(view, rng),
        TaintNodesByCondition(),
        PodSecurity(view),
        Priority(view),
        DefaultTolerationSeconds(),
        DefaultStorageClass(view),
        StorageObjectInUseProtection(),
        RuntimeClass(view),
        PodTopologyLabels(view),
        *dynamic,
        ResourceQuota(view, now),
    )
