"""`embedded-watchers`: what it costs the embedded server to deliver one event to one watcher, at 1, 50 and 500 of them.

The server is a process of its own and measures its processor time; the watchers are here, each on a TLS connection of its own. What the
same events cost when nobody watches is taken off. Events come in bursts that fit into the buffers of a connection, and the watchers read
between bursts: to wake a sleeping reader is dear for the kernel, and a single watcher would bear alone what many share.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
import json
from pathlib import Path
import subprocess
import sys
import tempfile

from bench.micro import Tell
from bench.table import Row
from bench.watchers_child import BURST
from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.net.http import Request, Response
from kubeloop.runtime.clock import SystemClock

BURSTS = {1: 200, 50: 40, 500: 20}
"""How many bursts of events, by the number of watchers; the cheapest counts."""
_PAUSE = 0.005
"""Seconds between bursts, in which everybody reads."""
FLAT = 1.5
_PLACE = "/api/v1/namespaces/default/configmaps"


def watchers(tell: Tell) -> Iterator[Row]:
    """Microseconds for an event and watcher, the dearest of the numbers of watchers against the cheapest."""
    costs = asyncio.run(_costs(tell))
    yield Row("embedded-watchers", max(costs), "us per event and watcher", min(costs), FLAT)


async def _costs(tell: Tell) -> list[float]:
    costs = []
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder) / "kubeconfig") as server:
        for count in BURSTS:
            tell(f"embedded-watchers: {count}")
            alone = await server.cost(count)
            async with server.watched(count):
                watched = await server.cost(count)
            costs.append((watched - alone) / count * 1e6)
            tell(f"embedded-watchers: {count}, {costs[-1]:.1f} us")
    return costs


class _Measured:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], kubeconfig: Path) -> None:
        self._process = process
        self._config = load(str(kubeconfig))

    async def cost(self, watchers: int) -> float:
        """Seconds of processor time for an event."""
        costs = []
        for _ in range(BURSTS[watchers]):
            costs.append(self._burst())
            await asyncio.sleep(_PAUSE)
        return min(costs) / BURST

    def _burst(self) -> float:
        """Waits without turning the loop: nobody here reads meanwhile."""
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: PT018  it has both
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

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


@contextmanager
def _serving(kubeconfig: Path) -> Iterator[_Measured]:
    command = [sys.executable, "-m", "bench.watchers_child", str(kubeconfig)]
    with subprocess.Popen(  # noqa: S603  our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield _Measured(process, kubeconfig)
