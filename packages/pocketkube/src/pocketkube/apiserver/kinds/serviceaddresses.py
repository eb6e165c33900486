"""Addresses and node ports of services: which ones a service needs, and which are free.

An admission plugin calls `assign` with what other services hold. An update that leaves out what was given before keeps it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
import ipaddress
import random
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import services
from pocketkube.apiserver.kinds.strategy import Object

NETWORK: Final = ipaddress.IPv4Network("10.96.0.0/16")
PORTS: Final = range(30000, 32768)
_OUTSIDE: Final = ("NodePort", "LoadBalancer")
_OF_ADDRESSES: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")

Spec = dict[str, Any]


@dataclass(slots=True)
class Taken:
    """What services hold."""

    addresses: set[str] = field(default_factory=set)
    ports: set[tuple[str, int]] = field(default_factory=set)

    @classmethod
    def by(cls, others: Iterable[Object]) -> "Taken":
        """What these services hold together."""
        taken = cls()
        for other in others:
            spec = other.get("spec") or {}
            taken.addresses.update(spec.get("clusterIPs") or ())
            for port in spec.get("ports") or ():
                if port.get("nodePort"):
                    taken.ports.add((port.get("protocol", "TCP"), port["nodePort"]))
        return taken


def assign(obj: Object, old: Object | None, taken: Taken, rng: random.Random) -> list[Cause]:
    """Fills in addresses and ports, in place; returns why something that was asked for cannot be had."""
    spec: Spec = obj["spec"]
    before: Spec = (old or {}).get("spec") or {}
    if before:
        _keep(spec, before)
    return [*_address(spec, before, taken, rng), *_node_ports(spec, before, taken, rng)]


def _keep(spec: Spec, before: Spec) -> None:
    """Carries over what was given before, and drops what only the type of before had."""
    _agree(spec, before)
    if _has_address(spec) and _has_address(before):
        for member in _OF_ADDRESSES:
            if not spec.get(member) and before.get(member):
                spec[member] = before[member]
    held = {_port_key(port): port.get("nodePort") for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        mine = held.get(_port_key(port))
        if mine and _wants_ports(spec) and not port.get("nodePort"):
            port["nodePort"] = mine
    _drop(spec, before)


def _agree(spec: Spec, before: Spec) -> None:
    """Whoever changes only one of both forms of the address means the other one too."""
    same = (spec.get("clusterIPs") or []) == (before.get("clusterIPs") or [])
    if (spec.get("clusterIP") or "") != (before.get("clusterIP") or "") and same:
        if spec.get("clusterIP"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        else:
            spec.pop("clusterIPs", None)


def _drop(spec: Spec, before: Spec) -> None:
    kind, was = spec.get("type"), before.get("type")
    members: list[str] = []
    if _has_address(before) and not _has_address(spec):
        members += (*_OF_ADDRESSES, "internalTrafficPolicy")
    if was == "LoadBalancer" and kind != "LoadBalancer":
        members += ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"]
    if services.is_external(before) and not services.is_external(spec):
        members.append("externalTrafficPolicy")
    for member in members:
        if spec.get(member) == before.get(member):
            spec.pop(member, None)
    if was in _OUTSIDE and kind not in _OUTSIDE and _numbers(spec) <= _numbers(before):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)


def _numbers(spec: Spec) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _port_key(port: Spec) -> tuple[Any, Any]:
    return port.get("protocol"), port.get("port")


def _has_address(spec: Spec) -> bool:
    return spec.get("type") != "ExternalName"


def _wants_ports(spec: Spec) -> bool:
    kind = spec.get("type")
    return kind == "NodePort" or (
        kind == "LoadBalancer" and bool(spec.get("allocateLoadBalancerNodePorts", True))
    )


def _address(spec: Spec, before: Spec, taken: Taken, rng: random.Random) -> Iterator[Cause]:
    if not _has_address(spec):
        return
    asked = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
    if asked == services.HEADLESS:
        _headless(spec)
        return
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        stated = "this cluster is not configured for dual-stack services"
        yield fe.invalid("spec.ipFamilyPolicy", "RequireDualStack", stated)
        return
    if asked and not before.get("clusterIPs"):
        yield from _refused(asked, taken)
    elif not asked:
        asked = _free_address(taken, rng)
    spec["clusterIP"] = asked
    spec.setdefault("clusterIPs", [asked])
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _headless(spec: Spec) -> None:
    spec["clusterIP"], spec["clusterIPs"] = services.HEADLESS, [services.HEADLESS]
    alone = not spec.get("selector") and "ipFamilyPolicy" not in spec and "ipFamilies" not in spec
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if alone else ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if alone else "SingleStack")


def _refused(asked: str, taken: Taken) -> Iterator[Cause]:
    try:
        address = ipaddress.ip_address(asked)
    except ValueError:
        stated = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield fe.invalid("spec.clusterIPs[0]", asked, stated)
        return
    why = ""
    if address not in NETWORK:
        why = "the provided network does not match the current range"
    elif asked in taken.addresses:
        why = "provided IP is already allocated"
    if why:
        stated = f"failed to allocate IP {asked}: {why}"
        yield fe.invalid("spec.clusterIPs", [asked], stated)


def _free_address(taken: Taken, rng: random.Random) -> str:
    """Any but the first two and the last of the network; the first is the server's own."""
    while True:
        address = str(NETWORK[rng.randrange(2, NETWORK.num_addresses - 1)])
        if address not in taken.addresses:
            return address


def _node_ports(spec: Spec, before: Spec, taken: Taken, rng: random.Random) -> Iterator[Cause]:
    if not _wants_ports(spec):
        return
    held = {(port.get("protocol"), port.get("nodePort")) for port in before.get("ports") or ()}
    used = taken.ports | held
    for index, port in enumerate(spec.get("ports") or ()):
        asked, protocol = port.get("nodePort"), port.get("protocol", "TCP")
        place = f"spec.ports[{index}].nodePort"
        if not asked:
            free = [number for number in PORTS if (protocol, number) not in used]
            if not free:
                yield fe.invalid(place, 0, "range is full")
                return
            asked = port["nodePort"] = rng.choice(free)
        elif (protocol, asked) in held:
            continue
        elif asked not in PORTS:
            stated = (
                "provided port is not in the valid range. The range of valid ports is 30000-32767"
            )
            yield fe.invalid(place, asked, stated)
        elif (protocol, asked) in used:
            yield fe.invalid(place, asked, "provided port is already allocated")
        used.add((protocol, asked))
