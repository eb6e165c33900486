"""Nodes: taints, and addresses for pods that are given once. A node may be created with a status.

Who decides about taints and podCIDRs are controllers; here stands only what a server refuses.
"""

from collections.abc import Iterator, Mapping
import ipaddress
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import DUPLICATE, Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Causes, Object

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Nodes(Plain):
    """How nodes are judged."""

    more_selectable: tuple[str, ...] = ("spec.unschedulable",)

    def _meta_fields(self) -> tuple[str, ...]:
        return ("metadata.name",)

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {
            "metadata.name": obj["metadata"].get("name", ""),
            "spec.unschedulable": "true" if _spec(obj).get("unschedulable") else "false",
        }

    def default(self, obj: Object) -> None:
        spec = obj.get("spec") or {}
        first, ranges = spec.get("podCIDR"), spec.get("podCIDRs") or []
        if first and first not in ranges[:1]:
            spec["podCIDRs"] = [first]
        elif ranges:
            spec["podCIDR"] = ranges[0]
        status = obj.get("status", {})
        if "capacity" in status:
            status.setdefault("allocatable", dict(status["capacity"]))

    def before_create(self, obj: Object) -> None:
        """Leaves the status: nodes register themselves with one."""

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = _spec(obj)
        yield from _taints(spec)
        yield from _pod_cidrs(spec.get("podCIDRs") or ())

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        spec, before = _spec(obj), _spec(old)
        yield from _taints(spec)
        if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
            stated = 'node updates may not change podCIDR except from "" to valid'
            yield fe.forbidden("spec.podCIDRs", stated)
        elif not before.get("podCIDRs"):
            yield from _pod_cidrs(spec.get("podCIDRs") or ())
        if before.get("providerID") and spec.get("providerID") != before["providerID"]:
            stated = 'node updates may not change providerID except from "" to valid'
            yield fe.forbidden("spec.providerID", stated)

    def check_status(self, obj: Object, old: Object) -> Causes:
        found = super().check_status(obj, old)
        seen: list[Any] = []
        for index, address in enumerate(obj.get("status", {}).get("addresses") or ()):
            if address in seen:
                members = {"Type": address.get("type", ""), "Address": address.get("address", "")}
                stated = f"Duplicate value: {fe.in_order(members)}"
                place = f"status.addresses[{index}]"
                found.append(Cause(field=place, reason=DUPLICATE, message=stated))
            seen.append(address)
        return found


def _spec(obj: Object) -> dict[str, Any]:
    return obj.get("spec") or {}


def _taints(spec: Mapping[str, Any]) -> Iterator[Cause]:
    """A server reports taints as if they stood in the metadata."""
    seen = set()
    for index, taint in enumerate(spec.get("taints") or ()):
        place = f"metadata.taints[{index}]"
        yield from naming.named(f"{place}.key", taint.get("key", ""), naming.label_key)
        value, effect = taint.get("value", ""), taint.get("effect", "")
        wrong = naming.label_value(value)
        if wrong:
            yield fe.invalid(f"{place}.value", value, ";".join(wrong))
        if not effect:
            yield fe.required(f"{place}.effect")
        elif effect not in _EFFECTS:
            yield fe.not_supported(f"{place}.effect", effect, _EFFECTS)
        if (taint.get("key", ""), effect) in seen:
            yield _repeated(place, taint)
        seen.add((taint.get("key", ""), effect))


def _repeated(place: str, taint: Mapping[str, Any]) -> Cause:
    members = {
        "Key": taint.get("key", ""),
        "Value": taint.get("value", ""),
        "Effect": taint.get("effect", ""),
        "TimeAdded": taint.get("timeAdded"),
    }
    shown = fe.in_order(members)
    stated = f"Duplicate value: {shown}: taints must be unique by key and effect pair"
    return Cause(field=place, reason=DUPLICATE, message=stated)


def _pod_cidrs(cidrs: Any) -> Iterator[Cause]:
    families = []
    for index, text in enumerate(cidrs):
        try:
            families.append(ipaddress.ip_network(text, strict=False).version if "/" in text else 0)
        except ValueError:
            families.append(0)
        if not families[-1]:
            stated = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield fe.invalid(f"spec.podCIDRs[{index}]", text, stated)
    if len(families) > 1 and 0 not in families and sorted(families) != [4, 6]:
        stated = "may specify no more than one CIDR for each IP family"
        yield fe.invalid("spec.podCIDRs", list(cidrs), stated)
