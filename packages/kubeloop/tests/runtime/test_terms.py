"""Managers that lose their lease and stand for election again, on virtual time: never two leaders, and nothing of an old term is sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
import random

import pytest

from kubeloop.client.client import Client
from kubeloop.net.http import Guard, Request, Response, Transport, Unreachable
from kubeloop.objects.core import CONFIG_MAPS
from kubeloop.objects.meta import Key
from kubeloop.objects.plan import NOTHING, Create, Patch, Plan
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.memory import MemoryServer

LEASE = Key("korder-system", "korder-manager")
LEASE_PATH = "/apis/coordination.k8s.io/v1/namespaces/korder-system/leases/korder-manager"
MAPS = "/api/v1/namespaces/ns/configmaps"
OUTAGE = 30.0
"""Longer than a leader acts without renewing, and than a lease lasts."""


class Wire:
    """A wire that can be cut; one request for `held` waits until it is released, and is sent then."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.is_cut = False
        self.held = ""
        self.released = asyncio.Event()

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        if self.held and request.method == self.held and "leases" not in request.target:
            self.held = ""
            await self.released.wait()
        if self.is_cut:
            raise Unreachable("the wire is cut")
        return await self.inner.send(request, guard)

    async def close(self) -> None:
        await self.inner.close()


class Replica:
    """A manager with a wire of its own, whose controller marks every ConfigMap with its name."""

    def __init__(self, server: MemoryServer, name: str) -> None:
        self.name = name
        self.wire = Wire(server.connect(name))
        self.manager = Manager(
            Client(self.wire, rng=random.Random(name)),
            Settings(identity=name, lease=LEASE),
            clock=VirtualClock(),
            rng=random.Random(name),
        )
        self.maps = self.manager.informers.of(CONFIG_MAPS)
        self.controller = self.manager.controller("marking", self._reconcile)
        self.controller.follow(self.maps)
        self.terms = 0
        self.manager.on_elected(self._elected)
        self.stop = asyncio.Event()

    def _elected(self) -> None:
        self.terms += 1

    def _reconcile(self, key: Key, _: datetime) -> Plan:
        found = self.maps.reader.get(key)
        if found is None or "by" in found.data:
            return NOTHING
        body = {"data": {"by": self.name, "term": str(self.terms)}}
        version = found.metadata.resource_version
        return Plan().then(Patch(CONFIG_MAPS, key, body, resource_version=version))


@asynccontextmanager
async def running(*replicas: Replica) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        for replica in replicas:
            group.create_task(replica.manager.run(replica.stop))
        try:
            yield
        finally:
            for replica in replicas:
                replica.stop.set()


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer()


def make(server: MemoryServer, name: str) -> None:
    server.create(MAPS, {"metadata": {"name": name, "namespace": "ns"}, "data": {}})


def marks(server: MemoryServer, name: str) -> object:
    return server.objects[f"{MAPS}/{name}"]["data"]


def holder(server: MemoryServer) -> object:
    return server.objects[LEASE_PATH]["spec"]["holderIdentity"]  # type: ignore[index, call-overload]


async def outage(replica: Replica) -> None:
    """Cuts a replica off from the server for long enough to lose the lease."""
    replica.wire.is_cut = True
    await asyncio.sleep(OUTAGE)
    assert not replica.manager.leading
    replica.wire.is_cut = False


async def test_a_manager_leads_again_after_an_outage_and_reconciles(server: MemoryServer) -> None:
    one = Replica(server, "one")
    async with running(one):
        for term in range(1, 4):
            await asyncio.sleep(5)
            make(server, f"led-{term}")
            await asyncio.sleep(1)
            assert marks(server, f"led-{term}") == {"by": "one", "term": str(term)}
            make(server, f"cut-off-{term}")
            await outage(one)
            assert one.terms == term
            await asyncio.sleep(10)
            assert one.manager.leading
            assert one.terms == term + 1
        await asyncio.sleep(60)
        for term in range(1, 4):
            assert marks(server, f"cut-off-{term}") != {}
    assert holder(server) == ""


async def test_a_change_that_was_not_reconciled_is_not_forgotten(server: MemoryServer) -> None:
    """What came while nobody led is reconciled soon in the next term, without another change."""
    one = Replica(server, "one")
    async with running(one):
        await asyncio.sleep(5)
        server.merge(LEASE_PATH, {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 20}})
        await asyncio.sleep(5)
        assert not one.manager.leading
        make(server, "late")
        await asyncio.sleep(5)
        assert marks(server, "late") == {}
        await asyncio.sleep(20)
        assert marks(server, "late") == {"by": "one", "term": "2"}


async def test_a_replica_that_took_over_keeps_the_lease_and_the_other_waits(
    server: MemoryServer,
) -> None:
    one, two = Replica(server, "one"), Replica(server, "two")

    async def watch() -> None:
        while True:
            await asyncio.sleep(0.05)
            assert not (one.manager.leading and two.manager.leading)

    async with running(one, two), asyncio.TaskGroup() as group:
        watching = group.create_task(watch())
        await asyncio.sleep(5)
        leader, other = (one, two) if one.manager.leading else (two, one)
        await outage(leader)
        written = len([by for by, *_ in server.writes if by == leader.name])
        make(server, "after")
        await asyncio.sleep(300)
        assert other.manager.leading
        assert not leader.manager.leading
        assert marks(server, "after") == {"by": other.name, "term": "1"}
        assert len([by for by, *_ in server.writes if by == leader.name]) == written
        other.stop.set()
        await asyncio.sleep(20)
        make(server, "at-last")
        await asyncio.sleep(1)
        assert marks(server, "at-last") == {"by": leader.name, "term": "2"}
        watching.cancel()


async def test_a_write_of_an_old_term_is_not_sent_in_the_next(server: MemoryServer) -> None:
    one = Replica(server, "one")
    made = []

    def reconcile(_: Key, __: datetime) -> Plan:
        made.append(f"term-{one.terms}")
        meta = {"name": made[-1], "namespace": "ns"}
        return Plan().then(Create(CONFIG_MAPS, {"metadata": meta, "data": {"by": "test"}}))

    making = one.manager.controller("making", reconcile)
    async with running(one):
        await asyncio.sleep(5)
        one.wire.held = "POST"
        making.queue.add(Key("ns", "any"))
        await asyncio.sleep(1)
        assert made == ["term-1"]
        await outage(one)
        await asyncio.sleep(10)
        assert one.terms == 2
        one.wire.released.set()
        await asyncio.sleep(60)
    assert made == ["term-1", "term-2"]
    assert f"{MAPS}/term-1" not in server.objects
    assert f"{MAPS}/term-2" in server.objects


async def test_a_manager_that_waits_to_lead_again_can_be_stopped(server: MemoryServer) -> None:
    one = Replica(server, "one")
    async with running(one):
        await asyncio.sleep(5)
        server.merge(LEASE_PATH, {"spec": {"holderIdentity": "thief"}})
        await asyncio.sleep(5)
        assert not one.manager.leading
    assert holder(server) == "thief"
