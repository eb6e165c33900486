"""The storage of the embedded API server by itself: what is left of it under HTTP and schemas is for the embedded benchmarks.

`storage-create` compares 32 writers in flight with the bare disk: as many commits of the same rows through SQLite alone, one sync
each. `storage-list` compares pages of bytes with copying the same bytes once. `storage-watchers` is the cost of an event per watcher.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
import gc
from pathlib import Path
import sqlite3
import tempfile
from time import perf_counter

from bench.table import Row
from pocketkube.apiserver.storage import Create, Draft, Key, Storage, Watch, open_storage

IN_FLIGHT = 32
CREATES = 4_000
PODS = 3_000
PAGE = 500
WATCHERS = (1, 50, 500)
EVENTS = 400
ROUNDS = 3

SHARED_SYNCS = 0.5
"""Bar: 32 writers that share syncs need at most half of the time that one sync for each of them needs."""
COPIES = 3.0
FLAT = 1.2

Tell = Callable[[str], None]


def create(tell: Tell) -> Iterator[Row]:
    """Microseconds of a durable create of 1 KB with 32 in flight, against a commit of its own for each."""
    tell("storage-create")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        ours = min(
            asyncio.run(_creates(Path(folder) / f"{reconcile}.db", CREATES))
            for reconcile in range(ROUNDS)
        )
        bare = min(_commits(Path(folder) / f"bare-{reconcile}.db") for reconcile in range(ROUNDS))
    yield Row("storage-create", ours * 1e6, "us per create", bare * 1e6, SHARED_SYNCS)


def list_pages(tell: Tell) -> Iterator[Row]:
    """Milliseconds to read 3,000 pods of 2 KB in pages of 500, joined into bodies, while others write."""
    tell("storage-list")
    ours, copy = asyncio.run(_pages())
    yield Row("storage-list", ours * 1e3, "ms per list", copy * 1e3, COPIES)


def watchers(tell: Tell) -> Iterator[Row]:
    """Microseconds for an event and watcher, the worst of 1, 50 and 500 watchers against one."""
    costs = []
    for count in WATCHERS:
        tell(f"storage-watchers: {count}")
        costs.append(min(asyncio.run(_fan_out(count)) for _ in range(ROUNDS)) * 1e6)
    yield Row("storage-watchers", max(costs), "us per event and watcher", costs[0], FLAT)


async def _creates(path: Path, count: int) -> float:
    draft = _draft(1_000)
    async with open_storage(path) as storage:
        names = iter(range(count))

        async def work() -> None:
            for index in names:
                await storage.write(Create(Key("configmaps", "default", f"cm-{index}"), draft))

        return await _timed(lambda: _together(*(work() for _ in range(IN_FLIGHT)))) / count


def _commits(path: Path) -> float:
    """The disk's own price: one row, one synced commit, again and again."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE log (version INTEGER PRIMARY KEY, value BLOB)")
    value = _draft(1_000).at(1)
    count = CREATES // 8
    started = perf_counter()
    for _ in range(count):
        connection.execute("INSERT INTO log (value) VALUES (?)", (value,))
    spent = perf_counter() - started
    connection.close()
    return spent / count


async def _pages() -> tuple[float, float]:
    async with _filled(PODS, 2_000) as storage:
        ours, copies = [], []
        for reconcile in range(ROUNDS):
            gc.collect()
            started = perf_counter()
            size, at, after = 0, None, ""
            while after or at is None:
                page = storage.page("pods", at=at, after=after, limit=PAGE)
                size += len(b",".join([record.value for record in page.records]))
                at, after = page.version, page.next
                await storage.write(
                    Create(Key("pods", "other", f"{reconcile}-{size}"), _draft(2_000))
                )
            ours.append(perf_counter() - started)
            values = [record.value for record in storage.page("pods").records]
            started = perf_counter()
            b",".join(values)
            copies.append(perf_counter() - started)
        return min(ours), min(copies)


async def _fan_out(count: int) -> float:
    async with open_storage(None) as storage:

        async def follow(watch: Watch) -> None:
            seen = 0
            while seen < EVENTS:
                seen += len(await watch.next(60.0))

        async def feed() -> None:
            draft = _draft(2_000)
            for index in range(EVENTS):
                await storage.write(Create(Key("pods", "default", f"pod-{index}"), draft))
                await asyncio.sleep(0)

        tasks = (follow(storage.watch("pods")) for _ in range(count))
        return await _timed(lambda: _together(*tasks, feed())) / EVENTS / count


@asynccontextmanager
async def _filled(count: int, size: int) -> AsyncIterator[Storage]:
    async with open_storage(None) as storage:
        draft = _draft(size)
        for index in range(count):
            await storage.write(Create(Key("pods", f"ns-{index % 20}", f"pod-{index}"), draft))
        yield storage


async def _together(*work: Awaitable[None]) -> None:
    await asyncio.gather(*work)


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    started = perf_counter()
    await work()
    return perf_counter() - started


def _draft(size: int) -> Draft:
    head = b'{"metadata":{"resourceVersion":"'
    return Draft(head, b'"},"data":{"text":"%b"}}' % (b"x" * size))
