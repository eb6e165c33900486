"""StatefulSets: pods with numbers, made, ended and renewed in order.

What comes next is decided by the pure `next_steps`. A pod's revision is the hash of its template, kept as a label and not as a
ControllerRevision: a pod below the partition of a rolling update that gets lost comes back with the new template, and
`kubectl rollout undo` has no history to go back to. Volume claim templates are not played; pods get no volumes from them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import cast

import msgspec

from kubeloop.client.client import Client
from kubeloop.objects.core import PODS, Pod, is_finished
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import NOTHING, Create, Plan, Step
from kubeloop.objects.workloads import STATEFUL_SETS, StatefulSet, StatefulSetStatus
from kubeloop.runtime.manager import Manager
from pocketkube.controllers import pod_control
from pocketkube.controllers.adoption import Family

REVISION = "controller-revision-hash"
POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


class StatefulSets:
    """Keeps the pods of all StatefulSets."""

    def __init__(self, manager: Manager, client: Client) -> None:
        self._family = Family(manager, client, STATEFUL_SETS, PODS, lambda each: each.spec.selector)
        controller = manager.controller("statefulsets", self._reconcile)
        controller.follow(self._family.owners)
        controller.follow(self._family.children, self._family.parents)

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        owner = self._family.owners.reader.get(key)
        if owner is None or owner.metadata.deletion_timestamp is not None:
            return NOTHING
        children = await self._family.of(owner)
        numbered = by_number(owner, children.mine)
        readiness = pod_control.readiness(
            filter(pod_control.is_active, numbered.values()), owner.spec.min_ready_seconds, now
        )
        status = status_of(owner, numbered, readiness)
        steps = (
            *next_steps(owner, numbered, now),
            *pod_control.report(STATEFUL_SETS, owner, owner.status, status),
        )
        return Plan().then(*children.claims).then(*steps).requeue(readiness.next_at)


def by_number(owner: StatefulSet, pods: Iterable[Pod]) -> dict[int, Pod]:
    """Sorts the pods by the number at the end of their name; others have no place here."""
    found = {}
    for pod in pods:
        stem, _, number = pod.metadata.name.rpartition("-")
        if stem == owner.metadata.name and number.isdecimal():
            found[int(number)] = pod
    return dict(sorted(found.items()))


def update_revision(owner: StatefulSet) -> str:
    """Names the present template."""
    return f"{owner.metadata.name}-{pod_control.template_hash(owner.spec.template)}"


@dataclass(frozen=True, slots=True)
class _View:
    """What the rules ask about pods."""

    owner: StatefulSet
    now: datetime

    def settled(self, pod: Pod) -> bool:
        seconds = self.owner.spec.min_ready_seconds
        return pod_control.is_active(pod) and pod_control.is_available(pod, seconds, self.now)


def next_steps(owner: StatefulSet, pods: Mapping[int, Pod], now: datetime) -> list[Step]:
    """What may be done now: in order one thing at a time, in parallel all that does not depend on a template."""
    view = _View(owner, now)
    ordered = owner.spec.pod_management_policy != "Parallel"
    start = owner.spec.ordinals.start
    wanted = range(start, start + owner.spec.replicas)
    steps = _fill(view, pods, wanted)
    unsettled = any(n not in pods or not view.settled(pods[n]) for n in wanted)
    if ordered and (steps or unsettled):
        return steps[:1]
    steps += _shrink(pods, wanted, ordered=ordered)
    return steps or _renew(view, pods, wanted)


def _fill(view: _View, pods: Mapping[int, Pod], wanted: range) -> list[Step]:
    """Makes what is missing and clears away what has ended; in order, nothing above a pod that is not settled."""
    steps: list[Step] = []
    for number in wanted:
        pod = pods.get(number)
        if pod is None:
            steps.append(Create(PODS, pod_of(view.owner, number)))
        elif is_finished(pod) and pod.metadata.deletion_timestamp is None:
            steps.append(pod_control.end(PODS, pod))
        elif not view.settled(pod) and view.owner.spec.pod_management_policy != "Parallel":
            break
    return steps


def _shrink(pods: Mapping[int, Pod], wanted: range, *, ordered: bool) -> list[Step]:
    """Ends the pods that are too many, the highest number first."""
    excess = [
        pod
        for number, pod in sorted(pods.items(), key=itemgetter(0), reverse=True)
        if number not in wanted
    ]
    ending = any(pod.metadata.deletion_timestamp is not None for pod in excess)
    if ordered:
        excess = [] if ending else excess[:1]
    return [pod_control.end(PODS, pod) for pod in excess if pod.metadata.deletion_timestamp is None]


def _renew(view: _View, pods: Mapping[int, Pod], wanted: range) -> list[Step]:
    """Ends the highest pod of an old template, once all above it have settled."""
    strategy = view.owner.spec.update_strategy
    if strategy.type == "OnDelete":
        return []
    rolling = strategy.rolling_update
    partition = (rolling.partition or 0) if rolling is not None else 0
    latest = update_revision(view.owner)
    for number in reversed(wanted):
        pod = pods.get(number)
        if number < partition or pod is None or pod.metadata.deletion_timestamp is not None:
            break
        if pod.metadata.labels.get(REVISION) != latest:
            return [pod_control.end(PODS, pod)]
        if not view.settled(pod):
            break
    return []


def pod_of(owner: StatefulSet, number: int) -> dict[str, JSON]:
    """The pod with this number."""
    name = f"{owner.metadata.name}-{number}"
    labels = {REVISION: update_revision(owner), POD_NAME: name, POD_INDEX: str(number)}
    body = pod_control.pod_from(owner.spec.template, STATEFUL_SETS, owner, name, labels)
    spec = cast("Mapping[str, JSON]", body["spec"])
    return {**body, "spec": {**spec, "hostname": name, "subdomain": owner.spec.service_name}}


def status_of(
    owner: StatefulSet, pods: Mapping[int, Pod], readiness: pod_control.Readiness
) -> StatefulSetStatus:
    """Counts the pods of a StatefulSet; the update revision becomes the current one when no other is left."""
    latest = update_revision(owner)
    current = owner.status.current_revision or latest
    revisions = [pod.metadata.labels.get(REVISION) for pod in pods.values()]
    if revisions.count(latest) == len(revisions) == readiness.ready == owner.spec.replicas:
        current = latest
    return msgspec.structs.replace(
        owner.status,
        observed_generation=owner.metadata.generation,
        replicas=len(pods),
        ready_replicas=readiness.ready,
        available_replicas=readiness.available,
        current_replicas=revisions.count(current),
        updated_replicas=revisions.count(latest),
        current_revision=current,
        update_revision=latest,
    )
