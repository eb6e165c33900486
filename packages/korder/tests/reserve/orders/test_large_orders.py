"""Large orders: their status says how many tickets there are while the rest is being made."""

import asyncio

from tests.reserve.scene import scene

from korder.api.reserve import ORDERS, TICKETS
from korder.reserve.orders.controller import Orders
from korder.testing.builders import an_order
from kubeloop.runtime.clock import Clock


async def test_the_status_of_a_large_order_counts_its_tickets_while_they_are_made(
    clock: Clock,
) -> None:
    async with scene(clock, Orders, nodes=1) as cluster:
        await cluster.put(an_order("o", 350))
        seen = set[int]()
        while 350 not in seen:
            order = await cluster.get(ORDERS, "o")
            assert order is not None
            seen.add(order.status.replicas)
            await asyncio.sleep(0)
        assert len([count for count in seen if 0 < count < 350]) >= 2
        assert len(await cluster.all(TICKETS)) == 350
