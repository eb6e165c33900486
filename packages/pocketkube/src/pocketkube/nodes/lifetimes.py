"""Pods that end by themselves: how long their containers run, how they end, and whether they are run again.

No container is run, so nothing would ever end. Two annotations of a pod say when its containers do: `korder.dev/runs-for: 90m` with exit
code 0, `korder.dev/fails-after: 30s` with exit code 1; with both, whichever comes first. What follows is the restart policy's, as on
a real node: the pod has succeeded or failed, or its containers are run again, at once the first time and after a run of ten minutes, and
otherwise after a pause that doubles from ten seconds to five minutes. `kubelet` asks. All is counted from what the pod's status says, so a
kubelet that has lost its memory goes on where it was.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from kubeloop.objects import core, duration
from kubeloop.objects.core import Pod
from kubeloop.objects.duration import Duration, InvalidDuration
from pocketkube.nodes import pod_status

RUNS_FOR, FAILS_AFTER = "korder.dev/runs-for", "korder.dev/fails-after"
_CODES = {FAILS_AFTER: 1, RUNS_FOR: 0}
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(minutes=5)
STEADY = timedelta(minutes=10)
"""A run of this length lets earlier ends be forgotten."""
_MOST_DOUBLINGS = 5


class Ending(NamedTuple):
    """After which time containers end, and with which exit code."""

    after: timedelta
    code: int


def complaints(pod: Pod) -> tuple[str, ...]:
    """What is wrong with the annotations, in sentences; one that is wrong counts as not there."""
    found = (_read(pod, name) for name in _CODES)
    return tuple(each for each in found if isinstance(each, str))


def runs(pod: Pod) -> bool:
    """Whether the pod's containers run, as far as its status tells."""
    return all(each.state.waiting is None for each in pod.status.container_statuses)


def news(pod: Pod, now: datetime) -> tuple[pod_status.State | None, datetime | None]:
    """What has happened to a pod that was started and is not over, and when something will."""
    ending = _ending(pod)
    container = next(iter(pod.status.container_statuses), None)
    if ending is None or container is None:
        return None, None
    began = container.state.running.started_at if container.state.running is not None else None
    if began is not None:
        due = began + ending.after
        return (_after_run(pod, ending.code, began, now), None) if now >= due else (None, due)
    last = container.last_state.terminated
    if last is None or last.finished_at is None or last.started_at is None:
        return None, None
    due = last.finished_at + _pause(container.restart_count, last.finished_at - last.started_at)
    if now < due:
        return None, due
    exit_ = pod_status.exit_of(last.exit_code, last.started_at, last.finished_at)
    return pod_status.restarted(pod, exit_, now), None


def _after_run(pod: Pod, code: int, began: datetime, now: datetime) -> pod_status.State:
    exit_ = pod_status.exit_of(code, began, now)
    policy = pod.spec.restart_policy or core.ALWAYS
    if policy == "Never" or (policy == "OnFailure" and not code):
        return pod_status.ended(pod, exit_, now, well=not code)
    restarts = max(each.restart_count for each in pod.status.container_statuses)
    pause = _pause(restarts, now - began)
    if not pause:
        return pod_status.restarted(pod, exit_, now)
    stated = str(Duration(int(pause.total_seconds()) * duration.SECOND))
    return pod_status.waiting(pod, exit_, stated, now)


def _pause(restarts: int, ran: timedelta) -> timedelta:
    if not restarts or ran >= STEADY:
        return timedelta()
    return min(FIRST_PAUSE * (1 << min(restarts - 1, _MOST_DOUBLINGS)), LONGEST_PAUSE)


def _ending(pod: Pod) -> Ending | None:
    if pod.metadata.annotations.keys().isdisjoint(_CODES):
        return None
    endings = ((_read(pod, name), code) for name, code in _CODES.items())
    found = [Ending(after, code) for after, code in endings if isinstance(after, timedelta)]
    return min(found, key=lambda ending: ending.after, default=None)


def _read(pod: Pod, name: str) -> timedelta | str | None:
    """The time an annotation says, or why it says none."""
    text = pod.metadata.annotations.get(name)
    if text is None:
        return None
    try:
        length = duration.parse(text).timedelta
    except InvalidDuration as error:
        return f"annotation {name}: {error}; the pod runs on without it"
    if length <= timedelta():
        return (
            f"annotation {name}: {text!r} is not above zero, allowed is a duration such as 90m or"
            " 1h30m; the pod runs on without it"
        )
    return length
