"""ReplicaSets: so many pods of one template, no more and no fewer.

A pod that has ended or been told to end no longer counts and is replaced at once; what is too much goes in the order in which
least is lost. Pods and status are written side by side, so that a pod that a quota refuses does not hide the others. Pods
that were refused are not reported as a condition (`ReplicaFailure`): a plan does not learn how it went.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kubeloop.client.client import Client
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Key
from kubeloop.objects.plan import NOTHING, Create, Delete, Plan, Step
from kubeloop.objects.workloads import REPLICA_SETS, ReplicaSet, ReplicaSetStatus
from kubeloop.runtime.manager import Manager
from pocketkube.controllers import pod_control
from pocketkube.controllers.adoption import Family, taken

BURST = 500
"""How many pods one turn makes or deletes at most."""


class ReplicaSets:
    """Keeps the pods of all ReplicaSets."""

    def __init__(self, manager: Manager, client: Client) -> None:
        self._family = Family(manager, client, REPLICA_SETS, PODS, lambda rs: rs.spec.selector)
        controller = manager.controller("replicasets", self._reconcile)
        controller.follow(self._family.owners)
        controller.follow(self._family.children, self._family.parents)

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        owner = self._family.owners.reader.get(key)
        if owner is None or owner.metadata.deletion_timestamp is not None:
            return NOTHING
        pods = await self._family.of(owner)
        active = [pod for pod in pods.mine if pod_control.is_active(pod)]
        readiness = pod_control.readiness(active, owner.spec.min_ready_seconds, now)
        status = status_of(owner, active, readiness)
        stated = pod_control.report(REPLICA_SETS, owner, owner.status, status)
        steps = (*self._scale(owner, active), *stated)
        return Plan().then(*pods.claims).then(*steps).requeue(readiness.next_at)

    def _scale(self, owner: ReplicaSet, active: Sequence[Pod]) -> tuple[Step, ...]:
        missing = min(owner.spec.replicas - len(active), BURST)
        if missing <= 0:
            return surplus(active, owner.spec.replicas)
        meta = owner.metadata
        free = taken(self._family.children.reader.get, meta.namespace)
        return tuple(
            Create(PODS, pod_control.pod_from(owner.spec.template, REPLICA_SETS, owner, name))
            for name in pod_control.fresh_names(meta.name, meta.uid, free, missing)
        )


def surplus(active: Sequence[Pod], wanted: int) -> tuple[Delete, ...]:
    """Deletes what is more than wanted, least valuable first."""
    excess = min(len(active) - wanted, BURST)
    return tuple(
        pod_control.end(PODS, pod) for pod in pod_control.by_worth(active)[: max(excess, 0)]
    )


def status_of(
    owner: ReplicaSet, active: Sequence[Pod], readiness: pod_control.Readiness
) -> ReplicaSetStatus:
    """Counts the pods of a ReplicaSet."""
    labels = pod_control.labels_of(owner.spec.template).items()
    return msgspec.structs.replace(
        owner.status,
        observed_generation=owner.metadata.generation,
        replicas=len(active),
        fully_labeled_replicas=sum(labels <= pod.metadata.labels.items() for pod in active),
        ready_replicas=readiness.ready,
        available_replicas=readiness.available,
    )
