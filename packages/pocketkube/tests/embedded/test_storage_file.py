"""The file behind a storage: what survives, what is refused, what many writers share. Real threads, real time."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
import resource
import sqlite3
import stat
import subprocess
import sys
from time import process_time

import pytest

from pocketkube.apiserver.storage import (
    Closed,
    Conflict,
    Create,
    Delete,
    Draft,
    Key,
    Storage,
    Unusable,
    Update,
    Watch,
    Window,
    WriteFailed,
    open_storage,
)
from pocketkube.apiserver.storage.journal import open_journal

pytestmark = pytest.mark.enable_socket

OPEN = """
import asyncio, pathlib, sys
from pocketkube.apiserver.storage import Unusable, open_storage
async def main():
    async with open_storage(pathlib.Path(sys.argv[1])):
        pass
try:
    asyncio.run(main())
except Unusable as error:
    print(error)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "korder.db"


def a(name: str) -> Key:
    return Key("configmaps", "default", name)


def sized(size: int = 10) -> Draft:
    return Draft(b'{"rv":"', b'","text":"%b"}' % (b"x" * size))


def stated(storage: Storage) -> list[tuple[str, bytes]]:
    return [(record.key.path, record.value) for record in storage.page("configmaps").records]


async def test_everything_is_there_after_reopening_and_watches_resume(file: Path) -> None:
    async with open_storage(file) as storage:
        await storage.write(Create(a("kept"), sized()))
        (gone,) = await storage.write(Create(a("gone"), sized()))
        await storage.write(Delete(a("gone"), sized(3), gone.version))
        (old,) = await storage.write(Create(a("changed"), sized()))
        await storage.write(Update(a("changed"), sized(4), old.version))
        before = stated(storage)
        expected = await storage.watch("configmaps", since=1).next()
    async with open_storage(file) as storage:
        assert stated(storage) == before
        assert storage.version == 6
        events = await storage.watch("configmaps", since=1).next()
        assert [_plain(event) for event in events] == [_plain(event) for event in expected]
        (record,) = await storage.write(Create(a("next"), sized()))
        assert record.version == 7


def test_a_commit_is_on_the_disk_before_it_is_acknowledged(file: Path) -> None:
    journal, _ = open_journal(file)
    (level,) = journal._connection.execute("PRAGMA synchronous").fetchone()
    journal.close()
    assert level == 2, "FULL: with anything less a power cut takes what was acknowledged"


def _plain(event: object) -> object:
    """An event by its contents."""
    record, previous = event.record, event.previous  # type: ignore[attr-defined]
    return (
        event.change,  # type: ignore[attr-defined]
        (record.key, record.version, record.value),
        previous and (previous.key, previous.version, previous.value),
    )


async def test_a_version_is_never_used_twice_even_if_its_last_trace_is_compacted(
    file: Path,
) -> None:
    async with open_storage(file) as storage:
        (record,) = await storage.write(Create(a("x"), sized()))
        (last,) = await storage.write(Delete(a("x"), sized(), record.version))
        await storage.compact(last.version)
    assert _rows(file) == 0
    async with open_storage(file) as storage:
        assert storage.version == storage.oldest == last.version
        (record,) = await storage.write(Create(a("x"), sized()))
        assert record.version == last.version + 1


async def test_compaction_leaves_one_row_for_each_object_and_those_the_window_needs(
    file: Path,
) -> None:
    async with open_storage(file) as storage:
        (record,) = await storage.write(Create(a("x"), sized()))
        for size in range(10):
            (record,) = await storage.write(Update(a("x"), sized(size), record.version))
        await storage.write(Create(a("y"), sized()))
        await storage.compact(10)
        assert storage.oldest == 10
    async with open_storage(file) as storage:
        assert storage.oldest == 10
        events = await storage.watch("configmaps", since=10).next()
        assert [event.version for event in events] == [11, 12, 13]
        assert [event.previous.version for event in events if event.previous] == [10, 11]
    assert _rows(file) == 4


def _rows(file: Path) -> int:
    connection = sqlite3.connect(file)
    (count,) = connection.execute("SELECT count(*) FROM log").fetchone()
    connection.close()
    assert isinstance(count, int)
    return count


async def test_writers_in_flight_do_not_get_in_each_others_way(file: Path) -> None:
    async with open_storage(file) as storage:
        watch = storage.watch("configmaps")
        await storage.write(Create(a("counter"), sized()))

        async def count(times: int) -> None:
            while times:
                record = storage.get(a("counter"))
                assert record is not None
                try:
                    await storage.write(Update(a("counter"), sized(), record.version))
                    times -= 1
                except Conflict:
                    continue

        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(count(10))
        seen: list[int] = []
        while len(seen) < 81:
            seen += [event.version for event in await watch.next()]
        assert seen == list(range(2, 83))


async def test_closing_lets_what_was_submitted_finish_and_watches_hear_of_it(file: Path) -> None:
    heard: list[int] = []

    async def follow(watch: Watch) -> None:
        with suppress(Closed):
            while True:
                heard.extend(event.version for event in await watch.next())

    async with open_storage(file) as storage, asyncio.TaskGroup() as group:
        group.create_task(follow(storage.watch("configmaps")))
        tasks = [group.create_task(_create(storage, f"{i}")) for i in range(100)]
        await asyncio.sleep(0)
        await storage.close()
    assert heard == sorted(task.result() for task in tasks) == list(range(2, 102))
    async with open_storage(file) as storage:
        assert len(stated(storage)) == 100


async def test_a_compaction_that_falls_due_while_closing_holds_nobody_up(file: Path) -> None:
    async with open_storage(file, Window(events=8)) as storage, asyncio.TaskGroup() as group:
        for index in range(100):
            group.create_task(_create(storage, f"{index}"))
        await asyncio.sleep(0)
        await storage.close()
    async with open_storage(file) as storage:
        assert len(stated(storage)) == 100


async def _create(storage: Storage, name: str) -> int:
    (record,) = await storage.write(Create(a(name), sized()))
    return record.version


async def test_a_cancelled_writer_harms_nobody(file: Path) -> None:
    async with open_storage(file) as storage:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(_create(storage, "cancelled"))
            await asyncio.sleep(0)
            task.cancel()
        await _create(storage, "next")
        assert [path for path, _ in stated(storage)] == ["default/cancelled", "default/next"]


async def test_the_file_is_for_its_owner_only_because_secrets_are_in_it(file: Path) -> None:
    async with open_storage(file) as storage:
        await storage.write(Create(a("x"), sized()))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    assert modes == {"korder.db": 0o600, "korder.db-wal": 0o600}


async def test_a_second_process_is_reported_that_the_file_is_in_use(file: Path) -> None:
    async with open_storage(file):
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", OPEN, str(file), stdout=subprocess.PIPE
        )
        output, _ = await child.communicate()
    assert output.decode() == f"{file} is in use by another process\n"


def _foreign(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()


def _newer(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.executescript("PRAGMA application_id = 0x6B6F7264; PRAGMA user_version = 2")
    connection.close()


def _text(file: Path) -> None:
    file.write_text("this is a shopping list and not a database at all\n" * 10)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        pytest.param(_foreign, "is a database of another program", id="another program's"),
        pytest.param(
            _newer,
            "was written by a newer korder: its format is 2, this one knows 1",
            id="of a newer korder",
        ),
        pytest.param(_text, "is not a store of korder, or it is damaged", id="not a database"),
        pytest.param(Path.mkdir, "cannot be opened: unable to open database", id="a directory"),
    ],
)
async def test_a_file_that_is_no_storage_is_refused_in_one_sentence_and_left_alone(
    tmp_path: Path, make: object, sentence: str
) -> None:
    file = tmp_path / "some.db"
    make(file)  # type: ignore[operator]
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises(Unusable, match=sentence):
        async with open_storage(file):
            pass
    assert (file.read_bytes() if file.is_file() else None) == before


async def test_a_place_that_cannot_be_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unusable, match=r"cannot be opened: .*/file: File exists"):
        async with open_storage(tmp_path / "file" / "korder.db"):
            pass


@contextmanager
def a_full_disk(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_fails_the_writes_it_hits_and_nothing_else(file: Path) -> None:
    async with open_storage(file) as storage:
        watch = storage.watch("configmaps")
        (fine,) = await storage.write(Create(a("fine"), sized()))
        with a_full_disk(1_000_000):
            with pytest.raises(WriteFailed):
                await storage.write(Create(a("large"), sized(3_000_000)))
            with pytest.raises(WriteFailed):
                await storage.write(Update(a("fine"), sized(3_000_000), fine.version))
        assert storage.get(a("large")) is None
        (later,) = await storage.write(Update(a("fine"), sized(5), fine.version))
        assert later.version == fine.version + 1
        assert [event.version for event in await watch.next()] == [2, 3]
        before = stated(storage)
    async with open_storage(file) as storage:
        assert stated(storage) == before


async def test_a_write_that_breaks_off_in_the_middle_does_not_stop_the_next(file: Path) -> None:
    async with open_storage(file) as storage:
        with pytest.raises(WriteFailed):
            await storage.write(Create(a("x"), sized()), Create(a("not text: \ud800"), sized()))
        assert await _create(storage, "x") == 2
    async with open_storage(file) as storage:
        assert len(stated(storage)) == 1


async def test_a_refused_write_in_a_group_does_not_touch_its_neighbours(file: Path) -> None:
    async with open_storage(file) as storage:
        results = await asyncio.gather(
            *(_create(storage, name) for name in ("a", "b", "a", "c")), return_exceptions=True
        )
    assert [type(result).__name__ for result in results] == ["int", "int", "AlreadyExists", "int"]


@pytest.mark.slow
async def test_ten_thousand_objects_are_open_in_well_under_a_second(file: Path) -> None:
    async with open_storage(file) as storage:
        for start in range(0, 10_000, 500):
            await storage.write(
                *(Create(a(f"{start + index}"), sized(2_000)) for index in range(500))
            )
    started = process_time()
    async with open_storage(file) as storage:
        assert len(storage.page("configmaps").records) == 10_000
        spent = process_time() - started
    assert spent < 1.0
