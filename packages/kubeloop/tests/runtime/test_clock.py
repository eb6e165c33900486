"""Timers on virtual and real time."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from kubeloop.runtime.clock import SystemClock, VirtualClock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def test_a_day_of_sleep_takes_no_time() -> None:
    clock = VirtualClock(NOON)
    await asyncio.sleep(86_400)
    assert clock.now() == NOON + timedelta(days=1)


async def test_timers_fire_at_their_exact_instants_in_order() -> None:
    clock = VirtualClock(NOON)
    instants = [NOON + timedelta(microseconds=k * 333_333) for k in (7, 1, 100_000, 2)]
    fired: list[tuple[datetime, datetime]] = []
    for instant in instants:
        clock.call_at(instant, lambda instant=instant: fired.append((instant, clock.now())))
    await asyncio.sleep(100_000)
    assert fired == [(instant, instant) for instant in sorted(instants)]


async def test_a_jump_is_the_same_in_every_run() -> None:
    runs: list[list[int]] = []
    for _ in range(3):
        clock = VirtualClock(NOON)
        fired: list[int] = []
        for number in range(100):
            clock.call_at(clock.now() + timedelta(hours=1), partial(fired.append, number))
        clock.jump(timedelta(minutes=30))
        await asyncio.sleep(3600)
        runs.append(fired)
    assert runs[0] == runs[1] == runs[2]
    assert sorted(runs[0]) == list(range(100))


async def test_a_cancelled_timer_stays_silent() -> None:
    clock = VirtualClock(NOON)
    fired: list[datetime] = []
    clock.call_at(NOON + timedelta(seconds=1), lambda: fired.append(clock.now())).cancel()
    await asyncio.sleep(10)
    assert fired == []


@pytest.mark.parametrize(
    ("jump", "waited"),
    [
        pytest.param(timedelta(minutes=50), 600.0, id="forward shortens the wait"),
        pytest.param(timedelta(hours=2), 0.0, id="forward past the instant fires at once"),
        pytest.param(timedelta(hours=-1), 7200.0, id="back lengthens the wait"),
    ],
)
async def test_timers_follow_the_wall_clock_when_it_is_set(jump: timedelta, waited: float) -> None:
    clock = VirtualClock(NOON)
    fired: list[float] = []
    clock.call_at(NOON + timedelta(hours=1), lambda: fired.append(clock.monotonic()))
    clock.jump(jump)
    await asyncio.sleep(10_000)
    assert fired == [waited]


@pytest.mark.enable_socket
async def test_the_system_clock_is_never_early() -> None:
    clock = SystemClock()
    fired = asyncio.get_running_loop().create_future()
    due = clock.now() + timedelta(milliseconds=5)
    clock.call_at(due, lambda: fired.set_result(clock.now()))
    assert await fired >= due


async def test_timers_fire_after_a_century_too() -> None:
    async with asyncio.timeout(4e9):
        await asyncio.sleep(3_600 * 24 * 365 * 100.0)
