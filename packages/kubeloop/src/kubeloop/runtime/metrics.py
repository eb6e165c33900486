"""Metrics of the machine, each fed where the thing happens; a manager serves them in Prometheus' text format.

The names of the reconcile metrics are those of the seeds. Domains add their own to the same registry.
"""

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

TEXT = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30)


class Metrics:
    """What every manager measures; the names begin with the prefix."""

    def __init__(self, registry: CollectorRegistry | None = None, prefix: str = "kubeloop") -> None:
        self.prefix = prefix
        self.registry = registry or CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.reconcile_seconds = Histogram(
            f"{prefix}_reconciliation_duration_seconds",
            "Time one turn of a controller took, by how it ended.",
            ("controller", "result"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.reconcile_errors = Counter(
            f"{prefix}_reconciliation_errors_total",
            "Turns that ended in an error, by its type.",
            ("controller", "error_type"),
            registry=self.registry,
        )
        self.queue_seconds = Histogram(
            f"{prefix}_queue_wait_seconds",
            "Time a name was ready before a worker took it.",
            ("controller",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.writes = Counter(
            f"{prefix}_writes_total",
            "Writes that controllers sent, by verb, resource and outcome.",
            ("controller", "verb", "resource", "outcome"),
            registry=self.registry,
        )
        self.watch_troubles = Counter(
            f"{prefix}_watch_troubles_total",
            "Watches that broke, by resource and reason.",
            ("resource", "reason"),
            registry=self.registry,
        )
        self.lists = Counter(
            f"{prefix}_lists_total",
            "Complete lists read from the API server, at start and after a gap.",
            ("resource",),
            registry=self.registry,
        )
        self.unreadable = Counter(
            f"{prefix}_unreadable_objects_total",
            "Objects that do not fit their type, each time they are seen.",
            ("resource",),
            registry=self.registry,
        )
        self.events = Counter(
            f"{prefix}_events_total",
            "Events by what became of them: sent, merged into a series, dropped or failed.",
            ("outcome",),
            registry=self.registry,
        )
        self.requeue_pauses = Counter(
            f"{prefix}_requeue_pauses_total",
            "Pauses of keys that reconciles requeued at once too often, by controller.",
            ("controller",),
            registry=self.registry,
        )
        self.loop_lag = Histogram(
            f"{prefix}_event_loop_lag_seconds",
            "How late the event loop runs timers, measured four times a second.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.leading = Gauge(
            f"{prefix}_leader",
            "1 while this replica may act, else 0.",
            registry=self.registry,
        )

    def observe(
        self, name: str, help_text: str, label: str, read: Callable[[], dict[str, float]]
    ) -> None:
        """Adds a gauge that is read when it is asked for, so that it cannot be stale."""
        self.registry.register(_ReadGauge(name, help_text, label, read))

    def render(self) -> bytes:
        """Prints everything for a scrape."""
        return generate_latest(self.registry)


class _ReadGauge(Collector):
    """A gauge without memory."""

    def __init__(
        self, name: str, help_text: str, label: str, read: Callable[[], dict[str, float]]
    ) -> None:
        self._name = name
        self._help = help_text
        self._label = label
        self._read = read

    def collect(self) -> list[Metric]:
        family = GaugeMetricFamily(self._name, self._help, labels=(self._label,))
        for value, number in sorted(self._read().items()):
            family.add_metric((value,), number)
        return [family]
