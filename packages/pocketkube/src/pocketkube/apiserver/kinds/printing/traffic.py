"""Ingresses, addresses, autoscalers, claims for devices and the flow of requests, in tables."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from pocketkube.apiserver.kinds.printer import NAME, Cells, Object, Printer
from pocketkube.apiserver.kinds.printing.cells import (
    AGE,
    NONE,
    UNKNOWN,
    UNSET,
    age,
    amount,
    name,
    named,
    part,
)  # fmt: skip

_METRICS: Final = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
_MOST_METRICS: Final = 2
_MOST_HOSTS: Final = 3


def _ingress(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    balancer = part(obj, "status", "loadBalancer").get("ingress") or ()
    addresses = {each.get("ip") or each.get("hostname") for each in balancer}
    return [
        name(obj),
        spec.get("ingressClassName") or NONE,
        _hosts(spec.get("rules") or []),
        ",".join(sorted(filter(None, addresses))),
        "80, 443" if spec.get("tls") else "80",
        age(obj, now),
    ]


def _hosts(rules: list[Mapping[str, Any]]) -> str:
    hosts = [rule["host"] for rule in rules if rule.get("host")]
    text = ",".join(hosts[:_MOST_HOSTS]) or "*"
    if len(hosts) > _MOST_HOSTS:
        text += f" + {len(rules) - _MOST_HOSTS} more..."
    return text


def _address(obj: Object, now: datetime) -> Cells:
    """A server fills in an age for which it has no column, hence so do we."""
    parent = part(obj, "spec").get("parentRef")
    stated = NONE
    if parent:
        group = f".{parent['group']}" if parent.get("group") else ""
        inside = f"/{parent['namespace']}" if parent.get("namespace") else ""
        stated = (
            f"{parent.get('resource', '')}{group}".lower() + f"{inside}/{parent.get('name', '')}"
        )
    return [name(obj), stated, age(obj, now)]


def _autoscaler(obj: Object, now: datetime) -> Cells:
    spec, status = part(obj, "spec"), part(obj, "status")
    target = part(spec, "scaleTargetRef")
    least = spec.get("minReplicas")
    return [
        name(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or [], status.get("currentMetrics") or []),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(obj, now),
    ]


def _metrics(wanted: list[Mapping[str, Any]], found: list[Mapping[str, Any]]) -> str:
    if not wanted:
        return NONE
    texts = [
        _metric(each, found[index] if index < len(found) else {})
        for index, each in enumerate(wanted)
    ]
    text = ", ".join(texts[:_MOST_METRICS])
    more = len(texts) - _MOST_METRICS
    return f"{text} + {more} more..." if more > 0 else text


def _metric(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    kind = wanted.get("type", "")
    if kind not in _METRICS:
        return "<unknown type>"
    member = _METRICS[kind]
    given, target = part(wanted, member), part(wanted, member, "target")
    current = part(found, member, "current")
    prefix = f"{given.get('name', '')}: " if member.lower().endswith("resource") else ""
    if "averageValue" in target:
        suffix = " (avg)" if kind in ("Object", "External") else ""
        return f"{prefix}{_seen(current, 'averageValue')}/{amount(target['averageValue'])}{suffix}"
    if not prefix:
        return f"{_seen(current, 'value')}/{amount(target.get('value'))}"
    share, seen = target.get("averageUtilization"), current.get("averageUtilization")
    most = "<auto>" if share is None else f"{share}%"
    return f"{prefix}{UNKNOWN if seen is None else f'{seen}%'}/{most}"


def _seen(current: Mapping[str, Any], member: str) -> str:
    return amount(current[member]) if member in current else UNKNOWN


def _claim(obj: Object, now: datetime) -> Cells:
    status = part(obj, "status")
    states = ["deleted"] if "deletionTimestamp" in obj["metadata"] else []
    if status.get("allocation") is not None:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    elif not states:
        states.append("pending")
    return [name(obj), ",".join(states), age(obj, now)]


def _flow_schema(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    conditions = part(obj, "status").get("conditions") or ()
    method = spec.get("distinguisherMethod")
    return [
        name(obj),
        part(spec, "priorityLevelConfiguration").get("name", ""),
        spec.get("matchingPrecedence", 0),
        method.get("type", "") if method else NONE,
        age(obj, now),
        next((each.get("status") for each in conditions if each.get("type") == "Dangling"), "?"),
    ]


def _priority_level(obj: Object, now: datetime) -> Cells:
    spec = part(obj, "spec")
    limited = spec.get("limited")
    shares: Any = NONE
    queues: list[Any] = [NONE] * 3
    if limited is not None:
        shares = limited.get("nominalConcurrencyShares", 0)
        queuing = part(limited, "limitResponse").get("queuing")
        if queuing is not None:
            queues = [queuing.get(each, 0) for each in ("queues", "handSize", "queueLengthLimit")]
    return [name(obj), spec.get("type", ""), shares, *queues, age(obj, now)]


PRINTERS: Final[Mapping[str, Printer]] = {
    "Ingress": Printer((NAME, *named("Class", "Hosts", "Address", "Ports"), AGE), _ingress),
    "IPAddress": Printer((NAME, *named("ParentRef")), _address),
    "HorizontalPodAutoscaler": Printer(
        (NAME, *named("Reference", "Targets", "MinPods", "MaxPods", "Replicas"), AGE), _autoscaler
    ),
    "ResourceClaim": Printer((NAME, *named("State"), AGE), _claim),
    "FlowSchema": Printer(
        (
            NAME,
            *named("PriorityLevel", "MatchingPrecedence", "DistinguisherMethod"),
            AGE,
            *named("MissingPL"),
        ),
        _flow_schema,
    ),
    "PriorityLevelConfiguration": Printer(
        (
            NAME,
            *named("Type", "NominalConcurrencyShares", "Queues", "HandSize", "QueueLengthLimit"),
            AGE,
        ),
        _priority_level,
    ),
}
