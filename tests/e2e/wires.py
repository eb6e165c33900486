"""Wires that let a test stand between a manager and its server: one that dies with its first write, one that holds a chosen write back.

    async with a_manager(world, Patient) as life:
        life.wire.hold("DELETE", "/pods/web")

Only writes of the domain count: Events and leases come and go beside it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
import random
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from tests.e2e.stage import World

from korder.reserve.domain import add_reserve
from kubeloop.client.client import Client
from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.net.http import Guard, Request, Response, Transport
from kubeloop.runtime.clock import SystemClock
from kubeloop.runtime.manager import Manager, Settings

W = TypeVar("W", bound=Transport)
_BESIDE = ("/events", "/leases")


class Mortal:
    """Carries one write about a namespace to the server, and nothing after it: whoever uses it crashes before the answer arrives."""

    def __init__(self, inner: Transport, namespace: str) -> None:
        self._inner = inner
        self._mine = f"/namespaces/{namespace}/"
        self.died = asyncio.Event()

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        if self.died.is_set():
            await asyncio.Event().wait()
        answer = await self._inner.send(request, guard)
        if self._mine in request.target and changes_something(request):
            self.died.set()
            await answer.close()
            await asyncio.Event().wait()
        return answer

    async def close(self) -> None:
        await self._inner.close()


class Patient:
    """Holds back the write that it is told to, until it is told to let it go."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._method = self._end = ""
        self._skip = 0
        self.reached = asyncio.Event()
        self.go = asyncio.Event()

    def hold(self, method: str, end: str, skip: int = 0) -> None:
        """Chooses a write by its method and the end of its path, after some others of its kind."""
        self._method, self._end, self._skip = method, end, skip

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        if request.method == self._method and urlsplit(request.target).path.endswith(self._end):
            if self._skip == 0:
                self.reached.set()
                await self.go.wait()
            self._skip -= 1
        return await self._inner.send(request, guard)

    async def close(self) -> None:
        await self._inner.close()


def changes_something(request: Request) -> bool:
    """Says whether this is a write of the domain."""
    path = urlsplit(request.target).path
    return request.method != "GET" and not any(word in path for word in _BESIDE)


@dataclass(frozen=True)
class Life(Generic[W]):
    """A manager at work in this process."""

    wire: W


@asynccontextmanager
async def a_manager(
    world: World, around: Callable[[Transport], W], name: str = "korder", config: str = ""
) -> AsyncIterator[Life[W]]:
    """Runs all controllers while the block does, and ends them without notice; as the administrator, or as a kubeconfig says."""
    clock, rng = SystemClock(), random.Random(name)
    wire = around(connect(load(config or str(world.plane.kubeconfig())), clock.now))
    settings = Settings(identity=name, component="korder", metric_prefix="korder")
    manager = Manager(Client(wire, rng=rng), settings, clock=clock, rng=rng)
    add_reserve(manager)
    stop = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(manager.run(stop), name=name)
            try:
                yield Life(wire)
            finally:
                task.cancel()
    finally:
        await wire.close()
