"""What a server holds for a write or a watch is given back, however it ends: made, refused, given up, or the server closed."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
import json
import random

import pytest

from kubeloop.net.http import Request
from pocketkube.apiserver.admission.attributes import Attributes, Chain, Plugin
from pocketkube.apiserver.admission.resourcequota import ResourceQuota
from pocketkube.apiserver.refusal import bad_request
from pocketkube.apiserver.server import ApiServer, Parts
from pocketkube.apiserver.storage import open_storage
from pocketkube.apiserver.view import View

NOW = datetime(2026, 1, 31, 8, 30, tzinfo=UTC)
HOME = "/api/v1/namespaces/default"
JSON = {"Content-Type": "application/json"}


class Slow(Plugin):
    """Keeps or refuses a write that has its turn, as its name asks for."""

    def __init__(self) -> None:
        self.has_one = asyncio.Event()

    async def validate(self, attributes: Attributes) -> None:
        if attributes.name == "refused":
            raise bad_request("no")
        if attributes.name == "kept":
            self.has_one.set()
            await asyncio.Event().wait()


class World:
    """A server with a quota in its namespace."""

    def __init__(self, server: ApiServer, slow: Slow, closed: list[str]) -> None:
        self.server = server
        self.slow = slow
        self.closed = closed

    async def post(self, plural: str, name: str, **members: object) -> int:
        body = json.dumps({"metadata": {"name": name}, **members}).encode()
        return (await self.server.handle(Request("POST", f"{HOME}/{plural}", JSON, body))).status

    async def status(self, name: str, **members: object) -> int:
        target = f"{HOME}/resourcequotas/{name}/status"
        headers = {"Content-Type": "application/merge-patch+json"}
        body = json.dumps({"status": members}).encode()
        return (await self.server.handle(Request("PATCH", target, headers, body))).status


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_storage(None) as storage:
        slow, closed = Slow(), list[str]()

        async def close() -> None:
            closed.append("connections")

        chain = Chain([ResourceQuota(View(storage), lambda: NOW), slow])
        parts = Parts(chain=chain, closing=(close,))
        server = ApiServer(storage, now=lambda: NOW, rng=random.Random(1), parts=parts)
        await server.start()
        world = World(server, slow, closed)
        hard = {"configmaps": "5"}
        assert await world.post("resourcequotas", "q", spec={"hard": hard}) == 201
        assert await world.status("q", hard=hard, used={"configmaps": "0"}) == 200
        yield world


async def cancelled(task: asyncio.Task[int]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_write_that_is_given_up_lets_the_next_one_pass(world: World) -> None:
    first = asyncio.get_running_loop().create_task(world.post("configmaps", "kept"))
    await world.slow.has_one.wait()
    waiting = asyncio.get_running_loop().create_task(world.post("configmaps", "waiting"))
    next_one = asyncio.get_running_loop().create_task(world.post("configmaps", "next"))
    await asyncio.sleep(1)
    assert not next_one.done()
    await cancelled(waiting)
    await cancelled(first)
    assert await asyncio.wait_for(next_one, 1) == 201


async def test_a_refused_write_lets_the_next_one_pass(world: World) -> None:
    assert await world.post("configmaps", "refused") == 400
    assert await asyncio.wait_for(world.post("configmaps", "next"), 1) == 201


async def test_what_exists_already_lets_the_next_one_pass(world: World) -> None:
    codes = [await asyncio.wait_for(world.post("configmaps", "a"), 1) for _ in range(2)]
    assert codes == [201, 409]
    assert await asyncio.wait_for(world.post("configmaps", "b"), 1) == 201


async def test_a_closed_server_ends_its_watches_and_its_connections(world: World) -> None:
    reply = await world.server.handle(Request("GET", f"{HOME}/configmaps?watch=1", {}))
    assert reply.stream is not None
    heard = asyncio.get_running_loop().create_task(anext(reply.stream, b"the end"))
    await asyncio.sleep(1)
    assert not heard.done()
    await world.server.close()
    assert await heard == b"the end"
    assert world.closed == ["connections"]
