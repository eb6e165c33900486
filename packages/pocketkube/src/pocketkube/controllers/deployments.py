"""Deployments: ReplicaSets that follow one another, one per template, rolled by the rules in `rollout`.

A ReplicaSet is named after the hash of its template, so making it twice finds the first one; a name that somebody else has
leads to the next hash, counted in `collisionCount` as Kubernetes does. Resizing in the middle of a rollout is not spread over
all ReplicaSets in proportion: the new one takes what the bounds allow and the old ones give way.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

from kubeloop.client.client import Client
from kubeloop.objects import codec
from kubeloop.objects.core import PODS, Pod, is_finished
from kubeloop.objects.meta import JSON, Key, controller_of, owner_reference
from kubeloop.objects.plan import NOTHING, Create, Delete, Patch, Plan, Step
from kubeloop.objects.workloads import DEPLOYMENTS, REPLICA_SETS, Deployment, ReplicaSet
from kubeloop.runtime.manager import Manager
from kubeloop.runtime.store import by_owner
from pocketkube.controllers import pod_control, rollout
from pocketkube.controllers.adoption import BY_OWNER, Family
from pocketkube.controllers.rollout import Sets

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_NOT_INHERITED = frozenset({REVISION, "kubectl.kubernetes.io/last-applied-configuration"})
_USUAL_HISTORY = 10
_EVER = datetime.min.replace(tzinfo=UTC)


class Deployments:
    """Rolls all Deployments."""

    def __init__(self, manager: Manager, client: Client) -> None:
        self._family = Family(manager, client, DEPLOYMENTS, REPLICA_SETS, lambda d: d.spec.selector)
        self._pods = manager.informers.of(PODS)
        self._pods.add_index(BY_OWNER, by_owner)
        controller = manager.controller("deployments", self._reconcile)
        controller.follow(self._family.owners)
        controller.follow(self._family.children, self._family.parents)
        controller.follow(self._pods, self._recreated)

    def _recreated(self, pod: Pod) -> Iterable[Key]:
        """Deployments that wait until their old pods are gone."""
        parent = controller_of(pod)
        if parent is None or parent.kind != REPLICA_SETS.kind:
            return ()
        middle = self._family.children.reader.get(Key(pod.metadata.namespace, parent.name))
        if middle is None:
            return ()
        keys = self._family.parents(middle)
        found = ((key, self._family.owners.reader.get(key)) for key in keys)
        return [key for key, top in found if top and top.spec.strategy.type == rollout.RECREATE]

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        deployment = self._family.owners.reader.get(key)
        if deployment is None or deployment.metadata.deletion_timestamp is not None:
            return NOTHING
        children = await self._family.of(deployment)
        sets = sort(deployment, children.mine)
        collisions = deployment.status.collision_count or 0
        creation: tuple[Step, ...] = ()
        if sets.new is None and not deployment.spec.paused:
            made = replica_set(deployment, collisions, sets)
            if self._family.children.reader.get(Key(key.namespace, made[0])) is None:
                creation = (Create(REPLICA_SETS, made[1]),)
            else:
                collisions += 1
        plan = Plan().then(*children.claims)
        numbering = _revisions(deployment, sets)
        if numbering:
            # These are the objects that the other steps would change too; what they become brings the next turn.
            return plan.then(*numbering)
        status = rollout.status_of(deployment, sets, collisions, now)
        steps = (
            *creation,
            *self._resize(deployment, sets),
            *_forget(deployment, sets, complete=rollout.is_complete(deployment, status)),
            *pod_control.report(DEPLOYMENTS, deployment, deployment.status, status),
        )
        return plan.then(*steps).requeue(rollout.overdue_at(deployment, status))

    def _resize(self, deployment: Deployment, sets: Sets) -> Iterable[Step]:
        left = any(
            not is_finished(pod)
            for old in sets.old
            for pod in self._pods.reader.where(BY_OWNER, old.metadata.uid)
        )
        wanted = rollout.sizes(deployment, sets, old_pods_left=left)
        return [
            pod_control.change(
                REPLICA_SETS, each, {"spec": {"replicas": wanted[each.metadata.name]}}
            )
            for each in sets.every
            if each.metadata.name in wanted
        ]


def sort(deployment: Deployment, mine: Iterable[ReplicaSet]) -> Sets:
    """Finds the ReplicaSet of the present template, the oldest if there are several, and the earlier ones by age."""
    wanted = pod_control.bare(deployment.spec.template, HASH)
    by_age = sorted(
        mine, key=lambda each: (each.metadata.creation_timestamp or _EVER, each.metadata.name)
    )
    new = next((e for e in by_age if pod_control.bare(e.spec.template, HASH) == wanted), None)
    return Sets(new, tuple(each for each in by_age if each is not new))


def replica_set(deployment: Deployment, collisions: int, sets: Sets) -> tuple[str, dict[str, JSON]]:
    """The ReplicaSet of the present template, with no pods yet, and its name."""
    spec, meta = deployment.spec, deployment.metadata
    mark = pod_control.template_hash(spec.template, collisions)
    name = f"{meta.name}-{mark}"
    template_meta = cast("Mapping[str, JSON]", spec.template.get("metadata") or {})
    labels: dict[str, JSON] = {**pod_control.labels_of(spec.template), HASH: mark}
    selector = codec.plain(spec.selector) if spec.selector is not None else {}
    match_labels = {**cast("Mapping[str, JSON]", selector.get("matchLabels") or {}), HASH: mark}
    return name, {
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": labels,
            "annotations": {**_inherited(deployment), REVISION: str(_next_revision(sets))},
            "ownerReferences": [codec.plain(owner_reference(DEPLOYMENTS, deployment))],
        },
        "spec": {
            "replicas": 0,
            "minReadySeconds": spec.min_ready_seconds,
            "selector": {**selector, "matchLabels": match_labels},
            "template": {**spec.template, "metadata": {**template_meta, "labels": labels}},
        },
    }


def _inherited(deployment: Deployment) -> dict[str, JSON]:
    notes = deployment.metadata.annotations.items()
    return {name: note for name, note in notes if name not in _NOT_INHERITED}


def revision(each: ReplicaSet | Deployment) -> int:
    """Reads the number of a template in the history of its Deployment."""
    text = each.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def _next_revision(sets: Sets) -> int:
    return max(map(revision, sets.old), default=0) + 1


def _revisions(deployment: Deployment, sets: Sets) -> list[Patch]:
    """Makes the present template the latest of the history, and says so on the Deployment."""
    new = sets.new
    if new is None:
        return []
    number = max(_next_revision(sets), revision(new))
    notes = {**_inherited(deployment), REVISION: str(number)}
    spec: dict[str, JSON] = {}
    if new.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
        spec = {"spec": {"minReadySeconds": deployment.spec.min_ready_seconds}}
    steps = []
    if spec or not notes.items() <= new.metadata.annotations.items():
        steps.append(
            pod_control.change(REPLICA_SETS, new, {"metadata": {"annotations": notes}, **spec})
        )
    if revision(deployment) != number:
        note: JSON = {"metadata": {"annotations": {REVISION: str(number)}}}
        # Through the status, where a note makes no new generation.
        steps.append(
            replace(pod_control.change(DEPLOYMENTS, deployment, note), subresource="status")
        )
    return steps


def _forget(deployment: Deployment, sets: Sets, *, complete: bool) -> Iterable[Delete]:
    """Deletes the oldest templates that nothing runs of, beyond the history that is to be kept."""
    limit = deployment.spec.revision_history_limit
    idle = [
        each
        for each in sorted(sets.old, key=revision)
        if not each.spec.replicas
        and not each.status.replicas
        and each.status.observed_generation >= each.metadata.generation
        and each.metadata.deletion_timestamp is None
    ]
    excess = len(idle) - (_USUAL_HISTORY if limit is None else limit)
    if not complete or deployment.spec.paused or excess <= 0:
        return ()
    return [pod_control.end(REPLICA_SETS, each) for each in idle[:excess]]
