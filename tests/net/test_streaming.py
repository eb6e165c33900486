"""Replies that go on: over loopback and in process, until they end, the client goes or the server drains."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
import contextlib

import pytest

from korder.net.client import HttpTransport
from korder.net.http import AnswerLost, Request, Transport
from korder.net.inprocess import InProcessTransport
from korder.net.server import Handler, Reply, Server

HOST = "127.0.0.1"


class Source:
    """A stream that says what it is told, and remembers that it was closed."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def handle(self, request: Request) -> Reply:
        del request
        return Reply(200, headers={"Content-Type": "text/plain"}, stream=self.stream())

    async def stream(self) -> AsyncGenerator[bytes, None]:
        try:
            while word := await self.words.get():
                yield word
        finally:
            self.closed.set()


@contextlib.asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[tuple[Server, Transport]]:
    server = Server(handler, HOST)
    transport = HttpTransport(f"http://{HOST}:{await server.start()}")
    try:
        yield server, transport
    finally:
        await transport.close()
        await server.stop(1.0)


async def heard(transport: Transport, source: Source) -> list[bytes]:
    found = []
    async with await transport.send(Request("GET", "/")) as response:
        source.words.put_nowait(b"one")
        async for chunk in response.chunks():
            found.append(chunk)
            source.words.put_nowait(b"two" if len(found) == 1 else b"")
    return found


@pytest.mark.enable_socket
async def test_chunks_arrive_while_the_reply_goes_on() -> None:
    source = Source()
    async with serving(source.handle) as (_, transport):
        assert await heard(transport, source) == [b"one", b"two"]
    assert source.closed.is_set()


async def test_chunks_arrive_without_sockets_too() -> None:
    source = Source()
    assert await heard(InProcessTransport(source.handle), source) == [b"one", b"two"]
    assert source.closed.is_set()


@pytest.mark.enable_socket
async def test_a_stream_ends_when_its_client_goes() -> None:
    source = Source()
    async with serving(source.handle) as (_, transport):
        response = await transport.send(Request("GET", "/"))
        await response.close()
        async with asyncio.timeout(5):
            await source.closed.wait()


@pytest.mark.enable_socket
async def test_a_server_that_drains_ends_its_streams_properly() -> None:
    source = Source()
    async with serving(source.handle) as (server, transport):
        async with await transport.send(Request("GET", "/")) as response:
            source.words.put_nowait(b"one")
            chunks = response.chunks()
            assert await anext(chunks) == b"one"
            await server.stop(1.0)
            assert [chunk async for chunk in chunks] == []
    assert source.closed.is_set()


@pytest.mark.enable_socket
async def test_a_stream_that_fails_breaks_the_answer_off() -> None:
    async def broken() -> AsyncGenerator[bytes, None]:
        yield b"one"
        raise ValueError("broken")

    async def handle(request: Request) -> Reply:
        del request
        return Reply(stream=broken())

    async with (
        serving(handle) as (_, transport),
        await transport.send(Request("GET", "/")) as response,
    ):
        with pytest.raises(AnswerLost):
            await response.read()


async def test_a_head_without_sockets_has_no_body() -> None:
    async def handle(request: Request) -> Reply:
        return Reply(200, b"body", {"X-Seen": request.headers["x-given"]})

    transport = InProcessTransport(handle, {"X-Given": "yes"})
    async with await transport.send(Request("HEAD", "/")) as response:
        assert (response.headers["x-seen"], await response.read()) == ("yes", b"")


async def test_a_guard_holds_a_request_back() -> None:
    seen: list[Request] = []

    async def handle(request: Request) -> Reply:
        seen.append(request)
        return Reply()

    def refuse() -> None:
        raise PermissionError

    with pytest.raises(PermissionError):
        await InProcessTransport(handle).send(Request("GET", "/"), refuse)
    assert seen == []
