"""Lines out of a stream of bytes that may break off anywhere or fall silent.

`kubeloop.client.watch` reads through it. Only whole lines come out: what stands behind the last line break when the stream ends was cut
off by somebody, and half an object is worse than none.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from kubeloop.client.errors import Interrupted
from kubeloop.net import http


async def batches(response: http.Response, patience: float) -> AsyncGenerator[list[bytes], None]:
    """Yields the lines of each chunk together, as they come.

    Raises:
        Interrupted: the connection broke, or no byte came for `patience` seconds.
    """
    chunks = response.chunks()
    silence = _Silence(patience)
    parts: list[bytes] = []
    try:
        while (chunk := await silence.broken_by(chunks)) is not None:
            head, line_break, rest = chunk.rpartition(b"\n")
            if not line_break:
                parts.append(rest)
                continue
            whole = b"".join((*parts, head)) if parts else head
            parts = [rest] if rest else []
            yield [line for line in whole.split(b"\n") if line]
    except http.NetError as error:
        raise Interrupted(str(error)) from error
    finally:
        silence.end()
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


class _Silence:
    """Ends a wait that lasts too long. Most waits are short, so that one timer outlives many of them."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Task[object] | None = None
        self._due = 0.0
        self._others: int | None = None
        """How many others have cancelled the wait, once it has lasted too long."""
        self._timer: asyncio.TimerHandle | None = None

    async def broken_by(self, chunks: AsyncIterator[bytes]) -> bytes | None:
        """Waits for the next chunk; None is the end of the stream."""
        task = self._waiting = asyncio.current_task()
        self._due = self._loop.time() + self._patience
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._ring)
        try:
            return await anext(chunks, None)
        except asyncio.CancelledError:
            if task is None or self._others is None or task.uncancel() > self._others:
                raise
            raise Interrupted(f"the server has been silent for {self._patience:g} s") from None
        finally:
            self._waiting = None

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self._loop.time() < self._due:
            self._timer = self._loop.call_at(self._due, self._ring)
        else:
            self._others = self._waiting.cancelling()
            self._waiting.cancel()
