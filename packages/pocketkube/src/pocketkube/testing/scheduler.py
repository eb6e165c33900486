"""A scheduler for a test, on whatever API server its client speaks to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import random

from kubeloop.client.client import Client
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.scheduler.scheduler import DEFAULT, Scheduler


@asynccontextmanager
async def running_scheduler(
    client: Client, *, clock: Clock, seed: int = 1, name: str = DEFAULT
) -> AsyncIterator[None]:
    """Schedules pods while the block runs."""
    settings = Settings(identity="scheduler", component=name, drain_seconds=5)
    manager = Manager(client, settings, clock=clock, rng=random.Random(seed))
    Scheduler(manager, clock=clock, rng=random.Random(seed), name=name)
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        try:
            yield
        finally:
            stop.set()
