"""Jobs: pods are counted once, and what is to happen at an instant happens then.

An instant is judged by the times that the Job itself carries; whoever wrote them may have a clock that is wrong, which is what
`Tolerance.skew` is for.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from kubeloop.objects import core
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Key
from kubeloop.objects.workloads import JOBS, Job
from pocketkube.simulation.auditing import facts
from pocketkube.simulation.auditing.invariant import Broken, Finding, Invariant
from pocketkube.simulation.auditing.punctual import Punctual
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, subject_of
from pocketkube.simulation.invariants.binding import USER


class CountedOnce(Invariant):
    """Counts are for good: pods may be gone by then."""

    name = "counted-once"
    promise = "The counts of a Job's successes and failures never fall, and its successes never exceed its completions."
    resources = (JOBS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(JOBS)
        if new is None:
            return
        for what in ("succeeded", "failed"):
            was = getattr(old.status, what) if old is not None else 0
            now = getattr(new.status, what)
            if now < was:
                yield Broken(f"{what} fell from {was} to {now}", (subject_of(change),))
        most = new.spec.completions
        if most is not None and new.status.succeeded > most:
            stated = f"{new.status.succeeded} pods have succeeded, of {most}"
            yield Broken(stated, (subject_of(change),))


class DeadlineKept(Punctual[Job]):
    """The deadline counts from the start that the Job reports."""

    name = "deadline-kept"
    promise = "A Job that is active for too long is ended at its deadline: never early, and at most a second late."
    kind = JOBS
    action = "ended"

    def due(self, obj: Job) -> datetime | None:
        seconds, since = obj.spec.active_deadline_seconds, obj.status.start_time
        going = obj.metadata.deletion_timestamp is not None
        if seconds is None or since is None or obj.spec.suspend or going:
            return None
        return since + timedelta(seconds=seconds)

    def done(self, obj: Job) -> bool:
        target = core.reported(obj.status.conditions, "FailureTarget")
        return target is not None and target.reason == "DeadlineExceeded"

    def settled(self, obj: Job) -> bool:
        return facts.is_decided(obj)


class ExpiryKept(Punctual[Job]):
    """Users may delete a Job whenever they like, and so may the end of its owner or of its namespace."""

    name = "expiry-kept"
    promise = "A finished Job is deleted when its time to live is over: never early, and at most a second late."
    reads = (NAMESPACES,)
    kind = JOBS
    action = "deleted"

    def due(self, obj: Job) -> datetime | None:
        ttl = obj.spec.ttl_seconds_after_finished
        for kind in ("Complete", "Failed"):
            over = core.reported(obj.status.conditions, kind)
            if ttl is not None and over is not None and over.status == "True":
                since = over.last_transition_time
                return None if since is None else since + timedelta(seconds=ttl)
        return None

    def done(self, obj: Job) -> bool:
        return obj.metadata.deletion_timestamp is not None

    def may_be_early(self, obj: Job, change: Change, view: View) -> bool:
        namespace = view.of(NAMESPACES).get(Key("", change.namespace))
        ends = namespace is not None and namespace.metadata.deletion_timestamp is not None
        return change.by == USER or ends or bool(obj.metadata.owner_references)
