"""Timers for many names: they follow the clock, and leave nothing behind."""

import asyncio
from datetime import UTC, datetime, timedelta
import random

from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.queue import WorkQueue
from kubeloop.runtime.timers import Timers


async def test_a_wish_that_was_met_is_not_kept_until_its_instant() -> None:
    clock = VirtualClock()
    timers: Timers[str] = Timers(clock, lambda _: None)
    far = clock.now() + timedelta(days=30)
    for i in range(20_000):
        timers.set(f"object-{i}", far + timedelta(seconds=i))
        timers.met(f"object-{i}")
    assert len(timers) == 0
    assert len(timers._wishes) < 200
    timers.close()


async def test_open_wishes_are_counted_through_every_change() -> None:
    clock = VirtualClock()
    fired: list[str] = []
    timers: Timers[str] = Timers(clock, fired.append)
    soon = clock.now() + timedelta(seconds=5)
    for name in ("a", "b", "c"):
        timers.set(name, soon)
    timers.set("a", soon - timedelta(seconds=1))
    timers.met("b")
    timers.met("b")
    assert len(timers) == 2
    await asyncio.sleep(10)
    assert (fired, len(timers)) == (["a", "c"], 0)


async def test_a_pause_after_a_failure_does_not_grow_when_the_clock_is_set_back() -> None:
    clock = VirtualClock()
    queue: WorkQueue[str] = WorkQueue(clock, random.Random(1))
    queue.retry("a")
    clock.jump(timedelta(hours=-1))
    async with asyncio.timeout(1):
        assert await queue.get() == "a"
    queue.close()


async def test_the_last_instant_of_all_calendars_can_be_asked_for() -> None:
    """Lengths of time that lead beyond it end there."""
    clock = VirtualClock()
    fired: list[str] = []
    timers: Timers[str] = Timers(clock, fired.append)
    timers.set("a", datetime.max.replace(tzinfo=UTC))
    timers.set("b", clock.now() + timedelta(seconds=5))
    await asyncio.sleep(10)
    assert (fired, len(timers)) == (["b"], 1)
    timers.close()
