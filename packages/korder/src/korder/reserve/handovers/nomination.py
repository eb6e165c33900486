"""Hand-over by nomination, in batches: safe against pods of equal or lower priority than the claimant only.

`handover` calls it where nodes may not be tainted. A batch is marked and nominated, its guardians go,
and only when all of them are gone are its pods pinned and let go; the node's next batch waits until all are bound. While one guardian of
the batch stands, its pod counts twice, and another pod of the batch would fail to fit and lose its nomination. Where the node has room
for pod and guardian together nothing has to be timed: the pod goes first and the guardian afterwards.
"""

from korder.api.reserve import (
    NOMINATION_SCHEDULER_ANNOTATION,
    NOMINATION_TICKET_ANNOTATION,
    ClaimReason,
    Ticket,
)
from korder.reserve.claims import patches as claim_patches
from korder.reserve.handovers import completion
from korder.reserve.handovers.completion import (
    HandoverSteps,
    Lane,
    Members,
    ended,
)
from korder.reserve.handovers.handover_state import (
    Member,
    Scene,
    Stage,
    beginning,
    is_marked,
    stage_of,
)
from korder.reserve.tickets import guardian
from korder.reserve.timeouts import TIMEOUTS
from kubeloop.objects import node_room
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import key_of
from kubeloop.objects.plan import Plan, Step


def plan(scene: Scene) -> Plan:
    """Decides what happens on the node now, and when to look again."""
    reconcile = _Nomination(scene)
    by_stage: dict[Stage, Members] = {stage: [] for stage in Stage}
    for member in scene.members:
        stage = stage_of(member, scene.node)
        if member.pod is None or stage is Stage.UNDONE:
            reconcile.end(member, completion.undone(member, scene.now))
        else:
            by_stage[stage].append((member, member.pod))
    for member, _ in by_stage[Stage.LOST]:
        reconcile.end(member, completion.lost(member, scene.now))
    marked = reconcile.welcome(reconcile.in_time(by_stage[Stage.MARKED]))
    queued = reconcile.welcome(
        reconcile.in_time(by_stage[Stage.QUEUED], TIMEOUTS.begin_before_deadline)
    )
    busy = reconcile.still_open(by_stage[Stage.OPEN]) + reconcile.unfinished(by_stage[Stage.BOUND])
    if marked:
        reconcile.advance(marked)
    elif busy:
        reconcile.rescue(busy)
    elif queued:
        reconcile.begin(queued)
    return reconcile.batch.plan().requeue(min(reconcile.requeue_at, default=None))


class _Nomination(HandoverSteps):
    """Drives the batches of a node: what is done for their members is done for all together."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.batch = Lane()

    def lane(self, _: Member) -> Lane:
        return self.batch

    def still_open(self, members: Members) -> Members:
        """Those who may still be bound; the others have lost their room or their time."""
        left = []
        for member, pod in members:
            if not member.standing and completion.is_pushed_out(self.scene, pod):
                self.give_up(member, completion.stolen(self.scene, member, pod))
            elif member.deadline <= self.scene.now:
                self.give_up(member, completion.never_bound(self.scene, member, pod))
            else:
                self.requeue_at.append(member.deadline)
                left.append((member, pod))
        return left

    def unfinished(self, members: Members) -> Members:
        """Those whose pod is bound but whose remainder is not; all others have what they claimed."""
        left = []
        for member, pod in members:
            remainder_guardian = member.remainder_guardian
            in_time = member.deadline > self.scene.now
            if remainder_guardian is None or remainder_guardian.spec.node_name or not in_time:
                self.batch.first += map(ended, () if member.keeps_guardian else member.firm)
                self.batch.first += self._news(member, pod)
                self.end(member, completion.done(member, pod, self.scene.now))
                continue
            self.requeue_at.append(member.deadline)
            if guardian.is_gated(remainder_guardian) and not member.standing:
                self.batch.first.append(claim_patches.open_guardian(remainder_guardian))
            left.append((member, pod))
        return left

    def begin(self, members: Members) -> None:
        """Starts the node's next batch: the easy way as far as there is room for the pods beside the guardians."""
        members = self.with_places(members)
        without_remainder = [
            member
            for member, _ in members
            if member.is_swapped and member.remainder_guardian is None
        ]
        self.batch.first += map(self.birth, without_remainder)
        ready = []
        for member, pod in members:
            if member.keeps_guardian:
                self._open(member, pod)
            elif member not in without_remainder:
                ready.append((member, pod))
        room = self.scene.room()
        if ready and (ready[0][0].is_swapped or room.lacks(node_room.demand_of(ready[0][1]))):
            self._mark(ready)
            self._withdraw()
            self.batch.second += (ended(each) for member, _ in ready for each in member.firm)
            return
        for member, pod in ready:
            demand = node_room.demand_of(pod)
            if not member.is_swapped and not room.lacks(demand):
                room = room.with_pod(demand)
                self._open(member, pod)

    def advance(self, members: Members) -> None:
        """Takes a batch over the barrier once the last of its guardians is gone and nobody else is promised room.

        Nobody would tell us that a promise to others has been taken back, so we look again at once.
        """
        strangers = [each for each in members if not self._is_known(*each)]
        standing = [each for member, _ in members for each in member.standing]
        self._mark(strangers)
        self.end_all(self.batch, standing)
        if self._withdraw():
            self.requeue_at.append(self.scene.now)
        elif not standing and not strangers:
            for member, pod in members:
                self._open(member, pod)

    def rescue(self, members: Members) -> None:
        """Helps pods that were let go before their guardian when somebody else took the room: one after the other."""
        for member, pod in members:
            if (
                member.firm
                and not member.keeps_guardian
                and completion.is_pushed_out(self.scene, pod)
            ):
                self._mark([(member, pod)])
                self._withdraw()
                self.batch.second += map(ended, member.firm)
                return
        leaving = (each for member, _ in members for each in member.standing)
        gone = [each for each in leaving if each.metadata.deletion_timestamp is not None]
        self.end_all(self.batch, gone)

    def _open(self, member: Member, pod: Pod) -> None:
        remainder_guardian = member.remainder_guardian
        self.batch.first.append(claim_patches.pin(pod, member.ticket, self.scene.node))
        if remainder_guardian is not None and guardian.is_gated(remainder_guardian):
            self.batch.first.append(claim_patches.open_guardian(remainder_guardian))
        self.requeue_at.append(member.deadline)
        self.batch.second += self._news(member, pod)

    def _news(self, member: Member, pod: Pod) -> list[Step]:
        """What a pod has to know that was last told to wait."""
        if claim_patches.stated(pod) is None or is_marked(pod):
            return []
        return [self._claimed(member, pod, pod.status.nominated_node_name)]

    def _claimed(self, member: Member, pod: Pod, node: str) -> Step:
        words = self._words(member.ticket)
        step = claim_patches.tell(
            pod, ClaimReason.CLAIMED, words, self.scene.now, bound=True, node=node
        )
        return claim_patches.annotated(step, self._mark_for(member.ticket))

    def _mark(self, members: Members) -> None:
        """Promises the node; what an heir was promised before is first taken back, because to a new scheduler only a change is news."""
        node = self.scene.node
        for member, pod in members:
            remainder_guardian = member.remainder_guardian
            self.batch.first.append(self._claimed(member, pod, node))
            if (
                remainder_guardian is not None
                and remainder_guardian.status.nominated_node_name != node
            ):
                self.batch.first.append(claim_patches.nominate(remainder_guardian, node))
            elif remainder_guardian is not None and node and is_marked(pod):
                self.batch.first.append(claim_patches.nominate(remainder_guardian, ""))

    def _withdraw(self) -> bool:
        """Takes back what other tickets are promised here, and says whether there was any; they are promised it again afterwards."""
        promised = self.scene.promised()
        self.batch.first += (claim_patches.nominate(each, "") for each in promised)
        return bool(promised)

    def _is_known(self, member: Member, pod: Pod) -> bool:
        """Says whether the scheduler that is at work now knows of the nominations."""
        remainder_guardian, noted = member.remainder_guardian, pod.metadata.annotations
        node = self.scene.node
        return (
            is_marked(pod)
            and self._mark_for(member.ticket).items() <= noted.items()
            and (
                remainder_guardian is None or remainder_guardian.status.nominated_node_name == node
            )
        )

    def _mark_for(self, ticket: Ticket) -> dict[str, str]:
        """The annotations of a pod that is nominated for this ticket while this scheduler is at work."""
        return {
            NOMINATION_TICKET_ANNOTATION: str(key_of(ticket)),
            NOMINATION_SCHEDULER_ANNOTATION: self.scene.scheduler,
        }

    def _words(self, ticket: Ticket) -> str:
        promise = f"{beginning(ticket)}holds room on node {self.scene.node} for this pod."
        known = f" Scheduler {self.scene.scheduler} knows." if self.scene.scheduler else ""
        return promise + known
