"""Simulated nodes for a test, on whatever API server its client speaks to."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
import random

from korder.embedded.actors.kubelet import Kubelet
from korder.embedded.actors.machines import USUAL, Machines, Manners, Shape
from korder.embedded.actors.nodes import Nodes
from korder.kube.client import Client
from korder.runtime.clock import Clock
from korder.runtime.manager import Manager, Settings


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
