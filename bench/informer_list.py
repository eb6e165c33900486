"""`informer-list`: ten thousand pods into a store, against reading the same bytes and throwing them away."""

import asyncio
from collections.abc import Iterator
from statistics import median
from time import perf_counter

from bench.micro import Tell
from bench.plane import a_plane
from bench.table import Row
from kubeloop.client.client import Client
from kubeloop.client.request import Selection
from kubeloop.client.watch import INITIAL_EVENTS_END
from kubeloop.objects.core import NAMESPACES, PODS
from kubeloop.objects.meta import JSON
from kubeloop.runtime.informer import Informer
from kubeloop.runtime.metrics import Metrics

PODS_MADE = 10_000
ROUNDS = 7


def measure(tell: Tell) -> Iterator[Row]:
    """Yields the time to a synced informer over the time to read the bytes."""
    informed, read = asyncio.run(_rounds(tell))
    yield Row("informer-list", median(informed), "s", median(read), 1.6)


async def _rounds(tell: Tell) -> tuple[list[float], list[float]]:
    informed, read = [], []
    async with a_plane() as (_, client):
        tell(f"informer-list: making {PODS_MADE:,} pods")
        await _make(client)
        for reconcile in range(ROUNDS):
            tell(f"informer-list: round {reconcile + 1} of {ROUNDS}")
            read.append(await _read(client))
            informed.append(await _inform(client))
    return informed, read


async def _make(client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "crowd"}})
    indexes = iter(range(PODS_MADE))

    async def lane() -> None:
        for index in indexes:
            await client.create(PODS, _pod(index))

    async with asyncio.TaskGroup() as group:
        for _ in range(32):
            group.create_task(lane())


def _pod(index: int) -> dict[str, JSON]:
    requests: JSON = {"cpu": "500m", "memory": "1Gi"}
    container: JSON = {"name": "app", "image": "nginx", "resources": {"requests": requests}}
    labels: JSON = {"app": f"app-{index % 50}", "tier": "backend"}
    return {
        "metadata": {"name": f"pod-{index}", "namespace": "crowd", "labels": labels},
        "spec": {"containers": [container]},
    }


async def _read(client: Client) -> float:
    """Reads the streamed state up to the mark that ends it, as an informer does, but decodes nothing."""
    started = perf_counter()
    tail = b""
    async with await client.watch(PODS, Selection(), initial_events=True) as response:
        async for chunk in response.chunks():
            tail = tail[-256:] + chunk
            if INITIAL_EVENTS_END.encode() in tail:
                break
    return perf_counter() - started


async def _inform(client: Client) -> float:
    informer = Informer(client, PODS, Metrics())
    started = perf_counter()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(informer.run())
        await informer.wait_until_synced()
        spent = perf_counter() - started
        task.cancel()
    if len(informer.reader) != PODS_MADE:
        raise RuntimeError(f"the informer holds {len(informer.reader)} pods of {PODS_MADE}")
    return spent
