"""Nodes, namespaces, services, events and the small objects around them, in tables."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from pocketkube.apiserver.kinds.printer import NAME, Cells, Column, Object, Printer
from pocketkube.apiserver.kinds.printing.cells import (
    AGE,
    NONE,
    UNKNOWN,
    age,
    amount,
    labels,
    listed,
    name,
    named,
    part,
    since,
    wide,
)  # fmt: skip

_ROLE: Final = "node-role.kubernetes.io/"


def _node(obj: Object, now: datetime) -> Cells:
    status = part(obj, "status")
    info = part(status, "nodeInfo")
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name(obj),
        _node_status(obj, status),
        ",".join(_roles(obj)) or NONE,
        age(obj, now),
        info.get("kubeletVersion", ""),
        _node_address(status, "InternalIP"),
        _node_address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(obj: Object, status: Mapping[str, Any]) -> str:
    ready = [each for each in status.get("conditions") or () if each.get("type") == "Ready"]
    stated = "Unknown"
    if ready:
        stated = "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{stated},SchedulingDisabled" if part(obj, "spec").get("unschedulable") else stated


def _roles(obj: Object) -> list[str]:
    found = set()
    for key, value in (obj["metadata"].get("labels") or {}).items():
        if key.startswith(_ROLE) and key != _ROLE:
            found.add(key.removeprefix(_ROLE))
        elif key == "kubernetes.io/role" and value:
            found.add(value)
    return sorted(found)


def _node_address(status: Mapping[str, Any], kind: str) -> str:
    return next(
        (
            each.get("address", "")
            for each in status.get("addresses") or ()
            if each.get("type") == kind
        ),
        NONE,
    )


def _namespace(obj: Object, now: datetime) -> Cells:
    return [name(obj), part(obj, "status").get("phase", ""), age(obj, now)]


def _service(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    ports = [_port(port) for port in spec.get("ports") or ()]
    return [
        name(obj),
        spec.get("type", ""),
        next(iter(spec.get("clusterIPs") or ()), NONE),
        _outside(spec, part(obj, "status", "loadBalancer")),
        ",".join(ports) or NONE,
        age(obj, now),
        labels(spec.get("selector")),
    ]


def _port(port: Mapping[str, Any]) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node}/{port.get('protocol', '')}"


def _outside(spec: Mapping[str, Any], balancer: Mapping[str, Any]) -> str:
    external = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            given = {
                each.get("ip") or each.get("hostname") for each in balancer.get("ingress") or ()
            }
            return ",".join([*sorted(filter(None, given)), *external]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return UNKNOWN


def _config_map(obj: Object, now: datetime) -> Cells:
    return [name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, now)]


def _secret(obj: Object, now: datetime) -> Cells:
    return [name(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)]


def _aged(obj: Object, now: datetime) -> Cells:
    return [name(obj), age(obj, now)]


def _event(obj: Object, now: datetime) -> Cells:
    """Both groups: what `events.k8s.io` calls otherwise stands behind the comma."""

    def member(*names: str) -> Any:
        return next((obj[each] for each in names if obj.get(each)), None)

    involved = member("involvedObject", "regarding") or {}
    first = since(member("firstTimestamp", "deprecatedFirstTimestamp", "eventTime"), now)
    last = member("lastTimestamp", "deprecatedLastTimestamp")
    seen, count = since(last, now) if last else first, member("count", "deprecatedCount") or 1
    series = obj.get("series")
    if series:
        seen, count = since(series.get("lastObservedTime"), now), series.get("count", 0)
    target = (involved.get("kind") or "").lower()
    if involved.get("name"):
        target += f"/{involved['name']}"
    source = member("source", "deprecatedSource") or {}
    component = source.get("component") or member("reportingComponent", "reportingController") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return [
        seen,
        obj.get("type", ""),
        obj.get("reason", ""),
        target,
        involved.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        (member("message", "note") or "").strip(),
        first,
        count,
        name(obj),
    ]


def _endpoints(obj: Object, now: datetime) -> Cells:
    subsets = obj.get("subsets") or ()
    if not subsets:
        return [name(obj), NONE, age(obj, now)]
    found: list[str] = []
    for subset in subsets:
        addresses = [each.get("ip", "") for each in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += (
            [_joined(each, port) for port in ports for each in addresses] if ports else addresses
        )
    return [name(obj), listed(found) if found else "", age(obj, now)]


def _joined(address: str, port: Mapping[str, Any]) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{port.get('port', 0)}"


def _endpoint_slice(obj: Object, now: datetime) -> Cells:
    ports = [
        str(port["port"]) if port.get("port") is not None else port.get("name", "*")
        for port in obj.get("ports") or ()
    ]
    addresses = [
        address
        for endpoint in obj.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    ]
    return [name(obj), obj.get("addressType", ""), listed(ports), listed(addresses), age(obj, now)]


def _quota(obj: Object, now: datetime) -> Cells:
    status = part(obj, "status")
    hard, used = status.get("hard") or {}, status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(hard):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {amount(used.get(resource))}/{amount(hard[resource])}")
    return [name(obj), ", ".join(requests), ", ".join(limits), age(obj, now)]


def _lease(obj: Object, now: datetime) -> Cells:
    return [name(obj), part(obj, "spec").get("holderIdentity") or "", age(obj, now)]


PRINTERS: Final[Mapping[str, Printer]] = {
    "Node": Printer(
        (
            NAME,
            *named("Status", "Roles"),
            AGE,
            *named("Version"),
            *wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "Namespace": Printer((NAME, *named("Status"), AGE), _namespace),
    "Service": Printer(
        (NAME, *named("Type", "Cluster-IP", "External-IP", "Port(s)"), AGE, *wide("Selector")),
        _service,
    ),
    "ConfigMap": Printer((NAME, *named("Data"), AGE), _config_map),
    "Secret": Printer((NAME, *named("Type", "Data"), AGE), _secret),
    "ServiceAccount": Printer((NAME, AGE), _aged),
    "Event": Printer(
        (
            *named("Last Seen", "Type", "Reason", "Object"),
            *wide("Subobject", "Source"),
            *named("Message"),
            *wide("First Seen", "Count"),
            Column("Name", format="name", priority=1),
        ),
        _event,
    ),
    "Endpoints": Printer((NAME, *named("Endpoints"), AGE), _endpoints),
    "EndpointSlice": Printer(
        (NAME, *named("AddressType", "Ports", "Endpoints"), AGE), _endpoint_slice
    ),
    "ResourceQuota": Printer((NAME, *named("Request", "Limit"), AGE), _quota),
    "Lease": Printer((NAME, *named("Holder"), AGE), _lease),
    "DeviceClass": Printer((NAME, AGE), _aged),
    "ResourceClaimTemplate": Printer((NAME, AGE), _aged),
}
