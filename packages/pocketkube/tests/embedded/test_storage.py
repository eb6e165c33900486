"""Reads, writes, pages and watches of a storage without threads; files and threads are next door."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from pocketkube.apiserver.storage import (
    AlreadyExists,
    Change,
    Closed,
    Conflict,
    Create,
    Delete,
    Draft,
    Event,
    Expired,
    Key,
    NotFound,
    Push,
    Record,
    Storage,
    StorageError,
    TooNew,
    Update,
    Watch,
    Window,
    Write,
    open_storage,
)


@pytest.fixture
async def storage() -> AsyncIterator[Storage]:
    async with open_storage(None) as opened:
        yield opened


def pod(name: str, namespace: str = "default") -> Key:
    return Key("pods", namespace, name)


def saying(text: str) -> Draft:
    return Draft(b'{"rv":"', b'","text":"%b"}' % text.encode())


async def create(storage: Storage, *keys: Key) -> list[Record]:
    return [(await storage.write(Create(key, saying("new"))))[0] for key in keys]


def names(records: Sequence[Record]) -> list[str]:
    return [record.key.path for record in records]


def story(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.change.value, event.record.key.name) for event in events]


async def test_the_version_of_a_write_stands_in_the_value(storage: Storage) -> None:
    (record,) = await storage.write(Create(pod("a"), saying("hello")))
    assert storage.version == record.version == 2
    assert record.value == b'{"rv":"2","text":"hello"}'
    assert storage.get(pod("a")) is record


async def test_an_empty_storage_is_at_version_one_because_zero_means_any(storage: Storage) -> None:
    assert storage.version == 1
    assert storage.page("pods").version == 1


async def test_versions_grow_over_all_resources(storage: Storage) -> None:
    records = await create(storage, pod("a"), Key("nodes", "", "n"), pod("b"))
    assert [record.version for record in records] == [2, 3, 4]


async def test_an_update_replaces_what_was_read(storage: Storage) -> None:
    (old,) = await create(storage, pod("a"))
    (new,) = await storage.write(Update(pod("a"), saying("newer"), old.version))
    assert storage.get(pod("a")) is new
    assert new.value == b'{"rv":"3","text":"newer"}'


async def test_a_deleted_object_is_gone_and_its_name_is_free(storage: Storage) -> None:
    (old,) = await create(storage, pod("a"))
    (last,) = await storage.write(Delete(pod("a"), saying("bye"), old.version))
    assert last.value == b'{"rv":"3","text":"bye"}'
    assert storage.get(pod("a")) is None
    (again,) = await create(storage, pod("a"))
    assert again.version == 4


@pytest.mark.parametrize(
    ("write", "error"),
    [
        pytest.param(Create(pod("a"), saying("x")), AlreadyExists, id="create of a taken name"),
        pytest.param(Update(pod("a"), saying("x"), 9), Conflict, id="update of another version"),
        pytest.param(Delete(pod("a"), saying("x"), 9), Conflict, id="delete of another version"),
        pytest.param(Update(pod("b"), saying("x"), 2), NotFound, id="update of nothing"),
        pytest.param(Delete(pod("b"), saying("x"), 2), NotFound, id="delete of nothing"),
    ],
)
async def test_a_write_whose_precondition_fails_changes_nothing(
    storage: Storage, write: Write, error: type[StorageError]
) -> None:
    (before,) = await create(storage, pod("a"))
    with pytest.raises(error):
        await storage.write(write)
    assert storage.version == before.version
    assert storage.page("pods").records == [before]


async def test_several_writes_happen_together(storage: Storage) -> None:
    quota = Key("resourcequotas", "default", "q")
    (used,) = await create(storage, quota)
    records = await storage.write(
        Update(quota, saying("one used"), used.version), Create(pod("a"), saying("new"))
    )
    assert [record.version for record in records] == [3, 4]


async def test_of_several_writes_none_happens_if_one_is_refused(storage: Storage) -> None:
    (a, b) = await create(storage, pod("a"), pod("b"))
    with pytest.raises(AlreadyExists):
        await storage.write(
            Delete(pod("a"), saying("x"), a.version),
            Create(pod("a"), saying("again")),
            Create(pod("c"), saying("x")),
            Create(pod("b"), saying("x")),
        )
    assert storage.page("pods").records == [a, b]
    (c,) = await create(storage, pod("c"))
    assert c.version == b.version + 1


async def test_a_list_is_in_the_order_of_paths_as_etcd_has_it(storage: Storage) -> None:
    keys = [pod("z", "a"), pod("x", "a-b"), pod("y", "a"), pod("x", "b"), pod("x", "a.b")]
    await create(storage, *keys, Key("nodes", "", "n"))
    assert names(storage.page("pods").records) == ["a-b/x", "a.b/x", "a/y", "a/z", "b/x"]
    assert names(storage.page("pods", "a").records) == ["a/y", "a/z"]
    assert names(storage.page("pods", "nobody").records) == []
    assert names(storage.page("nodes").records) == ["n"]


async def test_pages_are_one_snapshot_whatever_happens_between_them(storage: Storage) -> None:
    await create(storage, *(pod(name) for name in "bdfhj"), pod("x", "other"))
    first = storage.page("pods", "default", limit=2)
    assert (names(first.records), first.remaining) == (["default/b", "default/d"], 3)

    await create(storage, pod("a"), pod("e"), pod("z"))
    f, h = storage.get(pod("f")), storage.get(pod("h"))
    assert f is not None
    assert h is not None
    (changed,) = await storage.write(Update(pod("f"), saying("changed"), f.version))
    await storage.write(Update(pod("f"), saying("changed again"), changed.version))
    await storage.write(Delete(pod("h"), saying("gone"), h.version))

    second = storage.page("pods", "default", at=first.version, after=first.next, limit=2)
    assert second.records == [f, h]
    assert (second.version, second.remaining) == (first.version, 1)
    third = storage.page("pods", "default", at=second.version, after=second.next, limit=2)
    assert (names(third.records), third.remaining, third.next) == (["default/j"], 0, "")


async def test_a_page_of_a_compacted_version_has_expired(storage: Storage) -> None:
    await create(storage, pod("a"), pod("b"))
    first = storage.page("pods", limit=1)
    await create(storage, pod("c"))
    await storage.compact(storage.version)
    with pytest.raises(Expired) as caught:
        storage.page("pods", at=first.version, after=first.next, limit=1)
    assert (caught.value.version, caught.value.oldest) == (first.version, storage.oldest)


async def test_a_version_of_the_future_is_too_new(storage: Storage) -> None:
    with pytest.raises(TooNew):
        storage.page("pods", at=2)
    with pytest.raises(TooNew):
        storage.watch("pods", since=2)


async def test_a_watch_tells_what_happened_since_a_version_with_the_object_before(
    storage: Storage,
) -> None:
    await create(storage, pod("before"))
    watch = storage.watch("pods", since=storage.version)
    (added,) = await create(storage, pod("a"))
    (changed,) = await storage.write(Update(pod("a"), saying("2"), added.version))
    await create(storage, Key("nodes", "", "n"))
    (last,) = await storage.write(Delete(pod("a"), saying("3"), changed.version))

    events = await watch.next()

    assert [(event.change, event.record, event.previous) for event in events] == [
        (Change.ADDED, added, None),
        (Change.MODIFIED, changed, added),
        (Change.DELETED, last, changed),
    ]


async def test_a_watch_of_a_namespace_hears_only_of_it(storage: Storage) -> None:
    watch = storage.watch("pods", "a")
    await create(storage, pod("1", "b"), pod("2", "a"), pod("3", "c"), pod("4", "a"))
    assert story(await watch.next()) == [("ADDED", "2"), ("ADDED", "4")]
    assert watch.version == storage.version


async def test_a_waiting_watch_is_woken_by_its_own_changes_only(storage: Storage) -> None:
    async with asyncio.TaskGroup() as group:
        everything = group.create_task(storage.watch("pods").next())
        one = group.create_task(storage.watch("pods", "a").next())
        nodes = group.create_task(storage.watch("nodes").next())
        await asyncio.sleep(1)
        await create(storage, pod("1", "b"))
        await asyncio.sleep(1)
        assert (everything.done(), one.done(), nodes.done()) == (True, False, False)
        await create(storage, pod("2", "a"))
        await asyncio.sleep(1)
        assert story(one.result()) == [("ADDED", "2")]
        await create(storage, Key("nodes", "", "n"))
    assert story(nodes.result()) == [("ADDED", "n")]


async def test_patience_ends_with_a_version_to_bookmark(storage: Storage) -> None:
    watch = storage.watch("pods")
    await create(storage, Key("nodes", "", "n"))
    started = asyncio.get_running_loop().time()
    assert await watch.next(60) == []
    assert asyncio.get_running_loop().time() - started == 60
    assert watch.version == storage.version


async def test_a_cancelled_wait_loses_nothing(storage: Storage) -> None:
    watch = storage.watch("pods")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await watch.next()
    await create(storage, pod("a"))
    assert story(await watch.next()) == [("ADDED", "a")]


async def test_what_a_push_takes_is_not_read_again(storage: Storage) -> None:
    watch, pushed = storage.watch("pods", "a"), list[Event]()

    def take(events: Sequence[Event]) -> bool:
        pushed.extend(events)
        return True

    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(watch.next(60, take))
        await asyncio.sleep(1)
        await create(storage, pod("1", "a"), pod("2", "b"))
        await storage.write(*(Create(pod(name, "a"), saying("new")) for name in "34"))
    assert story(pushed) == [("ADDED", "1"), ("ADDED", "3"), ("ADDED", "4")]
    assert waiting.result() == []
    assert watch.version == storage.version


def too_much(events: Sequence[Event]) -> bool:
    raise ValueError(events)


@pytest.mark.parametrize(
    "push", [pytest.param(too_much, id="fails"), pytest.param(lambda _: False, id="refuses")]
)
async def test_what_a_push_does_not_take_is_read(storage: Storage, push: Push) -> None:
    async with asyncio.TaskGroup() as group:
        pushing = group.create_task(storage.watch("pods").next(60, push))
        other = group.create_task(storage.watch("pods").next(60))
        await asyncio.sleep(1)
        await create(storage, pod("a"))
    assert story(pushing.result()) == story(other.result()) == [("ADDED", "a")]


async def test_a_change_at_the_end_of_patience_is_reported_once(storage: Storage) -> None:
    watch, stated = storage.watch("pods"), list[Event]()

    def take(events: Sequence[Event]) -> bool:
        stated.extend(events)
        return True

    async with asyncio.TaskGroup() as group:
        loop = asyncio.get_running_loop()
        loop.call_later(60, lambda: group.create_task(create(storage, pod("early"))))
        waiting = group.create_task(watch.next(60, take))
        await asyncio.sleep(0)
        loop.call_later(60, lambda: group.create_task(create(storage, pod("late"))))
    stated.extend(waiting.result())
    stated.extend(await watch.next(0))
    assert story(stated) == [("ADDED", "early"), ("ADDED", "late")]


async def test_catching_up_comes_in_portions_and_misses_nothing(storage: Storage) -> None:
    watch = storage.watch("pods")
    await create(storage, *(pod(f"{index}") for index in range(1_200)))
    seen: list[int] = []
    while len(seen) < 1_200:
        events = await watch.next()
        assert len(events) <= 500
        seen += [event.version for event in events]
        assert watch.version == seen[-1]
    assert seen == list(range(2, 1_202))


async def test_a_watch_from_before_the_compaction_has_expired(storage: Storage) -> None:
    await create(storage, pod("a"), pod("b"))
    await storage.compact(2)
    with pytest.raises(Expired):
        storage.watch("pods", since=1)
    assert story(await storage.watch("pods", since=2).next()) == [("ADDED", "b")]


async def test_no_more_can_be_forgotten_than_has_happened(storage: Storage) -> None:
    (record,) = await create(storage, pod("a"))
    await storage.compact(1_000)
    assert storage.oldest == storage.version == record.version


async def test_a_slow_watch_is_cut_off_and_the_others_are_not_disturbed() -> None:
    async with open_storage(None, Window(events=10)) as storage:
        slow, quick = storage.watch("pods"), storage.watch("pods")
        quiet = storage.watch("nodes")
        for index in range(100):
            await create(storage, pod(f"{index}"))
            assert len(await quick.next()) == 1
        with pytest.raises(Expired):
            await slow.next()
        assert await quiet.next(1) == []
        assert storage.version - storage.oldest <= 12


async def test_a_watch_that_waits_in_a_quiet_namespace_is_not_cut_off_by_its_neighbours() -> None:
    async with open_storage(None, Window(events=10)) as storage, asyncio.TaskGroup() as group:
        watch = storage.watch("pods", "quiet")
        waiting = group.create_task(watch.next())
        await asyncio.sleep(1)
        await create(storage, *(pod(f"{index}", "loud") for index in range(100)))
        await create(storage, pod("a", "quiet"))
        assert story(await waiting) == [("ADDED", "a")]
        waiting = group.create_task(watch.next(60))
        await asyncio.sleep(1)
        await create(storage, *(pod(f"{index}", "louder") for index in range(100)))
        assert await waiting == []
        assert watch.version == storage.version


async def test_history_older_than_the_window_is_forgotten_when_something_is_written() -> None:
    async with open_storage(None, Window(age=300)) as storage:
        (early,) = await create(storage, pod("a"))
        await asyncio.sleep(200)
        (middle,) = await create(storage, pod("b"))
        await asyncio.sleep(150)
        await create(storage, pod("c"))
        assert early.version <= storage.oldest < middle.version


async def test_memory_of_the_past_is_bounded_in_bytes() -> None:
    async with open_storage(None, Window(size=100_000)) as storage:
        (record,) = await create(storage, pod("a"))
        for _ in range(100):
            (record,) = await storage.write(Update(pod("a"), saying("x" * 10_000), record.version))
        assert 5 <= storage.version - storage.oldest <= 12


async def test_the_end_of_a_storage_ends_watches_after_their_last_event() -> None:
    async with open_storage(None) as storage:
        watch = storage.watch("pods")
        await create(storage, pod("a"))
        idle = storage.watch("nodes")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_ended(idle))
            await asyncio.sleep(0)
            await storage.close()
        assert waiting.result()
    assert story(await watch.next()) == [("ADDED", "a")]
    with pytest.raises(Closed):
        await watch.next()
    with pytest.raises(Closed):
        await create(storage, pod("b"))


async def _ended(watch: Watch) -> bool:
    try:
        await watch.next()
    except Closed:
        return True
    return False


async def test_facts_about_a_version_are_shared_by_everybody_who_meets_it(
    storage: Storage,
) -> None:
    watch = storage.watch("pods")
    (record,) = await create(storage, pod("a"))
    record.facts = {"app": "web"}
    (event,) = await watch.next()
    assert storage.page("pods").records[0].facts is event.record.facts is record.facts


async def test_watches_are_woken_in_the_order_of_waiting(storage: Storage) -> None:
    order: list[int] = []

    async def follow(number: int) -> None:
        await storage.watch("pods").next()
        order.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(follow(number))
        await asyncio.sleep(1)
        await create(storage, pod("a"))
    assert order == list(range(50))


async def test_whoever_stops_waiting_leaves_nothing_behind(storage: Storage) -> None:
    for number in range(20):
        assert await storage.watch("pods", f"ns{number}").next(1) == []
    assert not storage._progress._waiters
