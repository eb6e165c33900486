"""The wire between one caller and the server: real bytes, small delays, crash points, and every line of it in the journal.

A request that has left its caller arrives, whatever becomes of the caller: the server answers in a task of its own, outside of all
processes, as a machine elsewhere would. Watches are pumped in the same way; what is on its way arrives in order, after a delay.

A *crash point* is a named place, right before or right after a write of a caller: `korder-1 PATCH tickets/status after`. Whoever
holds the wire is asked at each of them whether the caller ends there.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import Context, ContextVar, copy_context
import random
from typing import NoReturn, Self

from kubeloop.net.http import Guard, Request, Unreachable
from kubeloop.net.in_process import InProcessResponse, InProcessTransport
from pocketkube.simulation.journal import Journal, checksum
from pocketkube.simulation.loop import FREEZER

CALLER: ContextVar[str] = ContextVar("caller", default="server")
"""On whose behalf the server acts at the moment."""

Crashes = Callable[[str], bool]
"""Told of each crash point as it is reached; says whether the caller ends there."""

SHORTEST, LONGEST = 0.0002, 0.003
"""Seconds a message is on its way."""
_READING = frozenset({"GET", "HEAD"})
_OF_NAMESPACES = frozenset({"status", "finalize"})
_VERSION = b'"resourceVersion":"'


def never(_: str) -> bool:
    """Nobody ends anywhere."""
    return False


class Wire:
    """Carries the requests of one life of one caller; a wire that is cut carries nothing any more."""

    def __init__(
        self,
        caller: str,
        transport: InProcessTransport,
        group: asyncio.TaskGroup,
        *,
        rng: random.Random,
        journal: Journal,
        crashes: Crashes = never,
    ) -> None:
        self._caller = caller
        self._transport = transport
        self._group = group
        self._rng = rng
        self._journal = journal
        self._crashes = crashes
        self._context = _outside(caller)
        self._open: dict[Arrived, None] = {}
        self._is_cut = False

    def cut(self) -> None:
        """Ends all connections; requests that are on their way still arrive, but nobody hears of it."""
        self._is_cut = True
        for arrived in tuple(self._open):
            arrived.end()

    async def close(self) -> None:
        self.cut()

    async def send(
        self,
        request: Request,
        guard: Guard | None = None,
        *,
        late: float = 0.0,
        lag: float = 0.0,
    ) -> "Arrived":
        """Sends a request, which arrives `late`; what the answer streams arrives `lag` seconds later than it would."""
        place = "" if request.method in _READING else place_of(self._caller, request)
        if place and self._crashes(f"{place} before"):
            await _for_ever()
        if guard is not None:
            guard()
        if self._is_cut:
            raise Unreachable("the process has ended")
        if place:
            path = request.target.partition("?")[0]
            self.note(">", f"{request.method} {path} {checksum(request.body)}")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Arrived] = loop.create_future()
        due = loop.time() + self.delay() + late
        loop.call_at(due, self._reach, request, answer, lag, context=self._context)
        arrived = await answer
        if place:
            self.note("<", f"{arrived.status} {checksum(arrived.body)}")
            if self._crashes(f"{place} after"):
                await _for_ever()
        return arrived

    def _reach(self, request: Request, answer: "asyncio.Future[Arrived]", lag: float) -> None:
        """Lets the server take up a request that has arrived."""
        self._group.create_task(self._carry(request, answer, lag), context=self._context)

    async def _carry(self, request: Request, answer: "asyncio.Future[Arrived]", lag: float) -> None:
        """Hands a request to the server and brings its answer back."""
        async with await self._transport.send(request) as response:
            streams = "watch=" in request.target
            body = b"" if streams else await response.read()
            arrived = Arrived(response.status, response.headers, body)
            loop = asyncio.get_running_loop()
            due = loop.time() + self.delay()
            loop.call_at(due, self._arrive, arrived, answer)
            if streams:
                path = request.target.partition("?")[0]
                await self._pump(response, arrived, _Stream(self, arrived, path, due, lag))
            else:
                arrived.end()

    def _arrive(self, arrived: "Arrived", answer: "asyncio.Future[Arrived]") -> None:
        if answer.done() or self._is_cut:
            arrived.end()
        else:
            answer.set_result(arrived)

    async def _pump(
        self, response: InProcessResponse, arrived: "Arrived", stream: "_Stream"
    ) -> None:
        """Brings what a watch sends until either side ends it."""
        self._open[arrived] = None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as limit:
                arrived.on_end(lambda: limit.reschedule(loop.time()))
                if response.outlet is not None:
                    response.outlet.open(stream, bare=True)
                async for chunk in response.chunks():
                    stream.send(chunk)
        except TimeoutError:
            return
        finally:
            del self._open[arrived]
            arrived.on_end(_nothing)
            stream.end()

    def note(self, sign: str, what: str) -> None:
        self._journal.note(self._caller, sign, what)

    def delay(self) -> float:
        return self._rng.uniform(SHORTEST, LONGEST)


class _Stream:
    """What a watch sends, on its way: it arrives in order and after the answer itself.

    It is a connection too, to which the server pushes changes while the stream of its reply sleeps (`kubeloop.net.direct_writer`); what is pushed
    within one turn of the loop leaves together.
    """

    def __init__(self, wire: Wire, arrived: "Arrived", path: str, due: float, lag: float) -> None:
        self._wire = wire
        self._arrived = arrived
        self._path = path
        self._due = due
        self._lag = lag
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._on_its_way: deque[bytes | None] = deque()
        self._pushed: list[bytes] = []

    def send(self, chunk: bytes) -> None:
        self._due = max(self._due, self._loop.time() + self._wire.delay() + self._lag)
        self._on_its_way.append(chunk)
        self._loop.call_at(self._due, self._deliver, context=self._context)

    def end(self) -> None:
        if not self._arrived.ended:
            self._on_its_way.append(None)
            self._loop.call_at(self._due, self._deliver, context=self._context)

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self._arrived.ended

    def write(self, data: bytes) -> None:
        if not self._pushed:
            self._loop.call_soon(self._leave, context=self._context)
        self._pushed.append(data)

    def _leave(self) -> None:
        chunk = b"".join(self._pushed)
        self._pushed.clear()
        self.send(chunk)

    def _deliver(self) -> None:
        """Brings what is first; a loop does not keep timers of one instant in order."""
        chunk, arrived = self._on_its_way.popleft(), self._arrived
        if chunk is None:
            arrived.end()
        elif not arrived.ended:
            stated = f"{self._path} {len(chunk)} {_version_in(chunk)} {checksum(chunk)}"
            self._wire.note("~", stated)
            arrived.take(chunk)


class Arrived:
    """An answer at its caller's: whole, or a stream that goes on until somebody ends it."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.ended = False
        self._chunks: deque[bytes] = deque((body,) if body else ())
        self._waiting: asyncio.Future[None] | None = None
        self._on_end: Callable[[], object] = _nothing

    def take(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._wake()

    def end(self) -> None:
        if not self.ended:
            self.ended = True
            self._wake()
            self._tell()

    def on_end(self, callback: Callable[[], object]) -> None:
        self._on_end = callback

    async def read(self) -> bytes:
        if self.body:
            return self.body
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            while self._chunks:
                yield self._chunks.popleft()
            if self.ended:
                return
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting

    async def close(self) -> None:
        self.ended = True
        self._tell()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _tell(self) -> None:
        """Tells of the end, once: a stream that was cut is closed later all the same."""
        self._on_end, end = _nothing, self._on_end
        end()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


def place_of(caller: str, request: Request) -> str:
    """Names where a caller is, by what it is about to write: `korder-1 PATCH tickets/status`."""
    parts = request.target.partition("?")[0].strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if len(parts) > 2 and parts[0] == "namespaces" and parts[2] not in _OF_NAMESPACES:
        parts = parts[2:]
    return f"{caller} {request.method} {'/'.join([*parts[:1], *parts[2:]])}"


def _outside(caller: str) -> Context:
    """A context in which nobody's process runs, but the caller is known."""
    context = copy_context()
    context.run(FREEZER.set, None)
    context.run(CALLER.set, caller)
    return context


def _version_in(chunk: bytes) -> str:
    start = chunk.find(_VERSION) + len(_VERSION)
    return "v" + chunk[start : chunk.find(b'"', start)].decode() if start >= len(_VERSION) else "v"


def _nothing() -> None:
    """Nobody is to be told."""


async def _for_ever() -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("unreachable")
