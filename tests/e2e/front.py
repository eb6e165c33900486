"""What a Service is to the webhooks of an installation with several managers: one address in front of all, whoever of them leads.

    async with a_house(folder) as house:
        await house.front.shut()

A real API server keeps its connections open and asks on many of them at once; each of them goes to the next manager that takes it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.e2e.installation import managed
from tests.e2e.stage import LOOK, PATIENCE, World, a_world

from korder.api.core import LEASES
from korder.api.meta import Key
from korder.net.ports import LOOPBACK, free_ports
from korder.reserve.rules.doors.site import LEASE, NAMESPACE
from korder.testing.processes import Process

CHUNK = 65_536


class Front:
    """An address that hands connections on by turns."""

    def __init__(self, *behind: int) -> None:
        (self._port,) = free_ports(1)
        self._behind = behind
        self._turns = count()
        self._server: asyncio.Server | None = None
        self._open = set[asyncio.StreamWriter]()
        self.asked = Counter[int]()
        """How many connections each port was given since the address was opened."""

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self._port}"

    async def open(self) -> None:
        self.asked.clear()
        self._server = await asyncio.start_server(self._hand_on, LOOPBACK, self._port)

    async def shut(self) -> None:
        """Refuses whoever comes, and hangs up on those who are there."""
        if self._server is not None:
            self._server.close()
            for writer in self._open:
                writer.transport.abort()
            await self._server.wait_closed()

    async def _hand_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            there, back = await self._next()
            self._open.add(back)
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, back))
                group.create_task(_pump(there, writer))
            self._open.discard(back)
        finally:
            writer.transport.abort()
            self._open.discard(writer)

    async def _next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The next one that listens."""
        while True:
            for _ in self._behind:
                with suppress(OSError):
                    port = self._behind[next(self._turns) % len(self._behind)]
                    found = await asyncio.open_connection(LOOPBACK, port)
                    self.asked[port] += 1
                    return found
            await asyncio.sleep(LOOK)


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

    async def leader(self) -> Process:
        """Waits until one of those who live leads."""
        async with asyncio.timeout(PATIENCE):
            while True:
                lease = await self.world.client.get(LEASES, Key(NAMESPACE, LEASE))
                for manager in self.managers:
                    said = f"identity={lease.spec.holder_identity}"
                    if manager.pid is not None and said in manager.log.read_text():
                        return manager
                await asyncio.sleep(LOOK)


@asynccontextmanager
async def a_house(folder: Path, managers: int = 2) -> AsyncIterator[House]:
    ports = free_ports(managers)
    front = Front(*ports)
    await front.open()
    async with (
        a_world("--admission=webhook", f"--webhook-url={front.url}") as world,
        AsyncExitStack() as stack,
    ):
        for port in ports:
            (folder / str(port)).mkdir()
        begun = (
            managed(world.plane, folder / str(port), f"--webhook-bind-address={LOOPBACK}:{port}")
            for port in ports
        )
        there = await asyncio.gather(*map(stack.enter_async_context, begun))
        yield House(world, front, tuple(there))
    await front.shut()
