"""The queue: each name once, in order, on time, and never twice at a time."""

import asyncio
from datetime import UTC, datetime, timedelta
import random

from hypothesis import given, strategies as st
import pytest

from kubeloop.runtime.clock import VirtualClock, VirtualLoop
from kubeloop.runtime.queue import LONGEST_RETRY, QueueClosed, WorkQueue

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START)


@pytest.fixture
def queue(clock: VirtualClock) -> WorkQueue[str]:
    return WorkQueue(clock, random.Random(1))


async def take(queue: WorkQueue[str]) -> str:
    key = await queue.get()
    queue.done(key)
    return key


async def test_a_name_added_often_is_handed_out_once(queue: WorkQueue[str]) -> None:
    for name in "abcab":
        queue.add(name)
    assert [await take(queue) for _ in range(len(queue))] == ["a", "b", "c"]


async def test_a_name_in_work_is_not_handed_to_a_second_worker(queue: WorkQueue[str]) -> None:
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0


async def test_a_delayed_name_comes_at_its_instant(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    queue.add_at("late", START + timedelta(hours=9))
    queue.add_at("early", START + timedelta(hours=1))
    assert await take(queue) == "early"
    assert clock.now() == START + timedelta(hours=1)
    assert await take(queue) == "late"
    assert clock.now() == START + timedelta(hours=9)


@pytest.mark.parametrize("hours", [(5, 2), (2, 5)], ids=["later first", "earlier first"])
async def test_the_earliest_wish_counts_and_is_fulfilled_once(
    queue: WorkQueue[str], clock: VirtualClock, hours: tuple[int, int]
) -> None:
    for hour in hours:
        queue.add_at("a", START + timedelta(hours=hour))
    await take(queue)
    assert clock.now() == START + timedelta(hours=2)
    assert (len(queue), queue.delayed) == (0, 0)


async def test_a_look_clears_the_timer_because_it_decides_anew(queue: WorkQueue[str]) -> None:
    queue.add_at("a", START + timedelta(hours=1))
    queue.add("a")
    await take(queue)
    assert queue.delayed == 0
    await asyncio.sleep(7200)
    assert len(queue) == 0


async def test_retries_grow_are_bounded_and_start_over_after_success(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    waits = []
    for _ in range(20):
        before = clock.now()
        queue.retry("a")
        await take(queue)
        waits.append((clock.now() - before).total_seconds())
    assert waits[0] < 0.03
    assert LONGEST_RETRY / 2 <= waits[-1] <= LONGEST_RETRY
    queue.forget("a")
    before = clock.now()
    queue.retry("a")
    await take(queue)
    assert (clock.now() - before).total_seconds() < 0.03


async def test_names_that_failed_together_do_not_come_back_together(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    for name in "abcdef":
        queue.retry(name)
    moments = set()
    for _ in range(6):
        await take(queue)
        moments.add(clock.now())
    assert len(moments) == 6


async def test_a_hot_name_does_not_starve_the_others(queue: WorkQueue[str]) -> None:
    for name in ("hot", "b", "c"):
        queue.add(name)
    order = []
    for _ in range(6):
        key = await queue.get()
        queue.add("hot")
        queue.done(key)
        order.append(key)
    assert order[:4] == ["hot", "b", "c", "hot"]


async def test_rescheduling_for_ever_does_not_pile_up_timers(queue: WorkQueue[str]) -> None:
    for _ in range(10_000):
        queue.add_at("a", START + timedelta(days=1))
        queue.add("a")
        await take(queue)
    assert queue._timers._kept < 200


async def test_closing_wakes_waiting_workers(queue: WorkQueue[str]) -> None:
    async def closer() -> None:
        await asyncio.sleep(1)
        queue.close()

    async with asyncio.TaskGroup() as group:
        group.create_task(closer())
        with pytest.raises(QueueClosed):
            await queue.get()
    queue.add("too late")
    with pytest.raises(QueueClosed):
        await queue.get()


async def test_a_cancelled_worker_passes_its_name_on(queue: WorkQueue[str]) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(queue.get())
        second = group.create_task(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        assert await second == "a"


operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("abcd")),
        st.tuples(st.just("at"), st.sampled_from("abcd"), st.integers(0, 50)),
        st.tuples(st.just("work"), st.integers(0, 5)),
    )
)


@given(operations)
def test_every_wish_is_followed_by_a_look_no_earlier_and_no_later(ops: list[tuple]) -> None:
    """Against an oracle: after the last wish of a name there is a look at or after its instant, at the earliest moment."""

    async def play() -> None:
        clock = VirtualClock(START)
        queue: WorkQueue[str] = WorkQueue(clock, random.Random(2))
        wishes: dict[str, float] = {}
        for op in ops:
            now = clock.monotonic()
            match op:
                case ("add", name):
                    queue.add(name)
                    wishes[name] = min(wishes.get(name, now), now)
                case ("at", name, delay):
                    queue.add_at(name, clock.now() + timedelta(seconds=delay))
                    wishes[name] = min(wishes.get(name, now + delay), now + delay)
                case ("work", delay):
                    await asyncio.sleep(delay)
                    while len(queue):
                        name = await take(queue)
                        assert wishes.pop(name) <= clock.monotonic()
        for _ in range(len(wishes)):
            due = max(min(wishes.values()), clock.monotonic())
            name = await take(queue)
            assert clock.monotonic() == pytest.approx(due)
            assert wishes.pop(name) <= clock.monotonic()
        assert (len(queue), queue.delayed) == (0, 0)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(play())


async def test_what_is_asked_within_a_debounce_is_one_look(queue: WorkQueue[str]) -> None:
    for _ in range(3):
        queue.add_after("a", 0.01)
    assert len(queue) == 0
    assert await queue.get() == "a"
    queue.done("a")
    assert len(queue) == 0
