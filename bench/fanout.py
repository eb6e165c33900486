"""`runtime-fanout`: a thousand tickets, each gets a pod and a status, by a controller and by a bare client.

Both run in a process of their own on the same API server, in turns. The bare client sends the same two thousand writes, 32 at a
time, and does nothing else.
"""

import asyncio
from collections.abc import Iterator
from statistics import median

from bench.micro import Tell
from bench.plane import a_child, a_plane
from bench.table import Row
from korder.api.reserve import TICKETS
from kubeloop.client.client import Client
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import JSON

OBJECTS = 1_000
ROUNDS = 3
MEMORY_MB = 90.0


def measure(tell: Tell) -> Iterator[Row]:
    """Yields time, writes per object and peak memory."""
    controller, bare = asyncio.run(_rounds(tell))
    seconds = [run["seconds"] for run in controller]
    yield Row("runtime-fanout", median(seconds), "s", median(run["seconds"] for run in bare), 1.5)
    yield Row(
        "fanout-writes", max(run["writes"] for run in controller), "writes", 2.0 * OBJECTS, 1.0
    )
    yield Row("fanout-memory", max(run["rss"] for run in controller), "MB", MEMORY_MB, 1.0)


async def _rounds(tell: Tell) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    controller, bare = [], []
    async with a_plane() as (kubeconfig, client):
        for reconcile in range(ROUNDS):
            for way, results in (("controller", controller), ("bare", bare)):
                namespace = f"{way}-{reconcile}"
                tell(f"runtime-fanout: {way}, round {reconcile + 1} of {ROUNDS}")
                await _tickets(client, namespace)
                results.append(await a_child("bench.fanout_child", way, str(kubeconfig), namespace))
    return controller, bare


async def _tickets(client: Client, namespace: str) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})

    async def make(index: int) -> None:
        meta: JSON = {"name": f"ticket-{index}", "namespace": namespace}
        await client.create(TICKETS, {"metadata": meta, "spec": {"duration": "1h"}})

    async with asyncio.TaskGroup() as group:
        for index in range(OBJECTS):
            group.create_task(make(index))
