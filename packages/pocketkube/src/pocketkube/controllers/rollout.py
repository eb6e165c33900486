"""How a Deployment moves from one ReplicaSet to the next: pure rules.

`deployments` asks how large each ReplicaSet shall be now and what to say about it. Where Kubernetes counts what ReplicaSets were
told to have, this also counts what they still report: a pod that is not told to end yet keeps its place in the surge, so the
number of running pods never exceeds it, not even for the moment between two controllers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
import math

import msgspec

from kubeloop.objects import core
from kubeloop.objects.workloads import (
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
    IntOrString,
    ReplicaSet,
    RollingUpdate,
)

RECREATE = "Recreate"
DEFAULT_DEADLINE = 600
_QUARTER = "25%"


@dataclass(frozen=True, slots=True)
class Sets:
    """The ReplicaSets of a Deployment: the one of its present template, and those of earlier ones, oldest first."""

    new: ReplicaSet | None
    old: tuple[ReplicaSet, ...] = ()

    @property
    def every(self) -> tuple[ReplicaSet, ...]:
        return (*self.old, self.new) if self.new is not None else self.old


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many pods there may be at most, and must be available at least."""

    most: int
    least: int


def amount(value: IntOrString | None, default: IntOrString, of: int, *, up: bool) -> int:
    """Reads a count or a percentage of `of`."""
    chosen = default if value is None else value
    if isinstance(chosen, int):
        return chosen
    share = int(chosen.removesuffix("%")) * of / 100
    return math.ceil(share) if up else math.floor(share)


def bounds(deployment: Deployment) -> Bounds:
    """Reads maxSurge, rounded up, and maxUnavailable, rounded down; both zero would stand still, so one may be missing."""
    spec = deployment.spec
    if spec.strategy.type == RECREATE:
        return Bounds(spec.replicas, spec.replicas)
    rolling = spec.strategy.rolling_update or RollingUpdate()
    surge = amount(rolling.max_surge, _QUARTER, spec.replicas, up=True)
    missing = amount(rolling.max_unavailable, _QUARTER, spec.replicas, up=False)
    if not surge and not missing:
        missing = 1
    return Bounds(spec.replicas + surge, max(spec.replicas - missing, 0))


def sizes(deployment: Deployment, sets: Sets, *, old_pods_left: bool) -> Mapping[str, int]:
    """Says which ReplicaSets change their size now, by name; the new one must exist unless the Deployment is paused."""
    wanted = deployment.spec.replicas
    if deployment.spec.paused:
        return _paused_sizes(wanted, sets)
    new = sets.new
    if new is None:
        return {}
    if deployment.spec.strategy.type == RECREATE:
        shrunk = {each.metadata.name: 0 for each in sets.old if each.spec.replicas}
        if shrunk or old_pods_left or new.spec.replicas == wanted:
            return shrunk
        return {new.metadata.name: wanted}
    limits = bounds(deployment)
    grown = _new_size(wanted, limits.most, new, sets.old)
    if grown != new.spec.replicas:
        return {new.metadata.name: grown}
    return _old_sizes(limits.least, new, sets.old)


def _paused_sizes(wanted: int, sets: Sets) -> Mapping[str, int]:
    """A paused Deployment follows its replicas only while there is no doubt which ReplicaSet is meant."""
    active = [each for each in sets.every if each.spec.replicas] or list(sets.every[-1:])
    if len(active) != 1 or active[0].spec.replicas == wanted:
        return {}
    return {active[0].metadata.name: wanted}


def _new_size(wanted: int, most: int, new: ReplicaSet, old: Iterable[ReplicaSet]) -> int:
    if new.spec.replicas >= wanted:
        return wanted
    present = sum(max(each.spec.replicas, each.status.replicas) for each in (*old, new))
    room = max(most - present, 0)
    return min(new.spec.replicas + room, wanted)


def _old_sizes(least: int, new: ReplicaSet, old: Sequence[ReplicaSet]) -> Mapping[str, int]:
    """Takes pods from the old: first those that do not serve anyway, then as many as may be missing."""
    stated = sum(each.spec.replicas for each in (*old, new))
    starting = new.spec.replicas - _available(new)
    left = stated - least - starting
    shrunk: dict[str, int] = {}
    for each in old:
        useless = min(each.spec.replicas - _available(each), left)
        if useless > 0:
            shrunk[each.metadata.name] = each.spec.replicas - useless
            left -= useless
    spare = sum(map(_available, (*old, new))) - least
    for each in old:
        size = shrunk.get(each.metadata.name, each.spec.replicas)
        fewer = min(size, spare)
        if fewer > 0:
            shrunk[each.metadata.name] = size - fewer
            spare -= fewer
    return shrunk


def _available(each: ReplicaSet) -> int:
    """What will serve when the ReplicaSet has the size it was told, however old its report is."""
    return min(each.status.available_replicas, each.spec.replicas)


def status_of(
    deployment: Deployment, sets: Sets, collisions: int, now: datetime
) -> DeploymentStatus:
    """Counts the pods of a Deployment and says how it does."""
    every, had = sets.every, deployment.status
    available = sum(each.status.available_replicas for each in every)
    stated = sum(each.spec.replicas for each in every)
    counted = DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(each.status.replicas for each in every),
        updated_replicas=sets.new.status.replicas if sets.new is not None else 0,
        ready_replicas=sum(each.status.ready_replicas for each in every),
        available_replicas=available,
        unavailable_replicas=max(stated - available, 0),
        collision_count=collisions or None,
        conditions=had.conditions,
    )
    if available >= bounds(deployment).least:
        enough = _condition(
            "Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
        )
    else:
        enough = _condition(
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    conditions = had.conditions
    for fresh in (enough, _progress(deployment, sets, counted, now)):
        conditions = _set(
            conditions, fresh, now, moved=fresh.type == "Progressing" and _moved(had, counted)
        )
    return msgspec.structs.replace(counted, conditions=conditions)


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Says whether all pods, and no others, are of the present template and available."""
    wanted = deployment.spec.replicas
    return status.updated_replicas == status.replicas == status.available_replicas == wanted


def overdue_at(deployment: Deployment, status: DeploymentStatus) -> datetime | None:
    """When the rollout counts as stuck, unless something moves before."""
    progress = next((each for each in status.conditions if each.type == "Progressing"), None)
    if progress is None or progress.last_update_time is None or deployment.spec.paused:
        return None
    if is_complete(deployment, status) or progress.status == "False":
        return None
    seconds = deployment.spec.progress_deadline_seconds
    patience = DEFAULT_DEADLINE if seconds is None else seconds
    return progress.last_update_time + timedelta(seconds=patience)


def _progress(
    deployment: Deployment, sets: Sets, counted: DeploymentStatus, now: datetime
) -> DeploymentCondition:
    name = sets.new.metadata.name if sets.new is not None else deployment.metadata.name
    had = core.reported(deployment.status.conditions, "Progressing")
    if deployment.spec.paused:
        return _condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused")
    if sets.new is not None and is_complete(deployment, counted):
        return _condition(
            "Progressing",
            "True",
            "NewReplicaSetAvailable",
            f'ReplicaSet "{name}" has successfully progressed.',
        )
    late = overdue_at(deployment, deployment.status)
    stuck = had is not None and had.reason == "ProgressDeadlineExceeded"
    if not _moved(deployment.status, counted) and (stuck or (late is not None and late <= now)):
        return _condition(
            "Progressing",
            "False",
            "ProgressDeadlineExceeded",
            f'ReplicaSet "{name}" has timed out progressing.',
        )
    return _condition(
        "Progressing", "True", "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.'
    )


def _moved(had: DeploymentStatus, has: DeploymentStatus) -> bool:
    """Says whether the rollout came nearer to its end, or has a new one."""
    return (
        has.observed_generation != had.observed_generation
        or has.updated_replicas > had.updated_replicas
        or has.replicas - has.updated_replicas < had.replicas - had.updated_replicas
        or has.ready_replicas > had.ready_replicas
        or has.available_replicas > had.available_replicas
    )


def _condition(kind: str, status: str, reason: str, message: str) -> DeploymentCondition:
    return DeploymentCondition(type=kind, status=status, reason=reason, message=message)


def _set(
    conditions: tuple[DeploymentCondition, ...],
    fresh: DeploymentCondition,
    now: datetime,
    *,
    moved: bool,
) -> tuple[DeploymentCondition, ...]:
    second = now.replace(microsecond=0)
    old = next((each for each in conditions if each.type == fresh.type), None)
    if old is None:
        made = msgspec.structs.replace(fresh, last_transition_time=second, last_update_time=second)
        return (*conditions, made)
    same = old.status == fresh.status
    still = same and old.reason == fresh.reason and not moved
    made = msgspec.structs.replace(
        fresh,
        last_transition_time=old.last_transition_time if same else second,
        last_update_time=old.last_update_time if still else second,
    )
    return tuple(made if each.type == fresh.type else each for each in conditions)
