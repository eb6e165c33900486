"""A transport without sockets: a handler answers in the same process, with the bytes it would put on a wire.

Actors of the embedded cluster and simulation talk to its API server through it. Deadlines are the caller's, as with the real
transport; a handler that raises is a server that broke off, for there is nobody in between to answer 500.
"""

from collections.abc import AsyncIterator, Mapping
import contextlib
from functools import lru_cache
from typing import Self

from multidict import CIMultiDict, CIMultiDictProxy

from kubeloop.net.http import Guard, Request
from kubeloop.net.server import Handler, Reply


class InProcessTransport:
    """Carries requests to a handler; `headers` are added to each of them."""

    def __init__(self, handler: Handler, headers: Mapping[str, str] | None = None) -> None:
        self._handler = handler
        self._headers = dict(headers or {})

    def with_headers(self, more: Mapping[str, str]) -> "InProcessTransport":
        """The same, with more headers."""
        return InProcessTransport(self._handler, {**self._headers, **more})

    async def send(self, request: Request, guard: Guard | None = None) -> "InProcessResponse":
        if guard is not None:
            guard()
        headers = CIMultiDict({**self._headers, **request.headers})
        reply = await self._handler(Request(request.method, request.target, headers, request.body))
        return InProcessResponse(reply, has_body=request.method != "HEAD")

    async def close(self) -> None:
        """Nothing is held."""


class InProcessResponse:
    """A reply as its reader sees it."""

    def __init__(self, reply: Reply, *, has_body: bool) -> None:
        self.status = reply.status
        self.headers = _headers(tuple(reply.headers.items()))
        self._body = reply.body if has_body else b""
        self._stream = reply.stream
        self.outlet = reply.outlet

    async def read(self) -> bytes:
        if self._stream is None:
            return self._body
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        if self._stream is None:
            if self._body:
                yield self._body
            return
        async with contextlib.aclosing(self._stream):
            async for chunk in self._stream:
                yield chunk

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@lru_cache(maxsize=64)
def _headers(given: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Headers as a reader looks them up; most replies have the same."""
    return CIMultiDictProxy(CIMultiDict(given))
