"""What the kinds of workloads want: how many pods are to run, and whether they are meant to end.

`chronicle` asks here for every change of such an object. A new kind is one line in `GOALS`: the resource, its kind, and a
function that reads an object of it. Pods of owners that are not listed are still told, under the name of their owner.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from korder.api.meta import JSON
from korder.api.reserve import ORDERS, OrderCondition, OrderReason, Reason
from korder.embedded.simulation.telling import bodies
from korder.embedded.simulation.telling.bodies import Body

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
        unmade: How many it wants besides those that are there, if nobody says how many in all.
        closed: It wants nothing until later; what was unmade before never came.
        trouble: Why its controller cannot make pods, if it says so.
        progress: How far it is, if it is meant to end.
    """

    pods: int | None = None
    ends: bool = False
    done: bool = False
    failed: str = ""
    held: bool = False
    unmade: int = 0
    closed: bool = False
    trouble: str = ""
    progress: str = ""


def _number(body: Body, name: str, missing: int) -> int:
    found = body.get(name)
    return found if isinstance(found, int) else missing


def _true(body: Body, kind: str) -> dict[str, JSON]:
    found = bodies.condition(body, kind)
    return found if found.get("status") == "True" else {}


def _replicas(body: Body) -> Goal:
    trouble = str(_true(body, "ReplicaFailure").get("message") or "")
    return Goal(_number(bodies.part(body, "spec"), "replicas", 1), trouble=trouble)


def _one_per_node(body: Body) -> Goal:
    status = bodies.part(body, "status")
    if not status.get("observedGeneration"):
        return Goal(None)
    return Goal(_number(status, "desiredNumberScheduled", 0))


def _completions(body: Body) -> Goal:
    spec, status = bodies.part(body, "spec"), bodies.part(body, "status")
    failed = _true(body, _FAILED)
    if failed:
        reason = failed.get("message") or failed.get("reason") or "it failed"
        return Goal(0, ends=True, failed=str(reason))
    if _true(body, _COMPLETE):
        return Goal(0, ends=True, done=True)
    if spec.get("suspend"):
        return Goal(0, ends=True, held=True)
    parallelism, succeeded = _number(spec, "parallelism", 1), _number(status, "succeeded", 0)
    completions = _number(spec, "completions", parallelism)
    pods = max(min(parallelism, completions - succeeded), 0)
    return Goal(pods, ends=True, progress=f"{succeeded} of {completions} done")


def _tickets(body: Body) -> Goal:
    failure, ready = _true(body, "Failure"), bodies.condition(body, OrderCondition.READY)
    is_short = ready.get("reason") == Reason.QUOTA_EXCEEDED
    return Goal(
        None,
        done=bool(_true(body, _COMPLETE)),
        failed=str(failure.get("message") or "it failed") if failure else "",
        held=bool(bodies.part(body, "spec").get("paused")),
        unmade=_unmade(bodies.part(body, "status")) if is_short else 0,
        closed=ready.get("reason") == OrderReason.BETWEEN_WINDOWS,
        trouble=str(ready.get("message") or "") if is_short else "",
    )


def _unmade(status: Body) -> int:
    """How many tickets of an order a quota has no room for."""
    there = _number(status, "availableReplicas", 0) + _number(status, "unavailableReplicas", 0)
    pools = status.get("pools")
    if not isinstance(pools, list) or not pools:
        claimed = _number(status, "claimedReplicas", 0)
        return max(_number(status, "desiredReplicas", 0) - claimed - there, 0)
    sizes = (_number(pool, "size", 0) for pool in pools if isinstance(pool, dict))
    return max(sum(sizes) - there, 0)


def _timetable(_: Body) -> Goal:
    return Goal(0, held=True)


GOALS: Mapping[str, tuple[str, Callable[[Body], Goal]]] = {
    "deployments.apps": ("Deployment", _replicas),
    "replicasets.apps": ("ReplicaSet", _replicas),
    "statefulsets.apps": ("StatefulSet", _replicas),
    "daemonsets.apps": ("DaemonSet", _one_per_node),
    "jobs.batch": ("Job", _completions),
    "cronjobs.batch": ("CronJob", _timetable),
    str(ORDERS): (ORDERS.kind, _tickets),
}
