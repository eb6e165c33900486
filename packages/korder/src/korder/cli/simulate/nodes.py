"""Who is in a simulated cluster: which machines, and which made-up users besides the manifests.

`plan` asks, with what the flags say. Machines are all equal, or like those of a real cluster; made-up users come with machines of
their own, of three sizes, because some of them care about that.
"""

import asyncio
from collections.abc import Mapping, Sequence
import random

import typer

from korder.cli import cluster_snapshot
from korder.cli.session import cluster
from korder.cli.simulate import script
from korder.cli.simulate.flags import Asked, Mistake, said
from kubeloop.objects import quantity
from pocketkube import fleet
from pocketkube.nodes.machines import Shape
from pocketkube.simulation import programs
from pocketkube.simulation.report.workload_rows import Name
from pocketkube.simulation.script import AddNode, Step
from pocketkube.simulation.workloads.traffic import Traffic, traffic

NODES, SHAPE = 5, "cpu=8,memory=32Gi"
MOST_NODES, MOST_PODS = 5_000, 5_000
OUTAGES, TROUBLES = 1.0, 1.0
"""How often in an hour a machine, or a process, has an accident, if there are faults."""
_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage")
_PROCESSES = (programs.SCHEDULER, programs.CONTROLLERS, programs.NODES)


def machines(asked: Asked, promised: Sequence[Name]) -> list[Step]:
    """The machines that the flags describe, or those of a real cluster."""
    return script.joining(_machines(asked, promised))


def users(asked: Asked, seed: int, hours: float, *, faulty: bool) -> tuple[list[Step], list[Step]]:
    """Machines, and made-up users on them; with faults, machines and processes have accidents as well."""
    others = said(asked, ("node_shape", "like_cluster", "kubeconfig", "context"))
    if others:
        raise Mistake(f"--workload brings nodes of three sizes; leave out {others[0]}")
    pods = asked.workload or 0
    if not 1 <= pods <= MOST_PODS:
        raise Mistake(f"--workload: {pods} is not between 1 and {MOST_PODS} pods")
    wanted = Traffic(
        nodes=_count(asked),
        pods=pods,
        hours=hours,
        outages=OUTAGES if faulty else 0.0,
        troubles=TROUBLES if faulty else 0.0,
        processes=_PROCESSES if faulty else (),
    )
    steps = traffic(random.Random(f"{seed} workload"), wanted)
    joining = [step for step in steps if step.at == 0.0 and isinstance(step.action, AddNode)]
    return joining, list(steps[len(joining) :])


def _machines(asked: Asked, promised: Sequence[Name]) -> Mapping[str, Shape]:
    if asked.like_cluster:
        others = said(asked, ("nodes", "node_shape"))
        if others:
            raise Mistake(f"--like-cluster takes nodes as they are; leave out {others[0]}")
        return asyncio.run(_like_cluster(asked, promised))
    others = said(asked, ("kubeconfig", "context"))
    if others:
        raise Mistake(f"{others[0]} is only read with --like-cluster")
    shape = _shape(asked.node_shape or SHAPE)
    return {f"node-{number}": shape for number in range(1, _count(asked) + 1)}


def _count(asked: Asked) -> int:
    count = NODES if asked.nodes is None else asked.nodes
    if not 1 <= count <= MOST_NODES:
        raise Mistake(f"--nodes: {count} is not between 1 and {MOST_NODES}")
    return count


def _shape(text: str) -> Shape:
    try:
        shape = fleet.shape_of(text)
    except fleet.BadShape as error:
        raise Mistake(f"--node-shape: {error}") from None
    names = [part.partition("=")[0].strip() for part in text.split(",")]
    for name in names:
        if names.count(name) > 1:
            raise Mistake(f"--node-shape: {name} is said twice")
        if name not in _RESOURCES and "/" not in name and not name.startswith("hugepages-"):
            known = ", ".join(_RESOURCES)
            raise Mistake(
                f"--node-shape: {name!r} is nothing a node has; there are {known} and names with a domain such as nvidia.com/gpu"
            )
    for name in ("cpu", "memory", "pods"):
        if quantity.parse(str(shape.capacity[name])).is_zero:
            raise Mistake(f"--node-shape: a node without {name} can run nothing")
    return shape


async def _like_cluster(asked: Asked, promised: Sequence[Name]) -> Mapping[str, Shape]:
    async with cluster(asked.kubeconfig, asked.context, random.Random()) as client:
        found = await cluster_snapshot.read(client, promised)
    if not found.machines:
        raise Mistake("--like-cluster: the cluster has no node that takes pods")
    for name in found.left_out:
        typer.echo(f"note: node {name} is left out, it takes no pods now", err=True)
    return found.machines
