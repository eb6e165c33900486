"""Lines out of bytes that come as they like."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from itertools import pairwise
from typing import Any

from hypothesis import given, strategies as st
import pytest

from kubeloop.client.errors import Interrupted
from kubeloop.client.stream import batches
from kubeloop.net.http import AnswerLost

Make = Callable[..., Any]


async def lines(response: Any, patience: float = 60) -> list[bytes]:
    return [line async for batch in batches(response, patience) for line in batch]


class Chunks:
    """An answer whose chunks are cut at will."""

    def __init__(self, data: bytes, cuts: list[int]) -> None:
        edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
        self._parts = [data[a:b] for a, b in pairwise(edges)]

    async def chunks(self) -> Any:
        for part in self._parts:
            yield part


@given(
    st.lists(st.binary(min_size=1, max_size=20).filter(lambda line: b"\n" not in line)),
    st.binary(max_size=10).filter(lambda tail: b"\n" not in tail),
    st.lists(st.integers(min_value=0)),
)
def test_lines_come_out_whole_wherever_the_bytes_are_cut(
    wanted: list[bytes], tail: bytes, cuts: list[int]
) -> None:
    data = b"".join(line + b"\n" for line in wanted) + tail
    assert asyncio.run(lines(Chunks(data, cuts))) == wanted


async def test_lines_of_one_chunk_come_together(stream: Make) -> None:
    found = [batch async for batch in batches(stream(b"a\nb\nc", b"c\n\nd\n"), 60)]
    assert found == [[b"a", b"b"], [b"cc", b"d"]]


async def test_a_broken_line_is_not_used(stream: Make) -> None:
    source = batches(stream(b'{"a":1}\n{"b":', AnswerLost("reset")), 60)
    assert await anext(source) == [b'{"a":1}']
    with pytest.raises(Interrupted, match="reset"):
        await anext(source)


async def test_silence_is_noticed(stream: Make) -> None:
    with pytest.raises(Interrupted, match="silent for 180 s"):
        await lines(stream(b"a\n", 1000.0, b"b\n"), 180)
    assert asyncio.get_running_loop().time() == 180


async def test_bytes_keep_a_slow_stream_alive(stream: Make) -> None:
    assert await lines(stream(b"a", 100.0, b"b", 100.0, b"c\n"), 180) == [b"abc"]


async def test_silence_is_counted_from_the_last_byte(stream: Make) -> None:
    with pytest.raises(Interrupted, match="silent for 180 s"):
        await lines(stream(b"a\n", 100.0, b"b\n", 1000.0), 180)
    assert asyncio.get_running_loop().time() == 280


async def test_a_reader_that_takes_its_time_does_not_make_the_server_silent(stream: Make) -> None:
    async with aclosing(batches(stream(b"a\n", 100.0, b"b\n"), 180)) as batch:
        assert await anext(batch) == [b"a"]
        await asyncio.sleep(500)
        assert await anext(batch) == [b"b"]


async def test_a_reader_that_is_cancelled_at_the_very_end_of_its_patience_stays_cancelled(
    stream: Make,
) -> None:
    reading = asyncio.ensure_future(lines(stream(b"a\n", 1000.0), 180))  # noqa: TID251  it is awaited below
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_at(180, reading.cancel)
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_leaving_a_stream_ends_its_source() -> None:
    ended = asyncio.Event()

    class Endless:
        async def chunks(self) -> Any:
            try:
                while True:
                    yield b"line\n"
            finally:
                ended.set()

    source = batches(Endless(), 60)
    assert await anext(source) == [b"line"]
    await source.aclose()
    assert ended.is_set()
