"""StatefulSets: pods with numbers, one after the other.

Judged when a pod is made, by the StatefulSet and the pods as they are or were a short while ago. Nothing is promised about the order in
which pods go: users and evictions may end any of them.
"""

from collections.abc import Iterable
from datetime import datetime

from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Key, OwnerReference
from kubeloop.objects.workloads import STATEFUL_SETS, StatefulSet
from pocketkube.simulation.auditing import facts
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.recent import Recent
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of
from pocketkube.simulation.invariants.binding import USER


class NumbersInOrder(Invariant):
    """A number is used again only under the same name, so there are never two pods of one number."""

    name = "numbers-in-order"
    promise = "A StatefulSet makes only pods whose numbers it wants, and in order only while all lower ones are ready."
    resources = (PODS, STATEFUL_SETS)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._former: Recent[str, StatefulSet] = Recent(tolerance.stale)
        self._served: Recent[Key, None] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        was, owner = view.both(STATEFUL_SETS)
        if was is not None and (owner is None or owner.spec != was.spec):
            self._former.ended(was.metadata.uid, was, change.at)
        old, pod = view.both(PODS)
        if facts.is_settled(old) and not facts.is_settled(pod):
            self._served.ended(Key(change.namespace, change.name), None, change.at)
        if old is not None or pod is None or change.by == USER:
            return
        ref = facts.controller(pod, STATEFUL_SETS)
        if ref is not None:
            yield from self._made(pod, ref, change, view)

    def _made(self, pod: Pod, ref: OwnerReference, change: Change, view: View) -> Iterable[Finding]:
        present = view.of(STATEFUL_SETS).get(Key(change.namespace, ref.name))
        versions = self._former.of(ref.uid, change.at)
        if present is not None and present.metadata.uid == ref.uid:
            versions.append(present)
        verdicts = [self._objection(pod, owner, change.at, view) for owner in versions]
        if verdicts and all(verdicts):
            about = subject_of(change), Subject(str(STATEFUL_SETS), change.namespace, ref.name)
            yield Broken(verdicts[-1], about)

    def _objection(self, pod: Pod, owner: StatefulSet, at: datetime, view: View) -> str:
        stem, _, number = pod.metadata.name.rpartition("-")
        start = owner.spec.ordinals.start
        wanted = range(start, start + owner.spec.replicas)
        if stem != owner.metadata.name or not number.isdecimal() or int(number) not in wanted:
            return f"it was made, but {wanted.start} to {wanted.stop - 1} are wanted"
        if owner.spec.pod_management_policy == "Parallel":
            return ""
        for lower in range(start, int(number)):
            key = Key(owner.metadata.namespace, f"{stem}-{lower}")
            if not facts.is_settled(view.of(PODS).get(key)) and not self._served.of(key, at):
                return f"it was made while {key.name} was not ready"
        return ""
