"""The embedded cluster as a whole, as `korder up` runs it, beside a real kube-apiserver on an etcd that syncs.

`embedded-create` and `embedded-list` are throughputs over those of the real server in the same run: the same load from the
same client in a process of its own, in turns, over TLS. `embedded-ready` is the time from the start of the process until it says so,
`embedded-memory` what the process takes with 10,000 pods that run on 100 nodes.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
import tempfile
from time import perf_counter

from bench.micro import Tell
from bench.plane import a_child, a_client
from bench.table import Row
from korder.testing.up import UpProcess
from kubeloop.client.client import Client
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON
from kubeloop.testing.controlplane import ControlPlane

ROUNDS = 3
READY_SECONDS = 3.0
MEMORY_MB = 400.0
MANY = 10_000
BARE = ("--nodes", "0", "--without", "scheduler", "--without", "controllers")


def create(tell: Tell) -> Iterator[Row]:
    """Creates of 1 KB, 32 in flight."""
    ours, real = asyncio.run(_duel("create", tell))
    yield Row("embedded-create", ours, "creates/s", real, 1.0, at_least=True)


def list_pages(tell: Tell) -> Iterator[Row]:
    """Lists of 3,000 pods in pages of 500."""
    ours, real = asyncio.run(_duel("list", tell))
    yield Row("embedded-list", ours, "pods/s", real, 1.0, at_least=True)


def ready(tell: Tell) -> Iterator[Row]:
    """From the start of the process until it is ready, on an empty folder."""
    tell("embedded-ready")
    yield Row("embedded-ready", asyncio.run(_ready()), "s", READY_SECONDS, 1.0)


def memory(tell: Tell) -> Iterator[Row]:
    """Resident memory with many pods that run."""
    yield Row("embedded-memory", asyncio.run(_memory(tell)), "MB", MEMORY_MB, 1.0)


async def _duel(what: str, tell: Tell) -> tuple[float, float]:
    rates: dict[str, list[float]] = {"ours": [], "real": []}
    async with _ours() as ours, _real() as real:
        for reconcile in range(ROUNDS):
            for name, kubeconfig in (("ours", ours), ("real", real)):
                tell(f"embedded-{what}: {name}, round {reconcile + 1} of {ROUNDS}")
                run = await a_child(
                    "bench.embedded_child", what, str(kubeconfig), f"{what}-{reconcile}"
                )
                rates[name].append(run["rate"])
    return median(rates["ours"]), median(rates["real"])


@asynccontextmanager
async def _ours() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        async with UpProcess(Path(folder), *BARE) as up:
            yield up.kubeconfig


@asynccontextmanager
async def _real() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        plane = ControlPlane(
            folder=Path(folder),
            without=("kube-scheduler", "kube-controller-manager"),
            durable=True,
        )
        async with plane:
            yield plane.kubeconfig()


async def _ready() -> float:
    spent = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            up = UpProcess(Path(folder))
            started = perf_counter()
            async with up:
                spent.append(perf_counter() - started)
    return median(spent)


async def _memory(tell: Tell) -> float:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        async with (
            UpProcess(Path(folder), "--nodes", "101") as up,
            a_client(up.kubeconfig) as client,
        ):
            await _pods(client, tell)
            return _resident(up.process.pid or 0)


async def _pods(client: Client, tell: Tell) -> None:
    """Makes all pods and waits until they run."""

    async def make(index: int) -> None:
        container: JSON = {"name": "c", "image": "registry.example/app:1"}
        meta: JSON = {"name": f"pod-{index}", "namespace": "default", "labels": {"app": "bench"}}
        await client.create(PODS, {"metadata": meta, "spec": {"containers": [container]}})

    for first in range(0, MANY, 500):
        tell(f"embedded-memory: {first} of {MANY} pods made")
        async with asyncio.TaskGroup() as group:
            for index in range(first, first + 500):
                group.create_task(make(index))
    while True:
        running = await client.list(PODS, "default", fields="status.phase=Running")
        tell(f"embedded-memory: {len(running.items)} of {MANY} pods run")
        if len(running.items) >= MANY:
            return
        await asyncio.sleep(2.0)


def _resident(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith("VmRSS"))
    return int(kilobytes) / 1024
