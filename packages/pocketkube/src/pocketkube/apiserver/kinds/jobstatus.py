"""The status of a job: numbers that only grow, and ends that stay ends."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import templates
from pocketkube.apiserver.kinds.strategy import Object

Values = Mapping[str, Any]

_COUNTS: Final = "active", "succeeded", "failed", "ready", "terminating"
_CONDITIONS: Final = "status.conditions"
_CONTRADICTIONS: Final = (
    ("Complete", "Failed", "cannot set Complete=True and Failed=true conditions"),
    ("Complete", "FailureTarget", "cannot set Complete=True and FailureTarget=true conditions"),
    (
        "SuccessCriteriaMet",
        "Failed",
        "cannot set SuccessCriteriaMet=True and Failed=true conditions",
    ),
    (
        "SuccessCriteriaMet",
        "FailureTarget",
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    ),
)
_NEEDS: Final = (
    (
        "Failed",
        "FailureTarget",
        "cannot set Failed=True condition without the FailureTarget=true condition",
    ),
    (
        "Complete",
        "SuccessCriteriaMet",
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ),
)


def is_true(status: Values, condition: str) -> bool:
    """Whether a condition of the status holds."""
    return any(
        one.get("type") == condition and one.get("status") == "True"
        for one in status.get("conditions") or ()
    )


def check(job: Object, old: Object) -> Iterator[Cause]:
    """What is wrong with a new status."""
    status, before = job.get("status") or {}, old.get("status") or {}
    yield from templates.check_counts(status, _COUNTS)
    for one, other, said in _CONTRADICTIONS:
        if is_true(status, one) and is_true(status, other):
            yield fielderrors.unshown(_CONDITIONS, said)
    for one, other, said in _NEEDS:
        newly = is_true(status, one) and not is_true(before, one)
        if newly and not is_true(status, other):
            yield fielderrors.unshown(_CONDITIONS, said)
    yield from _check_times(status, before, suspended=bool(job["spec"].get("suspend")))
    if (status.get("ready") or 0) > (status.get("active") or 0):
        said = "cannot set more ready pods than active"
        yield fielderrors.invalid("status.ready", status["ready"], said)
    yield from _check_progress(status, before)


def _check_times(status: Values, before: Values, *, suspended: bool) -> Iterator[Cause]:
    ended, started = status.get("completionTime"), status.get("startTime")
    complete = is_true(status, "Complete")
    finished = complete or is_true(status, "Failed")
    if ended is not None and not complete:
        said = "cannot set completionTime when there is no Complete=True condition"
        yield fielderrors.invalid("status.completionTime", ended, said)
    if ended is None and complete:
        said = "completionTime is required for Complete jobs"
        yield fielderrors.required("status.completionTime", said)
    if started is not None and ended is not None and ended < started:
        said = "must be equal to or after `startTime`"
        yield fielderrors.invalid("status.completionTime", ended, said)
    if finished and status.get("active"):
        said = "active>0 is invalid for finished job"
        yield fielderrors.invalid("status.active", status["active"], said)
    if finished and started is None:
        said = "startTime is required for finished job"
        yield fielderrors.required("status.startTime", said)
    if ended is not None and before.get("completionTime") not in (None, ended):
        yield fielderrors.invalid("status.completionTime", ended, templates.IMMUTABLE)
    if before.get("startTime") not in (None, started) and not suspended:
        said = "field is immutable for unsuspended job once set"
        yield fielderrors.written("status.startTime", fielderrors.shown(started), said)


def _check_progress(status: Values, before: Values) -> Iterator[Cause]:
    for condition in ("Failed", "Complete", "FailureTarget"):
        if is_true(before, condition) and not is_true(status, condition):
            said = f"cannot disable the terminal {condition}=True condition"
            yield fielderrors.unshown(_CONDITIONS, said)
    for member in ("failed", "succeeded"):
        if status.get(member, 0) < before.get(member, 0):
            said = f"cannot decrease the {member} counter"
            yield fielderrors.invalid(f"status.{member}", status.get(member, 0), said)
    if is_true(before, "SuccessCriteriaMet") and not is_true(status, "SuccessCriteriaMet"):
        said = "cannot disable the SuccessCriteriaMet=True condition"
        yield fielderrors.unshown(_CONDITIONS, said)
