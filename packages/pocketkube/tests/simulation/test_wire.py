"""The wire of a caller: what was sent arrives, in order, whatever becomes of the caller; and every place of it has a name."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import json
import random

import pytest

from kubeloop.net.http import Request, Unreachable
from kubeloop.net.in_process import InProcessTransport
from kubeloop.runtime.clock import Clock
from pocketkube.simulation.journal import Journal
from pocketkube.simulation.wire import LONGEST, Wire, place_of
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = Request("GET", f"{CONFIG_MAPS}?watch=1")


def creation(name: str) -> Request:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return Request(
        "POST", CONFIG_MAPS, {"Content-Type": "application/json"}, json.dumps(body).encode()
    )


class Bench:
    """A server, and the wire of one caller to it."""

    def __init__(self, server: EmbeddedServer, group: asyncio.TaskGroup) -> None:
        headers = {"Authorization": f"Bearer {server.admin_token}"}
        transport = InProcessTransport(server.api.handle, headers)
        self.lines: list[str] = []
        journal = Journal(asyncio.get_running_loop().time, self.lines.append)
        self.crash_at = ""
        self.places: list[str] = []
        self.wire = Wire(
            "caller",
            transport,
            group,
            rng=random.Random(1),
            journal=journal,
            crashes=self._reaches,
        )
        self.direct = transport
        self.group = group

    def _reaches(self, place: str) -> bool:
        self.places.append(place)
        return place == self.crash_at

    async def names(self) -> list[str]:
        listed = await (await self.direct.send(Request("GET", CONFIG_MAPS))).read()
        return [item["metadata"]["name"] for item in json.loads(listed)["items"]]


@asynccontextmanager
async def bench(clock: Clock) -> AsyncIterator[Bench]:
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        made = Bench(server, group)
        yield made
        made.wire.cut()


async def test_what_was_sent_before_the_wire_was_cut_arrives_and_nothing_after_it(
    clock: Clock,
) -> None:
    async with bench(clock) as at:
        sending = at.group.create_task(at.wire.send(creation("a")))
        await asyncio.sleep(0)
        at.wire.cut()
        with pytest.raises(Unreachable):
            await at.wire.send(creation("b"))
        await asyncio.sleep(1)
        assert await at.names() == ["a"]
        assert not sending.done()
        sending.cancel()


async def test_a_cancelled_caller_has_still_sent_its_request(clock: Clock) -> None:
    async with bench(clock) as at:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.0001):
                await at.wire.send(creation("a"))
        assert await at.names() == []
        await asyncio.sleep(2 * LONGEST)
        assert await at.names() == ["a"]


async def test_a_caller_that_ends_before_a_write_has_not_sent_it(clock: Clock) -> None:
    async with bench(clock) as at:
        at.crash_at = "caller POST configmaps before"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await at.wire.send(creation("a"))
        assert await at.names() == []
        assert at.places == ["caller POST configmaps before"]


async def test_a_caller_that_ends_after_a_write_has_sent_it_but_does_not_know(clock: Clock) -> None:
    async with bench(clock) as at:
        at.crash_at = "caller POST configmaps after"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await at.wire.send(creation("a"))
        assert await at.names() == ["a"]
        assert at.places == ["caller POST configmaps before", "caller POST configmaps after"]


async def test_a_guard_that_refuses_holds_a_request_back(clock: Clock) -> None:
    def refuse() -> None:
        raise PermissionError

    async with bench(clock) as at:
        with pytest.raises(PermissionError):
            await at.wire.send(creation("a"), refuse)
        await asyncio.sleep(1)
        assert await at.names() == []


@pytest.mark.parametrize("lag", [0.0, 3.0], ids=["usual delays", "a watch that lags behind"])
async def test_a_watch_brings_everything_in_order_and_later(clock: Clock, lag: float) -> None:
    loop = asyncio.get_running_loop()
    async with bench(clock) as at, await at.wire.send(WATCH, lag=lag) as watch:
        began = loop.time()
        for number in range(40):
            await at.direct.send(creation(f"a-{number}"))
            await asyncio.sleep(LONGEST / 10)
        seen: list[str] = []
        async with asyncio.timeout(60):
            async for chunk in watch.chunks():
                seen += [
                    json.loads(line)["object"]["metadata"]["name"] for line in chunk.splitlines()
                ]
                assert loop.time() >= began + lag
                if len(seen) == 40:
                    break
        assert seen == [f"a-{number}" for number in range(40)]


async def test_a_watch_ends_when_the_wire_is_cut_and_can_be_closed_at_that_very_moment(
    clock: Clock,
) -> None:
    async with bench(clock) as at:
        watch = await at.wire.send(WATCH)
        at.wire.cut()
        assert [chunk async for chunk in watch.chunks()] == []
        await asyncio.sleep(0)
        await watch.close()


async def test_a_reader_that_closes_a_watch_gets_no_more_of_it(clock: Clock) -> None:
    async with bench(clock) as at:
        watch = await at.wire.send(WATCH)
        await watch.close()
        await at.direct.send(creation("a"))
        await asyncio.sleep(1)
        assert [chunk async for chunk in watch.chunks()] == []
        assert not [line for line in at.lines if " ~ " in line]


@pytest.mark.parametrize(
    ("method", "target", "place"),
    [
        ("POST", "/api/v1/namespaces/a/pods?fieldManager=b", "POST pods"),
        ("POST", "/api/v1/namespaces/a/pods/b/binding", "POST pods/binding"),
        ("PATCH", "/apis/korder.dev/v1/namespaces/a/tickets/b/status", "PATCH tickets/status"),
        ("DELETE", "/api/v1/nodes/a", "DELETE nodes"),
        ("PUT", "/api/v1/namespaces/a/finalize", "PUT namespaces/finalize"),
        ("DELETE", "/api/v1/namespaces/a", "DELETE namespaces"),
    ],
)
def test_crash_points_are_named_after_what_is_written(method: str, target: str, place: str) -> None:
    assert place_of("korder-1", Request(method, target)) == f"korder-1 {place}"
