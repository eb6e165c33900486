"""The scheduler: gives each pending pod a node, as kube-scheduler with its default plugins would.

An ordinary controller, for the embedded cluster or in place of kube-scheduler on a real server. It keeps a `Cluster` picture and
a `Backlog` up to date from the informers; a turn decides about the most urgent ready pod (`schedule_one`) and returns the
binding, or the status that says why there is none, as a plan. The names in the controller's queue are pods, but their order
there means nothing: a turn for a pod that is not the most urgent hands over to the one that is.

A pod that is being bound sits on its node by assumption from the moment of the decision until the watch shows it bound. If the
binding fails or its answer is lost it is repeated, which is harmless, and after five seconds the room is given back.

A pod that found no node is not tried again whenever anything happens: of a node that has changed it is asked first whether it may take
the pod now. Otherwise every pod that ends would cost a look at all nodes for every pod that waits.
"""

from datetime import datetime, timedelta
import random

from kubeloop.objects import core
from kubeloop.objects.core import NAMESPACES, NODES, PODS, Namespace, Node, Pod
from kubeloop.objects.meta import Key, key_of
from kubeloop.objects.plan import NOTHING, Plan
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import Change
from pocketkube.scheduler import pod_info, schedule_one, writes
from pocketkube.scheduler.pod_info import Tenant
from pocketkube.scheduler.queue import Backlog
from pocketkube.scheduler.schedule_one import Found
from pocketkube.scheduler.snapshot import Cluster

DEFAULT = "default-scheduler"
BINDING_PATIENCE = timedelta(seconds=5)


class Scheduler:
    """Schedules the pods that name it."""

    def __init__(
        self, manager: Manager, *, clock: Clock, rng: random.Random, name: str = DEFAULT
    ) -> None:
        self._name = name
        self._clock = clock
        self._rng = rng
        self._cluster = Cluster()
        self._backlog = Backlog()
        self._binding: dict[Key, tuple[str, str, datetime]] = {}
        """What is being bound: the pod's UID, the node, and since when."""
        self._pods = manager.informers.of(PODS)
        self._controller = manager.controller("scheduler", self._reconcile)
        manager.informers.of(NAMESPACES).on_change(self._namespace_changed)
        manager.informers.of(NODES).on_change(self._node_changed)
        self._pods.on_change(self._pod_changed)

    def _reconcile(self, key: Key, now: datetime) -> Plan:
        pod = self._pods.reader.get(key)
        if key in self._binding:
            return self._bind_again(key, pod, now)
        if pod is None:
            return self._next(NOTHING)
        if pod.spec.scheduling_gates and self._is_ours(pod):
            return self._next(writes.gated(pod, now))
        due = self._backlog.ripen(key, now)
        if self._backlog.first() != key:
            return self._next(Plan().requeue(due))
        return self._next(self._attempt(pod_info.measure(pod), now))

    def _next(self, plan: Plan) -> Plan:
        """Lets the most urgent pod have its turn after this one."""
        first = self._backlog.first()
        if first is not None:
            self._controller.queue.add(first)
        return plan

    def _attempt(self, tenant: Tenant, now: datetime) -> Plan:
        decision = schedule_one.choose(tenant, self._cluster, self._rng)
        if isinstance(decision, Found):
            self._backlog.forget(tenant.key)
            self._cluster.withdraw(tenant.key)
            self._cluster.seat(tenant, decision.node)
            self._binding[tenant.key] = (tenant.pod.metadata.uid, decision.node, now)
            self._stir(social_only=True)
            return writes.bound(tenant.pod, decision.node)
        latest = self._backlog.failed(tenant, now)
        before = self._cluster.promised_to(tenant.key)
        self._cluster.promise(tenant, decision.nominated)
        if before not in ("", decision.nominated):
            self._stir(before)
        rivals = tuple(self._cluster.promised(decision.nominated))
        return writes.unschedulable(tenant, decision, rivals, self._name, now).requeue(latest)

    def _bind_again(self, key: Key, pod: Pod | None, now: datetime) -> Plan:
        """Looks at a binding that did not go as planned."""
        uid, node, since = self._binding[key]
        if pod is not None and pod.metadata.uid == uid and now - since < BINDING_PATIENCE:
            return self._next(writes.bound(pod, node))
        del self._binding[key]
        tenant = self._cluster.leave(key)
        self._freed(tenant, node)
        if pod is not None:
            self._await(pod)
        return self._next(NOTHING)

    def _namespace_changed(self, change: Change[Namespace]) -> None:
        old, new = change
        if new is not None:
            self._cluster.namespaces[new.metadata.name] = new.metadata.labels
        elif old is not None:
            self._cluster.namespaces.pop(old.metadata.name, None)

    def _node_changed(self, change: Change[Node]) -> None:
        old, new = change
        name = change.objects[0].metadata.name
        self._cluster.set_node(name, new)
        if new is None or (old is not None and old.metadata.labels != new.metadata.labels):
            self._stir()
        elif old is None or _offer(old) != _offer(new):
            self._stir(name)

    def _pod_changed(self, change: Change[Pod]) -> None:
        old, new = change
        if new is None or (old is not None and old.metadata.uid != new.metadata.uid):
            self._gone(key_of(change.objects[0]))
            old = None
        if new is None:
            return
        if core.is_finished(new):
            self._gone(key_of(new))
        elif new.spec.node_name:
            self._seated(new)
        else:
            self._pending(old, new)

    def _gone(self, key: Key) -> None:
        seat, promised = self._cluster.seat_of(key), self._cluster.promised_to(key)
        tenant = self._cluster.leave(key)
        self._drop(key)
        if seat or promised:
            self._freed(tenant, seat, promised)

    def _seated(self, pod: Pod) -> None:
        """A pod sits on a node: one more there, or less than it was assumed to take or to sit elsewhere."""
        key, tenant = key_of(pod), pod_info.measure(pod)
        seat, promised = self._cluster.seat_of(key), self._cluster.promised_to(key)
        before = self._cluster.site(seat).tenants[key] if seat else None
        self._cluster.seat(tenant, pod.spec.node_name)
        self._drop(key)
        if promised or (before is not None and _takes(before) != _takes(tenant)):
            self._freed(before, seat, promised)
        elif before is None:
            self._stir(social_only=True)

    def _pending(self, old: Pod | None, new: Pod) -> None:
        was = old.status.nominated_node_name if old is not None else ""
        if was != new.status.nominated_node_name:
            self._nominated(new)
        if old is None or _wish(old) != _wish(new):
            self._await(new)

    def _nominated(self, pod: Pod) -> None:
        """A pod, gated or not, was promised a node by us or by somebody else, or is so no longer."""
        key, node = key_of(pod), pod.status.nominated_node_name
        if key in self._binding or not self._names_us(pod):
            return
        before = self._cluster.promised_to(key)
        self._cluster.promise(pod_info.measure(pod), node)
        if before not in ("", node):
            self._stir(before)

    def _await(self, pod: Pod) -> None:
        """Puts a pod where it belongs as long as it has no node."""
        key = key_of(pod)
        if not self._is_ours(pod) or pod.spec.node_name or key in self._binding:
            self._backlog.forget(key)
        elif pod.spec.scheduling_gates:
            self._backlog.forget(key)
            self._controller.queue.add(key)
        else:
            self._backlog.add(pod_info.measure(pod), self._clock.now())
            self._next(NOTHING)

    def _is_ours(self, pod: Pod) -> bool:
        return pod.metadata.deletion_timestamp is None and self._names_us(pod)

    def _names_us(self, pod: Pod) -> bool:
        return (pod.spec.scheduler_name or DEFAULT) == self._name

    def _drop(self, key: Key) -> None:
        self._backlog.forget(key)
        self._cluster.withdraw(key)
        self._binding.pop(key, None)

    def _freed(self, tenant: Tenant | None, *nodes: str) -> None:
        """A pod takes less of nodes, or has let go of them; one that kept others away did so beyond its own."""
        if tenant is not None and tenant.shuns:
            self._stir()
        else:
            self._stir(*nodes)

    def _stir(self, *nodes: str, social_only: bool = False) -> None:
        """Something has changed that may help a pod that waits; if it has changed on some nodes only, those whom these may take."""

        def hopeful(tenant: Tenant) -> bool:
            return (
                not nodes
                or tenant.social
                or any(schedule_one.hopeful(tenant, self._cluster.site(node)) for node in nodes)
            )

        for key, due in self._backlog.stir(self._clock.now(), hopeful, social_only=social_only):
            self._controller.queue.add_at(key, due)
        self._next(NOTHING)


def _wish(pod: Pod) -> object:
    """What decides about a pending pod, apart from its status."""
    return pod.spec, pod.metadata.labels, pod.metadata.deletion_timestamp


def _offer(node: Node) -> object:
    """What decides about pods on a node; heartbeats do not."""
    return node.metadata.labels, node.spec.taints, node.spec.unschedulable, node.status.allocatable


def _takes(tenant: Tenant) -> object:
    """What a change of lets others hope."""
    meta = tenant.pod.metadata
    return tenant.demand, meta.labels, meta.deletion_timestamp
