"""Workloads whose pods are never bound: their next pods claim later and later, and nobody else does."""

from datetime import timedelta

from tests.reserve.claims.batches import NOW
from tests.reserve.claims.holds import asking, bound, claiming, hold
from tests.reserve.scene import Scene, scene

from korder.api.reserve import TICKET_BOUND_CONDITION, TICKETS, Ticket, TicketPhase
from korder.reserve.claims import requirements
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.objects import instant
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import REPLICA_SETS
from kubeloop.runtime.clock import Clock

HOUR = 3600.0


def failed(workload: str, count: int, seconds_ago: float) -> Ticket:
    at = instant.render(NOW - timedelta(seconds=seconds_ago))
    said: JSON = {"unboundTime": at, "unboundWorkload": workload, "unboundCount": count}
    return a_ticket("t").but({"status": said}).build()


def paused(*tickets: Ticket) -> dict[str, float]:
    return {
        workload: (until - NOW).total_seconds()
        for workload, until in requirements.pauses(tickets, NOW).items()
    }


def test_pauses_double_with_each_failure_up_to_five_minutes() -> None:
    lengths = [paused(failed("w", count, 0))["w"] for count in (1, 2, 3, 5, 6, 9_999)]
    assert lengths == [10, 20, 40, 160, 300, 300]


def test_the_failures_of_all_tickets_count_from_the_last_one() -> None:
    assert paused(failed("w", 1, 30), failed("w", 2, 5), failed("other", 1, 1)) == {
        "w": 35,
        "other": 9,
    }


def test_failures_of_another_hour_and_of_bare_pods_do_not_count() -> None:
    assert paused(failed("w", 9, HOUR), failed("", 9, 0)) == {}


def a_replica_set(pod: Pod, **spec: JSON) -> dict[str, JSON]:
    labels: dict[str, JSON] = {"app": "stuck"}
    meta: JSON = {"labels": labels, "annotations": dict(pod.metadata.annotations)}
    requests: JSON = {"requests": {"cpu": "4"}}
    containers: JSON = [{"name": "main", "image": "pause", "resources": requests}]
    gates: JSON = [{"name": "korder.dev/ticket"}]
    inner: JSON = {"containers": containers, "schedulingGates": gates, **spec}
    return {
        "metadata": {"name": "stuck", "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": meta, "spec": inner},
        },
    }


async def failures(cluster: Scene) -> int:
    ticket = await cluster.get(TICKETS, "t")
    return ticket.status.unbound_count if ticket is not None else 0


async def test_the_pods_of_a_stuck_workload_claim_seldom_and_its_ticket_serves_others(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await hold(cluster, "t", cpu="4")
        stuck = a_replica_set(asking("web").build(), schedulerName="unknown")
        await cluster.client.create(REPLICA_SETS, stuck)
        await cluster.pass_time(HOUR)
        count = await failures(cluster)
        assert 5 <= count <= HOUR / 300 + 6
        (pod,) = [p for p in await cluster.all(PODS) if p.metadata.labels.get("app") == "stuck"]
        stated = next(c for c in pod.status.conditions if c.type == TICKET_BOUND_CONDITION)
        assert stated.reason == "NeverBound"
        assert "claims at" in stated.message
        await cluster.until(TICKETS, "t", lambda t: t.status.phase is TicketPhase.RESERVED)
        await cluster.put(asking("web").requesting(cpu="4"))
        await bound(cluster, "web")
