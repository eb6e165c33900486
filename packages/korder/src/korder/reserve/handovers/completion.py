"""How a hand-over ends: completed, rolled back while our gate still holds the pod, or undone because a pod was never bound.

Every ending writes the ticket, the pod and an Event with the same reason. `HandoverSteps` collects the steps of a node and returns members that ran out of time
or lost their node.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from korder.api.reserve import TICKETS, ClaimReason, Reason, TicketPhase, TicketStatus
from korder.reserve.claims import patches as claim_patches, requirements
from korder.reserve.handovers.handover_state import NEVER, Member, Scene, age, beginning, is_marked
from korder.reserve.tickets import (
    deadlines,
    guardian,
    snapshot as ticket_snapshot,
    state as ticket_state,
    status as ticket_status,
)
from korder.reserve.tickets.guardian import Place
from korder.reserve.timeouts import TIMEOUTS
from kubeloop.objects import node_room
from kubeloop.objects.core import PODS, Pod, ReportedCondition
from kubeloop.objects.meta import HasMetadata, controller_of, key_of
from kubeloop.objects.plan import Create, Delete, Emit, EventType, Plan, Step
from kubeloop.objects.workloads import JOBS


def done(member: Member, pod: Pod, now: datetime) -> Plan:
    """The pod has its room."""
    ticket = member.ticket
    if member.shares:
        return ticket_status.report(ticket, _shared(member, now))
    rate = ticket_state.rate(ticket, ticket_state.share_of(ticket, pod))
    used = ticket_status.in_use(ticket, f"pod {key_of(pod)} has the room", rate, now)
    since = deadlines.cut_off(now)
    status = msgspec.structs.replace(used, claimed_time=since, claim_deadline=None)
    return ticket_status.report(ticket, status)


def undone(member: Member, now: datetime) -> Plan:
    """There is no pod to take the room."""
    name, pod = member.ticket.status.claimed_pod, member.pod
    if pod is None:
        why = f"pod {name} was gone before it had the room"
    elif member.is_rival:
        why = f"pod {name} has another ticket"
    elif pod.spec.node_name:
        why = f"pod {name} went to node {pod.spec.node_name}"
    else:
        why = f"pod {name} ended before it had the room"
    return _back(member, Reason.CLAIM_UNDONE, why, now)


def lost(member: Member, now: datetime) -> Plan:
    """The guardian went before anything had begun: the pod can have another ticket."""
    return _back(member, Reason.LOST, "the guardian was lost before the hand-over began", now)


def too_late(member: Member, now: datetime) -> Plan:
    """The guardians did not go in time, or the node's other hand-overs took too long."""
    return _back(member, Reason.CLAIM_UNDONE, "the hand-over took too long", now)


def closed(member: Member, why: str, now: datetime) -> Plan:
    """The node takes the pod no more."""
    name = member.ticket.status.claimed_pod
    return _back(member, Reason.CLAIM_UNDONE, f"pod {name} can have the room no more: {why}", now)


def crowded(member: Member, node: str, now: datetime) -> Plan:
    """The node takes no pod besides the guardian of what would be left."""
    return _back(member, Reason.CLAIM_UNDONE, f"node {node} takes no more pods", now)


def refused(member: Member, why: str, now: datetime) -> Plan:
    """The server does not take the guardian of what would be left."""
    return _back(member, Reason.GUARDIAN_REFUSED, why, now)


def kept_back(member: Member, why: str, now: datetime) -> Plan:
    """The server does not let the pod be tied to the node."""
    name = member.ticket.status.claimed_pod
    return _back(member, Reason.CLAIM_UNDONE, f"pod {name} cannot be tied to the node: {why}", now)


def unbound(member: Member, reason: Reason, why: str, now: datetime) -> Plan:
    """The pod was let go and the node did not take it; if that was not for want of room, others shall rather be tried."""
    name = member.ticket.status.claimed_pod
    counts = reason is Reason.NEVER_BOUND
    return _back(member, reason, f"pod {name} was not bound: {why}", now, is_unbound=counts)


def _shared(member: Member, now: datetime) -> TicketStatus:
    """The pod has a share; the rest is held, or has to be."""
    ticket, remainder_guardian = member.shared(), member.remainder_guardian
    if not member.rest:
        rate = ticket_state.rate(ticket, ticket_state.taken(member.shares))
        return ticket_status.in_use(ticket, "pods share all the room", rate, now)
    if member.keeps_guardian and member.firm:
        return _held_by(member, ticket.status)
    if remainder_guardian is None or not remainder_guardian.spec.node_name:
        home = ticket.status.node_name
        return ticket_status.pending(
            ticket, Reason.RETURNING, "a pod shares it from now on", now, home=home
        )
    words = f"guardian {remainder_guardian.metadata.name} holds the room"
    return ticket_status.reserved(ticket, remainder_guardian, Reason.HELD, words, now)


def _held_by(member: Member, status: TicketStatus) -> TicketStatus:
    """The ticket holds its room again, or still, by the guardian that stands."""
    name = str(key_of(member.firm[0]))
    return msgspec.structs.replace(status, phase=TicketPhase.RESERVED, guardian_pod=name)


def _back(
    member: Member, reason: Reason, why: str, now: datetime, *, is_unbound: bool = False
) -> Plan:
    ticket = member.ticket
    if member.firm:
        unclaimed = msgspec.structs.replace(
            ticket.status, claimed_by=None, claimed_pod="", claim_deadline=None
        )
        status = _held_by(member, unclaimed)
    else:
        returns = reason not in (Reason.STOLEN, Reason.LOST) or bool(ticket.status.shared_by)
        home = ticket.status.node_name if returns else ""
        status = ticket_status.pending(ticket, reason, why, now, home=home)
    if is_unbound:
        workload = requirements.workload_of(member.pod) if member.pod is not None else ""
        status = msgspec.structs.replace(
            status,
            unbound_time=deadlines.cut_off(now),
            unbound_workload=workload,
            unbound_count=requirements.counted(ticket, workload),
        )
    written = ticket_status.report(ticket, status)
    step = written.stages[0][0]
    stated = Emit(TICKETS, ticket, reason, why, EventType.WARNING, "GiveBack", step)
    return Plan(written.stages, (stated,))


def roll_back_late(member: Member, pod: Pod, now: datetime) -> Plan:
    """The guardians did not go in time, or the node's other hand-overs took too long."""
    words = "The hand-over took too long; the pod looks for another ticket."
    return _reported(pod, words, now, too_late(member, now))


def roll_back_closed(member: Member, pod: Pod, why: str, now: datetime) -> Plan:
    """The node has been cordoned, marked otherwise, or is gone."""
    words = f"The hand-over was undone: {why}; the pod looks for another ticket."
    return _reported(pod, words, now, closed(member, why, now))


def roll_back_refused(member: Member, message: str, now: datetime) -> Plan:
    """The server does not take the guardian of what the pod would leave."""
    ending = refused(member, message, now)
    if member.pod is None:
        return ending
    why = f"{beginning(member.ticket)}cannot hold what the pod would leave over: {message}"
    step = claim_patches.tell(member.pod, Reason.GUARDIAN_REFUSED, why, now, afresh=True)
    emit = Emit(PODS, member.pod, Reason.GUARDIAN_REFUSED, why, EventType.WARNING, "Waiting", step)
    return Plan(((step,), *ending.stages), (emit, *ending.emits))


def roll_back_kept(member: Member, pod: Pod, message: str, now: datetime) -> Plan:
    """The server does not let the pod be tied to its node, because of somebody else's rule."""
    words = f"The pod cannot be tied to node {member.ticket.status.node_name}: {message}"
    given = _unchanged(pod, ClaimReason.CHANGE_REFUSED, words, now)
    ending = kept_back(member, message, now)
    return Plan((*given.stages, *ending.stages), (*given.emits, *ending.emits))


def report_unchanged(pod: Pod, message: str, now: datetime) -> Plan:
    """Tells a pod that the server does not even let it go without a ticket."""
    words = f"The pod cannot be let go: {message}"
    return _unchanged(pod, ClaimReason.UNGATE_REFUSED, words, now)


def may_not_go(stated: ReportedCondition) -> bool:
    """Whether the server last refused to remove our gate from a pod without a ticket."""
    return stated.reason == ClaimReason.UNGATE_REFUSED


def _unchanged(pod: Pod, reason: ClaimReason, words: str, now: datetime) -> Plan:
    step = claim_patches.tell(pod, reason, words, now, afresh=True)
    emit = Emit(PODS, pod, reason, words, EventType.WARNING, "Waiting", step)
    return Plan().then(step).tell(emit)


def _reported(pod: Pod, words: str, now: datetime, ending: Plan) -> Plan:
    if not is_marked(pod):
        return ending
    step = claim_patches.tell(pod, Reason.CLAIM_UNDONE, words, now)
    return Plan(((step,), *ending.stages), ending.emits)


Members = list[tuple[Member, Pod]]


@dataclass
class Lane:
    """What is done for one member: first steps, steps that follow when these have succeeded, and Events.

    A lane behind the barrier begins when the barrier stands.
    """

    first: list[Step] = field(default_factory=list)
    second: list[Step] = field(default_factory=list)
    emits: list[Emit] = field(default_factory=list)
    is_behind: bool = False

    def plan(self) -> Plan:
        return Plan().then(*self.first).then(*self.second).tell(*self.emits)

    def end(self, ending: Plan) -> None:
        """Writes how the hand-over of a ticket ended, after everything else."""
        self.second += ending.steps
        self.emits += ending.emits

    def give_up(self, given: Plan) -> None:
        """Writes what becomes of a pod, and after everything else what becomes of its ticket."""
        *about_pod, about_ticket = given.stages
        self.first += (step for stage in about_pod for step in stage)
        self.end(Plan((about_ticket,), given.emits))


class HandoverSteps:
    """Collects what is to be done for each member, and when to look again."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.lanes: dict[str, Lane] = {}
        self.requeue_at: list[datetime] = []

    def lane(self, member: Member) -> Lane:
        """What is done for this member."""
        return self.lane_of(member.ticket)

    def lane_of(self, obj: HasMetadata) -> Lane:
        """What is done for this object, on its own."""
        return self.lanes.setdefault(obj.metadata.uid, Lane())

    def end(self, member: Member, ending: Plan) -> None:
        """Ends a hand-over."""
        self.lane(member).end(ending)

    def give_up(self, member: Member, given: Plan) -> None:
        """Ends a hand-over and says so to its pod."""
        self.lane(member).give_up(given)

    def in_time(self, members: Members, before_end: timedelta = timedelta()) -> Members:
        """Those of the gated members who have time left; the others end."""
        left = []
        for member, pod in members:
            ends = max(member.deadline, NEVER + before_end) - before_end
            if ends > self.scene.now:
                self.requeue_at.append(ends)
                left.append((member, pod))
            else:
                self.give_up(member, roll_back_late(member, pod, self.scene.now))
        return left

    def welcome(self, members: Members) -> Members:
        """Those of the gated members whom the node still takes; the others can go elsewhere, which a pinned pod cannot."""
        left = []
        for member, pod in members:
            why = requirements.closed(pod, self.scene.site)
            if why:
                self.give_up(member, roll_back_closed(member, pod, why, self.scene.now))
            else:
                left.append((member, pod))
        return left

    def with_places(self, members: Members) -> Members:
        """Those who find a place beside the guardian that stays, if one does; the others end before anything is lost."""
        site = self.scene.site
        places = requirements.places(site) if site is not None else 0
        left = []
        for member, pod in members:
            places -= bool(member.rest)
            if member.rest and places < 0:
                self.end(member, crowded(member, self.scene.node, self.scene.now))
            else:
                left.append((member, pod))
        return left

    def birth(self, member: Member) -> Create:
        place = Place(self.scene.node, gated=True)
        options = self.scene.settings.guardians
        made = guardian.body(member.ticket, member.free_name, options, member.rest, place)
        return Create(PODS, made)

    def end_all(self, lane: Lane, guardians: Iterable[Pod]) -> None:
        for each in guardians:
            going = each.metadata.deletion_timestamp
            if going is None:
                lane.second.append(ended(each))
            elif going + TIMEOUTS.guardian_deletion <= self.scene.now:
                lane.second.append(ended(each, grace_seconds=0))
            else:
                self.requeue_at.append(going + TIMEOUTS.guardian_deletion)


def ended(guardian: Pod, grace_seconds: int | None = None) -> Delete:
    """Deletes exactly this guardian."""
    return Delete(PODS, key_of(guardian), guardian.metadata.uid, grace_seconds=grace_seconds)


_COST = ", which costs its Job one of its tries (backoffLimit)"


def is_pushed_out(scene: Scene, pod: Pod) -> bool:
    """Says whether the scheduler has tried the pod, and the node has no room for it."""
    return (
        bool(ticket_snapshot.unschedulable(pod))
        and not pod.status.nominated_node_name
        and bool(scene.room().lacks(node_room.demand_of(pod)))
    )


def stolen(scene: Scene, member: Member, pod: Pod) -> Plan:
    """Ends the wait of a pod whose room somebody else has taken."""
    return _abandoned(scene, member, pod, Reason.STOLEN, _thief(scene, pod))


def never_bound(scene: Scene, member: Member, pod: Pod) -> Plan:
    """Ends the wait of a pod that was not bound in time, with what the scheduler said about it, if it has looked at it at all."""
    why = ticket_snapshot.unschedulable(pod) or "The scheduler did not bind it."
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
        step = claim_patches.tell(pod, reason, f"{message} {advice}", scene.now, node=promised)
    emit = Emit(PODS, pod, reason, note, EventType.WARNING, "GiveBack", step)
    ending = unbound(member, reason, message, scene.now)
    freed = [each for stage in ending.stages for each in stage]
    return Plan().then(step).then(*freed).tell(emit, *ending.emits)


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
