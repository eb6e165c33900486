"""Hand-over behind a taint: while room is vacated on a full node, only the pods it was promised to may be scheduled there.

`handover` calls it. Slow path: raise the barrier, delete the guardian, wait until it is gone, then pin, tolerate and ungate the pod in
one patch, wait until it is bound, lower the barrier. Members do not wait for each other: each takes only the room of its own guardian.
Fast path: where the node has room for pod and guardian together, the pod is let go first and the guardian is deleted when the pod is
bound; if another pod takes that free room, the guardian still stands and the member goes on by the slow path.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from korder.api import instant, noderoom
from korder.api.core import Pod
from korder.api.noderoom import NodeRoom
from korder.api.plan import Plan, Step
from korder.api.reserve import OPENED_ANNOTATION, ClaimReason
from korder.reserve.rules.claims import claimsteps, endings, givingback, stuck
from korder.reserve.rules.claims.handover_steps import (
    BEGIN_BEFORE_END,
    HandoverSteps,
    Members,
    ended,
)
from korder.reserve.rules.claims.members import Member, Stage, beginning, stage_of
from korder.reserve.rules.claims.scene import Return, Scene
from korder.reserve.rules.tickets import barrier, guardian, picture

UNBOUND_AFTER = timedelta(seconds=5)
"""How long a pod that has left the slow path's gate may stay unbound if its scheduler refuses it or has never been seen."""
SILENT_AFTER = timedelta(seconds=30)
"""The same while a scheduler that has bound the guardian says nothing about the pod: another one may be about to take over."""
JOIN_FOR = timedelta(seconds=60)
"""How old a barrier may get with new members; after that they wait until it has been lowered once."""
RETURN_WITHIN = timedelta(minutes=5)
"""How long a barrier stands for a pod that terminates, whose room its ticket takes back."""


def plan(scene: Scene) -> Plan:
    """Decides what happens on the node now, and when to look again."""
    return _Barrier(scene).decided()


class _Barrier(HandoverSteps):
    """Drives all members of a node, each on its own, behind one barrier."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._node = scene.site.node if scene.site is not None else None
        self._standing = barrier.token_of(self._node)
        self._token = self._standing or barrier.new_token(scene.now)
        self._is_needed = False
        self._room = scene.room()
        """What is free, less what has been promised in this reconcile and before."""

    def decided(self) -> Plan:
        by_stage: dict[Stage, Members] = {stage: [] for stage in Stage}
        for member in self.scene.members:
            stage = stage_of(member, self.scene.node)
            if member.pod is None or stage is Stage.UNDONE:
                self.end(endings.undone(member, self.scene.now))
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
        self._begin(self.with_places(self.welcome(self.in_time(queued, BEGIN_BEFORE_END))))
        return self._guarded()

    def _guarded(self) -> Plan:
        """The plan behind a barrier that is raised first and lowered last."""
        rest = self.plan()
        if self._node is None or self._is_needed == bool(self._standing):
            return rest
        if self._is_needed:
            step = barrier.raised(self._node, self._token)
            return Plan(((step,), *rest.stages), rest.notices, rest.wake_at)
        return rest.then(barrier.lowered(self._node))

    def _finish(self, members: Members) -> None:
        """Ends the hand-over of bound pods, unless the guardian of what they leave over is not bound yet."""
        for member, pod in members:
            remainder = member.heir
            late = member.deadline <= self.scene.now
            if remainder is None or remainder.spec.node_name or late:
                self.first += map(ended, () if member.keeps_guardian else member.firm)
                self.first += self._condition(member, pod)
                self.end(endings.done(member, pod, self.scene.now))
                continue
            self._need()
            self.wake_at.append(member.deadline)
            if not member.standing:
                self._open_remainder(remainder)

    def _watch(self, members: Members) -> None:
        """Follows pods that were let go until they are bound."""
        for member, pod in members:
            if self._node is None:
                self.give_up(stuck.never_bound(self.scene, member, pod))
            elif member.firm:
                self._watch_beside(member, pod)
            elif member.standing:
                self._need()
                self.end_all(member.standing)
                self._let_pass(pod)
            else:
                self._watch_alone(member, pod)

    def _watch_beside(self, member: Member, pod: Pod) -> None:
        """A pod beside its guardian: if its place is taken it gets the guardian's."""
        demand = noderoom.demand_of(pod)
        if member.deadline <= self.scene.now:
            self.give_up(stuck.never_bound(self.scene, member, pod))
            return
        self.wake_at.append(member.deadline)
        if member.keeps_guardian or not self._room.lacks(demand):
            self._room = self._room.with_pod(demand)
            if self._standing:
                self._let_pass(pod)
        elif self._standing or picture.unschedulable(pod):
            self._vacate(member, pod)

    def _watch_alone(self, member: Member, pod: Pod) -> None:
        """A pod whose guardian is gone: it is bound within seconds, or its ticket takes the room back."""
        demand = noderoom.demand_of(pod)
        is_short = bool(self._room.lacks(demand))
        due = _unbound_due(member, pod)
        self._need()
        if due > self.scene.now:
            self.wake_at.append(due)
            self._room = self._room.with_pod(demand)
            self._let_pass(pod)
        elif is_short:
            self.give_up(stuck.stolen(self.scene, member, pod))
        else:
            self.give_up(stuck.never_bound(self.scene, member, pod))

    def _admit(self, members: Members) -> None:
        """Lets pods go whose guardian has left; one whose room is lost stays gated and claims another ticket."""
        for member, pod in members:
            if member.standing:
                self._need()
                self.end_all(member.standing)
                continue
            if _lacks(self._room, member, pod):
                self.end(endings.lost(member, self.scene.now))
                continue
            self._need()
            self._room = _with(self._room, member, pod)
            self._open(member, pod, self._token)
            if member.heir is not None:
                self._open_remainder(member.heir)

    def _begin(self, members: Members) -> None:
        """Starts members whose guardian stands: beside it where there is room, otherwise in its place."""
        for member, pod in members:
            demand = noderoom.demand_of(pod)
            if member.is_swapped and member.heir is None:
                self.first.append(self.birth(member))
            elif member.keeps_guardian:
                self._open(member, pod, self._standing)
            elif not member.is_swapped and not self._room.lacks(demand):
                self._room = self._room.with_pod(demand)
                self._open(member, pod, self._standing)
            elif why := self._unfit(member, pod):
                self.give_up(givingback.closed(member, pod, why, self.scene.now))
            elif not any(each.metadata.finalizers for each in member.firm):
                self._vacate(member, pod)

    def _vacate(self, member: Member, pod: Pod) -> None:
        """Sends the guardian away behind the barrier; a pod that is let go already may pass it."""
        if self._is_worn_out():
            self.wake_at.append(self.scene.now + timedelta(seconds=1))
            return
        self._need()
        self._let_pass(pod)
        self.second += map(ended, member.firm)

    def _return(self) -> None:
        """Keeps room that a ticket takes back: for a pod that terminates, and for the guardian that follows it."""
        for each in self.scene.returning:
            if not self._is_awaited(each):
                continue
            self._need()
            for waiting in each.waiting:
                fits = not self._room.lacks(noderoom.demand_of(waiting))
                if each.is_occupied or fits:
                    self._let_pass(waiting)
                if not each.is_occupied and fits:
                    self._room = self._room.with_pod(noderoom.demand_of(waiting))

    def _is_awaited(self, each: Return) -> bool:
        """Says whether the barrier stands for this return; it is raised only while the room is still in use."""
        if not self._standing:
            return each.is_occupied
        until = barrier.raised_at(self._standing) + RETURN_WITHIN
        if until > self.scene.now:
            self.wake_at.append(until)
            return True
        return False

    def _unfit(self, member: Member, pod: Pod) -> str:
        """Says of what the node has too little for the pod even without the guardian, as it is now; empty if it fits."""
        room = self.scene.room()
        for each in member.firm:
            room = room.without_pod(noderoom.demand_of(each))
        lacking = ", ".join(_shortages(room, member, pod))
        return f"node {self.scene.node} has too little {lacking} for it now" if lacking else ""

    def _is_worn_out(self) -> bool:
        """Says whether the barrier stands for so long that it has to be lowered once before it serves new members."""
        if not self._standing:
            return False
        return barrier.raised_at(self._standing) + JOIN_FOR <= self.scene.now

    def _need(self) -> None:
        self._is_needed = True

    def _let_pass(self, pod: Pod) -> None:
        if not claimsteps.is_gated(pod) and not barrier.tolerates(pod, self._token):
            self.first.append(barrier.admitted(pod, self._token))

    def _open(self, member: Member, pod: Pod, token: str) -> None:
        """Pins, tolerates and ungates a pod in one patch."""
        step = claimsteps.pin(pod, member.ticket, self.scene.node, token, self.scene.now)
        self.first.append(step)
        self.wake_at.append(member.deadline)

    def _open_remainder(self, remainder: Pod) -> None:
        if guardian.is_gated(remainder):
            self.first.append(claimsteps.open_guardian(remainder, self._token))
        else:
            self._let_pass(remainder)

    def _condition(self, member: Member, pod: Pod) -> Iterable[Step]:
        """Says on a bound pod that it has its ticket."""
        last = claimsteps.told(pod)
        if last is not None and last.status == "True":
            return
        words = f"{beginning(member.ticket)}holds room on node {self.scene.node} for this pod."
        yield claimsteps.tell(pod, ClaimReason.CLAIMED, words, self.scene.now, bound=True)


def _unbound_due(member: Member, pod: Pod) -> datetime:
    """When a pod that is not bound leaves the hand-over."""
    try:
        since = instant.parse(pod.metadata.annotations.get(OPENED_ANNOTATION, ""))
    except instant.InvalidInstant:
        return member.deadline
    is_known = pod.spec.scheduler_name == member.ticket.spec.scheduler_name
    is_silent = not picture.unschedulable(pod)
    return min(since + (SILENT_AFTER if is_known and is_silent else UNBOUND_AFTER), member.deadline)


def _with(room: NodeRoom, member: Member, pod: Pod) -> NodeRoom:
    room = room.with_pod(noderoom.demand_of(pod))
    return room if member.heir is None else room.with_pod(noderoom.demand_of(member.heir))


def _lacks(room: NodeRoom, member: Member, pod: Pod) -> bool:
    return any(_shortages(room, member, pod))


def _shortages(room: NodeRoom, member: Member, pod: Pod) -> list[str]:
    """Of what there is too little for a pod and the guardian of what it leaves over."""
    if member.heir is not None:
        room = room.with_pod(noderoom.demand_of(member.heir))
    return room.lacks(noderoom.demand_of(pod))
