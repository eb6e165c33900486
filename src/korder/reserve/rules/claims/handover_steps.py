"""What both ways of handing over have in common: steps are collected, members without time or node are sent back.

`taint` and `nomination` build on it; `handover` chooses between them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from korder.api.core import PODS, Pod
from korder.api.meta import HasMetadata, key_of
from korder.api.plan import Create, Delete, Notice, Plan, Step
from korder.reserve.rules.claims import endings, fitting, givingback
from korder.reserve.rules.claims.members import NEVER, Member
from korder.reserve.rules.claims.scene import Scene
from korder.reserve.rules.tickets import guardian
from korder.reserve.rules.tickets.guardian import Place

BEGIN_BEFORE_END = timedelta(seconds=40)
"""A hand-over with less time left than this does not begin: the ticket is free again and the pod claims anew."""
DELETION_PATIENCE = timedelta(seconds=10)
"""How long after its grace a guardian may linger on a node that does not answer."""
Members = list[tuple[Member, Pod]]


@dataclass
class Lane:
    """What is done for one member: first steps, steps that follow when these have succeeded, and Events.

    A lane behind the barrier begins when the barrier stands.
    """

    first: list[Step] = field(default_factory=list)
    second: list[Step] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    is_behind: bool = False

    def plan(self) -> Plan:
        return Plan().then(*self.first).then(*self.second).tell(*self.notices)

    def end(self, ending: Plan) -> None:
        """Writes how the hand-over of a ticket ended, after everything else."""
        self.second += ending.steps
        self.notices += ending.notices

    def give_up(self, given: Plan) -> None:
        """Writes what becomes of a pod, and after everything else what becomes of its ticket."""
        *about_pod, about_ticket = given.stages
        self.first += (step for stage in about_pod for step in stage)
        self.end(Plan((about_ticket,), given.notices))


class HandoverSteps:
    """Collects what is to be done for each member, and when to look again."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.lanes: dict[str, Lane] = {}
        self.wake_at: list[datetime] = []

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
                self.wake_at.append(ends)
                left.append((member, pod))
            else:
                self.give_up(member, givingback.late(member, pod, self.scene.now))
        return left

    def welcome(self, members: Members) -> Members:
        """Those of the gated members whom the node still takes; the others can go elsewhere, which a pinned pod cannot."""
        left = []
        for member, pod in members:
            why = fitting.closed(pod, self.scene.site)
            if why:
                self.give_up(member, givingback.closed(member, pod, why, self.scene.now))
            else:
                left.append((member, pod))
        return left

    def with_places(self, members: Members) -> Members:
        """Those who find a place beside the guardian that stays, if one does; the others end before anything is lost."""
        site = self.scene.site
        places = fitting.places(site) if site is not None else 0
        left = []
        for member, pod in members:
            places -= bool(member.rest)
            if member.rest and places < 0:
                self.end(member, endings.crowded(member, self.scene.node, self.scene.now))
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
            elif going + DELETION_PATIENCE <= self.scene.now:
                lane.second.append(ended(each, grace_seconds=0))
            else:
                self.wake_at.append(going + DELETION_PATIENCE)


def ended(guardian: Pod, grace_seconds: int | None = None) -> Delete:
    """Deletes exactly this guardian."""
    return Delete(PODS, key_of(guardian), guardian.metadata.uid, grace_seconds=grace_seconds)
