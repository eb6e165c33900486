"""Runs of the reserve domain: two replicas of our manager in a cluster in which people book.

    setup(seed, Booking(hours=1), faults=0.05) -> Setup

`suites` and the tests of the domain call it. `add` puts the controllers on a manager; tests hand in broken ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
import random
from random import Random

from korder.api.reserve import ORDERS, TICKETS
from korder.install_config import PRODUCT
from korder.reserve.domain import Options, add_reserve
from korder.reserve.scenarios.crowded import RENEWED, RETURNED, Crowded, crowded
from korder.reserve.scenarios.invariants.catalogue import competing, reserving
from korder.reserve.scenarios.invariants.competition import FORCED_ENDS, JUDGED_ENDS, End
from korder.reserve.scenarios.mixed import Booking, booking, surroundings
from kubeloop.client.client import Client
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.leader import Terms
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.simulation.auditing.tolerances import tolerance_of
from pocketkube.simulation.fault_plan import Chance
from pocketkube.simulation.invariants import catalogue
from pocketkube.simulation.processes import Program
from pocketkube.simulation.script import Step
from pocketkube.simulation.world import START, Setup

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


def returned(seed: int, wanted: Crowded, faults: float = 0.0) -> Setup:
    """A run of a full cluster with `--return-finalizer`: room is taken back from pods that are deleted by force too."""
    script = crowded(Random(f"{seed} crowded"), replace(wanted, mix=RETURNED))
    return contested(seed, script, wanted.length, faults, _add_with_finalizer, FORCED_ENDS)


def contested(
    seed: int,
    script: Sequence[Step],
    length: float,
    faults: float = 0.0,
    add: Add = add_reserve,
    judged_ends: frozenset[End] = JUDGED_ENDS,
) -> Setup:
    """A run of any script, with the invariants of claims, renewals and returns against competitors."""
    run = played(seed, script, length, faults, add)
    tolerance = tolerance_of(script, faulty=bool(faults))
    return replace(run, invariants=(*run.invariants, *competing(tolerance, judged_ends)))


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


def _add_with_finalizer(manager: Manager) -> object:
    return add_reserve(manager, Options(return_finalizer=True))


def _program(name: str, add: Add) -> Program:
    async def build(client: Client, clock: Clock, rng: random.Random) -> Manager:
        manager = Manager(
            client,
            Settings(
                identity=name, component=PRODUCT, metric_prefix=PRODUCT, lease=LEASE, terms=TERMS
            ),
            clock=clock,
            rng=rng,
        )
        add(manager)
        return manager

    return Program(name, build)
