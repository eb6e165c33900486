"""Claims whose capacity others wait for: every claimant is bound on the node of its ticket, whatever the priority of the others.

The competitors never preempt. `KORDER_ROUNDS=5` runs five rounds of everything, with webhooks and with policies.
"""

import asyncio
from collections.abc import AsyncIterator
from itertools import product
from random import Random
from typing import Any

import pytest
import pytest_asyncio
from tests.e2e.capacity import (
    PRIORITIES,
    ROUNDS,
    Figures,
    Installation,
    an_installation,
    cases,
    claim,
    compete,
    count_claims,
    kill_and_start,
    seconds_now,
)
from tests.e2e.stage import LOOK, Stage, a_stage

from korder.api.reserve import TICKETS, TicketPhase
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON, Kind
from kubeloop.objects.workloads import DEPLOYMENTS, JOBS, STATEFUL_SETS

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120 + 90 * ROUNDS)]
NEVER: JSON = {"type": "OneTime", "refreshPolicy": "Never"}


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=cases(["webhook"], ["webhook", "policy"])
)
async def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Installation]:
    async with an_installation(request.param, tmp_path_factory.mktemp("manager")) as site:
        yield site


def crowd(stage: Stage, number: int, order: str = "pool") -> list[Any]:
    return [stage.asking(f"web-{n}", order=order) for n in range(number)]


@pytest.mark.parametrize("priority", cases([None], [None, *PRIORITIES]))
async def test_an_order_that_refills_at_once_takes_no_capacity_from_its_own_claimants(
    site: Installation, priority: int | None
) -> None:
    """20 tickets take 60 % of the cluster; their refills find 12 places and wait for the other 8."""
    figures = Figures()
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            await stage.add_nodes(4, cpu="8")
            await stage.put(stage.order("pool", 20))
            await stage.counted(Reserved=20)
            if priority is not None:
                await compete(stage, priority, 20)
            await claim(stage, figures, *crowd(stage, 20))
    figures.check()


@pytest.mark.parametrize("priority", cases([1_000], [None, *PRIORITIES]))
async def test_tickets_that_wait_for_capacity_take_none_from_claimants(
    site: Installation, priority: int | None
) -> None:
    """40 tickets fill the cluster, and 20 of another order wait."""
    figures = Figures()
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            await stage.add_nodes(5, cpu="8")
            await fill(stage, 40)
            if priority is not None:
                await compete(stage, priority, 20)
            await claim(stage, figures, *crowd(stage, 40))
    figures.check()


async def fill(stage: Stage, tickets: int, waiting: int = 20) -> None:
    """Makes an order that fills the cluster, and another one whose guardians wait."""
    await stage.put(stage.order("pool", tickets))
    await stage.counted(Reserved=tickets)
    await stage.put(stage.order("other", waiting))
    await stage.counted(Reserved=tickets, Pending=waiting)
    await stage.guarded(tickets + waiting)


@pytest.mark.parametrize("priority", PRIORITIES)
async def test_competitors_of_any_priority_take_nothing_from_the_claimants_of_a_full_node(
    site: Installation, priority: int
) -> None:
    figures = Figures()
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            await stage.add_nodes(cpu="24")
            await stage.put(stage.order("pool", 24, strategy=NEVER))
            await stage.counted(Reserved=24)
            await compete(stage, priority, 24)
            await claim(stage, figures, *crowd(stage, 24))
    figures.check()


async def refilling(stage: Stage) -> None:
    """60 % of the cluster, by an order that refills at once."""
    await stage.add_nodes(4, cpu="8")
    await stage.put(stage.order("pool", 20))
    await stage.counted(Reserved=20)


async def waiting(stage: Stage) -> None:
    """All of the cluster, while tickets of another order wait."""
    await stage.add_nodes(4, cpu="5")
    await fill(stage, 20, waiting=10)


async def one_full_node(stage: Stage) -> None:
    await stage.add_nodes(cpu="20")
    await stage.put(stage.order("pool", 20, strategy=NEVER))
    await stage.counted(Reserved=20)


HELD = {"refilling": refilling, "waiting": waiting, "one full node": one_full_node}
WORKLOADS: dict[str, tuple[Kind[Any], dict[str, JSON]]] = {
    "StatefulSet": (STATEFUL_SETS, {"replicas": 20, "podManagementPolicy": "Parallel"}),
    "Job": (JOBS, {"parallelism": 20, "completions": 20}),
    "Deployment": (DEPLOYMENTS, {"replicas": 20}),
}


@pytest.mark.parametrize(
    ("how", "workload", "priority"),
    cases(
        zip(HELD, WORKLOADS, PRIORITIES, strict=True),
        product(HELD, WORKLOADS, PRIORITIES),
    ),
)
async def test_the_pods_of_a_workload_keep_the_capacity_of_their_tickets(
    site: Installation, how: str, workload: str, priority: int
) -> None:
    """20 tickets hold capacity in one of these ways, and one workload claims them all."""
    figures, (kind, spec) = Figures(), WORKLOADS[workload]
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            await HELD[how](stage)
            await compete(stage, priority, 20)
            pod = stage.asking("web", order="pool")
            if kind is JOBS:
                pod = pod.but({"spec": {"restartPolicy": "Never"}})
            await claim(stage, figures, stage.workload(kind, pod, **spec), number=20)
    figures.check()


@pytest.mark.parametrize("priority", cases([0], PRIORITIES))
async def test_guardians_that_tolerate_everything_take_nothing_from_claimants(
    site: Installation, priority: int
) -> None:
    """A DaemonSet-mode order waits on every node, with tolerations for every taint."""
    figures = Figures()
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            await stage.add_nodes(5, cpu="4")
            await stage.put(stage.order("pool", 20))
            await stage.counted(Reserved=20)
            anywhere: JSON = {"spec": {"tolerations": [{"operator": "Exists"}]}}
            each = stage.order("each", 1, template=anywhere, daemonSet=True)
            await stage.put(each.but({"spec": {"replicas": None, "strategy": None}}))
            await stage.counted(Reserved=20, Pending=5)
            await stage.guarded(25)
            await compete(stage, priority, 20)
            await claim(stage, figures, *crowd(stage, 20))
    figures.check()


@pytest.mark.parametrize("priority", cases([2_000_000], PRIORITIES))
async def test_claimants_keep_their_capacity_when_scheduler_and_manager_are_killed(
    site: Installation, priority: int
) -> None:
    """Both are killed while tickets are being handed over, and started again."""
    figures, rng = Figures(), Random(priority)
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            await stage.add_nodes(5, cpu="8")
            await fill(stage, 40)
            await compete(stage, priority, 20)
            began = seconds_now()
            await stage.put(*crowd(stage, 40))
            for victim in rng.sample([site.manager, site.world.plane.scheduler], 2):
                await under_way(stage)
                await kill_and_start(victim, rng)
            await count_claims(stage, figures, 40, began, within=90)
    figures.check()


async def under_way(stage: Stage) -> None:
    """Waits until a ticket is being handed over, or all have been."""
    while True:
        phases = {ticket.status.phase for ticket in await stage.all(TICKETS)}
        waiting = [p for p in await stage.all(PODS) if "web-" in p.metadata.name]
        if TicketPhase.CLAIMING in phases or all(pod.spec.node_name for pod in waiting):
            return
        await asyncio.sleep(LOOK)
