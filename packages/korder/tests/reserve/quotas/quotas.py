"""Quotas and what they mean, for tests: `a_quota("q", tickets="5")`, `Ledger`-free tallies, and wishes."""

from collections.abc import Mapping
from datetime import UTC, datetime

from korder.api.quota import QUOTAS, Quota, TimeWindow
from kubeloop.objects import codec
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder

MONDAY = datetime(2026, 6, 1, tzinfo=UTC)


def a_quota(name: str, scope: Mapping[str, JSON] | None = None, **hard: str) -> Builder[Quota]:
    """A quota of the whole cluster, or of a scope; in keys `_` stands for `.` and `__` for `-`."""
    limits = {key.replace("__", "-").replace("_", "."): value for key, value in hard.items()}
    spec: JSON = {"scope": dict(scope or {"type": "Cluster"}), "hard": dict(limits)}
    return Builder(QUOTAS, {"metadata": {"name": name}, "spec": spec})


def a_window(**said: JSON) -> TimeWindow:
    """A time window with a name; snake case stands for the camel case of the wire."""
    wire = {"timeZone" if key == "zone" else key: value for key, value in said.items()}
    return codec.convert({"name": "w", **wire}, TimeWindow)
