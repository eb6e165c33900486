"""Services: their defaults and what a server refuses. Addresses and node ports are handed out by `serviceaddresses`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import names, naming
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Causes, Object

TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
HEADLESS: Final = "None"
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_AFFINITIES: Final = ("ClientIP", "None")
_POLICIES: Final = ("Cluster", "Local")
_MODES: Final = ("Proxy", "VIP")
_AFFINITY_SECONDS: Final = 10800
_NOT_FOR_NAMES: Final = "may not be set for ExternalName services"


class Services(Plain):
    """How services are completed and judged."""

    name_rule = staticmethod(names.label)
    more_selectable: tuple[str, ...] = ("spec.clusterIP", "spec.type")

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("sessionAffinity"):
            spec["sessionAffinity"] = "None"
        _default_affinity(spec)
        kind = spec["type"] = spec.get("type") or "ClusterIP"
        for port in spec.get("ports") or ():
            port["protocol"] = port.get("protocol") or "TCP"
            port["targetPort"] = port.get("targetPort") or port.get("port", 0)
        if is_external(spec) and not spec.get("externalTrafficPolicy"):
            spec["externalTrafficPolicy"] = "Cluster"
        if kind != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
        balancer = obj.setdefault("status", {}).setdefault("loadBalancer", {})
        for ingress in balancer.get("ingress") or () if kind == "LoadBalancer" else ():
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")

    def before_create(self, obj: Object) -> None:
        obj["status"] = {"loadBalancer": {}}

    def before_update(self, obj: Object, old: Object) -> None:
        super().before_update(obj, old)
        if obj["spec"].get("type") != "LoadBalancer":
            obj["status"] = {**(obj.get("status") or {}), "loadBalancer": {}}

    def check_status(self, obj: Object, old: Object) -> Causes:
        found = super().check_status(obj, old)
        place = "status.loadBalancer.ingress"
        given = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        if given and obj["spec"].get("type") != "LoadBalancer":
            stated = "may only be used when `spec.type` is 'LoadBalancer'"
            return [*found, fe.forbidden(place, stated)]
        for index, ingress in enumerate(given):
            found += _ingress(ingress, f"{place}[{index}]")
        return found

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj.get("spec") or {}
        yield from _by_type(spec)
        yield from _ports(spec)
        yield from naming.labels("spec.selector", spec.get("selector"))
        yield from _affinity(spec)
        if spec.get("type") not in TYPES:
            yield fe.not_supported("spec.type", spec.get("type", ""), TYPES)
        yield from _port_clashes(spec)
        yield from _policies(spec)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        spec, before = obj.get("spec") or {}, old.get("spec") or {}
        yield from _kept_addresses(spec, before)
        yield from self.check(obj)


def is_external(spec: Mapping[str, Any]) -> bool:
    """Whether the service can be reached from outside."""
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def is_headless(spec: Mapping[str, Any]) -> bool:
    """Whether the service has names but no address."""
    return HEADLESS in (spec.get("clusterIPs") or [spec.get("clusterIP")])[:1]


def _default_affinity(spec: dict[str, Any]) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _ingress(ingress: Mapping[str, Any], place: str) -> Iterator[Cause]:
    address, mode, host = ingress.get("ip"), ingress.get("ipMode"), ingress.get("hostname")
    if mode is None and address:
        yield fe.required(f"{place}.ipMode", "must be specified when `ip` is set")
    elif mode is not None and not address:
        yield fe.forbidden(f"{place}.ipMode", "may not be specified when `ip` is not set")
    elif mode is not None and mode not in _MODES:
        yield fe.not_supported(f"{place}.ipMode", mode, _MODES)
    if host:
        yield from naming.named(f"{place}.hostname", host, naming.dns_subdomain)


def _by_type(spec: Mapping[str, Any]) -> Iterator[Cause]:
    kind = spec.get("type")
    if not spec.get("ports") and kind != "ExternalName" and not is_headless(spec):
        yield fe.required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        stated = f"may not be set to 'None' for {kind} services"
        yield fe.invalid("spec.clusterIPs[0]", HEADLESS, stated)
    if kind != "ExternalName":
        return
    for member in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(member):
            yield fe.forbidden(f"spec.{member}", _NOT_FOR_NAMES)
    name = (spec.get("externalName") or "").removesuffix(".")
    if name:
        yield from naming.named("spec.externalName", name, naming.dns_subdomain)
    else:
        yield fe.required("spec.externalName")


def _ports(spec: Mapping[str, Any]) -> Iterator[Cause]:
    ports, seen = spec.get("ports") or (), set[str]()
    for index, port in enumerate(ports):
        place, name = f"spec.ports[{index}]", port.get("name", "")
        if name:
            yield from naming.named(f"{place}.name", name, naming.dns_label)
            if name in seen:
                yield fe.duplicate(f"{place}.name", name)
            seen.add(name)
        elif len(ports) > 1:
            yield fe.required(f"{place}.name")
        yield from _port(port, place)


def _port(port: Mapping[str, Any], place: str) -> Iterator[Cause]:
    number = port.get("port", 0)
    for stated in naming.port_number(number):
        yield fe.invalid(f"{place}.port", number, stated)
    if port.get("protocol") not in _PROTOCOLS:
        yield fe.not_supported(f"{place}.protocol", port.get("protocol", ""), _PROTOCOLS)
    target = port.get("targetPort", 0)
    wrong = naming.port_name(target) if isinstance(target, str) else naming.port_number(target)
    for stated in wrong:
        yield fe.invalid(f"{place}.targetPort", target, stated)
    if "appProtocol" in port:
        yield from naming.named(f"{place}.appProtocol", port["appProtocol"], naming.label_key)


def _port_clashes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    ports: Sequence[Mapping[str, Any]] = spec.get("ports") or ()
    for index, port in enumerate(ports):
        if port.get("nodePort") and spec.get("type") == "ClusterIP":
            stated = "may not be used when `type` is 'ClusterIP'"
            yield fe.forbidden(f"spec.ports[{index}].nodePort", stated)
    taken: set[tuple[str, Any, Any]] = set()
    for member in ("nodePort", "port"):
        for index, port in enumerate(ports):
            key = member, port.get("protocol"), port.get(member, 0)
            if key in taken and member == "nodePort" and key[2]:
                yield fe.duplicate(f"spec.ports[{index}].nodePort", key[2])
            elif key in taken and member == "port":
                yield _same_port(index, port)
            taken.add(key)


def _same_port(index: int, port: Mapping[str, Any]) -> Cause:
    members = {
        "Name": "",
        "Protocol": port.get("protocol"),
        "AppProtocol": None,
        "Port": port.get("port", 0),
        "TargetPort": 0,
        "NodePort": 0,
    }
    stated = f"Duplicate value: {fe.in_order(members)}"
    return Cause(field=f"spec.ports[{index}]", reason=fe.DUPLICATE, message=stated)


def _affinity(spec: Mapping[str, Any]) -> Iterator[Cause]:
    affinity = spec.get("sessionAffinity", "")
    if affinity not in _AFFINITIES:
        yield fe.not_supported("spec.sessionAffinity", affinity, _AFFINITIES)
    if affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        seconds = client.get("timeoutSeconds") or 0
        if not 0 < seconds <= 86400:
            place = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            yield fe.invalid(place, seconds, "must be greater than 0 and less than 86400")


def _policies(spec: Mapping[str, Any]) -> Iterator[Cause]:
    if "allocateLoadBalancerNodePorts" in spec and spec.get("type") != "LoadBalancer":
        stated = "may only be used when `type` is 'LoadBalancer'"
        yield fe.forbidden("spec.allocateLoadBalancerNodePorts", stated)
    outside = spec.get("externalTrafficPolicy") or ""
    if outside and not is_external(spec):
        stated = "may only be set for externally-accessible services"
        yield fe.invalid("spec.externalTrafficPolicy", outside, stated)
    elif is_external(spec) and outside not in _POLICIES:
        yield fe.not_supported("spec.externalTrafficPolicy", outside, _POLICIES)
    inside = spec.get("internalTrafficPolicy")
    if spec.get("type") != "ExternalName" and inside not in _POLICIES:
        yield fe.not_supported("spec.internalTrafficPolicy", inside or "", _POLICIES)


def _kept_addresses(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[Cause]:
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return
    new, old = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if old and not new:
        yield fe.invalid("spec.clusterIPs[0]", new, "primary clusterIP can not be unset")
    elif old and new[0] != old[0]:
        yield fe.invalid("spec.clusterIPs[0]", new, "may not change once set")
