"""The shape of a real cluster, for a simulated one: its nodes, with what is free on them.

`simulate --like-cluster` asks. Nodes keep their labels and taints. From what each can give, what pods that are there now take is taken
away, whoever owns them, except pods of workloads that are about to be played: those will ask for their room again. Nodes that
take no new pods (not ready, cordoned) are left out.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kubeloop.client.client import Client
from kubeloop.objects import core, meta, node_room, quantity
from kubeloop.objects.core import NODES, PODS, Node, Pod
from kubeloop.objects.workloads import REPLICA_SETS, ReplicaSet
from pocketkube.nodes.machines import Shape
from pocketkube.simulation.report.workload_rows import POD, Name

_LIFECYCLE = "node.kubernetes.io/"
"""Taints that controllers put on nodes by their condition; in a simulation they would do so again."""


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Machines by name, and nodes that are none."""

    machines: Mapping[str, Shape]
    left_out: tuple[str, ...]


async def read(client: Client, played: Collection[Name]) -> ClusterSnapshot:
    """Asks a cluster for its nodes and pods."""
    nodes = (await client.list(NODES)).items
    pods = (await client.list(PODS)).items
    sets = (await client.list(REPLICA_SETS)).items
    return cluster_snapshot(nodes, pods, sets, played)


def cluster_snapshot(
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    sets: Iterable[ReplicaSet],
    played: Collection[Name],
) -> ClusterSnapshot:
    """Takes a cluster's nodes as machines."""
    deployments = {each.metadata.uid: meta.controller_of(each) for each in sets}
    staying: dict[str, list[Pod]] = {}
    for pod in pods:
        if _workload(pod, deployments) not in played:
            staying.setdefault(pod.spec.node_name, []).append(pod)
    machines, left_out = dict[str, Shape](), list[str]()
    for node in nodes:
        name = node.metadata.name
        if core.is_ready(node) and not node.spec.unschedulable:
            machines[name] = _shape(node, staying.get(name, ()))
        else:
            left_out.append(name)
    return ClusterSnapshot(machines, tuple(left_out))


def _workload(pod: Pod, deployments: Mapping[str, meta.OwnerReference | None]) -> Name:
    owner = meta.controller_of(pod)
    if owner is None:
        return Name(POD, pod.metadata.namespace, pod.metadata.name)
    above = deployments.get(owner.uid) or owner
    return Name(above.kind, pod.metadata.namespace, above.name)


def _shape(node: Node, pods: Iterable[Pod]) -> Shape:
    free = {
        name: str(max(amount, quantity.ZERO))
        for name, amount in node_room.room_of(node, pods).free().items()
    }
    taints = tuple(
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in node.spec.taints
        if not taint.key.startswith(_LIFECYCLE)
    )
    return Shape(
        cpu=free.pop("cpu", "0"),
        memory=free.pop("memory", "0"),
        pods=int(free.pop("pods", "0")),
        extended=free,
        labels=dict(node.metadata.labels),
        taints=taints,
    )
