"""Workloads at rest: as many pods as wanted, all of them serving, and a status that says so.

Pods that no node can take, or whose node is lost, excuse their owner; whether they really have to wait is judged by `waiting`. A quota
in the namespace can refuse pods, so nothing is promised there.
"""

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import HasMetadata, Kind, owned_by
from kubeloop.objects.workloads import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    REPLICA_SETS,
    STATEFUL_SETS,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    StatefulSet,
)
from pocketkube.simulation.auditing import facts
from pocketkube.simulation.auditing.invariant import Broken, Invariant, Kinds
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Subject
from pocketkube.simulation.invariants.waiting import A_MOMENT

T = TypeVar("T", bound=HasMetadata)
Counts = dict[str, tuple[int, int]]
"""By name, what is and what should be."""


class _PodTracker(NamedTuple):
    """The active pods of an owner."""

    pods: list[Pod]
    ready: int

    @property
    def whole(self) -> bool:
        return self.ready == len(self.pods)


def _tracker(view: View, *uids: str) -> _PodTracker:
    pods = [
        pod
        for uid in uids
        for pod in view.owned(PODS, uid)
        if owned_by(pod, uid) and facts.is_active(pod)
    ]
    return _PodTracker(pods, sum(map(facts.is_ready, pods)))


def _moves(view: View, uid: str) -> bool:
    """Whether something below an owner has just changed, as containers do that end again and again."""
    for child in view.children(uid):
        obj = view.object(child)
        if view.quiet_for(child) < A_MOMENT or (obj is not None and _moves(view, obj.metadata.uid)):
            return True
    return False


class _Settled(Invariant, Generic[T]):
    """Compares the counts of all owners of one kind that are to stay."""

    @property
    def owners(self) -> Kind[T]:
        raise NotImplementedError

    @property
    def reads(self) -> Kinds:
        return (PODS, self.owners)

    def counts(self, owner: T, view: View) -> Counts:
        """What can be compared for this owner."""
        raise NotImplementedError

    def at_rest(self, view: View) -> Iterable[Broken]:
        limited = {s.namespace for s, _ in view.everything() if s.resource == "resourcequotas"}
        for owner in view.of(self.owners).all():
            meta = owner.metadata
            if meta.deletion_timestamp is not None or meta.namespace in limited:
                continue
            if _moves(view, meta.uid):
                continue
            wrong = [
                f"{what} is {found} instead of {right}"
                for what, (found, right) in self.counts(owner, view).items()
                if found != right
            ]
            if wrong:
                about = Subject(str(self.owners), meta.namespace, meta.name)
                yield Broken("; ".join(wrong), (about,))


class ReplicaSetsSettle(_Settled[ReplicaSet]):
    """However many of its pods have to wait, a ReplicaSet has made them and counts them."""

    name = "replicasets-settle"
    promise = "At rest a ReplicaSet has as many pods as it wants, and its status counts them."
    owners = REPLICA_SETS

    def counts(self, owner: ReplicaSet, view: View) -> Counts:
        tracker, status = _tracker(view, owner.metadata.uid), owner.status
        return {
            "the number of its pods": (len(tracker.pods), owner.spec.replicas),
            "status.replicas": (status.replicas, len(tracker.pods)),
            "status.readyReplicas": (status.ready_replicas, tracker.ready),
            "status.availableReplicas": (status.available_replicas, tracker.ready),
            "status.observedGeneration": (status.observed_generation, owner.metadata.generation),
        }


class DeploymentsSettle(_Settled[Deployment]):
    """A rollout that has to wait for room stops where it is; so does one that is paused."""

    name = "deployments-settle"
    promise = "At rest a Deployment has as many available pods as it wants, all of its present template, unless some have to wait."
    owners = DEPLOYMENTS

    @property
    def reads(self) -> Kinds:
        return (PODS, REPLICA_SETS, DEPLOYMENTS)

    def counts(self, owner: Deployment, view: View) -> Counts:
        meta, status, wanted = owner.metadata, owner.status, owner.spec.replicas
        seen = {"status.observedGeneration": (status.observed_generation, meta.generation)}
        sets = view.owned(REPLICA_SETS, meta.uid)
        tracker = _tracker(view, *(each.metadata.uid for each in sets))
        if owner.spec.paused or not tracker.whole:
            return seen
        return {
            "the number of its pods": (len(tracker.pods), wanted),
            "status.replicas": (status.replicas, wanted),
            "status.updatedReplicas": (status.updated_replicas, wanted),
            "status.availableReplicas": (status.available_replicas, wanted),
            **seen,
        }


class StatefulSetsSettle(_Settled[StatefulSet]):
    """In order, one pod that has to wait holds up all that follow."""

    name = "statefulsets-settle"
    promise = "At rest a StatefulSet has as many ready pods as it wants, unless one has to wait."
    owners = STATEFUL_SETS

    def counts(self, owner: StatefulSet, view: View) -> Counts:
        tracker, status, wanted = (
            _tracker(view, owner.metadata.uid),
            owner.status,
            owner.spec.replicas,
        )
        seen = {
            "status.observedGeneration": (status.observed_generation, owner.metadata.generation),
            "status.readyReplicas": (status.ready_replicas, tracker.ready),
        }
        return (
            {"the number of its pods": (len(tracker.pods), wanted), **seen}
            if tracker.whole
            else seen
        )


class DaemonSetsSettle(_Settled[DaemonSet]):
    """Which nodes it wants is its own affair."""

    name = "daemonsets-settle"
    promise = "At rest a DaemonSet has a ready pod on every node it wants, unless one has to wait."
    owners = DAEMON_SETS

    def counts(self, owner: DaemonSet, view: View) -> Counts:
        tracker, status = _tracker(view, owner.metadata.uid), owner.status
        seen = {
            "status.observedGeneration": (status.observed_generation, owner.metadata.generation)
        }
        if not tracker.whole:
            return seen
        return {
            "status.currentNumberScheduled": (
                status.current_number_scheduled,
                status.desired_number_scheduled,
            ),
            "status.numberReady": (status.number_ready, status.desired_number_scheduled),
            **seen,
        }


class JobsSettle(_Settled[Job]):
    """Pods that go on running are fine: how long they take is theirs to say."""

    name = "jobs-settle"
    promise = (
        "At rest a Job has counted all pods that have ended, and has none that run once it is over."
    )
    owners = JOBS

    def counts(self, owner: Job, view: View) -> Counts:
        tracker, noted = _tracker(view, owner.metadata.uid), owner.status.uncounted_terminated_pods
        pods = len(tracker.pods)
        return {
            "the number of its pods": (pods, 0 if facts.is_over(owner) else pods),
            "status.active": (owner.status.active, pods),
            "the number of uncounted pods": (
                len((*noted.succeeded, *noted.failed)) if noted is not None else 0,
                0,
            ),
        }
