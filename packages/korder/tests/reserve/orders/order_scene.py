"""A scene without machines: an API server with the two kinds, three nodes that are only objects, and the parts under test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.reserve.scene import Part, Scene

from korder.api import reserve
from kubeloop.objects.core import NODES
from kubeloop.objects.machinery import CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.runtime.clock import Clock
from kubeloop.schema import crd
from kubeloop.testing.builders import a_node
from pocketkube.nodes.machines import Machines
from pocketkube.testing.apiserver import embedded_server


@asynccontextmanager
async def order_scene(clock: Clock, *parts: Part, nodes: int = 3) -> AsyncIterator[Scene]:
    """Runs it while the block does."""
    async with embedded_server(clock) as server:
        client = server.client()
        for definition in reserve.DEFINITIONS:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, crd.build(definition))
        there = Scene(client, clock, Machines(), parts)
        for number in range(1, nodes + 1):
            await add_node(there, f"node-{number}")
        async with asyncio.TaskGroup() as group:
            await there.begin(group)
            try:
                yield there
            finally:
                await there.end()


async def add_node(there: Scene, name: str) -> None:
    """A node is there, and ready."""
    await there.client.create(NODES, a_node(name).json)
