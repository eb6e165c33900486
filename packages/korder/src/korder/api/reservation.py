"""Reservations: room in some cluster for a while (`broker.fluidos.eu`).

Broker, agent and console read these types, `manifests` makes a CRD of them. The decision is written to the status and
never into the spec, which stays the user's. Attempts only grow and a final phase is final, while one that was pushed out
may wait again (`requeueOnPreempt`); CEL rules say so to every writer, because the ledger's safety rests on it. They
stand on the whole object: rules on the status would be silent whenever there was none before or is none now.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from korder.api.broker import GROUP, MAX_KEYS, VERSION, TaintEffect, in_status
from kubeloop.objects import core
from kubeloop.objects.meta import Base, Kind, Object
from kubeloop.objects.selector import LabelSelector
from kubeloop.schema import field_types
from kubeloop.schema.crd import AGE, Column, Definition
from kubeloop.schema.schema_types import SELECTS_SOMETHING, TOLERATION_RULES, Conditions, LabelKey
from kubeloop.schema.structural import Rule, doc

RESERVATION_FINALIZER = "reservation.broker.fluidos.eu/finalizer"


class ReservationCondition(StrEnum):
    """What is judged of a reservation."""

    PLACING = "Placing"
    HOLD_READY = "HoldReady"
    DIVISIBLE = "Divisible"
    RESOURCES_FREED = "ResourcesFreed"
    TARGET_REACHABLE = "TargetReachable"
    REQUESTER_ACTIVE = "RequesterActive"
    REQUESTER_RELEASED = "RequesterReleased"


class ReservationReason(StrEnum):
    """Why a reservation is where it is."""

    INSUFFICIENT_RESOURCES = "InsufficientResources"
    TARGET_NOT_FOUND = "TargetNotFound"
    TARGET_INACTIVE = "TargetInactive"
    INVALID = "Invalid"
    QUOTA_EXCEEDED = "QuotaExceeded"
    NEVER_ACTIVATED = "NeverActivated"
    EXPIRED = "Expired"
    DELETED = "Deleted"
    REQUESTER_RELEASED = "RequesterReleased"
    PREEMPTED = "Preempted"
    HOLD_FAILED = "HoldFailed"


class Rejection(StrEnum):
    """Why one cluster did not get a reservation."""

    STALE = "Stale"
    CORDONED = "Cordoned"
    INSUFFICIENT = "Insufficient"
    MISSING_RESOURCE = "MissingResource"
    SELECTOR_MISMATCH = "SelectorMismatch"
    EXCLUDED_SELF = "ExcludedSelf"
    QUOTA_EXCEEDED = "QuotaExceeded"
    FRAGMENTED = "Fragmented"
    LOST_RACE = "LostRace"


class ReservationPhase(StrEnum):
    """How far a reservation is; the last two are final."""

    PENDING = "Pending"
    RESERVED = "Reserved"
    ACTIVE = "Active"
    RELEASED = "Released"
    FAILED = "Failed"


class WhenInsufficient(StrEnum):
    """What happens when no cluster has room."""

    FAIL = "Fail"
    QUEUE = "Queue"


class OnTargetLost(StrEnum):
    """What happens when the chosen cluster stays silent."""

    KEEP = "Keep"
    REPLACE = "Replace"
    FAIL = "Fail"


class OnExpiry(StrEnum):
    """Whether the end of a reservation also ends its pods."""

    RELEASE = "Release"
    EVICT = "Evict"


class PreemptionPolicy(StrEnum):
    """Whether a reservation may push out lesser ones."""

    NEVER = "Never"
    LOWER_PRIORITY = "PreemptLowerPriority"


class Confirm(StrEnum):
    """What makes a reservation Reserved: the ledger, or guardians on nodes."""

    LEDGER = "Ledger"
    HELD = "Held"


class Profile(StrEnum):
    """How feasible clusters are ranked."""

    README = "readme"
    HEADROOM_AFTER = "headroom-after"
    PACK = "pack"
    COST = "cost"
    BALANCED = "balanced"
    CUSTOM = "custom"


class PodSet(Base):
    """Equal pods a reservation is for."""

    name: Annotated[field_types.Label, doc("What they are called.")]
    requests: Annotated[
        Mapping[str, field_types.PositiveQuantity],
        doc("What each asks for.", min_properties=1, max_properties=32),
    ]
    count: Annotated[int, doc("How many.", minimum=1, maximum=100000)] = 1
    node_selector: Annotated[Mapping[str, str], doc("Labels their nodes must have.")] = {}
    tolerations: Annotated[tuple[core.Toleration, ...], doc("Taints they bear.", max_items=64)] = ()


class TolerationOperator(StrEnum):
    """How a toleration compares a taint's value."""

    EXISTS = "Exists"
    EQUAL = "Equal"


class ClusterToleration(Base):
    """Leave to be in a cluster in spite of a taint."""

    RULES: ClassVar[tuple[Rule, ...]] = TOLERATION_RULES

    key: Annotated[LabelKey | None, doc("The taint's key; left out with Exists it means all.")] = (
        None
    )
    operator: Annotated[TolerationOperator, doc("How the value is compared.")] = (
        TolerationOperator.EQUAL
    )
    value: Annotated[str, doc("The taint's value.", max_length=63)] = ""
    effect: Annotated[TaintEffect | None, doc("The taint's effect; all if absent.")] = None


class Split(Base):
    """How a reservation may be spread over clusters."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.maxClusters >= self.minClusters",
            "maxClusters must not be less than minClusters",
            field=".maxClusters",
        ),
    )

    min_clusters: Annotated[int, doc("Over at least so many.", minimum=1, maximum=64)] = 1
    max_clusters: Annotated[int, doc("Over at most so many.", minimum=1, maximum=64)] = 1
    min_chunk: Annotated[
        Mapping[str, field_types.Quantity], doc("The least that each cluster gives.")
    ] = {}
    spread_by: Annotated[str, doc("The attribute whose values should differ.", max_length=317)] = ""


class Tier(Base):
    """Clusters that are tried before those of the next tier."""

    name: Annotated[field_types.Text, doc("What people call it.")]
    selector: Annotated[LabelSelector, doc("Attributes of its clusters.", SELECTS_SOMETHING)]


class ReservationSpec(Base):
    """What somebody wants to have reserved."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.pendingDeadline) || self.whenInsufficient == 'Queue'",
            "pendingDeadline must be used only with whenInsufficient Queue; otherwise nothing is pending",
            field=".pendingDeadline",
        ),
        Rule(
            "has(self.weights) == (self.profile == 'custom')",
            "weights must be given for profile custom, and only then",
            field=".weights",
        ),
    )

    requested_resources: Annotated[
        Mapping[str, field_types.PositiveQuantity],
        doc("How much, each more than zero.", min_properties=1, max_properties=32),
    ]
    duration: Annotated[
        field_types.PositiveDuration | None,
        doc("How long, from when it is Reserved; for ever if absent."),
    ] = None
    priority: Annotated[
        int, doc("The higher is served first.", minimum=-1000000000, maximum=1000000000)
    ] = 0
    requester_id: Annotated[str, doc("Who asks.", max_length=253)] = msgspec.field(
        default="", name="requesterID"
    )
    requester_cluster_id: Annotated[str, doc("From which cluster.", max_length=253)] = (
        msgspec.field(default="", name="requesterClusterID")
    )
    exclude_self: Annotated[bool, doc("Whether the requester's own cluster is left out.")] = True
    target_cluster_id: Annotated[str, doc("The one cluster to use.", max_length=253)] = (
        msgspec.field(default="", name="targetClusterID")
    )
    start_at: Annotated[field_types.Instant | None, doc("When it begins; at once if absent.")] = (
        None
    )
    when_insufficient: Annotated[WhenInsufficient, doc("Fail or wait when there is no room.")] = (
        WhenInsufficient.FAIL
    )
    pending_deadline: Annotated[
        field_types.PositiveDuration | None, doc("How long it waits for room.")
    ] = None
    activation_deadline: Annotated[
        field_types.PositiveDuration | None, doc("How long it may stay unused.")
    ] = None
    on_target_lost: Annotated[OnTargetLost, doc("What a silent cluster means.")] = OnTargetLost.KEEP
    failover_after: Annotated[
        field_types.PositiveDuration, doc("How long a cluster is silent before it is replaced.")
    ] = "15m"
    on_expiry: Annotated[OnExpiry, doc("Whether its pods end with it.")] = OnExpiry.RELEASE
    ttl_seconds_after_finished: Annotated[
        int | None, doc("Seconds until a finished one is deleted; never if absent.", minimum=0)
    ] = None
    preemption_policy: Annotated[PreemptionPolicy, doc("Whether it may push out lesser ones.")] = (
        PreemptionPolicy.NEVER
    )
    preemptible_when_active: Annotated[bool, doc("Whether it may be pushed out in use.")] = False
    requeue_on_preempt: Annotated[bool, doc("Whether it waits again when pushed out.")] = False
    confirm: Annotated[Confirm, doc("What makes it Reserved.")] = Confirm.LEDGER
    pod_sets: Annotated[
        tuple[PodSet, ...],
        doc("The pods it is for.", list_type="map", list_keys=["name"], max_items=32),
    ] = ()
    split: Annotated[Split | None, doc("How it may be spread over clusters.")] = None
    profile: Annotated[Profile, doc("How clusters are ranked.")] = Profile.README
    weights: Annotated[
        Mapping[str, Annotated[int, doc(minimum=0, maximum=100)]],
        doc("What each term of the rank counts.", min_properties=1, max_properties=32),
    ] = {}
    cluster_selector: Annotated[
        LabelSelector | None, doc("Attributes the cluster must have.", SELECTS_SOMETHING)
    ] = None
    tolerations: Annotated[
        tuple[ClusterToleration, ...], doc("Taints of clusters it bears.", max_items=32)
    ] = ()
    tiers: Annotated[
        tuple[Tier, ...],
        doc("Groups of clusters in order.", list_type="map", list_keys=["name"], max_items=16),
    ] = ()


class Candidate(Base):
    """What was thought of one cluster."""

    cluster_id: Annotated[str, doc("Which cluster.", max_length=253)] = msgspec.field(
        name="clusterID"
    )
    score: Annotated[str, doc("Its rank.", max_length=16)] = ""
    terms: Annotated[Mapping[str, str], doc("What the rank is made of.")] = {}
    rejection: Annotated[Rejection | None, doc("Why it was not chosen.")] = None
    message: Annotated[str, doc("The same in a sentence.", max_length=1024)] = ""


class Decision(Base):
    """How the target was chosen."""

    cluster_id: Annotated[str, doc("The choice.", max_length=253)] = msgspec.field(
        default="", name="clusterID"
    )
    score: Annotated[str, doc("Its rank.", max_length=16)] = ""
    runner_up: Annotated[str, doc("The second best.", max_length=253)] = ""
    candidates: Annotated[
        tuple[Candidate, ...],
        doc("The ten best.", list_type="map", list_keys=["clusterID"], max_items=10),
    ] = ()
    rejections: Annotated[
        Mapping[str, field_types.Count], doc("How many were left out, by reason.")
    ] = {}


class Shard(Base):
    """A part of a split reservation."""

    shard: Annotated[field_types.Count, doc("Which part.")]
    cluster_id: Annotated[str, doc("In which cluster.", max_length=253)] = msgspec.field(
        name="clusterID"
    )
    resources: Annotated[
        Mapping[str, field_types.Count], doc("How much, in base units.", max_properties=MAX_KEYS)
    ] = {}


class ReservationStatus(Base):
    """What has become of a reservation."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    phase: Annotated[ReservationPhase | None, doc("How far it is.")] = None
    reason: Annotated[str, doc("Why, in one word.", max_length=1024)] = ""
    message: Annotated[str, doc("Why, in a sentence.", max_length=32768)] = ""
    target_cluster_id: Annotated[str, doc("The chosen cluster.", max_length=253)] = msgspec.field(
        default="", name="targetClusterID"
    )
    attempt: Annotated[field_types.Count, doc("How often a cluster was chosen.")] = 0
    shards: Annotated[
        tuple[Shard, ...],
        doc("The parts of a split one.", list_type="map", list_keys=["shard"], max_items=64),
    ] = ()
    reserved_at: Annotated[datetime | None, doc("When the room was held.")] = None
    expires_at: Annotated[datetime | None, doc("When it ends.")] = None
    activated_at: Annotated[datetime | None, doc("When its use began.")] = None
    finished_at: Annotated[datetime | None, doc("When it ended, from where its TTL counts.")] = None
    last_update_time: Annotated[datetime | None, doc("When this was written.")] = None
    decision: Annotated[Decision | None, doc("How the target was chosen.")] = None
    conditions: Conditions = ()


_PHASE_NOW = in_status("self", "phase", "'Pending'")
_PHASE_BEFORE = in_status("oldSelf", "phase", "'Pending'")
_ATTEMPT_NOW = in_status("self", "attempt", "0")
_ATTEMPT_BEFORE = in_status("oldSelf", "attempt", "0")
_TARGET_NOW = in_status("self", "targetClusterID", "''")
_TARGET_BEFORE = in_status("oldSelf", "targetClusterID", "''")


class Reservation(Object, kw_only=True):
    """Room in some cluster for a while."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"!({_PHASE_BEFORE} in ['Released', 'Failed'])"
            " || self.spec.requestedResources == oldSelf.spec.requestedResources",
            "requestedResources must not change once the reservation is Released or Failed",
            field=".spec.requestedResources",
        ),
        Rule(
            f"{_PHASE_BEFORE} == 'Pending'"
            " || (self.spec.requestedResources.all(key, key in oldSelf.spec.requestedResources)"
            " && oldSelf.spec.requestedResources.all(key, key in self.spec.requestedResources))",
            "requestedResources must keep its keys once the reservation has left Pending; only amounts can be resized",
            field=".spec.requestedResources",
        ),
        Rule(
            "!has(oldSelf.status) || !has(oldSelf.status.phase) || (has(self.status) && has(self.status.phase))",
            "status must not be removed, nor its phase, once it has one",
            field=".status",
        ),
        Rule(
            f"!({_PHASE_BEFORE} in ['Released', 'Failed']) || {_PHASE_NOW} == {_PHASE_BEFORE}",
            "phase must not change once it is Released or Failed; make a new reservation instead",
            field=".status.phase",
        ),
        Rule(
            f"{_ATTEMPT_NOW} >= {_ATTEMPT_BEFORE}",
            "attempt must not become smaller; old attempts would look new",
            field=".status.attempt",
        ),
        Rule(
            f"{_TARGET_BEFORE} == '' || {_ATTEMPT_NOW} > {_ATTEMPT_BEFORE} || {_TARGET_NOW} == {_TARGET_BEFORE}",
            "targetClusterID must not change within an attempt; raise attempt with it",
            field=".status.targetClusterID",
        ),
    )

    spec: Annotated[ReservationSpec, doc("What is wanted.")]
    status: Annotated[ReservationStatus, doc("What is.")] = ReservationStatus()


RESERVATIONS: Kind[Reservation] = Kind(GROUP, VERSION, "Reservation", "reservations", Reservation)

DEFINITIONS = (
    Definition(
        RESERVATIONS,
        short_names=("rsv",),
        columns=(
            Column("Target", ".status.targetClusterID"),
            Column("CPU", ".spec.requestedResources.cpu"),
            Column("Memory", ".spec.requestedResources.memory"),
            Column("Phase", ".status.phase"),
            Column("Expires", ".status.expiresAt"),
            AGE,
        ),
    ),
)
