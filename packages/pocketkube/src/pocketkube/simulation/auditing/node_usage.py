"""What the pods on each node take, kept up to date change by change.

The `View` feeds it; invariants about capacity and waiting pods ask. Two sums are kept for each node: of all unfinished pods bound to
it, which schedulers must respect, and of those its kubelet has started, which the kubelet must. A change costs what one pod
has resources, however many pods and nodes there are.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kubeloop.objects import core, node_room
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import Key, key_of
from kubeloop.objects.node_room import Demand, NodeRoom


def _empty() -> NodeRoom:
    return NodeRoom({}, {}, {})


@dataclass(slots=True)
class _Site:
    stands: bool = False
    bound: NodeRoom = field(default_factory=_empty)
    started: NodeRoom = field(default_factory=_empty)
    pods: dict[Key, Demand] = field(default_factory=dict)
    surprised_at: datetime | None = None
    resized_at: datetime | None = None
    freed_at: datetime | None = None


_NOWHERE = _Site()
"""What is known of a node of which nothing is; never changed."""


class Rooms:
    """The room of all nodes."""

    def __init__(self) -> None:
        self._sites: dict[str, _Site] = {}

    def bound(self, node: str) -> NodeRoom:
        """The room that the unfinished pods bound to the node leave."""
        return self._sites.get(node, _NOWHERE).bound

    def started(self, node: str) -> NodeRoom:
        """The room that the pods leave which the node's kubelet has started."""
        return self._sites.get(node, _NOWHERE).started

    def pods_on(self, node: str) -> Collection[Key]:
        """The unfinished pods bound to the node."""
        return self._sites.get(node, _NOWHERE).pods.keys()

    def demand(self, pod: Pod) -> Demand:
        """What a pod is charged with on its node; nothing if it is finished."""
        return self._sites.get(pod.spec.node_name, _NOWHERE).pods.get(key_of(pod), Demand({}))

    def surprised_at(self, node: str) -> datetime | None:
        """When the node last lost room and no scheduler had decided it: also when a pod came that named the node."""
        return self._sites.get(node, _NOWHERE).surprised_at

    def resized_at(self, node: str) -> datetime | None:
        """When the node itself last shrank, or a pod on it grew."""
        return self._sites.get(node, _NOWHERE).resized_at

    def freed_at(self, node: str) -> datetime | None:
        """When a pod last left the node, or finished there."""
        return self._sites.get(node, _NOWHERE).freed_at

    def node_changed(self, old: Node | None, new: Node | None, at: datetime) -> None:
        """Takes in what became of a node."""
        name = (new or old or Node()).metadata.name
        site = self._site(name)
        before = site.bound.allocatable
        site.stands = new is not None
        site.bound = site.bound.with_node(new or Node())
        site.started = site.started.with_node(new or Node())
        if _exceed(before, site.bound.allocatable):
            site.surprised_at = site.resized_at = at
        self._sweep(name)

    def pod_changed(self, old: Pod | None, new: Pod | None, at: datetime) -> None:
        """Takes in what became of a pod."""
        was = self._leave(old) if old is not None and _is_charged(old) else None
        if new is not None and _is_charged(new):
            site = self._site(new.spec.node_name)
            demand = site.pods[key_of(new)] = node_room.demand_of(new)
            site.bound = site.bound.with_pod(demand)
            if _is_started(new):
                site.started = site.started.with_pod(demand)
            if was is not None and _exceed(demand.amounts, was.amounts):
                site.surprised_at = site.resized_at = at
            elif old is None:
                site.surprised_at = at
        elif old is not None and was is not None:
            self._sites[old.spec.node_name].freed_at = at
        if old is not None:
            self._sweep(old.spec.node_name)

    def _site(self, name: str) -> _Site:
        if name not in self._sites:
            self._sites[name] = _Site()
        return self._sites[name]

    def _leave(self, pod: Pod) -> Demand:
        site = self._sites[pod.spec.node_name]
        demand = site.pods.pop(key_of(pod))
        site.bound = site.bound.without_pod(demand)
        if _is_started(pod):
            site.started = site.started.without_pod(demand)
        return demand

    def _sweep(self, name: str) -> None:
        site = self._sites.get(name)
        if site is not None and not site.stands and not site.pods:
            del self._sites[name]


def _exceed(some: Mapping[str, int], others: Mapping[str, int]) -> bool:
    return any(amount > others.get(name, 0) for name, amount in some.items())


def _is_charged(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and not core.is_finished(pod)


def _is_started(pod: Pod) -> bool:
    return pod.status.start_time is not None
