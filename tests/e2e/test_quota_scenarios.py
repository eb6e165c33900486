"""Quotas on a real control plane: orders that come at once get exactly what there is room for, though two managers both act (S31, S26)."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.e2e.stage import LOOK, PATIENCE, Stage, World, a_world
from tests.e2e.wires import a_manager

from korder.api import conditions, quantity
from korder.api.meta import JSON, Key
from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import ORDERS, TICKETS, Order, OrderCondition, Reason, TicketPhase

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOM = 7


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[World]:
    """Without a manager."""
    async with a_world() as world:
        yield world


def is_short(order: Order) -> bool:
    ready = conditions.find(order.status.conditions, OrderCondition.READY)
    return ready is not None and ready.reason == Reason.QUOTA_EXCEEDED


async def limit(stage: Stage, **hard: str) -> None:
    scope: JSON = {"type": "NamespaceList", "namespaces": [stage.name]}
    limits: dict[str, JSON] = {key.replace("_", "."): amount for key, amount in hard.items()}
    body: dict[str, JSON] = {"metadata": {"name": stage.name}}
    await stage.client.create(QUOTAS, {**body, "spec": {"scope": scope, "hard": limits}})
    await stage.until(QUOTAS, stage.name, lambda quota: quota.status.observed_generation > 0)


def used(quota: Quota, key: str) -> quantity.Quantity:
    return quantity.parse(quota.status.used.get(key, 0))


async def watch_use(stage: Stage, done: asyncio.Event) -> None:
    """Reads the quota all the time; it never says that more is used than there is."""
    while not done.is_set():
        quota = await stage.client.get(QUOTAS, Key("", stage.name))
        assert used(quota, "reserved.cpu") <= quantity.parse("3500m")
        await asyncio.sleep(LOOK / 2)


async def begun(stage: Stage) -> None:
    """Waits until the first ticket is made."""
    async with asyncio.timeout(PATIENCE):
        while not await stage.all(TICKETS):
            await asyncio.sleep(LOOK)


async def served(stage: Stage, orders: int) -> None:
    """Waits until all orders know how they stand."""
    async with asyncio.timeout(PATIENCE):
        while sum(map(is_short, await stage.all(ORDERS))) != orders - ROOM:
            await asyncio.sleep(LOOK)


@pytest.mark.parametrize("orders", [20, 200])
async def test_exactly_as_many_orders_are_served_as_there_is_room_for(
    world: World, stage: Stage, orders: int
) -> None:
    """Both managers act, as after a pause of one of them; one ends in the middle of it."""
    await stage.add_nodes(2)
    done = asyncio.Event()
    async with asyncio.TaskGroup() as group, a_manager(world, lambda wire: wire, "second"):
        async with a_manager(world, lambda wire: wire, "first"):
            await limit(stage, reserved_cpu="3500m")
            group.create_task(watch_use(stage, done))
            asked = (stage.order(f"o-{n}", 1, cpu="500m") for n in range(orders))
            asking = group.create_task(stage.put(*asked))
            await begun(stage)
        await asking
        await served(stage, orders)
        await stage.counted(Reserved=ROOM)
        full = quantity.parse(ROOM)
        await stage.until(QUOTAS, stage.name, lambda quota: used(quota, "tickets") == full)
        done.set()


async def test_what_ends_lets_others_be_served(world: World, stage: Stage) -> None:
    await stage.add_nodes(1)
    async with a_manager(world, lambda wire: wire):
        await limit(stage, tickets="2")
        await stage.put(stage.order("first", 2, cpu="100m"))
        await stage.phase(TicketPhase.RESERVED, "first-0", "first-1")
        await stage.put(stage.order("second", 2, cpu="100m"))
        await stage.until(ORDERS, "second", is_short)
        await stage.delete(ORDERS, "first")
        await stage.phase(TicketPhase.RESERVED, "second-0", "second-1")
        assert len(await stage.all(TICKETS)) == 2
