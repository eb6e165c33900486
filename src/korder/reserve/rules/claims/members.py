"""Who takes part in a hand-over, and how far each is.

`handover` drives them, `controllers.handovers` gathers them. Nothing is remembered: the stage of a member is read from its pod and
guardians every time. A ticket that several pods share keeps a smaller guardian, its *heir*, which is made behind a gate and takes part like
a pod (rule 11); the others hold what is to be handed over.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from korder.api import core, resources
from korder.api.core import Pod
from korder.api.meta import key_of
from korder.api.reserve import (
    GUARDIAN_HASH_ANNOTATION,
    TICKET_CLAIMED_ANNOTATION,
    ClaimReason,
    Share,
    Ticket,
    TicketPhase,
)
from korder.reserve.rules.claims import claimsteps
from korder.reserve.rules.tickets import guardian, usage
from korder.reserve.rules.tickets.usage import Amounts

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
        heir = self.heir
        return [pod for pod in self.guardians if pod is not heir and not core.is_finished(pod)]

    @property
    def firm(self) -> list[Pod]:
        """The guardians that hold the room to be handed over."""
        return [pod for pod in self.standing if _stays(pod)]

    @property
    def is_swapped(self) -> bool:
        """Whether a smaller guardian has to take the place of the present one."""
        shares = self.ticket.status.shared_by
        return bool(self.rest) and self.rest != usage.remainder(self.ticket, shares)

    @property
    def keeps_guardian(self) -> bool:
        """Whether a pod that takes nothing of a shared ticket comes."""
        return bool(self.rest) and not self.is_swapped

    @property
    def rest(self) -> Amounts:
        """What the ticket holds besides, once the pod has its share; nothing if one pod takes all."""
        return usage.remainder(self.ticket, self.shares) if self.shares else {}

    @property
    def shares(self) -> tuple[Share, ...]:
        """All who share the ticket, with the pod; nobody shares one that is allocated once."""
        if self.ticket.spec.allocate_once or self.pod is None:
            return ()
        meta = self.pod.metadata
        takes = resources.render(usage.share_of(self.ticket, self.pod))
        share = Share(namespace=meta.namespace, name=meta.name, uid=meta.uid, requests=takes)
        return (*self.ticket.status.shared_by, share)

    @property
    def heir(self) -> Pod | None:
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


def beginning(ticket: Ticket) -> str:
    """How words to a pod begin that has got this ticket."""
    return f"Ticket {key_of(ticket)} "


def rightful(pod: Pod, tickets: Iterable[Ticket]) -> Ticket | None:
    """Of several tickets that claim for one pod, as two replicas may do in the moment of a change: the one that has it already, or comes first."""
    told, uid = claimsteps.told(pod), pod.metadata.uid

    def rank(ticket: Ticket) -> tuple[bool, bool, str]:
        status = ticket.status
        has_it = status.phase is TicketPhase.CLAIMED or any(s.uid == uid for s in status.shared_by)
        named = pod.metadata.annotations.get(TICKET_CLAIMED_ANNOTATION) == claimsteps.name_for(
            pod, ticket
        ) or (told is not None and told.message.startswith(beginning(ticket)))
        return not has_it, not named, str(key_of(ticket))

    return min(tickets, key=rank, default=None)


def _stays(guardian: Pod) -> bool:
    return guardian.metadata.deletion_timestamp is None and not core.is_finished(guardian)
