"""Cost per event of the queue and the store, at growing numbers of objects: it must not grow with them."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
import gc
import random
from time import perf_counter

from bench.table import Row
from korder.api.meta import Key, Object, ObjectMeta
from korder.runtime.clock import SystemClock
from korder.runtime.queue import WorkQueue
from korder.runtime.store import Store, by_namespace, by_owner

SIZES = (1_000, 10_000, 100_000)
EVENTS = 20_000
ROUNDS = 9
FLAT = 1.5

Tell = Callable[[str], None]


def queue_event(tell: Tell) -> Iterator[Row]:
    """An event for a random name: added, set for later, handed out, done."""
    yield _flat("queue-event", _queue_rounds, tell)


def store_event(tell: Tell) -> Iterator[Row]:
    """A change of a random object in a store with two indexes, and a look-up through one."""
    yield _flat("store-event", _store_rounds, tell)


def _flat(name: str, rounds: Callable[[int], Callable[[], float]], tell: Tell) -> Row:
    """Measures all sizes in turn, several times; the best round of each is the one the neighbours disturbed least."""
    runs = {}
    for size in SIZES:
        tell(f"{name}: preparing {size:,} objects")
        runs[size] = rounds(size)
    samples: dict[int, list[float]] = {size: [] for size in SIZES}
    gc.collect()
    gc.disable()
    for turn in range(ROUNDS):
        tell(f"{name}: round {turn + 1} of {ROUNDS}")
        for size in SIZES:
            samples[size].append(runs[size]() / EVENTS * 1e6)
    gc.enable()
    costs = [min(samples[size]) for size in SIZES]
    return Row(name, max(costs), "us per event", min(costs), FLAT)


def _queue_rounds(size: int) -> Callable[[], float]:
    rng = random.Random(size)
    names = [Key("ns", f"object-{index}") for index in range(size)]
    runner = asyncio.Runner()
    clock = SystemClock()

    async def prepare() -> WorkQueue[Key]:
        queue: WorkQueue[Key] = WorkQueue(clock, rng)
        for name in names:
            queue.add_at(name, clock.now() + timedelta(hours=rng.uniform(1, 24)))
        return queue

    queue = runner.run(prepare())

    async def run() -> float:
        chosen = rng.choices(names, k=EVENTS)
        later = clock.now() + timedelta(hours=2)
        started = perf_counter()
        for name in chosen:
            queue.add(name)
            queue.add_at(name, later)
            queue.done(await queue.get())
        return perf_counter() - started

    return lambda: runner.run(run())


def _store_rounds(size: int) -> Callable[[], float]:
    rng = random.Random(size)
    store: Store[Object] = Store({"namespace": by_namespace, "owner": by_owner})
    store.replace((_object(index, index + 1) for index in range(size)), str(size))
    version = size

    def run() -> float:
        nonlocal version
        chosen = [_object(rng.randrange(size), version + i) for i in range(1, EVENTS + 1)]
        version += EVENTS
        started = perf_counter()
        for obj in chosen:
            store.apply(obj)
            len(store.reader.where("namespace", obj.metadata.namespace))
        return perf_counter() - started

    return run


def _object(index: int, version: int) -> Object:
    meta = ObjectMeta(
        name=f"object-{index}",
        namespace=f"ns-{index % 100}",
        uid=f"uid-{index}",
        resource_version=str(version),
    )
    return Object(metadata=meta)
