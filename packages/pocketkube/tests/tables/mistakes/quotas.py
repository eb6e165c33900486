"""Mistakes in quotas."""

from tests.tables.mistakes.spoiling import (
    GONE,
    conditions,
    created,
    unknown_operator,
    unknown_word,
    updated,
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
    created(
        "a multiplier too large, as text",
        "Quota",
        {"spec.timeWindows[0].multiplier": "1000000.5"},
        says="not more than 1000000",
    ),
    created(
        "a multiplier too large, as a number",
        "Quota",
        {"spec.timeWindows[0].multiplier": 1e300},
        says="less than or equal to 1e+06",
    ),
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
