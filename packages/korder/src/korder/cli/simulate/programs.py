"""What a simulated cluster gets so that the controllers of korder run in it, and what the domains contribute.

`script` puts the objects into a run and `journal` the program, if the manifests need them: a run without objects of korder stays what
it was.
"""

from collections.abc import Iterator
from functools import cache
import random

from korder.domains import DOMAINS
from korder.install.objects import Admission, admission_objects, domain_objects
from korder.install_config import PRODUCT, Site
from korder.scenario import ApiKind, Scenario, scenarios
from kubeloop.client.client import Client
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.simulation.auditing.invariant import Invariant, Tolerance
from pocketkube.simulation.processes import Program
from pocketkube.simulation.report.extension import Extension

PROGRAM = "korder"


@cache
def _scenarios() -> tuple[Scenario, ...]:
    return scenarios(DOMAINS)


def kinds() -> tuple[ApiKind, ...]:
    """Kinds of korder whose objects promise something."""
    return tuple(kind for each in _scenarios() for kind in each.kinds)


def acted() -> tuple[ApiKind, ...]:
    """Other kinds that controllers of korder act on."""
    return tuple(kind for each in _scenarios() for kind in each.acted)


def objects() -> tuple[dict[str, JSON], ...]:
    """What is installed: the objects of the domains, and policies."""
    return (*domain_objects(Site()), *admission_objects(Site(), Admission.POLICY))


def concerns(body: JSON) -> bool:
    """Says whether an object needs the controllers of a domain."""
    return any(each.concerns(body) for each in _scenarios())


def invariants(tolerance: Tolerance) -> Iterator[Invariant]:
    """What the domains promise, for one run."""
    for each in _scenarios():
        yield from each.invariants(tolerance)


def report() -> tuple[Extension, ...]:
    """What the domains add to the report."""
    return tuple(each.report for each in _scenarios())


def program() -> Program:
    """The manager, a process of its own, and known to the policies: what it has charged to a quota they do not weigh again."""

    async def build(client: Client, clock: Clock, rng: random.Random) -> Manager:
        settings = Settings(identity=PROGRAM, component=PRODUCT, metric_prefix=PRODUCT)
        manager = Manager(client, settings, clock=clock, rng=rng)
        for domain in DOMAINS:
            domain.with_usual_options(manager, clock)
        return manager

    return Program(PROGRAM, build, user=Site().manager_user)
