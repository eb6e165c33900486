"""Jobs: pods are counted once, and what is to happen at an instant happens then.

An instant is judged by the times that the Job itself carries; whoever wrote them may have a clock that is wrong, which is what
`Tolerance.skew` is for.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from korder.api import core
from korder.api.core import NAMESPACES
from korder.api.meta import Key
from korder.api.workloads import JOBS, Job
from korder.embedded.simulation import facts
from korder.embedded.simulation.changes import Change, Subject, subject_of
from korder.embedded.simulation.invariant import CALM, Broken, Finding, Invariant, Later, Tolerance
from korder.embedded.simulation.invariants.binding import USER
from korder.embedded.simulation.view import View


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
            told = f"{new.status.succeeded} pods have succeeded, of {most}"
            yield Broken(told, (subject_of(change),))


class DeadlineKept(Invariant):
    """The deadline counts from the start that the Job reports."""

    name = "deadline-kept"
    promise = "A Job that is active for too long is ended at its deadline: never early, and at most a second late."
    resources = (JOBS,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._tolerance = tolerance

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(JOBS)
        due = deadline(new) if new is not None else None
        if new is None or due is None:
            return
        early = due - self._tolerance.skew - change.at
        if _overran(new) and not (old and _overran(old)) and early > timedelta():
            told = f"it was ended {early.total_seconds():g} s before its deadline {due:%X}"
            yield Broken(told, (subject_of(change),))
        if old is None or deadline(old) != due:
            yield Later(self._tolerance.latest(max(due, change.at)), subject_of(change))

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        job = view.of(JOBS).get(Key(subject.namespace, subject.name))
        due = deadline(job) if job is not None else None
        if job is None or due is None or self._tolerance.latest(due) > view.now:
            return
        if not facts.is_decided(job):
            yield Broken(f"it still runs {_since(due, view)} s after its deadline", (subject,))


class ExpiryKept(Invariant):
    """Users may delete a Job whenever they like, and so may the end of its owner or of its namespace."""

    name = "expiry-kept"
    promise = "A finished Job is deleted when its time to live is over: never early, and at most a second late."
    resources = (JOBS,)
    reads = (NAMESPACES,)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._tolerance = tolerance

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        old, new = view.both(JOBS)
        if new is None:
            return
        due, about = expiry(new), subject_of(change)
        begins = new.metadata.deletion_timestamp is not None and (
            old is None or old.metadata.deletion_timestamp is None
        )
        if begins and self._by_itself(new, change, view):
            early = due - self._tolerance.skew - change.at if due is not None else None
            if early is None or early > timedelta():
                when = "never" if early is None else f"in {early.total_seconds():g} s"
                yield Broken(f"it was deleted, but expires {when}", (about,))
        if due is not None and (old is None or expiry(old) != due):
            yield Later(self._tolerance.latest(max(due, change.at)), about)

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        job = view.of(JOBS).get(Key(subject.namespace, subject.name))
        due = expiry(job) if job is not None else None
        if job is None or due is None or self._tolerance.latest(due) > view.now:
            return
        if job.metadata.deletion_timestamp is None:
            yield Broken(f"it is still there {_since(due, view)} s after it expired", (subject,))

    def _by_itself(self, job: Job, change: Change, view: View) -> bool:
        """Whether nothing but its own age can be the reason for a deletion."""
        namespace = view.of(NAMESPACES).get(Key("", change.namespace))
        stands = namespace is None or namespace.metadata.deletion_timestamp is None
        return change.by != USER and stands and not job.metadata.owner_references


def deadline(job: Job) -> datetime | None:
    """When the Job has been active for too long."""
    seconds, since = job.spec.active_deadline_seconds, job.status.start_time
    ends = job.metadata.deletion_timestamp is not None
    if seconds is None or since is None or job.spec.suspend or ends:
        return None
    return since + timedelta(seconds=seconds)


def expiry(job: Job) -> datetime | None:
    """When a Job that is over has outlived itself."""
    ttl = job.spec.ttl_seconds_after_finished
    for kind in ("Complete", "Failed"):
        over = core.reported(job.status.conditions, kind)
        if ttl is not None and over is not None and over.status == "True":
            since = over.last_transition_time
            return None if since is None else since + timedelta(seconds=ttl)
    return None


def _overran(job: Job) -> bool:
    target = core.reported(job.status.conditions, "FailureTarget")
    return target is not None and target.reason == "DeadlineExceeded"


def _since(due: datetime, view: View) -> str:
    return f"{(view.now - due).total_seconds():.3g}"
