"""Pods from templates, and what their owners ask of them: pure rules that all workload controllers share.

Names are drawn from the owner's UID and a counter, the lowest free one first, and not from chance as `generateName` does: a
create whose answer was lost, or that the cache does not show yet, is then repeated under the same name and meets the first one
instead of making a second pod. The price is that a name may come back once its pod is wholly gone; UIDs tell the two apart.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
import hashlib
from itertools import count, islice
from typing import NamedTuple, cast

import msgspec

from kubeloop.objects import codec, core
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON, Base, HasMetadata, Kind, T, key_of, owner_reference
from kubeloop.objects.plan import Delete, Patch

_SAFE = "bcdfghjklmnpqrstvwxz2456789"
"""Letters and digits that cannot form words."""

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_LONGEST_PREFIX = 57


def digest(text: str, length: int) -> str:
    """A short name for a text, always the same."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest())
    letters = []
    for _ in range(length):
        number, rest = divmod(number, len(_SAFE))
        letters.append(_SAFE[rest])
    return "".join(letters)


def template_hash(template: Mapping[str, JSON], collisions: int = 0) -> str:
    """Tells templates apart; `collisions` leads around a name that somebody else has taken."""
    text = msgspec.json.encode(bare(template), order="deterministic").decode()
    return digest(f"{text}/{collisions}", 10)


def bare(template: Mapping[str, JSON], *without_labels: str) -> dict[str, JSON]:
    """A template for comparison: without what servers add to its metadata and without these labels."""
    meta = dict(cast("Mapping[str, JSON]", template.get("metadata") or {}))
    meta.pop("creationTimestamp", None)
    labels = {k: v for k, v in labels_of(template).items() if k not in without_labels}
    return {**template, "metadata": {**meta, "labels": cast("JSON", labels)}}


def labels_of(template: Mapping[str, JSON]) -> dict[str, str]:
    """The labels that all pods of a template carry."""
    meta = cast("Mapping[str, JSON]", template.get("metadata") or {})
    return dict(cast("Mapping[str, str]", meta.get("labels") or {}))


def fresh_names(
    prefix: str, seed: str, taken: Callable[[str], bool], wanted: int
) -> tuple[str, ...]:
    """The first names of a series, which `seed` decides, that nobody has."""

    def series() -> Iterator[str]:
        seen: set[str] = set()
        for number in count():
            name = f"{prefix[:_LONGEST_PREFIX]}-{digest(f'{seed}/{number}', 5)}"
            if name not in seen and not taken(name):
                yield name
            seen.add(name)

    return tuple(islice(series(), wanted))


def pod_from(
    template: Mapping[str, JSON],
    kind: Kind[T],
    owner: T,
    name: str,
    labels: Mapping[str, str] | None = None,
) -> dict[str, JSON]:
    """The pod that a template describes, under this name and owner."""
    meta = cast("Mapping[str, JSON]", template.get("metadata") or {})
    said = {part: meta[part] for part in ("annotations", "finalizers") if meta.get(part)}
    return {
        "metadata": {
            **said,
            "name": name,
            "namespace": owner.metadata.namespace,
            "labels": cast("JSON", {**labels_of(template), **(labels or {})}),
            "ownerReferences": [codec.plain(owner_reference(kind, owner))],
        },
        "spec": template.get("spec") or {},
    }


def is_active(pod: Pod) -> bool:
    """Says whether a pod runs or will run: it has neither ended nor been told to."""
    return not core.is_finished(pod) and pod.metadata.deletion_timestamp is None


def is_ready(pod: Pod) -> bool:
    """Says whether the pod's kubelet reports that it serves."""
    ready = core.reported(pod.status.conditions, "Ready")
    return ready is not None and ready.status == "True"


def available_from(pod: Pod, min_ready_seconds: int) -> datetime | None:
    """When the pod has been, or will have been, ready for long enough; None while it is not ready."""
    ready = core.reported(pod.status.conditions, "Ready")
    if ready is None or ready.status != "True":
        return None
    since = ready.last_transition_time or pod.metadata.creation_timestamp
    return None if since is None else since + timedelta(seconds=min_ready_seconds)


class Readiness(NamedTuple):
    """How many pods serve, how many have done so for long enough, and when the next one will have."""

    ready: int
    available: int
    next_at: datetime | None


def readiness(pods: Iterable[Pod], min_ready_seconds: int, now: datetime) -> Readiness:
    """Counts the pods that serve; without a minimum each of them is available at once, whatever the clocks say."""
    pods = [pod for pod in pods if is_ready(pod)]
    if not min_ready_seconds:
        return Readiness(len(pods), len(pods), None)
    moments = [available_from(pod, min_ready_seconds) for pod in pods]
    later = [at for at in moments if at is not None and at > now]
    early = sum(at is not None and at <= now for at in moments)
    return Readiness(len(pods), early, min(later, default=None))


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Says whether the pod has been ready for long enough."""
    return readiness((pod,), min_ready_seconds, now).available == 1


def by_worth(pods: Iterable[Pod]) -> list[Pod]:
    """Orders pods by how little is lost with them: unbound, pending, not ready, cheap, crowded, young ones first."""
    pods = tuple(pods)
    crowd: dict[str, int] = {}
    for pod in pods:
        crowd[pod.spec.node_name] = crowd.get(pod.spec.node_name, 0) + 1
    return sorted(pods, key=lambda pod: _worth(pod, crowd[pod.spec.node_name]))


def _worth(pod: Pod, neighbours: int) -> tuple[object, ...]:
    ready = core.reported(pod.status.conditions, "Ready")
    serves = ready is not None and ready.status == "True"
    since = ready.last_transition_time if ready is not None and serves else None
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        serves,
        _cost(pod),
        -neighbours,
        -since.timestamp() if since is not None else 0.0,
        -sum(container.restart_count for container in pod.status.container_statuses),
        -pod.metadata.creation_timestamp.timestamp() if pod.metadata.creation_timestamp else 0.0,
        pod.metadata.name,
    )


def _cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


def report(kind: Kind[T], obj: T, had: Base, has: Base) -> tuple[Patch, ...]:
    """The step that writes a status, if there is something new to say; what became zero is taken away."""
    if has == had:
        return ()
    return (
        Patch(
            kind,
            key_of(obj),
            {"status": _explicit(has)},
            subresource="status",
            uid=obj.metadata.uid,
            resource_version=obj.metadata.resource_version,
        ),
    )


def _explicit(struct: Base) -> dict[str, JSON]:
    """A struct as a merge patch that leaves nothing of what was there before."""
    said = codec.plain(struct)
    members = {
        field.encode_name: getattr(struct, field.name) for field in msgspec.structs.fields(struct)
    }
    return {
        name: _explicit(member) if isinstance(member, Base) else said.get(name)
        for name, member in members.items()
    }


def change(kind: Kind[HasMetadata], obj: HasMetadata, body: JSON) -> Patch:
    """A change of exactly what was read."""
    meta = obj.metadata
    return Patch(kind, key_of(obj), body, uid=meta.uid, resource_version=meta.resource_version)


def end(kind: Kind[HasMetadata], obj: HasMetadata) -> Delete:
    """A deletion of exactly what was read.

    The version is asked for besides the UID because the runtime takes a conflict without one as proof that the object is gone.
    """
    meta = obj.metadata
    return Delete(kind, key_of(obj), meta.uid, resource_version=meta.resource_version)
