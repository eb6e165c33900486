"""The real transport: HTTP/1.1 over aiohttp, to one server.

`kubeloop.client.connect` makes it; everybody else sees only `net.http.Transport`. It sends each request at most once and says
precisely whether it was sent: aiohttp would quietly repeat some requests on a connection that had gone stale, so hooks
watch the moment of departure, ask the guard there, and stop a second one. Nothing here limits time or the number of
connections: callers have deadlines and decide how much is in flight.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
import contextlib
import errno
import io
import os
import socket
import ssl
from types import SimpleNamespace
from typing import Self
from weakref import WeakSet

import aiohttp
from yarl import URL

from kubeloop.net.http import AnswerLost, Guard, NetError, NotListening, Request, Unreachable
from kubeloop.net.tls import RotatingTls

Authorize = Callable[[], Awaitable[Mapping[str, str]]]
"""Gives the headers that prove who we are; asked before each request, because tokens change."""

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for one address to accept a connection."""

KEEP_ALIVE = 60.0
"""Seconds an idle connection is kept; API servers drop theirs after 90."""

ROUNDS = 10
"""Turns of the loop in which connections let go of their sockets; it takes them two to four."""

LARGE_BODY = 1 << 20
"""Bytes from which a body is handed over in pieces, so that writing it does not hold up the loop."""


class HttpTransport:
    """Carries requests to the server at `base_url`, which may have a path."""

    def __init__(
        self,
        base_url: str,
        *,
        tls: RotatingTls | None = None,
        authorize: Authorize | None = None,
        proxy: str = "",
        headers: Mapping[str, str] | None = None,
        compress: bool = True,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._tls = tls
        self._authorize = authorize
        self._proxy = proxy or None
        self._headers = {"Accept-Encoding": "gzip" if compress else "identity", **(headers or {})}
        self._session: aiohttp.ClientSession | None = None
        self._sockets = WeakSet[socket.socket]()

    async def send(self, request: Request, guard: Guard | None = None) -> "HttpResponse":
        """Sends `request` once and returns the head of the answer.

        Raises:
            Unreachable: nothing was sent.
            AnswerLost: something was sent and no answer came.
        """
        headers = {**self._headers, **request.headers}
        if self._authorize is not None:
            headers |= await self._authorize()
        departure = _Departure(guard, has_body=bool(request.body))
        try:
            answer = await self._open_session().request(
                request.method,
                URL(self._base_url + request.target, encoded=True),
                data=_payload(request.body),
                headers=headers,
                allow_redirects=False,
                proxy=self._proxy,
                ssl=True if self._tls is None else self._tls.context(),
                server_hostname=(self._tls.server_name or None) if self._tls else None,
                trace_request_ctx=departure,
            )
        except (aiohttp.ClientError, OSError, ValueError, _SentTwiceError) as error:
            raise departure.explain(error, self._base_url) from error
        return HttpResponse(answer)

    async def close(self) -> None:
        """Drops all connections; the next request would open new ones."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            await self._hang_up()

    async def _hang_up(self) -> None:
        """Ends also connections whose request was given up at their birth: asyncio would wait half a minute for the server to agree."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
            if all(each.fileno() < 0 for each in self._sockets):
                break

    def _new_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        self._sockets.add(made)
        return made

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, keepalive_timeout=KEEP_ALIVE, socket_factory=self._new_socket
                ),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[_departure_hooks()],
            )
        return self._session


class HttpResponse:
    """An answer over aiohttp; closing it before its end drops the connection, reading to the end keeps it."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    async def read(self) -> bytes:
        try:
            return await self._answer.read()
        except (aiohttp.ClientError, OSError) as error:
            raise AnswerLost(f"the answer broke off: {_cause(error)}") from error

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise AnswerLost(f"the answer broke off: {_cause(error)}") from error

    async def close(self) -> None:
        # A body that was not read to its end has a connection nobody can use any more. Closing it politely would wait for
        # the server to agree, long after whoever owned the watch is gone.
        connection = self._answer.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()
        self._answer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _SentTwiceError(Exception):
    """Stops aiohttp from repeating a request that has left once."""


class _Departure:
    """The moment at which a request's bytes leave: guarded, and only once."""

    def __init__(self, guard: Guard | None, *, has_body: bool) -> None:
        self.has_body = has_body
        self.over = False
        self._guard = guard
        self._refusal: BaseException | None = None

    def leave(self) -> None:
        if self.over:
            raise _SentTwiceError
        if self._guard is not None:
            try:
                self._guard()
            except BaseException as refusal:
                self._refusal = refusal
                raise
        self.over = True

    def explain(self, error: BaseException, server: str) -> BaseException:
        if self._refusal is not None:
            return self._refusal
        absent = NotListening if _is_refused(error) else Unreachable
        lost: type[NetError] = AnswerLost if self.over else absent
        if isinstance(error, _SentTwiceError):
            return lost(f"{server} closed the connection without an answer")
        return lost(f"{server}: {_cause(error)}")


def _is_refused(error: BaseException) -> bool:
    return (
        isinstance(error, aiohttp.ClientConnectorError)
        and error.os_error.errno == errno.ECONNREFUSED
    )


def _departure_hooks() -> aiohttp.TraceConfig:
    """Hooks for the two places where aiohttp first writes: with the head, or, if there is one, with the body."""

    async def headers_ready(
        _: aiohttp.ClientSession,
        context: SimpleNamespace,
        __: aiohttp.TraceRequestHeadersSentParams,
    ) -> None:
        departure: _Departure = context.trace_request_ctx
        if departure.over or not departure.has_body:
            departure.leave()

    async def body_ready(
        _: aiohttp.ClientSession, context: SimpleNamespace, __: aiohttp.TraceRequestChunkSentParams
    ) -> None:
        departure: _Departure = context.trace_request_ctx
        if not departure.over:
            departure.leave()

    hooks = aiohttp.TraceConfig()
    hooks.on_request_headers_sent.append(headers_ready)
    hooks.on_request_chunk_sent.append(body_ready)
    return hooks


def _payload(body: bytes) -> bytes | io.BytesIO | None:
    return io.BytesIO(body) if len(body) > LARGE_BODY else body or None


def _cause(error: BaseException) -> str:
    """Finds words for an error whose own text may be empty, repeat the address or show internals."""
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the connection was closed in the middle of it"
    if isinstance(error, ssl.SSLError) or not isinstance(error, OSError) or not error.errno:
        return str(error) or type(error).__name__
    return os.strerror(error.errno) if error.errno > 0 else str(error.strerror)
