"""One node's hand-over: the room passes from guardians to the pods that claimed it, in batches, so that no third gets it.

`controllers.handovers` gathers and calls `plan`, a state machine without a memory: how far each member is follows from the ticket, the
pod and the guardians alone, so any crash is just a turn that comes later. A batch is marked and nominated, its guardians go, and
only when all of them are gone are its pods pinned and let go; the node's next batch waits until all are bound. While one guardian of the
batch stands, its pod counts twice, and another pod of the batch would fail to fit and lose its nomination. Where the node has room for
pod and guardian together nothing has to be timed: the pod goes first and the guardian afterwards.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from korder.api import core, instant, noderoom
from korder.api.core import PODS, Pod
from korder.api.meta import controller_of, key_of
from korder.api.noderoom import NodeRoom
from korder.api.plan import Delete, EventType, Notice, Plan, Step
from korder.api.reserve import TICKETS, ClaimReason, Reason, Ticket, TicketPhase
from korder.reserve.rules import claimsteps
from korder.reserve.rules.fitting import Site

BEGIN_BEFORE_END = timedelta(seconds=40)
"""A hand-over with less time left than this does not begin: the ticket is free again and the pod claims anew."""
DELETION_PATIENCE = timedelta(seconds=10)
"""How long after its grace a guardian may linger on a node that does not answer."""


class Stage(StrEnum):
    """How far one member is."""

    QUEUED = "waits for the node's next batch"
    MARKED = "waits for the guardians of the batch to go"
    OPEN = "waits to be bound"
    BOUND = "is bound"
    LOST = "has no guardian any more although nothing has begun"
    UNDONE = "has no pod that could take the room"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the manager's flags say about hand-overs."""

    nominate: bool = True
    recreate_stuck_pods: bool = True


@dataclass(frozen=True, slots=True)
class Member:
    """A ticket that is being claimed, the pod that claims it, if it is still there, and the ticket's guardians."""

    ticket: Ticket
    pod: Pod | None
    guardians: Collection[Pod] = ()
    is_rival: bool = False
    """Whether the pod is to have another ticket."""

    @property
    def standing(self) -> list[Pod]:
        """The guardians that still take room, be it that they are on their way out."""
        return [guardian for guardian in self.guardians if not core.is_finished(guardian)]

    @property
    def firm(self) -> list[Pod]:
        """The guardians that hold the room."""
        return [each for each in self.standing if each.metadata.deletion_timestamp is None]

    @property
    def deadline(self) -> datetime:
        return self.ticket.status.claim_deadline or datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Scene:
    """A node, if it is still there, and all that is handed over on it."""

    node: str
    site: Site | None
    members: Collection[Member]
    now: datetime
    scheduler: str = ""
    """Who schedules, as far as is known; a new one has to be told of nominations again."""
    settings: Settings = field(default_factory=Settings)

    def room(self) -> NodeRoom:
        return (
            noderoom.room_of(self.site.node, self.site.pods)
            if self.site is not None
            else NodeRoom({}, {}, {})
        )


def plan(scene: Scene) -> Plan:
    """Decides what happens on the node now, and when to look again."""
    turn = _Turn(scene)
    by_stage: dict[Stage, list[tuple[Member, Pod]]] = {stage: [] for stage in Stage}
    for member in scene.members:
        stage = stage_of(member, scene.node)
        if member.pod is None or stage is Stage.UNDONE:
            turn.give_back(member, ClaimReason.CLAIM_UNDONE, _undone(member))
        else:
            by_stage[stage].append((member, member.pod))
    for member, _ in by_stage[Stage.LOST]:
        turn.give_back(member, Reason.LOST, "The guardian was lost before the hand-over began.")
    for member, pod in by_stage[Stage.BOUND]:
        turn.finish(member, pod)
    opened = turn.still_open(by_stage[Stage.OPEN])
    marked = turn.in_time(by_stage[Stage.MARKED])
    queued = turn.in_time(by_stage[Stage.QUEUED], BEGIN_BEFORE_END)
    if marked:
        turn.advance(marked)
    if opened:
        turn.rescue(opened)
    elif queued and not marked:
        turn.begin(queued)
    return turn.plan()


def stage_of(member: Member, node: str) -> Stage:
    """Reads from the objects how far a member is."""
    pod = member.pod
    if pod is None or member.is_rival:
        return Stage.UNDONE
    if pod.spec.node_name:
        return Stage.BOUND if pod.spec.node_name == node else Stage.UNDONE
    if core.is_finished(pod) or pod.metadata.deletion_timestamp is not None:
        return Stage.UNDONE
    if not claimsteps.is_gated(pod):
        return Stage.OPEN
    if is_marked(pod):
        return Stage.MARKED
    return Stage.QUEUED if member.firm else Stage.LOST


def is_marked(pod: Pod) -> bool:
    """Says whether a hand-over to this pod has begun."""
    told = claimsteps.told(pod)
    return told is not None and told.status == "True" and told.reason == ClaimReason.CLAIMED


def rightful(pod: Pod, tickets: Iterable[Ticket]) -> Ticket | None:
    """Of several tickets that claim for one pod, as two replicas may do in the moment of a change: the one that has it already, or comes first."""
    told = claimsteps.told(pod)

    def rank(ticket: Ticket) -> tuple[bool, bool, str]:
        in_use = ticket.status.phase is TicketPhase.CLAIMED
        named = told is not None and told.message.startswith(_beginning(ticket))
        return not in_use, not named, str(key_of(ticket))

    return min(tickets, key=rank, default=None)


class _Turn:
    """Collects what is to be done; steps with the same number run side by side."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._first: list[Step] = []
        self._second: list[Step] = []
        self._notices: list[Notice] = []
        self._wake_at: list[datetime] = []

    def plan(self) -> Plan:
        wake_at = min(self._wake_at, default=None)
        return Plan().then(*self._first).then(*self._second).tell(*self._notices).wake(wake_at)

    def finish(self, member: Member, pod: Pod) -> None:
        """The pod has the room: what is left of the hold goes, and the ticket is in use."""
        self._first += map(_end, member.firm)
        self._second.append(
            claimsteps.set_status(
                member.ticket,
                TicketPhase.CLAIMED,
                claimedTime=instant.render(self._scene.now),
                claimDeadline=None,
                guardianPod=None,
                reason=None,
                message=None,
            )
        )
        note = f"Pod {key_of(pod)} has the room on node {self._scene.node}"
        self._notices.append(Notice(TICKETS, member.ticket, "Claimed", note))

    def give_back(self, member: Member, reason: StrEnum, message: str) -> None:
        """The pod will not have the room: the ticket is free if it is still held, and otherwise takes room again."""
        held = bool(member.firm)
        self._second.append(
            claimsteps.set_status(
                member.ticket,
                TicketPhase.RESERVED if held else TicketPhase.PENDING,
                claimedBy=None,
                claimedPod=None,
                claimDeadline=None,
                reason=None if held else reason.value,
                message=None if held else message,
            )
        )
        self._notices.append(
            Notice(TICKETS, member.ticket, reason.value, message, EventType.WARNING, "GiveBack")
        )

    def in_time(
        self, members: Iterable[tuple[Member, Pod]], before_end: timedelta = timedelta()
    ) -> list[tuple[Member, Pod]]:
        """Those of the gated members who have time left; the others end."""
        left = []
        for member, pod in members:
            ends = member.deadline - before_end
            if ends > self._scene.now:
                self._wake_at.append(ends)
                left.append((member, pod))
                continue
            message = f"The hand-over on node {self._scene.node} took too long."
            if is_marked(pod):
                self._first.append(
                    claimsteps.tell(pod, ClaimReason.CLAIM_UNDONE, message, self._scene.now)
                )
            self.give_back(member, ClaimReason.CLAIM_UNDONE, message)
        return left

    def still_open(self, members: Iterable[tuple[Member, Pod]]) -> list[tuple[Member, Pod]]:
        """Those who may still be bound; the others have lost their room or their time."""
        left = []
        for member, pod in members:
            if not member.standing and self._is_pushed_out(pod):
                self._abandon(member, pod, ClaimReason.STOLEN, self._thief(pod))
            elif member.deadline <= self._scene.now:
                self._abandon(member, pod, ClaimReason.NEVER_BOUND, _last_words(pod))
            else:
                self._wake_at.append(member.deadline)
                left.append((member, pod))
        return left

    def begin(self, members: list[tuple[Member, Pod]]) -> None:
        """Starts the node's next batch: the easy way as far as there is room for the pods beside the guardians."""
        members = sorted(members, key=lambda each: _age(each[1]))
        room = self._scene.room()
        if self._scene.site is None or room.lacks(noderoom.demand_of(members[0][1])):
            self._mark(members)
            self._second += (_end(guardian) for member, _ in members for guardian in member.firm)
            return
        for member, pod in members:
            demand = noderoom.demand_of(pod)
            if not room.lacks(demand):
                room = room.with_pod(demand)
                self._open(member, pod)

    def advance(self, members: list[tuple[Member, Pod]]) -> None:
        """Takes a batch over the barrier once the last of its guardians is gone."""
        strangers = [
            (member, pod)
            for member, pod in members
            if not self._knows(claimsteps.told(pod), member.ticket)
        ]
        standing = [guardian for member, _ in members for guardian in member.standing]
        self._mark(strangers)
        self._end_all(standing)
        if not standing and not strangers:
            for member, pod in members:
                self._open(member, pod)

    def rescue(self, members: list[tuple[Member, Pod]]) -> None:
        """Helps pods that were let go before their guardian when somebody else took the room: one after the other."""
        for member, pod in members:
            if member.firm and self._is_pushed_out(pod):
                self._mark([(member, pod)])
                self._second += map(_end, member.firm)
                return
        self._end_all(
            guardian
            for member, _ in members
            for guardian in member.standing
            if guardian.metadata.deletion_timestamp is not None
        )

    def _open(self, member: Member, pod: Pod) -> None:
        self._first.append(claimsteps.pin(pod, member.ticket, self._scene.node))
        self._wake_at.append(member.deadline)
        if claimsteps.told(pod) is not None and not is_marked(pod):
            words = self._words(member.ticket)
            self._second.append(
                claimsteps.tell(pod, ClaimReason.CLAIMED, words, self._scene.now, bound=True)
            )

    def _mark(self, members: Iterable[tuple[Member, Pod]]) -> None:
        node = self._scene.node if self._scene.settings.nominate else ""
        for member, pod in members:
            words = self._words(member.ticket)
            now = self._scene.now
            self._first.append(
                claimsteps.tell(pod, ClaimReason.CLAIMED, words, now, bound=True, node=node)
            )

    def _end_all(self, guardians: Iterable[Pod]) -> None:
        for guardian in guardians:
            going = guardian.metadata.deletion_timestamp
            if going is None:
                self._second.append(_end(guardian))
            elif going + DELETION_PATIENCE <= self._scene.now:
                self._second.append(_end(guardian, grace_seconds=0))
            else:
                self._wake_at.append(going + DELETION_PATIENCE)

    def _abandon(self, member: Member, pod: Pod, reason: ClaimReason, message: str) -> None:
        """Ends the wait of a pod that is tied to a node which does not take it: only a new pod can go elsewhere."""
        meta = pod.metadata
        if self._scene.settings.recreate_stuck_pods and controller_of(pod) is not None:
            note = f"Deleted so that its controller makes it again: {message}"
            self._first.append(Delete(PODS, key_of(pod), meta.uid, meta.resource_version))
        else:
            note = f"The pod is tied to node {self._scene.node} without a ticket: {message}"
            self._first.append(
                claimsteps.tell(
                    pod, reason, message, self._scene.now, node=pod.status.nominated_node_name
                )
            )
        self._notices.append(Notice(PODS, pod, reason, note, EventType.WARNING, "GiveBack"))
        self.give_back(member, reason, f"Pod {key_of(pod)} was not bound: {message}")

    def _is_pushed_out(self, pod: Pod) -> bool:
        """Says whether the scheduler has tried the pod, and the node has no room for it."""
        tried = core.reported(pod.status.conditions, "PodScheduled")
        return (
            tried is not None
            and tried.reason == "Unschedulable"
            and not pod.status.nominated_node_name
            and bool(self._scene.room().lacks(noderoom.demand_of(pod)))
        )

    def _thief(self, pod: Pod) -> str:
        """Names the pod that probably took the room: the youngest on the node that may come before this one."""
        rank = pod.spec.priority or 0
        others = self._scene.site.pods if self._scene.site is not None else ()
        above = [other for other in others if (other.spec.priority or 0) >= rank]
        if not above:
            return f"Node {self._scene.node} has no room any more."
        return (
            f"Its room on node {self._scene.node} was taken by pod {key_of(max(above, key=_age))}."
        )

    def _knows(self, told: core.ReportedCondition | None, ticket: Ticket) -> bool:
        return told is not None and told.message == self._words(ticket)

    def _words(self, ticket: Ticket) -> str:
        promise = f"{_beginning(ticket)} holds room on node {self._scene.node} for this pod."
        known = f" Scheduler {self._scene.scheduler} knows." if self._scene.scheduler else ""
        return promise + known


def _beginning(ticket: Ticket) -> str:
    return f"Ticket {key_of(ticket)}"


def _end(guardian: Pod, grace_seconds: int | None = None) -> Delete:
    return Delete(PODS, key_of(guardian), guardian.metadata.uid, grace_seconds=grace_seconds)


def _age(pod: Pod) -> tuple[datetime, str]:
    born = pod.metadata.creation_timestamp or datetime.min.replace(tzinfo=UTC)
    return born, pod.metadata.name


def _undone(member: Member) -> str:
    name = member.ticket.status.claimed_pod
    if member.pod is None:
        return f"Pod {name} was gone before it had the room."
    if member.is_rival:
        return f"Pod {name} has another ticket."
    if member.pod.spec.node_name:
        return f"Pod {name} went to node {member.pod.spec.node_name}."
    return f"Pod {name} ended before it had the room."


def _last_words(pod: Pod) -> str:
    """What the scheduler last said about the pod."""
    tried = core.reported(pod.status.conditions, "PodScheduled")
    return (
        tried.message if tried is not None and tried.message else "The scheduler did not bind it."
    )
