"""Which nodes a DaemonSet order wants a ticket on: ready, not cordoned, with the right labels, and with taints that are tolerated.

`daemonplan` asks, and `controllers.orders` asks `relevant` of every change of a node. Labels, affinity and taints are judged by
`api.scheduling`. A node that stops being ready keeps its ticket for 40 s, or for as long as the template tolerates that, but gets no new
one. The taints that say not ready, unreachable or cordoned are left out: they are judged as what they stand for (rule 17).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from korder.api import core, duration, scheduling
from korder.api.core import Node, PodSpec, Taint, Toleration
from korder.api.reserve import HANDOVER_TAINT, TicketSpec

PATIENCE = timedelta(seconds=40)
"""How long a node may be not ready before its ticket goes."""

_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_JUDGED_OTHERWISE = (_NOT_READY, _UNREACHABLE, _UNSCHEDULABLE, HANDOVER_TAINT)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a node gets a ticket, and keeps one.

    Attributes:
        why_not: Why the node gets no ticket; empty if it does.
        until: Until when it keeps one nevertheless; None if it does not, or if nothing is known that will end.
    """

    why_not: str = ""
    until: datetime | None = None

    @property
    def takes(self) -> bool:
        """Whether a ticket is made for the node."""
        return not self.why_not

    def keeps(self, now: datetime) -> bool:
        """Whether a ticket that is there stays."""
        return not self.why_not or (self.until is not None and now < self.until)


_ELIGIBLE = Verdict()


def wish_of(spec: TicketSpec) -> PodSpec:
    """What a ticket asks of its node, in the words of pods; made once for all nodes."""
    return PodSpec(
        node_name=spec.node_name,
        node_selector=spec.node_selector,
        affinity=spec.affinity,
        tolerations=spec.tolerations,
    )


def judge(wish: PodSpec, node: Node, now: datetime) -> Verdict:
    """Asks the four questions, those with lasting answers first."""
    if node.spec.unschedulable:
        return Verdict(f"node {node.metadata.name} is cordoned")
    if node.metadata.deletion_timestamp is not None:
        return Verdict(f"node {node.metadata.name} is being deleted")
    mismatch = (
        scheduling.wrong_node(wish, node)
        or scheduling.selector_mismatch(wish, node)
        or scheduling.affinity_mismatch(wish, node)
        or scheduling.tainted(wish, node, _JUDGED_OTHERWISE)
    )
    if mismatch is not None:
        return Verdict(mismatch.message)
    return _readiness(wish, node) or _patience(wish, node, now)


def _readiness(spec: PodSpec, node: Node) -> Verdict | None:
    """Judges a node that is not ready; None if it is."""
    if core.is_ready(node):
        return None
    ready = core.reported(node.status.conditions, "Ready")
    why = f"node {node.metadata.name} is not ready"
    since = ready.last_transition_time if ready is not None else None
    if since is None:
        return Verdict(why)
    borne = [
        duration.of_seconds(each.toleration_seconds)
        for each in spec.tolerations
        if each.toleration_seconds is not None and _bears_unreadiness(each)
    ]
    return Verdict(why, since + max(borne, default=PATIENCE))


def _bears_unreadiness(toleration: Toleration) -> bool:
    taints = (
        Taint(key=_NOT_READY, effect="NoExecute"),
        Taint(key=_UNREACHABLE, effect="NoExecute"),
    )
    return any(scheduling.tolerates(toleration, taint) for taint in taints)


def _patience(spec: PodSpec, node: Node, now: datetime) -> Verdict:
    """Judges taints that are tolerated only for a while: until then the node has its ticket, afterwards it has none."""
    ends = [
        end
        for taint in node.spec.taints
        if taint.effect == "NoExecute" and taint.key not in _JUDGED_OTHERWISE
        for end in [_tolerated_until(spec, taint)]
        if end is not None
    ]
    if not ends:
        return _ELIGIBLE
    end = min(ends)
    if now < end:
        return Verdict(until=end)
    return Verdict(
        f"a taint of node {node.metadata.name} was tolerated only for a time, which is over"
    )


def _tolerated_until(spec: PodSpec, taint: Taint) -> datetime | None:
    """When the toleration of a taint ends; None if one lasts, or if nobody knows since when it is there."""
    fitting = [each for each in spec.tolerations if scheduling.tolerates(each, taint)]
    lengths = [each.toleration_seconds for each in fitting]
    if taint.time_added is None or None in lengths:
        return None
    longest = max((length for length in lengths if length is not None), default=0)
    return taint.time_added + duration.of_seconds(longest)


def relevant(old: Node, new: Node) -> bool:
    """Says whether a change of a node can change the answer; a heartbeat cannot."""
    return (
        old.spec.unschedulable != new.spec.unschedulable
        or old.metadata.labels != new.metadata.labels
        or old.spec.taints != new.spec.taints
        or old.metadata.uid != new.metadata.uid
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or _ready_since(old) != _ready_since(new)
    )


def _ready_since(node: Node) -> tuple[bool, datetime | None]:
    """Whether a node is ready, and if it is not, since when."""
    if core.is_ready(node):
        return True, None
    ready = core.reported(node.status.conditions, "Ready")
    return False, None if ready is None else ready.last_transition_time
