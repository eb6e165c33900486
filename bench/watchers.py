"""`embedded-watchers`: what it costs the embedded server to deliver one event to one watcher, at 1, 50 and 500 of them.

The server is a process of its own and measures its processor time; the watchers are here, each on a TLS connection of its own. What the
same events cost when nobody watches is taken off. An event is delivered before the next is written, because events that are delivered
together cost less; they come in bursts, because a process that slept before every event pays for cold caches, which one watcher would
bear alone and many would share.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
import json
from pathlib import Path
import sys
import tempfile

from bench.micro import Tell
from bench.table import Row
from bench.watchers_child import BURST
from korder.kube.config import load
from korder.kube.connect import connect
from korder.net.http import Request, Response
from korder.runtime.clock import SystemClock

BURSTS = {1: 50, 50: 10, 500: 2}
"""How many bursts of events, by the number of watchers."""
ROUNDS = 5
_PAUSE, _READ = 0.005, 0.0002
"""Seconds between bursts, and those that watchers get to read one event each."""
FLAT = 1.5
_PLACE = "/api/v1/namespaces/default/configmaps"


def watchers(tell: Tell) -> Iterator[Row]:
    """Microseconds for an event and watcher, the dearest of the numbers of watchers against the cheapest."""
    costs = asyncio.run(_costs(tell))
    yield Row("embedded-watchers", max(costs), "us per event and watcher", min(costs), FLAT)


async def _costs(tell: Tell) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        async with _serving(Path(folder) / "kubeconfig") as server:
            costs = []
            for count in BURSTS:
                tell(f"embedded-watchers: {count}")
                alone = min([await server.cost(count) for _ in range(ROUNDS)])
                async with server.watched(count):
                    watched = min([await server.cost(count) for _ in range(ROUNDS)])
                costs.append((watched - alone) / count * 1e6)
                tell(f"embedded-watchers: {count}, {costs[-1]:.1f} us")
            return costs


class _Measured:
    """A server in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, kubeconfig: Path) -> None:
        self._process = process
        self._config = load(str(kubeconfig))

    async def cost(self, watchers: int) -> float:
        """Seconds of processor time for an event, at the pace of so many watchers."""
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: PT018  it has both
        bursts = BURSTS[watchers]
        pause = _PAUSE + watchers * BURST * _READ
        self._process.stdin.write(f"{bursts} {pause}\n".encode())
        return float(await self._process.stdout.readline()) / (bursts * BURST)

    @asynccontextmanager
    async def watched(self, count: int) -> AsyncIterator[None]:
        """Keeps so many watchers, who hear everything that happens from now on."""
        transport = connect(self._config, SystemClock().now)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(transport.close)
            async with await transport.send(Request("GET", f"{_PLACE}?limit=1")) as response:
                version = json.loads(await response.read())["metadata"]["resourceVersion"]
            request = Request("GET", f"{_PLACE}?watch=1&resourceVersion={version}")
            responses = [await transport.send(request) for _ in range(count)]
            async with asyncio.TaskGroup() as group:
                readers = [group.create_task(_read(response)) for response in responses]
                yield
                for reader in readers:
                    reader.cancel()


async def _read(response: Response) -> None:
    async with response:
        async for _ in response.chunks():
            pass


@asynccontextmanager
async def _serving(kubeconfig: Path) -> AsyncIterator[_Measured]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.watchers_child", str(kubeconfig)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None  # noqa: PT018  it has both
    await process.stdout.readline()
    try:
        yield _Measured(process, kubeconfig)
    finally:
        process.stdin.close()
        await process.wait()
