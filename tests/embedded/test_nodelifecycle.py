"""Nodes that fall silent: what is said of them, and what becomes of their pods."""

import asyncio
from collections.abc import AsyncIterator
import random
from typing import Any, cast

import pytest

from korder.api import codec, core
from korder.api.core import NODES, PODS, Node, Pod, Taint
from korder.api.meta import Key
from korder.embedded.actors import nodelifecycle, podmaking
from korder.embedded.actors.kubelet import Kubelet
from korder.embedded.actors.namespaces import DefaultAccounts
from korder.embedded.actors.nodelifecycle import NodeLifecycle
from korder.embedded.actors.nodes import Nodes, Shape
from korder.kube.client import Client
from korder.runtime.clock import VirtualClock
from korder.runtime.manager import Manager, Settings
from korder.testing.builders import a_pod
from korder.testing.embedded import embedded_server

UNREACHABLE = nodelifecycle.UNREACHABLE


class World:
    """Two machines, their kubelets and whoever watches over them, on a whole server in this process."""

    def __init__(self, client: Client, clock: VirtualClock) -> None:
        self.client = client
        self.manager = Manager(
            client, Settings(identity="fleet"), clock=clock, rng=random.Random(1)
        )
        self.nodes = Nodes(self.manager)
        Kubelet(self.manager, self.nodes)
        DefaultAccounts(self.manager)
        NodeLifecycle(self.manager)
        for name in ("n1", "n2"):
            self.nodes.add(name, Shape())

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


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock, stop = VirtualClock(), asyncio.Event()
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        world = World(server.client(), clock)
        group.create_task(world.manager.run(stop))
        try:
            await asyncio.sleep(5)
            yield world
        finally:
            stop.set()


async def test_a_node_that_lives_is_left_alone(world: World) -> None:
    await asyncio.sleep(300)
    assert core.is_ready(await world.node("n1"))
    assert await world.taints("n1") == set()


async def test_a_node_that_falls_silent_is_tainted(world: World) -> None:
    world.nodes.lose("n1")
    await asyncio.sleep(70)
    ready = core.reported((await world.node("n1")).status.conditions, "Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("Unknown", "NodeStatusUnknown")
    both = {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    assert await world.taints("n1") == both
    assert await world.taints("n2") == set()


async def test_its_pods_are_told_to_go_when_their_patience_is_over(world: World) -> None:
    await world.pod("impatient", 0)
    await world.pod("patient", 100)
    await asyncio.sleep(10)
    world.nodes.lose("n1")
    await asyncio.sleep(70)

    assert await world.leaving() == {"impatient"}
    ready = {
        pod.metadata.name: podmaking.is_ready(pod) for pod in (await world.client.list(PODS)).items
    }
    assert ready == {"impatient": False, "patient": False}
    await asyncio.sleep(100)
    assert await world.leaving() == {"impatient", "patient"}
    world.nodes.recover("n1")
    await asyncio.sleep(60)
    assert (await world.client.list(PODS)).items == ()


async def test_a_node_that_comes_back_is_trusted_again(world: World) -> None:
    await world.pod("patient", 300)
    await asyncio.sleep(10)
    world.nodes.lose("n1")
    await asyncio.sleep(100)
    world.nodes.recover("n1")
    await asyncio.sleep(30)
    assert core.is_ready(await world.node("n1"))
    assert await world.taints("n1") == set()
    await asyncio.sleep(1000)
    (patient,) = (await world.client.list(PODS)).items
    assert podmaking.is_ready(patient)


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
    stays = nodelifecycle.patience(pod, [Taint(key="k", effect="NoExecute")])
    assert (None if stays is None else stays.total_seconds()) == expected
