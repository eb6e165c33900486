"""What a simulated day costs: `simulate-day` in seconds, `simulate-nodes` for a write on few and on many nodes, `simulate-memory` over a week.

Each run is a process of its own (`simulation_child`), with the journal written to a file and the auditor on. A day has 500 pods alive that
live two hours each on average, about 6,000 creations; the memory of a week is taken with fewer pods, so that it ends in a minute.
"""

import asyncio
from collections.abc import Iterator

from bench.micro import Tell
from bench.plane import a_child
from bench.table import Row

DAY_SECONDS = 60.0
FLAT = 1.5
_NODES = (10, 100, 1000)
_SPAN_HOURS = 6.0
_ROUNDS = 2


def day(tell: Tell) -> Iterator[Row]:
    """24 hours on 100 nodes."""
    tell("simulate-day")
    run = asyncio.run(a_child("bench.simulation_child", "100", "24", "500"))
    yield Row("simulate-day", run["seconds"], "s", DAY_SECONDS, 1.0)


def nodes(tell: Tell) -> Iterator[Row]:
    """Real time for a write, the dearest number of nodes against the cheapest; the better of two rounds, in turns."""
    costs = dict.fromkeys(_NODES, float("inf"))
    for reconcile in range(_ROUNDS):
        for count in _NODES:
            tell(f"simulate-nodes: {count}, round {reconcile + 1} of {_ROUNDS}")
            run = asyncio.run(
                a_child("bench.simulation_child", str(count), str(_SPAN_HOURS), "500")
            )
            costs[count] = min(costs[count], run["seconds"] / run["writes"] * 1e6)
            tell(f"simulate-nodes: {count}, {costs[count]:.0f} us")
    yield Row("simulate-nodes", max(costs.values()), "us per write", min(costs.values()), FLAT)


def memory(tell: Tell) -> Iterator[Row]:
    """Resident memory at the end of a week against that at the end of its first day."""
    tell("simulate-memory")
    run = asyncio.run(a_child("bench.simulation_child", "20", "168", "60"))
    yield Row("simulate-memory", run["last"], "MB", run["first"], FLAT)
