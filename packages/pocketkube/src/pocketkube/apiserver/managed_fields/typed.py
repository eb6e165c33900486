"""Whether a configuration has the types of its kind: what a server finds out before it merges one.

`apply` asks here, with the kind's types from the table or a schema of a CRD. A real server stops at a member that nobody declared, and walks in no order;
here all that is wrong is told, in the order of the configuration.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

from kubeloop.objects.meta import JSON
from pocketkube.apiserver import gotext
from pocketkube.apiserver.managed_fields import fieldsets, listitems
from pocketkube.apiserver.managed_fields.fieldsets import Path
from pocketkube.apiserver.managed_fields.structure import Form, Node
from pocketkube.apiserver.types import table
from pocketkube.apiserver.types.table import Type

_METADATA = "meta/v1.ObjectMeta"
_UNTYPED = ("@quantity", "@intorstring", "@time", "@microtime", "@duration")


_SCHEMA_SCALARS = {
    "integer": "numeric",
    "number": "numeric",
    "string": "string",
    "boolean": "boolean",
}


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What a value may be.

    Attributes:
        form: `map`, `list`, `numeric`, `string`, `boolean`, `untyped` for any scalar, or `any`.
        members: The members of a struct, asked for when they are needed: types contain themselves.
        values: What other members are; None if there are none.
        items: What the items of a list are.
    """

    form: str = "any"
    members: Callable[[], Mapping[str, "Shape"]] = dict
    values: "Shape | None" = None
    items: "Shape | None" = None


ANY = Shape()


@cache
def of_kind(api_version: str, kind: str) -> Shape:
    """The shape of a kind of Kubernetes."""
    return _of_type(table.kind(api_version, kind))


@cache
def _of_type(of: Type) -> Shape:
    match of.form:
        case "pointer" if of.inner:
            return _of_type(of.inner)
        case "map" if of.inner:
            return Shape("map", values=_of_type(of.inner))
        case "list" if of.inner:
            return Shape("list", items=_of_type(of.inner))
        case "struct":
            return Shape("map", partial(_of_members, of.name))
        case form:
            return Shape(_scalar(form))


def _scalar(form: str) -> str:
    if form in ("string", "bytes"):
        return "string"
    if form == "bool":
        return "boolean"
    if form in _UNTYPED:
        return "untyped"
    return "numeric" if form.startswith(("int", "uint", "float")) else "any"


@cache
def _of_members(name: str) -> Mapping[str, Shape]:
    return {member.name: _of_type(member.type) for member in table.members(name)}


def of_schema(schema: Mapping[str, JSON]) -> Shape:
    """The shape of the objects of a CRD."""
    described = _described(schema, keep_unknown=False)
    return _resource(described)


def _resource(described: Shape) -> Shape:
    text = Shape("string")
    members = {
        **described.members(),
        "apiVersion": text,
        "kind": text,
        "metadata": _of_type(table.named(_METADATA)),
    }
    return Shape("map", lambda: members, described.values)


def _described(schema: Mapping[str, JSON], *, keep_unknown: bool) -> Shape:
    keep_unknown = keep_unknown or schema.get("x-kubernetes-preserve-unknown-fields") is True
    if schema.get("x-kubernetes-int-or-string") is True:
        return Shape("untyped")
    match schema.get("type"):
        case "object":
            return _map(schema, keep_unknown=keep_unknown)
        case "array":
            return Shape(
                "list", items=_described(_object(schema.get("items")), keep_unknown=keep_unknown)
            )
        case str() as scalar:
            return Shape(_SCHEMA_SCALARS.get(scalar, "any"))
        case _:
            return ANY


def _map(schema: Mapping[str, JSON], *, keep_unknown: bool) -> Shape:
    members = {
        name: _described(_object(inner), keep_unknown=keep_unknown)
        for name, inner in _object(schema.get("properties")).items()
    }
    additional = schema.get("additionalProperties")
    values = None
    if isinstance(additional, dict):
        values = _described(additional, keep_unknown=keep_unknown)
    elif additional is True or (additional is None and (keep_unknown or not members)):
        values = ANY
    shape = Shape("map", lambda: members, values)
    return _resource(shape) if schema.get("x-kubernetes-embedded-resource") is True else shape


def _object(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, dict) else {}


def check(shape: Shape, node: Node, value: JSON) -> None:
    """Makes sure that a configuration is one.

    Raises:
        Unmergeable: it is not, for all the reasons that are told.
    """
    found = list(_problems(shape, node, value, ()))
    if found:
        stated = found[0] if len(found) == 1 else "\n  ".join(("errors:", *found))
        raise listitems.Unmergeable(stated)


def fits(shape: Shape, node: Node, value: JSON) -> bool:
    """Says whether an object has the types of its kind; items may be there twice."""
    return all("duplicate entries" in each for each in _problems(shape, node, value, ()))


def _problems(shape: Shape, node: Node, value: JSON, path: Path) -> Iterator[str]:
    if value is None or shape.form == "any":
        return
    if shape.form == "map":
        if isinstance(value, dict):
            yield from _in_map(shape, node, value, path)
        else:
            yield _reported(path, f"expected map, got &{{{gotext.printed(value)}}}")
    elif shape.form == "list":
        if isinstance(value, list):
            yield from _in_list(shape, node, value, path)
        else:
            yield _reported(path, f"expected list, got &{{{gotext.printed(value)}}}")
    elif wrong := _SCALARS[shape.form](value):
        yield _reported(path, wrong)


def _in_map(shape: Shape, node: Node, value: dict[str, JSON], path: Path) -> Iterator[str]:
    members = shape.members()
    for name, inner in value.items():
        below = (*path, fieldsets.member(name))
        described = members.get(name) or shape.values
        if described is None:
            yield _reported(below, "field not declared in schema")
        else:
            yield from _problems(described, node.member(name), inner, below)


def _in_list(shape: Shape, node: Node, value: list[JSON], path: Path) -> Iterator[str]:
    if node.form is not Form.LIST:
        steps = [f"i:{index}" for index in range(len(value))]
    else:
        try:
            steps = [step for step, _ in listitems.named(node, value, path)]
        except listitems.Unmergeable as error:
            yield str(error)
            return
    for place, (step, item) in enumerate(zip(steps, value, strict=True)):
        if step in steps[:place]:
            yield _reported(path, f"duplicate entries for key {fieldsets.describe((step,))}")
        yield from _problems(shape.items or ANY, node.item, item, (*path, step))


def _reported(path: Path, wrong: str) -> str:
    return f"{fieldsets.describe(path)}: {wrong}" if path else wrong


def _no_number(value: JSON) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ""
    return f"expected numeric (int or float), got {gotext.type_of(value)}"


def _no_text(value: JSON) -> str:
    shown = f"&value.valueUnstructured{{Value:{gotext.written(value)}}}"
    return "" if isinstance(value, str) else f"expected string, got {shown}"


def _no_switch(value: JSON) -> str:
    shown = f"&{{{gotext.printed(value)}}}"
    return "" if isinstance(value, bool) else f"expected boolean, got {shown}"


def _no_scalar(value: JSON) -> str:
    shown = f"&{{{gotext.printed(value)}}}"
    return f"expected any scalar, got {shown}" if isinstance(value, dict | list) else ""


_SCALARS: Mapping[str, Callable[[JSON], str]] = {
    "numeric": _no_number,
    "string": _no_text,
    "boolean": _no_switch,
    "untyped": _no_scalar,
}
