"""Crowds, crashes and faults on a real control plane: whatever happens in between, every ticket has one owner and nothing leaks (S2, S7, S21-S24, S26, S28).

The managers run in this process, so that a test can stand on their wire; the plane, its scheduler and its controllers are real.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
import sys
from typing import TypeVar

import pytest
import pytest_asyncio
from tests.e2e import faulty_manager
from tests.e2e.stage import LOOK, PATIENCE, Stage, World, a_world
from tests.e2e.wires import Mortal, Patient, a_manager

from korder.api.reserve import (
    GUARDIAN_LABEL,
    ORDER_LABEL,
    ORDERS,
    TICKET_CLAIMED_ANNOTATION,
    TICKETS,
    Reason,
    Ticket,
    TicketPhase,
)
from korder.reserve.claims import patches as claim_patches
from kubeloop.client.watch import Applied, Deleted, Listed, Watcher
from kubeloop.net.faults import Fault
from kubeloop.objects import instant
from kubeloop.objects.core import LEASES, PODS, Pod
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind
from kubeloop.runtime.clock import Clock
from kubeloop.testing.processes import Process

pytestmark = pytest.mark.asyncio(loop_scope="module")
T = TypeVar("T", bound=HasMetadata)
CLAIMED, RESERVED = TicketPhase.CLAIMED, TicketPhase.RESERVED
HOLDING = (RESERVED, TicketPhase.PENDING)
"""Phases with a guardian; that of a Pending ticket is nowhere yet."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[World]:
    """Without a manager."""
    async with a_world() as world:
        yield world


async def at_peace(stage: Stage) -> bool:
    """Whether each ticket that holds room has one guardian, each Claimed one its pod, both where it says, and no guardian is left over."""
    tickets, pods = await stage.all(TICKETS), await stage.all(PODS)
    where = {pod.metadata.uid: pod.spec.node_name for pod in pods}
    owned = [
        (owner.uid, pod.spec.node_name)
        for pod in pods
        if GUARDIAN_LABEL in pod.metadata.labels
        for owner in pod.metadata.owner_references
    ]
    wanted = [(t.metadata.uid, t.status.node_name) for t in tickets if t.status.phase in HOLDING]
    in_use = [t.status for t in tickets if t.status.phase is CLAIMED]
    return sorted(owned) == sorted(wanted) and all(
        status.claimed_by is not None and where.get(status.claimed_by.uid) == status.node_name
        for status in in_use
    )


@dataclass(frozen=True)
class Rest:
    """How a stage comes to rest: with exactly these tickets, each in its phase, and nothing leaked."""

    stage: Stage
    wanted: Mapping[str, TicketPhase]

    async def is_there(self) -> bool:
        there = {t.metadata.name: t.status.phase for t in await self.stage.all(TICKETS)}
        if there != self.wanted:
            return False
        leaving = any(o.metadata.deletion_timestamp for o in await self.stage.all(ORDERS))
        return not leaving and await at_peace(self.stage)

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """Says what is there if this takes too long."""
        try:
            async with asyncio.timeout(PATIENCE):
                yield
        except TimeoutError:
            tickets = [(t.metadata.name, t.status) for t in await self.stage.all(TICKETS)]
            pods = [(p.metadata.name, p.spec.node_name) for p in await self.stage.all(PODS)]
            raise AssertionError(f"there are {tickets} and {pods}") from None

    async def comes(self) -> None:
        async with self.in_time():
            while not await self.is_there():
                await asyncio.sleep(LOOK)

    async def comes_by_crashes(self) -> int:
        """Lets one manager after the other live for one write each; says how many there were."""
        lives, world = 0, self.stage.world
        mortal = partial(Mortal, namespace=self.stage.name)
        async with self.in_time():
            while not await self.is_there():
                lives += 1
                async with a_manager(world, mortal, f"life-{lives}") as life:
                    while not life.wire.died.is_set() and not await self.is_there():
                        await asyncio.sleep(LOOK)
        return lives


async def test_s7_a_crash_after_every_single_write_leaves_one_guardian_and_the_right_phase(
    stage: Stage,
) -> None:
    await stage.add_nodes(cpu="4")
    await stage.put(stage.order("pool", 2, "2"))
    both: dict[str, TicketPhase] = {"pool-0": RESERVED, "pool-1": RESERVED}
    lives = await Rest(stage, both).comes_by_crashes()
    await stage.put(stage.asking("web", "2", ticket_request="pool-1"))
    waits = {**both, "pool-1": CLAIMED, "pool-2": TicketPhase.PENDING}
    lives += await Rest(stage, waits).comes_by_crashes()
    await stage.delete(PODS, "web")
    filled = {"pool-0": RESERVED, "pool-1": TicketPhase.RELEASED, "pool-2": RESERVED}
    lives += await Rest(stage, filled).comes_by_crashes()
    await stage.delete(ORDERS, "pool")
    lives += await Rest(stage, {}).comes_by_crashes()
    assert await stage.all(ORDERS) == []
    at_once: JSON = {"ttlSecondsAfterFinished": 0}
    await stage.put(stage.ticket("brief", duration="1s", lifecycle=at_once))
    lives += await Rest(stage, {}).comes_by_crashes()
    assert lives > 20


async def test_s21_and_s22_a_crowd_shares_the_tickets_of_full_nodes_and_no_intruder_gets_between(
    stage: Stage,
) -> None:
    await stage.add_nodes(5)
    async with a_manager(stage.world, Patient):
        await stage.reserve(*(stage.ticket(f"t{n}") for n in range(20)))
        await stage.put(*(stage.pod(f"intruder-{n}") for n in range(100)))
        await stage.put(*(stage.asking(f"web-{n}") for n in range(50)))
        await Rest(stage, {f"t{n}": CLAIMED for n in range(20)}).comes()
    pods, tickets = await stage.all(PODS), await stage.all(TICKETS)
    owners = {t.status.claimed_by.uid for t in tickets if t.status.claimed_by}
    assert len(owners) == 20
    assert {pod.metadata.uid for pod in pods if pod.spec.node_name} == owners
    assert Counter(claim_patches.is_gated(pod) for pod in pods) == {True: 30, False: 120}
    assert not [pod.metadata.name for pod in pods if pod.status.phase == "Failed"]


HELD_AT = {
    "the ticket is claimed": ("PATCH", "/pods/web/status", 0),
    "the pod is nominated": ("DELETE", "/pods/korder-guardian-t", 0),
    "the guardian is gone": ("PATCH", "/pods/web", 0),
    "the pod is bound": ("PATCH", "/tickets/t/status", 1),
}


@pytest.mark.parametrize("step", HELD_AT)
async def test_s24_the_room_of_a_pod_that_is_deleted_at_any_step_is_held_again(
    stage: Stage, step: str
) -> None:
    await stage.add_nodes(cpu="1")
    async with a_manager(stage.world, Patient) as life:
        await stage.reserve(stage.ticket("t", afterUse="Reserve"))
        life.wire.hold(*HELD_AT[step])
        await stage.put(stage.asking("web"))
        async with asyncio.timeout(PATIENCE):
            await life.wire.reached.wait()
        await stage.delete(PODS, "web")
        life.wire.go.set()
        await Rest(stage, {"t": RESERVED}).comes()
        await stage.put(stage.asking("next"))
        await Rest(stage, {"t": CLAIMED}).comes()
    assert [pod.metadata.name for pod in await stage.all(PODS)] == ["next"]


async def test_s24_the_room_of_a_pod_that_is_deleted_before_the_scheduler_sees_it_is_held_again(
    stage: Stage,
) -> None:
    await stage.add_nodes(cpu="1")
    scheduler = stage.world.plane.scheduler
    async with a_manager(stage.world, Patient):
        await stage.reserve(stage.ticket("t", afterUse="Reserve"))
        scheduler.pause()
        try:
            await stage.put(stage.asking("web"))
            await stage.until(PODS, "web", lambda pod: not claim_patches.is_gated(pod))
            await stage.delete(PODS, "web")
            await stage.gone(PODS, "web")
        finally:
            scheduler.resume()
        await Rest(stage, {"t": RESERVED}).comes()


async def test_s23_a_pod_that_tolerates_every_taint_is_reported_and_the_room_is_taken_back(
    stage: Stage,
) -> None:
    """K10: no taint keeps a pod away that tolerates everything; no pod waits in silence."""
    (node,) = await stage.add_nodes(cpu="1")
    await stage.add_class(2_000_000)
    async with a_manager(stage.world, Patient) as life:
        await stage.reserve(stage.ticket("t"))
        life.wire.hold("PATCH", "/pods/web")
        await stage.put(stage.asking("web"))
        async with asyncio.timeout(PATIENCE):
            await life.wire.reached.wait()
        anywhere: JSON = {"operator": "Exists"}
        thief: JSON = {"priorityClassName": stage.name, "tolerations": [anywhere]}
        await stage.put(stage.pod("thief").but({"spec": thief}))
        await stage.bound("thief")
        life.wire.go.set()
        stated = await stage.event("t", Reason.STOLEN)
        assert f"was taken by pod {stage.name}/thief" in stated
        await stage.phase(TicketPhase.PENDING, "t")
        note = await stage.event("web", Reason.STOLEN)
        assert note.startswith(f"The pod is tied to node {node} without a ticket")
        await stage.delete(PODS, "web")
        await stage.delete(PODS, "thief")
        await Rest(stage, {"t": RESERVED}).comes()


async def test_s2_expiry_and_time_to_live_survive_a_restart(stage: Stage) -> None:
    await stage.add_nodes()
    brief: JSON = {"ttlSecondsAfterFinished": 5}
    async with a_manager(stage.world, Patient):
        await stage.reserve(stage.ticket("t", duration="2s", lifecycle=brief))
    async with a_manager(stage.world, Patient):
        (ended,) = await stage.phase(TicketPhase.EXPIRED, "t")
        late = ended.status.finished_time - ended.status.expiration_time
        assert timedelta() <= late <= timedelta(seconds=1)
    async with a_manager(stage.world, Patient):
        await Rest(stage, {}).comes()


async def test_s28_a_firing_while_nobody_was_there_is_made_up_for_once_or_reported_as_missed(
    stage: Stage, clock: Clock
) -> None:
    await stage.add_nodes()
    fired = (clock.now() - timedelta(seconds=30)).replace(second=0, microsecond=0)
    brief: JSON = {"spec": {"duration": "10m"}}
    for name, patience in (("patient", 300), ("strict", 0)):
        strategy: JSON = {
            "type": "Scheduled",
            "schedule": f"{fired.minute} * * * *",
            "startingDeadlineSeconds": patience,
        }
        await stage.put(stage.order(name, 2, template=brief, strategy=strategy))
        before: JSON = {"lastScheduleTime": instant.render(fired - timedelta(hours=1))}
        await stage.edit(ORDERS, name, {"status": before}, "status")
    for _ in range(2):
        async with a_manager(stage.world, Patient):
            tickets = await stage.counted(Reserved=2)
            missed = await stage.event("strict", "FiringMissed")
            order = await stage.until(ORDERS, "patient", lambda o: o.status.available_replicas == 2)
        assert order.status.last_schedule_time == fired
        assert {t.spec.start_time for t in tickets} == {instant.render(fired)}
        assert {t.metadata.labels[ORDER_LABEL] for t in tickets} == {"patient"}
        assert missed == f"missed the firing of {instant.render(fired)} by more than 0 s"


class Witness:
    """Sees every state of tickets and pods, and notes what must never be."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._tickets: dict[str, Ticket] = {}
        self._pods: dict[str, Pod] = {}
        self.complaints: set[str] = set()

    async def look(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(TICKETS, self._tickets, self._one_ticket_each))
            group.create_task(self._follow(PODS, self._pods, self._one_pod_each))

    async def _follow(self, kind: Kind[T], there: dict[str, T], judge: Callable[[], None]) -> None:
        async for event in Watcher(self._stage.client, kind, self._stage.name).events():
            match event:
                case Listed(items=items):
                    there.clear()
                    there.update((each.metadata.name, each) for each in items)
                case Applied(obj=obj):
                    there[obj.metadata.name] = obj
                case Deleted(obj=obj):
                    there.pop(obj.metadata.name, None)
            judge()

    def _one_ticket_each(self) -> None:
        owners = Counter(
            ticket.status.claimed_by.name
            for ticket in self._tickets.values()
            if ticket.status.phase is CLAIMED and ticket.status.claimed_by
        )
        self.complaints |= {f"{name} has two tickets" for name, n in owners.items() if n > 1}

    def _one_pod_each(self) -> None:
        """Of a ticket there is one guardian or one pod, but for the moment in which one goes and the other has come."""
        live = [pod for pod in self._pods.values() if not pod.metadata.deletion_timestamp]
        claimed = Counter(pod.metadata.annotations.get(TICKET_CLAIMED_ANNOTATION) for pod in live)
        held = Counter(o.uid for pod in live for o in pod.metadata.owner_references)
        del claimed[None]
        self.complaints |= {f"{name} has two owners" for name, n in claimed.items() if n > 1}
        self.complaints |= {f"{uid} has two guardians" for uid, n in held.items() if n > 1}


@asynccontextmanager
async def a_replica(stage: Stage, folder: Path, name: str) -> AsyncIterator[Process]:
    """Runs a manager on a faulty wire as a process; it is ready once it stands for election."""
    log = folder / f"{name}.log"

    async def is_ready() -> bool:
        return "waiting to lead" in log.read_text()

    config = str(stage.world.plane.kubeconfig())
    command = (sys.executable, faulty_manager.__file__, config, stage.name, name)
    replica = Process(name, command, log=log, is_ready=is_ready)
    await replica.start()
    try:
        yield replica
    finally:
        replica.kill()


async def leader(stage: Stage, *names: str) -> str:
    """Waits until one of these leads, and says which."""
    key = Key("kube-system", stage.name)
    async with asyncio.timeout(PATIENCE):
        while (name := (await stage.client.get(LEASES, key)).spec.holder_identity) not in names:
            await asyncio.sleep(LOOK)
    return str(name)


@pytest.mark.timeout(300)
async def test_s26_two_changes_of_leader_and_faults_on_every_wire_during_two_hundred_claims(
    stage: Stage, tmp_path: Path
) -> None:
    """The first leader is killed, the second goes in peace; at every instant each ticket has one owner."""
    await stage.add_nodes(4, cpu="50")
    witness = Witness(stage)
    tickets = [f"t{n}" for n in range(200)]
    crowd = iter([stage.asking(f"web-{n}") for n in range(200)])
    async with (
        asyncio.TaskGroup() as group,
        a_replica(stage, tmp_path, "one") as one,
        a_replica(stage, tmp_path, "two") as two,
    ):
        looks = group.create_task(witness.look())
        await stage.reserve(*map(stage.ticket, tickets))
        first = one if await leader(stage, "one", "two") == "one" else two
        await stage.put(*islice(crowd, 100))
        first.kill()
        await stage.put(*islice(crowd, 50))
        second = two if first is one else one
        assert await leader(stage, second.name) == second.name
        async with a_replica(stage, tmp_path, "three") as three:
            await second.stop()
            await stage.put(*crowd)
            assert await leader(stage, "three") == "three"
            await Rest(stage, dict.fromkeys(tickets, CLAIMED)).comes()
            await three.stop()
        looks.cancel()
    assert witness.complaints == set()
    assert Fault.LOST_AFTER in second.log.read_text() + three.log.read_text()
    owners = {t.status.claimed_by.uid for t in await stage.all(TICKETS) if t.status.claimed_by}
    assert len(owners) == 200
