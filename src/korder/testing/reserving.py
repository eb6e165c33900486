"""Runs of the reserve domain: two replicas of our manager in a cluster in which people book.

    setup(seed, Booking(hours=1), faults=0.05) -> Setup

`suites` and the tests of the domain call it. `add` puts the controllers on a manager; tests hand in broken ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
import random
from random import Random

from korder.api.meta import Key
from korder.api.reserve import ORDERS, TICKETS
from korder.embedded.simulation.auditing.invariants import catalogue
from korder.embedded.simulation.auditing.invariants.reserving.catalogue import (
    competing,
    reserving,
)
from korder.embedded.simulation.auditing.tolerances import tolerance_of
from korder.embedded.simulation.luck import Chance
from korder.embedded.simulation.processes import Program
from korder.embedded.simulation.script import Step
from korder.embedded.simulation.workloads.booking import Booking, booking, surroundings
from korder.embedded.simulation.workloads.crowded import RENEWED, Crowded, crowded
from korder.embedded.simulation.world import START, Setup
from korder.kube.client import Client
from korder.reserve.setup import add_reserve
from korder.runtime.clock import Clock
from korder.runtime.leader import Terms
from korder.runtime.manager import Manager, Settings

REPLICAS = ("korder-1", "korder-2")
LEASE = Key("kube-system", "korder")
TERMS = Terms(lease=20, renew=15, retry=5)
"""Renewing is most of what a quiet replica does; five seconds are often enough for runs of an hour."""
KINDS = tuple((kind.api_version, kind.kind) for kind in (ORDERS, TICKETS))

Add = Callable[[Manager], object]


def programs(add: Add = add_reserve) -> tuple[Program, ...]:
    """Two replicas that share their work by a lease."""
    return tuple(_program(name, add) for name in REPLICAS)


def setup(seed: int, wanted: Booking, faults: float = 0.0, add: Add = add_reserve) -> Setup:
    """A run of people who book."""
    script = booking(Random(f"{seed} booking"), wanted, START)
    return played(seed, script, wanted.length, faults, add)


def full(seed: int, wanted: Crowded, faults: float = 0.0, add: Add = add_reserve) -> Setup:
    """A run of a full cluster, with the invariants of claims, renewals and returns against competitors."""
    script = crowded(Random(f"{seed} crowded"), wanted)
    return contested(seed, script, wanted.length, faults, add)


def renewed(seed: int, wanted: Crowded, faults: float = 0.0, add: Add = add_reserve) -> Setup:
    """A run of a full cluster in which most tickets are renewed at firings and at their expiry."""
    return full(seed, replace(wanted, mix=RENEWED), faults, add)


def contested(
    seed: int, script: Sequence[Step], length: float, faults: float = 0.0, add: Add = add_reserve
) -> Setup:
    """A run of any script, with the invariants of claims, renewals and returns against competitors."""
    run = played(seed, script, length, faults, add)
    tolerance = tolerance_of(script, faulty=bool(faults))
    return replace(run, invariants=(*run.invariants, *competing(tolerance)))


def played(
    seed: int, script: Sequence[Step], length: float, faults: float = 0.0, add: Add = add_reserve
) -> Setup:
    """A run of any script. Everything about it is made anew: programs and promises remember."""
    tolerance = tolerance_of(script, faulty=bool(faults))
    return Setup(
        seed=seed,
        present=surroundings(),
        script=script,
        length=length,
        programs=programs(add),
        kinds=KINDS,
        luck=Chance(seed, faults) if faults else None,
        invariants=(*catalogue.standard(tolerance), *reserving(tolerance)),
    )


def _program(name: str, add: Add) -> Program:
    async def build(client: Client, clock: Clock, rng: random.Random) -> Manager:
        manager = Manager(
            client, Settings(identity=name, lease=LEASE, terms=TERMS), clock=clock, rng=rng
        )
        add(manager)
        return manager

    return Program(name, build)
