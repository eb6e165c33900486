"""The loop of a simulation: order within an instant, cancelled timers, and processes that are stopped for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context

import pytest

from pocketkube.simulation.loop import FREEZER, Freezer, SimulatedLoop


def played(scene: Callable[[list[str]], Awaitable[None]]) -> list[str]:
    """What a scene has written down."""
    lines: list[str] = []

    async def play() -> None:
        await scene(lines)

    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        runner.run(play())
    return lines


def test_what_falls_due_in_one_instant_runs_in_the_order_in_which_it_was_set() -> None:
    async def scene(lines: list[str]) -> None:
        loop = asyncio.get_running_loop()
        for number in range(100):
            loop.call_at(5.0, lines.append, f"{number}")
        loop.call_at(4.0, lines.append, "first")
        await asyncio.sleep(10)

    assert played(scene) == ["first", *map(str, range(100))]


@pytest.mark.parametrize("count", [10, 5_000], ids=["few", "many"])
def test_a_cancelled_timer_does_not_run_and_keeps_no_other_from_running(count: int) -> None:
    async def scene(lines: list[str]) -> None:
        loop = asyncio.get_running_loop()
        timers = [loop.call_at(1.0 + n, lines.append, f"{n}") for n in range(count)]
        for number, timer in enumerate(timers):
            if number % 5:
                timer.cancel()
        await asyncio.sleep(count + 2)
        assert loop.time() == count + 2

    assert played(scene) == [f"{number}" for number in range(0, count, 5)]


def test_a_stopped_process_does_what_it_missed_when_it_is_resumed_unless_it_was_called_off() -> (
    None
):
    async def scene(lines: list[str]) -> None:
        loop = asyncio.get_running_loop()

        def note(what: str) -> None:
            lines.append(f"{loop.time():g} {what}")

        freezer, context = Freezer(), copy_context()
        context.run(FREEZER.set, freezer)
        loop.call_at(1.0, note, "mine", context=context)
        loop.call_at(2.0, note, "mine later", context=context)
        called_off = loop.call_at(3.0, note, "mine, called off", context=context)
        loop.call_at(3.0, note, "somebody's")
        freezer.stopped = True
        await asyncio.sleep(10)
        called_off.cancel()
        freezer.resume()
        await asyncio.sleep(10)

    assert played(scene) == ["3 somebody's", "10 mine", "10 mine later"]


def test_a_loop_without_a_timer_hears_of_what_happens_in_a_thread() -> None:
    async def scene(lines: list[str]) -> None:
        lines.append(await asyncio.to_thread(str, "done"))

    assert played(scene) == ["done"]
