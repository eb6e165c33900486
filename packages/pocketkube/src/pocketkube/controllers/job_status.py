"""How far a Job is: pure rules over its status and its pods.

`jobs` asks. Pods are counted exactly once by the protocol of Kubernetes: a pod carries a finalizer, so it cannot vanish unseen; its
UID is first noted in the status, then the finalizer is taken off, and only when that is seen the number goes up. A crash between
any two of these steps neither loses nor doubles a pod.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubeloop.objects import core
from kubeloop.objects.core import Pod, ReportedCondition
from kubeloop.objects.workloads import Job, UncountedPods
from pocketkube.controllers import pod_control

TRACKING = "batch.kubernetes.io/job-tracking"
SUCCEEDING, FAILING = "SuccessCriteriaMet", "FailureTarget"
COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
USUAL_BACKOFF_LIMIT = 6
FIRST_DELAY, LONGEST_DELAY = 10.0, 600.0
_LARGEST_EXPONENT = 10

Conditions = tuple[ReportedCondition, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """What is counted for good, what is noted but not counted yet, and the pods that still run."""

    succeeded: int
    failed: int
    noted: UncountedPods
    active: tuple[Pod, ...]

    @property
    def successes(self) -> int:
        return self.succeeded + len(self.noted.succeeded)

    @property
    def failures(self) -> int:
        return self.failed + len(self.noted.failed)


def tally(job: Job, pods: Collection[Pod]) -> Tally:
    """Counts what was noted and has let go of its pod, and notes what has ended since."""
    held = {pod.metadata.uid for pod in pods if TRACKING in pod.metadata.finalizers}
    before = job.status.uncounted_terminated_pods or UncountedPods()
    ended = [pod for pod in pods if pod.metadata.uid in held and not pod_control.is_active(pod)]
    known = {*before.succeeded, *before.failed}
    fresh = [pod for pod in ended if pod.metadata.uid not in known]
    noted = UncountedPods(
        succeeded=_noted(before.succeeded, held, (p for p in fresh if _succeeded(p))),
        failed=_noted(before.failed, held, (p for p in fresh if not _succeeded(p))),
    )
    return Tally(
        job.status.succeeded + sum(uid not in held for uid in before.succeeded),
        job.status.failed + sum(uid not in held for uid in before.failed),
        noted,
        tuple(pod for pod in pods if pod_control.is_active(pod)),
    )


def _noted(before: Iterable[str], held: Collection[str], fresh: Iterable[Pod]) -> tuple[str, ...]:
    return (*(uid for uid in before if uid in held), *sorted(pod.metadata.uid for pod in fresh))


def _succeeded(pod: Pod) -> bool:
    return pod.status.phase == "Succeeded"


def is_finished(job: Job) -> bool:
    """Says whether the Job has come to its end, good or bad."""
    return any(holds(job.status.conditions, kind) for kind in (COMPLETE, FAILED))


def holds(conditions: Conditions, kind: str) -> bool:
    """Says whether the condition is there and true."""
    found = core.reported(conditions, kind)
    return found is not None and found.status == "True"


def verdict(job: Job, count: Tally, now: datetime) -> ReportedCondition | None:
    """Says how the Job will end, as soon as that is certain; what was once said stays."""
    for kind in (FAILING, SUCCEEDING):
        if holds(job.status.conditions, kind):
            return core.reported(job.status.conditions, kind)
    limit = job.spec.backoff_limit
    if count.failures > (USUAL_BACKOFF_LIMIT if limit is None else limit):
        said = "Job has reached the specified backoff limit"
        return _condition(FAILING, "BackoffLimitExceeded", said, now)
    due = deadline(job)
    if due is not None and due <= now:
        said = "Job was active longer than specified deadline"
        return _condition(FAILING, "DeadlineExceeded", said, now)
    if _has_enough(job, count):
        said = "Reached expected number of succeeded pods"
        return _condition(SUCCEEDING, "CompletionsReached", said, now)
    return None


def _has_enough(job: Job, count: Tally) -> bool:
    if job.spec.completions is None:
        return count.successes > 0 and not count.active
    return count.successes >= job.spec.completions


def deadline(job: Job) -> datetime | None:
    """When the Job has been active for too long."""
    seconds, since = job.spec.active_deadline_seconds, job.status.start_time
    if seconds is None or since is None or job.spec.suspend:
        return None
    return since + timedelta(seconds=seconds)


def wanted(job: Job, count: Tally) -> int:
    """How many pods shall run side by side now."""
    if job.spec.suspend:
        return 0
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is None:
        return min(parallelism, len(count.active)) if count.successes else parallelism
    return min(parallelism, max(job.spec.completions - count.successes, 0))


def patient_until(count: Tally, pods: Iterable[Pod]) -> datetime | None:
    """When another pod may be tried after failures: later each time."""
    moments = [
        _ended_at(pod) for pod in pods if not pod_control.is_active(pod) and not _succeeded(pod)
    ]
    known = [at for at in moments if at is not None]
    if not count.failures or not known:
        return None
    exponent = min(count.failures - 1, _LARGEST_EXPONENT)
    return max(known) + timedelta(seconds=min(FIRST_DELAY * 2**exponent, LONGEST_DELAY))


def _ended_at(pod: Pod) -> datetime | None:
    ends = [
        each.state.terminated.finished_at
        for each in pod.status.container_statuses
        if each.state.terminated is not None and each.state.terminated.finished_at is not None
    ]
    return max(ends, default=pod.metadata.deletion_timestamp or pod.metadata.creation_timestamp)


def conditions(job: Job, end: ReportedCondition | None, now: datetime, *, over: bool) -> Conditions:
    """The conditions of a Job that will end so, or not yet, and that is over or not."""
    said = job.status.conditions
    suspended = core.reported(said, SUSPENDED)
    if end is None and job.spec.suspend:
        said = _with(said, _condition(SUSPENDED, "JobSuspended", "Job suspended", now))
    elif end is None and suspended is not None and suspended.status == "True":
        said = _with(said, _condition(SUSPENDED, "JobResumed", "Job resumed", now, "False"))
    if end is not None:
        said = _with(said, end)
    if end is not None and over:
        last = COMPLETE if end.type == SUCCEEDING else FAILED
        said = _with(said, _condition(last, end.reason, end.message, now))
    return said


def _with(said: Conditions, fresh: ReportedCondition) -> Conditions:
    old = core.reported(said, fresh.type)
    if old is not None and old.status == fresh.status:
        return said
    return (*(each for each in said if each is not old), fresh)


def _condition(
    kind: str, reason: str, message: str, now: datetime, status: str = "True"
) -> ReportedCondition:
    return ReportedCondition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=now.replace(microsecond=0),
    )


def expiry(job: Job) -> datetime | None:
    """When a finished Job shall be deleted."""
    ttl = job.spec.ttl_seconds_after_finished
    ends = [
        each.last_transition_time
        for each in job.status.conditions
        if each.type in (COMPLETE, FAILED) and each.status == "True"
    ]
    if ttl is None or not ends or ends[0] is None:
        return None
    return ends[0] + timedelta(seconds=ttl)
