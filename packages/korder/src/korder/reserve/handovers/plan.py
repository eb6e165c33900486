"""Hand-over of one node: capacity passes from guardians to the pods that claimed it, and no third pod gets it.

`controller` gathers and calls `plan`, a state machine without memory: the progress of each member follows from the node, the ticket, the pod and the
guardians alone, so a crash is only a later reconcile. Behind a taint, the default, only the claimants may be scheduled on a full node while capacity is
vacated; `nomination` is for clusters in which the manager may not change nodes.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from korder.api.reserve import OPENED_ANNOTATION, ClaimReason
from korder.reserve.claims import patches as claim_patches
from korder.reserve.handovers import completion, handover_state, nomination
from korder.reserve.handovers.completion import (
    HandoverSteps,
    Lane,
    Members,
    ended,
)
from korder.reserve.handovers.handover_state import (
    Handover,
    Member,
    Return,
    Scene,
    Stage,
    beginning,
    stage_of,
)
from korder.reserve.tickets import guardian, snapshot as ticket_snapshot
from korder.reserve.timeouts import TIMEOUTS
from kubeloop.objects import core, instant, node_room
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.plan import Plan, Step


def plan_behind_taint(scene: Scene) -> Plan:
    """Decides what happens on the node now, and when to look again."""
    present = _Barrier(scene)
    plan = present.decided()
    if present.is_renewed:
        return _Barrier(scene, claim_patches.new_token(scene.now)).decided()
    return plan


class _Barrier(HandoverSteps):
    """Drives all members of a node, each on its own, behind one barrier."""

    def __init__(self, scene: Scene, token: str = "") -> None:
        super().__init__(scene)
        self._node = scene.site.node if scene.site is not None else None
        self._standing = claim_patches.token_of(self._node)
        self._token = token or self._standing or claim_patches.new_token(scene.now)
        self._is_needed = False
        self._is_kept_for_returns = False
        self._is_wanted_anew = False
        """Whether a member waits because the barrier stands for too long."""
        self._room = scene.room()
        """What is free, less what has been promised in this reconcile and before."""

    @property
    def is_renewed(self) -> bool:
        """Whether the barrier gets a new token: members wait for that, and only room that is taken back keeps the old one."""
        return self._is_wanted_anew and self._is_kept_for_returns and not self._is_needed

    def decided(self) -> Plan:
        by_stage: dict[Stage, Members] = {stage: [] for stage in Stage}
        for member in self.scene.members:
            stage = stage_of(member, self.scene.node)
            if member.pod is None or stage is Stage.UNDONE:
                self.end(member, completion.undone(member, self.scene.now))
            else:
                by_stage[stage].append((member, member.pod))
        gated = by_stage[Stage.QUEUED] + by_stage[Stage.MARKED] + by_stage[Stage.LOST]
        self._finish(by_stage[Stage.BOUND])
        opened = by_stage[Stage.OPEN]
        self._watch([each for each in opened if not each[0].firm])
        self._admit(self.welcome(self.in_time([each for each in gated if not each[0].firm])))
        self._watch([each for each in opened if each[0].firm])
        self._return()
        queued = [each for each in gated if each[0].firm]
        self._begin(
            self.with_places(self.welcome(self.in_time(queued, TIMEOUTS.begin_before_deadline)))
        )
        return self._guarded().requeue(min(self.requeue_at, default=None))

    def end(self, member: Member, ending: Plan) -> None:
        """Ends a hand-over; room that no guardian holds any more is kept until the ticket has taken it back."""
        if not member.firm and member.ticket.metadata.deletion_timestamp is None:
            self._need(self.lane(member))
        super().end(member, ending)

    def give_up(self, member: Member, given: Plan) -> None:
        """Ends a hand-over and says so to its pod; the room is kept as by `end`."""
        self.end(member, Plan())
        super().give_up(member, given)

    def _guarded(self) -> Plan:
        """The lanes, some of them behind a barrier that is raised first; it is lowered when none of them needs it."""
        is_up = self._is_needed or self._is_kept_for_returns
        release = [Plan().then(claim_patches.release(each)) for each in self.scene.leaving]
        ahead = [each.plan() for each in self.lanes.values() if not each.is_behind]
        behind = [*(each.plan() for each in self.lanes.values() if each.is_behind), *release]
        if self._node is not None and is_up and self._token != self._standing:
            raised = Plan().then(claim_patches.raised(self._node, self._token))
            return Plan().beside(*ahead, raised.beside(*behind))
        plan = Plan().beside(*ahead, *behind)
        if self._node is None or is_up or not self._standing:
            return plan
        until = self.scene.inherited_until
        if until is not None and until > self.scene.now:
            return plan.requeue(until)
        return plan.beside(Plan().then(claim_patches.lowered(self._node)))

    def _finish(self, members: Members) -> None:
        """Ends the hand-over of bound pods, unless the guardian of what they leave over is not bound yet."""
        for member, pod in members:
            lane, remainder = self.lane(member), member.remainder_guardian
            is_late = member.deadline <= self.scene.now
            is_open = remainder is not None and not remainder.spec.node_name
            if is_open:
                self._need(lane)
            if not is_open or is_late:
                lane.first += map(ended, () if member.keeps_guardian else member.firm)
                lane.first += self._condition(member, pod)
                lane.end(completion.done(member, pod, self.scene.now))
                continue
            self.requeue_at.append(member.deadline)
            if not member.standing and remainder is not None:
                self._open_remainder(lane, remainder)

    def _watch(self, members: Members) -> None:
        """Follows pods that were let go until they are bound."""
        for member, pod in members:
            if self._node is None:
                self.give_up(member, completion.never_bound(self.scene, member, pod))
            elif member.firm:
                self._watch_beside(member, pod)
            elif member.standing:
                self._watch_going(member, pod)
            else:
                self._watch_alone(member, pod)

    def _watch_beside(self, member: Member, pod: Pod) -> None:
        """A pod beside its guardian: if its place is taken it gets the guardian's."""
        demand = node_room.demand_of(pod)
        if member.deadline <= self.scene.now:
            self.give_up(member, completion.never_bound(self.scene, member, pod))
            return
        self.requeue_at.append(member.deadline)
        if member.keeps_guardian or not self._room.lacks(demand):
            self._room = self._room.with_pod(demand)
            if self._standing:
                self._let_pass(self.lane(member), pod)
            if ticket_snapshot.unschedulable(pod):
                # The scheduler may know of a pod on the node that the watch has not shown yet.
                self.requeue_at.append(self.scene.now + TIMEOUTS.next_look)
        elif self._standing or ticket_snapshot.unschedulable(pod):
            self._vacate(member, pod)

    def _watch_going(self, member: Member, pod: Pod) -> None:
        """A pod whose guardian terminates."""
        if member.deadline <= self.scene.now:
            self.give_up(member, completion.never_bound(self.scene, member, pod))
            return
        lane = self.lane(member)
        self._need(lane)
        self.requeue_at.append(member.deadline)
        self.end_all(lane, member.standing)
        self._let_pass(lane, pod)

    def _watch_alone(self, member: Member, pod: Pod) -> None:
        """A pod whose guardian is gone: it is bound within seconds, or its ticket takes the room back."""
        demand = node_room.demand_of(pod)
        is_short = bool(self._room.lacks(demand))
        due = self._unbound_due(member, pod)
        self._need(self.lane(member))
        if due > self.scene.now:
            self.requeue_at.append(due)
            self._room = self._room.with_pod(demand)
            self._let_in(self.lane(member), pod)
        elif is_short:
            self.give_up(member, completion.stolen(self.scene, member, pod))
        else:
            self.give_up(member, completion.never_bound(self.scene, member, pod))

    def _admit(self, members: Members) -> None:
        """Lets pods go whose guardian has left; one whose room is lost stays gated and claims another ticket."""
        for member, pod in members:
            lane = self.lane(member)
            if member.standing:
                self._need(lane)
                self.end_all(lane, member.standing)
                continue
            if handover_state.shortages(self._room, member, pod):
                lane.end(completion.lost(member, self.scene.now))
                continue
            self._need(lane)
            self._room = handover_state.with_both(self._room, member, pod)
            self._open(member, pod, self._token)
            if member.remainder_guardian is not None:
                self._open_remainder(lane, member.remainder_guardian)

    def _begin(self, members: Members) -> None:
        """Starts members whose guardian stands: beside it where there is room, otherwise in its place."""
        for member, pod in members:
            demand = node_room.demand_of(pod)
            if member.is_swapped and member.remainder_guardian is None:
                self.lane(member).first.append(self.birth(member))
            elif member.keeps_guardian:
                self._open(member, pod, self._passing)
            elif not member.is_swapped and not self._room.lacks(demand):
                self._room = self._room.with_pod(demand)
                self._open(member, pod, self._passing)
            elif why := self._unfit(member, pod):
                self.give_up(member, completion.roll_back_closed(member, pod, why, self.scene.now))
            else:
                self._vacate(member, pod)

    def _vacate(self, member: Member, pod: Pod) -> None:
        """Sends the guardian away behind the barrier; a pod that is let go already may pass it, and has its time when the guardian is gone."""
        if any(each.metadata.finalizers for each in member.firm):
            return
        if self._is_worn_out():
            self._is_wanted_anew = True
            self.requeue_at.append(self.scene.now + TIMEOUTS.next_look)
            return
        lane = self.lane(member)
        self._need(lane)
        if not claim_patches.is_gated(pod) and OPENED_ANNOTATION in pod.metadata.annotations:
            lane.first.append(claim_patches.admitted(pod, self._token, {OPENED_ANNOTATION: None}))
        else:
            self._let_pass(lane, pod)
        lane.second += map(ended, member.firm)

    def _return(self) -> None:
        """Keeps room that a ticket takes back: for a pod that terminates, and for the guardian that follows it, until that is bound."""
        for each in sorted(self.scene.returning, key=handover_state.order_of_return):
            is_placed = self._is_placed_beside(each)
            fit = () if each.is_occupied else self._with_room(each)
            if not self._is_awaited(each):
                continue
            self._is_kept_for_returns = True
            gated = () if is_placed else filter(guardian.is_gated, each.waiting)
            for waiting in gated if each.is_occupied else fit:
                lane = self.lane_of(waiting)
                lane.is_behind = True
                self._let_pass(lane, waiting)

    def _with_room(self, each: Return) -> list[Pod]:
        """The guardians for which there is room; it is promised to them, or to the one that is still to be created."""
        if not each.waiting and each.demand is not None and not self._room.lacks(each.demand):
            self._room = self._room.with_pod(each.demand)
        fit = list[Pod]()
        for waiting in each.waiting:
            demand = node_room.demand_of(waiting)
            if not self._room.lacks(demand):
                self._room = self._room.with_pod(demand)
                fit.append(waiting)
        return fit

    def _is_placed_beside(self, each: Return) -> bool:
        """Places the guardian beside the pod that terminates, if there is room for both; others may take that room until the barrier stands."""
        if not each.is_occupied or each.demand is None or self._room.lacks(each.demand):
            return False
        self._room = self._room.with_pod(each.demand)
        for waiting in each.waiting:
            lane = self.lane_of(waiting)
            if guardian.is_gated(waiting):
                lane.first.append(claim_patches.open_guardian(waiting, self._token))
            elif self._standing:
                self._let_pass(lane, waiting)
        return True

    def _is_awaited(self, each: Return) -> bool:
        """Says whether the barrier stands for this return; it is raised only while the room is in use or has just become free."""
        if not self._standing and not each.is_occupied and not each.is_new:
            return False
        until = (each.since or claim_patches.raised_at(self._token)) + TIMEOUTS.returning_pod
        if until > self.scene.now:
            self.requeue_at.append(until)
            return True
        return False

    def _unfit(self, member: Member, pod: Pod) -> str:
        """Says of what the node has too little for the pod even without the guardian, as it is now; empty if it fits."""
        room = self.scene.room()
        for each in member.firm:
            room = room.without_pod(node_room.demand_of(each))
        lacking = ", ".join(handover_state.shortages(room, member, pod))
        return f"node {self.scene.node} has too little {lacking} for it now" if lacking else ""

    def _is_worn_out(self) -> bool:
        """Says whether the barrier stands for so long that it serves no new members, until it was lowered once or has a new token."""
        return claim_patches.raised_at(self._token) + TIMEOUTS.barrier_admission <= self.scene.now

    @property
    def _passing(self) -> str:
        """The token for those who need no barrier, but may meet one."""
        return self._token if self._standing else ""

    def _need(self, lane: Lane) -> None:
        self._is_needed = lane.is_behind = True

    def _let_pass(self, lane: Lane, pod: Pod) -> None:
        if not claim_patches.is_gated(pod) and not claim_patches.tolerates(pod, self._token):
            lane.first.append(claim_patches.admitted(pod, self._token))

    def _let_in(self, lane: Lane, pod: Pod) -> None:
        """Lets a pod pass whose room is free, and notes since when that is so."""
        if _opened_at(pod) is None or not claim_patches.tolerates(pod, self._token):
            opened: JSON = instant.render(self.scene.now)
            lane.first.append(claim_patches.admitted(pod, self._token, {OPENED_ANNOTATION: opened}))

    def _open(self, member: Member, pod: Pod, token: str) -> None:
        """Pins, tolerates and ungates a pod in one patch."""
        held = self.scene.settings.return_finalizer
        step = claim_patches.pin(
            pod, member.ticket, self.scene.node, token, self.scene.now, return_finalizer=held
        )
        self.lane(member).first.append(step)
        self.requeue_at.append(member.deadline)

    def _open_remainder(self, lane: Lane, remainder: Pod) -> None:
        if guardian.is_gated(remainder):
            lane.first.append(claim_patches.open_guardian(remainder, self._token))
        else:
            self._let_pass(lane, remainder)

    def _unbound_due(self, member: Member, pod: Pod) -> datetime:
        """When a pod whose room is free leaves the hand-over if it is not bound; time without a scheduler does not count."""
        now, since, signs = self.scene.now, _opened_at(pod), self.scene.signs
        if since is None or not claim_patches.tolerates(pod, self._token):
            is_over = member.deadline + TIMEOUTS.silent_scheduler <= now
            return member.deadline if is_over else now + TIMEOUTS.unschedulable_pod
        is_known = pod.spec.scheduler_name == member.ticket.spec.scheduler_name
        wait = (
            TIMEOUTS.silent_scheduler
            if is_known and not _is_refused(pod)
            else TIMEOUTS.unschedulable_pod
        )
        last = max(member.deadline, since + TIMEOUTS.unschedulable_pod)
        if is_known and signs is not None:
            if signs.renewed + TIMEOUTS.scheduler_lease <= now:
                return now + TIMEOUTS.unschedulable_pod
            if signs.taken is not None and signs.taken > since:
                return signs.taken + wait
        return min(since + wait, last)

    def _condition(self, member: Member, pod: Pod) -> Iterable[Step]:
        """Says on a bound pod that it has its ticket."""
        last = claim_patches.stated(pod)
        if last is not None and last.status == "True":
            return
        words = f"{beginning(member.ticket)}holds room on node {self.scene.node} for this pod."
        yield claim_patches.tell(pod, ClaimReason.CLAIMED, words, self.scene.now, bound=True)


def _opened_at(pod: Pod) -> datetime | None:
    """Since when a pod that was let go has room; None if that was not noted yet."""
    try:
        return instant.parse(pod.metadata.annotations.get(OPENED_ANNOTATION, ""))
    except instant.InvalidInstant:
        return None


def _is_refused(pod: Pod) -> bool:
    """Says whether the scheduler has refused the pod as it is now, where servers say which generation was refused."""
    scheduled = core.reported(pod.status.conditions, "PodScheduled")
    seen = scheduled.observed_generation if scheduled is not None else 0
    return bool(ticket_snapshot.unschedulable(pod)) and not 0 < seen < pod.metadata.generation


def plan(scene: Scene) -> Plan:
    """Decides what happens on the node now, and when to look again."""
    scene = replace(scene, members=handover_state.in_fair_order(scene.members))
    if scene.settings.handover is Handover.NOMINATE:
        return nomination.plan(scene).then(*_left_over(scene))
    return plan_behind_taint(scene)


def _left_over(scene: Scene) -> list[Step]:
    """What hand-overs by taint have left behind where they are not wanted any more."""
    node = scene.site.node if scene.site is not None else None
    released: list[Step] = [claim_patches.release(pod) for pod in scene.leaving]
    return (
        [*released, claim_patches.lowered(node)]
        if node and claim_patches.token_of(node)
        else released
    )
