"""Mistakes in tickets."""

from tests.tables.mistakes.spoiling import (
    GONE,
    IN_NO_VALUES,
    conditions,
    created,
    reported,
    unknown_word,
    updated,
)
from tests.tables.mistakes.words import PREFERRED, SPREAD, TERMS, ticket_words

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
        {"spec.owners[0].podSelector.matchExpressions": IN_NO_VALUES},
        field="spec.owners[0].podSelector.matchExpressions[0].values",
        says="values must name at least one value for In and NotIn",
    ),
    created(
        "a node affinity that compares with two numbers",
        "Ticket",
        {
            f"spec.affinity.nodeAffinity.{TERMS}[0].matchExpressions": [
                {"key": "cores", "operator": "Gt", "values": ["1", "2"]}
            ]
        },
        field=f"spec.affinity.nodeAffinity.{TERMS}[0].matchExpressions[0].values",
        says="exactly one for Gt and Lt",
    ),
    created("a node affinity without terms", "Ticket", {f"spec.affinity.nodeAffinity.{TERMS}": []}),
    created(
        "a preference that weighs too much",
        "Ticket",
        {
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight": 101,
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].preference": {},
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
        {"spec.topologySpreadConstraints": [{**SPREAD, "maxSkew": 0}]},
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
