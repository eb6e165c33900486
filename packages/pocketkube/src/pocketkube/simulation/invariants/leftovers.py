"""What must not be left when a run has come to rest: orphans, and objects that are half gone."""

from collections.abc import Iterable
from typing import Final

from kubeloop.objects import core
from kubeloop.objects.core import NODES, PODS, Pod
from kubeloop.objects.meta import HasMetadata, Key
from pocketkube.simulation.auditing.invariant import Broken, Invariant
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Subject
from pocketkube.simulation.invariants.waiting import A_MOMENT

OURS: Final = frozenset({"foregroundDeletion", "orphan", "batch.kubernetes.io/job-tracking"})
"""Finalizers that the cluster itself takes off."""


class NoOrphans(Invariant):
    """An object with several owners goes with the last; one that is going already is the affair of `NothingHalfGone`."""

    name = "no-orphans"
    promise = "At rest nothing is left whose owners are all gone."

    def at_rest(self, view: View) -> Iterable[Broken]:
        for subject, obj in view.everything():
            refs = obj.metadata.owner_references
            if not refs or obj.metadata.deletion_timestamp is not None:
                continue
            if all(view.bearer(ref.uid) is None for ref in refs):
                owners = ", ".join(f"{ref.kind} {ref.name}" for ref in refs)
                yield Broken(f"it is left of {owners}", (subject,))


class NothingHalfGone(Invariant):
    """What is held, or has just begun to go, keeps its owners and its namespace too, if they go and wait for it."""

    name = "nothing-half-gone"
    promise = (
        "At rest no deletion is under way, but for what a foreign finalizer or a lost node holds."
    )
    reads = (PODS, NODES)

    def at_rest(self, view: View) -> Iterable[Broken]:
        going = {
            subject: obj
            for subject, obj in view.everything()
            if obj.metadata.deletion_timestamp is not None
        }
        excused: set[Subject] = set()
        reasons = [subject for subject, obj in going.items() if _is_held(obj, view)]
        while reasons:
            subject = reasons.pop()
            if subject in going and subject not in excused:
                excused.add(subject)
                owners = (view.bearer(ref.uid) for ref in going[subject].metadata.owner_references)
                reasons += [owner for owner in owners if owner is not None]
                reasons.append(Subject("namespaces", "", subject.namespace))
        for subject, obj in going.items():
            if subject not in excused:
                since = obj.metadata.deletion_timestamp
                yield Broken(f"its deletion began at {since:%X} and did not end", (subject,))


def _is_held(obj: HasMetadata, view: View) -> bool:
    since = obj.metadata.deletion_timestamp
    if since is not None and view.now - since < A_MOMENT:
        return True
    if not OURS.issuperset(obj.metadata.finalizers):
        return True
    node = view.of(NODES).get(Key("", obj.spec.node_name)) if isinstance(obj, Pod) else None
    return node is not None and not core.is_ready(node)
