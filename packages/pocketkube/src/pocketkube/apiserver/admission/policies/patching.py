"""The two ways in which a policy changes an object: operations of a JSON patch, and a configuration that is merged in.

What expressions make comes out of CEL in no order one could rely on, so members are sorted before they are used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pocketkube.apiserver import jsonpatch, refusal
from pocketkube.apiserver.admission import reviews, revision
from pocketkube.apiserver.admission.attributes import Attributes
from pocketkube.apiserver.admission.expressions import Activation, Compiler, Expression, Failed
from pocketkube.apiserver.managed_fields import listitems, merging, typed
from pocketkube.apiserver.managed_fields.structure import Form, Node
from pocketkube.apiserver.refusal import Refused

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change."""

    expression: Expression
    applies: bool
    """Whether it is a configuration to be merged; else it is a list of operations."""

    def carry_out(self, attributes: Attributes, seen: Activation) -> bool:
        """Changes the object that is written; says whether it is another one now.

        Raises:
            Failed: the expression or what it made is of no use.
            Refused: what it made is no object of the kind.
        """
        if self.expression.program is None:
            raise Failed(self.expression.problem)
        made = seen.evaluate(self.expression)
        return _merge(attributes, made) if self.applies else _operate(attributes, made)


def mutation(written: Mapping[str, Any], compiler: Compiler) -> Mutation:
    """Compiles a mutation."""
    applies = written.get("patchType") == "ApplyConfiguration"
    body = written.get("applyConfiguration" if applies else "jsonPatch") or {}
    return Mutation(compiler.expression(str(body.get("expression", ""))), applies)


def _operate(attributes: Attributes, made: Any) -> bool:
    if not isinstance(made, list) or not all(isinstance(each, dict) for each in made):
        raise Failed("type mismatch: JSONPatchType.expression should evaluate to array")
    try:
        patched = jsonpatch.apply(attributes.object, [_operation(each) for each in made])
    except jsonpatch.TestFailed:
        return False
    except jsonpatch.NotApplicable as problem:
        raise Failed(f"JSON Patch: {problem}") from None
    try:
        changed, unknown = revision.revise(attributes, patched)
    except Refused as problem:
        raise refusal.internal(problem.status.message) from None
    if unknown:
        fields = ", ".join(f'unknown field "{each}"' for each in unknown)
        raise refusal.internal(f"strict decoding error: {fields}")
    return changed


def _operation(made: Object) -> Object:
    operation = {"op": made.get("op", ""), "path": made.get("path", "")}
    if made.get("from"):
        operation["from"] = made["from"]
    if "value" in made:
        operation["value"] = _sorted(made["value"])
    return operation


def _merge(attributes: Attributes, made: Any) -> bool:
    if not isinstance(made, dict):
        raise Failed(f"unsupported return type from ApplyConfiguration expression: {made}")
    own = attributes.resource
    kind = reviews.kind(own, attributes.subresource)["kind"]
    applied = {**_sorted(made), "apiVersion": own.api_version, "kind": kind}
    endpoint = own.strategy.endpoint(attributes.subresource)
    structure = endpoint.structure
    before = attributes.object
    try:
        typed.check(endpoint.shape, structure, applied)
        atomic = [*_atomics(structure, applied, "")]
        if atomic:
            why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
            raise Failed(f"error applying patch: invalid ApplyConfiguration: {why}")
        changed, unknown = revision.revise(attributes, merging.merge(structure, before, applied))
    except (listitems.Unmergeable, Refused) as problem:
        raise _untyped(str(problem)) from None
    if unknown:
        attributes.object = before
        raise _untyped(f".{unknown[0]}: field not declared in schema")
    return changed


def _untyped(why: str) -> Failed:
    return Failed(f"error applying patch: failed to convert patch object to typed object: {why}")


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
