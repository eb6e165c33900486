"""Tickets on a real control plane: its scheduler, its admission and its eviction, with simulated nodes (S1, S2, S8, S9, S16, rule 10)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
import random

from tests.reserve.scene import NODE, Scene, define
from tests.reserve.tickets.words import (
    EXPIRED,
    RESERVED,
    a_pod_on,
    a_sized_ticket,
    claim,
    reason_is,
    told,
)

from korder.api.core import NAMESPACES, NODES, PODS, is_ready
from korder.api.meta import JSON, Key
from korder.api.reserve import TICKETS, Reason
from korder.kube import served
from korder.kube.connect import open_client
from korder.reserve.controllers.tickets import Tickets
from korder.runtime.clock import Clock
from korder.testing.builders import a_ticket
from korder.testing.controlplane import ControlPlane
from korder.testing.nodes import simulated_nodes

Plane = Callable[..., Awaitable[ControlPlane]]


@asynccontextmanager
async def real_scene(plane: ControlPlane, clock: Clock, *nodes: str) -> AsyncIterator[Scene]:
    """The scene of the other tests, with a real server and scheduler; its namespace takes only restricted pods."""
    shapes = dict.fromkeys(nodes, NODE)
    async with (
        open_client(str(plane.kubeconfig()), now=clock.now, rng=random.Random(0)) as client,
        simulated_nodes(client, shapes, clock=clock) as machines,
        asyncio.TaskGroup() as group,
    ):
        await define(client)
        while (await served.discover(client)).of(TICKETS.api_version, TICKETS.kind) is None:
            await asyncio.sleep(0.1)
        label: JSON = {"pod-security.kubernetes.io/enforce": "restricted"}
        await client.patch(NAMESPACES, Key("", "default"), {"metadata": {"labels": label}})
        there = Scene(client, clock, machines, (Tickets,))
        await there.begin(group)
        for node in nodes:
            await there.until(NODES, node, lambda n: is_ready(n) and not n.spec.taints)
        try:
            yield there
        finally:
            await there.end()


async def test_tickets_live_and_end_as_in_the_embedded_cluster(
    a_control_plane: Plane, clock: Clock
) -> None:
    plane = await a_control_plane()
    async with real_scene(plane, clock, "node-1", "node-2") as cluster:
        brief: JSON = {"lifecycle": {"ttlSecondsAfterFinished": 2}}
        await cluster.put(
            a_ticket("held"),
            a_ticket("evicted"),
            a_ticket("brief", "3s").but({"spec": brief}),
            a_ticket("refused").but({"spec": {"priorityClassName": "missing"}}),
            a_sized_ticket("too-large", cpu="64"),
        )
        for name in ("held", "evicted", "brief"):
            ticket = await cluster.until(TICKETS, name, RESERVED)
            guardian = await cluster.get(PODS, f"korder-guardian-{name}")
            assert guardian is not None
            assert guardian.spec.node_name == ticket.status.node_name

        refused = await cluster.until(TICKETS, "refused", reason_is(Reason.GUARDIAN_REFUSED))
        assert "no PriorityClass with name missing" in refused.status.message
        large = await cluster.until(TICKETS, "too-large", reason_is(Reason.UNSCHEDULABLE))
        assert "Insufficient cpu" in large.status.message
        found = (await served.discover(cluster.client)).of("scheduling.k8s.io/v1", "PriorityClass")
        assert found is not None
        await cluster.client.create(found.kind, {"metadata": {"name": "missing"}, "value": 7})
        await cluster.until(TICKETS, "refused", RESERVED)

        await cluster.client.post(PODS, Key("default", "korder-guardian-evicted"), "eviction", {})
        await cluster.until(
            TICKETS,
            "evicted",
            lambda t: RESERVED(t) and not t.status.guardian_pod.endswith("evicted"),
        )
        assert Reason.EVICTED in await told(cluster, "evicted")

        ended = await cluster.until(TICKETS, "brief", EXPIRED)
        assert ended.status.finished_time is not None
        assert ended.status.expiration_time is not None
        late = ended.status.finished_time - ended.status.expiration_time
        assert timedelta() <= late <= timedelta(seconds=1)
        await cluster.gone(TICKETS, "brief")
        await cluster.delete(TICKETS, "held")
        await cluster.gone(TICKETS, "held")
        assert await cluster.get(PODS, "korder-guardian-held") is None


async def test_room_returns_to_its_ticket_although_others_wait_for_it_rule_10(
    a_control_plane: Plane, clock: Clock
) -> None:
    plane = await a_control_plane()
    async with real_scene(plane, clock, "node-1") as cluster:
        restricted: JSON = {"pod-security.kubernetes.io/enforce": None}
        await cluster.edit(NAMESPACES, "default", {"metadata": {"labels": restricted}})
        back = a_sized_ticket("t", cpu="3500m").but({"spec": {"afterUse": "Reserve"}})
        await cluster.put(back)
        await claim(cluster, "t", a_pod_on("node-1", "user", cpu="3500m"))
        await cluster.put(*(a_pod_on("node-1", f"rival-{n}", cpu="1500m") for n in range(10)))
        await cluster.pass_time(2)
        await cluster.delete(PODS, "user")
        await cluster.until(TICKETS, "t", lambda t: RESERVED(t) and t.status.claimed_by is None)
        await cluster.gone(PODS, "user")
        rivals = [await cluster.get(PODS, f"rival-{n}") for n in range(10)]
        assert not any(rival.spec.node_name for rival in rivals if rival is not None)
