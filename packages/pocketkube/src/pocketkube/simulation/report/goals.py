"""What the kinds of workloads want: how many pods are to run, and whether they are meant to end.

The timeline builder reads a goal at every change of such an object. `GOALS` has one line for each kind of Kubernetes: the resource,
its kind, and a function that reads an object of it; domains add theirs by an `Extension`. Pods of owners that are not listed are
shown under the name of their owner.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pocketkube.simulation.report import fields
from pocketkube.simulation.report.fields import Body

_COMPLETE, _FAILED = "Complete", "Failed"


@dataclass(frozen=True, slots=True)
class Goal:
    """What a workload wants at this moment.

    Attributes:
        pods: How many are to run at once; None if nobody has counted them yet.
        ends: It is meant to end; `pods` running is not enough.
        done: It has reached its end.
        failed: It has given up; why.
        held: It is not meant to run now (suspended).
        trouble: Why its controller cannot make pods, if it says so.
        progress: How far it is, if it is meant to end.
    """

    pods: int | None = None
    ends: bool = False
    done: bool = False
    failed: str = ""
    held: bool = False
    trouble: str = ""
    progress: str = ""


def _replicas(body: Body) -> Goal:
    trouble = str(fields.true_condition(body, "ReplicaFailure").get("message") or "")
    return Goal(fields.number(fields.part(body, "spec"), "replicas", 1), trouble=trouble)


def _one_per_node(body: Body) -> Goal:
    status = fields.part(body, "status")
    if not status.get("observedGeneration"):
        return Goal(None)
    return Goal(fields.number(status, "desiredNumberScheduled", 0))


def _completions(body: Body) -> Goal:
    spec, status = fields.part(body, "spec"), fields.part(body, "status")
    failed = fields.true_condition(body, _FAILED)
    if failed:
        reason = failed.get("message") or failed.get("reason") or "it failed"
        return Goal(0, ends=True, failed=str(reason))
    if fields.true_condition(body, _COMPLETE):
        return Goal(0, ends=True, done=True)
    if spec.get("suspend"):
        return Goal(0, ends=True, held=True)
    parallelism, succeeded = (
        fields.number(spec, "parallelism", 1),
        fields.number(status, "succeeded", 0),
    )
    completions = fields.number(spec, "completions", parallelism)
    pods = max(min(parallelism, completions - succeeded), 0)
    return Goal(pods, ends=True, progress=f"{succeeded} of {completions} done")


def _timetable(_: Body) -> Goal:
    return Goal(0, held=True)


GoalReader = Callable[[Body], Goal]

GOALS: Mapping[str, tuple[str, GoalReader]] = {
    "deployments.apps": ("Deployment", _replicas),
    "replicasets.apps": ("ReplicaSet", _replicas),
    "statefulsets.apps": ("StatefulSet", _replicas),
    "daemonsets.apps": ("DaemonSet", _one_per_node),
    "jobs.batch": ("Job", _completions),
    "cronjobs.batch": ("CronJob", _timetable),
}
