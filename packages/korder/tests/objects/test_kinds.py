from collections.abc import Mapping
from datetime import date, datetime
from enum import Enum, StrEnum
from fractions import Fraction
from pathlib import Path
import re
from typing import Any

import msgspec
import pytest
from tests.tables.mistakes.near_misses import NEAR_MISSES
import yaml

from korder.api import booking, broker, mesh, quota, reservation, reserve
from korder.install import crds
from kubeloop.objects import codec, core, instant
from kubeloop.objects.meta import JSON, ObjectMeta

SEEDS = sorted((Path(__file__).parents[1] / "seeds").glob("*.yaml"))
KINDS = {definition.kind.kind: definition.kind for definition in crds.DEFINITIONS}
MODELS = {kind: named.model for kind, named in KINDS.items()} | {"Pod": core.Pod}


class TextLoader(yaml.SafeLoader):
    """Leaves timestamps texts, as an API server does."""


TextLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(text: str) -> JSON:
    return yaml.load(text, Loader=TextLoader)  # noqa: S506 a safe loader with less


def lost(raw: JSON, value: object, path: str = "") -> list[str]:
    """Names every member of `raw` that `value` does not have."""
    match raw:
        case None:
            return []
        case dict() if isinstance(value, msgspec.Struct):
            names = {field.encode_name: field.name for field in msgspec.structs.fields(value)}
            return [
                where
                for name, member in raw.items()
                for where in (
                    lost(member, getattr(value, names[name]), f"{path}.{name}")
                    if name in names
                    else [f"{path}.{name}"]
                )
            ]
        case dict() if isinstance(value, Mapping):
            return [
                where
                for name, member in raw.items()
                for where in lost(member, value.get(name), f"{path}.{name}")
            ]
        case list() if isinstance(value, tuple | list) and len(value) == len(raw):
            return [
                where
                for place, member in enumerate(raw)
                for where in lost(member, value[place], f"{path}[{place}]")
            ]
        case _:
            return [] if same(raw, value) else [f"{path}: {raw!r} became {value!r}"]


def same(raw: JSON, value: object) -> bool:
    match value:
        case datetime():
            return instant.parse(str(raw)) == value
        case date():
            return raw == value.isoformat()
        case Enum():
            return raw == value.value
        case _:
            return raw == value


SCALARS: Mapping[tuple[str | None, str | None], JSON] = {
    ("string", "date-time"): "2030-01-01T08:30:00Z",
    ("string", "date"): "2030-01-01",
    ("string", None): "some text",
    ("integer", "int32"): 41,
    ("integer", "int64"): 42,
    (None, None): "2.5",
}


def sample(schema: dict) -> JSON:
    """Makes a value with every member that the schema knows."""
    if "enum" in schema:
        return schema["enum"][-1]
    match schema.get("type"):
        case "object" if "properties" in schema:
            return {name: sample(member) for name, member in schema["properties"].items()}
        case "object":
            return {"key": sample(schema.get("additionalProperties", {"type": "string"}))}
        case "array":
            return [sample(schema["items"])]
        case "boolean":
            return not schema.get("default", False)
        case kind:
            return SCALARS[kind, schema.get("format")]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem)
def test_a_manifest_of_the_seeds_is_read_whole(seed: Path):
    raw = read(seed.read_text())
    model = MODELS[raw["kind"]]

    assert lost(raw, codec.convert(raw, model)) == []


def test_all_documents_of_the_seeds_are_there():
    assert [seed.name[:3] for seed in SEEDS] == ["000"] * 5 + ["001"] * 2 + ["002"] + [
        "003"
    ] * 2 + ["004"] * 2


@pytest.mark.parametrize("near", NEAR_MISSES, ids=lambda near: near.id)
def test_an_object_that_a_server_accepts_is_read_whole(near):
    raw = near.after
    kept = {"spec.template.metadata.name", "spec.template.metadata.finalizers"}

    missing = lost(raw, codec.convert(raw, MODELS[raw["kind"]]))
    assert [where for where in missing if where.lstrip(".") not in kept] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_member_that_a_server_can_store_is_read(kind: str):
    (definition,) = (c for c in crds.all_crds() if c["spec"]["names"]["kind"] == kind)
    raw = sample(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    raw["metadata"] = {"name": "full"}

    assert lost(raw, codec.convert(raw, MODELS[kind])) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_reads_as_it_was(kind: str):
    (definition,) = (c for c in crds.all_crds() if c["spec"]["names"]["kind"] == kind)
    raw = sample(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    raw["metadata"] = {"name": "full"}
    made = codec.convert(raw, MODELS[kind])

    assert codec.decode(msgspec.json.encode(made), MODELS[kind]) == made


@pytest.mark.parametrize(
    ("kind", "api_version", "plural"),
    [
        (reserve.ORDERS, "core.korder.dev/v1alpha1", "orders"),
        (reserve.TICKETS, "core.korder.dev/v1alpha1", "tickets"),
        (quota.QUOTAS, "core.korder.dev/v1alpha1", "quotas"),
        (broker.CLUSTER_ADVERTISEMENTS, "broker.fluidos.eu/v1alpha1", "clusteradvertisements"),
        (reservation.RESERVATIONS, "broker.fluidos.eu/v1alpha1", "reservations"),
        (booking.RESOURCES, "manager.kotaico.de/v1", "resources"),
        (booking.RESOURCE_MONITORS, "manager.kotaico.de/v1", "resourcemonitors"),
        (booking.BOOKINGS, "manager.kotaico.de/v1", "bookings"),
        (booking.BOOKING_SCHEDULERS, "manager.kotaico.de/v1", "bookingschedulers"),
        (mesh.SHARDING_CONFIGS, "kridge.kusionstack.io/v1alpha1", "shardingconfigs"),
        (mesh.CIRCUIT_BREAKERS, "kridge.kusionstack.io/v1alpha1", "circuitbreakers"),
    ],
    ids=lambda value: (
        value if isinstance(value, str) and value.islower() and "/" not in value else ""
    ),
)
def test_a_kind_is_found_where_the_seeds_say(kind, api_version: str, plural: str):
    assert (kind.api_version, kind.plural) == (api_version, plural)


def spec_of(text: str, model: type) -> Any:
    return codec.convert(read(text), model)


def test_a_bare_order_has_the_defaults_of_the_original():
    spec = spec_of("template: {spec: {}}", reserve.OrderSpec)

    assert spec.replicas == 1
    assert spec.strategy is None
    assert spec.template.spec.resources.requests == {"cpu": "100m", "memory": "128Mi"}
    assert spec.template.spec.lifecycle == reserve.Lifecycle(
        cleanup_policy=reserve.CleanupPolicy.DELETE, ttl_seconds_after_finished=3600
    )
    assert spec.template.spec.scheduler_name == "default-scheduler"
    assert spec.template.spec.after_use is reserve.AfterUse.CONSUME
    assert spec.template.spec.allocate_once


def test_a_strategy_has_our_defaults():
    strategy = spec_of("{type: Scheduled, schedule: '0 2 * * *'}", reserve.Strategy)

    assert strategy.refresh_policy is reserve.RefreshPolicy.ON_CLAIM
    assert strategy.time_zone == "UTC"
    assert strategy.starting_deadline_seconds == 300
    assert strategy.overlap_policy is reserve.OverlapPolicy.ALLOW
    assert strategy.lead_time == "0s"


def test_both_ways_to_write_a_span_of_time_are_read():
    apart = spec_of("{startTime: 2030-01-01T08:00:00Z, duration: 2h}", reserve.TicketSpec)
    together = spec_of(
        "window: {startTime: 2030-01-01T08:00:00Z, timeZone: Europe/Berlin, duration: 2h}",
        reserve.TicketSpec,
    )

    assert apart.starts_at == together.starts_at == instant.parse("2030-01-01T08:00:00Z")
    assert apart.duration == together.window.duration == "2h"


@pytest.mark.parametrize(
    "text",
    ["{}", "startTime: ''", "window: {duration: 2h}", "window: {startTime: '', timeZone: ''}"],
)
def test_a_ticket_without_a_start_starts_at_once(text: str):
    assert spec_of(text, reserve.TicketSpec).starts_at is None


@pytest.mark.parametrize("text", ["{}", "resources: {}", "resources: {limits: {}}"])
def test_a_ticket_that_does_not_say_how_much_holds_the_usual_room(text: str):
    spec = spec_of(text, reserve.TicketSpec)

    assert spec.requests == {"cpu": "100m", "memory": "128Mi"}


def test_a_ticket_that_says_how_much_holds_no_more():
    assert spec_of("resources: {limits: {cpu: 1}}", reserve.TicketSpec).requests == {"cpu": 1}
    assert spec_of("resources: {requests: {cpu: 2}}", reserve.TicketSpec).requests == {"cpu": 2}


def test_the_original_s_later_word_for_reserved_is_read():
    assert codec.convert({"phase": "Ready"}, reserve.TicketStatus).phase is (
        reserve.TicketPhase.RESERVED
    )


def test_a_phase_nobody_knows_is_not():
    with pytest.raises(msgspec.ValidationError, match="phase"):
        codec.convert({"phase": "Lost"}, reserve.TicketStatus)


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("{name: day, schedule: '0 9-17 * * 1-5', multiplier: '2.0'}", Fraction(2)),
        ("{name: day, schedule: '0 9-17 * * 1-5', multiplier: '0.1'}", Fraction(1, 10)),
        (
            "{name: day, weekdays: [Mon, Tue], hours: '09:00-17:00', multiplier: 1.1}",
            Fraction("1.1"),
        ),
        ("{name: day, weekdays: [Mon], multiplier: 0.0000001}", Fraction("1e-7")),
        ("{name: weekend, weekdays: [Sat, Sun], multiplier: 2}", Fraction(2)),
        ("{name: night, weekdays: [Sat, Sun], hard: {orders: 1}}", None),
    ],
    ids=[
        "a schedule and a text",
        "a text that no float can hold",
        "days, hours and a fraction",
        "a very small fraction",
        "days and a whole number",
        "limits of its own",
    ],
)
def test_a_window_multiplies_by_exactly_what_is_written(text: str, factor: Fraction | None):
    assert spec_of(text, quota.TimeWindow).factor == factor


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{namespace: team-a, limits: {}}", "team-a"),
        ("{namespace: team-a, name: a, limits: {}}", "a"),
        ("{namespaceSelector: {matchLabels: {env: prod}}, name: prod, limits: {}}", "prod"),
    ],
)
def test_an_allocation_is_called_by_its_name_or_its_namespace(text: str, key: str):
    assert spec_of(text, quota.Allocation).key == key


@pytest.mark.parametrize(
    ("word", "allows"),
    [("Whitelist", True), ("White", True), ("Blacklist", False), ("Black", False)],
)
def test_a_host_is_let_through_by_either_word(word: str, allows: bool):
    assert mesh.InterceptType(word).allows is allows


def test_a_longest_duration_may_be_a_text_or_seconds():
    assert spec_of("hard: {max-duration: 24h}", quota.QuotaSpec).hard["max-duration"] == "24h"
    assert spec_of("hard: {max-duration: 86400}", quota.QuotaSpec).hard["max-duration"] == 86400


def test_a_quota_without_a_scope_is_for_the_cluster():
    assert spec_of("{}", quota.QuotaSpec).scope.type is quota.ScopeType.CLUSTER


def test_both_ways_to_write_a_limit_give_one_rule():
    inner = "{relateResources: [{apiGroups: ['*'], resources: [pods]}], selector: {matchLabels: {a: b}}}"
    nested = spec_of(f"objectSelector: {inner}", mesh.Limit)
    flat = spec_of(inner, mesh.Limit)

    assert nested.rule.selector == flat.rule.selector
    assert nested.rule.relate_resources == flat.rule.relate_resources


def test_a_template_of_bookings_needs_no_times():
    scheduler = spec_of(
        "{schedule: '0 * * * *', duration: 20, bookingTemplate: {resource_name: a, user_id: b}}",
        booking.BookingSchedulerSpec,
    )

    assert scheduler.booking_template.start_at is None
    assert scheduler.booking_template.leads == ("20m",)


def test_bookings_are_written_in_snake_case():
    spec = booking.BookingSpec(
        resource_name="analytics",
        user_id="u",
        start_at=instant.parse("2030-01-01T08:00:00Z"),
        end_at=instant.parse("2030-01-01T09:00:00Z"),
    )

    assert list(msgspec.to_builtins(spec)) == ["resource_name", "user_id", "start_at", "end_at"]


WORDS = {
    reserve.StrategyType: "OneTime Scheduled Recurring",
    reserve.RefreshPolicy: "Always OnClaim Never",
    reserve.OverlapPolicy: "Allow Forbid Replace",
    reserve.CleanupPolicy: "Delete Retain",
    reserve.AfterUse: "Consume Reserve",
    reserve.TicketPhase: "Pending Reserved Claiming Claimed Released Expired",
    quota.ScopeType: "Cluster NamespaceSelector NamespaceList ObjectSelector",
    quota.Enforcement: "Refuse Wait",
    quota.Weekday: "Mon Tue Wed Thu Fri Sat Sun",
    broker.AdvertisementPhase: "Pending Active Inactive",
    broker.HoldState: "Held Prepared Draining",
    reservation.ReservationPhase: "Pending Reserved Active Released Failed",
    reservation.WhenInsufficient: "Fail Queue",
    reservation.OnTargetLost: "Keep Replace Fail",
    reservation.OnExpiry: "Release Evict",
    reservation.PreemptionPolicy: "Never PreemptLowerPriority",
    reservation.Confirm: "Ledger Held",
    reservation.Profile: "readme headroom-after pack cost balanced custom",
    booking.ProviderType: "ec2 rds simulated",
    booking.IdlePolicy: "Stop Release Ignore",
    booking.ConflictPolicy: "Reject Queue Share Preempt",
    booking.ResourceState: "STOPPED PENDING RUNNING",
    mesh.TriggerPolicy: "Normal LimiterOnly ForceOpened ForceClosed",
    mesh.RecoverType: "Manual SleepingWindow",
    mesh.InterceptType: "Whitelist Blacklist White Black",
    mesh.BucketHash: "fnv legacy",
    mesh.ContentType: "Normal Regexp",
}


@pytest.mark.parametrize("enum", WORDS, ids=lambda enum: enum.__name__)
def test_words_are_the_documented_ones(enum: type[StrEnum]):
    assert [word.value for word in enum] == WORDS[enum].split()


def test_words_of_a_booking_are_the_original_s_and_ours():
    assert [state.value for state in booking.BookingState] == [
        "SCHEDULED",
        "IN PROGRESS",
        "FINISHED",
        "CONFLICT",
        "WAITING",
        "PENDING APPROVAL",
        "REJECTED",
        "FAILED",
        "CANCELLED",
    ]


def test_defaults_are_left_out_when_written():
    made = reserve.Ticket(metadata=ObjectMeta(name="a"), spec=reserve.TicketSpec(duration="1h"))

    assert msgspec.to_builtins(made) == {"metadata": {"name": "a"}, "spec": {"duration": "1h"}}


def test_annotations_and_labels_of_the_seeds_have_a_name():
    known = {
        value for name, value in vars(reserve).items() if name.isupper() and isinstance(value, str)
    }
    used = {
        key for seed in SEEDS for key in re.findall(r"korder\.dev/[a-z-]+(?=:)", seed.read_text())
    }

    assert used
    assert used <= known
