"""RuntimeClass: what a class of runtimes costs and where it runs is written into its pods."""

from pocketkube.apiserver.admission.attributes import Attributes, Object, Plugin
from pocketkube.apiserver.admission.verdicts import (
    CREATE,
    amounts,
    concerns,
    denied,
    items,
    own,
    part,
    written,
)
from pocketkube.apiserver.view import View

CLASSES = "runtimeclasses.node.k8s.io"
_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_ALONE = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClass(Plugin):
    """Resolves runtime classes."""

    resources = frozenset({"pods"})
    operations = frozenset({CREATE})

    def __init__(self, view: View) -> None:
        self._view = view

    async def mutate(self, attributes: Attributes) -> None:
        if not concerns(attributes, "pods", CREATE):
            return
        spec = own(written(attributes), "spec")
        found = self._class(attributes, spec)
        if found.get("overhead") is not None:
            fixed = part(found["overhead"], "podFixed")
            if part(spec, "overhead") and amounts(spec["overhead"]) != amounts(fixed):
                raise denied(attributes, _MISMATCH)
            spec["overhead"] = dict(fixed)
        if found.get("scheduling") is not None:
            _schedule(attributes, spec, found["scheduling"])

    async def validate(self, attributes: Attributes) -> None:
        if not concerns(attributes, "pods", CREATE):
            return
        spec = part(written(attributes), "spec")
        found = self._class(attributes, spec)
        if found.get("overhead") is None:
            if spec.get("overhead") is not None:
                raise denied(attributes, _ALONE)
        elif amounts(part(found["overhead"], "podFixed")) != amounts(part(spec, "overhead")):
            raise denied(attributes, _MISMATCH)

    def _class(self, attributes: Attributes, spec: Object) -> Object:
        name = spec.get("runtimeClassName")
        if name is None:
            return {}
        found = self._view.get(CLASSES, "", name)
        if found is None:
            raise denied(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        return found


def _schedule(attributes: Attributes, spec: Object, scheduling: Object) -> None:
    selector = dict(part(spec, "nodeSelector"))
    for key, value in sorted(part(scheduling, "nodeSelector").items()):
        if selector.setdefault(key, value) != value:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
            raise denied(attributes, why)
    if selector:
        spec["nodeSelector"] = selector
    merged = _merged([*items(spec, "tolerations"), *items(scheduling, "tolerations")])
    if merged:
        spec["tolerations"] = merged


def _merged(tolerations: list[Object]) -> list[Object]:
    """Leaves out what another toleration covers."""
    kept: list[Object] = []
    for index, each in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != each)
        if not any(_covers(other, each) for other in (*kept, *later)):
            kept.append(dict(each))
    return kept


def _covers(wide: Object, narrow: Object) -> bool:
    if wide == narrow:
        return True
    exists = wide.get("operator") == "Exists"
    same_key = narrow.get("key", "") == wide.get("key", "") or (not wide.get("key") and exists)
    if not same_key or wide.get("effect", "") not in ("", narrow.get("effect", "")):
        return False
    seconds, held = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    ends = wide.get("effect") == "NoExecute" and seconds is not None
    if ends and (held is None or held > seconds):
        return False
    equal = narrow.get("operator", "") in ("", "Equal")
    return exists or (equal and narrow.get("value", "") == wide.get("value", ""))
