"""Capacity that goes back to its ticket or on to the next term: no competitor gets it in between, or the ticket says so.

The manager has its usual flags, unless a test says more. The competitors never preempt. `KORDER_ROUNDS=5` runs five rounds of everything, with webhooks and with policies, and the renewals
that take minutes.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import product
from random import Random
from typing import Any

import pytest
import pytest_asyncio
from tests.e2e.capacity import (
    FULL_RUN,
    PRIORITIES,
    ROUNDS,
    Figures,
    Installation,
    an_installation,
    bound_rivals,
    cases,
    claim,
    compete,
    count_leftovers,
    log,
    seconds_now,
)
from tests.e2e.stage import LOOK, Stage, a_stage

from korder.api.reserve import ORDER_LABEL, TICKETS, Ticket, TicketCondition, TicketPhase
from korder.reserve.claims import patches as claim_patches
from kubeloop.client.request import Propagation
from kubeloop.objects import core
from kubeloop.objects.core import NODES, PODS, Pod, reported
from kubeloop.objects.meta import JSON, Key, Kind
from kubeloop.objects.workloads import DAEMON_SETS, DEPLOYMENTS, JOBS, STATEFUL_SETS
from kubeloop.runtime.clock import SystemClock
from pocketkube.nodes.machines import Manners

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180 + 120 * ROUNDS)]
RETURNED_WITHIN_SECONDS = 20.0
LOST = ("Lost", "Unschedulable")
"""Reasons of a ticket whose capacity others have."""


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=cases(["policy"], ["webhook", "policy"])
)
async def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Installation]:
    async with an_installation(request.param, tmp_path_factory.mktemp("manager")) as site:
        yield site


async def held(stage: Stage, order: str = "") -> list[Ticket]:
    """The Reserved tickets of an order, or all."""
    labels = f"{ORDER_LABEL}={order}" if order else ""
    tickets = await stage.all(TICKETS, labels)
    return [ticket for ticket in tickets if ticket.status.phase is TicketPhase.RESERVED]


async def count_returned(stage: Stage, figures: Figures, number: int, order: str = "") -> None:
    """Waits until a number of tickets hold their capacity again, and counts those that do not and who was bound instead."""
    until = seconds_now() + RETURNED_WITHIN_SECONDS
    while len(there := await held(stage, order)) < number and seconds_now() < until:
        await asyncio.sleep(LOOK)
    figures.claims += number
    figures.lost += [f"{stage.name}: a ticket holds nothing"] * (number - len(there))
    figures.stolen += await bound_rivals(stage)
    await count_leftovers(stage, figures)


ENDS = ("deleted", "deleted slowly", "force-deleted")


async def end(stage: Stage, node: str, how: str) -> None:
    """Ends all claimants of a node at once."""
    pods = [pod.metadata.name for pod in await stage.all(PODS) if "web-" in pod.metadata.name]
    if how == "deleted slowly":
        stage.world.machines.slow(node, Manners(stop=2))
    grace = 0 if how == "force-deleted" else None
    async with asyncio.TaskGroup() as group:
        for name in pods:
            group.create_task(stage.delete(PODS, name, grace_seconds=grace))


async def finish(stage: Stage) -> None:
    """Lets all claimants end by themselves."""
    over: JSON = {"annotations": {"korder.dev/runs-for": "1ms"}}
    async with asyncio.TaskGroup() as group:
        for pod in await stage.all(PODS):
            if "web-" in pod.metadata.name:
                group.create_task(stage.edit(PODS, pod.metadata.name, {"metadata": over}))


USUAL: tuple[str, ...] = ()
FINALIZER = ("--return-finalizer",)
FORMER = ("--handover=nominate",)
GUARANTEED = [("deleted slowly", USUAL), *((how, FINALIZER) for how in ENDS)]
"""What is promised, by how a pod ends and the flags of the manager."""


@pytest.mark.parametrize("priority", cases([0], PRIORITIES))
@pytest.mark.parametrize(("how", "flags"), GUARANTEED)
async def test_capacity_returns_to_its_ticket_when_the_pod_is_deleted(
    site: Installation, how: str, flags: tuple[str, ...], priority: int
) -> None:
    figures = Figures()
    async with site.flagged(*flags):
        for _ in range(ROUNDS):
            async with a_stage(site.world) as stage:
                node = await in_use(stage)
                await compete(stage, priority, 8)
                await end(stage, node, how)
                await count_returned(stage, figures, 8)
    figures.check()


@pytest.mark.skipif(not FULL_RUN, reason="the manager alone is killed by other tests")
@pytest.mark.parametrize("priority", PRIORITIES)
async def test_capacity_returns_to_its_ticket_when_scheduler_and_manager_are_killed(
    site: Installation, priority: int
) -> None:
    figures, rng = Figures(), Random(priority)
    async with site.flagged(*FINALIZER):
        for _ in range(ROUNDS):
            async with a_stage(site.world) as stage, asyncio.TaskGroup() as group:
                node = await in_use(stage)
                await compete(stage, priority, 8)
                crash = group.create_task(site.crash(rng))
                await end(stage, node, rng.choice(ENDS))
                await crash
                await count_returned(stage, figures, 8)
    figures.check()


WORKLOADS: dict[str, tuple[Kind[Any], dict[str, JSON]]] = {
    "StatefulSet": (STATEFUL_SETS, {"replicas": 8, "podManagementPolicy": "Parallel"}),
    "Job": (JOBS, {"parallelism": 8, "completions": 8}),
    "Deployment": (DEPLOYMENTS, {"replicas": 8}),
}


@pytest.mark.parametrize(
    ("workload", "priority"), cases([("StatefulSet", 1_000)], product(WORKLOADS, PRIORITIES))
)
async def test_capacity_returns_to_its_tickets_when_the_pods_of_a_workload_are_deleted(
    site: Installation, workload: str, priority: int
) -> None:
    """First the pods, which all but Jobs make again at once, so that they claim the same tickets; then the workload."""
    figures, (kind, spec) = Figures(), WORKLOADS[workload]
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            (node,) = await stage.add_nodes(cpu="8")
            await stage.reserve(*(stage.ticket(f"t{n}", afterUse="Reserve") for n in range(8)))
            pod = stage.asking("web").but({"spec": {"terminationGracePeriodSeconds": 5}})
            if kind is JOBS:
                pod = pod.but({"spec": {"restartPolicy": "Never"}})
            await claim(stage, figures, stage.workload(kind, pod, **spec), number=8)
            await compete(stage, priority, 8)
            old = {pod.metadata.uid for pod in await claimants(stage)}
            await end(stage, node, "deleted slowly")
            if kind is JOBS:
                await count_returned(stage, figures, 8)
            else:
                await count_reclaimed(stage, figures, 8, old)
            await stage.client.delete(
                kind, Key(stage.name, "web"), propagation=Propagation.BACKGROUND
            )
            await count_returned(stage, figures, 8)
    figures.check()


async def claimants(stage: Stage) -> list[Pod]:
    return [pod for pod in await stage.all(PODS) if "web-" in pod.metadata.name]


async def count_reclaimed(stage: Stage, figures: Figures, number: int, old: set[str]) -> None:
    """Waits until other pods than the old ones have all tickets, and counts the tickets that none has."""
    until = seconds_now() + 2 * RETURNED_WITHIN_SECONDS
    while True:
        there = [pod for pod in await claimants(stage) if pod.metadata.uid not in old]
        bound = [pod for pod in there if pod.spec.node_name]
        if len(bound) >= number or seconds_now() > until:
            break
        await asyncio.sleep(LOOK)
    figures.claims += number
    figures.lost += [f"{stage.name}: a pod made again is not bound"] * (number - len(bound))
    figures.stolen += await bound_rivals(stage)


async def in_use(stage: Stage) -> str:
    """A node whose capacity eight pods have by tickets that take it back."""
    (node,) = await stage.add_nodes(cpu="8")
    await stage.reserve(*(stage.ticket(f"t{n}", afterUse="Reserve") for n in range(8)))
    patient: JSON = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
    pods = [stage.asking(f"web-{n}").but({"spec": patient}) for n in range(8)]
    await claim(stage, Figures(), *pods)
    return node


@pytest.mark.parametrize(
    ("how", "flags"),
    cases(
        [("ended", USUAL), ("force-deleted", USUAL)],
        [
            *product(("ended", "deleted", "force-deleted"), (FORMER, USUAL)),
            ("ended", FINALIZER),
        ],
    ),
)
async def test_capacity_that_is_not_guaranteed_returns_or_its_ticket_says_that_it_is_lost(
    site: Installation, how: str, flags: tuple[str, ...]
) -> None:
    """It is free before anything can be written. The figures are those of the flags; the ticket gets capacity when there is some."""
    figures, taken = Figures(), dict[int, int]()
    async with site.flagged(*flags):
        for _, rivals in product(range(ROUNDS), (0, 8)):
            async with a_stage(site.world) as stage:
                node = await in_use(stage)
                await compete(stage, 0, rivals) if rivals else None
                await (finish(stage) if how == "ended" else end(stage, node, how))
                lost = await settled(stage, 8)
                taken[rivals] = taken.get(rivals, 0) + len(lost)
                assert len(lost) == len(await bound_rivals(stage))
                assert all(map(says_why, lost)), [ticket.status for ticket in lost]
                await stage.client.delete_collection(
                    PODS, stage.name, labels="!korder.dev/guardian"
                )
                await count_returned(stage, figures, 8)
    log.info("figures", how=how, flags=flags, of=8 * ROUNDS, lost=taken)
    figures.check()


def says_why(ticket: Ticket) -> bool:
    """Whether a condition says that the capacity is lost, with a message."""
    ready = reported(ticket.status.conditions, TicketCondition.READY)
    return (
        ready is not None
        and ready.status == "False"
        and ready.reason in LOST
        and bool(ready.message)
    )


async def settled(stage: Stage, number: int) -> list[Ticket]:
    """The tickets that wait for capacity that others have, when all tickets hold theirs or say so."""
    until = seconds_now() + RETURNED_WITHIN_SECONDS
    while seconds_now() < until:
        there = len(await held(stage))
        lost = [t for t in await stage.all(TICKETS) if t.status.reason in LOST]
        if there + len(lost) == number and not await used(stage):
            return lost
        await asyncio.sleep(LOOK)
    raise AssertionError([t.status for t in await stage.all(TICKETS)])


async def used(stage: Stage) -> bool:
    pods = await stage.all(PODS)
    return any("web-" in pod.metadata.name and not core.is_finished(pod) for pod in pods)


@pytest.mark.parametrize(
    ("priority", "killed"), cases([(0, False)], product(PRIORITIES, (False, True)))
)
async def test_an_order_that_always_refills_keeps_its_capacity_when_tickets_expire(
    site: Installation, priority: int, killed: bool
) -> None:
    """Once without trouble, and once with scheduler and manager killed at the expiry."""
    figures, rng = Figures(), Random(priority)
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage, asyncio.TaskGroup() as group:
            await stage.add_nodes(cpu="4")
            brief: JSON = {"spec": {"duration": "8s"}}
            strategy: JSON = {"type": "OneTime", "refreshPolicy": "Always"}
            await stage.put(stage.order("pool", 4, template=brief, strategy=strategy))
            first = await stage.counted(Reserved=4)
            await compete(stage, priority, 4)
            trouble = group.create_task(crash_at_expiry(site, first, rng)) if killed else None
            await renewed(stage, first, within=30)
            await trouble if trouble is not None else None
            await count_returned(stage, figures, 4)
    figures.check()


async def crash_at_expiry(site: Installation, tickets: Sequence[Ticket], rng: Random) -> None:
    """Waits until the first of the tickets expires, less a second, and kills scheduler and manager."""
    ends = min(t.status.expiration_time for t in tickets if t.status.expiration_time)
    await asyncio.sleep(max(0.0, (ends - SystemClock().now()).total_seconds() - 1))
    await site.crash(rng)


async def renewed(stage: Stage, before: Sequence[Ticket], within: float) -> None:
    """Waits until as many tickets hold capacity, all of them for a later term."""
    last = max(t.status.activation_time for t in before if t.status.activation_time)
    until = seconds_now() + within
    while seconds_now() < until:
        begun = [t.status.activation_time for t in await held(stage)]
        if len(begun) == len(before) and all(at is not None and at > last for at in begun):
            return
        await asyncio.sleep(LOOK)


@pytest.mark.skipif(not FULL_RUN, reason="firings come once a minute")
@pytest.mark.timeout(420 + 60 * ROUNDS)
@pytest.mark.parametrize("killed", [False, True])
async def test_a_pool_whose_tickets_last_from_firing_to_firing_has_no_gap(
    site: Installation, killed: bool
) -> None:
    """All policies, lead times and priorities side by side; scheduler and manager are killed at every firing, or never."""
    figures, rng = Figures(), Random(1)
    async with asyncio.TaskGroup() as group:
        pools = [
            group.create_task(keep_a_pool(site, figures, *each))
            for each in product(("OnClaim", "Always"), ("0s", "10s"), PRIORITIES)
        ]
        while killed and not all(pool.done() for pool in pools):
            await asyncio.sleep(60 - SystemClock().now().timestamp() % 60)
            await site.crash(rng)
    figures.check()


async def keep_a_pool(
    site: Installation, figures: Figures, policy: str, lead: str, priority: int
) -> None:
    """The first tickets count from their creation and may leave a gap; the competitors come after the first firing that brings tickets."""
    async with a_stage(site.world) as stage:
        await stage.add_nodes(cpu="4")
        brief: JSON = {"spec": {"duration": "60s"}}
        strategy: JSON = {
            "type": "Recurring",
            "schedule": "* * * * *",
            "refreshPolicy": policy,
            "leadTime": lead,
        }
        await stage.put(stage.order("pool", 4, template=brief, strategy=strategy))
        first = await stage.counted(Reserved=4)
        await renewed(stage, first, within=150)
        await compete(stage, priority, 4)
        await asyncio.sleep(60 * ROUNDS + 5)
        await count_returned(stage, figures, 4)


async def test_standing_tickets_take_their_nodes_back_when_their_daemon_set_is_deleted(
    site: Installation,
) -> None:
    """Another order waits for the same five nodes."""
    figures = Figures()
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            await stage.add_nodes(5, cpu="1")
            await stage.put(stage.order("each", 1, daemonSet=True))
            await stage.counted(Reserved=5)
            await stage.put(stage.workload(DAEMON_SETS, stage.asking("web", order="each")))
            await stage.counted(Claimed=5)
            await stage.put(stage.order("other", 5))
            await stage.counted(Claimed=5, Pending=5)
            await stage.guarded(5)
            await stage.delete(DAEMON_SETS, "web")
            await count_returned(stage, figures, 5, "each")
            figures.stolen += [t.metadata.name for t in await held(stage, "other")]
    figures.check()


async def test_a_guardian_stays_while_its_node_is_too_small_for_the_claimant(
    site: Installation,
) -> None:
    """The node offers less than its tickets hold; the claim is served once it offers enough again."""
    figures = Figures()
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            (node,) = await stage.add_nodes(cpu="4")
            await stage.reserve(*(stage.ticket(f"t{n}") for n in range(4)))
            await offer(stage, node, "3")
            await stage.put(stage.asking("web"))
            until = seconds_now() + 5
            while seconds_now() < until and len(await held(stage)) == 4:
                await asyncio.sleep(LOOK)
            await asyncio.sleep(1)
            (pod,) = [p for p in await stage.all(PODS) if p.metadata.name == "web"]
            if len(await stage.guardians()) < 4:
                figures.lost.append(f"{stage.name}: a guardian was deleted")
            if not claim_patches.is_gated(pod):
                figures.pinned.append(f"{stage.name}/web is not gated")
            await offer(stage, node, "4")
            await count_served(stage, figures, "web")
    figures.check()


async def offer(stage: Stage, node: str, cpu: str) -> None:
    """Changes what a node offers to pods."""
    await stage.edit(NODES, node, {"status": {"allocatable": {"cpu": cpu}}}, "status")
    await asyncio.sleep(1)


async def count_served(stage: Stage, figures: Figures, name: str) -> None:
    until = seconds_now() + RETURNED_WITHIN_SECONDS
    figures.claims += 1
    while seconds_now() < until:
        pod = await stage.get(PODS, name)
        if pod is not None and pod.spec.node_name:
            break
        await asyncio.sleep(LOOK)
    else:
        figures.lost.append(f"{stage.name}/{name} was not bound")
    await count_leftovers(stage, figures)
