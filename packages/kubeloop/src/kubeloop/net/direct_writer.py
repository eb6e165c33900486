"""A second way out of a reply that streams: straight to the connection, without a turn of the stream's task.

A handler puts an `Outlet` into its `Reply` beside the stream, `kubeloop.net.server` opens it once the reply has begun, and whoever feeds the
stream may send through it while the stream waits. Without sockets (`kubeloop.net.in_process`) the reader of the response may open it to a
connection of its own. Without any, with one that cannot take chunks and with a client that is behind, the outlet is not free:
everything goes through the stream, which waits for its client.
"""

from functools import lru_cache
from typing import Protocol


class Connection(Protocol):
    """Where chunks go; the transports of asyncio are some."""

    def get_write_buffer_size(self) -> int: ...

    def is_closing(self) -> bool: ...

    def write(self, data: bytes) -> None: ...


class Outlet:
    """Sends chunks to a client who keeps up."""

    __slots__ = ("_bare", "_transport")

    def __init__(self) -> None:
        self._transport: Connection | None = None
        self._bare = False

    def open(self, transport: Connection | None, *, bare: bool = False) -> None:
        """Sends to this connection from now on; `bare` without the frames that chunks have on a wire."""
        self._transport = transport
        self._bare = bare

    @property
    def free(self) -> bool:
        """Whether a chunk leaves at once: somebody is there, and nothing that was sent before waits for them."""
        transport = self._transport
        return not (
            transport is None or transport.get_write_buffer_size() or transport.is_closing()
        )

    def send(self, chunk: bytes) -> None:
        """Sends a chunk, while the outlet is free."""
        assert self._transport is not None  # noqa: S101  it is free
        self._transport.write(chunk if self._bare else _last_framed(chunk))


def framed(chunk: bytes) -> bytes:
    """A chunk as it stands on the wire."""
    return b"%x\r\n%b\r\n" % (len(chunk), chunk)


_last_framed = lru_cache(maxsize=1)(framed)
"""Framed once for all to whom the same is sent one after the other."""
