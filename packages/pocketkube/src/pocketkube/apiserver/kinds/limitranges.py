"""LimitRanges: bounds and defaults for what containers, pods and claims may ask for."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubeloop.objects import quantity
from kubeloop.objects.quantity import Quantity
from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.podspec import resources
from pocketkube.apiserver.kinds.strategy import Object

_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_CHECKED: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_LARGEST: Final = 2**63 - 1
_MOST_MILLI: Final = _LARGEST // 1000
_ORDER: Final = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request value {} is greater than max value {}"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest", "default request value {} is greater than default limit value {}"),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)  # fmt: skip
"""What must not be more than what, which field is blamed, whose value is shown, and what is said."""

Limit = dict[str, Any]


class LimitRanges(Plain):
    """How limits are completed and judged."""

    def default(self, obj: Object) -> None:
        for limit in (obj.get("spec") or {}).get("limits") or ():
            if limit.get("type") == "Container":
                _complete(limit)

    def check(self, obj: Object) -> Iterator[Cause]:
        seen: set[str] = set()
        for index, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
            place, kind = f"spec.limits[{index}]", limit.get("type", "")
            yield from _type(kind, f"{place}.type")
            if kind in seen:
                yield fe.duplicate(f"{place}.type", kind)
            seen.add(kind)
            yield from _names(limit, kind, place)
            yield from _of_kind(limit, kind, place)
            for name in dict.fromkeys(name for each in _CHECKED for name in limit.get(each) or ()):
                yield from _amounts(limit, name, place)


def _complete(limit: Limit) -> None:
    """A maximum is a default, and a default is a default request, before a minimum is."""
    most, least = limit.get("max") or {}, limit.get("min") or {}
    limits = {**most, **(limit.get("default") or {})}
    requests = {**least, **limits, **(limit.get("defaultRequest") or {})}
    if limits:
        limit["default"] = limits
    if requests:
        limit["defaultRequest"] = requests


def _type(kind: str, place: str) -> Iterator[Cause]:
    wrong = naming.label_key(kind)
    if not wrong and "/" not in kind and kind not in _TYPES:
        wrong = ["must be a standard limit type or fully qualified"]
    for stated in wrong:
        yield fe.invalid(place, kind, stated)


def _names(limit: Limit, kind: str, place: str) -> Iterator[Cause]:
    rule = resources.container_resource if kind in ("Pod", "Container") else resources.resource_name
    for member in _CHECKED:
        if kind == "Pod" and member.startswith("default"):
            continue
        for name in limit.get(member) or ():
            yield from naming.named(f"{place}.{member}[{name}]", name, rule)


def _of_kind(limit: Limit, kind: str, place: str) -> Iterator[Cause]:
    if kind == "Pod":
        for member in ("default", "defaultRequest"):
            if limit.get(member):
                stated = "may not be specified when `type` is 'Pod'"
                yield fe.forbidden(f"{place}.{member}", stated)
    bounds = {**(limit.get("min") or {}), **(limit.get("max") or {})}
    if kind == "PersistentVolumeClaim" and "storage" not in bounds:
        stated = "either minimum or maximum storage value is required, but neither was provided"
        yield fe.required(f"{place}.limits", stated)


def _amounts(limit: Limit, name: str, place: str) -> Iterator[Cause]:
    given = {
        member: quantity.parse(limit[member][name])
        for member in _CHECKED
        if name in (limit.get(member) or ()) and not _is_ignored(limit, member)
    }
    for low, high, blamed, shown, stated in _ORDER:
        if low in given and high in given and given[low] > given[high]:
            sentence = stated.format(given[low], given[high])
            yield fe.invalid(f"{place}.{blamed}[{name}]", str(given[shown]), sentence)
    yield from _ratio(given, f"{place}.maxLimitRequestRatio[{name}]")
    request, default = given.get("defaultRequest"), given.get("default")
    if not resources.shareable(name) and request and default and request != default:
        stated = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield fe.invalid(f"{place}.defaultRequest[{name}]", str(request), stated)


def _is_ignored(limit: Limit, member: str) -> bool:
    return limit.get("type") == "Pod" and member.startswith("default")


def _ratio(given: Mapping[str, Quantity], place: str) -> Iterator[Cause]:
    ratio = given.get("maxLimitRequestRatio")
    if ratio is None:
        return
    if ratio < quantity.parse("1"):
        yield fe.invalid(place, str(ratio), f"ratio {ratio} is less than 1")
    if "min" not in given or "max" not in given:
        return
    least, most, whole = (
        min(each.value(), _LARGEST) for each in (given["min"], given["max"], ratio)
    )
    value = float(whole)
    if max(whole, least, most) < _MOST_MILLI:
        least, most, value = given["min"].milli(), given["max"].milli(), ratio.milli() / 1000
    bound = most / least if least else float("inf")
    if value > bound:
        stated = f"ratio {ratio} is greater than max/min = {bound:f}"
        yield fe.invalid(place, str(ratio), stated)
