"""What clusters offer, and the ledger of what is held of it (`broker.fluidos.eu`).

Broker and agent read these types, `manifests` makes a CRD of them; reservations have a module of their own. The ledger of a cluster is `status.holds` of its
advertisement, in whole base units (thousandths of a core, bytes, pieces) so that sums are exact; `spec.resources.reserved` and `available` only mirror it for
people. The CEL rules on the status are a second lock: a broker that miscounts is refused by the API server itself.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from kubeloop.objects.meta import Base, Kind, Object
from kubeloop.schema import field_types
from kubeloop.schema.crd import AGE, Column, Definition
from kubeloop.schema.schema_types import Conditions
from kubeloop.schema.structural import Refusal, Rule, doc

GROUP = "broker.fluidos.eu"
VERSION = "v1alpha1"

ADVERTISEMENT_FINALIZER = "clusteradvertisement.broker.fluidos.eu/finalizer"
FORCE_DELETE_ANNOTATION = "broker.fluidos.eu/force-delete"
"""On an advertisement: lets it go although reservations hold room in it."""
HOLD_LABEL = "broker.fluidos.eu/hold"
"""On what an agent makes of a hold, with the UID of its reservation."""

MAX_HOLDS = 4000
"""A ledger is one object, and an object has a greatest size."""

MAX_CHECKED = 32000
"""Holds times resources that an API server can add up within its budget for one CEL rule; above it believes us."""
MAX_KEYS = 16
"""How many resources a ledger knows; sums over all holds are checked key by key."""


class AdvertisementCondition(StrEnum):
    """What is judged of an advertisement."""

    READY = "Ready"
    STALE = "Stale"
    OVERCOMMITTED = "Overcommitted"
    LEDGER_READY = "LedgerReady"


class AdvertisementReason(StrEnum):
    """Why a cluster takes no reservations."""

    STALE = "Stale"
    CORDONED = "Cordoned"
    DUPLICATE_CLUSTER_ID = "DuplicateClusterID"
    NOT_ACCEPTED = "NotAccepted"
    LEDGER_REBUILDING = "LedgerRebuilding"
    LEDGER_FULL = "LedgerFull"


class AdvertisementPhase(StrEnum):
    """Whether a cluster takes reservations."""

    PENDING = "Pending"
    ACTIVE = "Active"
    INACTIVE = "Inactive"


class Scheduling(StrEnum):
    """What an administrator allows on a cluster."""

    OPEN = "Open"
    CORDON = "Cordon"
    DRAIN = "Drain"


class TaintEffect(StrEnum):
    """How far a cluster's taint keeps reservations off."""

    NO_SELECT = "NoSelect"
    PREFER_NO_SELECT = "PreferNoSelect"
    NO_SELECT_IF_NEW = "NoSelectIfNew"


class HoldState(StrEnum):
    """How far a hold is: promised, kept for a gang, or on its way out."""

    HELD = "Held"
    PREPARED = "Prepared"
    DRAINING = "Draining"


class ClusterResources(Base):
    """How much a cluster has and how much of it is free."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.capacity) || has(self.allocatable)",
            "capacity must be given, or allocatable",
            field=".capacity",
            reason=Refusal.REQUIRED,
        ),
    )

    capacity: Annotated[Mapping[str, field_types.Quantity], doc("All there is.")] = {}
    allocatable: Annotated[
        Mapping[str, field_types.Quantity], doc("What pods can have; capacity if absent.")
    ] = {}
    allocated: Annotated[
        Mapping[str, field_types.Quantity], doc("What pods have, those of live holds left out.")
    ] = {}
    allocating: Annotated[
        Mapping[str, field_types.Quantity], doc("What pods without a node ask for.")
    ] = {}
    reserved: Annotated[
        Mapping[str, field_types.Quantity], doc("What reservations hold; written by the broker.")
    ] = {}
    available: Annotated[
        Mapping[str, field_types.SignedQuantity],
        doc("allocatable - allocated - reserved; written by the broker."),
    ] = {}


class Cost(Base):
    """What an hour costs."""

    cpu_cost: Annotated[field_types.Decimal | None, doc("Of a core.")] = None
    memory_cost: Annotated[field_types.Decimal | None, doc("Of a GiB of memory.")] = None
    costs: Annotated[Mapping[str, field_types.Decimal], doc("Of a unit of anything else.")] = {}
    currency: Annotated[str, doc("In which money.", max_length=16)] = ""


class ClusterTaint(Base):
    """Keeps reservations off a cluster unless they tolerate it."""

    key: Annotated[field_types.Text, doc("Its key.")]
    effect: Annotated[TaintEffect, doc("How far it keeps them off.")]
    value: Annotated[str, doc("Its value.", max_length=63)] = ""


class NodeCount(Base):
    """How many nodes went into the figures."""

    counted: Annotated[field_types.Count, doc("Nodes that count.")] = 0
    excluded: Annotated[field_types.Count, doc("Nodes left out.")] = 0


class FreeNodes(Base):
    """Nodes with about as much room."""

    count: Annotated[field_types.Count, doc("How many nodes.")]
    free: Annotated[Mapping[str, field_types.Quantity], doc("What each has free.")]


class AgentReport(Base):
    """What only an agent can tell; an advertisement without it is kept by hand."""

    epoch: Annotated[str, doc("Which run of the agent reports.", max_length=64)] = ""
    sequence: Annotated[field_types.Count, doc("Which report of that run.")] = 0
    observed_ledger_version: Annotated[
        field_types.Count, doc("The list of holds it had applied when it counted.")
    ] = 0
    held_usage: Annotated[
        Mapping[str, Mapping[str, field_types.Quantity]],
        doc("What pods of each hold use, at most its size.", max_properties=MAX_HOLDS),
    ] = {}
    nodes: Annotated[NodeCount, doc("How many nodes went into the figures.")] = NodeCount()
    free_nodes: Annotated[
        tuple[FreeNodes, ...], doc("How the free room is spread over nodes.", max_items=64)
    ] = ()
    largest_free: Annotated[
        Mapping[str, field_types.Quantity], doc("The most that is free on one node.")
    ] = {}
    elastic: Annotated[bool, doc("The figures are an offer, not what is there now.")] = False
    degraded: Annotated[bool, doc("The cluster cannot be counted; nothing new is held.")] = False


class AdvertisementSpec(Base):
    """What a cluster offers."""

    cluster_id: Annotated[
        field_types.Text,
        doc(
            "Which cluster it is, whatever the object is called.",
            Rule("self == oldSelf", "clusterID must not change; advertise under a new object"),
        ),
    ] = msgspec.field(name="clusterID")
    resources: Annotated[ClusterResources, doc("How much it has.")]
    cluster_name: Annotated[str, doc("What people call it.", max_length=253)] = ""
    cost: Annotated[Cost | None, doc("What it costs.")] = None
    timestamp: Annotated[
        field_types.Instant | None, doc("When the agent counted, by its clock.")
    ] = None
    endpoint_url: Annotated[str, doc("Where its API server is.", max_length=2048)] = msgspec.field(
        default="", name="endpointURL"
    )
    attributes: Annotated[Mapping[str, str], doc("What selectors may ask about.")] = {}
    taints: Annotated[
        tuple[ClusterTaint, ...], doc("What keeps reservations off.", max_items=32)
    ] = ()
    scheduling: Annotated[
        Scheduling, doc("Open, closed to new reservations, or being emptied.")
    ] = Scheduling.OPEN
    accepted: Annotated[bool, doc("Whether an administrator lets it take part.")] = True
    min_issued_at: Annotated[
        field_types.Instant | None, doc("Certificates issued before are no longer good.")
    ] = None
    caps: Annotated[
        Mapping[str, field_types.Quantity], doc("The most that is believed of its offer.")
    ] = {}
    overcommit: Annotated[
        Mapping[str, field_types.Decimal],
        doc("How many times a resource may be promised; 1 if absent."),
    ] = {}
    margin_percent: Annotated[
        int, doc("How much of allocatable always stays free.", minimum=0, maximum=100)
    ] = 0
    agent: Annotated[AgentReport | None, doc("What only an agent can tell.")] = None


class Hold(Base):
    """An entry of the ledger."""

    uid: Annotated[str, doc("The reservation's UID.", min_length=1, max_length=64)]
    shard: Annotated[field_types.Count, doc("Which part of a split reservation.")]
    resources: Annotated[
        Mapping[str, field_types.Count],
        doc("What it counts for, in base units.", max_properties=MAX_KEYS),
    ]
    state: Annotated[HoldState, doc("How far it is.")]
    ref: Annotated[str, doc("The reservation, as namespace/name.", max_length=317)] = ""
    attempt: Annotated[field_types.Count, doc("The attempt that placed it.")] = 0
    release_version: Annotated[field_types.Count, doc("The ledger version that let it go.")] = 0
    successor: Annotated[str, doc("Who gets the room when it has drained.", max_length=64)] = ""
    expires_at: Annotated[datetime | None, doc("When it ends.")] = None
    priority: Annotated[int, doc("The reservation's priority.")] = 0


def _sums_up(field: str, amount: str, what: str) -> Rule:
    """Checks a sum key by key, as far as the API server's budget for one rule allows."""
    return Rule(
        "!has(self.holds) || size(self.holds) == 0"
        f" ? !has(self.{field}) || self.{field}.all(key, self.{field}[key] == 0)"
        f" : has(self.{field}) && (size(self.holds) * size(self.{field}) > {MAX_CHECKED}"
        f" || self.{field}.all(key, self.{field}[key] == self.holds.map(h, {amount}).sum()))",
        f"{field} must be the sum of the resources of {what}, key by key",
        field=f".{field}",
    )


class AdvertisementStatus(Base):
    """What the broker makes of an advertisement."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.reserved) || !has(self.holds) || self.holds.all(h, h.resources.all(key, key in self.reserved))",
            "reserved must have every key that a hold has",
            field=".reserved",
        ),
        _sums_up("reserved", "key in h.resources ? h.resources[key] : 0", "all holds"),
        _sums_up(
            "held",
            "h.state == 'Draining' || !(key in h.resources) ? 0 : h.resources[key]",
            "all holds that are not Draining",
        ),
    )

    observed_generation: Annotated[field_types.Count, doc("The generation that was judged.")] = 0
    phase: Annotated[AdvertisementPhase | None, doc("Whether it takes reservations.")] = None
    active: Annotated[bool, doc("The same as a yes or no.")] = False
    score: Annotated[str, doc("How free it is, 0.00 to 100.00.", max_length=16)] = ""
    score_value: Annotated[int, doc("The score in hundredths.", minimum=0, maximum=10000)] = 0
    message: Annotated[str, doc("Why, in a sentence.", max_length=32768)] = ""
    last_received_time: Annotated[
        datetime | None, doc("When the broker last heard of it, by its own clock.")
    ] = None
    last_update_time: Annotated[datetime | None, doc("When the figures last changed.")] = None
    stale_since: Annotated[datetime | None, doc("Since when it is silent.")] = None
    ledger_version: Annotated[field_types.Count, doc("Grows with each change of the holds.")] = 0
    holds: Annotated[
        tuple[Hold, ...],
        doc("The ledger.", list_type="map", list_keys=["uid", "shard"], max_items=MAX_HOLDS),
    ] = ()
    reserved: Annotated[
        Mapping[str, field_types.Count],
        doc("The sum of the holds, in base units.", max_properties=MAX_KEYS),
    ] = {}
    held: Annotated[
        Mapping[str, field_types.Count],
        doc("The same without those that are Draining.", max_properties=MAX_KEYS),
    ] = {}
    available: Annotated[
        Mapping[str, int],
        doc("What is left, in base units; may be negative.", max_properties=MAX_KEYS),
    ] = {}
    conditions: Conditions = ()


def in_status(of: str, field: str, absent: str) -> str:
    """Reads a member of the status of `self` or `oldSelf` in CEL; it may be absent, as may the whole status."""
    member = f"{of}.status.{field}"
    return f"(has({of}.status) && has({member}) ? {member} : {absent})"


_HELD_BEFORE = "has(oldSelf.status) && has(oldSelf.status.held) && key in oldSelf.status.held"
_VERSION_NOW = in_status("self", "ledgerVersion", "0")
_VERSION_BEFORE = in_status("oldSelf", "ledgerVersion", "0")


class ClusterAdvertisement(Object, kw_only=True):
    """What a cluster offers, and the ledger of what is held of it."""

    # Rules that compare with the status before stand here: on the status itself they would be silent whenever there
    # was none before or is none now.
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.status) || !has(self.status.held) || self.status.held.all(key,"
            " (has(self.status.available) && key in self.status.available && self.status.available[key] >= 0)"
            f" || self.status.held[key] <= ({_HELD_BEFORE} ? oldSelf.status.held[key] : 0))",
            "available must not be negative for a resource of which more is held than before",
            field=".status.available",
        ),
        Rule(
            "!has(oldSelf.status) || !has(oldSelf.status.holds) || size(oldSelf.status.holds) == 0 || has(self.status)",
            "status must not be removed once it has holds; release them one by one",
            field=".status",
        ),
        Rule(
            f"{_VERSION_NOW} >= {_VERSION_BEFORE}",
            "ledgerVersion must not become smaller; old reports would look new",
            field=".status.ledgerVersion",
        ),
    )

    spec: Annotated[AdvertisementSpec, doc("What it offers.")]
    status: Annotated[AdvertisementStatus, doc("What the broker makes of it.")] = (
        AdvertisementStatus()
    )


CLUSTER_ADVERTISEMENTS: Kind[ClusterAdvertisement] = Kind(
    GROUP, VERSION, "ClusterAdvertisement", "clusteradvertisements", ClusterAdvertisement
)

DEFINITIONS = (
    Definition(
        CLUSTER_ADVERTISEMENTS,
        short_names=("cadv",),
        columns=(
            Column("ClusterID", ".spec.clusterID"),
            Column("Available-CPU", ".spec.resources.available.cpu"),
            Column("Available-Memory", ".spec.resources.available.memory"),
            Column("Score", ".status.score"),
            Column("Active", ".status.active", "boolean"),
            AGE,
        ),
    ),
)
