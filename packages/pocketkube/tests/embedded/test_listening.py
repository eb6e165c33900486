"""The API server behind a real socket: broken requests, bodies that are too large, too slow or cut off, watchers that go, idle crowds."""

import asyncio
from collections.abc import AsyncIterator
import contextlib
import json
from typing import Any

import pytest

from kubeloop.net.server import Server
from kubeloop.runtime.clock import Clock
from pocketkube.testing.apiserver import embedded_server

pytestmark = pytest.mark.enable_socket

HOST = "127.0.0.1"
PLACE = "/api/v1/namespaces/default/configmaps"
LIMIT = 3 * 1024 * 1024


class Listening:
    """A server and the administrator's way to talk to it by hand."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self._token = token

    def head(self, method: str, target: str, *headers: str) -> bytes:
        lines = (
            f"{method} {target} HTTP/1.1",
            "Host: x",
            f"Authorization: Bearer {self._token}",
            "Content-Type: application/json",
            *headers,
        )
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection(HOST, self.port)
        try:
            yield reader, writer
        finally:
            writer.close()

    async def answer(self, sent: bytes) -> tuple[int, bytes]:
        """What comes back for some bytes, until the server has nothing more to say."""
        async with self.connection() as (reader, writer):
            writer.write(sent)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.partition(b":")[2])
                for line in head.lower().splitlines()
                if line.startswith(b"content-length:")
            )
            return int(head.split()[1]), await reader.readexactly(length)

    async def assert_well(self) -> None:
        code, body = await self.answer(self.head("GET", PLACE))
        assert (code, json.loads(body)["kind"]) == (200, "ConfigMapList")


@pytest.fixture
async def listening(clock: Clock) -> AsyncIterator[Listening]:
    async with _listening(clock) as found:
        yield found


@contextlib.asynccontextmanager
async def _listening(clock: Clock, **options: float) -> AsyncIterator[Listening]:
    async with embedded_server(clock) as server:
        api = server.api
        given: Any = options
        listener = Server(api.handle, HOST, refuse=api.refuse, **given)
        port = await listener.start()
        try:
            yield Listening(port, server.admin_token)
        finally:
            await listener.stop(grace=1.0)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"\x00\x01\x02\x03\r\n\r\n", id="no HTTP at all"),
        pytest.param(b"GET\r\n\r\n", id="half a request line"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", id="a version nobody knows"),
        pytest.param(b"GET / HTTP/1.1\r\nno colon\r\n\r\n", id="a header without a colon"),
        pytest.param(b"GET / HTTP/1.1\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n", id="a huge header"),
        pytest.param(b"GET /" + b"x" * 1_000_000 + b" HTTP/1.1\r\n\r\n", id="a huge path"),
        pytest.param(
            b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", id="a body of negative length"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", id="chunks of no length"
        ),
    ],
)
async def test_a_broken_request_is_the_clients_fault(listening: Listening, sent: bytes) -> None:
    async with listening.connection() as (reader, writer):
        writer.write(sent)
        answer = await reader.read(20)

    assert answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
    await listening.assert_well()


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(LIMIT + 1, id="one byte more than the limit"),
        pytest.param(9 * 1024 * 1024, id="more than the listener takes in"),
    ],
)
async def test_a_body_over_the_limit_is_answered_with_a_status(
    listening: Listening, size: int
) -> None:
    head = listening.head("POST", PLACE, f"Content-Length: {size}")
    code, body = await listening.answer(head + b" " * size)

    status = json.loads(body)
    assert (code, status["kind"], status["reason"]) == (413, "Status", "RequestEntityTooLarge")
    assert status["message"] == f"Request entity too large: limit is {LIMIT}"
    await listening.assert_well()


async def test_a_body_that_does_not_come_is_not_waited_for_forever(clock: Clock) -> None:
    async with _listening(clock, body_seconds=0.05) as listening:
        head = listening.head("POST", PLACE, "Content-Length: 100")
        code, body = await listening.answer(head + b"{")

        assert (code, json.loads(body)["kind"]) == (408, "Status")
        await listening.assert_well()


async def test_a_client_that_goes_in_the_middle_of_a_body_leaves_nothing_behind(
    listening: Listening,
) -> None:
    before = len(asyncio.all_tasks())
    for _ in range(20):
        async with listening.connection() as (_, writer):
            writer.write(listening.head("POST", PLACE, "Content-Length: 100") + b"{")
            await writer.drain()

    await _until_tasks(before)
    await listening.assert_well()


async def test_a_watcher_that_goes_leaves_no_watch_behind(listening: Listening) -> None:
    before = len(asyncio.all_tasks())
    for _ in range(20):
        async with listening.connection() as (reader, writer):
            writer.write(listening.head("GET", f"{PLACE}?watch=1"))
            await reader.readuntil(b"\r\n\r\n")

    await _until_tasks(before)
    await listening.assert_well()


async def _until_tasks(count: int) -> None:
    """Waits for the tasks of connections to end; a test that waits in vain runs into its time limit."""
    while len(asyncio.all_tasks()) > count:
        await asyncio.sleep(0.01)


async def test_a_crowd_of_idle_connections_keeps_nobody_out(listening: Listening) -> None:
    async with contextlib.AsyncExitStack() as crowd:
        for _ in range(200):
            await crowd.enter_async_context(listening.connection())
        await listening.assert_well()

    await listening.assert_well()
