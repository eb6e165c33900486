"""Where pods go: once, to a node that may have them, and not before they may go at all."""

from collections.abc import Iterable

from kubeloop.objects import scheduling
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.meta import Key
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.recent import Recent
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of

USER = "user"


def is_binding(change: Change, old: Pod | None, new: Pod | None) -> bool:
    """Whether the commit gives a waiting pod its node; who names the node himself, or binds by hand, is free to err."""
    waited = old is not None and not old.spec.node_name
    return waited and new is not None and bool(new.spec.node_name) and change.by != USER


class BoundOnce(Invariant):
    """Pods do not move."""

    name = "bound-once"
    promise = "A pod that has a node keeps it."
    resources = (PODS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(PODS)
        if old is None or new is None or old.spec.node_name in ("", new.spec.node_name):
            return
        stated = f"it was on node {old.spec.node_name} and is now on {new.spec.node_name or 'none'}"
        yield Broken(stated, (subject_of(change),))


class GatesHold(Invariant):
    """A gate is somebody's veto."""

    name = "gates-hold"
    promise = "A pod with scheduling gates has no node."
    resources = (PODS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        _, new = view.both(PODS)
        if new is not None and new.spec.node_name and new.spec.scheduling_gates:
            gates = ", ".join(gate.name for gate in new.spec.scheduling_gates)
            stated = f"it is on node {new.spec.node_name} in spite of its gates {gates}"
            yield Broken(stated, (subject_of(change),))


class SuitableNode(Invariant):
    """A scheduler may not have seen yet how a node changed, so any state of it within the allowed staleness will do."""

    name = "suitable-node"
    promise = "A pod is bound only to a node that exists and whose labels and taints allow it."
    resources = (PODS, NODES)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._former: Recent[str, Node] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        before, after = view.both(NODES)
        if before is not None and (after is None or _offer(before) != _offer(after)):
            self._former.ended(change.name, before, change.at)
        old, pod = view.both(PODS)
        if pod is None or not is_binding(change, old, pod):
            return
        name = pod.spec.node_name
        present = view.of(NODES).get(Key("", name))
        choice = [*self._former.of(name, change.at), *([present] if present is not None else [])]
        about = subject_of(change), Subject(str(NODES), "", name)
        if not choice:
            yield Broken(f"it was bound to node {name}, which does not exist", about)
        elif all(scheduling.unsuited(pod.spec, node) for node in choice):
            why = "; ".join(each.message for each in scheduling.unsuited(pod.spec, choice[-1]))
            yield Broken(f"it was bound to node {name} but {why}", about)


def _offer(node: Node) -> object:
    return node.metadata.uid, node.metadata.labels, node.spec
