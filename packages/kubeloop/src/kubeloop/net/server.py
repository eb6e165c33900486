"""A small HTTP server: plain callables in, a bound port out.

Webhooks, probes and metrics are handlers, `async (http.Request) -> Reply`; a layer is a callable that takes a handler and
returns one, and `stack` reads from the outside in. A handler that raises answers 500 and is logged; what is refused before a
handler sees it, is so in the form that `refuse` gives it. The surprising part is
`stop`: aiohttp's own shutdown throws away bodies that are still arriving, so requests are drained first and connections
closed afterwards. A reply that streams is not waited for: its iterator is closed and the reply ended properly, when the server
drains as well as when the client goes.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
import contextlib
from functools import reduce
import os
from typing import Any
from urllib.parse import urlsplit

from aiohttp import HttpVersion11, web
import msgspec
import structlog

from kubeloop.net.direct_writer import Outlet, framed
from kubeloop.net.http import NetError, Request
from kubeloop.net.server_tls import ServerTls

log = structlog.get_logger(__name__)

LARGEST_BODY = 8 * 1024 * 1024
"""Twice what an API server accepts for one object, and some: a review carries the old object and the new one."""

BODY_SECONDS = 60.0
"""How long a client may take to send a body."""

_HANDSHAKE_SECONDS = 10.0
_CLOSE_SECONDS = 0.1
_DISCARD_SECONDS = 1.0


class Reply(msgspec.Struct, frozen=True):
    """What a handler answers: a body, or a stream that is sent chunk by chunk as fast as the client takes it.

    `direct_writer` is opened for who feeds the stream, see there.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    stream: AsyncGenerator[bytes, None] | None = None
    outlet: Outlet | None = None


Handler = Callable[[Request], Awaitable[Reply]]
Layer = Callable[[Handler], Handler]


class CannotListen(NetError):
    """The address is taken, not ours, or needs rights we do not have."""


class BodyTooLarge(Exception):
    """A request is bigger than the server reads."""


def text(status: int, message: str) -> Reply:
    """Makes a reply for people."""
    return Reply(status, f"{message}\n".encode(), {"Content-Type": "text/plain; charset=utf-8"})


def by_path(routes: Mapping[str, Handler]) -> Handler:
    """Makes one handler of many, chosen by the exact path."""

    async def route(request: Request) -> Reply:
        path = urlsplit(request.target).path
        handler = routes.get(path)
        return text(404, f"nothing at {path}") if handler is None else await handler(request)

    return route


def stack(layers: Sequence[Layer], handler: Handler) -> Handler:
    """Puts layers around a handler; the first sees a request first and a reply last."""
    return reduce(lambda inner, layer: layer(inner), reversed(layers), handler)


class Server:
    """Listens, serves, and drains."""

    def __init__(
        self,
        handler: Handler | Mapping[str, Handler],
        host: str | None,
        port: int = 0,
        tls: ServerTls | None = None,
        *,
        largest_body: int = LARGEST_BODY,
        body_seconds: float = BODY_SECONDS,
        refuse: Callable[[int, str], Reply] = text,
    ) -> None:
        self._handler = by_path(handler) if isinstance(handler, Mapping) else handler
        self._host = host
        self._port = port
        self._tls = tls
        self._largest_body = largest_body
        self._body_seconds = body_seconds
        self._refuse = refuse
        self._listener: asyncio.Server | None = None
        self._connections: web.Server | None = None
        self._in_flight: set[asyncio.Task[object]] = set()
        self._streams: dict[object, asyncio.Task[object]] = {}
        self._draining = False

    @property
    def listening(self) -> bool:
        return self._listener is not None

    async def start(self) -> int:
        """Begins to listen and says on which port."""
        self._draining = False
        self._connections = _Connections(
            self._serve, self._hung_up, access_log=None, lingering_time=0
        )
        try:
            self._listener = await asyncio.get_running_loop().create_server(
                self._connections,
                self._host,
                self._port,
                ssl=None if self._tls is None else self._tls.context,
                ssl_handshake_timeout=None if self._tls is None else _HANDSHAKE_SECONDS,
            )
        except OSError as error:
            where = f"{self._host or ''}:{self._port}"
            number = error.errno or 0
            reason = os.strerror(number) if number > 0 else str(error.strerror)
            raise CannotListen(f"cannot listen on {where}: {reason}") from error
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def stop(self, grace: float) -> None:
        """Stops accepting, lets requests in flight end for up to `grace` seconds, then cuts off the rest."""
        if self._listener is None or self._connections is None:
            return
        self._listener.close()
        self._listener = None
        self._draining = True
        for task in self._streams.values():
            task.cancel()
        try:
            async with asyncio.timeout(grace):
                while self._in_flight:
                    await asyncio.wait(self._in_flight)
        except TimeoutError:
            log.warning("requests cut off", requests=len(self._in_flight), grace=grace)
            await self._cut_off()
        self._connections.pre_shutdown()
        await self._connections.shutdown(_CLOSE_SECONDS)

    async def _cut_off(self) -> None:
        stuck = tuple(self._in_flight)
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)

    async def _serve(self, raw: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  aiohttp runs every request in a task of its own
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)
        reply = await self._reply(raw)
        answer = _answer(reply)
        if reply.stream is not None and raw.version >= HttpVersion11 and raw.method != "HEAD":
            answer.enable_chunked_encoding()
        if self._draining or not raw.content.is_eof():
            answer.force_close()
        if reply.stream is not None:
            await self._send(raw, answer, reply.stream, reply.outlet, task)
        return answer

    async def _send(
        self,
        raw: web.BaseRequest,
        answer: web.StreamResponse,
        stream: AsyncGenerator[bytes, None],
        outlet: Outlet | None,
        task: asyncio.Task[object],
    ) -> None:
        """Streams until the end, unless the client goes (nobody is left to hear) or the server drains (a proper end)."""
        self._streams[raw.protocol] = task
        try:
            async with contextlib.aclosing(stream):
                if not self._draining:
                    await answer.prepare(raw)
                    if outlet is not None and answer.chunked:
                        outlet.open(raw.transport)
                    async for chunk in stream:
                        await _write(raw, answer, chunk)
        except ConnectionError:
            return
        except asyncio.CancelledError:
            if raw.transport is None or not self._draining:
                raise
            task.uncancel()
            answer.force_close()
        except Exception:
            log.exception("stream failed", method=raw.method, path=raw.path)
            if raw.transport is not None:
                raw.transport.abort()
            return
        finally:
            self._streams.pop(raw.protocol, None)
        with contextlib.suppress(ConnectionError):
            await answer.prepare(raw)
            await answer.write_eof()

    def _hung_up(self, connection: object) -> None:
        """Ends the stream of a client that is gone; it may be long until the next write would notice."""
        task = self._streams.get(connection)
        if task is not None:
            task.cancel()

    async def _reply(self, raw: web.BaseRequest) -> Reply:
        try:
            body = await self._body(raw)
        except BodyTooLarge as error:
            await _discard(raw)
            return self._refuse(413, str(error))
        except web.RequestPayloadError as error:
            return self._refuse(400, f"the body cannot be read: {error}")
        except TimeoutError:
            return self._refuse(408, f"the body did not arrive in {self._body_seconds:g} s")
        try:
            return await self._handler(Request(raw.method, raw.raw_path, raw.headers, body))
        except Exception:
            log.exception("handler failed", method=raw.method, path=raw.path)
            return text(500, "internal error")

    async def _body(self, raw: web.BaseRequest) -> bytes:
        if not raw.can_read_body:
            return b""
        async with asyncio.timeout(self._body_seconds):
            return await _read(raw, self._largest_body)


async def _read(raw: web.BaseRequest, limit: int) -> bytes:
    too_large = BodyTooLarge(f"the body is larger than {limit} bytes")
    if raw.content_length is not None and raw.content_length > limit:
        raise too_large
    body = bytearray()
    async for chunk in raw.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise too_large
    return bytes(body)


async def _write(raw: web.BaseRequest, answer: web.StreamResponse, chunk: bytes) -> None:
    """Sends a chunk; waits only if the client is behind. Straight to the transport: many streams send small chunks."""
    transport = raw.transport
    if not answer.chunked or transport is None or transport.is_closing():
        await answer.write(chunk)
    elif chunk:
        transport.write(framed(chunk))
        if raw.protocol.writing_paused:
            await raw.writer.drain()


async def _discard(raw: web.BaseRequest) -> None:
    """Takes in the rest of a body: a connection closed on a client that still writes loses the answer as well."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            async for _ in raw.content.iter_any():
                pass


class _Connections(web.Server):
    """aiohttp's bookkeeping of connections, which says when one is lost."""

    def __init__(self, serve: Any, hung_up: Callable[[object], None], **settings: Any) -> None:
        super().__init__(serve, **settings)
        self._hung_up = hung_up

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        self._hung_up(handler)
        super().connection_lost(handler, exc)


def _answer(reply: Reply) -> web.StreamResponse:
    if reply.stream is not None:
        return web.StreamResponse(status=reply.status, headers=reply.headers)
    return web.Response(status=reply.status, body=reply.body, headers=reply.headers)
