"""ResourceQuotas: what may be counted, and for which pods. That they are kept is a matter of admission."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import objectmeta
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.podspec import resources
from pocketkube.apiserver.kinds.strategy import Causes, Object

_COMPUTE: Final = frozenset(
    f"{kind}{name}" for kind in ("", "requests.", "limits.") for name in ("cpu", "memory")
)
_QUOTAS: Final = _COMPUTE | {
    *(f"{kind}ephemeral-storage" for kind in ("", "requests.", "limits.")),
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "requests.storage", "services.nodeports", "services.loadbalancers"),
}
_POD_SCOPES: Final = frozenset(
    {"Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"}
)
_SCOPES: Final = _POD_SCOPES | {"BestEffort", "VolumeAttributesClass"}
_EXISTING: Final = _SCOPES - {"PriorityClass", "VolumeAttributesClass"}
_CONTRADICTIONS: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_NOT_FOR_IT: Final = "unsupported scope applied to resource"
_ONLY_EXISTS: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


class ResourceQuotas(Plain):
    """How quotas are judged."""

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj.get("spec") or {}
        yield from _amounts(spec.get("hard"), "spec.hard")
        yield from _scopes(spec)
        if spec.get("scopeSelector") is not None:
            yield from _selector(spec)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        yield from self.check(obj)
        scopes = (obj.get("spec") or {}).get("scopes") or []
        if set(scopes) != set((old.get("spec") or {}).get("scopes") or ()):
            yield objectmeta.immutable("spec.scopes", scopes)

    def check_status(self, obj: Object, old: Object) -> Causes:
        found = super().check_status(obj, old)
        status = obj.get("status") or {}
        for member in ("hard", "used"):
            found += _amounts(status.get(member), f"status.{member}")
        return found


def _amounts(given: Mapping[str, str] | None, place: str) -> Iterator[Cause]:
    for name, text in (given or {}).items():
        field = f"{place}[{name}]"
        for stated in resources.resource_name(name):
            yield fe.invalid(field, name, stated)
        if "/" not in name and not _is_countable(name):
            yield fe.invalid(field, name, "must be a standard resource for quota")
        yield from resources.check_amount(field, name, text)


def _is_countable(name: str) -> bool:
    return name in _QUOTAS or resources.is_huge_pages(name.removeprefix("requests."))


def _fits(scope: str, name: str) -> bool:
    if scope in _POD_SCOPES:
        return name == "pods" or name in _COMPUTE
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return True


def _misfits(scope: str, hard: Iterable[str] | None) -> bool:
    return any(_is_countable(name) and not _fits(scope, name) for name in hard or ())


def _scopes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            yield fe.invalid("spec.scopes", scopes, "unsupported scope")
        if _misfits(scope, spec.get("hard")):
            yield fe.invalid("spec.scopes", scopes, _NOT_FOR_IT)
    yield from _contradictions(scopes, scopes, "spec.scopes")


def _contradictions(found: Iterable[str], shown: list[str], place: str) -> Iterator[Cause]:
    for pair in _CONTRADICTIONS:
        if pair <= set(found):
            yield fe.invalid(place, shown, "conflicting scopes")


def _selector(spec: Mapping[str, Any]) -> Iterator[Cause]:
    place = "spec.scopeSelector.matchExpressions"
    expressions = spec["scopeSelector"].get("matchExpressions") or ()
    for each in expressions:
        scope, operator = each.get("scopeName", ""), each.get("operator", "")
        if scope not in _SCOPES:
            yield fe.invalid(f"{place}.scopeName", scope, "unsupported scope")
        if _misfits(scope, spec.get("hard")):
            yield fe.invalid(place, spec["scopeSelector"], _NOT_FOR_IT)
        if scope in _EXISTING and operator != "Exists":
            yield fe.invalid(f"{place}.operator", operator, _ONLY_EXISTS)
        yield from _values(operator, each.get("values") or [], place)
    found = [each.get("scopeName", "") for each in expressions]
    yield from _contradictions(found, spec.get("scopes") or [], place)


def _values(operator: str, values: list[str], place: str) -> Iterator[Cause]:
    if operator in ("In", "NotIn"):
        if not values:
            stated = (
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            )
            yield fe.required(f"{place}.values", stated)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            stated = (
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            )
            yield fe.invalid(f"{place}.values", values, stated)
    else:
        yield fe.invalid(f"{place}.operator", operator, "not a valid selector operator")
