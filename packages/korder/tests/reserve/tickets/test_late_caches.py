"""What the caches do not show yet is not taken for gone, and what concerns no ticket costs nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import random
from typing import Self

import pytest
from tests.reserve.scene import define, scene
from tests.reserve.tickets.ticket_helpers import RESERVED, Counted

from korder.api.reserve import TICKET_FINALIZER, TICKETS, Ticket
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.client.client import Client
from kubeloop.net.http import Guard, Request, Response, Transport
from kubeloop.net.in_process import InProcessTransport
from kubeloop.objects.core import NODES, PODS, SERVICE_ACCOUNTS
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.builders import a_node, a_pod
from pocketkube.testing.apiserver import embedded_server

KEY = Key("default", "t")


class LateStream:
    """A watch that shows the pod p much later."""

    def __init__(self, inner: Response) -> None:
        self._inner = inner
        self.status, self.headers = inner.status, inner.headers

    async def read(self) -> bytes:
        return await self._inner.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            if b'"name":"p"' in chunk:
                await asyncio.sleep(10_000)
            yield chunk

    async def close(self) -> None:
        await self._inner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class LateWire:
    """The wire of a manager whose watch of pods lags behind."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        answer = await self._inner.send(request, guard)
        is_watch = "/pods?" in request.target and "watch=" in request.target
        return LateStream(answer) if is_watch else answer

    async def close(self) -> None:
        await self._inner.close()


@asynccontextmanager
async def blind_to_new_pods(clock: Clock) -> AsyncIterator[Client]:
    """A server with a manager of tickets that sees pods late; gives the client of everybody else."""
    async with embedded_server(clock) as server, asyncio.TaskGroup() as group:
        client = server.client()
        await define(client)
        headers = {"Authorization": f"Bearer {server.admin_token}"}
        wire = LateWire(InProcessTransport(server.api.handle, headers))
        late = Client(wire, rng=random.Random(1))
        manager = Manager(
            late,
            Settings(identity="m", component="korder", metric_prefix="korder"),
            clock=clock,
            rng=random.Random(1),
        )
        Tickets(manager)
        await client.create(NODES, a_node("node-1").json)
        await client.create(
            SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": "default"}}
        )
        made = a_ticket("t").but({"metadata": {"finalizers": [TICKET_FINALIZER]}})
        await client.create(TICKETS, made.json)
        await write_status(client, {"phase": "Claiming", "nodeName": "node-1"})
        stop = asyncio.Event()
        group.create_task(manager.run(stop))
        await asyncio.sleep(1)
        yield client
        stop.set()


async def write_status(client: Client, status: dict[str, JSON]) -> Ticket:
    return await client.patch(TICKETS, KEY, {"status": status}, subresource="status")


async def test_a_pod_that_cannot_be_seen_yet_still_has_its_ticket(clock: Clock) -> None:
    async with blind_to_new_pods(clock) as client:
        pod = await client.create(PODS, a_pod("p").on("node-1").json)
        by: JSON = {"namespace": "default", "name": "p", "uid": pod.metadata.uid}
        await write_status(client, {"phase": "Claimed", "claimedBy": by})
        await asyncio.sleep(5)
        assert (await client.get(TICKETS, KEY)).status.phase == "Claimed"
        await client.delete(PODS, Key("default", "p"), grace_seconds=0)
        await client.patch(TICKETS, KEY, {"metadata": {"labels": {"look": "again"}}})
        await asyncio.sleep(5)
        assert (await client.get(TICKETS, KEY)).status.phase == "Released"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"phase": "Reserved"}, id="held"),
        pytest.param({"phase": "Pending", "reason": "Scheduled"}, id="in its lead time"),
    ],
)
async def test_a_guardian_that_cannot_be_seen_yet_is_not_taken_for_lost(
    clock: Clock, said: dict[str, JSON]
) -> None:
    async with blind_to_new_pods(clock) as client:
        ticket = await client.get(TICKETS, KEY)
        await client.create(PODS, a_pod("p").on("node-1").owned_by(TICKETS, ticket).json)
        written = await write_status(client, {**said, "guardianPod": "default/p"})
        await asyncio.sleep(5)
        assert await client.get(TICKETS, KEY) == written


async def test_heartbeats_and_labels_of_nodes_cost_no_turn(clock: Clock) -> None:
    counted = Counted()
    async with scene(clock, counted, nodes=1) as cluster:
        await cluster.put(a_ticket("t"))
        await cluster.until(TICKETS, "t", RESERVED)
        await cluster.pass_time(5)
        before = counted.locks()
        for beat in range(5):
            await cluster.edit(NODES, "node-1", {"metadata": {"labels": {"beat": str(beat)}}})
        await cluster.pass_time(5)
        assert counted.locks() == before
        await cluster.edit(NODES, "node-1", {"spec": {"unschedulable": True}})
        await cluster.pass_time(5)
        assert counted.locks() > before
