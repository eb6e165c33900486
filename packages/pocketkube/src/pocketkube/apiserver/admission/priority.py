"""Priority: a pod's class gives it its number, and only one class is the default."""

from pocketkube.apiserver.admission.attributes import Attributes, Object, Plugin
from pocketkube.apiserver.admission.verdicts import CREATE, UPDATE, concerns, denied, own, written
from pocketkube.apiserver.view import View

CLASSES = "priorityclasses.scheduling.k8s.io"
_PREEMPTING = "PreemptLowerPriority"


class Priority(Plugin):
    """Resolves priority classes."""

    resources = frozenset({"pods", CLASSES})
    operations = frozenset({CREATE, UPDATE})

    def __init__(self, view: View) -> None:
        self._view = view

    async def mutate(self, attributes: Attributes) -> None:
        if concerns(attributes, "pods", CREATE):
            self._establish(attributes)
        elif concerns(attributes, "pods", UPDATE):
            spec = own(written(attributes), "spec")
            old = (attributes.old or {}).get("spec") or {}
            for member in ("priority", "preemptionPolicy"):
                if spec.get(member) is None and old.get(member) is not None:
                    spec[member] = old[member]

    async def validate(self, attributes: Attributes) -> None:
        if not concerns(attributes, CLASSES, CREATE, UPDATE):
            return
        default = self._default() if written(attributes).get("globalDefault") else None
        if default is None:
            return
        name = default["metadata"]["name"]
        if attributes.operation is CREATE or name != attributes.name:
            why = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise denied(attributes, why)

    def _establish(self, attributes: Attributes) -> None:
        spec = own(written(attributes), "spec")
        found = self._class(attributes, spec.get("priorityClassName") or "")
        if found["metadata"]["name"]:
            spec["priorityClassName"] = found["metadata"]["name"]
        given, value = spec.get("priority"), found.get("value", 0)
        if given is not None and given != value:
            why = (
                f"the integer value of priority ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name"
            )
            raise denied(attributes, why)
        spec["priority"] = value
        policy, wanted = found.get("preemptionPolicy"), spec.get("preemptionPolicy")
        if policy is None:
            return
        if wanted is not None and wanted != policy:
            why = (
                f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
            raise denied(attributes, why)
        spec["preemptionPolicy"] = policy

    def _class(self, attributes: Attributes, name: str) -> Object:
        if not name:
            none: Object = {"metadata": {"name": ""}, "preemptionPolicy": _PREEMPTING}
            return self._default() or none
        found = self._view.get(CLASSES, "", name)
        if found is None:
            raise denied(attributes, f"no PriorityClass with name {name} was found")
        return found

    def _default(self) -> Object | None:
        marked = [each for each in self._view.all(CLASSES) if each.get("globalDefault")]
        return min(marked, key=lambda each: int(each.get("value", 0)), default=None)
