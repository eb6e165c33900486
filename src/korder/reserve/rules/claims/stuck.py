"""Pods that were let go, tied to their node, and are not bound there: who took their room, and what becomes of them.

`handover` asks about each of its open members. Only a new pod can go elsewhere, so one that has a controller is deleted for that
controller to make it again; any other is told that it is stuck.
"""

from korder.api import noderoom
from korder.api.core import PODS, Pod
from korder.api.meta import controller_of, key_of
from korder.api.plan import Delete, EventType, Notice, Plan, Step
from korder.api.reserve import Reason
from korder.api.workloads import JOBS
from korder.reserve.rules.claims import claimsteps, endings
from korder.reserve.rules.claims.members import Member
from korder.reserve.rules.claims.scene import Scene, age
from korder.reserve.rules.tickets import picture

_COST = ", which costs its Job one of its tries (backoffLimit)"


def is_pushed_out(scene: Scene, pod: Pod) -> bool:
    """Says whether the scheduler has tried the pod, and the node has no room for it."""
    return (
        bool(picture.unschedulable(pod))
        and not pod.status.nominated_node_name
        and bool(scene.room().lacks(noderoom.demand_of(pod)))
    )


def stolen(scene: Scene, member: Member, pod: Pod) -> Plan:
    """Ends the wait of a pod whose room somebody else has taken."""
    return _abandoned(scene, member, pod, Reason.STOLEN, _thief(scene, pod))


def never_bound(scene: Scene, member: Member, pod: Pod) -> Plan:
    """Ends the wait of a pod that was not bound in time, with what the scheduler said about it, if it has looked at it at all."""
    why = picture.unschedulable(pod) or "The scheduler did not bind it."
    return _abandoned(scene, member, pod, Reason.NEVER_BOUND, why)


def _abandoned(scene: Scene, member: Member, pod: Pod, reason: Reason, message: str) -> Plan:
    meta, maker = pod.metadata, controller_of(pod)
    if scene.settings.recreate_stuck_pods and maker is not None:
        is_job = (maker.api_version, maker.kind) == (JOBS.api_version, JOBS.kind)
        cost = _COST if is_job else ""
        note = f"Deleted so that its controller makes it again{cost}: {message}"
        step: Step = Delete(PODS, key_of(pod), meta.uid, meta.resource_version)
    else:
        advice = f"Delete the pod and create it again: ticket {key_of(member.ticket)} {_outlook(member, reason)}."
        note = f"The pod is tied to node {scene.node} without a ticket: {message} {advice}"
        promised = pod.status.nominated_node_name
        step = claimsteps.tell(pod, reason, f"{message} {advice}", scene.now, node=promised)
    notice = Notice(PODS, pod, reason, note, EventType.WARNING, "GiveBack", step)
    ending = endings.unbound(member, reason, message, scene.now)
    freed = [each for stage in ending.stages for each in stage]
    return Plan().then(step).then(*freed).tell(notice, *ending.notices)


def _outlook(member: Member, reason: Reason) -> str:
    """What becomes of the ticket of a pod that was given up."""
    if member.firm:
        return "holds its room"
    return "waits for room" if reason is Reason.STOLEN else "takes its room back"


def _thief(scene: Scene, pod: Pod) -> str:
    """Names the pod that probably took the room: the youngest on the node that may come before this one."""
    rank = pod.spec.priority or 0
    others = scene.site.pods if scene.site is not None else ()
    above = [other for other in others if (other.spec.priority or 0) >= rank]
    if not above:
        return f"Node {scene.node} has no room any more."
    return f"Its room on node {scene.node} was taken by pod {key_of(max(above, key=age))}."
