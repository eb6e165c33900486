"""The server over loopback: routes, layers, limits, TLS that is replaced under way, and draining."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
import contextlib
from datetime import UTC, datetime
import socket
import ssl

from cryptography.hazmat.primitives import serialization
import pytest

from kubeloop.net import certificates, server
from kubeloop.net.certificates import BadCertificate, Lifetime, Pair
from kubeloop.net.client import HttpTransport
from kubeloop.net.http import Request, Unreachable
from kubeloop.net.server import CannotListen, Handler, Layer, Reply, Server
from kubeloop.net.server_tls import ServerTls
from kubeloop.net.tls import ClientTls, RotatingTls

pytestmark = pytest.mark.enable_socket

HOST = "127.0.0.1"
GRACE = 5.0
ALWAYS = Lifetime(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))

Started = Callable[..., contextlib.AbstractAsyncContextManager[int]]


@contextlib.asynccontextmanager
async def serving(
    handler: Handler | Mapping[str, Handler], tls: ServerTls | None = None, **options: int
) -> AsyncIterator[int]:
    running = Server(handler, HOST, tls=tls, **options)
    port = await running.start()
    try:
        yield port
    finally:
        await running.stop(GRACE)


async def call(
    port: int,
    target: str = "/",
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    trusted: bytes = b"",
) -> tuple[int, bytes]:
    """Makes one request on a connection of its own."""
    scheme = "https" if trusted else "http"
    tls = RotatingTls(lambda: ClientTls(ca_data=trusted)) if trusted else None
    transport = HttpTransport(f"{scheme}://{HOST}:{port}", tls=tls)
    try:
        request = Request("POST" if body else "GET", target, headers or {}, body)
        async with await transport.send(request) as response:
            return response.status, await response.read()
    finally:
        await transport.close()


async def echo(request: Request) -> Reply:
    return Reply(
        200, request.method.encode() + b" " + request.target.encode() + b" " + request.body
    )


def saying(word: str) -> Handler:
    async def say(_: Request) -> Reply:
        return Reply(body=word.encode())

    return say


async def test_a_handler_sees_method_target_headers_and_body() -> None:
    seen: list[Request] = []

    async def handler(request: Request) -> Reply:
        seen.append(request)
        return Reply(201, b"made", {"X-Answer": "42"})

    async with serving(handler) as port:
        answer = await call(port, "/a%2Fb?c=d%20e", b"body", {"X-Question": "why"})

    assert answer == (201, b"made")
    (request,) = seen
    assert (request.method, request.target, request.body) == ("POST", "/a%2Fb?c=d%20e", b"body")
    assert request.headers["x-question"] == "why"


async def test_headers_of_a_reply_arrive() -> None:
    async def handler(_: Request) -> Reply:
        return Reply(200, b"{}", {"Content-Type": "application/json", "X-Answer": "42"})

    async with serving(handler) as port:
        transport = HttpTransport(f"http://{HOST}:{port}")
        async with await transport.send(Request("GET", "/")) as response:
            headers = response.headers
        await transport.close()

    assert (headers["Content-Type"], headers["X-Answer"]) == ("application/json", "42")


async def test_routes_are_chosen_by_path_and_the_rest_is_not_found() -> None:
    async with serving({"/one": saying("1"), "/two": saying("2")}) as port:
        assert await call(port, "/one") == (200, b"1")
        assert await call(port, "/two?x=y") == (200, b"2")
        assert await call(port, "/three") == (404, b"nothing at /three\n")


async def test_layers_read_from_the_outside_in() -> None:
    def marking(mark: bytes) -> Layer:
        def layer(inner: Handler) -> Handler:
            async def handler(request: Request) -> Reply:
                reply = await inner(Request("GET", request.target + mark.decode()))
                return Reply(body=mark + reply.body + mark)

            return handler

        return layer

    async def target(request: Request) -> Reply:
        return Reply(body=request.target.encode())

    async with serving(server.stack([marking(b"a"), marking(b"b")], target)) as port:
        assert await call(port, "/") == (200, b"ab/abba")


async def test_a_handler_that_raises_answers_500_and_the_server_lives_on() -> None:
    async def broken(_: Request) -> Reply:
        raise ValueError("a secret detail")

    async with serving({"/broken": broken, "/fine": saying("ok")}) as port:
        assert await call(port, "/broken") == (500, b"internal error\n")
        assert await call(port, "/fine") == (200, b"ok")


@pytest.mark.parametrize(
    ("size", "status"),
    [
        pytest.param(1000, 200, id="as large as allowed"),
        pytest.param(1001, 413, id="one byte more"),
        pytest.param(3_000_000, 413, id="much more"),
    ],
)
async def test_a_body_may_not_be_larger_than_the_limit(size: int, status: int) -> None:
    async with serving(echo, largest_body=1000) as port:
        assert (await call(port, "/", b"x" * size))[0] == status


async def test_a_body_of_unannounced_length_is_limited_too() -> None:
    async with serving(echo, largest_body=1000) as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"400\r\n" + b"x" * 0x400 + b"\r\n" + b"0\r\n\r\n")
        head = await reader.readuntil(b"\r\n")
        writer.close()

    assert head == b"HTTP/1.1 413 Request Entity Too Large\r\n"


async def test_a_client_that_listens_only_after_its_whole_body_still_hears_that_it_is_too_large() -> (
    None
):
    async with serving(echo, largest_body=1000) as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        size = 20_000_000
        writer.write(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode())
        writer.write(b"x" * size)
        await writer.drain()
        head = await reader.readuntil(b"\r\n")
        writer.close()

    assert b" 413 " in head


async def test_a_garbled_body_is_the_clients_fault() -> None:
    async with serving(echo) as port:
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        head = await reader.readuntil(b"\r\n")
        writer.close()

    assert b" 400 " in head


async def test_a_body_that_does_not_unpack_is_the_clients_fault() -> None:
    async with serving(echo) as port:
        status, _ = await call(port, "/", b"not gzip", {"Content-Encoding": "gzip"})

    assert status == 400


async def test_a_client_that_leaves_in_the_middle_of_its_body_disturbs_nobody() -> None:
    async with serving(echo) as port:
        _, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        await writer.drain()
        writer.close()
        assert await call(port, "/after") == (200, b"GET /after ")


async def test_a_taken_port_is_named_in_one_sentence() -> None:
    async with serving(echo) as port:
        with pytest.raises(CannotListen, match=f"^cannot listen on {HOST}:{port}: .*in use"):
            await Server(echo, HOST, port).start()


async def test_listening_is_said_truthfully() -> None:
    running = Server(echo, HOST)
    assert not running.listening
    await running.start()
    assert running.listening
    await running.stop(GRACE)
    assert not running.listening
    await running.stop(GRACE)


class Slow:
    """A handler that answers when told to."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, request: Request) -> Reply:
        self.entered.set()
        await self.go_on.wait()
        return Reply(body=b"done " + request.body)


async def test_stop_refuses_new_connections_and_lets_requests_in_flight_end() -> None:
    slow = Slow()
    running = Server(slow, HOST)
    port = await running.start()

    async with asyncio.TaskGroup() as group:
        asked = group.create_task(call(port, "/", b"x"))
        await slow.entered.wait()
        stopped = group.create_task(running.stop(GRACE))
        await asyncio.sleep(0)
        assert not running.listening
        with pytest.raises(Unreachable):
            await call(port)
        assert not stopped.done()
        slow.go_on.set()

    assert asked.result() == (200, b"done x")


async def test_stop_lets_a_body_that_is_still_arriving_arrive() -> None:
    running = Server(echo, HOST)
    port = await running.start()
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")
    await call(port, "/later")  # when this is answered, the earlier one has been begun

    async with asyncio.TaskGroup() as group:
        stopped = group.create_task(running.stop(GRACE))
        await asyncio.sleep(0)
        assert not running.listening
        writer.write(b"def")
        answer = await reader.read()
        await stopped

    writer.close()
    assert b"Connection: close" in answer
    assert answer.endswith(b"POST / abcdef")


async def test_stop_closes_idle_connections_at_once() -> None:
    running = Server(echo, HOST)
    port = await running.start()
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await reader.readuntil(b"GET / ")

    async with asyncio.timeout(GRACE / 2):
        await running.stop(GRACE)
        assert await reader.read() == b""
    writer.close()


async def test_a_request_that_does_not_end_is_cut_off_after_the_grace() -> None:
    stuck = Slow()
    running = Server(stuck, HOST)
    port = await running.start()
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await stuck.entered.wait()

    await running.stop(0.01)

    assert await reader.read() == b""
    writer.close()


def some_pair(name: str) -> tuple[bytes, Pair]:
    authority = certificates.make_authority(name, ALWAYS)
    return authority.certificate, certificates.issue(authority, [HOST], ALWAYS)


async def test_a_certificate_is_replaced_while_connections_are_open() -> None:
    old_trust, old_pair = some_pair("old")
    new_trust, new_pair = some_pair("new")
    tls = ServerTls()
    tls.load(old_pair)
    async with serving(echo, tls) as port:
        context = ssl.create_default_context(cadata=old_trust.decode())
        reader, writer = await asyncio.open_connection(HOST, port, ssl=context)
        assert await call(port, "/before", trusted=old_trust) == (200, b"GET /before ")

        tls.load(new_pair)

        assert await call(port, "/after", trusted=new_trust) == (200, b"GET /after ")
        with pytest.raises(Unreachable):
            await call(port, trusted=old_trust)
        writer.write(b"GET /still HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readuntil(b"/still ")).endswith(b"GET /still ")
        writer.close()


async def test_a_pair_that_does_not_fit_changes_nothing() -> None:
    trust, pair = some_pair("one")
    _, other = some_pair("other")
    tls = ServerTls()
    tls.load(pair)
    async with serving(echo, tls) as port:
        for bad in (Pair(other.certificate, pair.key), Pair(b"nonsense", b""), Pair(b"", b"")):
            with pytest.raises(BadCertificate, match="cannot be used"):
                tls.load(bad)

        assert tls.pair == pair
        assert await call(port, "/", trusted=trust) == (200, b"GET / ")


async def test_an_encrypted_key_is_refused_instead_of_asking_at_the_terminal() -> None:
    _, pair = some_pair("one")
    key = serialization.load_pem_private_key(pair.key, None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )

    with pytest.raises(BadCertificate, match="the key is encrypted"):
        ServerTls().load(Pair(pair.certificate, locked))


async def test_without_a_certificate_every_handshake_is_refused_until_one_is_loaded() -> None:
    trust, pair = some_pair("late")
    tls = ServerTls()
    async with serving(echo, tls) as port:
        with pytest.raises(Unreachable):
            await call(port, trusted=trust)
        tls.load(pair)
        assert await call(port, trusted=trust) == (200, b"GET / ")


async def test_plain_bytes_to_a_tls_port_disturb_nobody() -> None:
    trust, pair = some_pair("one")
    tls = ServerTls()
    tls.load(pair)
    async with serving(echo, tls) as port:
        with socket.create_connection((HOST, port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert await call(port, trusted=trust) == (200, b"GET / ")
