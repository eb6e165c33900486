"""Operators cut into shards, and brakes for what they send (`kridge.kusionstack.io`): ShardingConfig and CircuitBreaker.

Manager and proxy read these types, `manifests` makes CRDs of them. A limit is written nested under `objectSelector`, as
the original's document has it; the flat form its code had is an alias, and `Limit.rule` gives whichever was used. An
empty selector is refused: it would switch isolation off without a word.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from kubeloop.objects.meta import Base, Kind, Object
from kubeloop.objects.selector import LabelSelector
from kubeloop.schema import field_types
from kubeloop.schema.crd import AGE, Column, Definition
from kubeloop.schema.schema_types import SELECTS_SOMETHING, Conditions, selects_something
from kubeloop.schema.structural import Refusal, Rule, doc

GROUP = "kridge.kusionstack.io"
VERSION = "v1alpha1"

BUCKETS = 32
"""Namespaces are spread over buckets 0..31."""

HASH_LABEL = "kridge.kusionstack.io/sharding-hash"
NAMESPACE_LABEL = "kridge.kusionstack.io/namespace"
CONTROL_LABEL = "kridge.kusionstack.io/control"
ENABLE_PROXY_LABEL = "kridge.kusionstack.io/enable-proxy"
SHARD_LABEL = "kridge.kusionstack.io/sharding-config-injected"
DISABLE_BREAKER_LABEL = "circuitbreaker.kridge.kusionstack.io/disable"
PROTECT_FINALIZER = "finalizer.kridge.kusionstack.io/protected"


class ShardingCondition(StrEnum):
    """What is judged of a shard."""

    READY = "Ready"
    OVERLAPPING = "Overlapping"
    ORPHANS = "Orphans"


class TriggerPolicy(StrEnum):
    """Whether a breaker opens by itself."""

    NORMAL = "Normal"
    LIMITER_ONLY = "LimiterOnly"
    FORCE_OPENED = "ForceOpened"
    FORCE_CLOSED = "ForceClosed"


class RecoverType(StrEnum):
    """How an open breaker closes."""

    MANUAL = "Manual"
    SLEEPING_WINDOW = "SleepingWindow"


class ValidatePolicy(StrEnum):
    """When a request costs a token; without a word, when it is sent."""

    AFTER_HTTP_SUCCESS = "AfterHttpSuccess"


class InterceptType(StrEnum):
    """Whether a rule lets traffic through or stops it; the short words are the original's manifests'."""

    WHITELIST = "Whitelist"
    BLACKLIST = "Blacklist"
    WHITE = "White"
    BLACK = "Black"

    @property
    def allows(self) -> bool:
        """Whether traffic is let through, by either word."""
        return self in (InterceptType.WHITELIST, InterceptType.WHITE)


class BucketHash(StrEnum):
    """How a namespace finds its bucket: evenly, or as the original did."""

    FNV = "fnv"
    LEGACY = "legacy"


class ContentType(StrEnum):
    """How the contents of a rule are read."""

    NORMAL = "Normal"
    REGEXP = "Regexp"


class BreakerState(StrEnum):
    """Whether requests are stopped."""

    CLOSED = "Closed"
    OPENED = "Opened"
    HALF_OPENED = "HalfOpened"


def _alone(field: str) -> Rule:
    return Rule(
        f"!self.{field}.exists(name, name == '*') || size(self.{field}) == 1",
        f"{field} must name '*' alone or not at all; '*' already means every one",
        field=f".{field}",
    )


_Names = Annotated[
    tuple[Annotated[str, doc(max_length=253)], ...],
    doc(list_type="set", min_items=1, max_items=64),
]


class RelatedResource(Base):
    """Kinds of objects."""

    RULES: ClassVar[tuple[Rule, ...]] = (_alone("apiGroups"), _alone("resources"))

    api_groups: Annotated[_Names, doc("Their groups; '*' alone means all.")]
    resources: Annotated[_Names, doc("Their plural names; '*' alone means all.")]


class ObjectSelector(Base):
    """Objects of some kinds, by their labels."""

    relate_resources: Annotated[
        tuple[RelatedResource, ...], doc("Which kinds; all if absent.", max_items=64)
    ] = ()
    selector: Annotated[LabelSelector | None, doc("Which labels.")] = None


class ObjectLimit(ObjectSelector):
    """Objects of some kinds, nested as documented or flat as the original's code had it."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.objectSelector) != (has(self.selector) || has(self.relateResources))",
            "objectSelector must be used, or the flat form with selector and relateResources, and not both",
            field=".objectSelector",
        ),
    )

    object_selector: Annotated[ObjectSelector | None, doc("Which objects.")] = None

    @property
    def rule(self) -> ObjectSelector:
        """The form that was used."""
        return self.object_selector or self


def _selects(path: str, when: str) -> Rule:
    return Rule(
        f"{when} || (has(self.{path}) && {selects_something(f'self.{path}')})",
        f"{path} must have matchLabels or matchExpressions; an empty one would isolate nothing",
        field=f".{path}",
    )


class Limit(ObjectLimit):
    """What the pods of a shard may see."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *ObjectLimit.RULES,
        _selects("objectSelector.selector", when="!has(self.objectSelector)"),
        _selects("selector", when="has(self.objectSelector)"),
    )


class ControllerConfig(Base):
    """How the operator elects its leader."""

    leader_election_name: Annotated[field_types.Text, doc("The name of its lock.")]


class WebhookConfig(Base):
    """Where the operator's webhook listens."""

    cert_dir: Annotated[str, doc("The folder of its certificate.", min_length=1, max_length=4096)]
    port: Annotated[int, doc("Its port.", minimum=1, maximum=65535)]


class Canary(Base):
    """The slice for the new version."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.inNamespaces) || has(self.inShardHash)",
            "inNamespaces must be given, or inShardHash, or the canary would own nothing",
            field=".inNamespaces",
            reason=Refusal.REQUIRED,
        ),
    )

    replicas: Annotated[int, doc("How many of the pods are canaries.", minimum=1)]
    in_namespaces: Annotated[
        tuple[field_types.Label, ...],
        doc("Namespaces they own.", list_type="set", min_items=1, max_items=512),
    ] = ()
    in_shard_hash: Annotated[
        tuple[Annotated[int, doc(minimum=0, maximum=BUCKETS - 1)], ...],
        doc("Buckets they own.", list_type="set", min_items=1, max_items=BUCKETS),
    ] = ()


class AutoSharding(Base):
    """Shards of equal size."""

    sharding_size: Annotated[int, doc("How many shards.", minimum=1, maximum=BUCKETS)]
    every_shard_replicas: Annotated[int, doc("How many pods each has.", minimum=1)]


class RootConfig(Base):
    """Makes a ShardingConfig for each shard of a StatefulSet."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.auto) || has(self.canary)",
            "auto must be given, or canary, or there would be no shard",
            field=".auto",
            reason=Refusal.REQUIRED,
        ),
    )

    prefix: Annotated[field_types.Label, doc("What their names begin with.", max_length=40)]
    target_stateful_set: Annotated[field_types.Name, doc("Whose pods are shared out.")]
    disable: Annotated[bool, doc("Takes them away again.")] = False
    hash: Annotated[BucketHash, doc("How namespaces are spread over buckets.")] = BucketHash.FNV
    canary: Annotated[Canary | None, doc("The slice for the new version.")] = None
    auto: Annotated[AutoSharding | None, doc("The shards for everything else.")] = None
    resource_selector: Annotated[
        tuple[ObjectLimit, ...],
        doc("What every shard's limits start from.", max_items=32),
    ] = ()


class ShardingConfigSpec(Base):
    """Which pods make up a shard and what they may see."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.root) || has(self.selector)",
            "selector must be given unless root is",
            field=".selector",
            reason=Refusal.REQUIRED,
        ),
        Rule(
            "has(self.root) || (has(self.limits) && size(self.limits) > 0)",
            "limits must have an entry unless root is given; without one nothing is isolated",
            field=".limits",
            reason=Refusal.REQUIRED,
        ),
        Rule(
            "has(self.selector) == has(oldSelf.selector)"
            " && (!has(self.selector) || self.selector == oldSelf.selector)",
            "selector must not change, or two shards could own one pod; make a new ShardingConfig instead",
            field=".selector",
        ),
    )

    selector: Annotated[
        LabelSelector | None, doc("The operator's pods of this shard.", SELECTS_SOMETHING)
    ] = None
    controller: Annotated[ControllerConfig | None, doc("How the operator elects its leader.")] = (
        None
    )
    webhook: Annotated[WebhookConfig | None, doc("Where its webhook listens.")] = None
    limits: Annotated[tuple[Limit, ...], doc("What the pods may see.", max_items=32)] = ()
    root: Annotated[RootConfig | None, doc("Makes shards instead of being one.")] = None


class RootStatus(Base):
    """What a root has made."""

    child_sharding_configs: Annotated[
        tuple[str, ...], doc("Names of its shards.", list_type="set", max_items=64)
    ] = ()


class ShardingConfigStatus(Base):
    """What has become of a shard."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    root: Annotated[RootStatus | None, doc("What a root has made.")] = None
    pods: Annotated[field_types.Count, doc("Pods in the shard.")] = 0
    owned_namespaces: Annotated[field_types.Count, doc("Namespaces it owns.")] = 0
    owned_objects: Annotated[field_types.Count, doc("Objects it owns.")] = 0
    conditions: Conditions = ()


class ResourceRule(Base):
    """Requests to the API server; '*' means every one."""

    api_groups: Annotated[_Names, doc("Groups.")]
    resources: Annotated[_Names, doc("Plural names, with subresource if it is meant.")]
    verbs: Annotated[_Names, doc("Verbs.")]
    namespaces: Annotated[_Names, doc("Namespaces.")]


class RestRule(Base):
    """Requests to anybody else."""

    url: Annotated[str, doc("The URL, or its beginning and /*.", min_length=1, max_length=2048)]
    method: Annotated[str, doc("The HTTP method.", min_length=1, max_length=16)]


class Bucket(Base):
    """A bucket of tokens: `limit` come back in each `interval`, `burst` fit in."""

    burst: Annotated[int, doc("How many fit.", minimum=1, maximum=4294967295)]
    interval: Annotated[field_types.PositiveDuration, doc("How long `limit` take to come back.")]
    limit: Annotated[int, doc("How many come back.", minimum=1, maximum=4294967295)]


class RecoverPolicy(Base):
    """How an open breaker closes."""

    type: Annotated[RecoverType, doc("By hand, or after a while.")]
    sleeping_window_size: Annotated[field_types.PositiveDuration | None, doc("After how long.")] = (
        None
    )


class RateLimiting(Base):
    """How often some requests may be sent."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.resourceRules) || has(self.restRules)",
            "resourceRules must be given, or restRules, or the limit would meet no request",
            field=".resourceRules",
            reason=Refusal.REQUIRED,
        ),
        Rule(
            "self.triggerPolicy != 'Normal' || has(self.recoverPolicy)",
            "recoverPolicy must be given for triggerPolicy Normal, or an open breaker would never close",
            field=".recoverPolicy",
            reason=Refusal.REQUIRED,
        ),
        Rule(
            "!has(self.recoverPolicy) || self.recoverPolicy.type != 'SleepingWindow'"
            " || has(self.recoverPolicy.sleepingWindowSize)"
            " || (has(self.properties) && 'sleepingWindowSize' in self.properties)",
            "recoverPolicy.sleepingWindowSize must be given for type SleepingWindow",
            field=".recoverPolicy.sleepingWindowSize",
            reason=Refusal.REQUIRED,
        ),
    )

    name: Annotated[field_types.Text, doc("What people call it.")]
    bucket: Annotated[Bucket, doc("How often.")]
    trigger_policy: Annotated[TriggerPolicy, doc("Whether the breaker opens when it is too often.")]
    resource_rules: Annotated[
        tuple[ResourceRule, ...], doc("Requests to the API server.", min_items=1, max_items=64)
    ] = ()
    rest_rules: Annotated[
        tuple[RestRule, ...], doc("Requests to anybody else.", min_items=1, max_items=64)
    ] = ()
    recover_policy: Annotated[RecoverPolicy | None, doc("How the open breaker closes.")] = None
    validate_policy: Annotated[
        ValidatePolicy | None, doc("When a request costs a token; when it is sent if absent.")
    ] = None
    properties: Annotated[Mapping[str, str], doc("Further settings.")] = {}


class TrafficInterceptRule(Base):
    """Hosts that may or may not be called."""

    name: Annotated[field_types.Text, doc("What people call it.")]
    intercept_type: Annotated[InterceptType, doc("Whether they may.")]
    content_type: Annotated[ContentType, doc("How contents is read.")]
    contents: Annotated[
        tuple[Annotated[str, doc(min_length=1, max_length=1024)], ...],
        doc("The hosts.", min_items=1, max_items=256),
    ]
    methods: Annotated[_Names, doc("The HTTP methods; '*' means all.")]


class CircuitBreakerSpec(Base):
    """Brakes for the pods of an operator."""

    selector: Annotated[LabelSelector, doc("The pods.", SELECTS_SOMETHING)]
    rate_limitings: Annotated[
        tuple[RateLimiting, ...],
        doc("How often they may send.", list_type="map", list_keys=["name"], max_items=64),
    ] = ()
    traffic_intercept_rules: Annotated[
        tuple[TrafficInterceptRule, ...],
        doc("Whom they may call.", list_type="map", list_keys=["name"], max_items=64),
    ] = ()


class LimitingSnapshot(Base):
    """A breaker as a pod sees it."""

    name: Annotated[str, doc("Its rule.", max_length=253)]
    state: Annotated[BreakerState, doc("Whether it stops requests.")]
    last_transition_time: Annotated[datetime | None, doc("Since when.")] = None


class TargetStatus(Base):
    """What one pod says."""

    pod_name: Annotated[str, doc("The pod.", max_length=253)]
    pod_ip: Annotated[str, doc("Its address.", max_length=64)] = msgspec.field(
        default="", name="podIP"
    )
    config_hash: Annotated[str, doc("The rules it has.", max_length=128)] = ""
    message: Annotated[str, doc("What is wrong.", max_length=1024)] = ""
    limiting_snapshots: Annotated[
        tuple[LimitingSnapshot, ...],
        doc("Its breakers.", list_type="map", list_keys=["name"], max_items=64),
    ] = ()


class CircuitBreakerStatus(Base):
    """What the pods say."""

    observed_generation: Annotated[field_types.Count, doc("The generation that was acted on.")] = 0
    last_updated_time: Annotated[datetime | None, doc("When this was written.")] = None
    current_spec_hash: Annotated[str, doc("The rules they should have.", max_length=128)] = ""
    target_status: Annotated[
        tuple[TargetStatus, ...],
        doc("Pod by pod.", list_type="map", list_keys=["podName"], max_items=2000),
    ] = ()
    conditions: Conditions = ()


class ShardingConfig(Object, kw_only=True):
    """One shard of an operator, or the root of several."""

    spec: Annotated[ShardingConfigSpec, doc("Which pods, and what they may see.")]
    status: Annotated[ShardingConfigStatus, doc("What has become of it.")] = ShardingConfigStatus()


class CircuitBreaker(Object, kw_only=True):
    """Limits what an operator may send."""

    spec: Annotated[CircuitBreakerSpec, doc("The limits.")]
    status: Annotated[CircuitBreakerStatus, doc("What the pods say.")] = CircuitBreakerStatus()


SHARDING_CONFIGS: Kind[ShardingConfig] = Kind(
    GROUP, VERSION, "ShardingConfig", "shardingconfigs", ShardingConfig
)
CIRCUIT_BREAKERS: Kind[CircuitBreaker] = Kind(
    GROUP, VERSION, "CircuitBreaker", "circuitbreakers", CircuitBreaker
)

DEFINITIONS = (
    Definition(
        SHARDING_CONFIGS,
        short_names=("shard",),
        columns=(
            Column("Lock", ".spec.controller.leaderElectionName"),
            Column("Pods", ".status.pods", "integer"),
            Column("Namespaces", ".status.ownedNamespaces", "integer"),
            Column("Ready", ".status.conditions[?(@.type=='Ready')].status"),
            AGE,
        ),
    ),
    Definition(
        CIRCUIT_BREAKERS,
        short_names=("cbk",),
        columns=(
            Column("Updated", ".status.lastUpdatedTime", "date"),
            AGE,
        ),
    ),
)
