"""Mistakes in advertisements and reservations."""

from tests.tables.mistakes.good import HELD, HOLD
from tests.tables.mistakes.spoiling import (
    GONE,
    conditions,
    created,
    reported,
    unknown_operator,
    unknown_word,
    updated,
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
