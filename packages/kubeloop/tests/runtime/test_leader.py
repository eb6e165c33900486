"""Elections on virtual time: one leader at a time, and none that acts on an old lease."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import random

from hypothesis import given, strategies as st
import pytest

from kubeloop.client.client import Client
from kubeloop.client.errors import Fenced
from kubeloop.net.faults import Fault, FaultyTransport, Rule
from kubeloop.objects.core import CONFIG_MAPS, Lease, LeaseSpec
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.leader import Leader, Sighting, Terms, may_take
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.memory import MemoryServer

LEASE = Key("korder-system", "korder-manager")
PATH = "/apis/coordination.k8s.io/v1/namespaces/korder-system/leases/korder-manager"


class Replica:
    """A candidate with its own wire."""

    def __init__(self, server: MemoryServer, name: str, seed: int = 1) -> None:
        self.wire = FaultyTransport(server.connect(name), random.Random(seed), slowness=20)
        self.client = Client(self.wire, rng=random.Random(seed))
        self.leader = Leader(
            self.client, LEASE, name, clock=VirtualClock(), rng=random.Random(seed)
        )


@asynccontextmanager
async def standing(*replicas: Replica) -> AsyncIterator[dict[str, asyncio.Task[None]]]:
    async def serve(replica: Replica) -> None:
        await replica.leader.elect()
        await replica.leader.keep()

    async with asyncio.TaskGroup() as group:
        tasks = {r.leader._identity: group.create_task(serve(r)) for r in replicas}
        yield tasks
        for task in tasks.values():
            task.cancel()


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer()


def holder(server: MemoryServer) -> object:
    return server.objects[PATH]["spec"]["holderIdentity"]  # type: ignore[index, call-overload]


async def test_the_first_candidate_leads_and_keeps_leading(server: MemoryServer) -> None:
    one, two = Replica(server, "one"), Replica(server, "two", 2)
    async with standing(one):
        await asyncio.sleep(1)
        async with standing(two):
            await asyncio.sleep(3600)
            assert (one.leader.leading, two.leader.leading) == (True, False)
            assert holder(server) == "one"


async def test_a_released_lease_is_taken_at_once(server: MemoryServer) -> None:
    one, two = Replica(server, "one"), Replica(server, "two", 2)
    async with standing(one) as tasks:
        await asyncio.sleep(1)
        async with standing(two):
            await asyncio.sleep(10)
            tasks["one"].cancel()
            await one.leader.release()
            await asyncio.sleep(3)
            assert two.leader.leading


async def test_authority_ends_before_another_can_take_the_lease(server: MemoryServer) -> None:
    one, two = Replica(server, "one"), Replica(server, "two", 2)
    async with standing(one, two):
        await asyncio.sleep(5)
        first, second = (one, two) if one.leader.leading else (two, one)
        first.wire.rules.append(Rule(Fault.UNREACHABLE))
        ended = began = 0.0
        for tenth in range(600):
            await asyncio.sleep(0.1)
            assert not (first.leader.leading and second.leader.leading)
            ended = ended or (0 if first.leader.leading else tenth)
            began = began or (tenth if second.leader.leading else 0)
        assert began - ended >= 45


async def test_a_leader_that_cannot_renew_sends_nothing_any_more(server: MemoryServer) -> None:
    one = Replica(server, "one")
    guarded = one.client.with_guard(one.leader.guard)
    async with standing(one) as tasks:
        await asyncio.sleep(1)
        await guarded.create(CONFIG_MAPS, {"metadata": {"name": "early", "namespace": "ns"}})
        one.wire.rules.append(Rule(Fault.UNREACHABLE))
        await asyncio.sleep(11)
        one.wire.rules.clear()
        assert tasks["one"].done()
        before = list(server.writes)
        with pytest.raises(Fenced):
            await guarded.create(CONFIG_MAPS, {"metadata": {"name": "late", "namespace": "ns"}})
        assert server.writes == before


async def test_a_lost_answer_to_a_renewal_does_not_cost_the_lease(server: MemoryServer) -> None:
    one = Replica(server, "one")
    async with standing(one):
        await asyncio.sleep(1)
        one.wire.rules.append(Rule(Fault.LOST_AFTER, lambda r: r.method == "PATCH", times=3))
        await asyncio.sleep(60)
        assert one.leader.leading
        assert one.wire.hits == {Fault.LOST_AFTER: 3}


async def test_somebody_else_in_the_lease_ends_the_leadership(server: MemoryServer) -> None:
    one = Replica(server, "one")
    async with standing(one) as tasks:
        await asyncio.sleep(1)
        server.merge(PATH, {"spec": {"holderIdentity": "thief"}})
        await asyncio.sleep(3)
        assert tasks["one"].done()
        assert not one.leader.leading
        assert holder(server) == "thief"


@pytest.mark.parametrize("seed", range(10))
async def test_never_two_leaders_whatever_the_wire_does(server: MemoryServer, seed: int) -> None:
    rng = random.Random(seed)
    replicas = [Replica(server, f"r{i}", seed * 10 + i) for i in range(3)]
    for replica in replicas:
        faults = (Fault.UNREACHABLE, Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.SLOW, Fault.BROKEN)
        replica.wire.rules += [Rule(fault, chance=rng.uniform(0, 0.4)) for fault in faults]

    async def serve(replica: Replica) -> None:
        while True:
            await replica.leader.elect()
            await replica.leader.keep()

    led = set()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(serve(replica)) for replica in replicas]
        for _ in range(6_000):
            await asyncio.sleep(0.1)
            leading = [r.leader._identity for r in replicas if r.leader.leading]
            assert len(leading) <= 1
            led.update(leading)
        for task in tasks:
            task.cancel()
    assert led


async def test_a_stopped_manager_hands_its_lease_back(server: MemoryServer) -> None:
    manager = Manager(
        Client(server.connect("one"), rng=random.Random(1)),
        Settings(identity="one", lease=LEASE),
        clock=VirtualClock(),
        rng=random.Random(1),
    )
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        await asyncio.sleep(5)
        assert holder(server) == "one"
        stop.set()
    assert holder(server) == ""


def test_terms_that_cannot_be_safe_are_refused() -> None:
    with pytest.raises(ValueError, match=r"retry 2\.0 < renew 20 < lease 15"):
        Terms(renew=20)


@given(since=st.floats(0, 100), now=st.floats(0, 200), duration=st.integers(1, 60))
def test_a_held_lease_is_free_only_after_its_duration_was_watched(
    since: float, now: float, duration: int
) -> None:
    lease = Lease(spec=LeaseSpec(holder_identity="other", lease_duration_seconds=duration))
    assert may_take(lease, Sighting("1", since), now, "me") == (now - since >= duration)
