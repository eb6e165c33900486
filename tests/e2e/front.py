"""What a Service is to the webhooks of an installation with several managers: one address in front of all, whoever of them leads.

    async with a_house(folder) as house:
        await house.front.shut()

A real API server keeps its connections open and asks on many of them at once; each of them goes to the next manager that takes it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
import re
from typing import Self

from tests.e2e.installation import managed
from tests.e2e.stage import LOOK, PATIENCE, World, a_world

from korder.install_config import LEASE, NAMESPACE
from kubeloop.net.ports import LOOPBACK, free_ports
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Key
from kubeloop.testing.processes import Process

CHUNK = 65_536


class Front:
    """An address that hands connections on by turns."""

    def __init__(self, *behind: int) -> None:
        (self._port,) = free_ports(1)
        self._behind = behind
        self._reconciling = count()
        self._server: asyncio.Server | None = None
        self._open = set[asyncio.StreamWriter]()
        self.asked = Counter[int]()
        """How many connections each port was given since the address was opened."""

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self._port}"

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shut()

    async def open(self) -> None:
        self.asked.clear()
        self._server = await asyncio.start_server(self._hand_on, LOOPBACK, self._port)

    async def shut(self) -> None:
        """Refuses whoever comes, hangs up on those who are there, and waits until they are gone."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in self._open:
            writer.transport.abort()
        while self._open:
            await asyncio.sleep(LOOK)

    async def _hand_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            if (found := await self._next()) is not None:
                there, back = found
                async with asyncio.TaskGroup() as group:
                    group.create_task(_pump(reader, back))
                    group.create_task(_pump(there, writer))
        finally:
            writer.transport.abort()
            self._open.discard(writer)

    async def _next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """The next one that listens; nobody if the address is shut before somebody does."""
        while self._server is not None:
            for _ in self._behind:
                port = self._behind[next(self._reconciling) % len(self._behind)]
                with suppress(OSError):
                    found = await asyncio.open_connection(LOOPBACK, port)
                    self.asked[port] += 1
                    return found
            await asyncio.sleep(LOOK)
        return None


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Carries what comes until one side hangs up, and then hangs up on the other."""
    with suppress(OSError):
        while data := await source.read(CHUNK):
            sink.write(data)
            await sink.drain()
    sink.close()


@dataclass(frozen=True)
class House:
    """A world with several managers that stand for election and all answer at the door."""

    world: World
    front: Front
    managers: tuple[Process, ...]
    resting: set[Process] = field(default_factory=set)
    """Managers that a test has stopped; any other that ends comes again."""

    async def leader(self) -> Process:
        """Waits until one of those who live leads."""
        async with asyncio.timeout(PATIENCE):
            while True:
                lease = await self.world.client.get(LEASES, Key(NAMESPACE, LEASE))
                for manager in self.managers:
                    if manager.pid and identity(manager) == lease.spec.holder_identity:
                        return manager
                await asyncio.sleep(LOOK)

    async def keep_alive(self) -> None:
        """Does for managers what a kubelet does: who loses the lease ends, and is started again."""
        while True:
            for manager in self.managers:
                if manager.pid is None and manager not in self.resting:
                    manager.spawn()
            await asyncio.sleep(LOOK)


def identity(manager: Process) -> str:
    """What a manager calls itself in its present life."""
    return re.findall(r"starting .*identity=(\S+)", manager.log.read_text())[-1]


@asynccontextmanager
async def a_house(folder: Path, managers: int = 2) -> AsyncIterator[House]:
    ports = free_ports(managers)
    front = Front(*ports)
    async with (
        front,
        a_world("--admission=webhook", f"--webhook-url={front.url}") as world,
        AsyncExitStack() as stack,
        asyncio.TaskGroup() as group,
    ):
        for port in ports:
            (folder / str(port)).mkdir()
        begun = (
            managed(world.plane, folder / str(port), f"--webhook-bind-address={LOOPBACK}:{port}")
            for port in ports
        )
        there = await asyncio.gather(*map(stack.enter_async_context, begun))
        house = House(world, front, tuple(there))
        keeping = group.create_task(house.keep_alive())
        yield house
        keeping.cancel()
