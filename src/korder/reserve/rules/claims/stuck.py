"""Pods that were let go, tied to their node, and are not bound there: who took their room, and what becomes of them.

`handover` asks about each of its open members. Only a new pod can go elsewhere, so one that has a controller is deleted for that
controller to make it again; any other is told that it is stuck.
"""

from korder.api import core, noderoom
from korder.api.core import PODS, Pod
from korder.api.meta import controller_of, key_of
from korder.api.plan import Delete, EventType, Notice, Plan, Step
from korder.api.reserve import Reason
from korder.reserve.rules.claims import claimsteps, endings
from korder.reserve.rules.claims.members import Member
from korder.reserve.rules.claims.scene import Scene, age


def is_pushed_out(scene: Scene, pod: Pod) -> bool:
    """Says whether the scheduler has tried the pod, and the node has no room for it."""
    tried = core.reported(pod.status.conditions, "PodScheduled")
    return (
        tried is not None
        and tried.reason == "Unschedulable"
        and not pod.status.nominated_node_name
        and bool(scene.room().lacks(noderoom.demand_of(pod)))
    )


def stolen(scene: Scene, member: Member, pod: Pod) -> Plan:
    """Ends the wait of a pod whose room somebody else has taken."""
    return _abandoned(scene, member, pod, Reason.STOLEN, _thief(scene, pod))


def never_bound(scene: Scene, member: Member, pod: Pod) -> Plan:
    """Ends the wait of a pod that was not bound in time, with what the scheduler last said about it."""
    tried = core.reported(pod.status.conditions, "PodScheduled")
    said = tried.message if tried is not None else ""
    why = said or "The scheduler did not bind it."
    return _abandoned(scene, member, pod, Reason.NEVER_BOUND, why)


def _abandoned(scene: Scene, member: Member, pod: Pod, reason: Reason, message: str) -> Plan:
    meta = pod.metadata
    if scene.settings.recreate_stuck_pods and controller_of(pod) is not None:
        note = f"Deleted so that its controller makes it again: {message}"
        step: Step = Delete(PODS, key_of(pod), meta.uid, meta.resource_version)
    else:
        note = f"The pod is tied to node {scene.node} without a ticket: {message}"
        promised = pod.status.nominated_node_name
        step = claimsteps.tell(pod, reason, message, scene.now, node=promised)
    notice = Notice(PODS, pod, reason, note, EventType.WARNING, "GiveBack", step)
    ending = endings.unbound(member, reason, message, scene.now)
    freed = [each for stage in ending.stages for each in stage]
    return Plan().then(step).then(*freed).tell(notice, *ending.notices)


def _thief(scene: Scene, pod: Pod) -> str:
    """Names the pod that probably took the room: the youngest on the node that may come before this one."""
    rank = pod.spec.priority or 0
    others = scene.site.pods if scene.site is not None else ()
    above = [other for other in others if (other.spec.priority or 0) >= rank]
    if not above:
        return f"Node {scene.node} has no room any more."
    return f"Its room on node {scene.node} was taken by pod {key_of(max(above, key=age))}."
