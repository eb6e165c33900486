"""The two ways in which a policy changes an object: operations of a JSON patch, and a configuration that is merged in.

What expressions make comes out of CEL in no order one could rely on, so members are sorted before they are used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from korder.embedded.apiserver import jsonpatch
from korder.embedded.apiserver.admission import reviews
from korder.embedded.apiserver.admission.attributes import Attributes
from korder.embedded.apiserver.admission.expressions import (
    Activation,
    Compiler,
    Expression,
    Failed,
)
from korder.embedded.apiserver.ownership import listitems, merging
from korder.embedded.apiserver.ownership.structure import Form, Node

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change."""

    expression: Expression
    applies: bool
    """Whether it is a configuration to be merged; else it is a list of operations."""

    def patched(self, attributes: Attributes, seen: Activation) -> Any:
        """The object after the change; nothing that is given is changed.

        Raises:
            Failed: the expression or what it made is of no use.
        """
        assert attributes.object is not None  # noqa: S101 callers have looked
        if self.expression.program is None:
            raise Failed(self.expression.problem)
        made = seen.evaluate(self.expression)
        if self.applies:
            return _merged(attributes, made)
        return _operated(attributes.object, made)


def mutation(written: Mapping[str, Any], compiler: Compiler) -> Mutation:
    """Compiles a mutation."""
    applies = written.get("patchType") == "ApplyConfiguration"
    body = written.get("applyConfiguration" if applies else "jsonPatch") or {}
    return Mutation(compiler.expression(str(body.get("expression", ""))), applies)


def _operated(obj: Object, made: Any) -> Any:
    if not isinstance(made, list) or not all(isinstance(each, dict) for each in made):
        raise Failed("type mismatch: JSONPatchType.expression should evaluate to array")
    operations = [_operation(each) for each in made]
    try:
        return jsonpatch.apply(obj, operations)
    except jsonpatch.TestFailed:
        return obj
    except jsonpatch.NotApplicable as problem:
        raise Failed(f"JSON Patch: {problem}") from None


def _operation(made: Object) -> Object:
    operation = {"op": made.get("op", ""), "path": made.get("path", "")}
    if made.get("from"):
        operation["from"] = made["from"]
    if "value" in made:
        operation["value"] = _sorted(made["value"])
    return operation


def _merged(attributes: Attributes, made: Any) -> Any:
    if not isinstance(made, dict):
        raise Failed(f"unsupported return type from ApplyConfiguration expression: {made}")
    own = attributes.resource
    kind = reviews.kind(own, attributes.subresource)["kind"]
    applied = {**_sorted(made), "apiVersion": own.api_version, "kind": kind}
    structure = own.strategy.endpoint(attributes.subresource).structure
    try:
        merging.check(structure, applied)
    except listitems.Unmergeable as problem:
        why = f"failed to convert patch object to typed object: {problem}"
        raise Failed(f"error applying patch: {why}") from None
    atomic = [*_atomics(structure, applied, "")]
    if atomic:
        why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        raise Failed(f"error applying patch: invalid ApplyConfiguration: {why}")
    return merging.merge(structure, attributes.object, applied)


def _atomics(node: Node, value: Any, path: str) -> Iterator[str]:
    """The places where a configuration would replace a whole, where its writer may have thought of a part."""
    form = node.form_of(value)
    if form is Form.LEAF:
        if isinstance(value, dict | list):
            yield path
    elif isinstance(value, dict):
        for name, inner in value.items():
            if node.names(name):
                yield from _atomics(node.member(name), inner, f"{path}.{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _atomics(node.item, inner, f"{path}[{place}]")


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _sorted(value[key]) for key in sorted(value, key=str)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
