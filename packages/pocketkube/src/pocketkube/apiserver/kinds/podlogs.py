"""What a container has written, as far as there is anything to show: nothing runs here, so there is the line of its start.

`serving.podpaths` answers `kubectl logs` with it. A kubelet of a real cluster refuses in the same words while a container
does not run yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pocketkube.apiserver import fielderrors, refusal

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wish:
    """Which part of the text is wanted."""

    container: str = ""
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    limit: int | None = None
    since: int | None = None
    since_time: str | None = None


def check(name: str, wish: Wish) -> None:
    """Refuses wishes that make no sense.

    Raises:
        Refused: 422.
    """
    causes = []
    if wish.tail is not None and wish.tail < 0:
        said = "must be greater than or equal to 0"
        causes.append(fielderrors.invalid("tailLines", wish.tail, said))
    if wish.limit is not None and wish.limit < 1:
        causes.append(fielderrors.invalid("limitBytes", wish.limit, "must be greater than 0"))
    if wish.since is not None and wish.since_time is not None:
        said = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(fielderrors.forbidden("", said))
    elif wish.since is not None and wish.since < 1:
        causes.append(fielderrors.invalid("sinceSeconds", wish.since, "must be greater than 0"))
    if causes:
        raise refusal.invalid("PodLogOptions", "", name, causes)


def text(pod: Values, wish: Wish) -> str | None:
    """What is shown; None as long as the pod has no node.

    Raises:
        Refused: 400, there is no such container or it has not begun.
    """
    name = pod["metadata"]["name"]
    container = _chosen(pod, wish.container)
    if not pod["spec"].get("nodeName"):
        return None
    begun = _begun(pod, container, previous=wish.previous)
    image = next((one.get("image", "") for one in _all(pod) if one.get("name") == container), "")
    line = f"container {container} of pod {name} started from image {image}\n"
    if wish.timestamps:
        line = f"{begun} {line}"
    if wish.tail == 0 or (wish.since_time is not None and begun < wish.since_time):
        return ""
    return line if wish.limit is None else line.encode()[: wish.limit].decode(errors="ignore")


def _all(pod: Values) -> list[Values]:
    spec = pod["spec"]
    return [
        one
        for kind in ("initContainers", "containers", "ephemeralContainers")
        for one in spec.get(kind) or ()
    ]


def _chosen(pod: Values, container: str) -> str:
    name = pod["metadata"]["name"]
    names = [one.get("name", "") for one in _all(pod)]
    if container:
        if container not in names:
            raise refusal.bad_request(f"container {container} is not valid for pod {name}")
        return container
    ordinary = list(pod["spec"].get("containers") or ())
    if len(ordinary) != 1:
        stated = (
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
        )
        raise refusal.bad_request(stated)
    return str(ordinary[0].get("name", ""))


def _begun(pod: Values, container: str, *, previous: bool) -> str:
    """When the container began."""
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    stated = f'container "{container}" in pod "{name}"'
    found = next(
        (
            one
            for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
            for one in status.get(kind) or ()
            if one.get("name") == container
        ),
        None,
    )
    if found is None:
        raise refusal.bad_request(f"{stated} is not available")
    state = found.get("lastState" if previous else "state") or {}
    ran = state.get("running") or state.get("terminated")
    if ran is None and previous:
        raise refusal.bad_request(f"previous terminated {stated} not found")
    if ran is None:
        reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
        raise refusal.bad_request(f"{stated} is waiting to start: {reason}")
    return str(ran.get("startedAt") or "")
