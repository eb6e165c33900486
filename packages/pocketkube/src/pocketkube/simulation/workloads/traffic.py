"""Mixed traffic: tenants who come and go on machines that come and go.

    traffic(Random(seed), Traffic(nodes=10, pods=50, hours=1)) -> steps

The load is steady: tenants come at random, as often as keeps the wanted number of pods alive, and the run begins with as many as there
would be after a long time. A tenant stays for a while that is exponentially long; so who is there at the beginning stays as long, from
then on, as who has just come.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from random import Random

from pocketkube.simulation.script import Apply, Step, in_order
from pocketkube.simulation.workloads import objects
from pocketkube.simulation.workloads.fleet import DRAIN_SECONDS, Fleet, fleet, renewal
from pocketkube.simulation.workloads.moments import moments
from pocketkube.simulation.workloads.tenants import SORTS, URGENT, Tenant
from pocketkube.simulation.workloads.troubles import HOUR, outages, troubles

MIX: Mapping[str, float] = {
    "pod": 4,
    "burst": 0.5,
    "urgent": 1,
    "deployment": 2,
    "stateful-set": 1,
    "daemon-set": 0.2,
    "job": 2,
    "team": 0.3,
}
"""How many tenants of each sort come, in proportion."""
_NAMESPACES = ("default", "blue", "green")
_SETTING_UP = 5.0
"""Seconds until the first tenant comes."""
_SIZES = (0.4, 0.8, 0.8, 1.0, 2.0)
_SMALLEST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What traffic is like.

    Attributes:
        nodes: How many machines there are.
        pods: How many pods are alive at any time, on average.
        life: How long a tenant stays, in seconds, on average.
        hours: How long all this goes on.
        mix: How many tenants of each sort come, in proportion.
        load: Which share of all processors the pods ask for, on average; with more than about 0.8 pods wait and push each other aside.
        edits: How often a tenant has another idea, while it stays.
        renewals: How often in an hour some machines are renewed.
        outages: How often in an hour a machine is lost or slow for a while.
        troubles: How often in an hour a process crashes, stops or loses the time.
        processes: Which processes those troubles befall.
    """

    nodes: int = 10
    pods: int = 40
    life: float = 1_800.0
    hours: float = 1.0
    mix: Mapping[str, float] = field(default_factory=lambda: MIX)
    load: float = 0.6
    edits: float = 2.0
    renewals: float = 1.0
    outages: float = 2.0
    troubles: float = 0.0
    processes: tuple[str, ...] = ()

    @property
    def length(self) -> float:
        return self.hours * HOUR


def a_day(*, nodes: int = 100, hours: float = 24.0) -> Traffic:
    """The benchmark `simulate-day`: 500 pods alive that live two hours each, on average; about 6,000 come in a day."""
    quiet = Traffic(edits=0.0, renewals=0.0, outages=0.0, load=0.4, mix={"plain": 1})
    return replace(quiet, nodes=nodes, pods=500, life=2 * HOUR, hours=hours)


def traffic(rng: Random, wanted: Traffic) -> tuple[Step, ...]:
    """Writes the script of a run."""
    machines = fleet(rng, wanted.nodes)
    steps = chain(
        machines.steps(),
        _surroundings(),
        _tenants(rng, wanted, machines),
        _renewals(rng, wanted, machines),
        outages(rng, machines.names, wanted.length, wanted.outages),
        troubles(rng, wanted.processes, wanted.length, wanted.troubles),
    )
    return in_order(
        Step(round(each.at, 3), each.action) for each in steps if each.at <= wanted.length
    )


def _surroundings() -> Iterator[Step]:
    for name in _NAMESPACES[1:]:
        yield Step(1.0, Apply(objects.namespace(name)))
    yield Step(1.0, Apply(objects.priority_class(URGENT, 1_000)))


def _tenants(rng: Random, wanted: Traffic, machines: Fleet) -> Iterator[Step]:
    names = [name for name, weight in wanted.mix.items() if weight > 0]
    if wanted.pods <= 0 or not names:
        return
    weights = [wanted.mix[name] for name in names]
    size = sum(SORTS[name].pods * wanted.mix[name] for name in names) / sum(weights)
    cpu = wanted.load * machines.cpu / max(wanted.pods, 1)
    pools = tuple(pool.name for pool in machines.pools)
    for index, at in enumerate(_arrivals(rng, wanted, wanted.pods / size)):
        sort = rng.choices(names, weights)[0]
        tenant = Tenant(
            name=f"{sort}-{index}",
            where=rng.choice(_NAMESPACES),
            begins=at,
            ends=at + max(1.0, rng.expovariate(1 / wanted.life)),
            edits=wanted.edits / wanted.life,
            cpu=max(_SMALLEST, round(cpu * rng.choice(_SIZES))),
            pools=pools,
        )
        yield from SORTS[sort].make(rng, tenant)


def _arrivals(rng: Random, wanted: Traffic, present: float) -> Iterator[float]:
    """When tenants come, if so many are to be present at any time."""
    for index in range(round(present)):
        yield _SETTING_UP + index * 0.5
    yield from moments(rng, wanted.life / present, _SETTING_UP, wanted.length)


def _renewals(rng: Random, wanted: Traffic, machines: Fleet) -> Iterator[Step]:
    """Now and then a few machines are replaced, but only if that ends before the run does."""
    for _ in range(round(wanted.renewals * wanted.hours)):
        some = rng.sample(machines.machines, min(rng.randint(1, 3), len(machines.machines)))
        lasts = len(some) * (DRAIN_SECONDS + 30)
        begins = rng.uniform(_SETTING_UP, wanted.length)
        if begins + lasts < wanted.length:
            yield from renewal(rng, some, begins)
