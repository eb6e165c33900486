"""Which histories leave nothing to chance: however ties are broken and whoever is tried first, as many pods wait in the end.

Schedulers can only be compared on such. kube-scheduler does not agree with itself on others: where nodes are worth the same it
takes any, and in a full cluster that may decide whether the last pod finds a gap. Each history is played many times by the rules of
`pocketkube.scheduler` alone, without a server, time or machines, with chance for all that is not ruled.
"""

from collections.abc import Iterator
from itertools import count, islice
import random

from tests.agreement.arrivals.applications import PRIORITIES
from tests.agreement.arrivals.histories import (
    NAMESPACE,
    Action,
    Arrive,
    Cordon,
    History,
    Join,
    Leave,
    Lift,
    Retire,
    a_history,
)

from kubeloop.objects.meta import Key
from kubeloop.testing.builders import NodeBuilder, PodBuilder, a_node
from pocketkube.nodes.machines import Shape
from pocketkube.scheduler import pod_info, schedule_one
from pocketkube.scheduler.pod_info import Tenant
from pocketkube.scheduler.schedule_one import Found
from pocketkube.scheduler.snapshot import Cluster

PLAYS = 40
"""Of a history with two outcomes one may be rare: of one, kube-scheduler came to three, and eight plays to only one."""


def fair_histories(number: int) -> Iterator[History]:
    """The first histories, by their seeds, that leave nothing to chance and let somebody wait."""
    return islice((h for h in map(a_history, count()) if is_fair(h)), number)


def is_fair(history: History) -> bool:
    """Whether the number of those who wait is the same in every play, and not none."""
    first = Play(random.Random(0)).through(history)
    return first > 0 and all(
        Play(random.Random(seed)).through(history) == first for seed in range(1, PLAYS)
    )


class Play:
    """One way in which a history can go."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._cluster = Cluster()
        self._cluster.namespaces[NAMESPACE] = {}
        self._machines: dict[str, NodeBuilder] = {}
        self._gated: dict[str, PodBuilder] = {}
        self._waiting: list[Tenant] = []

    def through(self, history: History) -> int:
        """Plays a history and counts who waits in the end."""
        for burst in history.bursts:
            for action in burst:
                self._do(action)
            while self._try_all():
                pass
        return len(self._waiting)

    def _do(self, action: Action) -> None:
        match action:
            case Arrive(pod) if pod.build().spec.scheduling_gates:
                self._gated[pod.build().metadata.name] = pod
            case Arrive(pod):
                self._await(pod)
            case Leave(pod=name):
                self._leave(name)
            case Lift(pod=name):
                self._await(self._gated.pop(name).but({"spec": {"schedulingGates": None}}))
            case Join(node, shape):
                self._machines[node] = _node(node, shape)
                self._cluster.set_node(node, self._machines[node].build())
            case Cordon(node, closed):
                changed = self._machines[node].but({"spec": {"unschedulable": closed}})
                self._cluster.set_node(node, changed.build())
            case Retire(node):
                self._unseat(tuple(self._cluster.site(node).tenants.values()))
                self._cluster.set_node(node, None)

    def _await(self, pod: PodBuilder) -> None:
        priority = PRIORITIES.get(pod.build().spec.priority_class_name, 0)
        self._waiting.append(pod_info.measure(pod.but({"spec": {"priority": priority}}).build()))

    def _leave(self, name: str) -> None:
        key = Key(NAMESPACE, name)
        self._gated.pop(name, None)
        self._cluster.leave(key)
        self._waiting = [tenant for tenant in self._waiting if tenant.key != key]

    def _unseat(self, leaving: tuple[Tenant, ...]) -> None:
        for tenant in leaving:
            self._cluster.leave(tenant.key)
        self._waiting += leaving

    def _try_all(self) -> bool:
        """Tries everybody who waits, the important first, and says whether that changed anything."""
        self._rng.shuffle(self._waiting)
        self._waiting.sort(key=lambda tenant: -tenant.priority)
        trying, self._waiting = self._waiting, []
        changed = False
        for tenant in trying:
            decision = schedule_one.choose(tenant, self._cluster, self._rng)
            node = decision.node if isinstance(decision, Found) else decision.nominated
            if not node:
                self._waiting.append(tenant)
                continue
            if not isinstance(decision, Found):
                self._unseat(decision.victims)
            self._cluster.seat(tenant, node)
            changed = True
        return changed


def _node(name: str, shape: Shape) -> NodeBuilder:
    labels = {"kubernetes.io/hostname": name, **shape.labels}
    node = a_node(name).labelled(labels).but({"spec": {"taints": [dict(t) for t in shape.taints]}})
    return node.but({"status": {"capacity": shape.capacity, "allocatable": shape.capacity}})
