"""Processes of a simulation: each a manager with a memory, a wire and a clock of its own, that can end at any moment.

`world` makes one of every `Program`. A crash cuts the wire first and then ends the tasks, so nothing can be said on the way out; the
next life begins with an empty memory a few seconds later, as when a kubelet restarts a container. A stopped process does nothing
until it is resumed, by the later clock (see `loop`). A process that ends by itself is started again too, but only
a server that does not answer at the start is an accepted reason.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import dataclass
from datetime import timedelta
import random

from kubeloop.client.client import Client
from kubeloop.client.errors import KubeError
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.manager import Manager
from pocketkube.simulation.fault_plan import UnluckyTransport
from pocketkube.simulation.journal import Journal
from pocketkube.simulation.loop import FREEZER, Freezer
from pocketkube.simulation.wire import Wire

Build = Callable[[Client, VirtualClock, random.Random], Awaitable[Manager]]
Connect = Callable[["Process"], Wire]


@dataclass(frozen=True, slots=True)
class Program:
    """What a process runs: `build` makes its manager anew in every life.

    Attributes:
        user: In whose name it speaks to the server; the administrator's if empty.
    """

    name: str
    build: Build
    restart_seconds: float = 5.0
    user: str = ""


class Process:
    """A program that runs, again and again."""

    def __init__(
        self,
        program: Program,
        transport: UnluckyTransport,
        connect: Connect,
        *,
        clock: VirtualClock,
        seed: int,
        journal: Journal,
    ) -> None:
        self.name = program.name
        self.clock = clock
        self.broken: BaseException | None = None
        """Why it ended by itself although nobody told it to."""
        self._program = program
        self._transport = transport
        self._connect = connect
        self._seed = seed
        self._journal = journal
        self._freezer = Freezer()
        self._stopped_until = 0.0
        self._lives = 0
        self._life: asyncio.Task[None] | None = None
        self._wire: Wire | None = None
        self._down_seconds = program.restart_seconds

    async def run(self) -> None:
        """Lives until cancelled."""
        while self.broken is None:
            self._begin()
            assert self._life is not None  # noqa: S101  it has begun
            try:
                await asyncio.wait((self._life,))
            finally:
                self._end()
            self._judge(self._life)
            await asyncio.sleep(self._down_seconds)

    def crash(self, down_seconds: float | None = None) -> None:
        """Ends it here and now; it comes back after a while."""
        if self._life is None or self._life.done():
            return
        self._journal.note(self.name, "!", "crashes")
        self._down_seconds = self._program.restart_seconds if down_seconds is None else down_seconds
        self._end()

    def stop(self, seconds: float) -> None:
        """Lets it do nothing for so long, not even notice that time passes; of two stops the longer counts."""
        loop = asyncio.get_running_loop()
        self._stopped_until = max(self._stopped_until, loop.time() + seconds)
        self._freezer.stopped = True
        loop.call_at(self._stopped_until, self._resume)

    def _resume(self) -> None:
        if asyncio.get_running_loop().time() >= self._stopped_until:
            self._freezer.resume()

    def jump(self, by: timedelta) -> None:
        """Sets its wall clock."""
        self.clock.jump(by)

    def _begin(self) -> None:
        self._lives += 1
        self._down_seconds = self._program.restart_seconds
        self._wire = self._connect(self)
        self._transport.connect(self._wire)
        context = copy_context()
        context.run(FREEZER.set, self._freezer)
        loop = asyncio.get_running_loop()
        self._journal.note(self.name, "!", "starts")
        self._life = loop.create_task(self._live(), name=self.name, context=context)

    async def _live(self) -> None:
        rng = random.Random(f"{self._seed} {self.name} {self._lives}")
        client = Client(self._transport, rng=rng, user_agent=self.name)
        manager = await self._program.build(client, self.clock, rng)
        await manager.run(asyncio.Event())

    def _end(self) -> None:
        if self._wire is not None:
            self._wire.cut()
        if self._life is not None:
            self._life.cancel()
        self._stopped_until = 0.0
        self._freezer.resume()

    def _judge(self, life: asyncio.Task[None]) -> None:
        """Looks why a life ended."""
        if life.cancelled():
            return
        error = life.exception()
        self._journal.note(self.name, "!", f"ends: {error}")
        if not isinstance(error, KubeError):
            self.broken = error or RuntimeError("it ended although nobody told it to")
