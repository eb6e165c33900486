"""One pod tried on a cluster: which nodes take it, and what each of the others says.

`choice` and `preemption` ask it. Nominated pods are counted as kube-scheduler counts them: a node is tried with every pod of at
least the same priority that is nominated to it, and if there were any also without them, because a pod can be kept away by
them or depend on them, and they may yet go elsewhere.
"""

from collections.abc import Collection
from typing import NamedTuple

from kubeloop.objects.core import Node
from kubeloop.objects.node_room import NodeRoom
from pocketkube.scheduler import affinity, filters, spread
from pocketkube.scheduler.affinity import Neighbours
from pocketkube.scheduler.filters import Refusal
from pocketkube.scheduler.pod_info import Tenant
from pocketkube.scheduler.snapshot import Cluster
from pocketkube.scheduler.spread import Spread

Views = tuple[Spread | Neighbours, ...]


class Scene(NamedTuple):
    """A node as it is, or as it would be with other pods on it."""

    node: Node
    room: NodeRoom
    views: Views

    def with_pods(self, tenants: Collection[Tenant]) -> "Scene":
        room = self.room
        for tenant in tenants:
            room = room.with_pod(tenant.demand)
        views = tuple(view.moved(self.node, tenants, 1) for view in self.views)
        return Scene(self.node, room, views)

    def without_pods(self, tenants: Collection[Tenant]) -> "Scene":
        room = self.room
        for tenant in tenants:
            room = room.without_pod(tenant.demand)
        views = tuple(view.moved(self.node, tenants, -1) for view in self.views)
        return Scene(self.node, room, views)

    def refusal(self, tenant: Tenant) -> Refusal | None:
        """The first objection, in the order in which kube-scheduler asks."""
        objection = filters.unfit(tenant, self.node, self.room)
        if objection is not None:
            return objection
        for view in self.views:
            objection = view.refusal(self.node)
            if objection is not None:
                return objection
        return None


class Trial:
    """A pod and what it needs to know of the whole cluster, counted once."""

    def __init__(self, tenant: Tenant, cluster: Cluster) -> None:
        self.tenant = tenant
        self.cluster = cluster
        views = (spread.required(tenant, cluster), affinity.around(tenant, cluster))
        self._views: Views = tuple(view for view in views if view is not None)
        spec, demand = tenant.pod.spec, tenant.demand
        choosy = self._views or spec.node_selector or spec.affinity or demand.ports
        self._alike = None if choosy else tuple(demand.amounts.items())
        """What pods have in common of which nodes think the same; None for those with wishes of their own."""

    def scene(self, name: str) -> Scene:
        """A node of the cluster as it is now."""
        return Scene(self.cluster.nodes[name], self.cluster.site(name).room, self._views)

    def refusal(self, name: str) -> Refusal | None:
        """Why the node does not take the pod now; between two pods that are alike most nodes stay as they are, and their answer too."""
        answers = self.cluster.site(name).answers
        if self._alike in answers:
            return answers[self._alike]
        refusal = self.judge(self.scene(name))
        if self._alike is not None and self._is_plain(name):
            answers[self._alike] = refusal
        return refusal

    def _is_plain(self, name: str) -> bool:
        """Whether a node looks at nothing but its room."""
        offer = self.cluster.nodes[name].spec
        return not (offer.taints or offer.unschedulable or self.cluster.promised(name))

    def judge(self, scene: Scene) -> Refusal | None:
        """Tries a scene with the pods nominated to its node, and without them."""
        promised = self.cluster.promised(scene.node.metadata.name)
        if promised:
            rivals = [
                rival
                for rival in promised
                if rival.priority >= self.tenant.priority and rival.key != self.tenant.key
            ]
            objection = scene.with_pods(rivals).refusal(self.tenant) if rivals else None
            if objection is not None:
                return objection
        return scene.refusal(self.tenant)
