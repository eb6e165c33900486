"""Simulated nodes and kubelets on a server in memory."""

import asyncio
from collections.abc import AsyncIterator
import random

import pytest

from kubeloop.client.client import Client
from kubeloop.net.faults import Fault, FaultyTransport, Rule
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.builders import a_pod
from kubeloop.testing.memory import MemoryServer
from pocketkube.nodes.heartbeat import Nodes
from pocketkube.nodes.kubelet import Kubelet
from pocketkube.nodes.machines import Machines, Manners, Shape

PODS = "/api/v1/namespaces/default/pods"


class World:
    """A fleet, its kubelets, and the server they act on."""

    def __init__(self) -> None:
        self.server = MemoryServer()
        self.wire = FaultyTransport(self.server.connect(), random.Random(1))
        client = Client(self.wire, rng=random.Random(1))
        self.manager = Manager(
            client, Settings(identity="fleet"), clock=VirtualClock(), rng=random.Random(1)
        )
        self.machines = Machines()
        Nodes(self.manager, self.machines)
        Kubelet(self.manager, self.machines)

    def phase(self, name: str) -> object:
        return self.server.objects[f"{PODS}/{name}"].get("status", {}).get("phase")  # type: ignore[union-attr]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.manager.run(stop))
        try:
            yield world
        finally:
            stop.set()


async def test_a_node_is_registered_although_the_first_try_fails(world: World) -> None:
    world.wire.rules.append(Rule(Fault.BROKEN, lambda request: request.method == "POST", times=3))
    world.machines.add("n1", Shape())
    await asyncio.sleep(120)
    assert "/api/v1/nodes/n1" in world.server.objects


async def test_a_node_that_was_deleted_is_not_registered_again(world: World) -> None:
    world.machines.add("n1", Shape())
    await asyncio.sleep(5)
    world.server.delete("/api/v1/nodes/n1", {})
    await asyncio.sleep(120)
    assert "/api/v1/nodes/n1" not in world.server.objects
    assert not world.machines.alive("n1")


async def test_two_pods_bound_at_once_do_not_both_get_the_last_room(world: World) -> None:
    world.machines.add("n1", Shape(cpu="4"))
    await asyncio.sleep(5)
    for name in ("a", "b"):
        world.server.create(PODS, a_pod(name).requesting(cpu="3").on("n1").json)
    await asyncio.sleep(5)
    assert {world.phase("a"), world.phase("b")} == {"Running", "Failed"}


async def test_a_machine_can_become_slow_and_hurry_again(world: World) -> None:
    world.machines.add("n1", Shape())
    world.machines.add("n2", Shape())
    await asyncio.sleep(5)
    world.machines.slow("n1", Manners(start=600))
    for name, node in (("a", "n1"), ("b", "n2")):
        world.server.create(PODS, a_pod(name).on(node).json)
    await asyncio.sleep(60)
    assert (world.phase("a"), world.phase("b")) == (None, "Running")
    world.machines.slow("n1", Manners(start=100))
    await asyncio.sleep(30)
    assert world.phase("a") is None
    await asyncio.sleep(30)
    assert world.phase("a") == "Running"
