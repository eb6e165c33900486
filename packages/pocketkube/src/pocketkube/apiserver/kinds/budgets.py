"""PodDisruptionBudgets: how many pods may be away at once. Evictions ask them, the disruption controller counts."""

from collections.abc import Iterator
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import names, naming
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Causes, Object

_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_MEMBERS: Final = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")


class Budgets(Plain):
    """How budgets are judged."""

    name_rule = staticmethod(names.path_segment)
    qualified_finalizers = False

    def check(self, obj: Object) -> Iterator[Cause]:
        spec = obj.get("spec") or {}
        if {"minAvailable", "maxUnavailable"} <= spec.keys():
            shown = fe.in_order({each[0].upper() + each[1:]: spec.get(each) for each in _MEMBERS})
            stated = f"{shown}: minAvailable and maxUnavailable cannot be both set"
            yield fe.unshown("spec", stated)
        for member in ("minAvailable", "maxUnavailable"):
            if member in spec:
                yield from portion(f"spec.{member}", spec[member])
        yield from naming.selector("spec.selector", spec.get("selector"))
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in _POLICIES:
            yield fe.not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES)

    def check_status(self, obj: Object, old: Object) -> Causes:
        found = super().check_status(obj, old)
        status = obj.get("status") or {}
        for member in _COUNTS:
            if status.get(member, 0) < 0:
                stated = "must be greater than or equal to 0"
                found.append(fe.invalid(f"status.{member}", status[member], stated))
        return found


def portion(field: str, value: Any) -> Iterator[Cause]:
    """What is wrong with a number or a percentage of pods."""
    if isinstance(value, str):
        wrong = naming.percent(value)
        for stated in wrong:
            yield fe.invalid(field, value, stated)
        if not wrong and int(value[:-1]) > 100:
            yield fe.invalid(field, value, "must not be greater than 100%")
    elif value < 0:
        yield fe.invalid(field, value, "must be greater than or equal to 0")
