"""Answers on the wire of a simulation."""

from pocketkube.simulation.wire import Arrived


async def test_a_stream_that_was_cut_can_still_be_closed_and_ends_once() -> None:
    ends: list[str] = []
    arrived = Arrived(200, {}, b"")
    arrived.on_end(lambda: ends.append("ended"))
    arrived.end()
    await arrived.close()
    assert ends == ["ended"]
