"""Events end an hour after they were last written, and nothing else does."""

import asyncio

from pocketkube.apiserver.serving.expiry import Expiry
from pocketkube.apiserver.storage import Create, Draft, Key, Storage, Update, open_storage

DRAFT = Draft(b'{"metadata":{"resourceVersion":"', b'"}}')


def names(storage: Storage) -> list[str]:
    return [record.key.name for record in storage.page("events").records]


async def test_events_end_an_hour_after_their_last_write() -> None:
    async with open_storage(None) as storage, asyncio.TaskGroup() as group:
        task = group.create_task(Expiry(storage).run())
        for resource, name in (("events", "a"), ("events", "b"), ("configmaps", "c")):
            await storage.write(Create(Key(resource, "ns", name), DRAFT))
        await asyncio.sleep(1800)
        record = storage.get(Key("events", "ns", "b"))
        assert record is not None
        await storage.write(Update(record.key, DRAFT, record.version))
        await asyncio.sleep(1790)
        assert names(storage) == ["a", "b"]
        await asyncio.sleep(120)
        assert names(storage) == ["b"]
        await asyncio.sleep(1800)
        assert names(storage) == []
        assert storage.get(Key("configmaps", "ns", "c")) is not None
        task.cancel()
