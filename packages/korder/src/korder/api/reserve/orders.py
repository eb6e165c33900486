"""Orders: a standing wish for tickets, and what has become of it.

Rules read these types, `manifests` makes a CRD of them. Both states of the original are understood: an order has a `strategy`, or only a
`refreshPolicy`.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from korder.api.constants import GROUP, VERSION
from korder.api.reserve.tickets import TicketSpec
from kubeloop.objects.meta import Base, Kind, Object
from kubeloop.objects.selector import LabelSelector
from kubeloop.schema import field_types
from kubeloop.schema.crd import AGE, Column, Definition, Scale
from kubeloop.schema.schema_types import SELECTS_SOMETHING, Conditions
from kubeloop.schema.structural import Refusal, Rule, doc

MOST_WINDOWS = 1_000
"""Windows of one order that can be open at a time."""


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
    schedule: Annotated[field_types.Schedule, doc("The firings, as five cron fields.")] = ""
    time_zone: Annotated[field_types.TimeZone, doc("The zone of the schedule.")] = "UTC"
    refresh_policy: Annotated[RefreshPolicy, doc("Which tickets are replaced.")] = (
        RefreshPolicy.ON_CLAIM
    )
    starting_deadline_seconds: Annotated[
        field_types.Count, doc("How late a missed firing may still be made up for.")
    ] = 300
    overlap_policy: Annotated[OverlapPolicy, doc("What a window does to the one before.")] = (
        OverlapPolicy.ALLOW
    )
    lead_time: Annotated[
        field_types.Duration, doc("How long before a firing guardians are placed.")
    ] = "0s"


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
    replicas: Annotated[field_types.Int32, doc("How many tickets to keep.")] = 1
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
        field_types.Int32, doc("How long a ticket must be held before it counts as available.")
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
    size: Annotated[field_types.Int32, doc("Unclaimed tickets there should be now.")] = 0
    owed: Annotated[field_types.Int32, doc("Tickets that the next firing will replace.")] = 0


class OrderStatus(Base):
    """What has become of an order."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    strategy: Annotated[str, doc("The type of the strategy; OneTime if the order has none.")] = ""
    desired_replicas: Annotated[
        field_types.Int32,
        doc("Tickets there should be: replicas, or the number of eligible nodes."),
    ] = 0
    replicas: Annotated[
        field_types.Int32, doc("Tickets there are, or the number of eligible nodes.")
    ] = 0
    available_replicas: Annotated[field_types.Int32, doc("Tickets that can be claimed now.")] = 0
    unavailable_replicas: Annotated[field_types.Int32, doc("Tickets that hold nothing yet.")] = 0
    claimed_replicas: Annotated[field_types.Int32, doc("Tickets that have a pod.")] = 0
    terminal_replicas: Annotated[field_types.Int32, doc("Tickets that have ended.")] = 0
    updated_replicas: Annotated[
        field_types.Int32, doc("Tickets made from the present template.")
    ] = 0
    issued_replicas: Annotated[
        field_types.Int32,
        doc(
            "The replicas that tickets were issued for; only more issues more. It falls with replicas,"
            " but not where OneTime meets Never."
        ),
    ] = 0
    next_index: Annotated[
        field_types.Count, doc("The number in the name of the next ticket; none is used twice.")
    ] = 0
    made_index: Annotated[
        field_types.Count, doc("All tickets with a lower number have been made, or are not wanted.")
    ] = 0
    pools: Annotated[
        tuple[TicketPool, ...],
        doc("The tickets that can still be claimed.", max_items=MOST_WINDOWS),
    ] = ()
    opened: Annotated[bool, doc("Whether minAvailable was once reached.")] = False
    last_schedule_time: Annotated[datetime | None, doc("The last firing acted on.")] = None
    next_schedule_time: Annotated[datetime | None, doc("The next firing.")] = None
    last_renewal_time: Annotated[
        datetime | None, doc("The last firing that renewed the tickets, where firings do.")
    ] = None
    label_selector: Annotated[str, doc("Selects the tickets, for the scale subresource.")] = ""
    collision_count: Annotated[int | None, doc("Names that were taken.", minimum=0)] = None
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


ORDERS: Kind[Order] = Kind(GROUP, VERSION, "Order", "orders", Order)

DEFINITION = Definition(
    ORDERS,
    short_names=("kord",),
    columns=(
        Column("Strategy", ".status.strategy"),
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
)
