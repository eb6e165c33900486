"""Words about quotas for scenarios on a stage: make one, wait for what is used, and hear what is said to those for whom there is no room.

`test_quota_scenarios` uses them. Who answers at the door knows of a quota a moment after it is made, so refusals are waited for by dry runs.
"""

import asyncio
from collections.abc import Awaitable, Callable

from tests.e2e.stage import LOOK, PATIENCE, Stage

from korder.api.quota import QUOTAS, Quota
from korder.api.reserve import ORDERS, Order, OrderCondition, Reason
from kubeloop.client.errors import Forbidden, Invalid
from kubeloop.objects import conditions, quantity
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder


def here(*stages: Stage) -> dict[str, JSON]:
    """A scope."""
    return {"type": "NamespaceList", "namespaces": [stage.name for stage in stages]}


async def limit(
    stage: Stage, quota: Builder[Quota]
) -> Callable[[Callable[[Quota], bool]], Awaitable[Quota]]:
    """Makes a quota; what comes back waits until it is as wished."""
    (made,) = await stage.put(quota)
    name = made.metadata.name
    await stage.until(QUOTAS, name, lambda q: q.status.observed_generation > 0)
    return lambda holds: stage.until(QUOTAS, name, holds)


def used(**amounts: str) -> Callable[[Quota], bool]:
    """Whether so much is used; in keys `_` stands for `.`."""
    wanted = {key.replace("_", "."): quantity.parse(text) for key, text in amounts.items()}
    return lambda quota: all(
        quantity.parse(quota.status.used.get(key, 0)) == amount for key, amount in wanted.items()
    )


def shortfall(order: Order) -> str:
    """What an order says about a quota that has no room for it."""
    ready = conditions.find(order.status.conditions, OrderCondition.READY)
    return ready.message if ready is not None and ready.reason == Reason.QUOTA_EXCEEDED else ""


async def short(stage: Stage, said: str, order: str = "o") -> None:
    """Waits until an order says that a quota has no room for it."""
    await stage.until(ORDERS, order, lambda o: said in shortfall(o))


async def refusal(attempt: Callable[[], Awaitable[object]]) -> str:
    """What is said to a dry run, as soon as whoever is asked knows of the quota."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await attempt()
            except (Forbidden, Invalid) as refused:
                return refused.message
            await asyncio.sleep(LOOK)


async def refused(stage: Stage, order: Builder[Order]) -> str:
    return await refusal(lambda: stage.client.create(ORDERS, order.json, dry_run=True))


async def is_let_in(stage: Stage, order: Builder[Order]) -> bool:
    try:
        await stage.client.create(ORDERS, order.json)
    except Forbidden:
        return False
    return True
