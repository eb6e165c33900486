"""Everything about one ticket at one moment: what the ticket controller gathers and its rules decide by.

`korder.reserve.tickets.controller` fills it; `plan` and `reserve_phase` read it. A pod that is not in the picture is surely gone: the controller asks
the server before it leaves one out. It is also here that a guardian is judged: to hold its room a pod must be neither leaving nor ended,
and its node must exist.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from korder.api.reserve import PodReference, Reason, Share, Ticket
from korder.reserve.claims import patches as claim_patches
from korder.reserve.tickets.guardian import Options, avoided, lacks_toleration
from kubeloop.objects import core
from kubeloop.objects.core import PODS, Node, Pod
from kubeloop.objects.meta import key_of
from kubeloop.objects.plan import Delete, Plan

FORCE_AFTER = timedelta(seconds=30)
"""How long after its grace a guardian may take to go, before it is taken for one on a dead node (K12)."""
_DISRUPTIONS = {
    "PreemptionByScheduler": Reason.PREEMPTED,
    "EvictionByEvictionAPI": Reason.EVICTED,
    "DeletionByTaintManager": Reason.EVICTED,
    "DeletionByPodGC": Reason.NODE_LOST,
    "TerminationByKubelet": Reason.EVICTED,
}


class Loss(NamedTuple):
    """Why a guardian holds nothing any more."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A ticket and all that its fate depends on.

    Attributes:
        ticket: The ticket.
        options: What all guardians have in common.
        guardians: All pods that belong to the ticket, also those that are about to go.
        users: The pods of `claimedBy` and `sharedBy` that exist, by UID.
        nodes: The nodes of the guardians and of the ticket, as far as they exist.
        free_name: A name for one more guardian.
        namespace_ends: Whether nothing new may be made.
        node_is_busy: Whether a hand-over is under way on the ticket's node.
        node_is_awaited: Whether the guardian of another ticket is about to take room there that is free for it.
        promised: Lists the guardians of other tickets that are promised room there which is still in use.
        scheduler: Who schedules, as far as is known; a new one has to be told of nominations again.
        cordoned: Lists the nodes that are to take no more pods.
        is_open: Says whether there is a node of that name, and it takes pods.
        taints: Lists the keys of all taints in the cluster.
        has_room: Says whether the ticket's node has room for a guardian now.
        overbooked: Names what a bound guardian requests and its node has less of than its pods request.
        barred: Says why a ticket may not be held for another term; empty if it may.
    """

    ticket: Ticket
    options: Options
    guardians: tuple[Pod, ...] = ()
    users: Mapping[str, Pod] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    free_name: str = ""
    namespace_ends: bool = False
    node_is_busy: bool = False
    node_is_awaited: bool = False
    promised: Callable[[], Collection[Pod]] = tuple
    scheduler: str = ""
    cordoned: Callable[[], Iterable[str]] = tuple
    is_open: Callable[[str], bool] = lambda _: False
    barred: Callable[[Ticket, datetime], str] = lambda _, __: ""
    taints: Callable[[], Iterable[str]] = tuple
    has_room: Callable[[Pod], bool] = lambda _: False
    overbooked: Callable[[Pod], Collection[str]] = lambda _: ()

    @property
    def node_is_crowded(self) -> bool:
        """Whether others are about to take room on the ticket's node, so that nobody can be promised any."""
        return self.node_is_busy or self.node_is_awaited

    @property
    def barrier(self) -> str:
        """The token of the barrier on the ticket's node; empty if there is none."""
        return claim_patches.token_of(self.nodes.get(self.ticket.status.node_name))

    @property
    def live(self) -> tuple[Pod, ...]:
        """The guardians that hold room or will."""
        return tuple(pod for pod in self.guardians if self.loss_of(pod) is None)

    @property
    def lost(self) -> tuple[Pod, ...]:
        """The guardians that do not, though they are still there."""
        return tuple(pod for pod in self.guardians if self.loss_of(pod) is not None)

    def loss_of(self, guardian: Pod) -> Loss | None:
        """Why this guardian does not hold its room; None if it does or will."""
        node, name = guardian.spec.node_name, guardian.metadata.name
        if guardian.metadata.deletion_timestamp is not None:
            return _disruption(guardian) or Loss(
                Reason.GUARDIAN_DELETED, f"guardian {name} was deleted"
            )
        if core.is_finished(guardian):
            status = guardian.status
            said = ": ".join(filter(None, (status.reason or status.phase, status.message)))
            reason = Reason.EVICTED if status.reason == "Evicted" else Reason.GUARDIAN_FAILED
            return Loss(reason, f"guardian {name} has ended: {said}")
        if node and node not in self.nodes:
            return Loss(Reason.NODE_LOST, f"node {node} is gone")
        return None

    def is_cordoned(self, guardian: Pod) -> bool:
        """Says whether the guardian's node is to take no more pods; that the guardian tolerates that makes no difference."""
        return self.is_closed(guardian.spec.node_name)

    def is_closed(self, node: str) -> bool:
        """Says whether a node in the picture is cordoned."""
        found = self.nodes.get(node)
        return found is not None and found.spec.unschedulable

    def is_outdated(self, guardian: Pod) -> bool:
        """Says whether a guardian that waits is kept from a node which is open to its ticket by now."""
        if any(map(self.is_open, avoided(guardian))):
            return True
        return not guardian.spec.node_name and lacks_toleration(self.ticket, guardian, self.taints)

    def user(self, reference: PodReference | None) -> Pod | None:
        """The pod that uses the ticket, unless it has ended."""
        pod = self.users.get(reference.uid) if reference is not None else None
        return None if pod is None or core.is_finished(pod) else pod

    def leaving(self) -> tuple[Share, ...]:
        """The shares whose pods have been told to go and still have their room."""
        pods = [(share, self.user(share)) for share in self.ticket.status.shared_by]
        return tuple(share for share, pod in pods if pod is not None and is_leaving(pod))

    def dismissal(self, guardians: Iterable[Pod], now: datetime) -> Plan:
        """Takes guardians away, each exactly as it was seen, and by force what would never go.

        An outdated one goes only while it waits: one that has just found room is worth more than its successor.
        """
        plan, steps = Plan(), list[Delete]()
        for pod in guardians:
            due = self._force_due(pod, now)
            if due is None or due <= now:
                grace = None if due is None else 0
                version = pod.metadata.resource_version if self.is_outdated(pod) else ""
                steps.append(Delete(PODS, key_of(pod), pod.metadata.uid, version, grace))
            else:
                plan = plan.requeue(due)
        return plan.then(*steps)

    def _force_due(self, guardian: Pod, now: datetime) -> datetime | None:
        """When nobody is expected to end a guardian any more; None if nobody has been told to."""
        if guardian.spec.node_name and guardian.spec.node_name not in self.nodes:
            return now
        ends = guardian.metadata.deletion_timestamp
        return None if ends is None else ends + FORCE_AFTER


def is_leaving(pod: Pod) -> bool:
    """Says whether a pod has been told to go."""
    return pod.metadata.deletion_timestamp is not None


def unschedulable(guardian: Pod) -> str:
    """What the scheduler says about a guardian for which it has no place; empty if it has said nothing."""
    scheduled = core.reported(guardian.status.conditions, "PodScheduled")
    if scheduled is None or scheduled.status != "False" or scheduled.reason != "Unschedulable":
        return ""
    return scheduled.message or "no node has room"


def _disruption(guardian: Pod) -> Loss | None:
    target = core.reported(guardian.status.conditions, "DisruptionTarget")
    reason = _DISRUPTIONS.get(target.reason) if target is not None else None
    if target is None or reason is None:
        return None
    node = guardian.spec.node_name
    said = target.message or target.reason
    return Loss(reason, f"guardian {guardian.metadata.name} had to leave node {node}: {said}")
