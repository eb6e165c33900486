"""`daemonset-nodes`: what one heartbeat of a node costs korder's controllers when an order has a ticket on every node, at growing numbers of nodes.

Each number of nodes is a process of its own (`daemonsets_child`) in simulation. A cluster of 5,000 nodes hears from its nodes all the time, and
from almost none of them anything new: what must not grow is the price of being told so.
"""

import asyncio
from collections.abc import Iterator

from bench.micro import Tell
from bench.plane import a_child
from bench.table import Row

NODES = (100, 1_000, 5_000)
FLAT = 1.5


def nodes(tell: Tell) -> Iterator[Row]:
    """Processor time for an event, the dearest number of nodes against the cheapest."""
    costs = []
    for count in NODES:
        tell(f"daemonset-nodes: {count}")
        run = asyncio.run(a_child("bench.daemonsets_child", str(count)))
        costs.append(run["microseconds"])
        tell(f"daemonset-nodes: {count}, {costs[-1]:.1f} us")
    yield Row("daemonset-nodes", max(costs), "us per node event", min(costs), FLAT)
