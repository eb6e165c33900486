"""Machines that are started and stopped by calendar (`manager.kotaico.de`): Resource, ResourceMonitor, Booking, BookingScheduler.

The booking rules, the providers and the console read these types, `manifests` makes CRDs of them. This group writes its
members in snake_case, `bookingTemplate` alone excepted; conditions keep Kubernetes' spelling because tools look for it.
`booked_until` is a text, since an empty one means "off".
"""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from kubeloop.objects.meta import Base, Kind, Object
from kubeloop.schema import field_types
from kubeloop.schema.crd import Column, Definition
from kubeloop.schema.schema_types import Conditions
from kubeloop.schema.structural import Refusal, Rule, doc

GROUP = "manager.kotaico.de"
VERSION = "v1"

RESOURCE_FINALIZER = "manager.kotaico.de/resource"
BOOKING_FINALIZER = "manager.kotaico.de/booking"
FORCE_RELEASE_ANNOTATION = "manager.kotaico.de/force-release"
"""On a resource or booking that is being deleted: go although the cloud cannot be reached."""

APPLICATION_TAG = "resource-booking-application"
MANAGED_TAG = "resource-booking-managed"
PROTECTED_TAG = "resource-booking-protected"
LOCKED_BY_TAG = "resource-booking-locked-by"
LOCKED_UNTIL_TAG = "resource-booking-locked-until"
LOCKED_REF_TAG = "resource-booking-locked-ref"
LEGACY_TAG_PREFIX = "resource-booking/"
"""What tags began with until August 2025; still read."""


class ResourceCondition(StrEnum):
    """What is judged of a resource."""

    LOCKED = "Locked"
    READY = "Ready"
    DEGRADED = "Degraded"
    CLOUD_REACHABLE = "CloudReachable"


class BookingCondition(StrEnum):
    """What is judged of a booking."""

    ADMITTED = "Admitted"
    LOCKED = "Locked"
    READY = "Ready"


class Reason(StrEnum):
    """Why a resource or a booking is not further than it is."""

    LOCKED_BY_OTHER = "LockedByOther"
    RESOURCE_NOT_FOUND = "ResourceNotFound"
    RESOURCE_AMBIGUOUS = "ResourceAmbiguous"
    UNSTOPPABLE = "Unstoppable"


class ProviderType(StrEnum):
    """Where machines live."""

    EC2 = "ec2"
    RDS = "rds"
    SIMULATED = "simulated"


class IdlePolicy(StrEnum):
    """What happens to running machines that nobody has booked."""

    STOP = "Stop"
    RELEASE = "Release"
    IGNORE = "Ignore"


class ConflictPolicy(StrEnum):
    """What happens to a booking whose time another user has taken."""

    REJECT = "Reject"
    QUEUE = "Queue"
    SHARE = "Share"
    PREEMPT = "Preempt"


class DeletionPolicy(StrEnum):
    """What happens to the machines of a deleted resource."""

    LEAVE = "Leave"
    STOP = "Stop"


class ResourceState(StrEnum):
    """Whether the machines of a resource run."""

    STOPPED = "STOPPED"
    PENDING = "PENDING"
    RUNNING = "RUNNING"


class BookingState(StrEnum):
    """How far a booking is; the first three are the original's words."""

    SCHEDULED = "SCHEDULED"
    IN_PROGRESS = "IN PROGRESS"
    FINISHED = "FINISHED"
    CONFLICT = "CONFLICT"
    WAITING = "WAITING"
    PENDING_APPROVAL = "PENDING APPROVAL"
    REJECTED = "REJECTED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class Channel(StrEnum):
    """How people are told."""

    EMAIL = "email"
    WEBHOOK = "webhook"
    SLACK = "slack"


class Snake(Base, rename=None):
    """What structs of this group are: snake_case on the wire."""


class ResourceSpec(Snake):
    """Which machines, and how they are treated."""

    tag: Annotated[
        str,
        doc("The value of the cloud tag that its machines share.", min_length=1, max_length=256),
    ]
    type: Annotated[ProviderType, doc("Where the machines live.")]
    booked_by: Annotated[str, doc("Who holds it by hand.", max_length=256)] = ""
    booked_until: Annotated[
        field_types.InstantOrEmpty, doc("Held by hand until then; empty if nobody does.")
    ] = ""
    idle_policy: Annotated[
        IdlePolicy,
        doc(
            "Unbooked machines are stopped, stopped only if a booking had started them, or left alone."
        ),
    ] = IdlePolicy.STOP
    conflict_policy: Annotated[
        ConflictPolicy, doc("What happens when two users want the same time.")
    ] = ConflictPolicy.REJECT
    deletion_policy: Annotated[
        DeletionPolicy, doc("What happens to the machines when this object goes.")
    ] = DeletionPolicy.LEAVE
    turnaround: Annotated[field_types.Count, doc("Minutes kept free between two users.")] = 0
    warm_up: Annotated[field_types.Count, doc("Minutes the machines are started early.")] = 0
    grace: Annotated[
        field_types.Count, doc("Minutes after it appeared in which nothing is stopped.")
    ] = 0
    depends_on: Annotated[
        tuple[field_types.Name, ...],
        doc("Resources that start before it and stop after it.", list_type="set", max_items=32),
    ] = ()
    preferred_instance_types: Annotated[
        tuple[field_types.Text, ...], doc("What to try when there is no capacity.", max_items=16)
    ] = ()
    region: Annotated[str, doc("The region; the operator's if absent.", max_length=64)] = ""
    role_arn: Annotated[
        str, doc("The role to take on; the operator's if absent.", max_length=2048)
    ] = ""


class ScheduledUse(Snake):
    """A booking that was let in."""

    uid: Annotated[str, doc("Its UID.", min_length=1, max_length=64)]
    name: Annotated[str, doc("Its name.", max_length=253)]
    start_at: Annotated[datetime, doc("When it starts.")]
    end_at: Annotated[datetime, doc("When it ends.")]
    user_id: Annotated[str, doc("For whom.", max_length=256)]
    priority: Annotated[int, doc("How much it matters.")] = 0


class Member(Snake):
    """One machine."""

    id: Annotated[field_types.Text, doc("What the provider calls it.")]
    state: Annotated[str, doc("What the provider says of it.", max_length=64)] = ""
    reason: Annotated[str, doc("What is wrong with it.", max_length=1024)] = ""


class ScalingGroup(Snake):
    """The size a group of machines had before it was stopped."""

    name: Annotated[field_types.Text, doc("What the provider calls it.")]
    minimum: Annotated[field_types.Count, doc("Its least size.")] = 0
    maximum: Annotated[field_types.Count, doc("Its greatest size.")] = 0
    desired: Annotated[field_types.Count, doc("Its size.")] = 0


class ResourceStatus(Snake):
    """What the machines do."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    instances: Annotated[field_types.Count, doc("Machines found.")] = 0
    running: Annotated[field_types.Count, doc("Machines that run.")] = 0
    status: Annotated[ResourceState | None, doc("Whether they run.")] = None
    locked_by: Annotated[str, doc("Who has it.", max_length=256)] = ""
    locked_until: Annotated[str, doc("Until when.", max_length=64)] = ""
    allocations: Annotated[
        tuple[ScheduledUse, ...],
        doc("The calendar.", list_type="map", list_keys=["uid"], max_items=2000),
    ] = ()
    members: Annotated[
        tuple[Member, ...], doc("The machines.", list_type="map", list_keys=["id"], max_items=1000)
    ] = ()
    scaling_groups: Annotated[
        tuple[ScalingGroup, ...],
        doc("Sizes to go back to.", list_type="map", list_keys=["name"], max_items=100),
    ] = ()
    retry_at: Annotated[datetime | None, doc("When the cloud is asked again.")] = None
    conditions: Conditions = ()


class ResourceMonitorSpec(Snake):
    """Where to look for machines."""

    type: Annotated[ProviderType, doc("Where the machines live.")]
    region: Annotated[str, doc("The region; the operator's if absent.", max_length=64)] = ""
    role_arn: Annotated[
        str, doc("The role to take on; the operator's if absent.", max_length=2048)
    ] = ""
    grace: Annotated[
        field_types.Count, doc("Minutes in which nothing of a resource it finds is stopped.")
    ] = 0


class ResourceMonitorStatus(Snake):
    """What was found."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    resources: Annotated[field_types.Count, doc("Groups of machines found.")] = 0
    last_sync: Annotated[datetime | None, doc("When the cloud last answered.")] = None
    conditions: Conditions = ()


class Notification(Snake):
    """Somebody to tell."""

    type: Annotated[Channel, doc("How.")]
    recipient: Annotated[str, doc("Whom.", min_length=1, max_length=2048)]


class BookingTerms(Snake):
    """What is booked and for whom, whenever that is."""

    resource_name: Annotated[
        field_types.Text, doc("The resource, by its name or by the tag of its machines.")
    ]
    user_id: Annotated[str, doc("For whom.", min_length=1, max_length=256)]
    notifications: Annotated[
        tuple[Notification, ...], doc("Who is told before the end.", max_items=32)
    ] = ()
    leads: Annotated[
        tuple[field_types.PositiveDuration, ...],
        doc("How long before the end they are told.", list_type="set", max_items=16),
    ] = ("20m",)
    priority: Annotated[int, doc("The higher wins where a resource allows preemption.")] = 0


class BookingTemplate(BookingTerms):
    """What bookings of a scheduler start from; their times are filled in."""

    start_at: Annotated[field_types.Instant | None, doc("Not used: the schedule says.")] = None
    end_at: Annotated[field_types.Instant | None, doc("Not used: the schedule says.")] = None


class BookingSpec(BookingTerms, kw_only=True):
    """A resource, a user and a span of time."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("self.end_at > self.start_at", "end_at must be later than start_at", field=".end_at"),
    )

    start_at: Annotated[field_types.Instant, doc("When it starts, with an offset or Z.")]
    end_at: Annotated[field_types.Instant, doc("When it ends, with an offset or Z.")]


class Delivery(Snake):
    """A message that was sent, or is to be."""

    event: Annotated[field_types.Text, doc("What it tells.")]
    lead: Annotated[str, doc("How long before the end.", max_length=64)]
    recipient: Annotated[str, doc("Whom it tells.", max_length=2048)]
    end_at: Annotated[datetime | None, doc("The end it speaks of.")] = None
    sent_at: Annotated[datetime | None, doc("When it went out.")] = None
    attempts: Annotated[field_types.Count, doc("How often it was tried.")] = 0


class BookingStatus(Snake):
    """What has become of a booking."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    status: Annotated[BookingState | None, doc("How far it is.")] = None
    ready: Annotated[bool, doc("Whether all machines run.")] = False
    resource: Annotated[str, doc("The resource that was meant.", max_length=253)] = ""
    reason: Annotated[str, doc("Why, in one word.", max_length=1024)] = ""
    message: Annotated[str, doc("Why, in a sentence.", max_length=32768)] = ""
    notification_sent: Annotated[bool, doc("Whether everybody was told.")] = False
    notifications: Annotated[tuple[Delivery, ...], doc("Who was told what.", max_items=512)] = ()
    conditions: Conditions = ()


class BookingSchedulerSpec(Snake):
    """Bookings that come again."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.schedule) != has(self.rrule)",
            "schedule must be given, or rrule, and not both",
            field=".schedule",
        ),
        Rule(
            "!has(self.until) || !has(self.count)",
            "count must not be used together with until; both say when it ends",
            field=".count",
            reason=Refusal.FORBIDDEN,
        ),
        Rule(
            "!has(self.schedule) || !self.schedule.contains('TZ=') || !has(self.time_zone) || size(self.time_zone) == 0",
            "time_zone must not be used with a schedule that names its own zone",
            field=".time_zone",
            reason=Refusal.FORBIDDEN,
        ),
    )

    duration: Annotated[int, doc("Minutes each booking lasts.", minimum=1, maximum=527040)]
    booking_template: Annotated[BookingTemplate, doc("What each booking is like.")] = msgspec.field(
        name="bookingTemplate"
    )
    schedule: Annotated[
        field_types.ZonedSchedule | None,
        doc("The starts, as cron, @daily and the like, or @every 1h."),
    ] = None
    rrule: Annotated[field_types.Recurrence | None, doc("The starts, as an iCalendar rule.")] = None
    time_zone: Annotated[
        field_types.TimeZone | None, doc("The zone of the starts; UTC if absent.")
    ] = None
    until: Annotated[field_types.Instant | None, doc("No start after it.")] = None
    count: Annotated[int | None, doc("How many bookings in all.", minimum=1)] = None
    exdates: Annotated[
        tuple[date, ...], doc("Days without a booking.", list_type="set", max_items=512)
    ] = ()
    calendar: Annotated[str, doc("The holidays without a booking.", max_length=64)] = ""
    suspend: Annotated[bool, doc("Makes no further bookings.")] = False
    starting_deadline_seconds: Annotated[
        int | None, doc("How late a booking may still be made; until its end if absent.", minimum=0)
    ] = None
    history_limit: Annotated[
        int | None, doc("How many finished bookings are kept; all if absent.", minimum=0)
    ] = None
    horizon: Annotated[field_types.PositiveDuration, doc("How far ahead bookings are made.")] = (
        "168h"
    )


class BookingSchedulerStatus(Snake):
    """What has become of a scheduler."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    next: Annotated[datetime | None, doc("The next start.")] = None
    last: Annotated[datetime | None, doc("The last start for which a booking was made.")] = None
    created: Annotated[field_types.Count, doc("How many bookings were made.")] = 0
    conditions: Conditions = ()


class Resource(Object, kw_only=True):
    """A named group of machines."""

    spec: Annotated[ResourceSpec, doc("Which machines.")]
    status: Annotated[ResourceStatus, doc("What they do.")] = ResourceStatus()


class ResourceMonitor(Object, kw_only=True):
    """Finds machines in a cloud and makes resources of them."""

    spec: Annotated[ResourceMonitorSpec, doc("Where to look.")]
    status: Annotated[ResourceMonitorStatus, doc("What was found.")] = ResourceMonitorStatus()


class Booking(Object, kw_only=True):
    """A resource for a user for a span of time."""

    spec: Annotated[BookingSpec, doc("What is booked.")]
    status: Annotated[BookingStatus, doc("What has become of it.")] = BookingStatus()


class BookingScheduler(Object, kw_only=True):
    """Makes bookings that come again."""

    spec: Annotated[BookingSchedulerSpec, doc("Which bookings, when.")]
    status: Annotated[BookingSchedulerStatus, doc("What has become of it.")] = (
        BookingSchedulerStatus()
    )


RESOURCES: Kind[Resource] = Kind(GROUP, VERSION, "Resource", "resources", Resource)
RESOURCE_MONITORS: Kind[ResourceMonitor] = Kind(
    GROUP, VERSION, "ResourceMonitor", "resourcemonitors", ResourceMonitor
)
BOOKINGS: Kind[Booking] = Kind(GROUP, VERSION, "Booking", "bookings", Booking)
BOOKING_SCHEDULERS: Kind[BookingScheduler] = Kind(
    GROUP, VERSION, "BookingScheduler", "bookingschedulers", BookingScheduler
)

DEFINITIONS = (
    Definition(
        RESOURCES,
        short_names=("bres",),
        columns=(
            Column("LOCKED BY", ".status.locked_by"),
            Column("LOCKED UNTIL", ".status.locked_until"),
            Column("INSTANCES", ".status.instances", "integer"),
            Column("RUNNING", ".status.running", "integer"),
            Column("STATUS", ".status.status"),
        ),
    ),
    Definition(RESOURCE_MONITORS, short_names=("rmon",)),
    Definition(
        BOOKINGS,
        short_names=("bk",),
        columns=(
            Column("START", ".spec.start_at"),
            Column("END", ".spec.end_at"),
            Column("STATUS", ".status.status"),
        ),
    ),
    Definition(
        BOOKING_SCHEDULERS,
        short_names=("bsched",),
        columns=(
            Column("SCHEDULE", ".spec.schedule"),
            Column("DURATION", ".spec.duration", "integer"),
            Column("NEXT", ".status.next"),
        ),
    ),
)
