"""Room on nodes: nothing is given away twice.

Schedulers and kubelets count the same amounts, each for the pods it answers for: what is bound, and what was started. Amounts are
exact whole numbers (`kubeloop.objects.node_room`).
"""

from collections.abc import Iterable

from kubeloop.objects.core import NODES, PODS
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of
from pocketkube.simulation.invariants.binding import is_binding


class NoOverbooking(Invariant):
    """What a scheduler cannot foresee is not its fault: a pod that named its node, one that was resized, a node that shrank."""

    name = "no-overbooking"
    promise = "No binding gives a pod more cpu, memory, places, extended resources or host ports than its node has left."
    resources = (PODS, NODES)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._stale = tolerance.stale

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, pod = view.both(PODS)
        if pod is None or not is_binding(change, old, pod):
            return
        name = pod.spec.node_name
        surprised = view.rooms.surprised_at(name)
        if surprised is not None and change.at - surprised <= self._stale:
            return
        demand = view.rooms.demand(pod)
        left = view.rooms.bound(name).without_pod(demand)
        lacks = [f"{s.name} {s.requested} of {s.free}" for s in left.shortages(demand)]
        lacks += [f"host port {port} that is taken" for port in left.taken_ports(demand)]
        if lacks:
            about = subject_of(change), Subject(str(NODES), "", name)
            yield Broken(f"it was bound to node {name} and takes {', '.join(lacks)}", about)


class KubeletsRefuse(Invariant):
    """The last gate: whoever bound too much, the node runs only what it has room for. Simulated kubelets do not judge ports."""

    name = "kubelets-refuse"
    promise = "A kubelet starts a pod only if the pods it has started leave room for it."
    resources = (PODS, NODES)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._stale = tolerance.stale

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, pod = view.both(PODS)
        if old is None or pod is None or old.status.start_time is not None:
            return
        if pod.status.start_time is None or pod.status.phase != "Running":
            return
        name = pod.spec.node_name
        resized = view.rooms.resized_at(name)
        if resized is not None and change.at - resized <= self._stale:
            return
        demand = view.rooms.demand(pod)
        short = view.rooms.started(name).without_pod(demand).shortages(demand)
        if short:
            lacks = ", ".join(f"{s.name} {s.requested} of {s.free}" for s in short)
            about = subject_of(change), Subject(str(NODES), "", name)
            yield Broken(f"it was started on node {name} and takes {lacks}", about)
