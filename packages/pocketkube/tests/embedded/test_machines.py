"""The machines of the next run on the state of the last: which Nodes stay, which go, which are made anew."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
import random

import pytest

from kubeloop.client.client import Client
from kubeloop.objects.core import LEASES, NODES, Node
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.nodes.heartbeat import Nodes, retire
from pocketkube.nodes.machines import Machines, Shape
from pocketkube.testing.apiserver import embedded_server

SMALL, LARGE = Shape(cpu="2"), Shape(cpu="64")


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with embedded_server(VirtualClock()) as server:
        yield server.client()


@asynccontextmanager
async def run_of(client: Client, shapes: Mapping[str, Shape]) -> AsyncIterator[None]:
    """A run of the cluster on what the last one left."""
    await retire(client, shapes)
    stop = asyncio.Event()
    manager = Manager(client, Settings(identity="run"), clock=VirtualClock(), rng=random.Random(1))
    machines = Machines()
    for name, shape in shapes.items():
        machines.add(name, shape)
    Nodes(manager, machines)
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        await asyncio.sleep(5)
        yield
        stop.set()


async def nodes(client: Client) -> dict[str, Node]:
    return {node.metadata.name: node for node in (await client.list(NODES)).items}


async def test_a_machine_that_is_not_there_any_more_leaves_nothing(client: Client) -> None:
    async with run_of(client, {"n1": SMALL, "n2": SMALL}):
        pass
    async with run_of(client, {"n1": SMALL}):
        assert set(await nodes(client)) == {"n1"}
        leases = (await client.list(LEASES, "kube-node-lease")).items
        assert {lease.metadata.name for lease in leases} == {"n1"}


async def test_a_machine_that_is_the_same_keeps_its_node(client: Client) -> None:
    async with run_of(client, {"n1": SMALL}):
        before = (await nodes(client))["n1"]
    async with run_of(client, {"n1": SMALL}):
        assert (await nodes(client))["n1"].metadata.uid == before.metadata.uid


async def test_a_machine_that_became_another_joins_anew(client: Client) -> None:
    async with run_of(client, {"n1": SMALL}):
        pass
    async with run_of(client, {"n1": LARGE}):
        assert (await nodes(client))["n1"].status.capacity["cpu"] == "64"


async def test_nodes_of_others_stay(client: Client) -> None:
    await client.create(NODES, {"metadata": {"name": "theirs"}})
    async with run_of(client, {}):
        assert set(await nodes(client)) == {"theirs"}
