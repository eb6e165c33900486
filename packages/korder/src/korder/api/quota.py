"""Quotas: how much may be held, by whom and when (`core.korder.dev`).

The quota rule, the webhooks and the console read these types, `manifests` makes a CRD of them. A limit is a quantity,
except `max-duration`, which is a length of time or whole seconds; the two are told apart by the key. A quota without
limits gets `DEFAULT_HARD` from the rule, because an empty map is a value and no schema default would touch it.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, ClassVar

import msgspec

from korder.api.reserve import GROUP, VERSION
from kubeloop.objects.meta import Base, Kind, Object
from kubeloop.objects.selector import LabelSelector
from kubeloop.schema import field_types
from kubeloop.schema.crd import AGE, Column, Definition
from kubeloop.schema.schema_types import SELECTS_SOMETHING, Conditions
from kubeloop.schema.structural import Refusal, Rule, doc

QUOTA_FINALIZER = "korder.dev/quota-finalizer"

ORDERS_KEY = "orders"
TICKETS_KEY = "tickets"
RESERVED_PREFIX = "reserved."
MAX_DURATION_KEY = "max-duration"

MOST_PENDING = 2_000
"""Tickets that can be charged ahead at a time."""

MOST_MULTIPLIED = 1_000_000
"""The greatest multiplier of a window: what it makes of a limit can still be written down."""

DEFAULT_HARD: Mapping[str, str] = {
    ORDERS_KEY: "100",
    TICKETS_KEY: "1000",
    f"{RESERVED_PREFIX}cpu": "1000",
    f"{RESERVED_PREFIX}memory": "2000Gi",
}
DEFAULT_MAX_DURATION = "604800"


class QuotaCondition(StrEnum):
    """What is judged of a quota."""

    READY = "Ready"
    ENFORCED = "Enforced"
    EXCEEDED = "Exceeded"


class QuotaReason(StrEnum):
    """How a quota stands, and what has happened to it."""

    COUNTED = "Counted"
    INVALID = "InvalidQuota"
    REFUSES = "Refuses"
    MAKES_WAIT = "MakesWait"
    EXCEEDED = "LimitExceeded"
    WITHIN_LIMITS = "WithinLimits"
    LIMITS_CHANGED = "LimitsChanged"


class ScopeType(StrEnum):
    """By what the objects of a quota are found."""

    CLUSTER = "Cluster"
    NAMESPACE_SELECTOR = "NamespaceSelector"
    NAMESPACE_LIST = "NamespaceList"
    OBJECT_SELECTOR = "ObjectSelector"


class Enforcement(StrEnum):
    """What happens to a wish beyond the limit."""

    REFUSE = "Refuse"
    WAIT = "Wait"


class Weekday(StrEnum):
    """A day of the week."""

    MONDAY = "Mon"
    TUESDAY = "Tue"
    WEDNESDAY = "Wed"
    THURSDAY = "Thu"
    FRIDAY = "Fri"
    SATURDAY = "Sat"
    SUNDAY = "Sun"


def _goes_with(field: str, scope: ScopeType) -> Rule:
    return Rule(
        f"has(self.{field}) == (self.type == '{scope}')",
        f"{field} must be given for type {scope}, and only then",
        field=f".{field}",
    )


class Scope(Base):
    """What a quota applies to."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        _goes_with("namespaceSelector", ScopeType.NAMESPACE_SELECTOR),
        _goes_with("namespaces", ScopeType.NAMESPACE_LIST),
        _goes_with("objectSelector", ScopeType.OBJECT_SELECTOR),
    )

    type: Annotated[
        ScopeType,
        doc(
            "The whole cluster, namespaces by label or name, or objects by label.",
            Rule("self == oldSelf", "scope.type must not change; make a new quota instead"),
        ),
    ] = ScopeType.CLUSTER
    namespace_selector: Annotated[
        LabelSelector | None, doc("Which namespaces.", SELECTS_SOMETHING)
    ] = None
    namespaces: Annotated[
        tuple[field_types.Label, ...],
        doc("Which namespaces, by name.", min_items=1, max_items=512, list_type="set"),
    ] = ()
    object_selector: Annotated[
        LabelSelector | None, doc("Which orders and tickets.", SELECTS_SOMETHING)
    ] = None


_LONGEST = f"self['{MAX_DURATION_KEY}']"
_LONGEST_SECONDS = 1_000_000_000

# Only functions whose price does not grow with a text are used: a limit may be a number, so Kubernetes 1.28 takes its
# text to be as large as a request. The sizes keep away what no duration can hold, on which the rule itself would fail.
_MAX_DURATION = Rule(
    f"!('{MAX_DURATION_KEY}' in self) || (type({_LONGEST}) == int"
    f" ? {_LONGEST} > 0 && {_LONGEST} <= {_LONGEST_SECONDS}"
    f" : ['h', 'm', 's'].exists(unit, {_LONGEST}.endsWith(unit))"
    f" ? size({_LONGEST}) <= ({_LONGEST}.endsWith('h') ? 7 : {_LONGEST}.endsWith('m') ? 9 : 12)"
    f" && duration({_LONGEST}) > duration('0s')"
    f" : {[*'0123456789']}.exists(digit, {_LONGEST}.endsWith(digit))"
    f" && double({_LONGEST}) > 0.0 && double({_LONGEST}) <= {_LONGEST_SECONDS}.0"
    f" && double({_LONGEST}) == double(int(double({_LONGEST}))))",
    "must have as max-duration a duration such as 24h or whole seconds such as 86400, longer than zero and no longer"
    f" than {_LONGEST_SECONDS} seconds",
)
_ONLY_MAX_DURATION = Rule(
    f"self.all(key, key == '{MAX_DURATION_KEY}' || type(self[key]) == int"
    " || !(self[key].endsWith('h') || self[key].endsWith('s')))",
    "must have a duration only as max-duration; every other limit must be a quantity such as 20 or 40Gi",
)
_LIMITS = doc("", _MAX_DURATION, _ONLY_MAX_DURATION)
"""What holds for every map of limits that people write."""


class TimeWindow(Base):
    """Other limits at certain times."""

    ONE_OF: ClassVar[tuple[str, ...]] = ("multiplier", "hard")
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.schedule) != (has(self.weekdays) || has(self.hours))",
            "schedule must be used, or weekdays and hours, and not both",
            field=".schedule",
        ),
        Rule(
            "!has(self.duration) || has(self.schedule)",
            "duration must be used only with schedule, whose firings it follows",
            field=".duration",
        ),
    )

    name: Annotated[field_types.Text, doc("What people call it.")]
    schedule: Annotated[
        field_types.Schedule,
        doc(
            "When it is open: from each firing for duration, or in every hour that fits if there is none.",
            min_length=1,
        ),
    ] = ""
    duration: Annotated[
        field_types.PositiveDuration | None, doc("How long after a firing it stays open.")
    ] = None
    weekdays: Annotated[
        tuple[Weekday, ...], doc("The days it is open.", min_items=1, max_items=7, list_type="set")
    ] = ()
    hours: Annotated[
        field_types.ClockRange | None, doc("The hours of those days, as 09:00-17:00.")
    ] = None
    time_zone: Annotated[field_types.TimeZone, doc("The zone of schedule, days and hours.")] = "UTC"
    multiplier: Annotated[
        str | int | float | None,
        doc(
            "What every limit is multiplied with, as a number or as text.",
            pattern=field_types.explained(
                r"0*(?:[0-9]{1,6}(?:\.[0-9]+)?|1000000(?:\.0+)?)",
                f"a number such as 0.5 or 2, not less than zero and not more than {MOST_MULTIPLIED}",
            ),
            max_length=32,
            minimum=0,
            maximum=MOST_MULTIPLIED,
        ),
    ] = None
    hard: Annotated[
        Mapping[str, field_types.Limit],
        _LIMITS,
        doc("Limits that take the place of the ordinary ones."),
    ] = {}
    priority: Annotated[int, doc("The highest open window counts, then the strictest.")] = 0

    @property
    def factor(self) -> Fraction | None:
        """The multiplier as it was written, exactly; None in a window that has limits of its own."""
        return None if self.multiplier is None else Fraction(str(self.multiplier))


def _key(allocation: str) -> str:
    """Says in CEL what `Allocation.key` says."""
    namespace = f"{allocation}.__namespace__"
    return f"(has({allocation}.name) ? {allocation}.name : has({namespace}) ? {namespace} : '')"


class Allocation(Base):
    """A limit inside the quota, for one namespace or shared by all that a selector finds."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.__namespace__) != has(self.namespaceSelector)",
            "namespace or namespaceSelector must be given, and not both",
            field=".namespace",
        ),
        Rule(
            "has(self.name) || !has(self.namespaceSelector)",
            "name must be given with namespaceSelector; its use is shown by that name",
            field=".name",
            reason=Refusal.REQUIRED,
        ),
    )

    limits: Annotated[
        Mapping[str, field_types.Limit],
        _LIMITS,
        doc("How much of the quota they may use, all of them together."),
    ]
    name: Annotated[
        field_types.Label | None, doc("What its use is shown by; the namespace if absent.")
    ] = None
    namespace: Annotated[field_types.Label | None, doc("The one namespace.")] = None
    namespace_selector: Annotated[
        LabelSelector | None,
        doc("The namespaces, by label; they share one limit.", SELECTS_SOMETHING),
    ] = None
    borrow: Annotated[bool, doc("Whether they may use what others leave free.")] = False

    @property
    def key(self) -> str:
        """The name that its use is shown by."""
        return self.name or self.namespace or ""


_NAMESPACES_ONCE = Rule(
    "self.all(one, !has(one.__namespace__)"
    " || self.exists_one(other, has(other.__namespace__) && other.__namespace__ == one.__namespace__))",
    "must not name a namespace twice; put its limits together",
)
_NAMES_ONCE = Rule(
    f"self.all(one, {_key('one')} == '' || self.exists_one(other, {_key('other')} == {_key('one')}))",
    "must not use a name twice; without a name an allocation is called as its namespace",
)


class QuotaSpec(Base):
    """How much may be held."""

    scope: Annotated[Scope, doc("What the quota applies to.")] = Scope()
    hard: Annotated[
        Mapping[str, field_types.Limit],
        _LIMITS,
        doc(
            "Greatest number of orders and tickets, greatest sum of reserved.<resource>, longest max-duration."
        ),
    ] = {}
    time_windows: Annotated[
        tuple[TimeWindow, ...],
        doc("Other limits at certain times.", list_type="map", list_keys=["name"], max_items=32),
    ] = ()
    allocation: Annotated[
        tuple[Allocation, ...],
        doc(
            "Limits inside the quota for some namespaces.",
            _NAMESPACES_ONCE,
            _NAMES_ONCE,
            max_items=128,
        ),
    ] = ()
    enforcement: Annotated[
        Enforcement, doc("Refuse turns wishes beyond the limit away, Wait lets them queue.")
    ] = Enforcement.REFUSE


class PendingTicket(Base):
    """A ticket that is charged before it is made, so that two makers cannot both count on the same room."""

    namespace: Annotated[str, doc("Its namespace.", max_length=63)]
    name: Annotated[str, doc("Its name.", max_length=253)]
    owner_uid: Annotated[
        str, doc("The UID of the order that makes it; empty if none does.", max_length=64)
    ] = msgspec.field(default="", name="ownerUID")
    charge: Annotated[Mapping[str, field_types.Quantity], doc("What it counts for.")] = {}
    since: Annotated[datetime | None, doc("When it was charged.")] = None
    until: Annotated[
        datetime | None, doc("After this the charge is dropped, unless it has been renewed.")
    ] = None
    version: Annotated[
        field_types.Count, doc("The version that tickets had then; the ticket itself comes later.")
    ] = 0
    attempts: Annotated[field_types.Count, doc("How often somebody has set out to make it.")] = 0


class AllocationStatus(Base):
    """How much of an allocation is used."""

    name: Annotated[str, doc("The allocation's name, or its namespace.", max_length=63)]
    hard: Annotated[Mapping[str, field_types.Limit], doc("Its limits now.")] = {}
    used: Annotated[Mapping[str, field_types.Quantity], doc("What it uses.")] = {}


class QuotaStatus(Base):
    """What is used of a quota."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    hard: Annotated[
        Mapping[str, field_types.Limit], doc("The limits in force, windows included.")
    ] = {}
    used: Annotated[
        Mapping[str, field_types.Quantity], doc("What is used, pending tickets included.")
    ] = {}
    pending: Annotated[
        tuple[PendingTicket, ...],
        doc(
            "Tickets charged but not yet made.",
            list_type="map",
            list_keys=["namespace", "name"],
            max_items=MOST_PENDING,
        ),
    ] = ()
    tickets_version: Annotated[
        field_types.Count,
        doc("How much was seen of tickets, as a version; who has seen less may not charge."),
    ] = 0
    allocation: Annotated[
        tuple[AllocationStatus, ...],
        doc("Use by allocation.", list_type="map", list_keys=["name"], max_items=128),
    ] = ()
    active_time_window: Annotated[str, doc("The windows open now.")] = ""
    next_transition_time: Annotated[datetime | None, doc("When a window opens or closes next.")] = (
        None
    )
    conditions: Conditions = ()


class Quota(Object, kw_only=True):
    """A limit to what may be held."""

    spec: Annotated[QuotaSpec, doc("What is allowed.")]
    status: Annotated[QuotaStatus, doc("What is used.")] = QuotaStatus()


QUOTAS: Kind[Quota] = Kind(GROUP, VERSION, "Quota", "quotas", Quota, namespaced=False)

DEFINITIONS = (
    Definition(
        QUOTAS,
        short_names=("kquota",),
        columns=(
            Column("Scope", ".spec.scope.type"),
            Column("Tickets", ".status.used.tickets"),
            Column("Max-Tickets", ".status.hard.tickets"),
            Column("Window", ".status.activeTimeWindow"),
            AGE,
        ),
    ),
)
