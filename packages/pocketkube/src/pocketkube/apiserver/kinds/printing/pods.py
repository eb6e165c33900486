"""Pods in a table: the phase as people read it, restarts, and where the pod is."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from pocketkube.apiserver.kinds.printer import NAME, Cells, Object, Printer
from pocketkube.apiserver.kinds.printing.cells import (
    AGE,
    NONE,
    age,
    is_true,
    name,
    named,
    part,
    since,
    wide,
)  # fmt: skip

_ENDED: Final = ("Succeeded", "Failed")
_CONDITIONS: Final = {
    "Succeeded": ("Succeeded", "The pod has completed successfully."),
    "Failed": ("Failed", "The pod failed."),
}
_Status = Mapping[str, Any]


class _Tally:
    """What the statuses of containers add up to."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.ready = 0
        self.restarts = 0
        self.last = ""

    def restarted(self, status: _Status) -> None:
        self.restarts += status.get("restartCount", 0)
        ended = part(status, "lastState", "terminated").get("finishedAt") or ""
        self.last = max(self.last, ended)


def _cells(pod: Object, now: datetime) -> Cells:
    spec, status = part(pod, "spec"), part(pod, "status")
    sidecars = {
        each.get("name")
        for each in spec.get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    }
    quota_cache = _quota_cache(spec, status, sidecars)
    reason = _final_reason(pod, status, quota_cache.reason)
    restarts = str(quota_cache.restarts)
    if quota_cache.restarts and quota_cache.last:
        restarts += f" ({since(quota_cache.last, now)} ago)"
    total = len(spec.get("containers") or ()) + len(sidecars)
    addresses = status.get("podIPs") or [{}]
    return [
        name(pod),
        f"{quota_cache.ready}/{total}",
        reason,
        restarts,
        age(pod, now),
        addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def _quota_cache(spec: _Status, status: _Status, sidecars: set[Any]) -> _Tally:
    starting = _Tally(_first_reason(status))
    kept = _Tally(starting.reason)
    initializing = False
    count = len(spec.get("initContainers") or ())
    for index, each in enumerate(status.get("initContainerStatuses") or ()):
        starting.restarted(each)
        is_sidecar = each.get("name") in sidecars
        if is_sidecar:
            kept.restarted(each)
        state = each.get("state") or {}
        if state.get("terminated") and not state["terminated"].get("exitCode"):
            continue
        if is_sidecar and each.get("started"):
            starting.ready += bool(each.get("ready"))
            continue
        starting.reason = f"Init:{_init_reason(state, f'{index}/{count}')}"
        initializing = True
        break
    if initializing and not is_true(status.get("conditions"), "Initialized"):
        return starting
    kept.reason, kept.ready = starting.reason, starting.ready
    _run(kept, status)
    return kept


def _first_reason(status: _Status) -> str:
    for each in status.get("conditions") or ():
        if each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(status.get("reason") or status.get("phase") or "")


def _init_reason(state: _Status, progress: str) -> str:
    ended, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason")
    if ended:
        return _ending(ended)
    return waiting if waiting and waiting != "PodInitializing" else progress


def _ending(ended: _Status) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _run(quota_cache: _Tally, status: _Status) -> None:
    """Adds the containers themselves; the first that has something to say is heard last."""
    running, error = False, ""
    for each in reversed(status.get("containerStatuses") or ()):
        quota_cache.restarted(each)
        state = each.get("state") or {}
        ended = state.get("terminated")
        waiting = (state.get("waiting") or {}).get("reason")
        if waiting:
            quota_cache.reason = waiting
        elif ended:
            quota_cache.reason = _ending(ended)
            error = quota_cache.reason if ended.get("exitCode") else error
        elif each.get("ready") and "running" in state:
            running = True
            quota_cache.ready += 1
    if quota_cache.reason == "Completed":
        if running and is_true(status.get("conditions"), "Ready"):
            quota_cache.reason = "Running"
        else:
            quota_cache.reason = error or ("NotReady" if running else "Completed")


def _final_reason(pod: Object, status: _Status, reason: str) -> str:
    if "deletionTimestamp" not in pod["metadata"]:
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in _ENDED else "Terminating"


def _gates(spec: _Status, status: _Status) -> str:
    gates: Sequence[_Status] = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    passed = sum(is_true(status.get("conditions"), gate.get("conditionType", "")) for gate in gates)
    return f"{passed}/{len(gates)}"


def _conditions(pod: Object) -> list[Object]:
    stated = _CONDITIONS.get(part(pod, "status").get("phase", ""))
    if stated is None:
        return []
    return [{"type": "Completed", "status": "True", "reason": stated[0], "message": stated[1]}]


PODS: Final = Printer(
    (
        NAME,
        *named("Ready", "Status", "Restarts"),
        AGE,
        *wide("IP", "Node", "Nominated Node", "Readiness Gates"),
    ),
    _cells,
    _conditions,
)
