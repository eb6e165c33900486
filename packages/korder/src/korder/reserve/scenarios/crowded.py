"""A full cluster: every ticket that is handed over, renewed or returned has competitors that wait for its room.

    crowded(Random(seed), Crowded(nodes=2, hours=1)) -> steps

The run consists of acts of five minutes, with quiet time in between. In each, orders of several namespaces take the whole cluster, then competitors of several
priorities come that never preempt and wait, and then pods claim, one by one and in bursts. Competitors run for a while and go, so that
refills find room again. Each act ends with nothing left. `Crowded.mix` names the sorts of tenants (`crowd_tenants`, `crowd_troubles`); each
is a row of what was seen to fail on a real cluster.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from random import Random

from korder.reserve.scenarios import crowd_tenants, crowd_troubles
from korder.reserve.scenarios.crowd_tenants import HELD, UNIT, Tenant
from pocketkube.nodes.lifetimes import RUNS_FOR
from pocketkube.simulation.script import AddNode, Apply, Delete, Patch, Step, in_order
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.moments import moments
from pocketkube.simulation.workloads.objects import Pods
from pocketkube.simulation.workloads.troubles import HOUR, troubles

UNITS_PER_NODE = 6
ACT = 300.0
"""Seconds of one act."""
SETTING_UP = 5.0
CLEARED = 30.0
"""Seconds before the end of an act when everything is deleted."""
NAMESPACES = ("red", "blue", "green")
COMPETITORS = "crowd"
"""The namespace of pods that compete."""
PRIORITIES: Mapping[str, int] = {
    "": 0,
    "crowd-normal": 1_000,
    "crowd-equal": 1_000_000,
    "crowd-high": 2_000_000,
}
"""The priority classes of competitors: that of most claimants, above it, that of guardians, above that."""
MIX: Mapping[str, float] = {
    "default": 4,
    "full": 2,
    "stuck": 2,
    "returning": 3,
    "renewing": 2,
    "recurring": 2,
    "daemons": 1,
    "vanishing": 0.8,
    "slow": 0.4,
    "fettered": 0.4,
    "refused": 0.4,
    "silent": 0.3,
}
"""Sorts of tenants, in proportion."""
SORTS = {**crowd_tenants.SORTS, **crowd_troubles.SORTS}
RENEWED: Mapping[str, float] = {"default": 1, "renewing": 3, "recurring": 3}
"""The same with tickets that are mostly renewed at firings and at their expiry."""
RETURNED: Mapping[str, float] = {"returning": 4, "default": 1, "daemons": 1, "slow": 0.3}
"""The same with tickets that mostly take their room back after use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowded:
    """What the cluster is like.

    Attributes:
        nodes: How many machines there are.
        hours: How long all this goes on.
        acts: How many acts there are in an hour, at most twelve.
        mix: Sorts of tenants, in proportion.
        tenants: The most tenants of an act.
        competitors: How many competitors of each priority wait at any time, on average.
        cordons: How often in an hour a node is cordoned for a while.
        troubles: How often in an hour a process crashes, stops or loses the time.
        processes: The processes to which that happens.
    """

    nodes: int = 2
    hours: float = 1.0
    acts: float = 3.0
    mix: Mapping[str, float] = field(default_factory=lambda: MIX)
    tenants: int = 3
    competitors: float = 2.0
    cordons: float = 0.0
    troubles: float = 0.0
    processes: tuple[str, ...] = ()

    @property
    def length(self) -> float:
        return self.hours * HOUR


def crowded(rng: Random, wanted: Crowded) -> tuple[Step, ...]:
    """Writes the script of a run."""
    names = [f"node-{index}" for index in range(wanted.nodes)]
    steps = chain(
        _cluster(names),
        *(_act(rng, wanted, names, number, at) for number, at in enumerate(_beginnings(wanted))),
        _cordons(rng, wanted, names),
        troubles(rng, wanted.processes, wanted.length, wanted.troubles),
    )
    return in_order(
        Step(round(each.at, 3), each.action) for each in steps if each.at <= wanted.length
    )


def _cluster(names: list[str]) -> Iterator[Step]:
    cpu = UNIT * UNITS_PER_NODE // 1_000
    for name in names:
        yield Step(0.0, AddNode(name, {"cpu": str(cpu), "memory": f"{2 * cpu}Gi"}))
    for name in (*NAMESPACES, COMPETITORS):
        yield Step(1.0, Apply(objects.namespace(name)))
    for manifest in crowd_troubles.SURROUNDINGS:
        yield Step(1.0, Apply(manifest))
    for name, value in PRIORITIES.items():
        if name:
            yield Step(1.0, Apply(objects.priority_class(name, value, preempts=False)))


def _beginnings(wanted: Crowded) -> Iterator[float]:
    """When acts begin; a run that is too short for one has a shorter act."""
    gap = max(ACT, HOUR / wanted.acts)
    for number in range(max(1, round(wanted.length / gap))):
        yield SETTING_UP + number * gap


def _act(
    rng: Random, wanted: Crowded, nodes: list[str], number: int, begins: float
) -> Iterator[Step]:
    ends = min(begins + ACT, wanted.length) - CLEARED
    units = wanted.nodes * UNITS_PER_NODE
    sorts = rng.choices(
        [*wanted.mix], [*wanted.mix.values()], k=rng.randint(min(2, wanted.tenants), wanted.tenants)
    )
    held = max(len(sorts), round(units * rng.choice((0.6, 0.9, 1.0, 1.0, 1.3))))
    for index, (sort, tickets) in enumerate(zip(sorts, _parts(rng, held, len(sorts)), strict=True)):
        tenant = Tenant(
            name=f"a{number}-{index}",
            where=rng.choice(NAMESPACES),
            tickets=tickets,
            begins=begins + rng.uniform(0, 2),
            ends=ends,
            nodes=tuple(nodes),
        )
        yield from SORTS[sort](rng, tenant)
    yield from _competitors(rng, wanted, number, begins + HELD, ends)


def _parts(rng: Random, whole: int, many: int) -> list[int]:
    """Splits a number of tickets between tenants; each gets at least one."""
    cuts = sorted(rng.sample(range(1, whole), many - 1))
    return [end - start for start, end in zip([0, *cuts], [*cuts, whole], strict=True)]


def _competitors(
    rng: Random, wanted: Crowded, number: int, begins: float, ends: float
) -> Iterator[Step]:
    """Pods that wait for any room and never preempt; there are always some, and those that got room go after a while."""
    classes = rng.sample([*PRIORITIES], rng.randint(1, len(PRIORITIES)))
    for rank in classes:
        lasts = rng.uniform(60, 180)
        first = [begins + rng.uniform(0, 5) for _ in range(round(wanted.competitors))]
        later = moments(rng, lasts / max(wanted.competitors, 0.1), begins, ends)
        for index, at in enumerate((*first, *later)):
            pods = Pods(
                cpu=rng.choice((UNIT, UNIT, UNIT, UNIT // 2)),
                memory=UNIT,
                priority=rank,
                grace=rng.choice((0, 1, 2)),
                ends={RUNS_FOR: f"{max(5, round(rng.expovariate(1 / 60)))}s"},
                restarts="Never",
            )
            name = f"a{number}-{rank or 'crowd-low'}-{index}"
            yield Step(at, Apply(objects.pod(name, COMPETITORS, pods)))
            yield Step(ends, Delete("v1", "Pod", name, COMPETITORS))


def _cordons(rng: Random, wanted: Crowded, names: list[str]) -> Iterator[Step]:
    if wanted.cordons <= 0:
        return
    for at in moments(rng, HOUR / wanted.cordons, SETTING_UP, wanted.length):
        name = rng.choice(names)
        until = min(at + rng.uniform(10, 90), wanted.length)
        yield Step(at, Patch("v1", "Node", name, {"spec": {"unschedulable": True}}))
        yield Step(until, Patch("v1", "Node", name, {"spec": {"unschedulable": False}}))
