"""LimitRanger: defaults and bounds for what containers, pods and claims ask for.

Messages about several resources come in the order of their names; kube-apiserver gives them by chance.
"""

from collections.abc import Iterator, Mapping

from kubeloop.objects import quantity, resources
from kubeloop.objects.quantity import Quantity
from pocketkube.apiserver.admission.attributes import Attributes, Object, Plugin
from pocketkube.apiserver.admission.verdicts import (
    CREATE,
    UPDATE,
    aggregate,
    amounts,
    concerns,
    containers,
    denied,
    items,
    own,
    part,
    written,
)
from pocketkube.apiserver.view import View

_ANNOTATION = "kubernetes.io/limit-ranger"
_POD_LEVEL = frozenset({"cpu", "memory"})
_LARGEST = 2**63 - 1
Amounts = Mapping[str, Quantity]


class LimitRanger(Plugin):
    """Applies the limit ranges of a namespace."""

    resources = frozenset({"pods", "persistentvolumeclaims"})
    operations = frozenset({CREATE, UPDATE})

    def __init__(self, view: View) -> None:
        self._view = view

    async def mutate(self, attributes: Attributes) -> None:
        if not _is_pod(attributes):
            return
        for limit_range in self._ranges(attributes):
            _complete(written(attributes), limit_range)

    async def validate(self, attributes: Attributes) -> None:
        if _is_pod(attributes):
            judge = _pod_errors
        elif concerns(attributes, "persistentvolumeclaims", CREATE, UPDATE):
            judge = _claim_errors
        else:
            return
        for limit_range in self._ranges(attributes):
            errors = [
                error
                for limit in items(part(limit_range, "spec"), "limits")
                for error in judge(limit, part(written(attributes), "spec"))
            ]
            if errors:
                raise denied(attributes, aggregate(errors))

    def _ranges(self, attributes: Attributes) -> list[Object]:
        old = attributes.old
        if old is not None and part(old, "metadata").get("deletionTimestamp"):
            return []
        return list(self._view.all("limitranges", attributes.namespace))


def _is_pod(attributes: Attributes) -> bool:
    resized = attributes.subresource == "resize" and attributes.operation is UPDATE
    return concerns(attributes, "pods", CREATE) or (
        resized and attributes.resource.stored == "pods"
    )


def _complete(pod: Object, limit_range: Object) -> None:
    """Fills in what containers leave out, and notes on the pod what was filled in."""
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in items(part(limit_range, "spec"), "limits"):
        if limit.get("type") == "Container":
            defaults["requests"] |= part(limit, "defaultRequest")
            defaults["limits"] |= part(limit, "default")
    spec = own(pod, "spec")
    notes = [
        note
        for member, word in (("containers", "container"), ("initContainers", "init container"))
        for container in items(spec, member)
        for note in _fill(container, defaults, f"{word} {container.get('name', '')}")
    ]
    if notes:
        annotations = own(own(pod, "metadata"), "annotations")
        annotations[_ANNOTATION] = "LimitRanger plugin set: " + "; ".join(notes)


def _fill(container: Object, defaults: dict[str, dict[str, str]], who: str) -> Iterator[str]:
    wanted = own(container, "resources")
    for member, word in (("requests", "request"), ("limits", "limit")):
        missing = {
            name: value
            for name, value in defaults[member].items()
            if name not in part(wanted, member)
        }
        if missing:
            wanted[member] = {**part(wanted, member), **missing}
            yield f"{', '.join(sorted(missing))} {word} for {who}"


def _pod_errors(limit: Object, spec: Object) -> Iterator[str]:
    if limit.get("type") == "Container":
        for container in containers(spec):
            yield from _errors(limit, _of(container, "requests"), _of(container, "limits"))
    elif limit.get("type") == "Pod":
        yield from _errors(limit, _together(spec, "requests"), _together(spec, "limits"))


def _claim_errors(limit: Object, spec: Object) -> Iterator[str]:
    if limit.get("type") != "PersistentVolumeClaim":
        return
    asked = _of(spec, "requests")
    for name, least in amounts(part(limit, "min")).items():
        yield from _below(limit["type"], name, least, asked, {})
    for name, most in amounts(part(limit, "max")).items():
        what = f"maximum {name} usage per {limit['type']} is {most}"
        if name not in asked:
            yield f"{what}.  No request is specified"
        elif _exceeds(asked[name], most):
            yield f"{what}, but request is {asked[name]}"


def _errors(limit: Object, asked: Amounts, bound: Amounts) -> Iterator[str]:
    kind = limit["type"]
    for name, least in amounts(part(limit, "min")).items():
        yield from _below(kind, name, least, asked, bound)
    for name, most in amounts(part(limit, "max")).items():
        yield from _above(kind, name, most, asked, bound)
    for name, ratio in amounts(part(limit, "maxLimitRequestRatio")).items():
        yield from _stretched(kind, name, ratio, asked, bound)


def _below(kind: str, name: str, least: Quantity, asked: Amounts, bound: Amounts) -> Iterator[str]:
    what = f"minimum {name} usage per {kind} is {least}"
    if name not in asked:
        yield f"{what}.  No request is specified"
    elif _exceeds(least, asked[name]):
        yield f"{what}, but request is {asked[name]}"
    elif name in bound and _exceeds(least, bound[name]):
        yield f"{what}, but limit is {bound[name]}"


def _above(kind: str, name: str, most: Quantity, asked: Amounts, bound: Amounts) -> Iterator[str]:
    what = f"maximum {name} usage per {kind} is {most}"
    if name not in bound:
        yield f"{what}.  No limit is specified"
    elif _exceeds(bound[name], most):
        yield f"{what}, but limit is {bound[name]}"
    elif name in asked and _exceeds(asked[name], most):
        yield f"{what}, but request is {asked[name]}"


def _stretched(
    kind: str, name: str, ratio: Quantity, asked: Amounts, bound: Amounts
) -> Iterator[str]:
    what = f"{name} max limit to request ratio per {kind} is {ratio}"
    request, limit, _ = _numbers(
        asked.get(name, quantity.ZERO), bound.get(name, quantity.ZERO), ratio
    )
    if not request:
        yield f"{what}, but no request is specified or request is 0"
    elif not limit:
        yield f"{what}, but no limit is specified or limit is 0"
    elif limit / request * 1000 > min(ratio.milli(), _LARGEST):
        yield f"{what}, but provided ratio is {limit / request:f}"


def _exceeds(left: Quantity, right: Quantity) -> bool:
    more, less = _numbers(left, right)
    return more > less


def _numbers(*values: Quantity) -> list[int]:
    """Thousandths, or whole units if thousandths would be too many for a server, whose numbers end at 2^63-1."""
    whole = [min(each.value(), _LARGEST) for each in values]
    return whole if max(whole) > _LARGEST // 1000 else [each.milli() for each in values]


def _of(holder: Object, member: str) -> Amounts:
    return amounts(part(part(holder, "resources"), member))


def _together(spec: Object, member: str) -> Amounts:
    """What the containers of a pod need at once, as `pod_requests` counts it but by the spec alone and without overhead."""
    running: Amounts = {}
    for container in items(spec, "containers"):
        running = resources.add(running, _of(container, member))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in items(spec, "initContainers"):
        own_amounts = _of(container, member)
        if container.get("restartPolicy") == "Always":
            sidecars = resources.add(sidecars, own_amounts)
            starting = resources.maximum(starting, sidecars)
        else:
            starting = resources.maximum(starting, resources.add(own_amounts, sidecars))
    whole = _of(spec, member)
    total = resources.maximum(resources.add(running, sidecars), starting)
    return total | {name: whole[name] for name in whole if name in _POD_LEVEL}
