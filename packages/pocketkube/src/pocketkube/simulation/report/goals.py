"""What the kinds of workloads want: how many pods are to run, and whether they are meant to end.

`chronicle` asks here for every change of such an object. A new kind is one line in `GOALS`: the resource, its kind, and a
function that reads an object of it. Pods of owners that are not listed are still told, under the name of their owner.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from korder.api.reserve import ORDERS, OrderCondition, OrderReason, Reason, StrategyType
from kubeloop.objects.meta import JSON
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
        booked: Numbers of tickets that it wants besides those that are there, unless they have been seen.
        nodes: On how many nodes it wants a ticket, while it makes some.
        standing: How many tickets it wants at all times, also between those that have expired and the next firing.
        closed: It wants nothing until later; what was booked before and not made never came.
        trouble: Why its controller cannot make pods, if it says so.
        progress: How far it is, if it is meant to end.
    """

    pods: int | None = None
    ends: bool = False
    done: bool = False
    failed: str = ""
    held: bool = False
    booked: frozenset[int] = frozenset()
    nodes: int = 0
    standing: int = 0
    closed: bool = False
    trouble: str = ""
    progress: str = ""


def _number(body: Body, name: str, missing: int) -> int:
    found = body.get(name)
    return found if isinstance(found, int) else missing


def _true(body: Body, kind: str) -> dict[str, JSON]:
    found = fields.condition(body, kind)
    return found if found.get("status") == "True" else {}


def _replicas(body: Body) -> Goal:
    trouble = str(_true(body, "ReplicaFailure").get("message") or "")
    return Goal(_number(fields.part(body, "spec"), "replicas", 1), trouble=trouble)


def _one_per_node(body: Body) -> Goal:
    status = fields.part(body, "status")
    if not status.get("observedGeneration"):
        return Goal(None)
    return Goal(_number(status, "desiredNumberScheduled", 0))


def _completions(body: Body) -> Goal:
    spec, status = fields.part(body, "spec"), fields.part(body, "status")
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
    failure, ready = _true(body, "Failure"), fields.condition(body, OrderCondition.READY)
    short = _shortage(body)
    makes = bool(short or _true(body, OrderCondition.PROGRESSING))
    return Goal(
        None,
        done=bool(_true(body, _COMPLETE)),
        failed=str(failure.get("message") or "it failed") if failure else "",
        held=bool(fields.part(body, "spec").get("paused")),
        booked=frozenset(_booked(body)),
        nodes=_nodes(body) if makes else 0,
        standing=_standing(body),
        closed=ready.get("reason") == OrderReason.BETWEEN_WINDOWS,
        trouble=short or _emptiness(ready),
    )


def _shortage(body: Body) -> str:
    """Which quota has no room for tickets of an order, wherever it says so first."""
    said = (
        fields.condition(body, each) for each in (OrderCondition.READY, OrderCondition.PROGRESSING)
    )
    short = (each for each in said if each.get("reason") == Reason.QUOTA_EXCEEDED)
    return next((str(each.get("message") or "") for each in short), "")


def _booked(body: Body) -> Iterator[int]:
    """The numbers of tickets that an order has booked and not called made, and those of an edit that it has not seen."""
    spec, status = fields.part(body, "spec"), fields.part(body, "status")
    made = _number(status, "madeIndex", 0)
    for pool in fields.parts(status, "pools"):
        yield from _members(str(pool.get("members") or ""), made)
    if spec.get("daemonSet") or _has_windows(body) or not _is_edited(body):
        return
    more = _number(spec, "replicas", 1) - _number(status, "issuedReplicas", 0)
    following = _number(status, "nextIndex", 0)
    yield from range(following, following + more)


def _members(text: str, least: int) -> Iterator[int]:
    """The numbers from `least` on in a text such as `0-2,5`."""
    for span in filter(None, text.split(",")):
        first, _, last = span.partition("-")
        yield from range(max(int(first), least), int(last or first) + 1)


def _standing(body: Body) -> int:
    """How many tickets the pool of a Recurring order has; in DaemonSet mode the nodes decide."""
    spec = fields.part(body, "spec")
    recurs = fields.part(spec, "strategy").get("type") == StrategyType.RECURRING
    return _number(spec, "replicas", 1) if recurs and not spec.get("daemonSet") else 0


def _emptiness(ready: Body) -> str:
    """Until when a pool has no tickets, if it says so."""
    empty = ready.get("reason") == OrderReason.GAP
    return str(ready.get("message") or "").rstrip(".") if empty else ""


def _has_windows(body: Body) -> bool:
    strategy = fields.part(fields.part(body, "spec"), "strategy")
    return strategy.get("type") == StrategyType.SCHEDULED


def _is_edited(body: Body) -> bool:
    """Whether nobody has acted yet on what an object says now."""
    generation = _number(fields.part(body, "metadata"), "generation", 1)
    return _number(fields.part(body, "status"), "observedGeneration", 0) < generation


def _nodes(body: Body) -> int:
    """How many nodes an order counts that wants a ticket on each; with windows, only its tickets tell for which of them."""
    if not fields.part(body, "spec").get("daemonSet") or _has_windows(body):
        return 0
    return _number(fields.part(body, "status"), "desiredReplicas", 0)


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
