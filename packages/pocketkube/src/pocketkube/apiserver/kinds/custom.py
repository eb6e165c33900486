"""Resources of a CustomResourceDefinition: one for each served version.

`serving.definitions` makes them when a definition is written. Versions differ in their schema, not in what is stored: there is no
conversion but the exchange of `apiVersion`.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from pocketkube.apiserver.kinds import objectmeta, versions
from pocketkube.apiserver.kinds.builtin import Unreadable
from pocketkube.apiserver.kinds.printing import custom as printing
from pocketkube.apiserver.kinds.resource import Resource, Subresource
from pocketkube.apiserver.kinds.strategy import Causes, Object, Strategy
from pocketkube.apiserver.managed_fields import endpoints
from pocketkube.apiserver.managed_fields.endpoints import Endpoint
from pocketkube.apiserver.schemas.structural import Scale, Structural, compile_schema
from pocketkube.apiserver.types import reading
from pocketkube.apiserver.types.mismatch import Mismatch

_VERBS = "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"
_META = ("metadata.name", "metadata.namespace")
_METADATA = "meta/v1.ObjectMeta"


class CustomStrategy(Strategy):
    """How objects of one version are read, completed and judged."""

    generational = True
    strategic = False
    unconditional = False

    def __init__(self, definition: Object, version: Object, renewed_until: int = 0) -> None:
        spec = definition["spec"]
        self.kind = spec["names"]["kind"]
        self._api_version = f"{spec['group']}/{version['name']}"
        self._schema: Mapping[str, Any] = version["schema"]["openAPIV3Schema"]
        self.stored_schema = _stored_schema(definition) or self._schema
        self.renewed_until = renewed_until
        parts = version.get("subresources") or {}
        self.has_status = parts.get("status") is not None
        self.scale = _scale(parts.get("scale"))
        self._paths = [each["jsonPath"] for each in version.get("selectableFields") or ()]
        self._rules = objectmeta.Rules(
            namespaced=spec["scope"] == "Namespaced", qualified_finalizers=False
        )
        self.selectable = (*_META, *(path.removeprefix(".") for path in self._paths))

    def schema(self) -> Mapping[str, Any]:
        return self._schema

    @cached_property
    def structural(self) -> Structural:
        """The compiled schema; compiled when the first object comes."""
        return compile_schema(self._schema, self.scale)

    @cached_property
    def _stored(self) -> Structural:
        same = self.stored_schema == self._schema
        return self.structural if same else compile_schema(self.stored_schema)

    def renew(self, obj: Object) -> None:
        """What is stored follows the schema of the version that is stored, whichever version is asked for."""
        self._stored.shape(obj)

    @cached_property
    def _endpoints(self) -> dict[str, Endpoint]:
        return {}

    def endpoint(self, subresource: str = "") -> Endpoint:
        found = self._endpoints.get(subresource)
        if found is None:
            found = self._endpoints[subresource] = endpoints.custom(
                self._api_version,
                self.kind,
                self._schema,
                subresource,
                has_status=self.has_status,
            )
        return found

    def read(self, obj: Object) -> list[str]:
        unknown = self._read_metadata(obj)
        return sorted([*(f"metadata.{path}" for path in unknown), *self.structural.shape(obj)])

    def read_applied(self, obj: Object) -> list[str]:
        """A server looks at types before it merges, and takes no null out afterwards: those without a default are refused later.

        What it cannot read in the metadata it leaves out.
        """
        try:
            unknown = self._read_metadata(obj)
        except Unreadable:
            meta = obj["metadata"]
            obj["metadata"] = {name: meta[name] for name in meta if _is_readable(name, meta[name])}
            unknown = self._read_metadata(obj)
        self.structural.fill(obj)
        return sorted(f"metadata.{path}" for path in unknown)

    def _read_metadata(self, obj: Object) -> list[str]:
        try:
            # A server writes the members out by name before it reads them, so the first that is wrong is the first by name.
            obj["metadata"] = dict(sorted(obj["metadata"].items()))
            return reading.of_type(_METADATA)(obj["metadata"])
        except Mismatch as mismatch:
            raise Unreadable(self._api_version, self.kind, str(mismatch)) from None

    def warnings(self, obj: Object) -> list[str]:
        return objectmeta.plain_finalizers(obj["metadata"].get("finalizers") or ())

    def warnings_of_change(self, obj: Object, old: Object) -> list[str]:
        kept = old["metadata"].get("finalizers") or ()
        added = [each for each in obj["metadata"].get("finalizers") or () if each not in kept]
        return objectmeta.plain_finalizers(added)

    def check_create(self, obj: Object) -> Causes:
        found = objectmeta.created(obj["metadata"], self._rules)
        return self.structural.check_create(obj, found)

    def check_update(self, obj: Object, old: Object) -> Causes:
        found = objectmeta.updated(obj["metadata"], old["metadata"], self._rules)
        return self.structural.check_update(obj, old, [*found, *found])

    def before_status(self, obj: Object, old: Object) -> None:
        """Nothing but the status is written here, and who owns it."""
        super().before_status(obj, old)
        meta = dict(old["metadata"])
        meta.pop("managedFields", None)
        if "managedFields" in obj["metadata"]:
            meta["managedFields"] = obj["metadata"]["managedFields"]
        obj["metadata"] = meta

    def check_status(self, obj: Object, old: Object) -> Causes:
        found = objectmeta.updated(obj["metadata"], old["metadata"], self._rules)
        return found + self.structural.check_status(obj, old)

    def unselectable(self, field: str) -> str:
        return f"field label not supported: {field}"

    def fields(self, obj: Object) -> Mapping[str, str]:
        found = dict(super().fields(obj))
        for path in self._paths:
            found[path.removeprefix(".")] = _text(_at(path, obj))
        return found


def _is_readable(name: str, value: Any) -> bool:
    try:
        reading.of_type(_METADATA)({name: value})
    except Mismatch:
        return False
    return True


def _scale(given: Object | None) -> Scale | None:
    if not given:
        return None
    selector = given.get("labelSelectorPath") or ""
    return Scale(given["specReplicasPath"], given["statusReplicasPath"], selector)


def _at(path: str, obj: Any) -> Any:
    for name in path.removeprefix(".").split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def resources(
    definition: Object, before: Sequence[Resource] = (), version: int = 0
) -> tuple[Resource, ...]:
    """The resources of a definition whose names are accepted, in place of those it had before this storage version."""
    served = [each for each in definition["spec"]["versions"] if each.get("served")]
    was = before[0].strategy if before else None
    if isinstance(was, CustomStrategy) and was.stored_schema == _stored_schema(definition):
        version = was.renewed_until
    return tuple(_resource(definition, each, version) for each in served)


def _stored_schema(definition: Object) -> Mapping[str, Any] | None:
    versions = definition["spec"]["versions"]
    found = next((each for each in versions if each.get("storage")), None)
    return found["schema"]["openAPIV3Schema"] if found else None


def _resource(definition: Object, version: Object, renewed_until: int) -> Resource:
    spec = definition["spec"]
    names, strategy = spec["names"], CustomStrategy(definition, version, renewed_until)
    return Resource(
        spec["group"],
        version["name"],
        names["kind"],
        names["plural"],
        strategy,
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=_VERBS,
        subresources=_subresources(strategy),
        list_kind=names.get("listKind", ""),
        custom=True,
        printer=printing.printer(version.get("additionalPrinterColumns")),
        deprecation=_deprecation(spec, version) if version.get("deprecated") else "",
    )


def _deprecation(spec: Object, version: Object) -> str:
    """What the definition says about an old version, or which better one there is."""
    stated: str | None = version.get("deprecationWarning")
    if stated is not None:
        return stated
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    served = [
        each for each in spec["versions"] if each.get("served") and not each.get("deprecated")
    ]
    better = sorted((each["name"] for each in served), key=versions.rank)
    old = f"{group}/{name} {kind} is deprecated"
    if not better or versions.rank(better[0]) > versions.rank(name):
        return old
    return f"{old}; use {group}/{better[0]} {kind}"


def _subresources(strategy: CustomStrategy) -> tuple[Subresource, ...]:
    verbs = ("get", "patch", "update")
    found = []
    if strategy.has_status:
        found.append(Subresource("status", strategy.kind, verbs))
    if strategy.scale is not None:
        found.append(Subresource("scale", "Scale", verbs, "autoscaling", "v1"))
    return tuple(found)
