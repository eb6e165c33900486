"""Orders and tickets: room that is held on nodes for pods to come (`core.korder.dev`).

Domain rules read these types, the console shows them, `manifests` makes CRDs of them; quotas have a module of their own.
Both states of the original are understood: `startTime` and `duration` or a `window`, a `strategy` or only
`refreshPolicy`. A ticket without a duration gets `DEFAULT_DURATION` from the rules, not from the schema: a default in
the schema would collide with a `window`. Empty requests get `DEFAULT_REQUESTS` from the rules for a like reason: an empty
map is a value that no schema default touches.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from korder.api import core, instant, shapes
from korder.api.crd import AGE, Column, Definition, Scale
from korder.api.meta import Base, Kind, Object
from korder.api.schema import Refusal, Rule, doc
from korder.api.selector import LabelSelector
from korder.api.standins import SELECTS_SOMETHING, Conditions

GROUP = "core.korder.dev"
VERSION = "v1alpha1"

DEFAULT_DURATION = "24h"
"""How long a ticket holds its room when nobody says."""

MOST_WINDOWS = 1_000
"""Windows of one order that can be open at a time."""

DEFAULT_REQUESTS: Mapping[str, str] = {"cpu": "100m", "memory": "128Mi"}
"""How much room a ticket holds when nobody says, be it that requests are absent or empty."""

SCHEDULING_GATE = "korder.dev/ticket"
"""Keeps a pod that asks for a ticket from being scheduled."""

GUARDIAN_GATE = "korder.dev/guardian"
"""Keeps a guardian from being scheduled while the room it is to take is still in use."""

GUARDIAN_NAME_PREFIX = "korder-guardian-"
GUARDIAN_PRIORITY_CLASS = "korder-guardian"

ORDER_LABEL = "korder.dev/order"
ORDER_UID_LABEL = "korder.dev/order-uid"
TICKET_LABEL = "korder.dev/ticket"
TICKET_UID_LABEL = "korder.dev/ticket-uid"
NODE_LABEL = "korder.dev/node"
ROLE_LABEL = "korder.dev/role"
GUARDIAN_LABEL = "korder.dev/guardian"
COMPONENT_LABEL = "korder.dev/component"
TEMPLATE_HASH_LABEL = "korder.dev/template-hash"
"""On a ticket: which template it was made from."""

GUARDIAN_ROLE = "guardian"
GUARDIAN_COMPONENT = "guardian-pod"

REQUIRED_ANNOTATION = "korder.dev/required"
ORDER_ANNOTATION = "korder.dev/order"
ORDER_REQUEST_ANNOTATION = "korder.dev/order-request"
TICKET_REQUEST_ANNOTATION = "korder.dev/ticket-request"
FALLBACK_AFTER_ANNOTATION = "korder.dev/fallback-after"
TICKET_GROUP_ANNOTATION = "korder.dev/ticket-group"
SCHEDULED_TIME_ANNOTATION = "korder.dev/scheduled-time"
LEAD_TIME_ANNOTATION = "korder.dev/lead-time"
"""On a ticket: how long before its start the guardian is placed."""
GUARDIAN_HASH_ANNOTATION = "korder.dev/guardian-hash"
"""On a guardian: which size and place it was made for."""
STANDING_ANNOTATION = "korder.dev/standing"
"""On a ticket, "true": at its expiry it is renewed in place."""
TICKET_CLAIMED_ANNOTATION = "korder.dev/ticket-claimed"
"""Written by us, never read as a request."""
TICKET_NODE_ANNOTATION = "korder.dev/ticket-node"
"""Written by us, never read as a request."""

TERMS_ANNOTATION = "korder.dev/terms"
"""On a ticket: what its order last said about its duration and its use, so that edits by hand stay."""

TICKET_BOUND_CONDITION = "korder.dev/TicketBound"
"""On a pod that asked: whether it has a ticket, and if not, why not."""

ORDER_FINALIZER = "korder.dev/order-finalizer"
TICKET_FINALIZER = "korder.dev/ticket-finalizer"


class OrderCondition(StrEnum):
    """What is judged of an order."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    FAILURE = "Failure"
    COMPLETE = "Complete"


class TicketCondition(StrEnum):
    """What is judged of a ticket."""

    READY = "Ready"
    GUARDIAN_READY = "GuardianReady"
    EXPIRING = "Expiring"


class Reason(StrEnum):
    """Why an order or a ticket is not further than it is."""

    SCHEDULED = "Scheduled"
    LOST = "Lost"
    EVICTED = "Evicted"
    PREEMPTED = "Preempted"
    GUARDIAN_FAILED = "GuardianFailed"
    GUARDIAN_DELETED = "GuardianDeleted"
    GUARDIAN_REFUSED = "GuardianRefused"
    NODE_LOST = "NodeLost"
    NODE_CORDONED = "NodeCordoned"
    UNSCHEDULABLE = "Unschedulable"
    RETURNING = "Returning"
    HELD = "Held"
    IN_USE = "InUse"
    CLAIM_UNDONE = "ClaimUndone"
    NEVER_BOUND = "NeverBound"
    STOLEN = "Stolen"
    EXPIRED = "Expired"
    RELEASED = "Released"
    QUOTA_EXCEEDED = "QuotaExceeded"
    ROLLOUT_BLOCKED = "RolloutBlocked"
    NO_ELIGIBLE_NODE = "NoEligibleNode"


class OrderReason(StrEnum):
    """How an order stands, and what it has done."""

    ALL_HELD = "AllHeld"
    TICKETS_WAIT = "TicketsWait"
    CLOSED = "Closed"
    BETWEEN_WINDOWS = "BetweenWindows"
    COMPLETE = "Complete"
    NOT_COMPLETE = "NotComplete"
    SETTLED = "Settled"
    WORKING = "Working"
    ROLLING_OUT = "RollingOut"
    PAUSED = "Paused"
    INVALID_SCHEDULE = "InvalidSchedule"
    TICKETS_REFUSED = "TicketsRefused"
    NO_FAILURE = "NoFailure"
    TICKETS_CREATED = "TicketsCreated"
    TICKETS_DELETED = "TicketsDeleted"
    FIRED = "Fired"
    FIRING_MISSED = "FiringMissed"
    WINDOWS_OVERLAP = "WindowsOverlap"
    GAP = "GapBetweenTickets"
    REPLICAS_IGNORED = "ReplicasIgnored"


class StrategyType(StrEnum):
    """When tickets are made."""

    ONE_TIME = "OneTime"
    SCHEDULED = "Scheduled"
    RECURRING = "Recurring"


class RefreshPolicy(StrEnum):
    """Which tickets are replaced: all that end, the claimed ones, or none."""

    ALWAYS = "Always"
    ON_CLAIM = "OnClaim"
    NEVER = "Never"


class OverlapPolicy(StrEnum):
    """What happens when a window opens while the one before is still open."""

    ALLOW = "Allow"
    FORBID = "Forbid"
    REPLACE = "Replace"


class CleanupPolicy(StrEnum):
    """Whether a finished ticket goes after its time."""

    DELETE = "Delete"
    RETAIN = "Retain"


class AfterUse(StrEnum):
    """What a ticket does when its pod has ended."""

    CONSUME = "Consume"
    RESERVE = "Reserve"


class ClaimReason(StrEnum):
    """How a pod stands that asked for a ticket."""

    CLAIMED = "TicketClaimed"
    INVALID_REQUEST = "InvalidRequest"
    OTHER_GATES = "OtherGates"
    NO_TICKET = "NoTicket"
    NOT_AN_OWNER = "NotAnOwner"
    ORDER_CLOSED = "OrderClosed"
    NONE_FREE = "NoTicketFree"
    NONE_FITS = "NoTicketFits"
    FELL_BACK = "FellBack"
    NOT_A_CLAIM = "NotAClaim"


class TicketPhase(StrEnum):
    """How far a ticket is; the original's later name for Reserved is still read."""

    PENDING = "Pending"
    RESERVED = "Reserved"
    CLAIMING = "Claiming"
    CLAIMED = "Claimed"
    RELEASED = "Released"
    EXPIRED = "Expired"

    @classmethod
    def _missing_(cls, value: object) -> "TicketPhase | None":
        return cls.RESERVED if value == "Ready" else None


class Lifecycle(Base):
    """What becomes of a ticket that has ended."""

    cleanup_policy: Annotated[
        CleanupPolicy, doc("Delete removes a finished ticket after its time, Retain keeps it.")
    ] = CleanupPolicy.DELETE
    ttl_seconds_after_finished: Annotated[
        shapes.Int32, doc("Seconds a finished ticket stays before it is deleted.")
    ] = 3600


class Window(Base):
    """A span of time with its start, zone and length in one place."""

    start_time: Annotated[
        shapes.InstantOrEmpty, doc("When the hold begins; at once if absent or empty.")
    ] = ""
    time_zone: Annotated[
        shapes.TimeZone, doc("The zone in which people read the window; UTC if empty.")
    ] = "UTC"
    duration: Annotated[
        shapes.PositiveDuration | None, doc("How long it lasts; 24h if absent.")
    ] = None


class Owner(Base):
    """Pods that may claim; all given fields must fit."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.namespaces) || has(self.serviceAccounts) || has(self.podSelector)",
            "must have namespaces, serviceAccounts or podSelector; an empty owner would mean nobody or everybody",
        ),
    )

    namespaces: Annotated[
        tuple[shapes.Label, ...],
        doc("Namespaces of the pods.", min_items=1, max_items=64, list_type="set"),
    ] = ()
    service_accounts: Annotated[
        tuple[shapes.Name, ...],
        doc("Service accounts the pods run as.", min_items=1, max_items=64, list_type="set"),
    ] = ()
    pod_selector: Annotated[LabelSelector | None, doc("Labels of the pods.", SELECTS_SOMETHING)] = (
        None
    )


class ResourceClaim(Base):
    """A device claim, as a container has it."""

    name: Annotated[shapes.Label, doc("The claim's name in the pod.")]


class TicketResources(Base):
    """How much room is held."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.claims) || size(self.claims) == 0",
            "claims must be left out: a device that a guardian claims could not pass to another pod",
            field=".claims",
            reason=Refusal.FORBIDDEN,
        ),
    )

    requests: Annotated[
        Mapping[str, shapes.Quantity],
        doc("What is held on the node; 100m of cpu and 128Mi of memory if absent or empty."),
    ] = {}
    limits: Annotated[Mapping[str, shapes.Quantity], doc("What the guardian may use at most.")] = {}
    claims: Annotated[
        tuple[ResourceClaim, ...], doc("Not possible; here only to be refused.", max_items=32)
    ] = ()


class TicketSpec(Base):
    """What is held, where, when and for whom."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.window) || ((!has(self.startTime) || size(self.startTime) == 0) && !has(self.duration))",
            "window must not be used together with startTime or duration, which say the same; use one form",
            field=".window",
            reason=Refusal.FORBIDDEN,
        ),
    )

    lifecycle: Annotated[Lifecycle, doc("What becomes of the ticket at its end.")] = Lifecycle()
    start_time: Annotated[
        shapes.InstantOrEmpty, doc("When the hold begins; at once if absent or empty.")
    ] = ""
    duration: Annotated[
        shapes.PositiveDuration | None,
        doc("How long the room is held for somebody to claim it; 24h if absent."),
    ] = None
    window: Annotated[
        Window | None, doc("Start and length in one place, instead of both above.")
    ] = None
    scheduler_name: Annotated[shapes.Name, doc("Who places the guardian.")] = "default-scheduler"
    priority_class_name: Annotated[
        str, doc("The guardian's priority class; ours if absent.", max_length=253)
    ] = ""
    resources: Annotated[
        TicketResources, doc("How much room is held; empty means the same as absent.")
    ] = TicketResources(requests=DEFAULT_REQUESTS)
    node_name: Annotated[str, doc("The one node to hold room on.", max_length=253)] = ""
    node_selector: Annotated[Mapping[str, str], doc("Labels the node must have.")] = {}
    affinity: Annotated[core.Affinity | None, doc("Where the guardian may be.")] = None
    tolerations: Annotated[
        tuple[core.Toleration, ...], doc("Taints the guardian bears.", max_items=64)
    ] = ()
    topology_spread_constraints: Annotated[
        tuple[core.TopologySpreadConstraint, ...], doc("How guardians spread.", max_items=16)
    ] = ()
    after_use: Annotated[
        AfterUse,
        doc(
            "When its pod has ended the ticket is spent (Consume) or takes its room back (Reserve)."
        ),
    ] = AfterUse.CONSUME
    allocate_once: Annotated[
        bool, doc("One pod takes all; false lets several pods share the room until it is full.")
    ] = True
    owners: Annotated[
        tuple[Owner, ...],
        doc(
            "Who may claim, by any of the entries; if absent any pod of the namespace.",
            max_items=32,
        ),
    ] = ()

    @property
    def starts_at(self) -> datetime | None:
        """When the hold begins, in whichever form it was said; None means at once."""
        text = self.window.start_time if self.window else self.start_time
        return instant.parse(text) if text else None

    @property
    def requests(self) -> Mapping[str, str | int]:
        """What is held on the node, with the default for those who do not say."""
        return self.resources.requests or DEFAULT_REQUESTS


class TemplateMetadata(Base):
    """Metadata that every ticket of an order starts with."""

    labels: Annotated[Mapping[str, str], doc("Labels of the tickets.")] = {}
    annotations: Annotated[Mapping[str, str], doc("Annotations of the tickets.")] = {}


class TicketTemplate(Base):
    """What the tickets of an order look like."""

    spec: Annotated[TicketSpec, doc("What each ticket holds.")]
    metadata: Annotated[
        TemplateMetadata, doc("Labels and annotations of each ticket.", keep_unknown=True)
    ] = TemplateMetadata()


class Strategy(Base):
    """When tickets are made and refreshed."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.type == 'OneTime' || (has(self.schedule) && size(self.schedule) > 0)",
            "schedule must be a cron expression for type Scheduled and Recurring",
            field=".schedule",
            reason=Refusal.REQUIRED,
        ),
        Rule(
            "self.type != 'OneTime' || !has(self.schedule) || size(self.schedule) == 0",
            "schedule must be left out for type OneTime, which never fires",
            field=".schedule",
            reason=Refusal.FORBIDDEN,
        ),
    )

    type: Annotated[StrategyType, doc("Once, in windows, or as a pool renewed at each firing.")]
    schedule: Annotated[shapes.Schedule, doc("The firings, as five cron fields.")] = ""
    time_zone: Annotated[shapes.TimeZone, doc("The zone of the schedule.")] = "UTC"
    refresh_policy: Annotated[RefreshPolicy, doc("Which tickets are replaced.")] = (
        RefreshPolicy.ON_CLAIM
    )
    starting_deadline_seconds: Annotated[
        shapes.Count, doc("How late a missed firing may still be made up for.")
    ] = 300
    overlap_policy: Annotated[OverlapPolicy, doc("What a window does to the one before.")] = (
        OverlapPolicy.ALLOW
    )
    lead_time: Annotated[shapes.Duration, doc("How long before a firing guardians are placed.")] = (
        "0s"
    )


_TYPE_NOW = "(has(self.strategy) ? self.strategy.type : 'OneTime')"
_TYPE_BEFORE = "(has(oldSelf.strategy) ? oldSelf.strategy.type : 'OneTime')"


class OrderSpec(Base):
    """How many tickets, of which form, made when."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.strategy) || !has(self.refreshPolicy)",
            "refreshPolicy must be left out beside strategy; use strategy.refreshPolicy",
            field=".refreshPolicy",
            reason=Refusal.FORBIDDEN,
        ),
        Rule(
            f"{_TYPE_NOW} == {_TYPE_BEFORE}",
            "strategy.type must not change (an order without strategy is OneTime); make a new order instead",
            field=".strategy.type",
        ),
    )

    template: Annotated[TicketTemplate, doc("What each ticket looks like.")]
    paused: Annotated[bool, doc("Stops making and refreshing tickets; those there go on.")] = False
    replicas: Annotated[shapes.Int32, doc("How many tickets to keep.")] = 1
    daemon_set: Annotated[bool, doc("One ticket on every eligible node instead of replicas.")] = (
        False
    )
    strategy: Annotated[Strategy | None, doc("When tickets are made; OneTime if absent.")] = None
    refresh_policy: Annotated[
        RefreshPolicy | None, doc("Which tickets are replaced, for orders without a strategy.")
    ] = None
    min_available: Annotated[
        int | None,
        doc("Nobody may claim until this many tickets are held for the first time.", minimum=1),
    ] = None
    min_ready_seconds: Annotated[
        shapes.Int32, doc("How long a ticket must be held before it counts as available.")
    ] = 0
    selector: Annotated[
        LabelSelector | None,
        doc(
            "Kept for manifests that have it; tickets belong to their order by UID.",
            SELECTS_SOMETHING,
        ),
    ] = None


class TicketPool(Base):
    """Unclaimed tickets of an order that stand together: all of them, or those of one window."""

    firing: Annotated[datetime | None, doc("The firing that opened the window.")] = None
    members: Annotated[str, doc("The numbers of the tickets, such as 0-2,5.")] = ""
    size: Annotated[shapes.Int32, doc("Unclaimed tickets there should be now.")] = 0
    owed: Annotated[shapes.Int32, doc("Tickets that the next firing will replace.")] = 0


class OrderStatus(Base):
    """What has become of an order."""

    observed_generation: Annotated[shapes.Count, doc("The generation that was acted on.")] = 0
    desired_replicas: Annotated[
        shapes.Int32, doc("Tickets there should be: replicas, or the number of eligible nodes.")
    ] = 0
    replicas: Annotated[shapes.Int32, doc("Tickets there are.")] = 0
    available_replicas: Annotated[shapes.Int32, doc("Tickets that can be claimed now.")] = 0
    unavailable_replicas: Annotated[shapes.Int32, doc("Tickets that hold nothing yet.")] = 0
    claimed_replicas: Annotated[shapes.Int32, doc("Tickets that have a pod.")] = 0
    terminal_replicas: Annotated[shapes.Int32, doc("Tickets that have ended.")] = 0
    updated_replicas: Annotated[shapes.Int32, doc("Tickets made from the present template.")] = 0
    issued_replicas: Annotated[
        shapes.Int32,
        doc(
            "The replicas that tickets were issued for; only more issues more. It falls with replicas,"
            " but not where OneTime meets Never."
        ),
    ] = 0
    next_index: Annotated[
        shapes.Count, doc("The number in the name of the next ticket; none is used twice.")
    ] = 0
    made_index: Annotated[
        shapes.Count, doc("All tickets with a lower number have been made, or are not wanted.")
    ] = 0
    pools: Annotated[
        tuple[TicketPool, ...],
        doc("The tickets that can still be claimed.", max_items=MOST_WINDOWS),
    ] = ()
    opened: Annotated[bool, doc("Whether minAvailable was once reached.")] = False
    last_schedule_time: Annotated[datetime | None, doc("The last firing acted on.")] = None
    next_schedule_time: Annotated[datetime | None, doc("The next firing.")] = None
    label_selector: Annotated[str, doc("Selects the tickets, for the scale subresource.")] = ""
    collision_count: Annotated[int | None, doc("Names that were taken.", minimum=0)] = None
    conditions: Conditions = ()


class PodReference(Base):
    """A pod that exists; the UID tells it from its successors."""

    namespace: Annotated[str, doc("Its namespace.", max_length=63)]
    name: Annotated[str, doc("Its name.", max_length=253)]
    uid: Annotated[str, doc("Its UID.", min_length=1, max_length=64)]


class Share(PodReference):
    """A pod and its part of a reusable ticket."""

    requests: Annotated[Mapping[str, shapes.Quantity], doc("What the pod takes.")] = {}


class TicketStatus(Base):
    """What has become of a ticket."""

    observed_generation: Annotated[shapes.Count, doc("The generation that was acted on.")] = 0
    phase: Annotated[TicketPhase | None, doc("How far it is.")] = None
    reason: Annotated[str, doc("Why, in one word.", max_length=1024)] = ""
    message: Annotated[str, doc("Why, in a sentence.", max_length=32768)] = ""
    node_name: Annotated[str, doc("The node that holds the room.", max_length=253)] = ""
    guardian_pod: Annotated[str, doc("The guardian, as namespace/name.", max_length=317)] = ""
    claimed_pod: Annotated[str, doc("The pod that claimed, as namespace/name.", max_length=317)] = (
        ""
    )
    claimed_by: Annotated[PodReference | None, doc("The pod that claimed.")] = None
    shared_by: Annotated[
        tuple[Share, ...],
        doc(
            "Pods in a ticket that is not allocated once.",
            list_type="map",
            list_keys=["uid"],
            max_items=512,
        ),
    ] = ()
    activation_time: Annotated[datetime | None, doc("When the clock began.")] = None
    expiration_time: Annotated[datetime | None, doc("When an unclaimed hold ends.")] = None
    claimed_time: Annotated[datetime | None, doc("When a pod claimed it.")] = None
    claim_deadline: Annotated[datetime | None, doc("When an unfinished hand-over is undone.")] = (
        None
    )
    finished_time: Annotated[datetime | None, doc("When it ended, from where its TTL counts.")] = (
        None
    )
    utilization_rate: Annotated[str, doc("How much of the room is used.", max_length=32)] = ""
    conditions: Conditions = ()


class Order(Object, kw_only=True):
    """A standing wish for tickets."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.spec.minAvailable) || (has(self.spec.daemonSet) && self.spec.daemonSet)"
            " || (has(self.status) && has(self.status.opened) && self.status.opened)"
            " || self.spec.replicas == 0 || self.spec.minAvailable <= self.spec.replicas",
            "minAvailable must not be greater than replicas, or the order would never open",
            field=".spec.minAvailable",
        ),
    )

    spec: Annotated[OrderSpec, doc("What is wanted.")]
    status: Annotated[OrderStatus, doc("What is.")] = OrderStatus()


class Ticket(Object, kw_only=True):
    """Room for one pod on one node."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(oldSelf.spec.nodeName) || size(oldSelf.spec.nodeName) == 0"
            " || (has(self.spec.nodeName) && self.spec.nodeName == oldSelf.spec.nodeName)",
            "nodeName must not change once it is set; make a new ticket instead",
            field=".spec.nodeName",
        ),
    )

    spec: Annotated[TicketSpec, doc("What is held.")]
    status: Annotated[TicketStatus, doc("What is.")] = TicketStatus()


ORDERS: Kind[Order] = Kind(GROUP, VERSION, "Order", "orders", Order)
TICKETS: Kind[Ticket] = Kind(GROUP, VERSION, "Ticket", "tickets", Ticket)

DEFINITIONS = (
    Definition(
        ORDERS,
        short_names=("kord",),
        columns=(
            Column("Strategy", ".spec.strategy.type"),
            Column("Desired", ".status.desiredReplicas", "integer"),
            Column("Current", ".status.replicas", "integer"),
            Column("Available", ".status.availableReplicas", "integer"),
            Column("Claimed", ".status.claimedReplicas", "integer"),
            Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
            AGE,
            Column("Next", ".status.nextScheduleTime", wide=True),
            Column("Paused", ".spec.paused", "boolean", wide=True),
            Column("Reason", '.status.conditions[?(@.type=="Ready")].reason', wide=True),
            Column("Message", '.status.conditions[?(@.type=="Ready")].message', wide=True),
        ),
        scale=Scale(".spec.replicas", ".status.replicas", ".status.labelSelector"),
    ),
    Definition(
        TICKETS,
        short_names=("tkt",),
        columns=(
            Column("Phase", ".status.phase"),
            Column("Reason", ".status.reason"),
            Column("Node", ".status.nodeName"),
            Column("Claimed-By", ".status.claimedPod"),
            Column("Expiration", ".status.expirationTime"),
            AGE,
            Column("Guardian-Pod", ".status.guardianPod", wide=True),
            Column("Used", ".status.utilizationRate", wide=True),
            Column("Message", ".status.message", wide=True),
        ),
    ),
)
