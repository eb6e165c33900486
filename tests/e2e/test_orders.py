"""Orders on a real control plane, with simulated nodes, typed as people type them (S1, S4, S6, S28, S36)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
import random

import pytest
from tests.reserve.scene import NODE, Scene
import yaml

from korder.api import reserve
from korder.api.reserve import ORDERS, TICKETS, Order, Ticket, TicketPhase
from korder.reserve.orders.controller import Orders
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import an_order
from kubeloop.client import rest_mapper
from kubeloop.client.connect import open_client
from kubeloop.objects import instant
from kubeloop.objects.core import NODES, is_ready
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.schema import crd
from kubeloop.testing.builders import Builder
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.testing.nodes import simulated_nodes

Plane = Callable[..., Awaitable[ControlPlane]]
CLASS: JSON = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": reserve.GUARDIAN_PRIORITY_CLASS},
    "value": 1_000_000,
    "preemptionPolicy": "Never",
}


@asynccontextmanager
async def real_scene(plane: ControlPlane, clock: Clock, *nodes: str) -> AsyncIterator[Scene]:
    """The scene of the other tests, with a real server and scheduler."""
    for body in (*map(crd.build, reserve.DEFINITIONS), CLASS):
        await plane.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump(body))
    async with (
        open_client(str(plane.kubeconfig()), now=clock.now, rng=random.Random(0)) as client,
        simulated_nodes(client, dict.fromkeys(nodes, NODE), clock=clock) as machines,
        asyncio.TaskGroup() as group,
    ):
        while (await rest_mapper.discover(client)).of(TICKETS.api_version, TICKETS.kind) is None:
            await asyncio.sleep(0.1)
        there = Scene(client, clock, machines, (Orders, Tickets))
        await there.begin(group)
        for node in nodes:
            await there.until(NODES, node, lambda n: is_ready(n) and not n.spec.taints)
        try:
            yield there
        finally:
            await there.end()


def asking(name: str, replicas: int, cpu: str, **spec: JSON) -> Builder[Order]:
    resources: JSON = {"requests": {"cpu": cpu, "memory": "128Mi"}}
    template: JSON = {"spec": {"resources": resources}}
    return an_order(name, replicas).but({"spec": {"template": template, **spec}})


async def settled(cluster: Scene, name: str, held: int) -> Order:
    return await cluster.until(
        ORDERS,
        name,
        lambda order: (
            order.status.available_replicas == held
            and order.status.observed_generation == order.metadata.generation
            and not any(
                c.type == "Progressing" and c.status == "True" for c in order.status.conditions
            )
        ),
    )


async def of(cluster: Scene, order: str) -> list[Ticket]:
    return await cluster.all(TICKETS, labels=f"korder.dev/order={order}")


@pytest.mark.timeout(300)
async def test_orders_live_and_end_as_in_the_embedded_cluster(
    a_control_plane: Plane, clock: Clock
) -> None:
    plane = await a_control_plane()
    async with real_scene(plane, clock, "node-1", "node-2", "node-3") as cluster:
        always: JSON = {"type": "OneTime", "refreshPolicy": "Always"}
        minutely: JSON = {
            "type": "Scheduled",
            "schedule": "* * * * *",
            "startingDeadlineSeconds": 0,
        }
        window = asking("window", 2, "100m", strategy=minutely)
        gone_at_once: JSON = {
            "duration": "8s",
            "lifecycle": {"ttlSecondsAfterFinished": 0},
            "nodeSelector": {"kubernetes.io/hostname": "node-2"},
        }
        await cluster.put(
            asking("large", 4, "3"),
            asking("pool", 3, "100m", strategy=always),
            asking("daemon", 1, "100m", daemonSet=True),
            window.but({"spec": {"template": {"spec": gone_at_once}}}),
        )
        async with asyncio.TaskGroup() as meanwhile:
            meanwhile.create_task(_opens_on_the_minute(cluster, clock))
            await _holds_what_fits(cluster)
            await _scales_and_rolls_out(cluster, plane)
            await _follows_the_nodes(cluster, plane)
        await _goes_after_its_tickets(cluster)


async def _holds_what_fits(cluster: Scene) -> None:
    """An order holds what fits (S1)."""
    order = await cluster.until(
        ORDERS,
        "large",
        lambda o: (
            o.status.available_replicas == 3
            and any("Insufficient cpu" in each.message for each in o.status.conditions)
        ),
    )
    assert order.status.unavailable_replicas == 1
    await settled(cluster, "pool", 3)
    await settled(cluster, "daemon", 3)


async def _scales_and_rolls_out(cluster: Scene, plane: ControlPlane) -> None:
    """An order scales and rolls out (S6)."""
    await plane.kubectl("scale", "orders.core.korder.dev/pool", "--replicas=5")
    await settled(cluster, "pool", 5)
    cpu: JSON = {"spec": {"template": {"spec": {"resources": {"requests": {"cpu": "50m"}}}}}}
    await cluster.edit(ORDERS, "pool", cpu)
    order = await cluster.until(ORDERS, "pool", lambda o: o.status.updated_replicas == 5)
    await settled(cluster, "pool", 5)
    await plane.kubectl("scale", "orders.core.korder.dev/pool", "--replicas=2")
    order = await settled(cluster, "pool", 2)
    assert order.status.replicas == 2


async def _follows_the_nodes(cluster: Scene, plane: ControlPlane) -> None:
    """An order follows the nodes (S36)."""
    await plane.kubectl("cordon", "node-1")
    await settled(cluster, "daemon", 2)
    assert {ticket.spec.node_name for ticket in await of(cluster, "daemon")} == {"node-2", "node-3"}
    await plane.kubectl("uncordon", "node-1")
    await settled(cluster, "daemon", 3)


async def _opens_on_the_minute(cluster: Scene, clock: Clock) -> None:
    """S28; how punctual a firing is, is judged in simulation, where the machine cannot be late."""
    await asyncio.sleep(60 - clock.now().second % 60)
    minute = instant.render(clock.now().replace(second=0))
    async with asyncio.timeout(100):
        while [t.status.phase for t in await of(cluster, "window")] != [TicketPhase.RESERVED] * 2:
            await asyncio.sleep(0.1)
        assert {ticket.spec.start_time for ticket in await of(cluster, "window")} == {minute}
        while await of(cluster, "window"):
            await asyncio.sleep(0.1)


async def _goes_after_its_tickets(cluster: Scene) -> None:
    """An order goes after its tickets (S4)."""
    for name in ("large", "pool", "daemon", "window"):
        await cluster.delete(ORDERS, name)
    for name in ("large", "pool", "daemon", "window"):
        await cluster.gone(ORDERS, name)
        assert await of(cluster, name) == []
    assert await cluster.guardians() == []
