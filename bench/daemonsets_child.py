"""One number of nodes of `daemonset-nodes`: prints the microseconds of processor time for a node event.

The embedded server, its scheduler and korder's controllers make the cluster: one order in DaemonSet mode that holds a ticket on every node.
Then the scheduler ends and heartbeats are written straight into the storage, a burst at a time, with korder listening and once
more after it has ended; the difference is korder's. The cheapest burst counts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
import gc
import json
import logging
import random
import re
import sys
from time import process_time

import structlog

from bench.cluster import define, in_lanes
from korder.api.reserve import ORDERS
from korder.reserve.domain import add_reserve
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.objects.core import NODES
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.apiserver.storage import Draft, Key as Place, Storage, Update
from pocketkube.scheduler.scheduler import Scheduler
from pocketkube.simulation.loop import SimulatedLoop
from pocketkube.simulation.world import START
from pocketkube.testing.apiserver import embedded_server

BURST = 500
BURSTS = 60
_VERSION = b'"resourceVersion":"'
_BEAT = re.compile(rb'"lastHeartbeatTime":"[^"]*"')
_ORDER = Key("default", "everywhere")


async def main(count: int) -> None:
    """Makes the cluster and measures."""
    clock = VirtualClock(START)
    async with embedded_server(clock) as server:
        client = server.client()
        await define(client)
        await _account(client)
        await in_lanes(lambda index: _node(client, index), range(count))
        korder = _manager(client, clock, "korder", add_reserve)
        scheduler = _manager(
            client, clock, "scheduler", lambda m: Scheduler(m, clock=clock, rng=random.Random(0))
        )
        async with _running(korder):
            async with _running(scheduler):
                await client.create(ORDERS, _order())
                await _all_held(client, count)
            watched = await _cost(server.storage, count)
        alone = await _cost(server.storage, count)
    print(json.dumps({"microseconds": (watched - alone) * 1e6}))


def _manager(
    client: Client, clock: VirtualClock, name: str, add: Callable[[Manager], object]
) -> Manager:
    manager = Manager(
        client,
        Settings(identity=name, component="korder", metric_prefix="korder"),
        clock=clock,
        rng=random.Random(1),
    )
    add(manager)
    return manager


@asynccontextmanager
async def _running(manager: Manager) -> AsyncIterator[None]:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        yield
        stop.set()


async def _account(client: Client) -> None:
    """What a controller makes in every namespace; here runs none that does."""
    accounts = (await rest_mapper.discover(client)).of("v1", "ServiceAccount")
    assert accounts is not None
    await client.create(accounts.kind, {"metadata": {"name": "default", "namespace": "default"}})


async def _node(client: Client, index: int) -> None:
    """A node that is ready, as its kubelet would make it; nobody is there to take off the taint of a new one, so that is done here."""
    room: JSON = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    ready: JSON = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": "2026-01-01T00:00:00Z",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    key = Key("", f"node-{index}")
    status: JSON = {"capacity": room, "allocatable": room, "conditions": [ready]}
    meta: JSON = {"name": key.name, "labels": {"kubernetes.io/hostname": key.name}}
    await client.create(NODES, {"metadata": meta, "status": status})
    await client.patch(NODES, key, {"spec": {"taints": []}})


def _order() -> dict[str, JSON]:
    requests: JSON = {"cpu": "1", "memory": "1Gi"}
    spec: JSON = {"duration": "24h", "resources": {"requests": requests}}
    return {
        "metadata": {"name": _ORDER.name, "namespace": _ORDER.namespace},
        "spec": {"daemonSet": True, "template": {"spec": spec}},
    }


async def _all_held(client: Client, count: int) -> None:
    async with asyncio.timeout(3_600):
        while (await client.get(ORDERS, _ORDER)).status.available_replicas < count:
            await asyncio.sleep(1.0)
    await asyncio.sleep(10.0)


async def _cost(storage: Storage, count: int) -> float:
    """Seconds of processor time for a heartbeat."""
    rng, costs = random.Random(count), []
    for second in range(BURSTS):
        gc.collect()
        names = [f"node-{index}" for index in rng.choices(range(count), k=BURST)]
        started = process_time()
        for name in names:
            await storage.write(_heartbeat(storage, name, second))
            await asyncio.sleep(0.001)
        await asyncio.sleep(1.0)
        costs.append(process_time() - started)
    return min(costs) / BURST


def _heartbeat(storage: Storage, name: str, second: int) -> Update:
    place = Place("nodes", "", name)
    record = storage.get(place)
    assert record is not None
    beat = b'"lastHeartbeatTime":"2026-01-01T01:00:%02dZ"' % second
    head, mark, tail = _BEAT.sub(beat, record.value).partition(_VERSION)
    return Update(place, Draft(head + mark, tail[tail.index(b'"') :]), record.version)


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        runner.run(main(int(sys.argv[1])))
