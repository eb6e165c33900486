"""The manager as a whole: what must not end it, what must, and how it stops."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
import random

import pytest

from kubeloop.client.client import Client
from kubeloop.client.errors import Fenced
from kubeloop.net.faults import Fault, FaultyTransport, Rule
from kubeloop.net.http import Guard, Request, Response, Transport
from kubeloop.net.server import CannotListen, Server, text
from kubeloop.objects.core import CONFIG_MAPS
from kubeloop.objects.meta import Key
from kubeloop.objects.plan import NOTHING, Create, Delete, Plan
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.informer import Scope
from kubeloop.runtime.manager import Address, Manager, PartEnded, Settings
from kubeloop.testing.memory import MemoryServer, Stored

PATH = "/api/v1/namespaces/ns/configmaps"
LEASE = Key("korder-system", "korder-manager")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/korder-system/leases"


def a_config_map(name: str) -> Stored:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": "ns"}}


def a_manager(wire: Transport, lease: Key | None = None) -> Manager:
    client = Client(wire, rng=random.Random(1))
    settings = Settings(identity="one", lease=lease)
    return Manager(client, settings, clock=VirtualClock(), rng=random.Random(1))


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        try:
            yield stop
        finally:
            stop.set()


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer()


def holder(server: MemoryServer) -> object:
    lease = server.objects.get(f"{LEASES}/korder-manager")
    return lease and lease["spec"]["holderIdentity"]  # type: ignore[index, call-overload]


class Hanging:
    """A wire on which requests that match get no answer."""

    def __init__(self, inner: Transport, method: str = "") -> None:
        self.inner = inner
        self.method = method
        self.times = 0

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        if self.times and request.method == self.method:
            self.times -= 1
            await asyncio.sleep(10**6)
        return await self.inner.send(request, guard)

    async def close(self) -> None:
        await self.inner.close()


async def test_an_index_that_raises_hides_nothing(server: MemoryServer) -> None:
    manager = a_manager(server.connect())
    informer = manager.informers.of(CONFIG_MAPS)
    informer.add_index("first owner", lambda obj: (obj.metadata.owner_references[0].uid,))
    async with running(manager):
        server.create(PATH, a_config_map("orphan"))
        await asyncio.sleep(1)
        assert informer.reader.get(Key("ns", "orphan")) is not None


async def test_a_part_that_ends_by_itself_ends_the_manager(server: MemoryServer) -> None:
    class Brief:
        ready = True

        async def run(self) -> None:
            await asyncio.sleep(1)

    manager = a_manager(server.connect())
    manager.add(Brief())
    with pytest.raises(PartEnded, match="Brief has ended by itself"):
        await manager.run(asyncio.Event())


@pytest.mark.enable_socket
async def test_an_address_that_is_taken_is_said_and_nothing_stays_open(
    server: MemoryServer,
) -> None:
    async def ok(_: Request) -> object:
        return text(200, "ok")

    squatter = Server({"/": ok}, "127.0.0.1")  # type: ignore[dict-item]
    port = await squatter.start()
    client = Client(server.connect(), rng=random.Random(1))
    settings = Settings(
        identity="one", probes=Address("127.0.0.1", 0), metrics=Address("127.0.0.1", port)
    )
    manager = Manager(client, settings, clock=VirtualClock(), rng=random.Random(1))
    with pytest.raises(CannotListen, match=f"127.0.0.1:{port}"):
        await manager.run(asyncio.Event())
    assert not manager._servers[0].listening
    await squatter.stop(grace=1)


async def test_a_cancellation_inside_a_turn_is_a_failure_and_not_the_end_of_a_worker(
    server: MemoryServer,
) -> None:
    manager = a_manager(server.connect())
    locks: list[str] = []

    async def reconcile(key: Key, _: datetime) -> Plan:
        locks.append(key.name)
        if key.name == "bad" and locks.count("bad") < 5:
            foreign = asyncio.get_running_loop().create_future()
            foreign.cancel()
            await foreign
        return NOTHING

    controller = manager.controller("test", reconcile, workers=1)
    async with running(manager):
        await asyncio.sleep(1)
        controller.queue.add(Key("ns", "bad"))
        await asyncio.sleep(60)
        controller.queue.add(Key("ns", "good"))
        await asyncio.sleep(60)
        assert locks == ["bad"] * 5 + ["good"]


async def test_a_turn_that_was_held_back_is_taken_when_the_authority_is_back(
    server: MemoryServer,
) -> None:
    fenced = True

    def guard() -> None:
        if fenced:
            raise Fenced("a moment without authority")

    client = Client(server.connect(), rng=random.Random(1), guard=guard)
    manager = Manager(client, Settings(identity="one"), clock=VirtualClock(), rng=random.Random(1))
    plan = Plan().then(Create(CONFIG_MAPS, a_config_map("late")))
    controller = manager.controller("test", lambda _key, _now: NOTHING if server.objects else plan)
    async with running(manager):
        controller.queue.add(Key("ns", "late"))
        await asyncio.sleep(1)
        assert server.objects == {}
        fenced = False
        await asyncio.sleep(300)
        assert list(server.objects) == [f"{PATH}/late"]


async def test_a_conflict_on_a_delete_does_not_hide_an_object_that_lives(
    server: MemoryServer,
) -> None:
    server.create(PATH, a_config_map("victim"))
    wire = FaultyTransport(server.connect(), random.Random(1))
    wire.rules.append(Rule(Fault.CONFLICT, lambda request: request.method == "DELETE", times=1))
    manager = a_manager(wire)
    informer = manager.informers.of(CONFIG_MAPS)

    def reconcile(key: Key, _: datetime) -> Plan:
        found = informer.reader.get(key)
        return Plan().then(Delete(CONFIG_MAPS, key, found.metadata.uid)) if found else NOTHING

    manager.controller("test", reconcile).follow(informer)
    async with running(manager):
        await asyncio.sleep(60)
        assert server.objects == {}


async def test_a_write_that_failed_is_not_counted_as_done(server: MemoryServer) -> None:
    manager = a_manager(server.connect())
    nowhere = Plan().then(Create(CONFIG_MAPS, {"metadata": {"name": "x"}}))
    controller = manager.controller("test", lambda _key, _now: nowhere)
    async with running(manager):
        controller.queue.add(Key("ns", "x"))
        await asyncio.sleep(0.05)
        scrape = manager.metrics.render().decode()
    assert 'outcome="failed"' in scrape
    assert 'outcome="ok"' not in scrape


async def test_objects_of_all_scopes_of_a_kind_are_counted(server: MemoryServer) -> None:
    server.create(PATH, a_config_map("a"))
    manager = a_manager(server.connect())
    manager.informers.of(CONFIG_MAPS, Scope(namespace="ns"))
    manager.informers.of(CONFIG_MAPS, Scope(namespace="other"))
    async with running(manager):
        await asyncio.sleep(1)
        assert 'kubeloop_objects{resource="configmaps"} 1.0' in manager.metrics.render().decode()


async def test_stopping_while_the_lease_is_being_won_hands_it_back(server: MemoryServer) -> None:
    manager = a_manager(server.connect(), LEASE)
    async with running(manager) as stop:
        while not server.writes:
            await asyncio.sleep(0.0001)
        stop.set()
    assert holder(server) == ""


async def test_stopping_ends_in_time_although_the_server_hangs(server: MemoryServer) -> None:
    wire = Hanging(server.connect(), "PATCH")
    manager = a_manager(wire, LEASE)
    async with running(manager) as stop:
        await asyncio.sleep(5)
        wire.times = 10**6
        asked = asyncio.get_running_loop().time()
        stop.set()
    assert asyncio.get_running_loop().time() - asked < 25


async def test_one_hung_renewal_does_not_cost_the_lease(server: MemoryServer) -> None:
    wire = Hanging(server.connect(), "PATCH")
    manager = a_manager(wire, LEASE)
    async with running(manager):
        await asyncio.sleep(10)
        wire.times = 1
        await asyncio.sleep(60)
        assert manager.leading


async def test_busy_controllers_do_not_cost_the_lease(server: MemoryServer) -> None:
    class Slow:
        def __init__(self, inner: Transport) -> None:
            self.inner = inner

        async def send(self, request: Request, guard: Guard | None = None) -> Response:
            if "leases" not in request.target:
                await asyncio.sleep(1)
            return await self.inner.send(request, guard)

        async def close(self) -> None:
            await self.inner.close()

    manager = a_manager(Slow(server.connect()), LEASE)
    many = tuple(Create(CONFIG_MAPS, a_config_map(f"c{i}")) for i in range(16))
    controllers = [
        manager.controller(f"c{i}", lambda _key, _now: Plan().then(*many)) for i in range(4)
    ]
    async with running(manager):
        for controller in controllers:
            for i in range(16):
                controller.queue.add(Key("ns", f"k{i}"))
        for _ in range(600):
            await asyncio.sleep(0.1)
            assert manager.leading or not server.writes
