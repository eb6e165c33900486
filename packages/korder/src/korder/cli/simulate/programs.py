"""What a simulated cluster gets so that orders, tickets and pods that ask for them are served as in a cluster with korder.

`staging` puts the objects into a run and `recording` the program, if the manifests need them: a run without orders stays what it was.
"""

import random

from korder.api.reserve import ORDERS, TICKETS
from korder.install.objects import Admission, admission_objects, priority_class
from korder.install_config import Site
from korder.reserve.claims.requirements import REQUEST_ANNOTATIONS
from korder.reserve.domain import add_reserve
from kubeloop.client.client import Client
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.simulation.processes import Program

PROGRAM = "korder"
KINDS = tuple((kind.api_version, kind.kind) for kind in (ORDERS, TICKETS))


def objects() -> tuple[dict[str, JSON], ...]:
    """What is installed: the class of guardians, and policies that mark pods."""
    return (priority_class(), *admission_objects(Site(), Admission.POLICY))


def concerns(body: JSON) -> bool:
    """Says whether an object books room, or asks for room that is booked."""
    match body:
        case {"apiVersion": str(version), "kind": str(kind)} if (version, kind) in KINDS:
            return True
        case dict():
            annotations = body.get("annotations")
            given = annotations if isinstance(annotations, dict) else {}
            asks = any(name in given for name in REQUEST_ANNOTATIONS)
            return asks or any(map(concerns, body.values()))
        case _:
            return False


def program() -> Program:
    """The manager, a process of its own, and known to the policies: what it has charged to a quota they do not weigh again."""

    async def build(client: Client, clock: Clock, rng: random.Random) -> Manager:
        settings = Settings(identity=PROGRAM, component=PROGRAM)
        manager = Manager(client, settings, clock=clock, rng=rng)
        add_reserve(manager)
        return manager

    return Program(PROGRAM, build, user=Site().manager_user)
