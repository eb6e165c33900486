"""Nodes that fall silent: what is said of them, and what becomes of their pods."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import random
from typing import Any, cast

import pytest

from kubeloop.client.client import Client
from kubeloop.objects import codec, core
from kubeloop.objects.core import LEASES, NODES, PODS, Node, Pod, Taint
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.builders import a_pod
from pocketkube.controllers import node_lifecycle, pod_control
from pocketkube.controllers.namespaces import DefaultAccounts
from pocketkube.controllers.node_lifecycle import NodeLifecycle
from pocketkube.nodes import conditions
from pocketkube.nodes.heartbeat import Nodes
from pocketkube.nodes.kubelet import Kubelet
from pocketkube.nodes.machines import Machines, Shape
from pocketkube.testing.apiserver import embedded_server

UNREACHABLE = conditions.UNREACHABLE


class World:
    """Two machines, their kubelets and whoever watches over them, on a whole server in this process."""

    def __init__(self, client: Client, clock: VirtualClock, *, leases: bool) -> None:
        self.client = client
        self._clock = clock
        self._leases = leases
        self.machines = Machines()
        for name in ("n1", "n2"):
            self.machines.add(name, Shape())

    def kubelets(self) -> Manager:
        """A process that plays the machines."""
        manager = self._process("kubelets")
        Nodes(manager, self.machines, leases=self._leases)
        Kubelet(manager, self.machines)
        return manager

    def controllers(self) -> Manager:
        manager = self._process("controllers")
        DefaultAccounts(manager)
        NodeLifecycle(manager, leases=self._leases)
        return manager

    def _process(self, name: str) -> Manager:
        settings = Settings(identity=name)
        return Manager(self.client, settings, clock=self._clock, rng=random.Random(1))

    async def node(self, name: str) -> Node:
        return await self.client.get(NODES, Key("", name))

    async def taints(self, name: str) -> set[tuple[str, str]]:
        return {(each.key, each.effect) for each in (await self.node(name)).spec.taints}

    async def pod(self, name: str, seconds: int) -> None:
        pod = cast("dict[str, Any]", a_pod(name).on("n1").json)
        toleration = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}
        pod["spec"]["tolerations"] = [{**toleration, "tolerationSeconds": seconds}]
        await self.client.create(PODS, pod)

    async def leaving(self) -> set[str]:
        pods = (await self.client.list(PODS)).items
        return {pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is not None}


@asynccontextmanager
async def a_world(*, leases: bool) -> AsyncIterator[World]:
    """A world whose controllers run; who plays its machines is up to the test."""
    clock, stop = VirtualClock(), asyncio.Event()
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        world = World(server.client(), clock, leases=leases)
        group.create_task(world.controllers().run(stop))
        try:
            yield world
        finally:
            stop.set()


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[None]:
    """A process that is killed when the block ends."""
    async with asyncio.TaskGroup() as group:
        process = group.create_task(manager.run(asyncio.Event()))
        try:
            yield
        finally:
            process.cancel()


@pytest.fixture(params=["heartbeats are leases", "heartbeats are virtual"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with a_world(leases="leases" in request.param) as world, running(world.kubelets()):
        await asyncio.sleep(5)
        yield world


async def test_a_node_that_lives_is_left_alone(world: World) -> None:
    await asyncio.sleep(300)
    assert core.is_ready(await world.node("n1"))
    assert await world.taints("n1") == set()


async def test_a_node_that_falls_silent_is_tainted(world: World) -> None:
    world.machines.lose("n1")
    await asyncio.sleep(70)
    ready = core.reported((await world.node("n1")).status.conditions, "Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("Unknown", "NodeStatusUnknown")
    both = {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    assert await world.taints("n1") == both
    assert await world.taints("n2") == set()


async def test_its_pods_are_reported_to_go_when_their_patience_is_over(world: World) -> None:
    await world.pod("impatient", 0)
    await world.pod("patient", 100)
    await asyncio.sleep(10)
    world.machines.lose("n1")
    await asyncio.sleep(70)

    assert await world.leaving() == {"impatient"}
    ready = {
        pod.metadata.name: pod_control.is_ready(pod)
        for pod in (await world.client.list(PODS)).items
    }
    assert ready == {"impatient": False, "patient": False}
    await asyncio.sleep(100)
    assert await world.leaving() == {"impatient", "patient"}
    world.machines.recover("n1")
    await asyncio.sleep(60)
    assert (await world.client.list(PODS)).items == ()


async def test_a_node_that_comes_back_is_trusted_again(world: World) -> None:
    await world.pod("patient", 300)
    await asyncio.sleep(10)
    world.machines.lose("n1")
    await asyncio.sleep(100)
    world.machines.recover("n1")
    await asyncio.sleep(30)
    assert core.is_ready(await world.node("n1"))
    assert await world.taints("n1") == set()
    await asyncio.sleep(1000)
    (patient,) = (await world.client.list(PODS)).items
    assert pod_control.is_ready(patient)


async def test_a_node_is_given_up_after_the_same_grace_with_virtual_heartbeats() -> None:
    async with a_world(leases=False) as world, running(world.kubelets()):
        await asyncio.sleep(300)
        assert (await world.client.list(LEASES)).items == ()
        world.machines.lose("n1")
        await asyncio.sleep(49)
        assert core.is_ready(await world.node("n1"))
        await asyncio.sleep(2)
        assert not core.is_ready(await world.node("n1"))


async def test_a_loss_is_not_forgotten_when_the_kubelets_crash() -> None:
    async with a_world(leases=False) as world:
        async with running(world.kubelets()):
            await asyncio.sleep(5)
            world.machines.lose("n1")
            await asyncio.sleep(20)
        await asyncio.sleep(20)
        async with running(world.kubelets()):
            await asyncio.sleep(9)
            assert core.is_ready(await world.node("n1"))
            await asyncio.sleep(2)
            assert not core.is_ready(await world.node("n1"))
            world.machines.recover("n1")
            await asyncio.sleep(5)
            assert core.is_ready(await world.node("n1"))


async def test_a_machine_whose_node_was_deleted_stays_away_although_the_kubelets_crash() -> None:
    async with a_world(leases=False) as world:
        async with running(world.kubelets()):
            await asyncio.sleep(5)
        await world.client.delete(NODES, Key("", "n1"))
        async with running(world.kubelets()):
            await asyncio.sleep(60)
            assert [node.metadata.name for node in (await world.client.list(NODES)).items] == ["n2"]
            assert not world.machines.alive("n1")


async def test_a_cordoned_node_is_marked_and_keeps_the_taints_of_others(world: World) -> None:
    mine = {"key": "mine", "effect": "NoSchedule"}
    for cordoned in (True, False):
        body: Any = {"spec": {"unschedulable": cordoned}}
        body["spec"] |= {"taints": [mine]} if cordoned else {}
        await world.client.patch(NODES, Key("", "n1"), body)
        await asyncio.sleep(5)
        keys = {key for key, _ in await world.taints("n1")}
        assert keys == {"mine", *(["node.kubernetes.io/unschedulable"] if cordoned else [])}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param([None], None, id="for ever"),
        pytest.param([300, 20], 20, id="the shortest counts"),
        pytest.param([-5], 0, id="never below nothing"),
        pytest.param([], 0, id="not at all"),
    ],
)
def test_patience(seconds: list[int | None], expected: int | None) -> None:
    tolerations = [
        {"key": "k", "operator": "Exists", "tolerationSeconds": each} for each in seconds
    ]
    pod = codec.convert({"spec": {"tolerations": cast("Any", tolerations)}}, PODS.model)
    assert isinstance(pod, Pod)
    stays = node_lifecycle.patience(pod, [Taint(key="k", effect="NoExecute")])
    assert (None if stays is None else stays.total_seconds()) == expected
