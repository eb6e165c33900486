"""CronJobs: jobs that are made again and again, by a timetable."""

from collections.abc import Iterator, Mapping
import re
from typing import Any, Final
import zoneinfo

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import jobs, timetable
from pocketkube.apiserver.kinds.podspec import handlers, internal
from pocketkube.apiserver.kinds.strategy import Causes, Object
from pocketkube.apiserver.kinds.templates import Workload

Values = Mapping[str, Any]

_CONCURRENCY: Final = "Allow", "Forbid", "Replace"
_ZONE: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


class CronJobs(Workload):
    """The strategy of CronJobs."""

    template = "spec.jobTemplate.spec.template"

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj.setdefault("spec", {})
        if not spec.get("concurrencyPolicy"):
            spec["concurrencyPolicy"] = "Allow"
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)
        template = spec.setdefault("jobTemplate", {})
        template.setdefault("metadata", {})
        jobs.complete_policy(template.setdefault("spec", {}))

    def check_create(self, obj: Object) -> Causes:
        causes = super().check_create(obj)
        name = obj["metadata"].get("name", "")
        if len(name) > 52:
            said = "must be no more than 52 characters"
            causes.append(fielderrors.invalid("metadata.name", name, said))
        return causes

    def check(self, obj: Object) -> Iterator[Cause]:
        return _check(obj["spec"], {})

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        return _check(obj["spec"], old["spec"])


def _check(spec: Values, old: Values) -> Iterator[Cause]:
    schedule = spec.get("schedule", "")
    if schedule:
        zoned = "TZ" in old.get("schedule", "")
        yield from _check_schedule(schedule, spec.get("timeZone"), zoned=zoned)
    else:
        yield fielderrors.required("spec.schedule")
    deadline = spec.get("startingDeadlineSeconds")
    yield from handlers.not_negative("spec.startingDeadlineSeconds", deadline)
    if spec.get("timeZone") is not None and spec["timeZone"] != old.get("timeZone"):
        yield from _check_zone("spec.timeZone", spec["timeZone"])
    policy = spec.get("concurrencyPolicy", "")
    if policy not in _CONCURRENCY:
        yield fielderrors.not_supported("spec.concurrencyPolicy", policy, _CONCURRENCY)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    yield from jobs.check_spec("spec.jobTemplate.spec", job)
    if job.get("selector") is not None:
        stated = internal.selector(job["selector"])
        said = "`selector` will be auto-generated"
        yield fielderrors.written("spec.jobTemplate.spec.selector", stated, said)
    if job.get("manualSelector"):
        yield fielderrors.not_supported(
            "spec.jobTemplate.spec.manualSelector", job["manualSelector"], ("nil", "false")
        )
    for member in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from handlers.not_negative(f"spec.{member}", spec.get(member))


def _check_schedule(schedule: str, zone: str | None, *, zoned: bool) -> Iterator[Cause]:
    wrong = timetable.wrong(schedule)
    if wrong:
        yield fielderrors.invalid("spec.schedule", schedule, wrong)
    if "TZ" not in schedule:
        return
    if not zoned:
        said = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield fielderrors.invalid("spec.schedule", schedule, said)
    elif zone is not None:
        said = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield fielderrors.invalid("spec.schedule", schedule, said)


def _check_zone(field: str, zone: str) -> Iterator[Cause]:
    if not zone:
        yield fielderrors.invalid(field, zone, "timeZone must be nil or non-empty string")
        return
    unknown = f"unknown time zone {zone}"
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE.fullmatch(part):
            yield fielderrors.invalid(field, zone, unknown)
            return
    if zone.lower() == "local":
        said = (
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
        yield fielderrors.invalid(field, zone, said)
    elif zone != "UTC" and zone not in zoneinfo.available_timezones():
        yield fielderrors.invalid(field, zone, unknown)
