"""Mistakes that a real API server must refuse with our CRDs, each with the field its answer must name.

Pure data: a good object of every kind, and rows that spoil it. How a row is sent:

1. `before` is None: create `after`.
2. otherwise create `before`; if it has a status, put that to its status subresource; then put `after`, to the status
   subresource if `status` is set.

The last request must be refused as invalid (422), and one of its causes must name `field` and contain `says`. For the
two schema words that have no field of their own in an answer, `oneOf` and `not`, the name stands in the cause's text.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
import re

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]
Object = dict[str, JSON]
Changes = Mapping[str, JSON]

GONE = "<gone>"
"""As a new value: take the member away."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One row of the table; `field` is what the refusal must name, `says` a part of its text."""

    id: str
    field: str
    after: Object
    before: Object | None = None
    status: bool = False
    says: str = ""


GOOD: Mapping[str, Object] = {
    "Order": {
        "apiVersion": "core.korder.dev/v1alpha1",
        "kind": "Order",
        "spec": {
            "replicas": 3,
            "strategy": {"type": "Scheduled", "schedule": "0 2 * * *"},
            "template": {"spec": {"duration": "8h", "resources": {"requests": {"cpu": "500m"}}}},
        },
    },
    "Ticket": {
        "apiVersion": "core.korder.dev/v1alpha1",
        "kind": "Ticket",
        "spec": {"duration": "8h", "resources": {"requests": {"cpu": "500m"}}},
    },
    "Quota": {
        "apiVersion": "core.korder.dev/v1alpha1",
        "kind": "Quota",
        "spec": {
            "scope": {"type": "NamespaceList", "namespaces": ["team-a"]},
            "hard": {"orders": "10", "reserved.cpu": 20, "max-duration": "24h"},
            "timeWindows": [{"name": "day", "schedule": "0 9-17 * * 1-5", "multiplier": "2.0"}],
            "allocation": [{"namespace": "team-a", "limits": {"reserved.cpu": "5"}}],
        },
    },
    "ClusterAdvertisement": {
        "apiVersion": "broker.fluidos.eu/v1alpha1",
        "kind": "ClusterAdvertisement",
        "spec": {"clusterID": "east", "resources": {"capacity": {"cpu": "10", "memory": "8Gi"}}},
    },
    "Reservation": {
        "apiVersion": "broker.fluidos.eu/v1alpha1",
        "kind": "Reservation",
        "spec": {"requestedResources": {"cpu": "2", "memory": "4Gi"}, "duration": "1h"},
    },
    "Resource": {
        "apiVersion": "manager.kotaico.de/v1",
        "kind": "Resource",
        "spec": {"tag": "analytics", "type": "ec2"},
    },
    "ResourceMonitor": {
        "apiVersion": "manager.kotaico.de/v1",
        "kind": "ResourceMonitor",
        "spec": {"type": "ec2"},
    },
    "Booking": {
        "apiVersion": "manager.kotaico.de/v1",
        "kind": "Booking",
        "spec": {
            "resource_name": "analytics",
            "user_id": "cd39ad8bc3",
            "start_at": "2030-01-01T20:00:00Z",
            "end_at": "2030-01-01T23:50:00Z",
            "notifications": [{"type": "email", "recipient": "a@example.com"}],
        },
    },
    "BookingScheduler": {
        "apiVersion": "manager.kotaico.de/v1",
        "kind": "BookingScheduler",
        "spec": {
            "schedule": "0 8 * * 1-5",
            "duration": 600,
            "bookingTemplate": {"resource_name": "ec2.analytics", "user_id": "cd39ad8bc3"},
        },
    },
    "ShardingConfig": {
        "apiVersion": "kridge.kusionstack.io/v1alpha1",
        "kind": "ShardingConfig",
        "spec": {
            "selector": {"matchLabels": {"app": "demo"}},
            "controller": {"leaderElectionName": "operator-leader"},
            "webhook": {"certDir": "/etc/webhook-certs", "port": 9443},
            "limits": [
                {
                    "objectSelector": {
                        "relateResources": [{"apiGroups": ["*"], "resources": ["pods"]}],
                        "selector": {"matchLabels": {"kridge.kusionstack.io/namespace": "ns-a"}},
                    }
                }
            ],
        },
    },
    "CircuitBreaker": {
        "apiVersion": "kridge.kusionstack.io/v1alpha1",
        "kind": "CircuitBreaker",
        "spec": {
            "selector": {"matchLabels": {"app": "demo"}},
            "rateLimitings": [
                {
                    "name": "deletes",
                    "resourceRules": [
                        {
                            "apiGroups": [""],
                            "resources": ["pods"],
                            "verbs": ["delete"],
                            "namespaces": ["*"],
                        }
                    ],
                    "bucket": {"burst": 10, "interval": "1s", "limit": 5},
                    "triggerPolicy": "Normal",
                    "recoverPolicy": {"type": "SleepingWindow", "sleepingWindowSize": "10s"},
                }
            ],
            "trafficInterceptRules": [
                {
                    "name": "hosts",
                    "interceptType": "Whitelist",
                    "contentType": "Normal",
                    "contents": ["example.com"],
                    "methods": ["GET"],
                }
            ],
        },
    },
}

ROOT: Object = {
    "prefix": "demo",
    "targetStatefulSet": "operator",
    "auto": {"shardingSize": 4, "everyShardReplicas": 2},
}
HOLD: Object = {"uid": "a", "shard": 0, "resources": {"cpu": 3000}, "state": "Held"}
HELD: Object = {
    "holds": [HOLD],
    "reserved": {"cpu": 3000},
    "held": {"cpu": 3000},
    "available": {"cpu": 7000},
}


def good(kind: str, changes: Changes | None = None) -> Object:
    """Makes the good object of a kind, with members changed by path (`spec.limits[0].selector`)."""
    made = deepcopy(GOOD[kind])
    made["metadata"] = {"name": kind.lower()}
    for path, value in (changes or {}).items():
        _put(made, re.findall(r"[^.\[\]]+", path), deepcopy(value))
    return made


def _put(inside: JSON, path: list[str], value: JSON) -> None:
    step, rest = path[0], path[1:]
    if isinstance(inside, list):
        place = int(step)
        inside.extend({} for _ in range(len(inside), place + 1))
        if rest:
            _put(inside[place], rest, value)
        else:
            inside[place] = value
    elif isinstance(inside, dict):
        if rest:
            _put(inside.setdefault(step, [] if rest[0].isdigit() else {}), rest, value)
        elif value == GONE:
            del inside[step]
        else:
            inside[step] = value


def created(name: str, kind: str, changes: Changes, field: str = "", says: str = "") -> Mistake:
    """A bad object from the start; unless said otherwise the first change is the field at fault."""
    return Mistake(name, field or next(iter(changes)), good(kind, changes), says=says)


def updated(
    name: str, kind: str, before: Changes, after: Changes, field: str = "", says: str = ""
) -> Mistake:
    """A good object made bad."""
    return Mistake(
        name, field or next(iter(after)), good(kind, after), before=good(kind, before), says=says
    )


def reported(
    name: str, kind: str, before: Changes, after: Changes, field: str = "", says: str = ""
) -> Mistake:
    """A bad status."""
    return Mistake(
        name,
        field or next(iter(after)),
        good(kind, after),
        before=good(kind, before),
        status=True,
        says=says,
    )


def unknown_word(kind: str, path: str, changes: Changes | None = None) -> Mistake:
    """A word that is not among those allowed."""
    name = f"{kind} with an unknown word in {path}"
    spoiled = {**(changes or {}), path: "Nonsense"}
    if path.startswith("status"):
        return reported(name, kind, {}, spoiled, field=path, says="Unsupported value")
    return created(name, kind, spoiled, field=path, says="Unsupported value")


_NEAR = [{"key": "a", "operator": "Near", "values": ["b"]}]


def unknown_operator(kind: str, selector: str, changes: Changes | None = None) -> Mistake:
    """A label selector that compares in a way nobody knows."""
    return created(
        f"{kind} with an unknown operator in {selector}",
        kind,
        {**(changes or {}), f"{selector}.matchExpressions": deepcopy(_NEAR)},
        field=f"{selector}.matchExpressions[0].operator",
        says="Unsupported value",
    )


_TEMPLATE = "spec.template.spec"
_IN_NO_VALUES = [{"key": "a", "operator": "In"}]
_TERMS = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
_SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
_POD_TERM = {"topologyKey": "zone"}
_WEIGHTED_POD_TERM = {"weight": 1, "podAffinityTerm": _POD_TERM}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def ticket_words(kind: str, spec: str) -> tuple[Mistake, ...]:
    """Unknown words in a ticket's spec, which an order carries as its template."""
    affinity = f"{spec}.affinity"
    node, pods, apart = (
        f"{affinity}.nodeAffinity",
        f"{affinity}.podAffinity",
        f"{affinity}.podAntiAffinity",
    )
    preference = f"{node}.{_PREFERRED}[0].preference"
    return (
        unknown_word(kind, f"{spec}.lifecycle.cleanupPolicy"),
        unknown_word(kind, f"{spec}.afterUse"),
        unknown_word(kind, f"{spec}.tolerations[0].operator", {f"{spec}.tolerations[0].key": "a"}),
        unknown_word(
            kind, f"{spec}.tolerations[0].effect", {f"{spec}.tolerations[0].operator": "Exists"}
        ),
        *(
            unknown_word(
                kind,
                f"{spec}.topologySpreadConstraints[0].{word}",
                {f"{spec}.topologySpreadConstraints": [_SPREAD]},
            )
            for word in ("whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy")
        ),
        *(
            unknown_word(
                kind,
                f"{term}[0].operator",
                {f"{term}[0].key": "a", f"{preference[: -len('.preference')]}.weight": 1}
                if term.startswith(preference)
                else {f"{term}[0].key": "a"},
            )
            for term in (
                f"{node}.{_TERMS}[0].matchExpressions",
                f"{node}.{_TERMS}[0].matchFields",
                f"{preference}.matchExpressions",
                f"{preference}.matchFields",
            )
        ),
        *(
            unknown_operator(
                kind, f"{where}.{_REQUIRED}[0].{which}", {f"{where}.{_REQUIRED}": [_POD_TERM]}
            )
            for where in (pods, apart)
            for which in ("labelSelector", "namespaceSelector")
        ),
        *(
            unknown_operator(
                kind,
                f"{where}.{_PREFERRED}[0].podAffinityTerm.{which}",
                {f"{where}.{_PREFERRED}": [_WEIGHTED_POD_TERM]},
            )
            for where in (pods, apart)
            for which in ("labelSelector", "namespaceSelector")
        ),
        unknown_operator(
            kind,
            f"{spec}.topologySpreadConstraints[0].labelSelector",
            {f"{spec}.topologySpreadConstraints": [_SPREAD]},
        ),
        unknown_operator(kind, f"{spec}.owners[0].podSelector"),
    )


def conditions(kind: str) -> Mistake:
    """A condition that is neither true nor false nor unknown."""
    path = "status.conditions[0].status"
    return unknown_word(kind, path, {"status.conditions[0].type": "Ready"})


ORDERS = (
    created("an order without a template", "Order", {"spec.template": GONE}),
    created("an order without a spec", "Order", {"spec": GONE}),
    created("an order with a template without a spec", "Order", {f"{_TEMPLATE}": GONE}),
    created("an order for minus one ticket", "Order", {"spec.replicas": -1}),
    created("an order for many tickets in words", "Order", {"spec.replicas": "many"}),
    created("an order that is paused in words", "Order", {"spec.paused": "yes"}),
    created("an order that must wait minus one second", "Order", {"spec.minReadySeconds": -1}),
    created("an order that opens with no ticket", "Order", {"spec.minAvailable": 0}),
    created(
        "an order that opens with more tickets than it has",
        "Order",
        {"spec.minAvailable": 4},
        says="minAvailable must not be greater than replicas",
    ),
    updated(
        "an order scaled below what it opens with, before it has opened",
        "Order",
        {"spec.minAvailable": 2, "status.opened": False},
        {"spec.minAvailable": 2, "spec.replicas": 1},
        field="spec.minAvailable",
        says="minAvailable must not be greater than replicas",
    ),
    created("an order with a strategy without a type", "Order", {"spec.strategy.type": GONE}),
    created(
        "a scheduled order without a schedule",
        "Order",
        {"spec.strategy": {"type": "Scheduled"}},
        field="spec.strategy.schedule",
        says="schedule must be a cron expression",
    ),
    created(
        "a recurring order with an empty schedule",
        "Order",
        {"spec.strategy": {"type": "Recurring", "schedule": ""}},
        field="spec.strategy.schedule",
        says="schedule must be a cron expression",
    ),
    created(
        "a one-time order with a schedule",
        "Order",
        {"spec.strategy.type": "OneTime"},
        field="spec.strategy.schedule",
        says="schedule must be left out for type OneTime",
    ),
    created(
        "a schedule of four fields",
        "Order",
        {"spec.strategy.schedule": "0 2 * *"},
        says="schedule must be five cron fields such as '0 2",
    ),
    created(
        "a schedule in words",
        "Order",
        {"spec.strategy.schedule": "every day at two"},
        says="schedule must be five cron fields",
    ),
    created(
        "a schedule with an unknown macro", "Order", {"spec.strategy.schedule": "@fortnightly"}
    ),
    created(
        "a time zone with a space",
        "Order",
        {"spec.strategy.timeZone": "Central Europe"},
        says="timeZone must be the name of a time zone",
    ),
    created(
        "a lead time of a thousand years",
        "Order",
        {"spec.strategy.leadTime": "9999999h"},
        says="leadTime must be a duration such as 1h30m or 90s, or 0s, and 399999h at most",
    ),
    created(
        "a lead time a second too long",
        "Order",
        {"spec.strategy.leadTime": "399999h1s"},
        says="leadTime must be a duration such as 1h30m or 90s, or 0s, and 399999h at most",
    ),
    created(
        "a lead time of many long parts",
        "Order",
        {"spec.strategy.leadTime": "399999h" * 7},
        says="leadTime must be a duration such as",
    ),
    created("a negative deadline", "Order", {"spec.strategy.startingDeadlineSeconds": -1}),
    created("a negative lead time", "Order", {"spec.strategy.leadTime": "-5m"}),
    created(
        "a lead time longer than Go can count",
        "Order",
        {"spec.strategy.leadTime": "9999999999h"},
        says="leadTime must be a duration",
    ),
    created(
        "a refresh policy beside a strategy",
        "Order",
        {"spec.refreshPolicy": "Never"},
        says="refreshPolicy must be left out beside strategy",
    ),
    updated(
        "a strategy that changes its type",
        "Order",
        {},
        {"spec.strategy.type": "Recurring"},
        says="strategy.type must not change",
    ),
    updated(
        "a strategy that is taken away from a scheduled order",
        "Order",
        {},
        {"spec.strategy": GONE},
        field="spec.strategy.type",
        says="strategy.type must not change",
    ),
    created(
        "an order with an empty selector",
        "Order",
        {"spec.selector": {}},
        says="selector must have matchLabels or matchExpressions",
    ),
    created(
        "an order with template labels that are no texts",
        "Order",
        {"spec.template.metadata.labels": {"app": ["a"]}},
        field="spec.template.metadata.labels.app",
    ),
    created(
        "an order with a window and a duration in its template",
        "Order",
        {f"{_TEMPLATE}.window": {"duration": "2h"}},
        says="window must not be used together with startTime or duration",
    ),
    unknown_word("Order", "spec.strategy.type"),
    unknown_word("Order", "spec.strategy.refreshPolicy"),
    unknown_word("Order", "spec.strategy.overlapPolicy"),
    unknown_word("Order", "spec.refreshPolicy", {"spec.strategy": GONE}),
    unknown_operator("Order", "spec.selector"),
    *ticket_words("Order", _TEMPLATE),
    conditions("Order"),
    reported("an order with minus one ticket", "Order", {}, {"status.replicas": -1}),
)

TICKETS = (
    created(
        "a ticket that holds for no time",
        "Ticket",
        {"spec.duration": "0s"},
        says="duration must be a duration longer than zero",
    ),
    created("a ticket that holds for a day in words", "Ticket", {"spec.duration": "1 day"}),
    created("a ticket that holds for days", "Ticket", {"spec.duration": "1d"}),
    created("a ticket that holds for a bare number", "Ticket", {"spec.duration": 3600}),
    created("a ticket that holds for less than no time", "Ticket", {"spec.duration": "-1h"}),
    created(
        "a ticket that holds for a thousand years",
        "Ticket",
        {"spec.duration": "9999999h"},
        says="duration must be a duration longer than zero such as 1h30m or 90s, and 399999h at most",
    ),
    created(
        "a ticket with a start without an offset",
        "Ticket",
        {"spec.startTime": "2030-01-01T08:00:00"},
        says="startTime must be an instant with its offset such as 2030-01-31T08:30:00Z",
    ),
    created(
        "a ticket with a start in month thirteen",
        "Ticket",
        {"spec.startTime": "2030-13-01T08:00:00Z"},
        says="startTime must be an instant with its offset",
    ),
    created(
        "a ticket with a start on the 30th of February",
        "Ticket",
        {"spec.startTime": "2030-02-30T08:00:00Z"},
        says="startTime must be an instant with its offset",
    ),
    created(
        "a ticket with a start on the 29th of February of a common year",
        "Ticket",
        {"spec.startTime": "2031-02-29T08:00:00Z"},
        says="startTime must be an instant with its offset",
    ),
    created(
        "a window with a start in words",
        "Ticket",
        {"spec.window": {"startTime": "noon"}, "spec.duration": GONE},
        field="spec.window.startTime",
        says="startTime must be an instant with its offset",
    ),
    created(
        "a ticket with a window and a start",
        "Ticket",
        {
            "spec.window": {"duration": "2h"},
            "spec.duration": GONE,
            "spec.startTime": "2030-01-01T08:00:00Z",
        },
        says="window must not be used together with startTime or duration",
    ),
    created(
        "a window of no length",
        "Ticket",
        {"spec.window": {"duration": "0h"}, "spec.duration": GONE},
        field="spec.window.duration",
        says="duration must be a duration longer than zero",
    ),
    created(
        "a ticket kept for minus one second",
        "Ticket",
        {"spec.lifecycle.ttlSecondsAfterFinished": -1},
    ),
    created("a ticket for less than no room", "Ticket", {"spec.resources.requests.cpu": "-1"}),
    created(
        "a ticket for some room in words",
        "Ticket",
        {"spec.resources.requests.cpu": "plenty"},
        says="a quantity such as 20, 500m or 40Gi, not less than zero",
    ),
    created(
        "a ticket with a negative limit as a number", "Ticket", {"spec.resources.limits.cpu": -2}
    ),
    created(
        "a ticket with a device claim",
        "Ticket",
        {"spec.resources.claims": [{"name": "gpu"}]},
        says="claims must be left out",
    ),
    created(
        "a ticket whose scheduler has a blank in its name",
        "Ticket",
        {"spec.schedulerName": "my scheduler"},
        says="schedulerName must be lower-case letters, digits, dashes and dots",
    ),
    created(
        "an owner that is nobody",
        "Ticket",
        {"spec.owners": [{}]},
        field="spec.owners[0]",
        says="must have namespaces, serviceAccounts or podSelector",
    ),
    created(
        "an owner with an empty pod selector",
        "Ticket",
        {"spec.owners[0].podSelector": {}},
        says="podSelector must have matchLabels or matchExpressions",
    ),
    created(
        "an owner with an empty list of namespaces", "Ticket", {"spec.owners[0].namespaces": []}
    ),
    created(
        "an owner with a namespace in capitals",
        "Ticket",
        {"spec.owners[0].namespaces": ["Team"]},
        field="spec.owners[0].namespaces[0]",
        says="namespaces must be lower-case letters, digits and dashes such as team-a",
    ),
    created(
        "an owner with a service account in capitals",
        "Ticket",
        {"spec.owners[0].serviceAccounts": ["Builder"]},
        field="spec.owners[0].serviceAccounts[0]",
        says="serviceAccounts must be lower-case letters, digits, dashes and dots such as team-a.builder",
    ),
    created(
        "an owner with the same namespace twice",
        "Ticket",
        {"spec.owners[0].namespaces": ["a", "a"]},
        field="spec.owners[0].namespaces[1]",
        says="Duplicate value",
    ),
    created(
        "a pod selector that asks for one of no values",
        "Ticket",
        {"spec.owners[0].podSelector.matchExpressions": _IN_NO_VALUES},
        field="spec.owners[0].podSelector.matchExpressions[0].values",
        says="values must name at least one value for In and NotIn",
    ),
    created(
        "a node affinity that compares with two numbers",
        "Ticket",
        {
            f"spec.affinity.nodeAffinity.{_TERMS}[0].matchExpressions": [
                {"key": "cores", "operator": "Gt", "values": ["1", "2"]}
            ]
        },
        field=f"spec.affinity.nodeAffinity.{_TERMS}[0].matchExpressions[0].values",
        says="exactly one for Gt and Lt",
    ),
    created(
        "a node affinity without terms", "Ticket", {f"spec.affinity.nodeAffinity.{_TERMS}": []}
    ),
    created(
        "a preference that weighs too much",
        "Ticket",
        {
            f"spec.affinity.nodeAffinity.{_PREFERRED}[0].weight": 101,
            f"spec.affinity.nodeAffinity.{_PREFERRED}[0].preference": {},
        },
    ),
    created(
        "a toleration of everything that names a value",
        "Ticket",
        {"spec.tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
        field="spec.tolerations[0].value",
        says="value must be left out with operator Exists",
    ),
    created(
        "a toleration without a key",
        "Ticket",
        {"spec.tolerations": [{"value": "b"}]},
        field="spec.tolerations[0].operator",
        says="operator must be Exists when key is left out",
    ),
    created(
        "a spread without a skew",
        "Ticket",
        {"spec.topologySpreadConstraints": [{**_SPREAD, "maxSkew": 0}]},
        field="spec.topologySpreadConstraints[0].maxSkew",
    ),
    updated(
        "a ticket that moves to another node",
        "Ticket",
        {"spec.nodeName": "n1"},
        {"spec.nodeName": "n2"},
        says="nodeName must not change once it is set",
    ),
    updated(
        "a ticket that lets go of its node",
        "Ticket",
        {"spec.nodeName": "n1"},
        {},
        field="spec.nodeName",
        says="nodeName must not change once it is set",
    ),
    *ticket_words("Ticket", "spec"),
    unknown_word("Ticket", "status.phase"),
    conditions("Ticket"),
    reported(
        "a ticket claimed by a pod without a UID",
        "Ticket",
        {},
        {"status.claimedBy": {"namespace": "a", "name": "b"}},
        field="status.claimedBy.uid",
    ),
)

QUOTAS = (
    created("a quota without a spec", "Quota", {"spec": GONE}),
    created(
        "a quota for the cluster that names namespaces",
        "Quota",
        {"spec.scope.type": "Cluster"},
        field="spec.scope.namespaces",
        says="namespaces must be given for type NamespaceList, and only then",
    ),
    created(
        "a quota for namespaces without a selector",
        "Quota",
        {"spec.scope": {"type": "NamespaceSelector"}},
        field="spec.scope.namespaceSelector",
        says="namespaceSelector must be given for type NamespaceSelector",
    ),
    created(
        "a quota for objects without a selector",
        "Quota",
        {"spec.scope": {"type": "ObjectSelector"}},
        field="spec.scope.objectSelector",
        says="objectSelector must be given for type ObjectSelector",
    ),
    created("a quota for a list of no namespaces", "Quota", {"spec.scope.namespaces": []}),
    created(
        "a quota with an empty namespace selector",
        "Quota",
        {"spec.scope": {"type": "NamespaceSelector", "namespaceSelector": {}}},
        field="spec.scope.namespaceSelector",
        says="namespaceSelector must have matchLabels or matchExpressions",
    ),
    created(
        "a quota with an empty object selector",
        "Quota",
        {"spec.scope": {"type": "ObjectSelector", "objectSelector": {}}},
        field="spec.scope.objectSelector",
        says="objectSelector must have matchLabels or matchExpressions",
    ),
    updated(
        "a quota that changes its scope",
        "Quota",
        {},
        {"spec.scope": {"type": "Cluster"}},
        field="spec.scope.type",
        says="scope.type must not change",
    ),
    created("a negative limit", "Quota", {"spec.hard": {"orders": "-1"}}, field="spec.hard.orders"),
    created(
        "a negative limit as a number",
        "Quota",
        {"spec.hard": {"orders": -1}},
        field="spec.hard.orders",
    ),
    created(
        "a limit in words",
        "Quota",
        {"spec.hard": {"orders": "ten"}},
        field="spec.hard.orders",
        says="a quantity such as 20, 500m or 40Gi",
    ),
    created(
        "a longest duration of nothing",
        "Quota",
        {"spec.hard": {"max-duration": "0s"}},
        field="spec.hard",
        says="hard must have as max-duration a duration such as 24h or whole seconds",
    ),
    *(
        created(
            f"a longest duration of {what}",
            "Quota",
            {"spec.hard": {"max-duration": amount}},
            field="spec.hard",
            says="hard must have as max-duration a duration such as 24h or whole seconds",
        )
        for what, amount in {
            "no seconds": 0,
            "no seconds as text": "0",
            "a gigabyte": "1Gi",
            "a thousand": "1k",
            "twenty digits": "12345678901234567890",
            "half a second": "0.5",
            "ten billion seconds": 10_000_000_000,
            "a billion minutes": "1000000000m",
            "a thousand years": "9999999h",
        }.items()
    ),
    created(
        "a longest duration of nothing in a window",
        "Quota",
        {
            "spec.timeWindows": [
                {"name": "day", "weekdays": ["Mon"], "hard": {"max-duration": "0s"}}
            ]
        },
        field="spec.timeWindows[0].hard",
        says="hard must have as max-duration",
    ),
    created(
        "cores for a day in a window",
        "Quota",
        {
            "spec.timeWindows": [
                {"name": "day", "weekdays": ["Mon"], "hard": {"reserved.cpu": "24h"}}
            ]
        },
        field="spec.timeWindows[0].hard",
        says="hard must have a duration only as max-duration",
    ),
    created(
        "a longest duration of a gigabyte in an allocation",
        "Quota",
        {"spec.allocation[0].limits": {"max-duration": "1Gi"}},
        says="limits must have as max-duration",
    ),
    created(
        "cores for a day in an allocation",
        "Quota",
        {"spec.allocation[0].limits": {"reserved.cpu": "24h"}},
        says="limits must have a duration only as max-duration",
    ),
    created(
        "a limit of cores that is a duration",
        "Quota",
        {"spec.hard": {"reserved.cpu": "24h"}},
        field="spec.hard",
        says="hard must have a duration only as max-duration",
    ),
    created("a time window without a name", "Quota", {"spec.timeWindows[0].name": GONE}),
    created(
        "two time windows of one name",
        "Quota",
        {"spec.timeWindows[1]": {"name": "day", "weekdays": ["Sat"], "multiplier": 0.5}},
        says="Duplicate value",
    ),
    created(
        "a time window with a schedule and weekdays",
        "Quota",
        {"spec.timeWindows[0].weekdays": ["Mon"]},
        field="spec.timeWindows[0].schedule",
        says="schedule must be used, or weekdays and hours, and not both",
    ),
    created(
        "a time window without a time",
        "Quota",
        {"spec.timeWindows[0].schedule": GONE},
        says="schedule must be used, or weekdays and hours, and not both",
    ),
    created(
        "a time window of days that lasts",
        "Quota",
        {
            "spec.timeWindows": [
                {"name": "day", "weekdays": ["Mon"], "duration": "1h", "multiplier": 2}
            ]
        },
        field="spec.timeWindows[0].duration",
        says="duration must be used only with schedule",
    ),
    created(
        "a time window with a multiplier and limits",
        "Quota",
        {"spec.timeWindows[0].hard": {"orders": "1"}},
        field="spec.timeWindows[0]",
        says="oneOf",
    ),
    created(
        "a time window that changes nothing",
        "Quota",
        {"spec.timeWindows[0].multiplier": GONE},
        says="Required value",
    ),
    created(
        "a negative multiplier as text",
        "Quota",
        {"spec.timeWindows[0].multiplier": "-2"},
        says="a number such as 0.5 or 2, not less than zero",
    ),
    created("a negative multiplier as a number", "Quota", {"spec.timeWindows[0].multiplier": -0.5}),
    created("a multiplier that is a yes", "Quota", {"spec.timeWindows[0].multiplier": True}),
    created("a multiplier that is a list", "Quota", {"spec.timeWindows[0].multiplier": [2]}),
    created(
        "a multiplier that is an object", "Quota", {"spec.timeWindows[0].multiplier": {"by": 2}}
    ),
    created("an empty schedule of a window", "Quota", {"spec.timeWindows[0].schedule": ""}),
    created(
        "hours that are no hours",
        "Quota",
        {"spec.timeWindows": [{"name": "day", "hours": "9 to 5", "multiplier": 2}]},
        field="spec.timeWindows[0].hours",
        says="hours must be two times of day",
    ),
    created(
        "a quarter past midnight at the end of a day",
        "Quota",
        {"spec.timeWindows": [{"name": "day", "hours": "09:00-24:15", "multiplier": 2}]},
        field="spec.timeWindows[0].hours",
    ),
    created(
        "an allocation to a namespace and to a selector",
        "Quota",
        {"spec.allocation[0].namespaceSelector": {"matchLabels": {"env": "prod"}}},
        field="spec.allocation[0].namespace",
        says="namespace or namespaceSelector must be given, and not both",
    ),
    created(
        "an allocation to nobody",
        "Quota",
        {"spec.allocation[0].namespace": GONE},
        says="namespace or namespaceSelector must be given, and not both",
    ),
    created(
        "an allocation to a namespace in capitals",
        "Quota",
        {"spec.allocation[0].namespace": "Team"},
        says="namespace must be lower-case letters, digits and dashes",
    ),
    created(
        "an allocation with a blank in its name",
        "Quota",
        {"spec.allocation[0].name": "team a"},
        says="name must be lower-case letters, digits and dashes",
    ),
    created(
        "two allocations to one namespace",
        "Quota",
        {
            "spec.allocation": [
                {"namespace": "team-a", "limits": {"orders": 1}},
                {"namespace": "team-a", "name": "again", "limits": {"orders": 2}},
            ]
        },
        says="allocation must not name a namespace twice",
    ),
    created(
        "two allocations of one name",
        "Quota",
        {
            "spec.allocation": [
                {"namespace": "team-a", "limits": {"orders": 1}},
                {
                    "name": "team-a",
                    "namespaceSelector": {"matchLabels": {"env": "prod"}},
                    "limits": {"orders": 2},
                },
            ]
        },
        says="allocation must not use a name twice",
    ),
    created(
        "an allocation by label without a name",
        "Quota",
        {
            "spec.allocation": [
                {
                    "namespaceSelector": {"matchLabels": {"env": "prod"}},
                    "limits": {"orders": 2},
                }
            ]
        },
        field="spec.allocation[0].name",
        says="name must be given with namespaceSelector",
    ),
    created("an allocation of nothing", "Quota", {"spec.allocation[0].limits": GONE}),
    created(
        "an allocation with an empty selector",
        "Quota",
        {"spec.allocation": [{"name": "all", "namespaceSelector": {}, "limits": {"orders": "1"}}]},
        field="spec.allocation[0].namespaceSelector",
        says="namespaceSelector must have matchLabels or matchExpressions",
    ),
    unknown_word("Quota", "spec.scope.type"),
    unknown_word("Quota", "spec.enforcement"),
    unknown_word(
        "Quota",
        "spec.timeWindows[0].weekdays[0]",
        {"spec.timeWindows": [{"name": "day", "weekdays": ["Mon"], "multiplier": 2}]},
    ),
    unknown_operator(
        "Quota", "spec.scope.namespaceSelector", {"spec.scope": {"type": "NamespaceSelector"}}
    ),
    unknown_operator(
        "Quota", "spec.scope.objectSelector", {"spec.scope": {"type": "ObjectSelector"}}
    ),
    unknown_operator(
        "Quota", "spec.allocation[0].namespaceSelector", {"spec.allocation": [{"limits": {}}]}
    ),
    conditions("Quota"),
)

BROKER = (
    created("an advertisement of nobody", "ClusterAdvertisement", {"spec.clusterID": GONE}),
    created("an advertisement of an empty name", "ClusterAdvertisement", {"spec.clusterID": ""}),
    updated(
        "an advertisement that changes its cluster",
        "ClusterAdvertisement",
        {},
        {"spec.clusterID": "west"},
        says="clusterID must not change",
    ),
    created(
        "an advertisement of nothing",
        "ClusterAdvertisement",
        {"spec.resources": {}},
        field="spec.resources.capacity",
        says="capacity must be given, or allocatable",
    ),
    created(
        "an advertisement of less than nothing",
        "ClusterAdvertisement",
        {"spec.resources.capacity.cpu": "-10"},
    ),
    created(
        "a negative price",
        "ClusterAdvertisement",
        {"spec.cost.cpuCost": "-0.05"},
        says="cpuCost must be a decimal number such as 0.05",
    ),
    created(
        "a price with its currency",
        "ClusterAdvertisement",
        {"spec.cost.memoryCost": "$0.01"},
        says="memoryCost must be a decimal number such as 0.05",
    ),
    created(
        "a price of disks in words",
        "ClusterAdvertisement",
        {"spec.cost.costs": {"disk": "cheap"}},
        field="spec.cost.costs[disk]",
        says="costs must be a decimal number such as 0.05",
    ),
    created(
        "twice as much, with a sign",
        "ClusterAdvertisement",
        {"spec.overcommit": {"cpu": "x2"}},
        field="spec.overcommit[cpu]",
        says="overcommit must be a decimal number such as 0.05",
    ),
    created("a margin above everything", "ClusterAdvertisement", {"spec.marginPercent": 101}),
    created(
        "a report with a bad time",
        "ClusterAdvertisement",
        {"spec.timestamp": "yesterday"},
        says="an instant with its offset such as 2030-01-31T08:30:00Z",
    ),
    created("a report before the first", "ClusterAdvertisement", {"spec.agent.sequence": -1}),
    unknown_word("ClusterAdvertisement", "spec.scheduling"),
    unknown_word("ClusterAdvertisement", "spec.taints[0].effect", {"spec.taints[0].key": "a"}),
    unknown_word("ClusterAdvertisement", "status.phase"),
    unknown_word("ClusterAdvertisement", "status.holds[0].state", {"status": HELD}),
    conditions("ClusterAdvertisement"),
    reported(
        "a ledger whose sum is wrong",
        "ClusterAdvertisement",
        {},
        {"status": {**HELD, "reserved": {"cpu": 2000}}},
        field="status.reserved",
        says="reserved must be the sum of the resources of all holds",
    ),
    reported(
        "a ledger without its sum",
        "ClusterAdvertisement",
        {},
        {"status": {"holds": [HOLD], "held": {"cpu": 3000}}},
        field="status.reserved",
        says="reserved must be the sum of the resources of all holds",
    ),
    reported(
        "an empty ledger that still reserves",
        "ClusterAdvertisement",
        {"status": HELD},
        {"status": {"reserved": {"cpu": 3000}}},
        field="status.reserved",
        says="reserved must be the sum of the resources of all holds",
    ),
    reported(
        "a ledger whose sum forgets a resource",
        "ClusterAdvertisement",
        {},
        {"status": {**HELD, "holds": [{**HOLD, "resources": {"cpu": 3000, "memory": 1}}]}},
        field="status.reserved",
        says="reserved must have every key that a hold has",
    ),
    reported(
        "a ledger that counts what drains as held",
        "ClusterAdvertisement",
        {},
        {"status": {**HELD, "holds": [{**HOLD, "state": "Draining"}]}},
        field="status.held",
        says="held must be the sum of the resources of all holds that are not Draining",
    ),
    reported(
        "a hold for which there is no room",
        "ClusterAdvertisement",
        {"status": HELD},
        {
            "status": {
                "holds": [HOLD, {**HOLD, "uid": "b", "resources": {"cpu": 8000}}],
                "reserved": {"cpu": 11000},
                "held": {"cpu": 11000},
                "available": {"cpu": -1000},
            }
        },
        field="status.available",
        says="available must not be negative for a resource of which more is held than before",
    ),
    reported(
        "a first ledger for which there is no room",
        "ClusterAdvertisement",
        {},
        {"status": {**HELD, "available": {"cpu": -10000}}},
        field="status.available",
        says="available must not be negative for a resource of which more is held than before",
    ),
    reported(
        "a ledger that is wiped",
        "ClusterAdvertisement",
        {"status": HELD},
        {},
        field="status",
        says="status must not be removed once it has holds",
    ),
    reported(
        "a ledger that is written over by somebody who does not know it",
        "ClusterAdvertisement",
        {"status": {**HELD, "ledgerVersion": 7}},
        {"status": {"phase": "Active"}},
        field="status.ledgerVersion",
        says="ledgerVersion must not become smaller",
    ),
    reported(
        "a hold of less than nothing",
        "ClusterAdvertisement",
        {},
        {
            "status": {
                **HELD,
                "holds": [HOLD, {**HOLD, "uid": "b", "resources": {"cpu": -3000}}],
                "reserved": {"cpu": 0},
                "held": {"cpu": 0},
            }
        },
        field="status.holds[1].resources.cpu",
        says="greater than or equal to 0",
    ),
    *(
        reported(
            f"a ledger in which less than nothing is {what}",
            "ClusterAdvertisement",
            {},
            {"status": {what: {"cpu": -1}}},
            field=f"status.{what}.cpu",
            says="greater than or equal to 0",
        )
        for what in ("reserved", "held")
    ),
    reported(
        "the same hold twice",
        "ClusterAdvertisement",
        {},
        {
            "status": {
                **HELD,
                "holds": [HOLD, HOLD],
                "reserved": {"cpu": 6000},
                "held": {"cpu": 6000},
            }
        },
        field="status.holds[1]",
        says="Duplicate value",
    ),
    reported("a score above a hundred", "ClusterAdvertisement", {}, {"status.scoreValue": 10001}),
    created("a reservation of nothing", "Reservation", {"spec.requestedResources": {}}),
    created("a reservation without resources", "Reservation", {"spec.requestedResources": GONE}),
    created(
        "a reservation of no cores",
        "Reservation",
        {"spec.requestedResources.cpu": "0"},
        says="a quantity such as 20, 500m or 40Gi, more than zero",
    ),
    created(
        "a reservation of no cores, in thousandths",
        "Reservation",
        {"spec.requestedResources.cpu": "0m"},
    ),
    created(
        "a reservation of no cores, as a number", "Reservation", {"spec.requestedResources.cpu": 0}
    ),
    created(
        "a reservation of minus two cores", "Reservation", {"spec.requestedResources.cpu": "-2"}
    ),
    created(
        "a reservation for no time",
        "Reservation",
        {"spec.duration": "0s"},
        says="duration must be a duration longer than zero",
    ),
    created("a reservation for less than no time", "Reservation", {"spec.duration": "-1h"}),
    *(
        created(
            f"a reservation with no time for {what}",
            "Reservation",
            {f"spec.{what}": "0s", "spec.whenInsufficient": "Queue"},
            says=f"{what} must be a duration longer than zero",
        )
        for what in ("pendingDeadline", "activationDeadline", "failoverAfter")
    ),
    created("a priority beyond the highest", "Reservation", {"spec.priority": 1000000001}),
    created("a priority below the lowest", "Reservation", {"spec.priority": -1000000001}),
    created(
        "a deadline for waiting of one that does not wait",
        "Reservation",
        {"spec.pendingDeadline": "5m"},
        says="pendingDeadline must be used only with whenInsufficient Queue",
    ),
    created(
        "weights without the custom profile",
        "Reservation",
        {"spec.weights": {"cost": 1}},
        says="weights must be given for profile custom, and only then",
    ),
    created(
        "the custom profile without weights",
        "Reservation",
        {"spec.profile": "custom"},
        field="spec.weights",
        says="weights must be given for profile custom, and only then",
    ),
    created(
        "a split over fewer than it must",
        "Reservation",
        {"spec.split": {"minClusters": 3, "maxClusters": 2}},
        field="spec.split.maxClusters",
        says="maxClusters must not be less than minClusters",
    ),
    created(
        "a start in words",
        "Reservation",
        {"spec.startAt": "tomorrow"},
        says="an instant with its offset such as 2030-01-31T08:30:00Z",
    ),
    created(
        "two sets of pods of one name",
        "Reservation",
        {
            "spec.podSets": [
                {"name": "a", "requests": {"cpu": 1}},
                {"name": "a", "requests": {"cpu": 2}},
            ]
        },
        field="spec.podSets[1]",
        says="Duplicate value",
    ),
    created(
        "a set of no pods",
        "Reservation",
        {"spec.podSets": [{"name": "a", "count": 0, "requests": {"cpu": 1}}]},
        field="spec.podSets[0].count",
    ),
    created(
        "an empty cluster selector",
        "Reservation",
        {"spec.clusterSelector": {}},
        says="clusterSelector must have matchLabels or matchExpressions",
    ),
    created(
        "a tier without a selector that selects",
        "Reservation",
        {"spec.tiers": [{"name": "own", "selector": {}}]},
        field="spec.tiers[0].selector",
        says="selector must have matchLabels or matchExpressions",
    ),
    created(
        "a toleration of a cluster's taint without a key",
        "Reservation",
        {"spec.tolerations": [{"value": "b"}]},
        field="spec.tolerations[0].operator",
        says="operator must be Exists when key is left out",
    ),
    updated(
        "a reservation that asks for something else once it is held",
        "Reservation",
        {"status.phase": "Reserved"},
        {"spec.requestedResources": {"cpu": "2", "nvidia.com/gpu": 1}},
        says="requestedResources must keep its keys once the reservation has left Pending",
    ),
    updated(
        "a reservation that is resized after its end",
        "Reservation",
        {"status.phase": "Released"},
        {"spec.requestedResources.cpu": "1"},
        field="spec.requestedResources",
        says="requestedResources must not change once the reservation is Released or Failed",
    ),
    reported(
        "a failed reservation that comes back",
        "Reservation",
        {"status.phase": "Failed"},
        {"status.phase": "Reserved"},
        says="phase must not change once it is Released or Failed",
    ),
    reported(
        "a released reservation that forgets its phase",
        "Reservation",
        {"status.phase": "Released"},
        {"status": {"message": "?"}},
        field="status.phase",
        says="phase must not change once it is Released or Failed",
    ),
    *(
        reported(
            f"a {phase} reservation whose status is removed",
            "Reservation",
            {"status.phase": phase},
            {},
            field="status",
            says="status must not be removed, nor its phase, once it has one",
        )
        for phase in ("Reserved", "Released")
    ),
    reported(
        "an active reservation that forgets its phase",
        "Reservation",
        {"status.phase": "Active"},
        {"status": {"message": "?"}},
        field="status",
        says="status must not be removed, nor its phase, once it has one",
    ),
    reported(
        "a part of a reservation that is less than nothing",
        "Reservation",
        {},
        {"status.shards": [{"shard": 0, "clusterID": "east", "resources": {"cpu": -1}}]},
        field="status.shards[0].resources.cpu",
        says="greater than or equal to 0",
    ),
    reported(
        "an attempt that is forgotten",
        "Reservation",
        {"status": {"attempt": 2, "targetClusterID": "east"}},
        {},
        field="status.attempt",
        says="attempt must not become smaller",
    ),
    reported(
        "an attempt that goes back",
        "Reservation",
        {"status": {"attempt": 2}},
        {"status": {"attempt": 1}},
        field="status.attempt",
        says="attempt must not become smaller",
    ),
    reported(
        "a target that changes within an attempt",
        "Reservation",
        {"status": {"attempt": 1, "targetClusterID": "east"}},
        {"status": {"attempt": 1, "targetClusterID": "west"}},
        field="status.targetClusterID",
        says="targetClusterID must not change within an attempt",
    ),
    *(
        unknown_word("Reservation", f"spec.{word}")
        for word in (
            "whenInsufficient",
            "onTargetLost",
            "onExpiry",
            "preemptionPolicy",
            "confirm",
            "profile",
        )
    ),
    *(
        unknown_word(
            "Reservation",
            f"{where}.{word}",
            {where: {"key": "a"}, **podset},
        )
        for where, podset in (
            ("spec.tolerations[0]", {}),
            (
                "spec.podSets[0].tolerations[0]",
                {"spec.podSets[0].name": "a", "spec.podSets[0].requests": {"cpu": 1}},
            ),
        )
        for word in ("operator", "effect")
    ),
    unknown_operator("Reservation", "spec.clusterSelector"),
    unknown_operator("Reservation", "spec.tiers[0].selector", {"spec.tiers[0].name": "own"}),
    unknown_word("Reservation", "status.phase"),
    unknown_word(
        "Reservation",
        "status.decision.candidates[0].rejection",
        {"status.decision.candidates[0].clusterID": "east"},
    ),
    conditions("Reservation"),
)

BOOKING = (
    created("a resource without a tag", "Resource", {"spec.tag": GONE}),
    created("a resource with an empty tag", "Resource", {"spec.tag": ""}),
    created("a resource without a type", "Resource", {"spec.type": GONE}),
    created(
        "a hold by hand until some day",
        "Resource",
        {"spec.booked_until": "friday"},
        says="booked_until must be an instant with its offset",
    ),
    created(
        "a resource that depends on one in capitals",
        "Resource",
        {"spec.depends_on": ["Database"]},
        field="spec.depends_on[0]",
        says="depends_on must be lower-case letters, digits, dashes and dots",
    ),
    created("a negative turnaround", "Resource", {"spec.turnaround": -5}),
    unknown_word("Resource", "spec.type"),
    unknown_word("Resource", "spec.idle_policy"),
    unknown_word("Resource", "spec.conflict_policy"),
    unknown_word("Resource", "spec.deletion_policy"),
    unknown_word("Resource", "status.status"),
    conditions("Resource"),
    reported("a resource with minus one machine", "Resource", {}, {"status.instances": -1}),
    created("a monitor without a type", "ResourceMonitor", {"spec.type": GONE}),
    unknown_word("ResourceMonitor", "spec.type"),
    conditions("ResourceMonitor"),
    created("a booking of nothing", "Booking", {"spec.resource_name": GONE}),
    created("a booking of an empty name", "Booking", {"spec.resource_name": ""}),
    created("a booking for nobody", "Booking", {"spec.user_id": ""}),
    created("a booking without a start", "Booking", {"spec.start_at": GONE}),
    created("a booking without an end", "Booking", {"spec.end_at": GONE}),
    created(
        "a booking that ends before it starts",
        "Booking",
        {"spec.end_at": "2029-12-31T00:00:00Z"},
        says="end_at must be later than start_at",
    ),
    created(
        "a booking that ends as it starts, in another zone",
        "Booking",
        {"spec.end_at": "2030-01-01T21:00:00+01:00"},
        says="end_at must be later than start_at",
    ),
    created(
        "a booking without an offset",
        "Booking",
        {"spec.start_at": "2030-01-01T20:00:00"},
        says="an instant with its offset such as 2030-01-31T08:30:00Z",
    ),
    created("a booking in month thirteen", "Booking", {"spec.start_at": "2030-13-01T20:00:00Z"}),
    created("a booking at 25 o'clock", "Booking", {"spec.start_at": "2030-01-01T25:00:00Z"}),
    created("a booking with a space for a T", "Booking", {"spec.start_at": "2030-01-01 20:00:00Z"}),
    created("a booking on a day only", "Booking", {"spec.start_at": "2030-01-01"}),
    created(
        "a reminder that comes at the end",
        "Booking",
        {"spec.leads": ["0m"]},
        field="spec.leads[0]",
        says="leads must be a duration longer than zero",
    ),
    created(
        "a notification to nobody",
        "Booking",
        {"spec.notifications[0].recipient": GONE},
    ),
    unknown_word("Booking", "spec.notifications[0].type"),
    unknown_word("Booking", "status.status"),
    reported(
        "a booking in progress without the space", "Booking", {}, {"status.status": "IN_PROGRESS"}
    ),
    conditions("Booking"),
    created(
        "a scheduler without a schedule",
        "BookingScheduler",
        {"spec.schedule": GONE},
        says="schedule must be given, or rrule, and not both",
    ),
    created(
        "a scheduler with two schedules",
        "BookingScheduler",
        {"spec.rrule": "FREQ=DAILY"},
        field="spec.schedule",
        says="schedule must be given, or rrule, and not both",
    ),
    created(
        "a scheduler with a bad schedule",
        "BookingScheduler",
        {"spec.schedule": "8 o'clock"},
        says="schedule must be five cron fields such as '0 8",
    ),
    created(
        "a scheduler with a bad rule",
        "BookingScheduler",
        {"spec.rrule": "every week", "spec.schedule": GONE},
        says="rrule must be an iCalendar rule",
    ),
    created("a scheduler for bookings of no time", "BookingScheduler", {"spec.duration": 0}),
    created(
        "a scheduler for bookings without a length", "BookingScheduler", {"spec.duration": GONE}
    ),
    created(
        "a scheduler for bookings of a time in words", "BookingScheduler", {"spec.duration": "10h"}
    ),
    created("a scheduler without a template", "BookingScheduler", {"spec.bookingTemplate": GONE}),
    created("a scheduler for nobody", "BookingScheduler", {"spec.bookingTemplate.user_id": GONE}),
    created(
        "a scheduler that ends twice",
        "BookingScheduler",
        {"spec.count": 3, "spec.until": "2031-01-01T00:00:00Z"},
        says="count must not be used together with until",
    ),
    created(
        "a scheduler in two zones",
        "BookingScheduler",
        {"spec.time_zone": "Europe/Berlin", "spec.schedule": "CRON_TZ=UTC 0 8 * * *"},
        says="time_zone must not be used with a schedule that names its own zone",
    ),
    created(
        "a scheduler in no zone",
        "BookingScheduler",
        {"spec.time_zone": "here and there"},
        says="time_zone must be the name of a time zone",
    ),
    created("a scheduler for minus one booking", "BookingScheduler", {"spec.count": -1}),
    created(
        "a scheduler without a day that is none",
        "BookingScheduler",
        {"spec.exdates": ["2030-02-30"]},
        field="spec.exdates[0]",
    ),
    created(
        "a scheduler that looks no way ahead",
        "BookingScheduler",
        {"spec.horizon": "0s"},
        says="horizon must be a duration longer than zero",
    ),
    unknown_word(
        "BookingScheduler",
        "spec.bookingTemplate.notifications[0].type",
        {"spec.bookingTemplate.notifications[0].recipient": "a"},
    ),
    conditions("BookingScheduler"),
)

MESH = (
    created(
        "a shard without pods",
        "ShardingConfig",
        {"spec.selector": GONE},
        says="selector must be given unless root is",
    ),
    created(
        "a shard of all pods",
        "ShardingConfig",
        {"spec.selector": {}},
        says="selector must have matchLabels or matchExpressions",
    ),
    created(
        "a shard without limits",
        "ShardingConfig",
        {"spec.limits": GONE},
        says="limits must have an entry unless root is given",
    ),
    created(
        "a shard with an empty list of limits",
        "ShardingConfig",
        {"spec.limits": []},
        says="limits must have an entry unless root is given",
    ),
    created(
        "a limit of nothing",
        "ShardingConfig",
        {"spec.limits": [{}]},
        field="spec.limits[0].objectSelector",
        says="objectSelector must be used, or the flat form",
    ),
    created(
        "a limit in both forms",
        "ShardingConfig",
        {"spec.limits[0].selector": {"matchLabels": {"a": "b"}}},
        field="spec.limits[0].objectSelector",
        says="objectSelector must be used, or the flat form",
    ),
    created(
        "a limit without a selector",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.selector": GONE},
        says="objectSelector.selector must have matchLabels or matchExpressions",
    ),
    created(
        "a limit with an empty selector",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.selector": {}},
        says="objectSelector.selector must have matchLabels or matchExpressions",
    ),
    created(
        "a limit whose labels are null",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.selector": {"matchLabels": None}},
        says="objectSelector.selector must have matchLabels or matchExpressions",
    ),
    created(
        "a flat limit with an empty selector",
        "ShardingConfig",
        {"spec.limits": [{"selector": {"matchLabels": {}}}]},
        field="spec.limits[0].selector",
        says="selector must have matchLabels or matchExpressions; an empty one would isolate nothing",
    ),
    created(
        "all groups and one more",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.relateResources[0].apiGroups": ["*", "apps"]},
        says="apiGroups must name '*' alone or not at all",
    ),
    created(
        "all resources and one more",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.relateResources[0].resources": ["pods", "*"]},
        says="resources must name '*' alone or not at all",
    ),
    created(
        "resources of no group",
        "ShardingConfig",
        {"spec.limits[0].objectSelector.relateResources[0].apiGroups": []},
    ),
    updated(
        "a shard that takes other pods",
        "ShardingConfig",
        {},
        {"spec.selector": {"matchLabels": {"app": "other"}}},
        says="selector must not change, or two shards could own one pod",
    ),
    created(
        "an election without a name", "ShardingConfig", {"spec.controller.leaderElectionName": ""}
    ),
    created(
        "an election of nothing",
        "ShardingConfig",
        {"spec.controller": {}},
        field="spec.controller.leaderElectionName",
    ),
    created("a webhook without certificates", "ShardingConfig", {"spec.webhook.certDir": ""}),
    created("a webhook on port 0", "ShardingConfig", {"spec.webhook.port": 0}),
    created("a webhook on port 70000", "ShardingConfig", {"spec.webhook.port": 70000}),
    created(
        "a root without a prefix",
        "ShardingConfig",
        {"spec.root": {**ROOT, "prefix": ""}},
        field="spec.root.prefix",
    ),
    created(
        "a root without pods",
        "ShardingConfig",
        {"spec.root": {"prefix": "demo", "auto": {"shardingSize": 4, "everyShardReplicas": 2}}},
        field="spec.root.targetStatefulSet",
    ),
    created(
        "a root with a prefix in capitals",
        "ShardingConfig",
        {"spec.root": {**ROOT, "prefix": "Demo"}},
        field="spec.root.prefix",
        says="prefix must be lower-case letters, digits and dashes",
    ),
    created(
        "a root of pods in capitals",
        "ShardingConfig",
        {"spec.root": {**ROOT, "targetStatefulSet": "Operator"}},
        field="spec.root.targetStatefulSet",
        says="targetStatefulSet must be lower-case letters, digits, dashes and dots",
    ),
    created(
        "a canary in a namespace in capitals",
        "ShardingConfig",
        {"spec.root": {**ROOT, "canary": {"replicas": 1, "inNamespaces": ["Team"]}}},
        field="spec.root.canary.inNamespaces[0]",
        says="inNamespaces must be lower-case letters, digits and dashes",
    ),
    created(
        "a root without shards",
        "ShardingConfig",
        {"spec.root": {"prefix": "demo", "targetStatefulSet": "operator"}},
        field="spec.root.auto",
        says="auto must be given, or canary",
    ),
    created(
        "a canary that owns nothing",
        "ShardingConfig",
        {"spec.root": {**ROOT, "canary": {"replicas": 1}}},
        field="spec.root.canary.inNamespaces",
        says="inNamespaces must be given, or inShardHash",
    ),
    created(
        "a canary in bucket 32",
        "ShardingConfig",
        {"spec.root": {**ROOT, "canary": {"replicas": 1, "inShardHash": [32]}}},
        field="spec.root.canary.inShardHash[0]",
    ),
    created(
        "more shards than buckets",
        "ShardingConfig",
        {"spec.root": {**ROOT, "auto": {"shardingSize": 33, "everyShardReplicas": 1}}},
        field="spec.root.auto.shardingSize",
    ),
    unknown_word("ShardingConfig", "spec.root.hash", {"spec.root": ROOT}),
    unknown_operator("ShardingConfig", "spec.selector"),
    unknown_operator("ShardingConfig", "spec.limits[0].objectSelector.selector"),
    unknown_operator("ShardingConfig", "spec.limits[0].selector", {"spec.limits": [{}]}),
    unknown_operator(
        "ShardingConfig", "spec.root.resourceSelector[0].selector", {"spec.root": ROOT}
    ),
    unknown_operator(
        "ShardingConfig",
        "spec.root.resourceSelector[0].objectSelector.selector",
        {"spec.root": ROOT},
    ),
    conditions("ShardingConfig"),
    created("a breaker for no pods", "CircuitBreaker", {"spec.selector": GONE}),
    created(
        "a breaker for all pods",
        "CircuitBreaker",
        {"spec.selector": {}},
        says="selector must have matchLabels or matchExpressions",
    ),
    created(
        "two limits of one name",
        "CircuitBreaker",
        {"spec.rateLimitings[1]": GOOD["CircuitBreaker"]["spec"]["rateLimitings"][0]},  # type: ignore[index,call-overload]
        says="Duplicate value",
    ),
    created(
        "a limit for no requests",
        "CircuitBreaker",
        {"spec.rateLimitings[0].resourceRules": GONE},
        says="resourceRules must be given, or restRules",
    ),
    created(
        "a breaker that never closes",
        "CircuitBreaker",
        {"spec.rateLimitings[0].recoverPolicy": GONE},
        says="recoverPolicy must be given for triggerPolicy Normal",
    ),
    created(
        "a breaker that closes after it does not say how long",
        "CircuitBreaker",
        {"spec.rateLimitings[0].recoverPolicy.sleepingWindowSize": GONE},
        says="recoverPolicy.sleepingWindowSize must be given for type SleepingWindow",
    ),
    created(
        "a breaker that closes at once",
        "CircuitBreaker",
        {"spec.rateLimitings[0].recoverPolicy.sleepingWindowSize": "0s"},
        says="sleepingWindowSize must be a duration longer than zero",
    ),
    created("a bucket for nothing", "CircuitBreaker", {"spec.rateLimitings[0].bucket.burst": 0}),
    created(
        "a bucket that never fills", "CircuitBreaker", {"spec.rateLimitings[0].bucket.limit": 0}
    ),
    created(
        "a bucket that fills sometimes",
        "CircuitBreaker",
        {"spec.rateLimitings[0].bucket.interval": "often"},
        says="interval must be a duration longer than zero",
    ),
    created(
        "a rule without verbs",
        "CircuitBreaker",
        {"spec.rateLimitings[0].resourceRules[0].verbs": GONE},
    ),
    created("a rule for no host", "CircuitBreaker", {"spec.trafficInterceptRules[0].contents": []}),
    unknown_word("CircuitBreaker", "spec.rateLimitings[0].triggerPolicy"),
    unknown_word("CircuitBreaker", "spec.rateLimitings[0].recoverPolicy.type"),
    unknown_word("CircuitBreaker", "spec.rateLimitings[0].validatePolicy"),
    unknown_word("CircuitBreaker", "spec.trafficInterceptRules[0].interceptType"),
    unknown_word("CircuitBreaker", "spec.trafficInterceptRules[0].contentType"),
    unknown_operator("CircuitBreaker", "spec.selector"),
    unknown_word(
        "CircuitBreaker",
        "status.targetStatus[0].limitingSnapshots[0].state",
        {
            "status.targetStatus[0].podName": "p",
            "status.targetStatus[0].limitingSnapshots[0].name": "deletes",
        },
    ),
    conditions("CircuitBreaker"),
)

MISTAKES: tuple[Mistake, ...] = (*ORDERS, *TICKETS, *QUOTAS, *BROKER, *BOOKING, *MESH)


@dataclass(frozen=True, slots=True)
class NearMiss:
    """What looks like a mistake and must be accepted; sent like a mistake."""

    id: str
    after: Object
    before: Object | None = None
    status: bool = False


def near(name: str, kind: str, changes: Changes) -> NearMiss:
    """A new object."""
    return NearMiss(name, good(kind, changes))


def near_update(name: str, kind: str, before: Changes, after: Changes) -> NearMiss:
    """A change of an object."""
    return NearMiss(name, good(kind, after), before=good(kind, before))


def near_status(name: str, kind: str, before: Changes, after: Changes) -> NearMiss:
    """A change of a status."""
    return NearMiss(name, good(kind, after), before=good(kind, before), status=True)


NEAR_MISSES: tuple[NearMiss, ...] = (
    near(
        "an order without a strategy",
        "Order",
        {"spec.strategy": GONE, "spec.refreshPolicy": "Never"},
    ),
    near(
        "a one-time order with an empty schedule",
        "Order",
        {"spec.strategy": {"type": "OneTime", "schedule": ""}},
    ),
    near("an order that opens with all its tickets", "Order", {"spec.minAvailable": 3}),
    near(
        "an order that opens on any number of nodes",
        "Order",
        {"spec.minAvailable": 9, "spec.daemonSet": True},
    ),
    near("an order scaled to nothing", "Order", {"spec.minAvailable": 2, "spec.replicas": 0}),
    near_update(
        "an order scaled below what it opened with",
        "Order",
        {"spec.minAvailable": 2, "status.opened": True},
        {"spec.minAvailable": 2, "spec.replicas": 1},
    ),
    near(
        "a schedule with a tab and a blank at its end",
        "Order",
        {"spec.strategy.schedule": "0 2\t* * * "},
    ),
    near("a lead time as long as it may be", "Order", {"spec.strategy.leadTime": "399999h"}),
    near(
        "a window in a template",
        "Order",
        {
            f"{_TEMPLATE}.window": {
                "startTime": "2030-01-01T08:00:00+01:00",
                "timeZone": "Europe/Berlin",
                "duration": "2h",
            },
            f"{_TEMPLATE}.duration": GONE,
        },
    ),
    near(
        "any metadata in a template",
        "Order",
        {"spec.template.metadata": {"name": "t", "finalizers": ["a/b"]}},
    ),
    near(
        "a schedule that wraps around midnight",
        "Order",
        {"spec.strategy.schedule": "0 18-8 * * MON-FRI"},
    ),
    near_update(
        "a one-time order that gets a strategy of that type",
        "Order",
        {"spec.strategy": GONE},
        {"spec.strategy": {"type": "OneTime"}},
    ),
    near_update("an order that is rescheduled", "Order", {}, {"spec.strategy.schedule": "@daily"}),
    near(
        "a ticket with whole numbers",
        "Ticket",
        {"spec.resources": {"requests": {"cpu": 2, "nvidia.com/gpu": 1}}},
    ),
    near("a ticket without anything", "Ticket", {"spec": {}}),
    near("a ticket for the usual room", "Ticket", {"spec.resources": {"requests": {}}}),
    near("a ticket with an empty list of claims", "Ticket", {"spec.resources.claims": []}),
    near(
        "a ticket that starts on a leap day", "Ticket", {"spec.startTime": "2032-02-29T08:00:00Z"}
    ),
    near(
        "a window whose start and zone are empty",
        "Ticket",
        {
            "spec.startTime": "",
            "spec.window": {"startTime": "", "timeZone": "", "duration": "1h"},
            "spec.duration": GONE,
        },
    ),
    near(
        "a ticket that goes at once", "Ticket", {"spec.lifecycle": {"ttlSecondsAfterFinished": 0}}
    ),
    near("a toleration of everything", "Ticket", {"spec.tolerations": [{"operator": "Exists"}]}),
    near(
        "a toleration with an empty effect",
        "Ticket",
        {"spec.tolerations": [{"key": "a", "operator": "", "effect": ""}]},
    ),
    near(
        "empty affinities", "Ticket", {"spec.affinity": {"podAffinity": {}, "podAntiAffinity": {}}}
    ),
    near_update("a ticket that gets its node", "Ticket", {}, {"spec.nodeName": "n1"}),
    near_update(
        "a ticket that gets its node after an empty name",
        "Ticket",
        {"spec.nodeName": ""},
        {"spec.nodeName": "n1"},
    ),
    near("a quota without a scope or limits", "Quota", {"spec": {}}),
    near("a quota in numbers", "Quota", {"spec.hard": {"orders": 10, "max-duration": 86400}}),
    near(
        "a longest duration in seconds as text", "Quota", {"spec.hard": {"max-duration": "604800"}}
    ),
    near(
        "a longest duration that could be milli",
        "Quota",
        {"spec.hard": {"max-duration": "30m", "reserved.cpu": "500m"}},
    ),
    near(
        "a longest duration of the usual forms",
        "Quota",
        {
            "spec.hard": {"max-duration": "1h30m"},
            "spec.timeWindows[0]": {
                "name": "day",
                "weekdays": ["Mon"],
                "hard": {"max-duration": "604800s"},
            },
            "spec.allocation[0].limits": {"max-duration": "1.5h"},
        },
    ),
    near(
        "allocations to two namespaces and by label",
        "Quota",
        {
            "spec.allocation": [
                {"namespace": "team-a", "limits": {"orders": 1}},
                {"namespace": "team-b", "name": "b", "limits": {"orders": 1}},
                {
                    "name": "production",
                    "namespaceSelector": {"matchLabels": {"env": "prod"}},
                    "limits": {"orders": 2},
                },
            ]
        },
    ),
    near_status(
        "the use of an allocation by label",
        "Quota",
        {},
        {"status.allocation": [{"name": "production", "used": {"orders": "1"}}]},
    ),
    near("a limit nobody knows", "Quota", {"spec.hard": {"reserved.example.com/thing": "3"}}),
    near(
        "a window of days and hours",
        "Quota",
        {
            "spec.timeWindows": [
                {
                    "name": "peak",
                    "weekdays": ["Mon", "Fri"],
                    "hours": "09:00-17:00",
                    "multiplier": 2.0,
                }
            ]
        },
    ),
    near(
        "a window of days",
        "Quota",
        {"spec.timeWindows": [{"name": "weekend", "weekdays": ["Sat", "Sun"], "multiplier": 0.5}]},
    ),
    near("a window that closes everything", "Quota", {"spec.timeWindows[0].multiplier": 0}),
    near(
        "a window with limits of its own",
        "Quota",
        {
            "spec.timeWindows": [
                {
                    "name": "night",
                    "schedule": "0 20 * * *",
                    "duration": "12h",
                    "hard": {"orders": "1"},
                }
            ]
        },
    ),
    near(
        "an allocation by label",
        "Quota",
        {
            "spec.allocation": [
                {
                    "name": "production",
                    "namespaceSelector": {"matchLabels": {"env": "prod"}},
                    "limits": {"reserved.cpu": 1},
                }
            ]
        },
    ),
    near(
        "an advertisement of what is allocatable",
        "ClusterAdvertisement",
        {"spec.resources": {"allocatable": {"cpu": "3000m"}}},
    ),
    near(
        "an advertisement that is overcommitted",
        "ClusterAdvertisement",
        {"spec.resources.available": {"cpu": "-1050m"}},
    ),
    near_status("a hold", "ClusterAdvertisement", {}, {"status": HELD}),
    near_status(
        "a ledger without holds whose status is removed",
        "ClusterAdvertisement",
        {"status.phase": "Pending"},
        {},
    ),
    near_status(
        "a first status of a cluster that is too full",
        "ClusterAdvertisement",
        {},
        {"status": {"available": {"cpu": -10000}}},
    ),
    near_status(
        "a hold on the last core",
        "ClusterAdvertisement",
        {},
        {"status": {**HELD, "available": {"cpu": 0}}},
    ),
    near_status(
        "a hold that drains while there is no room",
        "ClusterAdvertisement",
        {"status": HELD},
        {
            "status": {
                "holds": [{**HOLD, "state": "Draining"}],
                "reserved": {"cpu": 3000},
                "held": {"cpu": 0},
                "available": {"cpu": -1},
            }
        },
    ),
    near_status(
        "local pods that eat the room of a hold",
        "ClusterAdvertisement",
        {"status": HELD},
        {"status": {**HELD, "available": {"cpu": -500}}},
    ),
    near_status(
        "usage of nobody's hold while there is no room",
        "ClusterAdvertisement",
        {"status": HELD},
        {
            "status": {
                "holds": [HOLD, {**HOLD, "uid": "b", "state": "Draining"}],
                "reserved": {"cpu": 6000},
                "held": {"cpu": 3000},
                "available": {"cpu": -500},
            }
        },
    ),
    near(
        "a reservation of less than one",
        "Reservation",
        {"spec.requestedResources": {"cpu": "0.5", "memory": "1e9"}},
    ),
    near("a reservation without an end", "Reservation", {"spec.duration": GONE}),
    near("a reservation for an hour and a half", "Reservation", {"spec.duration": "1.5h"}),
    near_update(
        "a reservation that is resized",
        "Reservation",
        {"status.phase": "Reserved"},
        {"spec.requestedResources.cpu": "1"},
    ),
    near_update(
        "a reservation that is renewed",
        "Reservation",
        {"status.phase": "Active"},
        {"spec.duration": "2h"},
    ),
    near_update(
        "a waiting reservation that asks for something else",
        "Reservation",
        {"status.phase": "Pending"},
        {"spec.requestedResources": {"nvidia.com/gpu": 1}},
    ),
    near_status(
        "a reservation that is pushed out and waits again",
        "Reservation",
        {"status.phase": "Reserved"},
        {"status.phase": "Pending"},
    ),
    near_status(
        "a second attempt",
        "Reservation",
        {"status": {"attempt": 1, "targetClusterID": "east"}},
        {"status": {"attempt": 2, "targetClusterID": "west"}},
    ),
    near_status(
        "a message after the end",
        "Reservation",
        {"status.phase": "Released"},
        {"status": {"phase": "Released", "message": "gone"}},
    ),
    near(
        "a resource that nobody holds", "Resource", {"spec.booked_by": "", "spec.booked_until": ""}
    ),
    near(
        "a resource held by hand",
        "Resource",
        {"spec.booked_by": "bob", "spec.booked_until": "2030-01-01T00:00:00Z"},
    ),
    near(
        "a booking across zones",
        "Booking",
        {"spec.start_at": "2030-01-01T20:00:00+02:00", "spec.end_at": "2030-01-01T19:00:00Z"},
    ),
    near(
        "a booking in the past",
        "Booking",
        {"spec.start_at": "2020-01-01T20:00:00Z", "spec.end_at": "2020-01-01T21:00:00.5Z"},
    ),
    near_status("a booking in progress", "Booking", {}, {"status.status": "IN PROGRESS"}),
    near(
        "a scheduler with its zone in the schedule",
        "BookingScheduler",
        {"spec.schedule": "CRON_TZ=Europe/Berlin 30 2 * * *"},
    ),
    near(
        "a scheduler with its zone in the schedule and an empty one beside it",
        "BookingScheduler",
        {"spec.schedule": "CRON_TZ=Europe/Berlin 30 2 * * * ", "spec.time_zone": ""},
    ),
    near(
        "a scheduler by rule with its iCalendar name",
        "BookingScheduler",
        {"spec.schedule": GONE, "spec.rrule": "RRULE:FREQ=DAILY"},
    ),
    near("a scheduler by the hour", "BookingScheduler", {"spec.schedule": "@every 1h30m"}),
    near(
        "a scheduler by rule",
        "BookingScheduler",
        {
            "spec.schedule": GONE,
            "spec.rrule": "FREQ=WEEKLY;BYDAY=MO",
            "spec.exdates": ["2030-12-25"],
        },
    ),
    near(
        "a flat limit",
        "ShardingConfig",
        {"spec.limits": [{"selector": {"matchLabels": {"a": "b"}}}]},
    ),
    near(
        "a selector with a null",
        "ShardingConfig",
        {
            "spec.limits[0].objectSelector.selector": {
                "matchLabels": None,
                "matchExpressions": [{"key": "a", "operator": "Exists"}],
            }
        },
    ),
    near(
        "a root",
        "ShardingConfig",
        {
            "spec": {
                "root": {
                    **ROOT,
                    "hash": "legacy",
                    "canary": {"replicas": 1, "inShardHash": [0, 31]},
                    "resourceSelector": [
                        {"relateResources": [{"apiGroups": [""], "resources": ["pods"]}]}
                    ],
                }
            }
        },
    ),
    near_update(
        "a shard with other limits",
        "ShardingConfig",
        {},
        {"spec.limits": [{"selector": {"matchLabels": {"a": "b"}}}]},
    ),
    *(
        near(
            f"a rule that says {word} as the original's seed does",
            "CircuitBreaker",
            {"spec.trafficInterceptRules[0].interceptType": word},
        )
        for word in ("White", "Black")
    ),
    near(
        "a breaker with its window in a property",
        "CircuitBreaker",
        {
            "spec.rateLimitings[0].recoverPolicy": {"type": "SleepingWindow"},
            "spec.rateLimitings[0].properties": {"sleepingWindowSize": "10s"},
        },
    ),
    near(
        "a limiter that never breaks",
        "CircuitBreaker",
        {
            "spec.rateLimitings[0].recoverPolicy": GONE,
            "spec.rateLimitings[0].triggerPolicy": "LimiterOnly",
        },
    ),
)
