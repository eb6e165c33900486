"""What looks like a mistake and must be accepted."""

from dataclasses import dataclass

from tests.tables.mistakes.good import HELD, HOLD, ROOT
from tests.tables.mistakes.spoiling import GONE, TEMPLATE, Changes, Object, good


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
            f"{TEMPLATE}.window": {
                "startTime": "2030-01-01T08:00:00+01:00",
                "timeZone": "Europe/Berlin",
                "duration": "2h",
            },
            f"{TEMPLATE}.duration": GONE,
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
    near("the greatest multiplier", "Quota", {"spec.timeWindows[0].multiplier": 1_000_000}),
    near("the greatest multiplier as text", "Quota", {"spec.timeWindows[0].multiplier": "1000000"}),
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
