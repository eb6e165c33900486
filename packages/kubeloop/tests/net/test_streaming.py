"""Replies that go on: over loopback and in process, until they end, the client goes or the server drains."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
import contextlib

import pytest

from kubeloop.net.client import HttpTransport
from kubeloop.net.direct_writer import Outlet
from kubeloop.net.http import AnswerLost, Request, Transport
from kubeloop.net.in_process import InProcessTransport
from kubeloop.net.server import Handler, Reply, Server

HOST = "127.0.0.1"


class Source:
    """A stream that says what it is told, and remembers that it was closed."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[bytes] = asyncio.Queue()
        self.outlet = Outlet()
        self.closed = asyncio.Event()

    async def handle(self, request: Request) -> Reply:
        del request
        headers = {"Content-Type": "text/plain"}
        return Reply(200, headers=headers, stream=self.stream(), outlet=self.outlet)

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
async def test_what_leaves_through_the_outlet_arrives_between_the_chunks_of_the_stream() -> None:
    source = Source()
    async with (
        serving(source.handle) as (_, transport),
        await transport.send(Request("GET", "/")) as response,
    ):
        chunks = response.chunks()
        source.words.put_nowait(b"one")
        assert await anext(chunks) == b"one"
        assert source.outlet.free
        source.outlet.send(b"two")
        assert await anext(chunks) == b"two"
        source.words.put_nowait(b"three")
        assert await anext(chunks) == b"three"


async def test_an_outlet_without_sockets_is_never_free() -> None:
    source = Source()
    async with await InProcessTransport(source.handle).send(Request("GET", "/")) as response:
        source.words.put_nowait(b"one")
        assert await anext(response.chunks()) == b"one"
        assert not source.outlet.free


@pytest.mark.enable_socket
async def test_an_outlet_is_not_free_for_who_does_not_take_chunks() -> None:
    source = Source()
    server = Server(source.handle, HOST)
    reader, writer = await asyncio.open_connection(HOST, await server.start())
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    source.words.put_nowait(b"one")
    assert (await reader.readuntil(b"one")).startswith(b"HTTP/1.0 200")
    assert not source.outlet.free
    writer.close()
    await server.stop(1.0)


@pytest.mark.enable_socket
async def test_an_outlet_is_free_until_its_client_falls_behind_or_goes() -> None:
    source = Source()
    async with serving(source.handle) as (_, transport):
        response = await transport.send(Request("GET", "/"))
        source.words.put_nowait(b"one")
        chunks, sent = response.chunks(), 0
        assert await anext(chunks) == b"one"
        while source.outlet.free:
            source.outlet.send(bytes(1 << 20))
            sent += 1
        received = 0
        while received < sent << 20:
            received += len(await anext(chunks))
        async with asyncio.timeout(60):
            while not source.outlet.free:
                await asyncio.sleep(0)
            await response.close()
            await source.closed.wait()
        assert not source.outlet.free


@pytest.mark.enable_socket
async def test_a_stream_ends_when_its_client_goes() -> None:
    source = Source()
    async with serving(source.handle) as (_, transport):
        response = await transport.send(Request("GET", "/"))
        await response.close()
        async with asyncio.timeout(60):
            await source.closed.wait()


@pytest.mark.enable_socket
async def test_a_server_that_drains_ends_its_streams_properly() -> None:
    source = Source()
    async with (
        serving(source.handle) as (server, transport),
        await transport.send(Request("GET", "/")) as response,
    ):
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
