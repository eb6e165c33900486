"""The control plane that benchmarks run on, and a measured child process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import json
from pathlib import Path
import random
import sys

from korder.cli.cluster_objects import define
from korder.install import crds
from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.runtime.clock import SystemClock
from kubeloop.testing.controlplane import ControlPlane


@asynccontextmanager
async def a_plane() -> AsyncIterator[tuple[Path, Client]]:
    """An API server with our CRDs, without scheduler and controller manager: nobody else writes."""
    async with ControlPlane(without=("kube-scheduler", "kube-controller-manager")) as plane:
        kubeconfig = plane.kubeconfig()
        async with a_client(kubeconfig) as client:
            for crd in crds.all_crds():
                await define(client, crd)
            yield kubeconfig, client


@asynccontextmanager
async def a_client(kubeconfig: Path) -> AsyncIterator[Client]:
    """A client with korder's own defaults."""
    now, rng = SystemClock().now, random.Random(1)
    async with open_client(str(kubeconfig), now=now, rng=rng) as client:
        yield client


async def a_child(module: str, *args: str) -> dict[str, float]:
    """Runs a module in a process of its own and returns the numbers it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *args, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{module} ended with {process.returncode}")
    numbers: dict[str, float] = json.loads(out)
    return numbers
