"""Pods at rest: those that have a place run, and those that wait really have no place and say why."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import cast

from kubeloop.objects import core, node_room, scheduling
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.node_room import NodeRoom
from pocketkube.simulation.auditing import facts
from pocketkube.simulation.auditing.invariant import Broken, Invariant
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Subject

A_MOMENT = timedelta(seconds=15)
"""How long it takes until everybody concerned has seen a change and acted; a scheduler may pause for ten seconds before the next try."""
_SCHEDULER = "default-scheduler"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def subject_of(pod: Pod) -> Subject:
    """Names a pod for a report."""
    return Subject(str(PODS), pod.metadata.namespace, pod.metadata.name)


class BoundPodsRun(Invariant):
    """A node that is lost runs nothing, and what it does not run need not be ready; nor what pauses since its containers fail."""

    name = "bound-pods-run"
    promise = (
        "At rest every pod on a ready node is ready, is finished, or pauses between two tries."
    )
    reads = (PODS, NODES)

    def at_rest(self, view: View) -> Iterable[Broken]:
        for pod in view.of(PODS).all():
            node = view.of(NODES).get(Key("", pod.spec.node_name))
            if node is None or not core.is_ready(node) or not facts.is_active(pod):
                continue
            if facts.is_ready(pod) or _pauses(pod):
                continue
            if view.quiet_for(subject_of(pod)) >= A_MOMENT:
                stated = f"it is {pod.status.phase or 'nothing'} on node {pod.spec.node_name}, and not ready"
                yield Broken(stated, (subject_of(pod),))


class NobodyForgotten(Invariant):
    """Not judged are pods of other schedulers, and those whose place depends on other pods (affinity between pods, spread)."""

    name = "nobody-forgotten"
    promise = "At rest a pod waits only if no ready node can take it, and says so in its status."
    reads = (PODS, NODES)

    def at_rest(self, view: View) -> Iterable[Broken]:
        waiting = [pod for pod in view.of(PODS).all() if _waits(pod)]
        promised: dict[str, list[Pod]] = {}
        for pod in waiting:
            promised.setdefault(pod.status.nominated_node_name, []).append(pod)
        shunned = any(pod.spec.node_name and _shuns(pod) for pod in view.of(PODS).all())
        for pod in waiting:
            if view.quiet_for(subject_of(pod)) < A_MOMENT:
                continue
            yield from _silence(pod)
            if shunned or _is_choosy(pod) or pod.spec.scheduling_gates:
                continue
            for node in view.of(NODES).all():
                if not _is_calm(node, view):
                    continue
                room = _room(pod, node, view, promised.get(node.metadata.name, ()))
                if core.is_ready(node) and not scheduling.why_not(pod, node, room):
                    about = subject_of(pod), Subject(str(NODES), "", node.metadata.name)
                    yield Broken(f"it waits although node {node.metadata.name} can take it", about)
                    break


def _pauses(pod: Pod) -> bool:
    states = (each.state.waiting for each in pod.status.container_statuses)
    return any(each is not None and each.reason == "CrashLoopBackOff" for each in states)


def _waits(pod: Pod) -> bool:
    ours = pod.spec.scheduler_name in ("", _SCHEDULER)
    return ours and not pod.spec.node_name and facts.is_active(pod)


def _is_calm(node: Node, view: View) -> bool:
    """Whether a node has offered the same for a while."""
    name = node.metadata.name
    freed = view.rooms.freed_at(name)
    still = freed is None or view.now - freed >= A_MOMENT
    return still and view.quiet_for(Subject(str(NODES), "", name)) >= A_MOMENT


def _silence(pod: Pod) -> Iterable[Broken]:
    stated = core.reported(pod.status.conditions, "PodScheduled")
    reason = "SchedulingGated" if pod.spec.scheduling_gates else "Unschedulable"
    if stated is None or (stated.status, stated.reason) != ("False", reason):
        said = f"{stated.status} {stated.reason}".strip() if stated is not None else "nothing"
        yield Broken(f"it waits but says {said} of its scheduling", (subject_of(pod),))


def _room(pod: Pod, node: Node, view: View, promised: Iterable[Pod]) -> NodeRoom:
    """What a node has left for a pod, if those go there that have been promised a place and are as urgent."""
    room = view.rooms.bound(node.metadata.name)
    for rival in promised:
        if rival is not pod and (rival.spec.priority or 0) >= (pod.spec.priority or 0):
            room = room.with_pod(node_room.demand_of(rival))
    return room


def _is_choosy(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    hard = any(
        each.when_unsatisfiable == "DoNotSchedule" for each in pod.spec.topology_spread_constraints
    )
    return hard or (affinity is not None and (affinity.pod_affinity is not None or _shuns(pod)))


def _shuns(pod: Pod) -> bool:
    """Whether a pod keeps others away from where it is."""
    affinity = pod.spec.affinity
    against = affinity.pod_anti_affinity if affinity is not None else None
    return bool(cast("Mapping[str, JSON]", against or {}).get(_REQUIRED))
