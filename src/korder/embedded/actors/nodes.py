"""Simulated nodes: machines that exist only as Node objects, with a heartbeat.

The embedded cluster and the tests on real control planes add them; `kubelet` plays what runs on them. A node is registered
once with its whole status, as a kubelet does, and its Lease is renewed every ten seconds. Who deletes the Node object
removes the machine: it is not registered again. A lost node stops its heartbeat and its kubelet, nothing else.

Where state outlives the process, Nodes do too: `retire` takes away those whose machine is not there any more, or is another.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from korder.api import core, instant
from korder.api.core import LEASES, NODES, Node
from korder.api.meta import JSON, Key
from korder.api.plan import NOTHING, Create, Patch, PatchType, Plan, Step
from korder.kube.client import Client
from korder.kube.errors import NotFound
from korder.runtime.manager import Manager

MACHINE = "korder.dev/machine"
"""The annotation of a simulated node: what its machine had when it joined."""
SIMULATED = "simulated://1"
"""What runs containers on a simulated node; by it a node is known as one."""
LEASE_NAMESPACE = "kube-node-lease"
NOT_READY = "node.kubernetes.io/not-ready"
HEARTBEAT = timedelta(seconds=10)
LEASE_SECONDS = 40


@dataclass(frozen=True, slots=True)
class Shape:
    """What a machine offers and how it is marked."""

    cpu: str = "4"
    memory: str = "8Gi"
    pods: int = 110
    extended: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()

    @property
    def capacity(self) -> dict[str, JSON]:
        return {
            "cpu": self.cpu,
            "memory": self.memory,
            "ephemeral-storage": "100Gi",
            "pods": str(self.pods),
            **self.extended,
        }

    def __str__(self) -> str:
        return ",".join(f"{name}={amount}" for name, amount in self.capacity.items())


class Nodes:
    """Registers machines and keeps them alive."""

    def __init__(self, manager: Manager) -> None:
        self._nodes = manager.informers.of(NODES)
        self._controller = manager.controller("nodes", self._turn)
        self._controller.follow(self._nodes, lambda node: (Key("", node.metadata.name),))
        self._shapes: dict[str, Shape] = {}
        self._registered: set[str] = set()
        self._lost: set[str] = set()
        self._on_recovery: list[Callable[[str], None]] = []

    def add(self, name: str, shape: Shape) -> None:
        """Brings a machine into the cluster."""
        self._shapes[name] = shape
        self._controller.queue.add(Key("", name))

    def alive(self, name: str) -> bool:
        """Whether this machine is ours and runs."""
        return name in self._shapes and name not in self._lost

    def lose(self, name: str) -> None:
        """Cuts the machine's power: no heartbeat, no kubelet."""
        self._lost.add(name)

    def recover(self, name: str) -> None:
        """Switches a lost machine on again."""
        self._lost.discard(name)
        self._controller.queue.add(Key("", name))
        for listener in self._on_recovery:
            listener(name)

    def on_recovery(self, listener: Callable[[str], None]) -> None:
        """Calls `listener` with the name of every machine that is switched on again."""
        self._on_recovery.append(listener)

    def _turn(self, key: Key, now: datetime) -> Plan:
        name = key.name
        node = self._nodes.reader.get(key)
        if not self.alive(name):
            return NOTHING
        if node is None and name in self._registered:
            del self._shapes[name]
            self._registered.discard(name)
            return NOTHING
        steps: list[Step] = []
        if node is not None:
            self._registered.add(name)
        if node is None:
            steps.append(Create(NODES, _registration(name, self._shapes[name], now)))
        elif any(taint.key == NOT_READY for taint in node.spec.taints):
            steps.append(_without_not_ready(node))
        if node is not None and not core.is_ready(node):
            steps.append(_ready_again(node, now))
        steps.append(_heartbeat(name, now))
        return Plan().then(*steps).wake(now + HEARTBEAT)


async def retire(client: Client, machines: Mapping[str, Shape]) -> None:
    """Removes simulated nodes whose machine is not among these, or has become another; nodes of others stay.

    Their pods are left to whoever collects pods, or to the machine that joins under the same name.
    """
    for node in (await client.list(NODES)).items:
        name, was = node.metadata.name, node.metadata.annotations.get(MACHINE)
        ours = node.status.node_info.container_runtime_version == SIMULATED
        if not ours or (name in machines and was == str(machines[name])):
            continue
        with suppress(NotFound):
            await client.delete(NODES, Key("", name), uid=node.metadata.uid)
        with suppress(NotFound):
            await client.delete(LEASES, Key(LEASE_NAMESPACE, name))


def _registration(name: str, shape: Shape, now: datetime) -> dict[str, JSON]:
    labels: dict[str, JSON] = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **shape.labels,
    }
    return {
        "metadata": {"name": name, "labels": labels, "annotations": {MACHINE: str(shape)}},
        "spec": {"taints": [dict(taint) for taint in shape.taints]},
        "status": {
            "capacity": shape.capacity,
            "allocatable": shape.capacity,
            "conditions": [_ready(now)],
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": _NODE_INFO,
        },
    }


def _ready(now: datetime) -> JSON:
    return {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "simulated kubelet is ready",
        "lastHeartbeatTime": instant.render(now),
        "lastTransitionTime": instant.render(now),
    }


def _ready_again(node: Node, now: datetime) -> Patch:
    """What a kubelet says when it finds that others have given up its node."""
    return Patch(
        NODES,
        Key("", node.metadata.name),
        {"status": {"conditions": [_ready(now)]}},
        PatchType.STRATEGIC,
        subresource="status",
        uid=node.metadata.uid,
    )


_NODE_INFO: JSON = {
    "architecture": "amd64",
    "operatingSystem": "linux",
    "kubeletVersion": "v1.36.3-simulated",
    "kubeProxyVersion": "",
    "kernelVersion": "simulated",
    "osImage": "simulated",
    "containerRuntimeVersion": SIMULATED,
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
}


def _without_not_ready(node: Node) -> Patch:
    """Takes off the taint every new node gets; the list is replaced whole, so it must be the one that was read."""
    kept: list[JSON] = [
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in node.spec.taints
        if taint.key != NOT_READY
    ]
    return Patch(
        NODES,
        Key("", node.metadata.name),
        {"spec": {"taints": kept}},
        resource_version=node.metadata.resource_version,
    )


def _heartbeat(name: str, now: datetime) -> Patch:
    """Renews the node's lease; apply makes it if it is not there, so a heartbeat is always one request."""
    spec: JSON = {
        "holderIdentity": name,
        "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": instant.render_micro(now),
    }
    key = Key(LEASE_NAMESPACE, name)
    return Patch(LEASES, key, {"spec": spec}, PatchType.APPLY)
