"""What is left on a node: the sums that change whenever a pod comes or goes.

The embedded scheduler, the simulated kubelet and claims keep one `NodeRoom` per node and turn each pod into a `Demand`
once. Both are values: trying a pod out costs one small copy and needs no undo. Amounts are whole numbers, thousandths
for cpu and units for everything else, each pod rounded up on its own. That is not only fast, it is how the scheduler of
Kubernetes counts, so both always agree on whether a pod fits.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from kubeloop.objects import core, pod_requests, resources
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.quantity import Format, Quantity
from kubeloop.objects.resources import Shortage

K = TypeVar("K")

_ANY_ADDRESS = "0.0.0.0"  # noqa: S104 compared, never bound
_COUNTED = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
_BYTES = ("memory", "ephemeral-storage", "hugepages-")


class HostPort(NamedTuple):
    """A port of the node that a container takes for itself."""

    ip: str
    protocol: str
    port: int

    def clashes(self, other: "HostPort") -> bool:
        """Says whether both cannot be open at once; 0.0.0.0 stands for every address of the node."""
        return (self.port, self.protocol) == (other.port, other.protocol) and (
            self.ip == other.ip or _ANY_ADDRESS in (self.ip, other.ip)
        )

    def __str__(self) -> str:
        return f"{self.protocol} {self.ip}:{self.port}"


class Demand(msgspec.Struct, frozen=True):
    """What one pod takes from its node."""

    amounts: Mapping[str, int]
    ports: tuple[HostPort, ...] = ()


class NodeRoom(msgspec.Struct, frozen=True):
    """What a node offers and what the pods on it take."""

    allocatable: Mapping[str, int]
    used: Mapping[str, int]
    ports: Mapping[HostPort, int]

    def with_pod(self, demand: Demand) -> "NodeRoom":
        """The room after a pod came."""
        return self._changed(demand, 1)

    def without_pod(self, demand: Demand) -> "NodeRoom":
        """The room after a pod went; exactly undoes `with_pod`."""
        return self._changed(demand, -1)

    def with_node(self, node: Node) -> "NodeRoom":
        """The room after the node itself changed."""
        return replace(self, allocatable=amounts(resources.parse_list(node.status.allocatable)))

    def lacks(self, demand: Demand) -> list[str]:
        """Names the resources of which too little is left for a pod; asking for nothing always fits."""
        offered, used = self.allocatable, self.used
        return [
            name
            for name, amount in demand.amounts.items()
            if amount > offered.get(name, 0) - used.get(name, 0)
        ]

    def shortages(self, demand: Demand) -> tuple[Shortage, ...]:
        """What `lacks` names, with what is asked for and what is left."""
        amounts = demand.amounts
        return tuple(
            Shortage(name, _quantity(name, amounts[name]), _quantity(name, self._free(name)))
            for name in self.lacks(demand)
        )

    def taken_ports(self, demand: Demand) -> tuple[HostPort, ...]:
        """Lists the ports a pod wants that others have."""
        return tuple(
            wanted
            for wanted in demand.ports
            if any(count > 0 and wanted.clashes(port) for port, count in self.ports.items())
        )

    def free(self) -> dict[str, Quantity]:
        """What is left of everything the node offers; below zero where it is overbooked."""
        return {name: _quantity(name, self._free(name)) for name in self.allocatable}

    def _free(self, name: str) -> int:
        return self.allocatable.get(name, 0) - self.used.get(name, 0)

    def _changed(self, demand: Demand, times: int) -> "NodeRoom":
        used = _sum(self.used, demand.amounts.items(), times)
        ports = self.ports
        if demand.ports:
            ports = _sum(ports, ((port, 1) for port in demand.ports), times)
        return NodeRoom(self.allocatable, used, ports)


def room_of(node: Node, pods: Iterable[Pod] = ()) -> NodeRoom:
    """Counts a node's room afresh; `pods` are those bound to it, of which finished ones take nothing."""
    room = NodeRoom({}, {}, {}).with_node(node)
    for pod in pods:
        if not core.is_finished(pod):
            room = room.with_pod(demand_of(pod))
    return room


def demand_of(pod: Pod) -> Demand:
    """Measures a pod once, for all nodes it may be tried on."""
    return Demand(amounts(pod_requests.requests(pod)), _host_ports(pod))


def amounts(listed: Mapping[str, Quantity]) -> dict[str, int]:
    """Counts in the scheduler's whole numbers what it looks at."""
    counted = (
        (name, amount.milli() if name == "cpu" else amount.value())
        for name, amount in listed.items()
        if _is_counted(name)
    )
    return {name: amount for name, amount in counted if amount}


def _host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The ports of the containers that run to the end; init containers that pass do not hold theirs."""
    sidecars = filter(core.is_sidecar, pod.spec.init_containers)
    return tuple(
        HostPort(port.host_ip or _ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports
        if port.host_port > 0
    )


def _is_counted(name: str) -> bool:
    """Says whether the scheduler looks at a resource: the well-known ones, and those with a domain in their name."""
    return (
        name in _COUNTED
        or name.startswith(("hugepages-", "attachable-volumes-"))
        or ("/" in name and not name.startswith("requests."))
    )


def _quantity(name: str, amount: int) -> Quantity:
    if name == "cpu":
        return Quantity(amount * 10**6)
    family = Format.BINARY_SI if name.startswith(_BYTES) else Format.DECIMAL_SI
    return Quantity(amount * 10**9, family)


def _sum(old: Mapping[K, int], change: Iterable[tuple[K, int]], times: int) -> dict[K, int]:
    """Adds `times` the change; what comes to nothing is dropped, so that going undoes coming exactly."""
    total = dict(old)
    for name, amount in change:
        left = total.get(name, 0) + times * amount
        if left:
            total[name] = left
        else:
            total.pop(name, None)
    return total
