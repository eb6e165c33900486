"""One node's hand-over: the room passes from guardians to the pods that claimed it, in batches, so that no third gets it.

`controllers.handovers` gathers and calls `plan`, a state machine without a memory: how far each member is follows from the ticket, the
pod and the guardians alone (`members`), so any crash is just a turn that comes later. A batch is marked and nominated, its guardians go,
and only when all of them are gone are its pods pinned and let go; the node's next batch waits until all are bound. While one guardian of
the batch stands, its pod counts twice, and another pod of the batch would fail to fit and lose its nomination. Where the node has room
for pod and guardian together nothing has to be timed: the pod goes first and the guardian afterwards.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from korder.api import noderoom
from korder.api.core import PODS, Pod
from korder.api.meta import key_of
from korder.api.plan import Create, Delete, Notice, Plan, Step
from korder.api.reserve import ClaimReason, Ticket
from korder.reserve.rules.claims import claimsteps, endings, fitting, givingback, stuck
from korder.reserve.rules.claims.members import NEVER, Member, Stage, beginning, is_marked, stage_of
from korder.reserve.rules.claims.scene import Scene, age
from korder.reserve.rules.tickets import guardian
from korder.reserve.rules.tickets.guardian import Place

BEGIN_BEFORE_END = timedelta(seconds=40)
"""A hand-over with less time left than this does not begin: the ticket is free again and the pod claims anew."""
DELETION_PATIENCE = timedelta(seconds=10)
"""How long after its grace a guardian may linger on a node that does not answer."""
Members = list[tuple[Member, Pod]]


def plan(scene: Scene) -> Plan:
    """Decides what happens on the node now, and when to look again."""
    turn = _Turn(scene)
    by_stage: dict[Stage, Members] = {stage: [] for stage in Stage}
    for member in scene.members:
        stage = stage_of(member, scene.node)
        if member.pod is None or stage is Stage.UNDONE:
            turn.end(endings.undone(member, scene.now))
        else:
            by_stage[stage].append((member, member.pod))
    for member, _ in by_stage[Stage.LOST]:
        turn.end(endings.lost(member, scene.now))
    marked = turn.welcome(turn.in_time(by_stage[Stage.MARKED]))
    queued = turn.welcome(turn.in_time(by_stage[Stage.QUEUED], BEGIN_BEFORE_END))
    busy = turn.still_open(by_stage[Stage.OPEN]) + turn.unfinished(by_stage[Stage.BOUND])
    if marked:
        turn.advance(marked)
    elif busy:
        turn.rescue(busy)
    elif queued:
        turn.begin(queued)
    return turn.plan()


class _Turn:
    """Collects what is to be done: first steps, steps that follow when all of these have succeeded, and words."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._first: list[Step] = []
        self._second: list[Step] = []
        self._notices: list[Notice] = []
        self._wake_at: list[datetime] = []

    def plan(self) -> Plan:
        wake_at = min(self._wake_at, default=None)
        return Plan().then(*self._first).then(*self._second).tell(*self._notices).wake(wake_at)

    def end(self, ending: Plan) -> None:
        """Writes how the hand-over of a ticket ended, after everything else."""
        self._second += (step for stage in ending.stages for step in stage)
        self._notices += ending.notices

    def _give_up(self, given: Plan) -> None:
        """Writes what becomes of a pod, and after everything else what becomes of its ticket."""
        *about_pod, about_ticket = given.stages
        self._first += (step for stage in about_pod for step in stage)
        self.end(Plan((about_ticket,), given.notices))

    def in_time(self, members: Members, before_end: timedelta = timedelta()) -> Members:
        """Those of the gated members who have time left; the others end."""
        left = []
        for member, pod in members:
            ends = max(member.deadline, NEVER + before_end) - before_end
            if ends > self._scene.now:
                self._wake_at.append(ends)
                left.append((member, pod))
            else:
                self._give_up(givingback.late(member, pod, self._scene.now))
        return left

    def welcome(self, members: Members) -> Members:
        """Those of the gated members whom the node still takes; the others can go elsewhere, which a pinned pod cannot."""
        left = []
        for member, pod in members:
            why = fitting.closed(pod, self._scene.site)
            if why:
                self._give_up(givingback.closed(member, pod, why, self._scene.now))
            else:
                left.append((member, pod))
        return left

    def still_open(self, members: Members) -> Members:
        """Those who may still be bound; the others have lost their room or their time."""
        left = []
        for member, pod in members:
            if not member.standing and stuck.is_pushed_out(self._scene, pod):
                self._give_up(stuck.stolen(self._scene, member, pod))
            elif member.deadline <= self._scene.now:
                self._give_up(stuck.never_bound(self._scene, member, pod))
            else:
                self._wake_at.append(member.deadline)
                left.append((member, pod))
        return left

    def unfinished(self, members: Members) -> Members:
        """Those whose pod is bound but whose remainder is not; all others have what they claimed."""
        left = []
        for member, pod in members:
            heir = member.heir
            in_time = member.deadline > self._scene.now
            if heir is None or heir.spec.node_name or not in_time:
                self._first += map(_end, () if member.keeps_guardian else member.firm)
                self._first += self._news(member, pod)
                self.end(endings.done(member, pod, self._scene.now))
                continue
            self._wake_at.append(member.deadline)
            if guardian.is_gated(heir) and not member.standing:
                self._first.append(claimsteps.open_guardian(heir))
            left.append((member, pod))
        return left

    def begin(self, members: Members) -> None:
        """Starts the node's next batch: the easy way as far as there is room for the pods beside the guardians."""
        members = self._with_places(members)
        heirless = [member for member, _ in members if member.is_swapped and member.heir is None]
        self._first += map(self._birth, heirless)
        ready = []
        for member, pod in members:
            if member.keeps_guardian:
                self._open(member, pod)
            elif member not in heirless:
                ready.append((member, pod))
        room = self._scene.room()
        if ready and (ready[0][0].is_swapped or room.lacks(noderoom.demand_of(ready[0][1]))):
            self._mark(ready)
            self._withdraw()
            self._second += (_end(each) for member, _ in ready for each in member.firm)
            return
        for member, pod in ready:
            demand = noderoom.demand_of(pod)
            if not member.is_swapped and not room.lacks(demand):
                room = room.with_pod(demand)
                self._open(member, pod)

    def _with_places(self, members: Members) -> Members:
        """Those who find a place beside the guardian that stays, if one does; the others end before anything is lost."""
        site = self._scene.site
        places = fitting.places(site) if site is not None else 0
        left = []
        for member, pod in sorted(members, key=lambda each: age(each[1])):
            places -= bool(member.rest)
            if member.rest and places < 0:
                self.end(endings.crowded(member, self._scene.node, self._scene.now))
            else:
                left.append((member, pod))
        return left

    def advance(self, members: Members) -> None:
        """Takes a batch over the barrier once the last of its guardians is gone and nobody else is promised room.

        Nobody would tell us that a promise to others has been taken back, so we look again at once.
        """
        strangers = [each for each in members if not self._is_known(*each)]
        standing = [each for member, _ in members for each in member.standing]
        self._mark(strangers)
        self._end_all(standing)
        if self._withdraw():
            self._wake_at.append(self._scene.now)
        elif not standing and not strangers:
            for member, pod in members:
                self._open(member, pod)

    def rescue(self, members: Members) -> None:
        """Helps pods that were let go before their guardian when somebody else took the room: one after the other."""
        for member, pod in members:
            if member.firm and not member.keeps_guardian and stuck.is_pushed_out(self._scene, pod):
                self._mark([(member, pod)])
                self._withdraw()
                self._second += map(_end, member.firm)
                return
        leaving = (each for member, _ in members for each in member.standing)
        self._end_all(each for each in leaving if each.metadata.deletion_timestamp is not None)

    def _open(self, member: Member, pod: Pod) -> None:
        heir = member.heir
        self._first.append(claimsteps.pin(pod, member.ticket, self._scene.node))
        if heir is not None and guardian.is_gated(heir):
            self._first.append(claimsteps.open_guardian(heir))
        self._wake_at.append(member.deadline)
        self._second += self._news(member, pod)

    def _news(self, member: Member, pod: Pod) -> list[Step]:
        """What a pod has to know that was last told to wait."""
        if claimsteps.told(pod) is None or is_marked(pod):
            return []
        return [self._claimed(member, pod, pod.status.nominated_node_name)]

    def _claimed(self, member: Member, pod: Pod, node: str) -> Step:
        words = self._words(member.ticket)
        return claimsteps.tell(
            pod, ClaimReason.CLAIMED, words, self._scene.now, bound=True, node=node
        )

    def _birth(self, member: Member) -> Create:
        place = Place(self._scene.node, gated=True)
        options = self._scene.settings.guardians
        made = guardian.body(member.ticket, member.free_name, options, member.rest, place)
        return Create(PODS, made)

    def _mark(self, members: Members) -> None:
        """Promises the node; what an heir was promised before is first taken back, because to a new scheduler only a change is news."""
        node = self._scene.node if self._scene.settings.nominate else ""
        for member, pod in members:
            heir = member.heir
            self._first.append(self._claimed(member, pod, node))
            if heir is not None and heir.status.nominated_node_name != node:
                self._first.append(claimsteps.nominate(heir, node))
            elif heir is not None and node and is_marked(pod):
                self._first.append(claimsteps.nominate(heir, ""))

    def _withdraw(self) -> bool:
        """Takes back what other tickets are promised here, and says whether there was any; they are promised it again afterwards."""
        promised = self._scene.promised()
        self._first += (claimsteps.nominate(each, "") for each in promised)
        return bool(promised)

    def _is_known(self, member: Member, pod: Pod) -> bool:
        """Says whether the scheduler that is at work now knows of the nominations."""
        told, heir = claimsteps.told(pod), member.heir
        node = self._scene.node if self._scene.settings.nominate else ""
        return (
            told is not None
            and told.message == self._words(member.ticket)
            and (heir is None or heir.status.nominated_node_name == node)
        )

    def _end_all(self, guardians: Iterable[Pod]) -> None:
        for each in guardians:
            going = each.metadata.deletion_timestamp
            if going is None:
                self._second.append(_end(each))
            elif going + DELETION_PATIENCE <= self._scene.now:
                self._second.append(_end(each, grace_seconds=0))
            else:
                self._wake_at.append(going + DELETION_PATIENCE)

    def _words(self, ticket: Ticket) -> str:
        promise = f"{beginning(ticket)}holds room on node {self._scene.node} for this pod."
        known = f" Scheduler {self._scene.scheduler} knows." if self._scene.scheduler else ""
        return promise + known


def _end(guardian: Pod, grace_seconds: int | None = None) -> Delete:
    return Delete(PODS, key_of(guardian), guardian.metadata.uid, grace_seconds=grace_seconds)
