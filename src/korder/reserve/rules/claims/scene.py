"""One node and all that is handed over on it, as `controllers.handovers` has gathered it for the rules of the hand-over."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from korder.api import noderoom
from korder.api.core import Pod
from korder.api.noderoom import Demand, NodeRoom
from korder.reserve.rules.claims.fitting import Site
from korder.reserve.rules.claims.members import NEVER, Member
from korder.reserve.rules.tickets import guardian
from korder.reserve.rules.tickets.guardian import Options


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
        demand: What a guardian takes that may be placed before the room is free; None if it may not.
        since: Since when the pod terminates.
    """

    is_occupied: bool
    waiting: Collection[Pod] = ()
    is_new: bool = False
    demand: Demand | None = None
    since: datetime | None = None


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
        return noderoom.room_of(self.site.node, self.site.pods)

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
