"""kill -9 of the whole cluster at random moments under load: nothing acknowledged is lost, and watches resume without a gap.

Every name belongs to one writer, which has one write of it under way at most; so after a cut an object is as it was acknowledged
last, or as the one write left it whose answer was lost.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import random
from typing import Any, NamedTuple

import pytest

from korder.testing.up import UpProcess
from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.net.http import NetError, Request, Transport
from kubeloop.runtime.clock import SystemClock

BARE = ("--nodes", "0", "--without", "scheduler", "--without", "controllers")
SOAK_ROUNDS = 5 * int(os.environ.get("KORDER_SEEDS", "20")) // 2
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WRITERS = 8
NAMES = 12
RATE = 200
"""Writes a second, of all writers together."""
PATIENCE = 60
"""Seconds until every writer must have heard of a success."""

Object = dict[str, Any]
TOMBSTONE: Object = {}


class Summary(NamedTuple):
    """One event of a watch."""

    change: str
    name: str
    version: int
    data: Object


@dataclass(slots=True)
class Known:
    """What is certain of an object, and what may have happened to it since."""

    data: Object = field(default_factory=dict)
    version: int = 0
    pending: Object | None = None

    def settle(self, data: Object, version: int) -> None:
        self.data, self.version, self.pending = data, version, None


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Transport]:
    """A transport to a server; the port may be another after each start."""
    transport = connect(load(str(kubeconfig)), SystemClock().now)
    try:
        yield transport
    finally:
        await transport.close()


async def ask(transport: Transport, method: str, path: str = "", body: Object | None = None) -> Any:
    """Sends one request about ConfigMaps and returns code and answer."""
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    sent = b"" if body is None else json.dumps(body).encode()
    request = Request(method, CONFIG_MAPS + path, {"Content-Type": media}, sent)
    async with await transport.send(request) as response:
        return response.status, json.loads(await response.read())


class Writer:
    """Creates, updates, patches and deletes its objects until the server is gone."""

    def __init__(self, number: int) -> None:
        self.objects = {f"object-{number}-{index}": Known() for index in range(NAMES)}
        self.acknowledged: list[tuple[str, int, Object]] = []
        self.heard = asyncio.Event()

    async def work(self, transport: Transport, rng: random.Random) -> None:
        with suppress(NetError):
            while True:
                await self._write(transport, rng.choice(list(self.objects)), rng)
                await asyncio.sleep(WRITERS / RATE * rng.uniform(0.2, 1.8))

    async def _write(self, transport: Transport, name: str, rng: random.Random) -> None:
        known = self.objects[name]
        text = rng.randbytes(rng.randrange(20, 2_000)).hex()
        data = {"text": text, "again": text}
        meta: Object = {"name": name}
        verb = rng.choice(("PUT", "PUT", "PATCH", "PATCH", "DELETE")) if known.data else "POST"
        known.pending = TOMBSTONE if verb == "DELETE" else data
        match verb:
            case "POST":
                code, answer = await ask(transport, verb, "", {"metadata": meta, "data": data})
            case "PUT":
                meta["resourceVersion"] = str(known.version)
                body = {"metadata": meta, "data": data}
                code, answer = await ask(transport, verb, f"/{name}", body)
            case "PATCH":
                code, answer = await ask(transport, verb, f"/{name}", {"data": data})
            case _:
                code, answer = await ask(transport, verb, f"/{name}")
        assert code in (200, 201), answer
        if verb == "DELETE":
            known.settle(TOMBSTONE, known.version)
        else:
            version = int(answer["metadata"]["resourceVersion"])
            assert answer["data"] == data
            assert version > known.version
            known.settle(data, version)
            self.acknowledged.append((name, version, data))
            self.heard.set()

    def look(self, present: dict[str, Object]) -> None:
        """Holds the present against what is known, and learns which of the lost answers were a yes."""
        for name, known in self.objects.items():
            found = present.get(name)
            data = found["data"] if found else TOMBSTONE
            possible = [known.data] if known.pending is None else [known.data, known.pending]
            assert data in possible, f"{name} is {data}"
            version = int(found["metadata"]["resourceVersion"]) if found else known.version
            assert version >= known.version
            assert known.pending is not None or version == known.version
            known.settle(data, version)


class Watcher:
    """Follows the objects, across all restarts, from the version where it was interrupted."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.events: list[Summary] = []
        self.present: dict[str, Object] = {}

    async def follow(self, transport: Transport, until: str = "") -> None:
        """Listens until the server is gone, or until an object of this name is told of."""
        target = f"{CONFIG_MAPS}?watch=1&resourceVersion={self.version}"
        with suppress(NetError):
            async with await transport.send(Request("GET", target)) as response:
                assert response.status == 200
                rest = b""
                async for chunk in response.chunks():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        self._note(json.loads(line))
                    if until and until in self.present:
                        return

    def _note(self, event: Object) -> None:
        obj = event["object"]
        assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
        name, version = obj["metadata"]["name"], int(obj["metadata"]["resourceVersion"])
        assert version > self.version, "told twice, or out of order"
        assert (event["type"] == "ADDED") == (name not in self.present)
        self.version = version
        self.events.append(Summary(event["type"], name, version, obj["data"]))
        if event["type"] == "DELETED":
            del self.present[name]
        else:
            self.present[name] = obj


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(range(5), id="a few times"),
        pytest.param(
            range(100, 100 + SOAK_ROUNDS),
            id="many times",
            marks=[pytest.mark.soak, pytest.mark.timeout(0)],
        ),
    ],
)
async def test_a_cluster_loses_nothing_when_its_power_is_cut(tmp_path: Path, rounds: range) -> None:
    up = UpProcess(tmp_path, *BARE)
    await up.start()
    writers = [Writer(number) for number in range(WRITERS)]
    async with connected(up.kubeconfig) as transport:
        _, listed = await ask(transport, "GET")
    watcher = Watcher(int(listed["metadata"]["resourceVersion"]))
    watcher.present = _by_name(listed)
    for reconcile in rounds:
        since, before = watcher.version, dict(watcher.present)
        first = len(watcher.events)
        await _work_until_cut(up, writers, watcher, random.Random(reconcile))
        await up.start()
        async with connected(up.kubeconfig) as transport:
            fence = f"fence-{reconcile}"
            code, made = await ask(
                transport, "POST", "", {"metadata": {"name": fence}, "data": {"a": "b"}}
            )
            assert code == 201
            await watcher.follow(transport, until=fence)
            _, listed = await ask(transport, "GET")
            again = await _replayed(transport, since, before, fence)
        present = _by_name(listed)
        assert watcher.present == present
        assert again.events == watcher.events[first:]
        stated = {(event.name, event.version): event.data for event in again.events}
        for writer in writers:
            assert writer.acknowledged
            for name, version, data in writer.acknowledged:
                assert stated[name, version] == data
            writer.acknowledged.clear()
            writer.heard.clear()
            writer.look(present)
        assert int(made["metadata"]["resourceVersion"]) == watcher.version
    await up.stop()


async def _work_until_cut(
    up: UpProcess, writers: list[Writer], watcher: Watcher, rng: random.Random
) -> None:
    async with connected(up.kubeconfig) as transport, asyncio.TaskGroup() as group:
        group.create_task(watcher.follow(transport))
        for number, writer in enumerate(writers):
            group.create_task(writer.work(transport, random.Random(f"{rng.random()} {number}")))
        async with asyncio.timeout(PATIENCE):
            for writer in writers:
                await writer.heard.wait()
        await asyncio.sleep(rng.uniform(0.2, 1.2))
        up.kill()


async def _replayed(
    transport: Transport, since: int, present: dict[str, Object], fence: str
) -> Watcher:
    """The same stretch, heard at once by somebody who was not there."""
    watcher = Watcher(since)
    watcher.present = dict(present)
    await watcher.follow(transport, until=fence)
    return watcher


def _by_name(listed: Object) -> dict[str, Object]:
    items = [{**item, "kind": "ConfigMap", "apiVersion": "v1"} for item in listed["items"]]
    return {item["metadata"]["name"]: item for item in items}
