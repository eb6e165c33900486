"""The machines of a simulated cluster: of which shapes they are, and how their owners renew them one after the other.

`traffic` calls it. Sizes come in a few shapes, each a pool that things can be tied to by a label.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from pocketkube.simulation.script import AddNode, DeletePods, Patch, RemoveNode, Step
from pocketkube.simulation.workloads.tenants import POOL

DRAIN_SECONDS = 120.0
"""How long a node that was drained stays before it goes."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Machines of one shape."""

    name: str
    cpu: int
    memory: int
    share: float


POOLS = (Pool("small", 4, 16, 0.4), Pool("medium", 8, 32, 0.4), Pool("large", 16, 64, 0.2))


@dataclass(frozen=True, slots=True)
class Fleet:
    """Which machines a cluster begins with."""

    machines: tuple[tuple[str, Pool], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.machines)

    @property
    def cpu(self) -> int:
        """All there is, in thousandths of a core."""
        return sum(pool.cpu for _, pool in self.machines) * 1_000

    @property
    def pools(self) -> tuple[Pool, ...]:
        return tuple(dict.fromkeys(pool for _, pool in self.machines))

    def steps(self) -> Iterator[Step]:
        return (Step(0.0, _added(name, pool)) for name, pool in self.machines)


def fleet(rng: Random, nodes: int) -> Fleet:
    """So many machines of mixed shapes."""
    shares = [pool.share for pool in POOLS]
    chosen = rng.choices(POOLS, shares, k=nodes)
    return Fleet(tuple((f"node-{index}", pool) for index, pool in enumerate(chosen)))


def renewal(rng: Random, machines: Sequence[tuple[str, Pool]], begins: float) -> Iterator[Step]:
    """Replaces machines one by one: no new pods, those there go, then the machine, then comes a new one."""
    at = begins
    for name, pool in machines:
        yield Step(at, Patch("v1", "Node", name, {"spec": {"unschedulable": True}}))
        yield Step(at + 1, DeletePods(node=name))
        at += DRAIN_SECONDS
        yield Step(at, RemoveNode(name))
        at += rng.uniform(1, 30)
        yield Step(at, _added(name, pool))


def _added(name: str, pool: Pool) -> AddNode:
    capacity = {"cpu": str(pool.cpu), "memory": f"{pool.memory}Gi"}
    return AddNode(name, capacity, {POOL: pool.name})
