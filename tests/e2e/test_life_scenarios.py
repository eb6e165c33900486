"""The lives of tickets and orders on a real control plane: one plane and one `korder manager` for all (S1-S5, S8, S9, S36)."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
import random

import pytest
from tests.e2e.stage import LOOK, MARK, Stage

from korder.api.reserve import (
    GUARDIAN_NAME_PREFIX,
    ORDERS,
    TICKET_LABEL,
    TICKETS,
    Order,
    Reason,
    Ticket,
    TicketPhase,
)
from kubeloop.objects import instant
from kubeloop.objects.core import NAMESPACES, NODES, PODS, Pod, is_ready
from kubeloop.objects.limits import LIMIT_RANGES, RESOURCE_QUOTAS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.objects.workloads import DAEMON_SETS
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder

pytestmark = pytest.mark.asyncio(loop_scope="module")
PENDING, RESERVED = TicketPhase.PENDING, TicketPhase.RESERVED


async def test_s1_what_fits_is_held_and_the_rest_says_why_not_until_there_is_room(
    stage: Stage,
) -> None:
    await stage.add_nodes(2, cpu="1")
    await stage.put(stage.order("pool", 3))
    order = await stage.until(
        ORDERS,
        "pool",
        lambda o: "Insufficient cpu" in why_not_ready(o) and o.status.available_replicas == 2,
    )
    assert order.status.unavailable_replicas == 1
    (waits,) = [t for t in await stage.counted(Reserved=2, Pending=1) if t.status.phase is PENDING]
    assert "Insufficient cpu" in waits.status.message
    await stage.add_nodes(cpu="1")
    await stage.until(ORDERS, "pool", lambda o: o.status.available_replicas == 3)
    held = {f"{t.metadata.name}": t.status.node_name for t in await stage.counted(Reserved=3)}
    for label in ("korder.dev/role=guardian", "korder.dev/guardian=true"):
        found = await stage.all(PODS, label)
        assert {pod.metadata.labels[TICKET_LABEL]: pod.spec.node_name for pod in found} == held


def why_not_ready(order: Order) -> str:
    (ready,) = [each for each in order.status.conditions if each.type == "Ready"] or [None]
    return ready.message if ready is not None and ready.status == "False" else ""


async def test_s3_a_hold_begins_at_its_start_and_a_lead_time_before_only_the_guardian_comes(
    stage: Stage, clock: Clock
) -> None:
    await stage.add_nodes()
    start = (clock.now() + timedelta(seconds=5)).replace(microsecond=0)
    spec: JSON = {"startTime": instant.render(start), "duration": "1m"}
    strategy: JSON = {"type": "OneTime", "leadTime": "3s"}
    await stage.put(stage.order("late", 1, template={"spec": spec}))
    await stage.put(stage.order("early", 1, template={"spec": spec}, strategy=strategy))
    for name in ("late-0", "early-0"):
        ticket = await stage.until(TICKETS, name, lambda t: t.status.reason == Reason.SCHEDULED)
        assert ticket.status.phase is PENDING
    for name, lead in (("early-0", 3), ("late-0", 0)):
        held = await stage.until(PODS, GUARDIAN_NAME_PREFIX + name, lambda _: True)
        assert held.metadata.creation_timestamp >= start - timedelta(seconds=lead)
        (ticket,) = await stage.phase(RESERVED, name)
        assert clock.now() >= start
        assert ticket.status.activation_time == start
        assert ticket.status.expiration_time == start + timedelta(minutes=1)


async def test_s4_pods_outlive_the_order_and_one_of_the_same_name_begins_anew(
    stage: Stage,
) -> None:
    await stage.add_nodes()
    await stage.put(stage.order("gold", 2, strategy={"type": "OneTime", "refreshPolicy": "Never"}))
    await stage.counted(Reserved=2)
    await stage.put(stage.asking("web", order="gold"))
    before = {ticket.metadata.uid for ticket in await stage.counted(Reserved=1, Claimed=1)}
    await stage.delete(ORDERS, "gold")
    await stage.gone(ORDERS, "gold")
    assert await stage.all(TICKETS) == []
    assert [pod.metadata.name for pod in await stage.all(PODS)] == ["web"]
    (web,) = await stage.all(PODS)
    assert web.metadata.deletion_timestamp is None
    await stage.put(stage.order("gold", 2))
    after = {ticket.metadata.uid for ticket in await stage.counted(Reserved=2)}
    assert not before & after


async def test_s2_a_ticket_expires_at_its_time_and_goes_by_its_policy(stage: Stage) -> None:
    await stage.add_nodes()

    def brief(name: str, **lifecycle: JSON) -> Builder[Ticket]:
        return stage.ticket(name, "100m", duration="2s", lifecycle=lifecycle)

    await stage.put(
        brief("at-once", ttlSecondsAfterFinished=0),
        brief("later", ttlSecondsAfterFinished=5),
        brief("kept", ttlSecondsAfterFinished=0, cleanupPolicy="Retain"),
    )
    later, kept = await stage.phase(TicketPhase.EXPIRED, "later", "kept")
    for ticket in (later, kept):
        status = ticket.status
        assert status.expiration_time == status.activation_time + timedelta(seconds=2)
        late = status.finished_time - status.expiration_time
        assert timedelta() <= late <= timedelta(seconds=1)
    await stage.gone(TICKETS, "at-once")
    await stage.gone(TICKETS, "later")
    assert [ticket.metadata.name for ticket in await stage.all(TICKETS)] == ["kept"]
    await stage.guarded(0)
    shown = await stage.world.plane.kubectl("get", "tickets", "-n", stage.name, "--no-headers")
    assert instant.render(kept.status.expiration_time) in shown


async def test_s5_two_hundred_random_deletions_are_made_up_for_under_names_never_used_before(
    stage: Stage,
) -> None:
    await stage.add_nodes(cpu="16")
    strategy: JSON = {"type": "OneTime", "refreshPolicy": "Always"}
    await stage.put(stage.order("pool", 20, "100m", strategy=strategy))
    rng, gone = random.Random(5), set[str]()
    while len(gone) < 200:
        there = [t for t in await stage.all(TICKETS) if not t.metadata.deletion_timestamp]
        for ticket in rng.sample(there, min(rng.randint(1, 20), len(there), 200 - len(gone))):
            await stage.delete(TICKETS, ticket.metadata.name)
            assert ticket.metadata.uid not in gone
            gone.add(ticket.metadata.uid)
        await asyncio.sleep(LOOK)
    await stage.until(
        ORDERS, "pool", lambda o: (o.status.next_index, o.status.available_replicas) == (220, 20)
    )
    left = await stage.counted(Reserved=20)
    assert not gone & {ticket.metadata.uid for ticket in left}
    await stage.guarded(20)


async def test_s8_a_lost_guardian_is_reported_of_and_replaced_and_the_clock_goes_on(
    stage: Stage,
) -> None:
    await stage.add_nodes(4, cpu="2")
    names = ("failed", "preempted", "evicted")
    failed, pushed, evicted = await stage.reserve(*(stage.ticket(name, "2") for name in names))
    lost, thrown = (t.status.guardian_pod.partition("/")[2] for t in (failed, evicted))
    await stage.edit(PODS, lost, {"status": {"phase": "Failed"}}, "status")
    await stage.client.post(PODS, Key(stage.name, thrown), "eviction", {})
    await stage.add_class(5_000_000)
    node: JSON = {"kubernetes.io/hostname": pushed.status.node_name}
    taker: JSON = {"priorityClassName": stage.name, "nodeSelector": node}
    await stage.put(stage.pod("taker", "2").but({"spec": taker}))
    for before in (failed, pushed, evicted):
        name, old = before.metadata.name, before.status.guardian_pod
        after = await stage.until(
            TICKETS,
            name,
            lambda t, old=old: t.status.phase is RESERVED and t.status.guardian_pod != old,
        )
        assert after.status.expiration_time == before.status.expiration_time
    assert await stage.event("failed", Reason.GUARDIAN_FAILED)
    assert await stage.event("preempted", Reason.PREEMPTED)
    assert await stage.event("evicted", Reason.EVICTED)
    await stage.guarded(3)

    held = await stage.until(TICKETS, "failed", lambda _: True)
    await stage.delete(NODES, held.status.node_name)
    gone = await stage.until(TICKETS, "failed", lambda t: t.status.phase is PENDING)
    assert gone.status.expiration_time == failed.status.expiration_time
    assert await stage.event("failed", Reason.NODE_LOST)
    (fresh,) = await stage.add_nodes(cpu="2")
    (back,) = await stage.phase(RESERVED, "failed")
    assert back.status.node_name == fresh
    assert back.status.expiration_time == failed.status.expiration_time


async def test_a_cordoned_node_is_closed_to_tickets_that_tolerate_everything_rules_12_and_17(
    stage: Stage,
) -> None:
    first, second = await stage.add_nodes(2, cpu="1")
    everything: JSON = [{"operator": "Exists"}]
    (before,) = await stage.reserve(stage.ticket("t", tolerations=everything))
    left, other = before.status.node_name, {first: second, second: first}[before.status.node_name]
    await stage.edit(NODES, left, {"spec": {"unschedulable": True}})
    moved = await stage.until(TICKETS, "t", lambda t: t.status.node_name == other)
    assert moved.status.phase is RESERVED
    await stage.guarded(1)

    await stage.edit(NODES, other, {"spec": {"unschedulable": True}})
    tolerant = stage.asking("web").but({"spec": {"tolerations": everything}})
    await stage.put(tolerant)
    waits = await stage.until(PODS, "web", lambda p: "cordoned" in str(p.status.conditions))
    assert not waits.spec.node_name
    await stage.edit(NODES, other, {"spec": {"unschedulable": False}})
    assert (await stage.bound("web")).spec.node_name == other


async def test_s9_a_refused_guardian_is_reported_of_tried_again_and_costs_no_time(
    stage: Stage,
) -> None:
    await stage.add_nodes()
    restricted: JSON = {"pod-security.kubernetes.io/enforce": "restricted"}
    await stage.edit(NAMESPACES, stage.name, {"metadata": {"labels": restricted}})
    limits: JSON = [{"type": "Container", "max": {"cpu": "500m"}}]
    meta: JSON = {"name": "small", "namespace": stage.name}
    await stage.client.create(LIMIT_RANGES, {"metadata": meta, "spec": {"limits": limits}})
    await stage.client.create(
        RESOURCE_QUOTAS, {"metadata": meta, "spec": {"hard": {"requests.cpu": "500m"}}}
    )
    await stage.put(stage.ticket("t"), stage.ticket("classy", priorityClassName=stage.name))
    unknown = f"no PriorityClass with name {stage.name} was found"
    classy = await stage.until(TICKETS, "classy", lambda t: unknown in t.status.message)
    assert (classy.status.phase, classy.status.reason) == (PENDING, Reason.GUARDIAN_REFUSED)
    await stage.world.plane.kubectl("create", "priorityclass", stage.name, "--value=1")
    for kind, word in ((LIMIT_RANGES, "cpu limit of 500m"), (RESOURCE_QUOTAS, "exceeded quota")):
        refused = await stage.until(TICKETS, "t", lambda t, word=word: word in t.status.message)
        assert refused.status.phase is PENDING
        assert refused.status.reason == Reason.GUARDIAN_REFUSED
        assert refused.status.activation_time is None
        await stage.delete(kind, "small")
    await stage.phase(RESERVED, "t", "classy")


@asynccontextmanager
async def unready(stage: Stage, node: str) -> AsyncIterator[None]:
    """Keeps a node unready for five seconds, as one whose kubelet has trouble; others may go on meanwhile."""
    stage.world.machines.lose(node)
    away: JSON = {"type": "Ready", "status": "False", "reason": "Trouble"}
    body: JSON = {"status": {"conditions": [away]}}
    strategic = PatchType.STRATEGIC
    await stage.client.patch(NODES, Key("", node), body, strategic, subresource="status")
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(5))
        yield
    found = await stage.until(NODES, node, lambda n: len(n.spec.taints) > 1)
    assert not is_ready(found)
    stage.world.machines.recover(node)
    await stage.until(NODES, node, lambda n: is_ready(n) and len(n.spec.taints) == 1)


def uids(tickets: Iterable[Ticket]) -> set[str]:
    return {ticket.metadata.uid for ticket in tickets}


def on(node: str, pods: Iterable[Pod]) -> list[str]:
    """The pods of a node, by UID."""
    return [pod.metadata.uid for pod in pods if pod.spec.node_name == node]


async def test_s36_one_ticket_per_node_follows_the_nodes_and_daemons_take_that_of_their_own(
    stage: Stage,
) -> None:
    first, second, full = await stage.add_nodes(3)
    there: JSON = {"nodeSelector": {"kubernetes.io/hostname": full}}
    await stage.put(stage.pod("filler", "4").but({"spec": there}))
    await stage.bound("filler")
    await stage.put(stage.order("daemon", 1, daemonSet=True))
    await stage.counted(Reserved=2, Pending=1)
    (fourth,) = await stage.add_nodes()
    tickets = await stage.counted(Reserved=3, Pending=1)
    pinned = {ticket.spec.node_name: ticket.status.phase for ticket in tickets}
    assert pinned == {**dict.fromkeys((first, second, fourth), RESERVED), full: PENDING}
    held = await stage.guardians()
    async with unready(stage, fourth):
        await stage.edit(NODES, first, {"metadata": {"labels": {MARK: "another"}}})
        await stage.delete(NODES, second)
        await stage.delete(PODS, "filler")
        await stage.counted(Reserved=2)
    left = await stage.counted(Reserved=2)
    assert {ticket.spec.node_name for ticket in left} == {full, fourth}
    assert uids(left) < uids(tickets)
    assert on(fourth, await stage.guardians()) == on(fourth, held)
    await stage.put(stage.workload(DAEMON_SETS, stage.asking("web", order="daemon")))
    used = await stage.counted(Claimed=2)
    pods = {pod.metadata.uid: pod.spec.node_name for pod in await stage.all(PODS, "app=web")}
    owners = {t.status.claimed_by.uid: t.spec.node_name for t in used if t.status.claimed_by}
    assert pods == owners
