"""The programs every simulated cluster runs: scheduler, controllers, and what plays the machines; each a process of its own.

They are the actors of the embedded cluster, built the same way in every life. `world` starts them beside the programs that are to be
tried.
"""

import random

from korder.embedded.actors.kinds import stored_kinds
from korder.embedded.actors.kubelet import Kubelet
from korder.embedded.actors.machines import Machines
from korder.embedded.actors.nodelifecycle import NodeLifecycle
from korder.embedded.actors.nodes import Nodes
from korder.embedded.actors.scheduler import Scheduler
from korder.embedded.actors.workloads import add_workloads
from korder.embedded.simulation.processes import Program
from korder.kube.client import Client
from korder.runtime.clock import Clock
from korder.runtime.manager import Manager, Settings

SCHEDULER, CONTROLLERS, NODES = "scheduler", "controllers", "nodes"


def cluster_programs(machines: Machines) -> tuple[Program, ...]:
    """What makes a server a cluster."""

    async def scheduler(client: Client, clock: Clock, rng: random.Random) -> Manager:
        manager = _manager(SCHEDULER, client, clock, rng)
        Scheduler(manager, clock=clock, rng=rng)
        return manager

    async def controllers(client: Client, clock: Clock, rng: random.Random) -> Manager:
        manager = _manager(CONTROLLERS, client, clock, rng)
        NodeLifecycle(manager, leases=False)
        add_workloads(manager, client, await stored_kinds(client))
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
