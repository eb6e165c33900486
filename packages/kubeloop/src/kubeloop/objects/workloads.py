"""Controllers that make pods: Deployment, ReplicaSet, StatefulSet, DaemonSet and Job.

The embedded actors run them, tests read their status. A template stays JSON because pods are made from all of it;
`template_of` gives the typed view for questions such as "where may its pods run".
"""

from collections.abc import Mapping
from datetime import datetime

from kubeloop.objects import codec
from kubeloop.objects.codec import Raw
from kubeloop.objects.core import PodTemplate, ReportedCondition
from kubeloop.objects.meta import JSON, Base, Kind, Object
from kubeloop.objects.selector import LabelSelector

IntOrString = int | str
"""A count, or a percentage such as "25%"."""


class RollingUpdate(Base):
    """How many pods more or less than wanted there may be while templates change."""

    max_surge: IntOrString | None = None
    max_unavailable: IntOrString | None = None
    partition: int | None = None


class UpdateStrategy(Base):
    """How pods follow a changed template; `type` is empty before the server has filled it in."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Base):
    """What a Deployment wants."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: Mapping[str, Raw] = {}
    strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    progress_deadline_seconds: int | None = None
    paused: bool = False


class DeploymentCondition(ReportedCondition):
    """A condition that also says when it last moved, by which a stuck rollout is known."""

    last_update_time: datetime | None = None


class DeploymentStatus(Base):
    """What a Deployment has."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    collision_count: int | None = None
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(Object):
    """Interchangeable pods, rolled from template to template."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ReplicaSetSpec(Base):
    """What a ReplicaSet wants."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: Mapping[str, Raw] = {}
    min_ready_seconds: int = 0


class ReplicaSetStatus(Base):
    """What a ReplicaSet has."""

    observed_generation: int = 0
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[ReportedCondition, ...] = ()


class ReplicaSet(Object):
    """So many pods of one template."""

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class Ordinals(Base):
    """Where the numbers of a StatefulSet's pods begin."""

    start: int = 0


class StatefulSetSpec(Base):
    """What a StatefulSet wants."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: Mapping[str, Raw] = {}
    service_name: str = ""
    pod_management_policy: str = ""
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    ordinals: Ordinals = Ordinals()


class StatefulSetStatus(Base):
    """What a StatefulSet has."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""


class StatefulSet(Object):
    """Pods with names that come back."""

    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetSpec(Base):
    """What a DaemonSet wants on each node."""

    selector: LabelSelector | None = None
    template: Mapping[str, Raw] = {}
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0


class DaemonSetStatus(Base):
    """On how many nodes a DaemonSet is."""

    observed_generation: int = 0
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    updated_number_scheduled: int = 0
    number_misscheduled: int = 0
    number_ready: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    collision_count: int | None = None
    conditions: tuple[ReportedCondition, ...] = ()


class DaemonSet(Object):
    """One pod on every node that suits it."""

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(Base):
    """What a Job runs and when it gives up."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool | None = None
    selector: LabelSelector | None = None
    template: Mapping[str, Raw] = {}


class UncountedPods(Base):
    """The UIDs of pods that have ended and are about to be counted."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Base):
    """How far a Job is."""

    active: int = 0
    ready: int | None = None
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None
    uncounted_terminated_pods: UncountedPods | None = None
    completed_indexes: str = ""
    start_time: datetime | None = None
    completion_time: datetime | None = None
    conditions: tuple[ReportedCondition, ...] = ()


class Job(Object):
    """Pods that run to their end."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


DEPLOYMENTS: Kind[Deployment] = Kind("apps", "v1", "Deployment", "deployments", Deployment)
REPLICA_SETS: Kind[ReplicaSet] = Kind("apps", "v1", "ReplicaSet", "replicasets", ReplicaSet)
STATEFUL_SETS: Kind[StatefulSet] = Kind("apps", "v1", "StatefulSet", "statefulsets", StatefulSet)
DAEMON_SETS: Kind[DaemonSet] = Kind("apps", "v1", "DaemonSet", "daemonsets", DaemonSet)
JOBS: Kind[Job] = Kind("batch", "v1", "Job", "jobs", Job)


def template_of(template: Mapping[str, JSON]) -> PodTemplate:
    """Reads the part of a pod template that korder has questions about."""
    return codec.convert(dict(template), PodTemplate)
