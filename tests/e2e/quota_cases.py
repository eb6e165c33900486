"""Quotas for `test_quota_scenarios`: one that lets two of three tickets be made, by every key; one of every scope; and those that make no sense."""

from typing import NamedTuple

from kubeloop.objects.meta import JSON

GPU = "nvidia.com/gpu"


class Limited(NamedTuple):
    """A limit, what is said of an order of three that goes beyond it, and how many tickets that gets if it may wait."""

    hard: dict[str, JSON]
    said: str
    made: int


OF_THREE = {"cpu": "500m", "memory": "64Mi", GPU: "1"}
"""What each of the three tickets holds."""
KEYS = {
    "orders": Limited({"orders": "0"}, "orders used 0 of 0, requested 1", 0),
    "tickets": Limited({"tickets": "2"}, "tickets used 0 of 2, requested 3", 2),
    "cpu": Limited({"reserved.cpu": "1499m"}, "reserved.cpu used 0 of 1499m, requested 1500m", 2),
    "memory": Limited(
        {"reserved.memory": "160Mi"}, "reserved.memory used 0 of 160Mi, requested 192Mi", 2
    ),
    "gpu": Limited({f"reserved.{GPU}": "2"}, f"reserved.{GPU} used 0 of 2, requested 3", 2),
    "max-duration": Limited({"max-duration": "30m"}, "max-duration is 30m0s, requested 1h0m0s", 0),
}

LISTED: dict[str, JSON] = {"type": "NamespaceList", "namespaces": ["nobody"]}


def windowed(**window: JSON) -> JSON:
    return {"scope": LISTED, "timeWindows": [{"name": "w", "multiplier": "2", **window}]}


NONSENSE: dict[str, tuple[JSON, str]] = {
    "not a number": ({"scope": LISTED, "hard": {"tickets": "lots"}}, "spec.hard.tickets"),
    "less than nothing": ({"scope": LISTED, "hard": {"reserved.cpu": "-1"}}, "spec.hard"),
    "a ticket and a half": (
        {"scope": LISTED, "hard": {"tickets": "1500m"}},
        "spec.hard.tickets: must be a whole number, not 1500m",
    ),
    "of nothing": (
        {"scope": LISTED, "hard": {"reserved.": "1"}},
        "spec.hard.reserved.: must name a resource, such as reserved.cpu",
    ),
    "no length of time": (
        {"scope": LISTED, "hard": {"max-duration": "soon"}},
        "must have as max-duration a duration such as 24h or whole seconds such as 86400",
    ),
    "a length of time for a number": (
        {"scope": LISTED, "hard": {"tickets": "24h"}},
        "must have a duration only as max-duration",
    ),
    "an unknown scope": (
        {"scope": {"type": "Galaxy"}},
        'Unsupported value: "Galaxy": supported values: "Cluster", "NamespaceSelector"',
    ),
    "a scope without its selector": (
        {"scope": {"type": "NamespaceSelector"}},
        "namespaceSelector must be given for type NamespaceSelector, and only then",
    ),
    "an hour that never comes": (
        windowed(schedule="0 25 * * *"),
        "window w: '25' in the hour field",
    ),
    "another planet": (
        windowed(schedule="0 9 * * *", timeZone="Mars/Base"),
        "time zone 'Mars/Base' is unknown",
    ),
    "neither more nor other": (
        {"scope": LISTED, "timeWindows": [{"name": "w", "schedule": "0 9 * * *"}]},
        "multiplier",
    ),
    "the same namespace twice": (
        {
            "scope": LISTED,
            "allocation": [{"namespace": "a", "limits": {"tickets": "1"}}] * 2,
        },
        "must not name a namespace twice",
    ),
}
"""What nobody can mean, and what is said to it."""

ODD: dict[str, tuple[JSON, str]] = {
    "an unknown key": (
        {"scope": LISTED, "hard": {"orders.cron": "1"}},
        "spec.hard.orders.cron limits nothing: use orders, tickets, reserved.<resource> or max-duration",
    ),
    "more given away than there is": (
        {
            "scope": LISTED,
            "hard": {"reserved.cpu": "3"},
            "allocation": [
                {"namespace": "a", "limits": {"reserved.cpu": "2"}},
                {"namespace": "b", "limits": {"reserved.cpu": "1500m"}},
            ],
        },
        "spec.allocation: reserved.cpu adds up to 3500m, but spec.hard allows 3",
    ),
}
"""What is let in with a warning."""
