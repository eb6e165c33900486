"""Workloads in tables: how many there should be, how many there are."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from kubeloop.objects import duration, instant
from pocketkube.apiserver.kinds.printer import NAME, Cells, Column, Object, Printer
from pocketkube.apiserver.kinds.printing.cells import (
    AGE,
    NONE,
    OF_CONTAINERS,
    UNSET,
    age,
    containers,
    integers,
    is_true,
    labels,
    name,
    named,
    part,
    selector,
    since,
    wide,
)  # fmt: skip

_JOB_STATES: Final = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)
"""Conditions in the order in which they are told; the empty one is the deletion."""


def _deployment(obj: Object, now: datetime) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(obj, now),
        *containers(part(spec, "template")),
        selector(spec.get("selector"), ""),
    ]


def _replicas(obj: Object, now: datetime) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name(obj),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(obj, now),
        *containers(part(spec, "template")),
    ]


def _replica_set(obj: Object, now: datetime) -> Cells:
    return [*_replicas(obj, now), selector(part(obj, "spec").get("selector"))]


def _replication_controller(obj: Object, now: datetime) -> Cells:
    return [*_replicas(obj, now), labels(part(obj, "spec").get("selector"))]


def _stateful_set(obj: Object, now: datetime) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name(obj), ready, age(obj, now), *containers(part(spec, "template"))]


def _daemon_set(obj: Object, now: datetime) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    counts = (
        "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
        "numberAvailable",
    )  # fmt: skip
    return [
        name(obj),
        *(status.get(count, 0) for count in counts),
        labels(part(spec, "template", "spec").get("nodeSelector")),
        age(obj, now),
        *containers(part(spec, "template")),
        selector(spec.get("selector")),
    ]


def _job(obj: Object, now: datetime) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name(obj),
        _job_state(obj, status),
        _completions(spec, status),
        _length(status, now),
        age(obj, now),
        *containers(part(spec, "template")),
        selector(spec.get("selector")),
    ]


def _job_state(obj: Object, status: Mapping[str, Any]) -> str:
    for condition, stated in _JOB_STATES:
        if condition and is_true(status.get("conditions"), condition):
            return stated
        if not condition and "deletionTimestamp" in obj["metadata"]:
            return stated
    return "Running"


def _completions(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _length(status: Mapping[str, Any], now: datetime) -> str:
    started, ended = status.get("startTime"), status.get("completionTime")
    if not started:
        return ""
    try:
        until = instant.parse(ended) if ended else now
        return duration.human(int((until - instant.parse(started)).total_seconds()))
    except instant.InvalidInstant:
        return "<invalid>"


def _cron_job(obj: Object, now: datetime) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    last = status.get("lastScheduleTime")
    suspended = spec.get("suspend")
    job = part(spec, "jobTemplate", "spec")
    return [
        name(obj),
        spec.get("schedule", ""),
        spec.get("timeZone", NONE),
        UNSET if suspended is None else str(suspended),
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        age(obj, now),
        *containers(part(job, "template")),
        selector(job.get("selector")),
    ]


_COUNTED: Final = (NAME, *integers("Desired", "Current", "Ready"))
_SELECTED: Final = (*OF_CONTAINERS, *wide("Selector"))

PRINTERS: Final[Mapping[str, Printer]] = {
    "Deployment": Printer(
        (NAME, *named("Ready", "Up-to-date", "Available"), AGE, *_SELECTED), _deployment
    ),
    "ReplicaSet": Printer((*_COUNTED, AGE, *_SELECTED), _replica_set),
    "ReplicationController": Printer((*_COUNTED, AGE, *_SELECTED), _replication_controller),
    "StatefulSet": Printer((NAME, *named("Ready"), AGE, *OF_CONTAINERS), _stateful_set),
    "DaemonSet": Printer(
        (*_COUNTED, *integers("Up-to-date", "Available"), *named("Node Selector"), AGE, *_SELECTED),
        _daemon_set,
    ),
    "Job": Printer((NAME, *named("Status", "Completions", "Duration"), AGE, *_SELECTED), _job),
    "CronJob": Printer(
        (
            NAME,
            *named("Schedule", "Timezone"),
            Column("Suspend", "boolean"),
            *integers("Active"),
            *named("Last Schedule"),
            AGE,
            *_SELECTED,
        ),
        _cron_job,
    ),
}
