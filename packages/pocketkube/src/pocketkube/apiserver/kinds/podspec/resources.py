"""Requests and limits: which names and amounts are allowed, what a pod needs in all, and its class of service.

`containers` asks about single containers, `defaults` and `checks` about the pod as a whole, `pods` for the class of
service. What is known of amounts themselves is `korder.api`'s.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kubeloop.objects import quantity, resources as vectors
from kubeloop.objects.quantity import Quantity
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming

Object = dict[str, Any]
Amounts = dict[str, Quantity]

OF_POD: Final = frozenset({"cpu", "memory"})
"""What a pod as a whole may be given, besides huge pages."""

_HUGE_PAGES: Final = "hugepages-"
_OF_CONTAINERS: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED: Final = frozenset(
    {
        "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
_STANDARD: Final = (
    _OF_CONTAINERS
    | _COUNTED
    | {"storage", "requests.storage"}
    | {f"{kind}.{name}" for kind in ("requests", "limits") for name in _OF_CONTAINERS}
)


def of(holder: Mapping[str, Any], kind: str) -> dict[str, str]:
    """The requests or limits of a container or pod, as they are written."""
    found: dict[str, str] = (holder.get("resources") or {}).get(kind) or {}
    return found


def is_huge_pages(name: str) -> bool:
    """Whether it is memory in pages of one large size."""
    return name.startswith(_HUGE_PAGES)


def is_native(name: str) -> bool:
    """Whether Kubernetes itself gives it a meaning."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether somebody else does: such things are counted and never shared."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not naming.label_key(f"requests.{name}")


def shareable(name: str) -> bool:
    """Whether more may be allowed than is asked for."""
    return is_native(name) and not is_huge_pages(name)


def together(spec: Mapping[str, Any], kind: str) -> Amounts:
    """The most that the containers have at the same time, over the whole life of the pod."""
    running: Amounts = {}
    for container in spec.get("containers") or ():
        running = vectors.add(running, vectors.parse_list(of(container, kind)))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = vectors.parse_list(of(container, kind))
        if container.get("restartPolicy") == "Always":
            running, sidecars = vectors.add(running, own), vectors.add(sidecars, own)
            starting = vectors.maximum(starting, sidecars)
        else:
            starting = vectors.maximum(starting, vectors.add(own, sidecars))
    return vectors.maximum(running, starting)


def service_class(spec: Mapping[str, Any]) -> str:
    """How well the pod is treated when a node runs short."""
    whole = spec.get("resources")
    holders: Sequence[Mapping[str, Any]]
    if whole is not None:
        holders = [spec]
        complete = not whole.get("limits") or _has_both(spec)
    else:
        holders = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        complete = all(map(_has_both, holders))
    requests = _positive(holders, "requests")
    limits = _positive(holders, "limits")
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if complete and requests == limits else "Burstable"


def _has_both(holder: Mapping[str, Any]) -> bool:
    return len(_positive([holder], "limits")) == len(OF_POD)


def _positive(holders: Iterable[Mapping[str, Any]], kind: str) -> Amounts:
    total: Amounts = {}
    for holder in holders:
        amounts = vectors.parse_list(
            {name: text for name, text in of(holder, kind).items() if name in OF_POD}
        )
        total = vectors.add(total, {n: a for n, a in amounts.items() if a > quantity.ZERO})
    return total


def container_resource(name: str) -> list[str]:
    """What is wrong with the name of something a container asks for."""
    wrong = resource_name(name)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not is_huge_pages(name):
            wrong.append("must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        wrong.append("doesn't follow extended resource name standard")
    return wrong


def resource_name(name: str) -> list[str]:
    """What is wrong with the name of anything that is counted."""
    wrong = naming.label_key(name)
    if not wrong and "/" not in name and not _is_standard(name):
        wrong.append("must be a standard resource type or fully qualified")
    return wrong


def _is_standard(name: str) -> bool:
    return name in _STANDARD or is_huge_pages(name) or name.startswith(f"requests.{_HUGE_PAGES}")


def check(
    field: str, given: Mapping[str, Any] | None, claims: Sequence[str] = ()
) -> Iterator[Cause]:
    """Requests and limits of a container."""
    given = given or {}
    yield from _check(field, given, _container_name)
    yield from _check_claims(f"{field}.claims", given.get("claims") or (), claims)


def check_pod(field: str, spec: Mapping[str, Any]) -> Iterator[Cause]:
    """Requests and limits of the pod as a whole, and whether they have room for its containers."""
    whole = spec.get("resources")
    if whole is None:
        return
    if (spec.get("os") or {}).get("name") == "windows":
        yield fielderrors.forbidden(field, "may not be set for a windows pod")
        return
    if whole.get("claims"):
        yield fielderrors.forbidden(
            f"{field}.claims", "claims may not be set for Resources at pod-level"
        )
    yield from _check(field, whole, _pod_name)
    yield from _check_room(field, spec, whole)


def _check_room(field: str, spec: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[Cause]:
    for kind, matters in (("requests", lambda _: True), ("limits", is_huge_pages)):
        given = whole.get(kind) or {}
        for name, amount in together(spec, kind).items():
            if name in given and matters(name) and amount > quantity.parse(given[name]):
                yield fielderrors.invalid(
                    f"{field}.{kind}[{name}]",
                    given[name],
                    f"must be greater than or equal to aggregate container {kind} of {amount}",
                )
    limits = whole.get("limits") or {}
    for at, container in enumerate(spec.get("containers") or ()):
        for name, text in of(container, "limits").items():
            if name in limits and quantity.parse(text) > quantity.parse(limits[name]):
                yield fielderrors.invalid(
                    f"{field}.containers[{at}][{name}].limits",
                    text,
                    f"must be less than or equal to pod limits of {limits[name]}",
                )


def _container_name(field: str, name: str) -> Iterator[Cause]:
    return naming.named(field, name, container_resource)


def _pod_name(field: str, name: str) -> Iterator[Cause]:
    wrong = resource_name(name)
    for said in wrong:
        yield fielderrors.invalid(field, name, said)
    if not wrong and name not in OF_POD and not is_huge_pages(name):
        yield fielderrors.not_supported(field, name, ("cpu", _HUGE_PAGES, "memory"))


def _check(
    field: str, given: Mapping[str, Any], check_name: Callable[[str, str], Iterator[Cause]]
) -> Iterator[Cause]:
    limits = given.get("limits") or {}
    requests = given.get("requests") or {}
    for name, text in limits.items():
        yield from check_name(f"{field}.limits[{name}]", name)
        yield from check_amount(f"{field}.limits[{name}]", name, text)
        yield from _check_pages(f"{field}.limits[{name}]", name, text)
    for name, text in requests.items():
        yield from check_name(f"{field}.requests[{name}]", name)
        yield from check_amount(f"{field}.requests[{name}]", name, text)
        yield from _check_against(field, name, text, limits.get(name))
        yield from _check_pages(f"{field}.requests[{name}]", name, text)
    names = {*limits, *requests}
    if any(map(is_huge_pages, names)) and not names & OF_POD:
        yield fielderrors.forbidden(field, "HugePages require cpu or memory")


def check_amount(field: str, name: str, text: str) -> Iterator[Cause]:
    """What is wrong with an amount of something."""
    amount = quantity.parse(text)
    if amount < quantity.ZERO:
        yield fielderrors.invalid(field, text, "must be greater than or equal to 0")
    if (name in _COUNTED or is_extended(name)) and amount.milli() % 1000:
        yield fielderrors.invalid(field, text, "must be an integer")


def _check_against(field: str, name: str, text: str, limit: str | None) -> Iterator[Cause]:
    if limit is None:
        if not shareable(name):
            yield fielderrors.required(
                f"{field}.limits", "Limit must be set for non overcommitable resources"
            )
        return
    asked, most = quantity.parse(text), quantity.parse(limit)
    if asked != most and not shareable(name):
        said = f"must be equal to {name} limit of {limit}"
        yield fielderrors.invalid(f"{field}.requests", text, said)
    elif asked > most:
        said = f"must be less than or equal to {name} limit of {limit}"
        yield fielderrors.invalid(f"{field}.requests", text, said)


def _check_pages(field: str, name: str, text: str) -> Iterator[Cause]:
    if not is_huge_pages(name):
        return
    try:
        page = quantity.parse(name.removeprefix(_HUGE_PAGES)).value()
    except quantity.InvalidQuantity:
        page = 0
    if page <= 0 or quantity.parse(text).value() % page:
        said = f"{text} is not positive integer multiple of {name}"
        yield fielderrors.invalid(field, text, said)


def _check_claims(
    field: str, claims: Sequence[Mapping[str, Any]], known: Sequence[str]
) -> Iterator[Cause]:
    seen: set[str] = set()
    for at, claim in enumerate(claims):
        name = claim.get("name", "")
        if not name:
            yield fielderrors.required(f"{field}[{at}]")
            continue
        request = claim.get("request") or ""
        yield from _check_claim(f"{field}[{at}]", name, request, seen)
        if name not in known:
            stated = f": {', '.join(sorted(known))}" if known else " which is empty"
            yield fielderrors.not_found(
                f"{field}[{at}]",
                name,
                f"must be one of the names in pod.spec.resourceClaims{stated}",
            )


def _check_claim(field: str, name: str, request: str, seen: set[str]) -> Iterator[Cause]:
    if name in seen:
        yield fielderrors.duplicate(field, name)
        return
    key = f"{name}/{request}" if request else name
    if request:
        yield from naming.named(f"{field}.request", request, naming.dns_label)
    if key in seen:
        yield fielderrors.duplicate(field, key)
    elif not request:
        for other in sorted(seen):
            if other.startswith(f"{name}/"):
                yield fielderrors.duplicate(field, name)
    seen.add(key)
