"""The measured process of `runtime-fanout`: prints seconds, writes and peak memory as JSON."""

import asyncio
from datetime import datetime
import json
from pathlib import Path
import random
import sys
from time import perf_counter

import uvloop

from bench.plane import a_client
from korder.api.reserve import TICKETS, Ticket
from korder.cli import logs
from kubeloop.client.client import Client
from kubeloop.objects import codec
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON, Key, owner_reference
from kubeloop.objects.plan import NOTHING, Create, Patch, Plan
from kubeloop.runtime.clock import SystemClock
from kubeloop.runtime.informer import Scope
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.runtime.store import by_owner


def a_pod(ticket: Ticket) -> dict[str, JSON]:
    """What each ticket gets."""
    owner = codec.plain(owner_reference(TICKETS, ticket))
    meta = ticket.metadata
    container: JSON = {"name": "pause", "image": "registry.k8s.io/pause:3.10"}
    return {
        "metadata": {"name": meta.name, "namespace": meta.namespace, "ownerReferences": [owner]},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    }


STATUS: JSON = {"status": {"phase": "Reserved", "message": "the pod was made"}}


async def by_controller(client: Client, namespace: str) -> tuple[float, float]:
    """The way of korder: informers, queue, plans."""
    manager = Manager(
        client,
        Settings(identity="bench", component="korder", metric_prefix="korder"),
        clock=SystemClock(),
        rng=random.Random(1),
    )
    scope = Scope(namespace=namespace)
    tickets = manager.informers.of(TICKETS, scope)
    pods = manager.informers.of(PODS, scope)
    pods.add_index("owner", by_owner)
    stop = asyncio.Event()
    done: set[Key] = set()

    def reconcile(key: Key, _: datetime) -> Plan:
        ticket = tickets.reader.get(key)
        if ticket is None:
            return NOTHING
        if ticket.status.phase:
            done.add(key)
            if len(done) == len(tickets.reader):
                stop.set()
            return NOTHING
        if not pods.reader.where("owner", ticket.metadata.uid):
            return Plan().then(Create(PODS, a_pod(ticket)))
        version = ticket.metadata.resource_version
        return Plan().then(
            Patch(TICKETS, key, STATUS, subresource="status", resource_version=version)
        )

    controller = manager.controller("fanout", reconcile, workers=32)
    controller.follow(tickets)
    controller.follow(
        pods, lambda pod: [Key(namespace, r.name) for r in pod.metadata.owner_references]
    )
    started = perf_counter()
    await manager.run(stop)
    spent = perf_counter() - started
    sent = manager.metrics.writes.collect()[0].samples
    return spent, sum(sample.value for sample in sent if sample.name.endswith("_total"))


async def by_bare_client(client: Client, namespace: str) -> tuple[float, float]:
    """The same writes and nothing else."""
    tickets = (await client.list(TICKETS, namespace)).items
    waiting = iter(tickets)

    async def lane() -> None:
        for ticket in waiting:
            await client.create(PODS, a_pod(ticket))
            key = Key(namespace, ticket.metadata.name)
            version = ticket.metadata.resource_version
            await client.patch(TICKETS, key, STATUS, subresource="status", resource_version=version)

    started = perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(32):
            group.create_task(lane())
    return perf_counter() - started, 2.0 * len(tickets)


async def _run(way: str, kubeconfig: str, namespace: str) -> None:
    async with a_client(Path(kubeconfig)) as client:
        run = by_controller if way == "controller" else by_bare_client
        seconds, writes = await run(client, namespace)
    rss = _peak()
    print(json.dumps({"seconds": seconds, "writes": writes, "rss": rss}))


def _peak() -> float:
    """The most memory this program had, in MB; what getrusage says also counts the parent it was forked from."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024


if __name__ == "__main__":
    logs.configure(logs.LogFormat.TEXT)
    uvloop.run(_run(*sys.argv[1:]))
