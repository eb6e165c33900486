"""The transport over aiohttp, against small servers on loopback that behave, and some that do not."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
import contextlib
import gzip
from itertools import count

from aiohttp import web
import pytest

from kubeloop.net.client import HttpTransport
from kubeloop.net.http import AnswerLost, NotListening, Request, Unreachable

pytestmark = pytest.mark.enable_socket

HOST = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Refused(Exception):
    """What a guard raises."""


def refuse() -> None:
    raise Refused("not now")


@contextlib.asynccontextmanager
async def serving(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncIterator[str]:
    """Runs a well-behaved server and gives its address."""
    runner = web.ServerRunner(web.Server(handler))
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    try:
        yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def listening(peer: Peer) -> AsyncIterator[str]:
    """Runs a server that works with bare bytes and gives its address."""

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await peer(reader, writer)
        writer.close()

    server = await asyncio.start_server(once, HOST, 0)
    try:
        yield f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


@contextlib.asynccontextmanager
async def transport(url: str, **options: object) -> AsyncIterator[HttpTransport]:
    opened = HttpTransport(url, **options)
    try:
        yield opened
    finally:
        await opened.close()


async def read_head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


async def echo(request: web.Request) -> web.Response:
    body = await request.read()
    seen = {"method": request.method, "target": request.raw_path, "size": len(body)}
    return web.json_response({**seen, "headers": dict(request.headers)}, status=201)


async def echo_size(request: web.Request) -> web.Response:
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
    return web.Response(text=str(size))


async def test_a_request_arrives_as_it_was_built() -> None:
    request = Request("POST", "/api/v1/x?labelSelector=a%3Db%2Cc", {"X-Kind": "test"}, b"body")
    async with (
        serving(echo) as url,
        transport(f"{url}/clusters/one/") as sender,
        await sender.send(request) as response,
    ):
        seen = await response.read()
        assert response.status == 201
        assert response.headers["content-type"].startswith("application/json")
    assert b'"target": "/clusters/one/api/v1/x?labelSelector=a%3Db%2Cc"' in seen
    assert b'"X-Kind": "test"' in seen
    assert b'"size": 4' in seen


async def test_who_we_are_is_asked_anew_for_each_request() -> None:
    tokens = count(1)

    async def authorize() -> Mapping[str, str]:
        return {"Authorization": f"Bearer {next(tokens)}"}

    async with serving(echo) as url, transport(url, authorize=authorize) as sender:
        for number in (1, 2):
            async with await sender.send(Request("GET", "/")) as response:
                assert f"Bearer {number}".encode() in await response.read()


async def test_a_body_larger_than_a_mebibyte_arrives_whole() -> None:
    large = bytes(3 << 20)
    async with (
        serving(echo_size) as url,
        transport(url) as sender,
        await sender.send(Request("POST", "/", {}, large)) as response,
    ):
        assert await response.read() == str(len(large)).encode()


async def zipped(request: web.Request) -> web.Response:
    if "gzip" not in request.headers["Accept-Encoding"]:
        return web.Response(body=b"plain")
    return web.Response(body=gzip.compress(b"zipped"), headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    ("compress", "body"),
    [
        pytest.param(True, b"zipped", id="asked for and unpacked"),
        pytest.param(False, b"plain", id="switched off"),
    ],
)
async def test_compression(compress: bool, body: bytes) -> None:
    async with (
        serving(zipped) as url,
        transport(url, compress=compress) as sender,
        await sender.send(Request("GET", "/")) as response,
    ):
        assert await response.read() == body


async def test_a_redirect_is_an_answer_like_others() -> None:
    async def elsewhere(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/away"})

    async with (
        serving(elsewhere) as url,
        transport(url) as sender,
        await sender.send(Request("GET", "/")) as response,
    ):
        assert response.status == 302


async def test_the_pool_does_not_limit_what_is_in_flight() -> None:
    arrived, all_here = count(1), asyncio.Event()

    async def wait_for_all(_: web.Request) -> web.Response:
        if next(arrived) == 150:
            all_here.set()
        await all_here.wait()
        return web.Response()

    async def call(sender: HttpTransport) -> int:
        async with await sender.send(Request("GET", "/")) as response:
            return response.status

    async with serving(wait_for_all) as url, transport(url) as sender, asyncio.timeout(60):
        answers = await asyncio.gather(*(call(sender) for _ in range(150)))
    assert answers == [200] * 150


async def test_a_stream_is_passed_on_as_it_comes() -> None:
    seen = asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        await stream.write(b"first")
        await seen.wait()
        await stream.write(b"second")
        return stream

    async with (
        serving(slow) as url,
        transport(url) as sender,
        await sender.send(Request("GET", "/")) as response,
    ):
        chunks = response.chunks()
        assert await anext(chunks) == b"first"
        seen.set()
        assert [chunk async for chunk in chunks] == [b"second"]


async def test_closing_a_stream_before_its_end_drops_the_connection() -> None:
    dropped = asyncio.Event()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await reader.read()
        dropped.set()

    async with listening(endless) as url, transport(url) as sender:
        async with await sender.send(Request("GET", "/")) as response:
            chunks = response.chunks()
            assert await anext(chunks) == b"first"
            assert isinstance(chunks, AsyncGenerator)
            await chunks.aclose()
        async with asyncio.timeout(60):
            await dropped.wait()


async def test_a_connection_whose_answer_was_read_is_used_again() -> None:
    connections = count()

    async def polite(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        next(connections)
        while True:
            await read_head(reader)
            writer.write(OK)

    async with listening(polite) as url, transport(url) as sender:
        for _ in range(3):
            async with await sender.send(Request("GET", "/")) as response:
                await response.read()
    assert next(connections) == 1


async def test_a_server_that_is_not_there_is_unreachable_and_the_guard_is_not_asked() -> None:
    async with listening(lambda _, __: asyncio.sleep(0)) as url:
        pass
    async with transport(url) as sender:
        with pytest.raises(NotListening, match=f"{url}: Connection refused"):
            await sender.send(Request("POST", "/", {}, b"x"), guard=refuse)


async def test_a_name_that_nobody_knows_is_unreachable() -> None:
    async with transport("http://nobody.invalid") as sender:
        with pytest.raises(Unreachable, match=r"nobody\.invalid"):
            await sender.send(Request("GET", "/"))


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(Request("GET", "/"), id="a read"),
        pytest.param(Request("PUT", "/", {}, b"x"), id="a write"),
        pytest.param(Request("DELETE", "/", {}, b"x"), id="a delete"),
    ],
)
async def test_a_request_on_a_stale_connection_is_sent_once_and_its_answer_is_lost(
    request_: Request,
) -> None:
    heads: list[bytes] = []

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_head(reader))
        writer.write(OK)
        heads.append(await read_head(reader))

    async with listening(answer_once) as url, transport(url) as sender:
        async with await sender.send(Request("GET", "/first")) as response:
            await response.read()
        with pytest.raises(AnswerLost, match="without an answer"):
            await sender.send(request_)
        async with await sender.send(Request("GET", "/third")) as response:
            assert await response.read() == b"ok"
    assert [head.split()[1] for head in heads[:3]] == [b"/first", b"/", b"/third"]


async def test_a_connection_that_breaks_before_the_answer_loses_it() -> None:
    async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_head(reader)

    async with listening(hang_up) as url, transport(url) as sender:
        with pytest.raises(AnswerLost):
            await sender.send(Request("POST", "/", {}, b"x"))


@pytest.mark.parametrize("whole", [True, False], ids=["read at once", "read in chunks"])
async def test_a_body_that_breaks_off_is_a_lost_answer(whole: bool) -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

    async with (
        listening(half) as url,
        transport(url) as sender,
        await sender.send(Request("GET", "/")) as response,
    ):
        with pytest.raises(AnswerLost, match="middle"):
            _ = await response.read() if whole else [c async for c in response.chunks()]


@pytest.mark.parametrize("body", [b"", b"small", bytes(2 << 20)], ids=["none", "small", "large"])
@pytest.mark.parametrize("reused", [True, False], ids=["used connection", "new connection"])
async def test_a_guard_that_refuses_keeps_every_byte_back(body: bytes, reused: bool) -> None:
    arrived: list[str] = []

    async def note(request: web.Request) -> web.Response:
        arrived.append(request.path)
        return await echo_size(request)

    async with serving(note) as url, transport(url) as sender:
        if reused:
            async with await sender.send(Request("GET", "/before")) as response:
                await response.read()
        with pytest.raises(Refused):
            await sender.send(Request("POST", "/guarded", {}, body), guard=refuse)
        async with await sender.send(Request("POST", "/after", {}, body)) as response:
            await response.read()
    assert arrived == ["/before", "/after"] if reused else ["/after"]


async def test_a_proxy_is_asked_in_place_of_the_server() -> None:
    heads: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_head(reader))
        writer.write(OK)

    async with (
        listening(proxy) as url,
        transport("http://api.invalid", proxy=url) as sender,
        await sender.send(Request("GET", "/version")) as response,
    ):
        assert await response.read() == b"ok"
    assert heads[0].startswith(b"GET http://api.invalid/version HTTP/1.1")
