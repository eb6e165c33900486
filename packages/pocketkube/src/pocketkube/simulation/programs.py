"""The programs every simulated cluster runs: scheduler, controllers, and what plays the machines; each a process of its own.

They are the actors of the embedded cluster, built the same way in every life. `world` starts them beside the programs that are to be
tried. Garbage is looked for only among kinds that can occur in the run: to follow all that a server serves, most of them empty, would
be half the cost of a quiet day.
"""

from collections.abc import Collection
import random

from kubeloop.client.client import Client
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from pocketkube.controllers.node_lifecycle import NodeLifecycle
from pocketkube.controllers.stored_kinds import stored_kinds
from pocketkube.controllers.workloads import add_workloads
from pocketkube.nodes.heartbeat import Nodes
from pocketkube.nodes.kubelet import Kubelet
from pocketkube.nodes.machines import Machines
from pocketkube.scheduler.scheduler import Scheduler
from pocketkube.simulation.processes import Program

SCHEDULER, CONTROLLERS, NODES = "scheduler", "controllers", "nodes"


_MADE = frozenset(
    {
        ("v1", "Pod"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "ControllerRevision"),
        ("batch/v1", "Job"),
    }
)
"""What controllers make by themselves."""


def cluster_programs(machines: Machines, kinds: Collection[tuple[str, str]]) -> tuple[Program, ...]:
    """What makes a server a cluster, in which users make objects of these kinds (API version and kind)."""
    wanted = _MADE | frozenset(kinds)

    async def scheduler(client: Client, clock: Clock, rng: random.Random) -> Manager:
        manager = _manager(SCHEDULER, client, clock, rng)
        Scheduler(manager, clock=clock, rng=rng)
        return manager

    async def controllers(client: Client, clock: Clock, rng: random.Random) -> Manager:
        manager = _manager(CONTROLLERS, client, clock, rng)
        NodeLifecycle(manager, leases=False)
        stored = await stored_kinds(client)
        occurring = [each for each in stored if (each.api_version, each.kind) in wanted]
        add_workloads(manager, client, occurring)
        return manager

    async def nodes(client: Client, clock: Clock, rng: random.Random) -> Manager:
        manager = _manager(NODES, client, clock, rng)
        Nodes(manager, machines, leases=False)
        Kubelet(manager, machines)
        return manager

    return (
        Program(SCHEDULER, scheduler),
        Program(CONTROLLERS, controllers),
        Program(NODES, nodes),
    )


def _manager(name: str, client: Client, clock: Clock, rng: random.Random) -> Manager:
    settings = Settings(identity=name, component=name)
    return Manager(client, settings, clock=clock, rng=rng)
