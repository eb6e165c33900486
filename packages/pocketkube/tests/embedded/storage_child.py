"""Writes and watches until it is killed, for the crash test; says on its output what was acknowledged and what was seen.

wrote <version> <path> <value>      after a write returned, "-" for the value of a deletion
saw <version>                       after a watch delivered
"""

import asyncio
import os
from pathlib import Path
import random
import sys

from pocketkube.apiserver.storage import (
    Create,
    Delete,
    Draft,
    Key,
    Storage,
    Update,
    Window,
    Write,
    open_storage,
)

WRITERS = 8
RATE = 200
"""Writes a second, of all writers together."""
WINDOW = Window(events=400)
"""Small, so that compaction is interrupted too."""


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")


async def write(storage: Storage, number: int, rng: random.Random) -> None:
    """Keeps objects of its own, so that every write is allowed."""
    while True:
        key = Key("configmaps", f"ns-{number}", f"object-{rng.randrange(20)}")
        draft = Draft(b'{"rv":"', b'","text":"%b"}' % rng.randbytes(200).hex().encode())
        there = storage.get(key)
        write: Write = Create(key, draft)
        if there is not None:
            verb = Delete if rng.random() < 0.2 else Update
            write = verb(key, draft, there.version)
        (record,) = await storage.write(write)
        value = "-" if isinstance(write, Delete) else record.value.decode()
        say(f"wrote {record.version} {key.path} {value}")
        await asyncio.sleep(WRITERS / RATE * rng.uniform(0.2, 1.8))


async def watch(storage: Storage, since: int) -> None:
    following = storage.watch("configmaps", since=since)
    while True:
        for event in await following.next():
            say(f"saw {event.version}")


async def main(path: str, seed: str, since: str) -> None:
    async with open_storage(Path(path), WINDOW) as storage, asyncio.TaskGroup() as group:
        group.create_task(watch(storage, int(since)))
        for number in range(WRITERS):
            group.create_task(write(storage, number, random.Random(f"{seed} {number}")))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
