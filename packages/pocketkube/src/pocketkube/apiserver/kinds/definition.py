"""CustomResourceDefinitions as a kind: how they are completed and judged.

The rules themselves are in `schemas`; what follows from a definition, its conditions and the resources it brings, is the
business of `serving.definitions`.
"""

from collections.abc import Iterator

from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds.objectmeta import immutable
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Object
from pocketkube.apiserver.refusal import bad_request
from pocketkube.apiserver.schemas import crdapproval, crds, crdshape

GROUP, KIND = "apiextensions.k8s.io", "CustomResourceDefinition"
STORED = f"customresourcedefinitions.{GROUP}"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition until its objects are gone."""

TERMINATING = "Terminating"


class Definitions(Plain):
    """How definitions are completed and judged."""

    def read(self, obj: Object) -> list[str]:
        unknown = super().read(obj)
        problem = crdshape.malformed(obj)
        if problem:
            stated = f'{self.kind} in version "v1" cannot be handled as a {self.kind}: {problem}'
            raise bad_request(stated)
        return unknown

    def default(self, obj: Object) -> None:
        crds.fill_defaults(obj)

    def before_create(self, obj: Object) -> None:
        super().before_create(obj)
        versions = obj["spec"].get("versions") or ()
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": [each["name"] for each in versions if each.get("storage")],
        }

    def held(self, obj: Object) -> bool:
        """Whoever deletes a definition waits for the end of its objects: `condemn` adds a finalizer."""
        return "deletionTimestamp" not in obj["metadata"]

    def condemn(self, obj: Object) -> None:
        meta = obj["metadata"]
        if CLEANUP not in (meta.get("finalizers") or ()):
            meta["finalizers"] = [*(meta.get("finalizers") or ()), CLEANUP]
        status = obj.get("status", {})
        conditions = [
            each for each in status.get("conditions") or () if each["type"] != TERMINATING
        ]
        stated = (
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        )
        pending = {
            "type": TERMINATING,
            "status": "True",
            "lastTransitionTime": meta["deletionTimestamp"],
            "reason": "InstanceDeletionPending",
            "message": stated,
        }
        obj["status"] = {**status, "conditions": [*conditions, pending]}

    def before_update(self, obj: Object, old: Object) -> None:
        super().before_update(obj, old)
        versions = obj["spec"].get("versions") or ()
        stored = (old.get("status") or {}).get("storedVersions") or []
        new = [each["name"] for each in versions if each.get("storage")]
        kept = list(dict.fromkeys([*stored, *new]))
        obj["status"] = {**(old.get("status") or {}), "storedVersions": kept}

    def check(self, obj: Object) -> list[Cause]:
        return [*crds.check(obj), *crdapproval.check(obj)]

    def check_change(self, obj: Object, old: Object) -> Iterator[Cause]:
        yield from crds.check(obj)
        spec, before = obj["spec"], old["spec"]
        for member in ("group", "scope"):
            if spec.get(member) != before.get(member):
                yield immutable(f"spec.{member}", spec.get(member, ""))
        for member in ("plural", "kind"):
            name = spec["names"].get(member, "")
            if name != before["names"].get(member, "") and is_established(old):
                yield immutable(f"spec.names.{member}", name)
        yield from crds.check_stored(obj)
        yield from crdapproval.check(obj, old)


def is_established(definition: Object) -> bool:
    """Whether its names are accepted and its versions served."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
