"""What the scheduler writes about a decision: bindings, conditions, evictions and Events, in kube-scheduler's words."""

from collections.abc import Iterable
from datetime import datetime

from kubeloop.objects import core, instant
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import JSON, key_of
from kubeloop.objects.plan import NOTHING, Delete, Emit, EventType, Patch, PatchType, Plan, Post
from pocketkube.scheduler import preemption
from pocketkube.scheduler.pod_info import Tenant
from pocketkube.scheduler.schedule_one import Unschedulable

_SCHEDULED = "PodScheduled"


def bound(pod: Pod, node: str) -> Plan:
    """Gives a pod its node."""
    key = key_of(pod)
    target: JSON = {"apiVersion": "v1", "kind": "Node", "name": node}
    note = f"Successfully assigned {key} to {node}"
    return (
        Plan()
        .then(Post(PODS, key, "binding", {"target": target}, pod.metadata.uid))
        .tell(Emit(PODS, pod, "Scheduled", note, action="Binding"))
    )


def gated(pod: Pod, now: datetime) -> Plan:
    """Says that a pod is gated where the server has not done so when it was made."""
    if core.reported(pod.status.conditions, _SCHEDULED) is not None:
        return NOTHING
    message = "Scheduling is blocked due to non-empty scheduling gates"
    return _status(pod, "SchedulingGated", message, pod.status.nominated_node_name, now)


def unschedulable(
    tenant: Tenant,
    decision: Unschedulable,
    rivals: Iterable[Tenant],
    scheduler: str,
    now: datetime,
) -> Plan:
    """Says why a pod has no node, and begins to make room for it; `rivals` are nominated to the node that is cleared."""
    stated = Emit(
        PODS,
        tenant.pod,
        "FailedScheduling",
        decision.message,
        EventType.WARNING,
        action="Scheduling",
    )
    plan = _status(tenant.pod, "Unschedulable", decision.message, decision.nominated, now)
    victims = [v.pod for v in decision.victims if v.pod.metadata.deletion_timestamp is None]
    if victims:
        lesser = (_unnominated(r.pod) for r in rivals if r.priority < tenant.priority)
        plan = (
            plan.then(*lesser, *(_disrupted(victim, scheduler, now) for victim in victims))
            .then(*(Delete(PODS, key_of(v), v.metadata.uid) for v in victims))
            .tell(*(_pushed(victim, tenant.pod, decision.nominated) for victim in victims))
        )
    return plan.tell(stated)


def _status(pod: Pod, reason: str, message: str, nominated: str, now: datetime) -> Plan:
    """Reports that a pod is not scheduled, unless that is what it says already."""
    status: dict[str, JSON] = {}
    stated = core.reported(pod.status.conditions, _SCHEDULED)
    if stated is None or (stated.status, stated.reason, stated.message) != (
        "False",
        reason,
        message,
    ):
        condition: dict[str, JSON] = {
            "type": _SCHEDULED,
            "status": "False",
            "reason": reason,
            "message": message,
        }
        if stated is None or stated.status != "False":
            condition["lastTransitionTime"] = instant.render(now)
        status["conditions"] = [condition]
    if pod.status.nominated_node_name != nominated:
        status["nominatedNodeName"] = nominated or None
    return Plan().then(_patched(pod, status)) if status else NOTHING


def _disrupted(pod: Pod, scheduler: str, now: datetime) -> Patch:
    condition: JSON = {
        "type": preemption.DISRUPTION,
        "status": "True",
        "reason": preemption.BY_SCHEDULER,
        "message": f"{scheduler}: preempting to accommodate a higher priority pod",
        "lastTransitionTime": instant.render(now),
    }
    return _patched(pod, {"conditions": [condition]})


def _unnominated(pod: Pod) -> Patch:
    """A pod of lower priority may not fit any more where it was to go."""
    return _patched(pod, {"nominatedNodeName": None})


def _patched(pod: Pod, status: dict[str, JSON]) -> Patch:
    return Patch(
        PODS,
        key_of(pod),
        {"status": status},
        PatchType.STRATEGIC,
        subresource="status",
        uid=pod.metadata.uid,
    )


def _pushed(victim: Pod, by: Pod, node: str) -> Emit:
    note = f"Preempted by pod {by.metadata.uid} on node {node}"
    return Emit(PODS, victim, "Preempted", note, action="Preempting")
