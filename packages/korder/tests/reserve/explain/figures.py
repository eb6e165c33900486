"""Reads a manager's metrics, and what they ought to say, from the API."""

from collections import Counter

from prometheus_client.parser import text_string_to_metric_families
from tests.reserve.scene import Scene

from korder.api.quota import QUOTAS
from korder.api.reserve import GUARDIAN_LABEL, ORDERS, TICKETS
from korder.reserve import metrics
from kubeloop.objects.core import PODS
from kubeloop.runtime.manager import Manager

Figures = dict[tuple[str, tuple[str, ...]], float]


def printed(manager: Manager) -> Figures:
    """Every line that a scrape shows, by name and the values of its labels."""
    text = manager.metrics.render().decode()
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def gauges(manager: Manager) -> Figures:
    """The lines that must equal what the API has."""
    names = {family.name for family in metrics.FAMILIES}
    return {line: value for line, value in printed(manager).items() if line[0] in names}


async def counted(cluster: Scene) -> Figures:
    """The same, counted anew from the API."""
    total: Counter[metrics.Line] = Counter()
    for order in await cluster.all(ORDERS):
        total.update(metrics.of_order(order))
    for ticket in await cluster.all(TICKETS):
        total.update(metrics.of_ticket(ticket))
    for pod in await cluster.all(PODS, labels=f"{GUARDIAN_LABEL}=true"):
        total.update(metrics.of_pod(pod))
    for quota in await cluster.all(QUOTAS):
        total.update(metrics.of_quota(quota))
    return {(f.name, labels): amount / f.unit for (f, labels), amount in total.items()}
