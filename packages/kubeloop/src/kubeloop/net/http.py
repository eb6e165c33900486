"""HTTP as values: a request, a response that can be streamed, and the seam where a transport is plugged in.

`kubeloop.client.client` builds requests and sends them through a `Transport`; `kubeloop.net.client` is the real one over aiohttp, tests and
simulation put a function, a fault injector or an in-process server in its place.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol, Self

import msgspec

Guard = Callable[[], None]
"""Asked at the last moment before a request's bytes leave; raises to hold them back."""


class Request(msgspec.Struct, frozen=True):
    """One HTTP request. `target` is path and query, already encoded; the transport knows the server."""

    method: str
    target: str
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Response(Protocol):
    """The head of an answer, with its body still to be read; must be closed, which `async with` does."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes: ...

    def chunks(self) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


class Transport(Protocol):
    """Carries requests to one server."""

    async def send(self, request: Request, guard: Guard | None = None) -> Response: ...

    async def close(self) -> None: ...


class NetError(Exception):
    """Base of what can go wrong below HTTP."""


class Unreachable(NetError):
    """No connection could be made: the server has certainly not seen the request."""


class NotListening(Unreachable):
    """The machine is there and says that nobody listens at that port."""


class AnswerLost(NetError):
    """The connection broke after bytes were sent: the server may or may not have acted."""
