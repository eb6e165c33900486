"""How many pods an owner makes: as many as it wants, even when answers get lost and caches lag.

A controller sees its own creates at once, and repeats one whose answer got lost under the same name. So whatever it has not seen yet,
it never makes one pod too many; what it may not have seen is how many are wanted now.
"""

from collections import Counter
from collections.abc import Iterable

from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import HasMetadata, Key
from kubeloop.objects.workloads import JOBS, REPLICA_SETS, Job, ReplicaSet
from pocketkube.simulation.auditing import facts
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.recent import Recent
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of
from pocketkube.simulation.invariants.binding import USER

_OWNERS = REPLICA_SETS, JOBS


class NoneTooMany(Invariant):
    """Pods that users make, or that are adopted, may be too many; then no more are made."""

    name = "none-too-many"
    promise = "A ReplicaSet or Job makes a pod only while it has fewer than it wants."
    resources = (PODS, *_OWNERS)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._active: Counter[str] = Counter()
        self._wanted: Recent[str, int] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        for kind in _OWNERS:
            before, after = view.both(kind)
            if before is not None and _wanted(after) != _wanted(before):
                self._wanted.ended(before.metadata.uid, _wanted(before), change.at)
        old, new = view.both(PODS)
        self._count(old, -1)
        self._count(new, 1)
        if new is not None and old is None and change.by != USER:
            yield from self._made(new, change, view)

    def _count(self, pod: Pod | None, times: int) -> None:
        if pod is None or not facts.is_active(pod):
            return
        for kind in _OWNERS:
            ref = facts.controller(pod, kind)
            if ref is not None:
                self._active[ref.uid] += times
                if not self._active[ref.uid]:
                    del self._active[ref.uid]

    def _made(self, pod: Pod, change: Change, view: View) -> Iterable[Broken]:
        for kind in _OWNERS:
            ref = facts.controller(pod, kind)
            if ref is None:
                continue
            owner = view.of(kind).get(Key(change.namespace, ref.name))
            stands = owner is not None and owner.metadata.uid == ref.uid
            lately = self._wanted.of(ref.uid, change.at)
            most = max((*lately, _wanted(owner) if stands else 0))
            if self._active[ref.uid] > most:
                about = subject_of(change), Subject(str(kind), change.namespace, ref.name)
                yield Broken(f"it was made as number {self._active[ref.uid]} of {most}", about)


def _wanted(owner: HasMetadata | None) -> int:
    """How many active pods an owner may have at the moment."""
    if owner is None or owner.metadata.deletion_timestamp is not None:
        return 0
    if isinstance(owner, ReplicaSet):
        return owner.spec.replicas
    return _of_job(owner) if isinstance(owner, Job) else 0


def _of_job(job: Job) -> int:
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.suspend or facts.is_decided(job):
        return 0
    if job.spec.completions is None:
        return parallelism
    noted = job.status.uncounted_terminated_pods
    successes = job.status.succeeded + (len(noted.succeeded) if noted is not None else 0)
    return min(parallelism, max(job.spec.completions - successes, 0))
