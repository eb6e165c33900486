"""PriorityClasses: what a name is worth. That only one can be the default is a matter of admission."""

from collections.abc import Iterator
from typing import Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import objectmeta
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Object

SYSTEM: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
"""The classes every server has, in the order in which it makes them."""
_HIGHEST: Final = 1_000_000_000
_POLICIES: Final = ("PreemptLowerPriority", "Never")


class PriorityClasses(Plain):
    """How priority classes are completed and judged."""

    def default(self, obj: Object) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def before_update(self, obj: Object, old: Object) -> None:
        """Counts no generations: nothing that matters can change."""
        if "generation" in old["metadata"]:
            obj["metadata"]["generation"] = old["metadata"]["generation"]

    def check(self, obj: Object) -> Iterator[Cause]:
        name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
        if name.startswith("system-"):
            yield from _system(name, value, is_default=bool(obj.get("globalDefault")))
        elif value > _HIGHEST:
            stated = f"maximum allowed value of a user defined priority is {_HIGHEST}"
            yield fe.forbidden("value", stated)
        policy = obj.get("preemptionPolicy")
        if policy == "":
            yield fe.required("preemptionPolicy")
        elif policy is not None and policy not in _POLICIES:
            yield fe.not_supported("preemptionPolicy", policy, _POLICIES)

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        if obj.get("value", 0) != old.get("value", 0):
            yield fe.forbidden("value", "may not be changed in an update.")
        if obj.get("preemptionPolicy") != old.get("preemptionPolicy"):
            yield objectmeta.immutable("preemptionPolicy", obj.get("preemptionPolicy"))


def _system(name: str, value: int, *, is_default: bool) -> Iterator[Cause]:
    if name not in SYSTEM:
        stated = f"{name} is not a known system priority class"
    elif value != SYSTEM[name]:
        stated = f"value of {name} PriorityClass must be {SYSTEM[name]}"
    elif is_default:
        stated = f"globalDefault of {name} PriorityClass must be false"
    else:
        return
    reserved = "priority class names with 'system-' prefix are reserved for system use only"
    yield fe.forbidden("metadata.name", f"{reserved}. error: {stated}")
