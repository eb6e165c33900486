"""The built-in kinds korder reads, cut down to the fields it uses.

Informers decode to these types, rules and actors read them, `pod_requests` and `scheduling` answer questions about them.
Words that a newer server may extend (phases, effects, operators) are plain strings: one unknown word must not make a
list of ten thousand objects unreadable. Where a pod is to be made from a template the whole JSON is kept instead, since
these types forget what they do not name.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from kubeloop.objects.codec import Raw
from kubeloop.objects.meta import Base, Kind, Object, ObjectMeta
from kubeloop.objects.selector import LabelSelector

Amount = str | int | float
"""A quantity as it stands on the wire; `resources.parse_list` makes numbers of a whole list."""

ALWAYS = "Always"
"""The restart policy that turns an init container into a sidecar."""

FINISHED_PHASES = frozenset({"Succeeded", "Failed"})


class ReportedCondition(Base):
    """A condition as others report it; servers store any text as status of a built-in object, so any is read."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class ResourceRequirements(Base):
    """What a container, or a whole pod, asks for and may use at most."""

    requests: Mapping[str, Amount] = {}
    limits: Mapping[str, Amount] = {}


class ContainerPort(Base):
    """A port of a container; `host_port` is 0 unless it takes one of the node's."""

    name: str = ""
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Base):
    """One container; `restart_policy` is set only on init containers that stay (sidecars)."""

    name: str = ""
    image: str = ""
    restart_policy: str | None = None
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()


class NodeSelectorRequirement(Base):
    """A condition on one label or field of a node."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Base):
    """Requirements that must all hold; without any it matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Base):
    """Terms of which one must hold; without any it matches no node."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Base):
    """A term that makes a node better by `weight`."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Base):
    """Where a pod must and would like to run, by properties of nodes."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Base):
    """Affinity to nodes, and to other pods as it came."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: Raw = None
    pod_anti_affinity: Raw = None


class Toleration(Base):
    """Leave to run on a node in spite of a taint."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Base):
    """How evenly pods are to be spread over the values of a node label."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class ClaimVolume(Base):
    """Storage that was claimed by name."""

    claim_name: str = ""


class Volume(Base):
    """Files of a pod, as far as they come from claims; `ephemeral` stands for a claim named after pod and volume."""

    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: Raw = None


class SchedulingGate(Base):
    """The name of somebody who must agree before the pod is scheduled."""

    name: str = ""


class PodSpec(Base):
    """What a pod wants of a node, and how it ends."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: Mapping[str, Amount] = {}
    node_name: str = ""
    node_selector: Mapping[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    scheduler_name: str = ""
    service_account_name: str = ""
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    host_network: bool = False
    volumes: tuple[Volume, ...] = ()


class ContainerStateWaiting(Base):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(Base):
    """Since when a container runs."""

    started_at: datetime | None = None


class ContainerStateTerminated(Base):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerState(Base):
    """Exactly one of the three."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Base):
    """What the kubelet says of a container; `resources` are in force, `allocated_resources` are promised."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    started: bool | None = None
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    resources: ResourceRequirements | None = None
    allocated_resources: Mapping[str, Amount] = {}


class PodStatus(Base):
    """How far a pod has come; `resources` and `allocated_resources` are those of the pod as a whole."""

    observed_generation: int = 0
    phase: str = ""
    conditions: tuple[ReportedCondition, ...] = ()
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    host_ip: str = msgspec.field(default="", name="hostIP")
    pod_ip: str = msgspec.field(default="", name="podIP")
    start_time: datetime | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Mapping[str, Amount] = {}


class Pod(Object):
    """Containers that live and die together on one node."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplate(Base):
    """The typed view of a template that is kept as JSON."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class Taint(Base):
    """What keeps pods off a node unless they tolerate it."""

    key: str
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class NodeSpec(Base):
    """What administrators and controllers say about a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    pod_cidr: str = msgspec.field(default="", name="podCIDR")
    provider_id: str = msgspec.field(default="", name="providerID")


class NodeAddress(Base):
    """One way to reach a node."""

    type: str = ""
    address: str = ""


class NodeSystemInfo(Base):
    """What runs on the node itself."""

    architecture: str = ""
    operating_system: str = ""
    kernel_version: str = ""
    kubelet_version: str = ""
    container_runtime_version: str = ""


class NodeStatus(Base):
    """What a node offers and how it is."""

    capacity: Mapping[str, Amount] = {}
    allocatable: Mapping[str, Amount] = {}
    conditions: tuple[ReportedCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(Object):
    """A machine that runs pods."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class NamespaceStatus(Base):
    """`Active` or `Terminating`."""

    phase: str = ""


class Namespace(Object):
    """A room for names."""

    status: NamespaceStatus = NamespaceStatus()


class Secret(Object):
    """Bytes that must not be shown; its representation does not show them."""

    type: str = ""
    data: Mapping[str, bytes] = {}

    def __repr__(self) -> str:
        return f"Secret({self.metadata.namespace}/{self.metadata.name}, keys={sorted(self.data)})"


class ConfigMap(Object):
    """Text by name."""

    data: Mapping[str, str] = {}


class ServiceAccount(Object):
    """Who a pod is to the API server."""


class ObjectReference(Base):
    """Which object something is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class EventSeries(Base):
    """How often an Event was repeated, and when last."""

    count: int = 0
    last_observed_time: datetime | None = None


class Event(Object):
    """A note for people about an object (events.k8s.io); its instants are written with `instant.render_micro`."""

    event_time: datetime | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""


class LeaseSpec(Base):
    """Who holds a lease and until when; its instants are written with `instant.render_micro`."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(Object):
    """A lock with an end: leaders and nodes keep theirs alive."""

    spec: LeaseSpec = LeaseSpec()


PODS: Kind[Pod] = Kind("", "v1", "Pod", "pods", Pod)
NODES: Kind[Node] = Kind("", "v1", "Node", "nodes", Node, namespaced=False)
NAMESPACES: Kind[Namespace] = Kind("", "v1", "Namespace", "namespaces", Namespace, namespaced=False)
SECRETS: Kind[Secret] = Kind("", "v1", "Secret", "secrets", Secret)
CONFIG_MAPS: Kind[ConfigMap] = Kind("", "v1", "ConfigMap", "configmaps", ConfigMap)
SERVICE_ACCOUNTS: Kind[ServiceAccount] = Kind(
    "", "v1", "ServiceAccount", "serviceaccounts", ServiceAccount
)
EVENTS: Kind[Event] = Kind("events.k8s.io", "v1", "Event", "events", Event)
LEASES: Kind[Lease] = Kind("coordination.k8s.io", "v1", "Lease", "leases", Lease)


def is_finished(pod: Pod) -> bool:
    """Says whether a pod has ended for good and gives its room back, though the object is still there."""
    return pod.status.phase in FINISHED_PHASES


def is_sidecar(container: Container) -> bool:
    """Says whether an init container keeps running beside the ordinary ones."""
    return container.restart_policy == ALWAYS


def reported(conditions: Iterable[ReportedCondition], kind: str) -> ReportedCondition | None:
    """Finds the condition of this type."""
    return next((condition for condition in conditions if condition.type == kind), None)


def is_ready(subject: Node | Pod) -> bool:
    """Says whether the kubelet reports that the node can run pods, or that the pod serves."""
    ready = reported(subject.status.conditions, "Ready")
    return ready is not None and ready.status == "True"
