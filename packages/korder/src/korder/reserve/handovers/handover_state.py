"""One node and everything that is handed over on it, as the controller gathered it: members, how far each is, and settings."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count

import msgspec

from korder.api.reserve import (
    GUARDIAN_HASH_ANNOTATION,
    NOMINATION_TICKET_ANNOTATION,
    TICKET_CLAIMED_ANNOTATION,
    TICKETS,
    ClaimReason,
    Share,
    Ticket,
    TicketPhase,
)
from korder.reserve.claims import patches as claim_patches
from korder.reserve.claims.requirements import Site
from korder.reserve.tickets import guardian, state as ticket_state
from korder.reserve.tickets.guardian import Options
from korder.reserve.tickets.state import Amounts
from kubeloop.objects import core, node_room, resources
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import Key, controller_of, key_of, owned_by
from kubeloop.objects.node_room import Demand, NodeRoom


def ticket_key(guardian: Pod) -> Key | None:
    """The ticket for which the pod is a guardian that cannot be handed over."""
    meta, owner = guardian.metadata, controller_of(guardian)
    is_detained = bool(meta.finalizers) or meta.deletion_timestamp is not None
    if not is_detained or owner is None or owner.kind != TICKETS.kind:
        return None
    return Key(meta.namespace, owner.name)


def among(guardians: Iterable[Pod], find: Callable[[Key], Ticket | None]) -> dict[str, str]:
    """The tickets that cannot be handed over, by UID, and why; guardians that can be deleted may be missing."""
    detained: dict[Key, list[Pod]] = {}
    for pod in guardians:
        if (key := ticket_key(pod)) is not None:
            detained.setdefault(key, []).append(pod)
    found = ((find(key), pods) for key, pods in detained.items())
    said = {t.metadata.uid: why(t, pods) for t, pods in found if t is not None}
    return {uid: words for uid, words in said.items() if words}


def why(ticket: Ticket, guardians: Iterable[Pod]) -> str:
    """Says what keeps the ticket from being handed over; empty if nothing does."""
    return next(_reasons(ticket, guardians), "")


def _reasons(ticket: Ticket, guardians: Iterable[Pod]) -> Iterator[str]:
    for each in guardians:
        meta = each.metadata
        if not owned_by(each, ticket.metadata.uid):
            continue
        if meta.finalizers:
            names = ", ".join(sorted(meta.finalizers))
            yield f"guardian {meta.name} has the finalizer {names}"
        elif meta.deletion_timestamp is not None and _holds(each, ticket):
            yield f"guardian {meta.name} is being deleted"


def _holds(guardian: Pod, ticket: Ticket) -> bool:
    """Whether this is the guardian that the ticket counts on; others of a shared ticket make way for a smaller one."""
    return ticket.status.guardian_pod == str(key_of(guardian))


NEVER = datetime.min.replace(tzinfo=UTC)


class Stage(StrEnum):
    """How far one member is."""

    QUEUED = "waits for the node's next batch"
    MARKED = "waits for the guardians of the batch to go"
    OPEN = "waits to be bound"
    BOUND = "is bound"
    LOST = "has no guardian any more although nothing has begun"
    UNDONE = "has no pod that could take the room"


@dataclass(frozen=True, slots=True)
class Member:
    """A ticket that is being claimed, and who takes part.

    Attributes:
        ticket: The ticket.
        pod: The pod that claims it, if it is still there.
        guardians: All that belong to the ticket.
        is_rival: Whether the pod is to have another ticket.
        free_name: A name for one more guardian.
    """

    ticket: Ticket
    pod: Pod | None
    guardians: Collection[Pod] = ()
    is_rival: bool = False
    free_name: str = ""

    @property
    def deadline(self) -> datetime:
        return self.ticket.status.claim_deadline or NEVER

    @property
    def standing(self) -> list[Pod]:
        """The guardians that still take the room to be handed over, be it that they are on their way out."""
        remainder_guardian = self.remainder_guardian
        return [
            pod
            for pod in self.guardians
            if pod is not remainder_guardian and not core.is_finished(pod)
        ]

    @property
    def firm(self) -> list[Pod]:
        """The guardians that hold the room to be handed over."""
        return [pod for pod in self.standing if _stays(pod)]

    @property
    def is_swapped(self) -> bool:
        """Whether a smaller guardian has to take the place of the present one."""
        shares = self.ticket.status.shared_by
        return bool(self.rest) and self.rest != ticket_state.remainder(self.ticket, shares)

    @property
    def keeps_guardian(self) -> bool:
        """Whether a pod that takes nothing of a shared ticket comes."""
        return bool(self.rest) and not self.is_swapped

    @property
    def rest(self) -> Amounts:
        """What the ticket holds besides, once the pod has its share; nothing if one pod takes all."""
        return ticket_state.remainder(self.ticket, self.shares) if self.shares else {}

    @property
    def shares(self) -> tuple[Share, ...]:
        """All who share the ticket, with the pod; nobody shares one that is allocated once."""
        if self.ticket.spec.allocate_once or self.pod is None:
            return ()
        meta = self.pod.metadata
        takes = resources.render(ticket_state.share_of(self.ticket, self.pod))
        share = Share(namespace=meta.namespace, name=meta.name, uid=meta.uid, requests=takes)
        return (*self.ticket.status.shared_by, share)

    @property
    def remainder_guardian(self) -> Pod | None:
        """The guardian that is made for what will be left."""
        if not self.is_swapped:
            return None
        made_for = guardian.fingerprint(self.ticket, self.rest, self.ticket.status.node_name)
        return next(
            (
                pod
                for pod in self.guardians
                if pod.metadata.annotations.get(GUARDIAN_HASH_ANNOTATION) == made_for
                and _stays(pod)
            ),
            None,
        )

    def shared(self) -> Ticket:
        """The ticket with the pod among those who share it."""
        status = msgspec.structs.replace(
            self.ticket.status,
            shared_by=self.shares,
            claimed_by=None,
            claimed_pod="",
            claim_deadline=None,
        )
        return msgspec.structs.replace(self.ticket, status=status)


def with_both(room: NodeRoom, member: Member, pod: Pod) -> NodeRoom:
    """What is left of the room beside a pod and the guardian of what it leaves over."""
    room = room.with_pod(node_room.demand_of(pod))
    rest = member.remainder_guardian
    return room if rest is None else room.with_pod(node_room.demand_of(rest))


def shortages(room: NodeRoom, member: Member, pod: Pod) -> list[str]:
    """Of what there is too little for a pod and the guardian of what it leaves over."""
    if member.remainder_guardian is not None:
        room = room.with_pod(node_room.demand_of(member.remainder_guardian))
    return room.lacks(node_room.demand_of(pod))


def stage_of(member: Member, node: str) -> Stage:
    """Reads from the objects how far a member is."""
    pod = member.pod
    if pod is None or member.is_rival:
        return Stage.UNDONE
    if pod.spec.node_name:
        return Stage.BOUND if pod.spec.node_name == node else Stage.UNDONE
    if core.is_finished(pod) or pod.metadata.deletion_timestamp is not None:
        return Stage.UNDONE
    if not claim_patches.is_gated(pod):
        return Stage.OPEN
    if is_marked(pod):
        return Stage.MARKED
    return Stage.QUEUED if member.firm else Stage.LOST


def is_marked(pod: Pod) -> bool:
    """Says whether a hand-over to this pod has begun."""
    stated = claim_patches.stated(pod)
    return stated is not None and stated.status == "True" and stated.reason == ClaimReason.CLAIMED


def beginning(ticket: Ticket) -> str:
    """How words to a pod begin that has got this ticket."""
    return f"Ticket {key_of(ticket)} "


def rightful(pod: Pod, tickets: Iterable[Ticket]) -> Ticket | None:
    """Of several tickets that claim for one pod, as two replicas may do in the moment of a change: the one that has it already, or comes first."""
    uid = pod.metadata.uid

    def rank(ticket: Ticket) -> tuple[bool, bool, str]:
        status = ticket.status
        has_it = status.phase is TicketPhase.CLAIMED or any(s.uid == uid for s in status.shared_by)
        named = pod.metadata.annotations.get(TICKET_CLAIMED_ANNOTATION) == claim_patches.name_for(
            pod, ticket
        ) or (
            is_marked(pod)
            and pod.metadata.annotations.get(NOMINATION_TICKET_ANNOTATION) == str(key_of(ticket))
        )
        return not has_it, not named, str(key_of(ticket))

    return min(tickets, key=rank, default=None)


def _stays(guardian: Pod) -> bool:
    return guardian.metadata.deletion_timestamp is None and not core.is_finished(guardian)


_Rank = tuple[int, datetime, str]


def in_fair_order(members: Iterable[Member]) -> list[Member]:
    """The members in the order of service."""
    rounds: dict[str, count[int]] = {}
    placed = [
        (next(rounds.setdefault(_namespace(each), count())), _rank(each), each)
        for each in sorted(members, key=_rank)
    ]
    return [member for *_, member in sorted(placed, key=lambda each: each[:2])]


def _namespace(member: Member) -> str:
    """The namespace that is served: that of the pod, which need not be the ticket's."""
    by = member.ticket.status.claimed_by
    return by.namespace if by is not None else member.ticket.metadata.namespace


def _rank(member: Member) -> _Rank:
    pod, name = member.pod, member.ticket.status.claimed_pod
    if pod is None:
        return 0, NEVER, name
    return -(pod.spec.priority or 0), pod.metadata.creation_timestamp or NEVER, name


class Handover(StrEnum):
    """What keeps room on a full node for a claimant between its guardian and itself."""

    TAINT = "taint"
    NOMINATE = "nominate"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the manager's flags say about hand-overs."""

    handover: Handover = Handover.TAINT
    recreate_stuck_pods: bool = True
    return_finalizer: bool = False
    """Whether a pod whose room its ticket takes back is deleted only behind the barrier, however fast it ends."""
    guardians: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class Return:
    """A ticket that is about to take room on the node back.

    Attributes:
        is_occupied: Whether a pod, or a guardian of another size, still has the room.
        waiting: The guardians that are to take it.
        is_new: Whether the pod has just ended, and its ticket does not say so yet.
        demand: What a guardian takes that is still to come, or may be placed before the room is free; None if it may not.
        since: Since when the pod terminates.
    """

    is_occupied: bool
    waiting: Collection[Pod] = ()
    is_new: bool = False
    demand: Demand | None = None
    since: datetime | None = None


def order_of_return(each: Return) -> tuple[bool, bool]:
    """Sorts returns: free room belongs to the ticket whose pod has left it, then to guardians that were let go for it."""
    return each.is_occupied, all(map(guardian.is_gated, each.waiting))


@dataclass(frozen=True, slots=True)
class SchedulerSigns:
    """What the lease of the scheduler shows, by our own clock.

    Attributes:
        renewed: When the lease was last seen to change.
        taken: When the present scheduler was seen to take over; None if it has been there from the start.
    """

    renewed: datetime
    taken: datetime | None = None


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
    returning: Collection[Return] = ()
    leaving: Collection[Pod] = ()
    """Pods that terminate and that our finalizer keeps until the barrier stands."""
    signs: SchedulerSigns | None = None
    """Of a scheduler with a lease."""
    inherited_until: datetime | None = None
    """Until when a barrier that another process raised is not lowered: its members may not be in our caches yet."""

    def room(self) -> NodeRoom:
        if self.site is None:
            return NodeRoom({}, {}, {})
        return node_room.room_of(self.site.node, self.site.pods)

    def promised(self) -> list[Pod]:
        """Guardians of other tickets that are promised room which is still in use.

        The scheduler counts it twice, and a pod that is handed other room would not fit.
        """
        ours = {each.metadata.uid for member in self.members for each in member.guardians}
        there = self.site.pods if self.site is not None else ()
        return [pod for pod in there if guardian.is_gated(pod) and pod.metadata.uid not in ours]


def age(pod: Pod) -> tuple[datetime, str]:
    """In this order pods came."""
    return pod.metadata.creation_timestamp or NEVER, pod.metadata.name
