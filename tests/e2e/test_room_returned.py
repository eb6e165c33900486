"""Capacity that goes back to its ticket or on to the next one, and claims beside trouble: no competitor gets it in between.

The competitors never preempt. `KORDER_ROUNDS=5` runs five rounds of everything, with webhooks and with policies, and the renewals
that take minutes.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from tests.e2e.capacity import (
    FULL_RUN,
    PRIORITIES,
    ROUNDS,
    Figures,
    Installation,
    Tenant,
    a_tenant,
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

from korder.api import core
from korder.api.core import NODES, PODS
from korder.api.meta import JSON
from korder.api.reserve import ORDER_LABEL, TICKETS, Ticket, TicketPhase
from korder.api.workloads import DAEMON_SETS, DEPLOYMENTS
from korder.embedded.actors.machines import Manners
from korder.reserve.rules.claims import claimsteps

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180 + 120 * ROUNDS)]
RETURNED_WITHIN_SECONDS = 20.0
CLAIMED_BESIDE_WITHIN_SECONDS = 75.0
"""Longer than a hand-over may take: a claim that waits for a stuck one is measured, not given up."""
NEIGHBOURS = 5
LOST = ("Lost", "Unschedulable")
"""Reasons of a ticket whose capacity others have."""


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=cases(["policy"], ["webhook", "policy"])
)
async def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Installation]:
    folder = tmp_path_factory.mktemp("manager")
    async with an_installation(request.param, folder, "--return-finalizer") as site:
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


@pytest.mark.parametrize("priority", cases([0], PRIORITIES))
@pytest.mark.parametrize("how", ENDS)
async def test_capacity_returns_to_its_ticket_however_the_pod_is_deleted(
    site: Installation, how: str, priority: int
) -> None:
    figures = Figures()
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            node = await in_use(stage)
            await compete(stage, priority, 8)
            await end(stage, node, how)
            await count_returned(stage, figures, 8)
    figures.check()


async def in_use(stage: Stage) -> str:
    """A node whose capacity eight pods have by tickets that take it back."""
    (node,) = await stage.add_nodes(cpu="8")
    await stage.reserve(*(stage.ticket(f"t{n}", afterUse="Reserve") for n in range(8)))
    patient: JSON = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
    pods = [stage.asking(f"web-{n}").but({"spec": patient}) for n in range(8)]
    await claim(stage, Figures(), *pods)
    return node


async def test_a_ticket_whose_pod_ended_by_itself_holds_its_capacity_or_says_who_has_it(
    site: Installation,
) -> None:
    """Capacity is free as soon as the kubelet reports the end: no pod is bound first, or the ticket waits and says why."""
    figures = Figures()
    for rivals in (0, 8):
        async with a_stage(site.world) as stage:
            await in_use(stage)
            await compete(stage, 0, rivals) if rivals else None
            await finish(stage)
            taken = await settled(stage, 8)
            log.info("figures", rivals=rivals, returned=8 - taken, taken=taken)
            assert taken <= rivals
            await count_leftovers(stage, figures)
    figures.check()


async def settled(stage: Stage, number: int) -> int:
    """How many tickets wait for capacity that others have, when all tickets hold theirs or say so."""
    until = seconds_now() + RETURNED_WITHIN_SECONDS
    while seconds_now() < until:
        there = len(await held(stage))
        lost = [t for t in await stage.all(TICKETS) if t.status.reason in LOST]
        if there + len(lost) == number and not await used(stage):
            return len(lost)
        await asyncio.sleep(LOOK)
    raise AssertionError([t.status for t in await stage.all(TICKETS)])


async def used(stage: Stage) -> bool:
    pods = await stage.all(PODS)
    return any("web-" in pod.metadata.name and not core.is_finished(pod) for pod in pods)


@pytest.mark.parametrize("priority", cases([0], PRIORITIES))
async def test_an_order_that_always_refills_keeps_its_capacity_when_tickets_expire(
    site: Installation, priority: int
) -> None:
    figures = Figures()
    for _ in range(ROUNDS):
        async with a_stage(site.world) as stage:
            await stage.add_nodes(cpu="4")
            brief: JSON = {"spec": {"duration": "8s"}}
            strategy: JSON = {"type": "OneTime", "refreshPolicy": "Always"}
            await stage.put(stage.order("pool", 4, template=brief, strategy=strategy))
            first = await stage.counted(Reserved=4)
            await compete(stage, priority, 4)
            await renewed(stage, first, within=15)
            await count_returned(stage, figures, 4)
    figures.check()


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
@pytest.mark.timeout(300 + 60 * ROUNDS)
@pytest.mark.parametrize("lead", ["0s", "10s"])
async def test_a_pool_whose_tickets_last_from_firing_to_firing_has_no_gap(
    site: Installation, lead: str
) -> None:
    """The first tickets count from their creation and may leave a gap; the competitors come after the first firing that brings tickets."""
    figures = Figures()
    async with a_stage(site.world) as stage:
        await stage.add_nodes(cpu="4")
        brief: JSON = {"spec": {"duration": "60s"}}
        strategy: JSON = {
            "type": "Recurring",
            "schedule": "* * * * *",
            "refreshPolicy": "OnClaim",
            "leadTime": lead,
        }
        await stage.put(stage.order("pool", 4, template=brief, strategy=strategy))
        first = await stage.counted(Reserved=4)
        await renewed(stage, first, within=150)
        await compete(stage, 0, 4)
        await asyncio.sleep(60 * ROUNDS + 5)
        await count_returned(stage, figures, 4)
    figures.check()


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
            if not claimsteps.is_gated(pod):
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


STUCK: dict[str, JSON] = {
    "missing claim": {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}]
    },
    "unknown scheduler": {"schedulerName": "unknown"},
}


@asynccontextmanager
async def two_nodes(
    site: Installation, spare: int, pairs: int
) -> AsyncIterator[tuple[Stage, Tenant]]:
    """Two nodes with tickets of a tenant, and with one of another on the first; with some cpu to spare or none."""
    async with a_stage(site.world) as stage, a_tenant(stage, "neighbour") as tenant:
        beside, alone = await stage.add_nodes(2, cpu=str(pairs + 1 + spare))
        await stage.reserve(stage.ticket("stuck", nodeName=beside))
        await stage.reserve(stage.ticket("filler", nodeName=alone))
        await tenant.reserve(
            *(tenant.ticket(f"beside-{n}", nodeName=beside) for n in range(pairs)),
            *(tenant.ticket(f"alone-{n}", nodeName=alone) for n in range(pairs)),
        )
        yield stage, tenant


async def claim_seconds(tenant: Tenant, ticket: str) -> float:
    """How long one pod takes from its creation until it is bound by this ticket."""
    began = seconds_now()
    await tenant.put(tenant.asking(ticket, ticket_request=ticket))
    while seconds_now() < began + CLAIMED_BESIDE_WITHIN_SECONDS:
        pod = await tenant.get(PODS, ticket)
        if pod is not None and pod.spec.node_name:
            break
        await asyncio.sleep(0.02)
    return seconds_now() - began


async def compare(tenant: Tenant, pairs: int, pause: float = 0) -> tuple[float, float]:
    """Seconds that all claims beside the stuck one took, and those of the other node; by turns."""
    beside = alone = 0.0
    for n in range(pairs):
        alone += await claim_seconds(tenant, f"alone-{n}")
        beside += await claim_seconds(tenant, f"beside-{n}")
        await asyncio.sleep(pause)
    log.info(
        "figures", beside=round(beside, 2), alone=round(alone, 2), ratio=round(beside / alone, 2)
    )
    return beside, alone


@pytest.mark.parametrize("spare", [0, 20], ids=["full", "almost empty"])
@pytest.mark.parametrize("why", STUCK)
async def test_a_claim_that_is_never_bound_delays_no_claim_of_another_tenant(
    site: Installation, why: str, spare: int
) -> None:
    total_beside = total_alone = 0.0
    figures = Figures()
    for _ in range(ROUNDS):
        async with two_nodes(site, spare, NEIGHBOURS) as (stage, tenant):
            await stage.put(stage.asking("web", ticket_request="stuck").but({"spec": STUCK[why]}))
            await stage.phase(TicketPhase.CLAIMING, "stuck")
            beside, alone = await compare(tenant, NEIGHBOURS)
            total_beside, total_alone = total_beside + beside, total_alone + alone
            await count_leftovers(tenant, figures)
    assert total_beside / total_alone <= 2, (
        f"{total_beside:.2f} s beside, {total_alone:.2f} s alone"
    )
    figures.check()


@pytest.mark.skipif(not FULL_RUN, reason="the pods of a stuck workload come once a minute")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("spare", [0, 40], ids=["full", "almost empty"])
async def test_a_workload_whose_pods_are_never_bound_delays_no_claim_of_another_tenant(
    site: Installation, spare: int
) -> None:
    async with two_nodes(site, spare, 20) as (stage, tenant):
        pod = stage.asking("web", ticket_request="stuck").but({"spec": STUCK["missing claim"]})
        await stage.put(stage.workload(DEPLOYMENTS, pod, replicas=1))
        await stage.phase(TicketPhase.CLAIMING, "stuck")
        beside, alone = await compare(tenant, 20, pause=5)
    assert beside / alone <= 2, f"{beside:.2f} s beside, {alone:.2f} s alone"
