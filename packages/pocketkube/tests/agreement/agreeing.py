"""Both sides of a comparison: what the pure rules of a kind answer to a write, in the form in which a server answers."""

from copy import deepcopy
from typing import Any

Object = dict[str, Any]
Causes = list[tuple[str, str, str]]
DROP = "<drop>"


def changed(obj: Object, case: dict[str, Any]) -> Object:
    """A copy of an object with some members set or taken away."""
    made = deepcopy(obj)
    for path, value in case.items():
        *parts, last = path.replace("['", "\0").split(".")
        holder: Any = made
        for part in parts:
            holder = holder[int(part)] if isinstance(holder, list) else holder.setdefault(part, {})
        if value == DROP:
            holder.pop(last, None)
        elif isinstance(holder, list):
            holder[int(last) :] = [deepcopy(value), *holder[int(last) + 1 :]]
        else:
            holder[last] = deepcopy(value)
    return made


def causes_of(status: Object) -> Causes:
    """The causes a server gives, in an order of their own."""
    found = status.get("details", {}).get("causes", ())
    return sorted((c["reason"], c["field"], c["message"]) for c in found)


def admitted(pod: Object) -> None:
    """What admission of a fresh cluster adds to each pod."""
    spec = pod["spec"]
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    given = spec.get("tolerations") or []
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(
            one.get("operator") == "Exists" and one.get("key", key) in ("", key) for one in given
        ):
            added = {
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            spec.setdefault("tolerations", []).append(added)


class Ours:
    """The rules of one kind, in the order in which a server applies them."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy

    def _completed(self, obj: Object, namespace: str) -> Object:
        made = deepcopy(obj)
        made["metadata"]["namespace"] = namespace
        self.strategy.read(made)
        self.strategy.default(made)
        return made

    def create(self, obj: Object, namespace: str) -> tuple[Object, Causes]:
        made = self._completed(obj, namespace)
        made["metadata"].setdefault("uid", "0" * 36)
        if made["kind"] == "Pod":
            admitted(made)
        self.strategy.before_create(made)
        return made, stated(self.strategy.check_create(made))

    def update(self, obj: Object, old: Object) -> tuple[Object, Causes]:
        made = self._completed(obj, old["metadata"]["namespace"])
        self.strategy.before_update(made, old)
        return made, stated(self.strategy.check_update(made, old))

    def status(self, obj: Object, old: Object) -> tuple[Object, Causes]:
        made = self._completed(obj, old["metadata"]["namespace"])
        self.strategy.before_status(made, old)
        return made, stated(self.strategy.check_status(made, old))


def stated(causes: Any) -> Causes:
    return sorted((c.reason, c.field, c.message) for c in causes)
