"""Simulated nodes for a test, on whatever API server its client speaks to."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
import random

from kubeloop.client.client import Client
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.nodes.heartbeat import Nodes
from pocketkube.nodes.kubelet import Kubelet
from pocketkube.nodes.machines import USUAL, Machines, Manners, Shape


@asynccontextmanager
async def simulated_nodes(
    client: Client, shapes: Mapping[str, Shape], *, clock: Clock, manners: Manners = USUAL
) -> AsyncIterator[Machines]:
    """Plays nodes and their kubelets while the block runs; the Node objects stay behind."""
    settings = Settings(identity="simulated-nodes", component="simulated-kubelet")
    manager = Manager(client, settings, clock=clock, rng=random.Random(1))
    machines = Machines(manners)
    for name, shape in shapes.items():
        machines.add(name, shape)
    Nodes(manager, machines)
    Kubelet(manager, machines)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        try:
            yield machines
        finally:
            stop.set()
