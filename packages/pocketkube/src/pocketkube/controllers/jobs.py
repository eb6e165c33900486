"""Jobs: pods that run to their end, so many times.

The rules are in `job_status`. A pod that this controller ends itself, because the Job is suspended, over, or has too many, first loses
its tracking finalizer and is therefore not counted as a failure. A finished Job whose time to live is over is deleted in the
foreground by giving it that finalizer first: without one the server would orphan its pods. Not played: Indexed completion (told
by an Event), pod failure policies, success policies, and counting container restarts as failures.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from kubeloop.objects.core import PODS, Pod, ReportedCondition
from kubeloop.objects.meta import JSON, Key, controller_of, owned_by
from kubeloop.objects.plan import Create, Emit, EventType, Patch, Plan, Step
from kubeloop.objects.workloads import JOBS, Job, JobStatus
from kubeloop.runtime.manager import Manager
from pocketkube.controllers import job_status, pod_control
from pocketkube.controllers.adoption import taken
from pocketkube.controllers.garbage_collector import FOREGROUND
from pocketkube.controllers.job_status import TRACKING, Tally

_OF_JOB = "job"


def _by_job(pod: Pod) -> Iterable[Key]:
    """Index: the Job that a pod belongs to, by name, so that it is found even when the Job is gone.

    A pod that was orphaned before its finalizer came off is filed under no name, of which there is never a Job.
    """
    controller = controller_of(pod)
    if controller is not None and controller.kind == JOBS.kind:
        return (Key(pod.metadata.namespace, controller.name),)
    return (Key(pod.metadata.namespace, ""),) if _is_tracked(pod) else ()


class Jobs:
    """Runs all Jobs."""

    def __init__(self, manager: Manager) -> None:
        self._jobs = manager.informers.of(JOBS)
        self._pods = manager.informers.of(PODS)
        self._pods.add_index(_OF_JOB, _by_job)
        controller = manager.controller("jobs", self._reconcile)
        controller.follow(self._jobs)
        controller.follow(self._pods, _by_job)

    def _reconcile(self, key: Key, now: datetime) -> Plan:
        job = self._jobs.reader.get(key)
        pods = tuple(self._pods.reader.where(_OF_JOB, key))
        if job is None or job.metadata.deletion_timestamp is not None:
            return Plan().then(*map(_untracked, filter(_is_tracked, pods)))
        mine = [pod for pod in pods if owned_by(pod, job.metadata.uid)]
        strays = [_untracked(pod) for pod in pods if pod not in mine and _is_tracked(pod)]
        if job_status.is_finished(job):
            return _aftermath(job, mine, now).then(*strays)
        if job.spec.completion_mode == "Indexed":
            said = "Indexed completion is not supported by this cluster"
            return Plan().tell(Emit(JOBS, job, "NotSupported", said, EventType.WARNING))
        return self._work(job, mine, now).then(*strays)

    def _work(self, job: Job, pods: list[Pod], now: datetime) -> Plan:
        count = job_status.tally(job, pods)
        end = job_status.verdict(job, count, now)
        wanted = 0 if end is not None else job_status.wanted(job, count)
        excess = pod_control.by_worth(count.active)[: max(len(count.active) - wanted, 0)]
        status = status_of(job, pods, count, end, now)
        noted = {*count.noted.succeeded, *count.noted.failed}
        held = [pod for pod in pods if pod.metadata.uid in noted and _is_tracked(pod)]
        plan = (
            Plan()
            .then(*pod_control.report(JOBS, job, job.status, status))
            .then(*map(_untracked, held), *map(_dismissed, excess))
            .requeue(job_status.deadline(job) if end is None else None)
        )
        missing = wanted - len(count.active)
        not_before = job_status.patient_until(count, pods)
        if missing > 0 and not_before is not None and not_before > now:
            return plan.requeue(not_before)
        return plan.then(*self._creations(job, missing)) if missing > 0 else plan

    def _creations(self, job: Job, missing: int) -> list[Create]:
        meta = job.metadata
        free = taken(self._pods.reader.get, meta.namespace)
        names = pod_control.fresh_names(meta.name, meta.uid, free, missing)
        return [Create(PODS, pod_of(job, name)) for name in names]


def pod_of(job: Job, name: str) -> dict[str, JSON]:
    """A pod of the Job that cannot vanish uncounted."""
    body = pod_control.pod_from(job.spec.template, JOBS, job, name)
    meta = body["metadata"]
    assert isinstance(meta, dict)  # noqa: S101  `pod_from` made it
    before = meta.get("finalizers")
    finalizers: list[JSON] = [*(before if isinstance(before, list) else []), TRACKING]
    return {**body, "metadata": {**meta, "finalizers": finalizers}}


def status_of(
    job: Job, pods: Iterable[Pod], count: Tally, end: ReportedCondition | None, now: datetime
) -> JobStatus:
    """What to say about the Job; it is over when it will end and no pod is left that runs, ends or waits to be counted."""
    second = now.replace(microsecond=0)
    ending = sum(
        pod.metadata.deletion_timestamp is not None
        and pod.status.phase not in ("Succeeded", "Failed")
        for pod in pods
    )
    noted = count.noted.succeeded or count.noted.failed
    over = end is not None and not count.active and not ending and not noted
    started = job.status.start_time
    resumed = not job.spec.suspend and job_status.holds(job.status.conditions, job_status.SUSPENDED)
    if end is None and not job.spec.suspend and (started is None or resumed):
        started = second
    return msgspec.structs.replace(
        job.status,
        active=len(count.active),
        ready=sum(map(pod_control.is_ready, count.active)),
        succeeded=count.succeeded,
        failed=count.failed,
        terminating=ending,
        uncounted_terminated_pods=count.noted if noted else None,
        start_time=started,
        completion_time=second
        if over and end is not None and end.type == job_status.SUCCEEDING
        else None,
        conditions=job_status.conditions(job, end, now, over=over),
    )


def _aftermath(job: Job, pods: Iterable[Pod], now: datetime) -> Plan:
    plan = Plan().then(*map(_untracked, filter(_is_tracked, pods)))
    due = job_status.expiry(job)
    if due is None or due > now:
        return plan.requeue(due)
    meta = job.metadata
    mark: JSON = {"metadata": {"finalizers": [*meta.finalizers, FOREGROUND]}}
    if FOREGROUND not in meta.finalizers:
        return plan.then(pod_control.change(JOBS, job, mark))
    return plan.then(pod_control.end(JOBS, job))


def _is_tracked(pod: Pod) -> bool:
    return TRACKING in pod.metadata.finalizers


def _dismissed(pod: Pod) -> Step:
    """Ends a pod that is not wanted; its finalizer goes first, in a turn of its own, so that it does not count."""
    return _untracked(pod) if _is_tracked(pod) else pod_control.end(PODS, pod)


def _untracked(pod: Pod) -> Patch:
    kept: list[JSON] = [each for each in pod.metadata.finalizers if each != TRACKING]
    return pod_control.change(PODS, pod, {"metadata": {"finalizers": kept}})
