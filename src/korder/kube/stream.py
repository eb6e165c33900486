"""Lines out of a stream of bytes that may break off anywhere or fall silent.

`kube.watch` reads through it. Only whole lines come out: what stands behind the last line break when the stream ends was cut
off by somebody, and half an object is worse than none.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from korder.kube.errors import Interrupted
from korder.net import http


async def batches(response: http.Response, patience: float) -> AsyncGenerator[list[bytes], None]:
    """Yields the lines of each chunk together, as they come.

    Raises:
        Interrupted: the connection broke, or no byte came for `patience` seconds.
    """
    chunks = response.chunks()
    parts: list[bytes] = []
    try:
        while (chunk := await _next(chunks, patience)) is not None:
            head, line_break, rest = chunk.rpartition(b"\n")
            if not line_break:
                parts.append(rest)
                continue
            whole = b"".join((*parts, head))
            parts = [rest]
            yield [line for line in whole.split(b"\n") if line]
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


async def _next(chunks: AsyncIterator[bytes], patience: float) -> bytes | None:
    try:
        async with asyncio.timeout(patience):
            return await anext(chunks, None)
    except TimeoutError:
        raise Interrupted(f"the server has been silent for {patience:g} s") from None
    except http.NetError as error:
        raise Interrupted(str(error)) from error
