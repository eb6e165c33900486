"""Tickets: room for one pod on one node.

Rules and `orders`, whose template is a ticket's, read these types; `manifests` makes a CRD of them. A ticket without a duration gets
`DEFAULT_DURATION` from the rules, not from the schema: a default in the schema would collide with a `window`. Empty requests get
`DEFAULT_REQUESTS` from the rules for a like reason: an empty map is a value that no schema default touches.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from korder.api.constants import GROUP, VERSION
from kubeloop.objects import core, instant
from kubeloop.objects.meta import Base, Kind, Object
from kubeloop.objects.selector import LabelSelector
from kubeloop.schema import field_types
from kubeloop.schema.crd import AGE, Column, Definition
from kubeloop.schema.schema_types import SELECTS_SOMETHING, Conditions
from kubeloop.schema.structural import Refusal, Rule, doc

DEFAULT_DURATION = "24h"
"""How long a ticket holds its room when nobody says."""

DEFAULT_REQUESTS: Mapping[str, str] = {"cpu": "100m", "memory": "128Mi"}
"""How much room a ticket holds when nobody says, be it that requests are absent or empty."""


class CleanupPolicy(StrEnum):
    """Whether a finished ticket goes after its time."""

    DELETE = "Delete"
    RETAIN = "Retain"


class AfterUse(StrEnum):
    """What a ticket does when its pod has ended."""

    CONSUME = "Consume"
    RESERVE = "Reserve"


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


ENDED_PHASES = frozenset({TicketPhase.RELEASED, TicketPhase.EXPIRED})
"""A ticket in one of them never holds capacity again; it waits for its TTL."""


class Lifecycle(Base):
    """What becomes of a ticket that has ended."""

    cleanup_policy: Annotated[
        CleanupPolicy, doc("Delete removes a finished ticket after its time, Retain keeps it.")
    ] = CleanupPolicy.DELETE
    ttl_seconds_after_finished: Annotated[
        field_types.Int32, doc("Seconds a finished ticket stays before it is deleted.")
    ] = 3600


class Window(Base):
    """A span of time with its start, zone and length in one place."""

    start_time: Annotated[
        field_types.InstantOrEmpty, doc("When the hold begins; at once if absent or empty.")
    ] = ""
    time_zone: Annotated[
        field_types.TimeZone, doc("The zone in which people read the window; UTC if empty.")
    ] = "UTC"
    duration: Annotated[
        field_types.PositiveDuration | None, doc("How long it lasts; 24h if absent.")
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
        tuple[field_types.Label, ...],
        doc("Namespaces of the pods.", min_items=1, max_items=64, list_type="set"),
    ] = ()
    service_accounts: Annotated[
        tuple[field_types.Name, ...],
        doc("Service accounts the pods run as.", min_items=1, max_items=64, list_type="set"),
    ] = ()
    pod_selector: Annotated[LabelSelector | None, doc("Labels of the pods.", SELECTS_SOMETHING)] = (
        None
    )


class ResourceClaim(Base):
    """A device claim, as a container has it."""

    name: Annotated[field_types.Label, doc("The claim's name in the pod.")]


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
        Mapping[str, field_types.Quantity],
        doc("What is held on the node; 100m of cpu and 128Mi of memory if absent or empty."),
    ] = {}
    limits: Annotated[
        Mapping[str, field_types.Quantity], doc("What the guardian may use at most.")
    ] = {}
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
        field_types.InstantOrEmpty, doc("When the hold begins; at once if absent or empty.")
    ] = ""
    duration: Annotated[
        field_types.PositiveDuration | None,
        doc("How long the room is held for somebody to claim it; 24h if absent."),
    ] = None
    window: Annotated[
        Window | None, doc("Start and length in one place, instead of both above.")
    ] = None
    scheduler_name: Annotated[field_types.Name, doc("Who places the guardian.")] = (
        "default-scheduler"
    )
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
        """What is held on the node: a server takes a limit for the request that is not there; with the default for those who say nothing."""
        return {**self.resources.limits, **self.resources.requests} or DEFAULT_REQUESTS


class PodReference(Base):
    """A pod that exists; the UID tells it from its successors."""

    namespace: Annotated[str, doc("Its namespace.", max_length=63)]
    name: Annotated[str, doc("Its name.", max_length=253)]
    uid: Annotated[str, doc("Its UID.", min_length=1, max_length=64)]


class Share(PodReference):
    """A pod and its part of a reusable ticket."""

    requests: Annotated[Mapping[str, field_types.Quantity], doc("What the pod takes.")] = {}


class TicketStatus(Base):
    """What has become of a ticket."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    phase: Annotated[TicketPhase | None, doc("How far it is.")] = None
    reason: Annotated[str, doc("Why, in one word.", max_length=1024)] = ""
    message: Annotated[str, doc("Why, in a sentence.", max_length=32768)] = ""
    node_name: Annotated[str, doc("The node that holds the room.", max_length=253)] = ""
    guardian_pod: Annotated[
        str, doc("The guardian, as namespace/name; empty during a hand-over.", max_length=317)
    ] = ""
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
    unbound_time: Annotated[
        datetime | None,
        doc(
            "When its node last did not take the pod that claimed it; for an hour others come first."
        ),
    ] = None
    unbound_workload: Annotated[
        str,
        doc(
            "UID of the controller of that pod, with the pod's name for a StatefulSet: its next pod claims later.",
            max_length=320,
        ),
    ] = ""
    unbound_count: Annotated[
        int, doc("How often in a row pods of that workload were not bound by it.", minimum=0)
    ] = 0
    finished_time: Annotated[datetime | None, doc("When it ended, from where its TTL counts.")] = (
        None
    )
    utilization_rate: Annotated[str, doc("How much of the room is used.", max_length=32)] = ""
    conditions: Conditions = ()


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


TICKETS: Kind[Ticket] = Kind(GROUP, VERSION, "Ticket", "tickets", Ticket)

DEFINITION = Definition(
    TICKETS,
    short_names=("tkt",),
    columns=(
        Column("Phase", ".status.phase"),
        Column("Reason", ".status.reason"),
        Column("CPU", ".spec.resources.requests.cpu"),
        Column("Memory", ".spec.resources.requests.memory"),
        Column("Node", ".status.nodeName"),
        Column("Claimed-By", ".status.claimedPod"),
        Column("Expiration", ".status.expirationTime"),
        AGE,
        Column("Guardian-Pod", ".status.guardianPod", wide=True),
        Column("Used", ".status.utilizationRate", wide=True),
        Column("Message", ".status.message", wide=True),
    ),
)
