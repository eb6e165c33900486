"""Simulated nodes: machines that exist only as Node objects, with a heartbeat.

The embedded cluster and the tests on real control planes add them; `kubelet` plays what runs on them. A node is registered
once with its whole status, as a kubelet does, and its Lease is renewed every ten seconds. Who deletes the Node object
removes the machine: it is not registered again. A lost node stops its heartbeat and its kubelet, nothing else.

A simulated day of a thousand nodes has nine million heartbeats and nothing to learn from them. Without `leases` none is written,
and the loss of a machine is an event: `machines` knows it, and here its Node is said to be unknown after the same grace after which
`node_lifecycle` would have missed the heartbeats. All the rest, taints and evictions, stays with that one.

Where state outlives the process, Nodes do too: `retire` takes away those whose machine is not there any more, or is another.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from kubeloop.client.client import Client
from kubeloop.client.errors import NotFound
from kubeloop.objects import core, instant
from kubeloop.objects.core import LEASES, NODES, Node
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import NOTHING, Create, Patch, PatchType, Plan, Step
from kubeloop.runtime.manager import Manager
from pocketkube.nodes.conditions import GRACE, NOT_READY, silenced
from pocketkube.nodes.machines import Machine, Machines, Shape

MACHINE = "korder.dev/machine"
"""The annotation of a simulated node: what its machine had when it joined."""
SIMULATED = "simulated://1"
"""What runs containers on a simulated node; by it a node is known as one."""
LEASE_NAMESPACE = "kube-node-lease"
HEARTBEAT = timedelta(seconds=10)
LEASE_SECONDS = 40


class Nodes:
    """Registers machines and keeps them alive; without `leases` their heartbeat is a matter of course and not written."""

    def __init__(self, manager: Manager, machines: Machines, *, leases: bool = True) -> None:
        self._machines = machines
        self._leases = leases
        self._nodes = manager.informers.of(NODES)
        self._controller = manager.controller("nodes", self._reconcile)
        self._controller.follow(self._nodes)
        machines.attend("nodes", self._look_at)
        for name in machines:
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        self._controller.queue.add(Key("", name))

    def _reconcile(self, key: Key, now: datetime) -> Plan:
        machine = self._machines.get(key.name)
        node = self._nodes.reader.get(key)
        if machine is None:
            return NOTHING
        if not machine.on:
            return NOTHING if self._leases else _lost(machine, node, now)
        if node is None and machine.joined:
            self._machines.remove(key.name)
            return NOTHING
        machine.joined = node is not None
        steps = _joining(key.name, machine, now) if node is None else _recovery(node, now)
        if not self._leases:
            return Plan().then(*steps)
        welcome = _welcome(node) if node is not None else ()
        return Plan().then(*welcome, *steps, _heartbeat(key.name, now)).requeue(now + HEARTBEAT)


def _lost(machine: Machine, node: Node | None, now: datetime) -> Plan:
    """Says of a machine without power what whoever misses its heartbeats would say, and when they would."""
    since = machine.silent_since = machine.silent_since or now
    if now < since + GRACE:
        return Plan().requeue(since + GRACE)
    return Plan().then(*silenced(node, now)) if node is not None else NOTHING


def _joining(name: str, machine: Machine, now: datetime) -> tuple[Step, ...]:
    return (Create(NODES, _registration(name, machine.shape, now)),)


def _welcome(node: Node) -> tuple[Step, ...]:
    """Opens a new node for pods; where heartbeats are virtual that is left to `node_lifecycle`, which is there for sure."""
    closed = any(taint.key == NOT_READY for taint in node.spec.taints)
    return (_without_not_ready(node),) if closed else ()


def _recovery(node: Node, now: datetime) -> tuple[Step, ...]:
    """What a kubelet says when others have given up its node."""
    return () if core.is_ready(node) else (_ready_again(node, now),)


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
