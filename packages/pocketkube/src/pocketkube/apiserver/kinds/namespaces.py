"""Namespaces: they keep a second list of finalizers in their spec, and a phase that follows their deletion.

The namespace controller empties the spec's finalizers through the `finalize` endpoint once nothing is left inside.
"""

from collections.abc import Iterator
from typing import Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import names, objectmeta
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Causes, Object

NAME_LABEL: Final = "kubernetes.io/metadata.name"
FINALIZER: Final = "kubernetes"
ACTIVE: Final = "Active"
TERMINATING: Final = "Terminating"


class Namespaces(Plain):
    """How namespaces are completed and judged."""

    name_rule = staticmethod(names.label)
    more_selectable: tuple[str, ...] = ("status.phase",)

    def _meta_fields(self) -> tuple[str, ...]:
        return ("metadata.name",)

    def default(self, obj: Object) -> None:
        name = obj["metadata"].get("name")
        if name:
            obj["metadata"].setdefault("labels", {})[NAME_LABEL] = name
        status = obj.setdefault("status", {})
        status["phase"] = status.get("phase") or ACTIVE

    def before_create(self, obj: Object) -> None:
        self.default(obj)
        obj["status"] = {"phase": ACTIVE}
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)

    def before_update(self, obj: Object, old: Object) -> None:
        super().before_update(obj, old)
        self.default(obj)
        obj["spec"] = old.get("spec", {})

    def before_finalize(self, obj: Object, old: Object) -> None:
        obj["status"] = old.get("status", {})

    def check(self, obj: Object) -> Iterator[Cause]:
        for each in obj.get("spec", {}).get("finalizers") or ():
            yield from objectmeta.finalizer(each, "spec.finalizers")

    def check_status(self, obj: Object, old: Object) -> Causes:
        found = super().check_status(obj, old)
        phase = obj.get("status", {}).get("phase", "")
        if "deletionTimestamp" not in obj["metadata"]:
            wanted, when = ACTIVE, "empty"
        else:
            wanted, when = TERMINATING, "not empty"
        if phase != wanted:
            stated = f"may only be '{wanted}' if `deletionTimestamp` is {when}"
            found.append(fe.invalid("status.Phase", phase, stated))
        return found

    def check_finalize(self, obj: Object, old: Object) -> Causes:
        found = super().check_status(obj, old)
        for index, each in enumerate(obj.get("spec", {}).get("finalizers") or ()):
            found += objectmeta.finalizer(each, f"spec.finalizers[{index}]")
        return found

    def condemn(self, obj: Object) -> None:
        obj["status"] = {**obj.get("status", {}), "phase": TERMINATING}

    def held(self, obj: Object) -> bool:
        # The first deletion only marks a namespace, whatever its finalizers are.
        begins = "deletionTimestamp" not in obj["metadata"]
        return begins or bool(obj.get("spec", {}).get("finalizers"))
