"""Structural schemas of custom resources: shaping objects and refusing wrong ones as kube-apiserver does.

`compile_schema` is called once for each version of a CustomResourceDefinition; the server's write path then calls
`Structural.shape` on every decoded object and one of the `check_` methods before it stores. Everything is pure, and what was
compiled is kept: a process that starts many servers, as tests do, sends all of them the same few definitions. The causes
come in the server's order (values, scale, embedded objects, lists, rules); within an object a server's order is chance,
ours is the order of the object.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.schemas import rules, schemalists, schemashaping
from pocketkube.apiserver.schemas.schemanodes import Node, compile_node
from pocketkube.apiserver.schemas.schemavalues import Checker

Object = dict[str, Any]

_BLOCKING: Final = frozenset(
    {fe.NOT_SUPPORTED, fe.REQUIRED, fe.TOO_LONG, fe.TOO_MANY, fe.TYPE_INVALID}
)
_UNCHECKED: Final = fe.invalid(
    fe.NO_FIELD,
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_GO_TYPES: Final = {
    str: "string",
    bool: "bool",
    float: "float64",
    int: "int64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the scale subresource finds its numbers, as JSON paths with a leading dot."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


class Structural:
    """A compiled schema."""

    __slots__ = ("_rules", "_scale", "node")

    def __init__(self, node: Node, found: rules.RuleNode | None, scale: Scale | None) -> None:
        self.node = node
        self._rules = found
        self._scale = scale

    def shape(self, obj: Object) -> list[str]:
        """Prunes and fills in defaults, in place; returns the sorted paths of unknown fields."""
        unknown = schemashaping.prune(self.node, obj)
        self.fill(obj)
        return unknown

    def fill(self, obj: Object) -> None:
        """Fills in defaults, in place."""
        schemashaping.fill(self.node, obj)

    def check_create(self, obj: Object, found: Iterable[Cause] = ()) -> list[Cause]:
        """What is wrong with a new object, besides what was found in its metadata."""
        causes = [*found, *Checker().run(self.node, obj)]
        causes += self._scale_causes(obj, ("spec", "status"))
        causes += schemalists.embedded(self.node, obj)
        causes += schemalists.duplicates(self.node, obj)
        return self._with_rules(causes, obj, None)

    def check_update(self, obj: Object, old: Object, found: Iterable[Cause] = ()) -> list[Cause]:
        """What is wrong with an object that replaces another; old mistakes that did not change are forgiven."""
        causes = [*found, *Checker().run(self.node, obj, old)]
        causes += self._scale_causes(obj, ("spec", "status"))
        causes += schemalists.embedded(self.node, obj)
        causes += self._new_duplicates(obj, old)
        return self._with_rules(causes, obj, old)

    def check_status(self, obj: Object, old: Object) -> list[Cause]:
        """What is wrong with an object whose status alone was written; it already has the old metadata and spec."""
        causes: list[Cause] = []
        status = self.node.properties.get("status")
        if status is not None and "status" in obj:
            was = old.get("status", None)
            causes += Checker("status").run(status, obj["status"], was)
        causes += self._scale_causes(obj, ("status",))
        causes += self._new_duplicates(obj, old)
        return self._with_rules(causes, obj, old)

    def _new_duplicates(self, obj: Object, old: Object) -> list[Cause]:
        found = list(schemalists.duplicates(self.node, obj))
        return [] if found and any(schemalists.duplicates(self.node, old)) else found

    def _with_rules(self, causes: list[Cause], obj: Object, old: Object | None) -> list[Cause]:
        if self._rules is None:
            return causes
        if any(cause.reason in _BLOCKING for cause in causes):
            return [*causes, _UNCHECKED]
        return causes + rules.evaluate(self._rules, obj, old)

    def _scale_causes(self, obj: Object, parts: tuple[str, ...]) -> list[Cause]:
        if self._scale is None:
            return []
        paths = {"spec": self._scale.spec_replicas, "status": self._scale.status_replicas}
        return [cause for part in parts for cause in _replicas(obj, paths[part])]


def _replicas(obj: Object, path: str) -> list[Cause]:
    value: Any = obj
    names = path.removeprefix(".").split(".")
    for name in names:
        if value is None or (isinstance(value, dict) and name not in value):
            return []
        if not isinstance(value, dict):
            return [_unusable(path, names, value, "map[string]interface{}")]
        value = value[name]
    if type(value) is not int:
        return [_unusable(path, names, value, "int64")]
    if value < 0:
        return [fe.invalid(path, value, "should be a non-negative integer")]
    if value > 2**31 - 1:
        return [fe.invalid(path, value, f"should be less than or equal to {2**31 - 1}")]
    return []


def _unusable(path: str, names: list[str], value: Any, expected: str) -> Cause:
    found = _GO_TYPES.get(type(value), "<nil>")
    detail = f".{'.'.join(names)} accessor error: {fe.loose(value)} is of the type {found}, expected {expected}"
    return fe.invalid(path, 0, detail)


def compile_schema(schema: Mapping[str, Any], scale: Scale | None = None) -> Structural:
    """Compiles an OpenAPI v3 schema with all its rules.

    Raises:
        ValueError: a pattern is none; `crds.check` names the place before it comes to this.
    """
    return _compiled(msgspec.json.encode(schema), scale)


@lru_cache(maxsize=32)
def _compiled(written: bytes, scale: Scale | None) -> Structural:
    """Compiles a copy of its own, because nodes keep their schema."""
    node = compile_node(msgspec.json.decode(written))
    return Structural(node, rules.compile_rules(node, is_resource=True), scale)
