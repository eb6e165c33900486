"""The types of the table as schemas of OpenAPI, version 2 or 3, without descriptions.

`serving.openapi` asks for the definition of a type and for the types it refers to. The two versions differ in how a
reference stands beside other facts, and the second knows neither defaults nor alternatives.
"""

from functools import cache
import json
from typing import Any

from pocketkube.apiserver.types import table
from pocketkube.apiserver.types.table import Member, Type

Schema = dict[str, Any]

_SCALARS: dict[str, Schema] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int64": {"type": "integer", "format": "int64"},
    "uint64": {"type": "integer", "format": "int64"},
    **{
        form: {"type": "integer", "format": "int32"}
        for form in ("int", "int8", "int16", "int32", "uint8", "uint16", "uint32")
    },
    "float64": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
_SPECIAL: dict[str, Schema] = {
    "@quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "@intorstring": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "@time": {"type": "string", "format": "date-time"},
    "@microtime": {"type": "string", "format": "date-time"},
    "@raw": {"type": "object"},
    "@object": {"type": "object"},
}
_SPECIAL_V2: dict[str, Schema] = {
    "@quantity": {"type": "string"},
    "@intorstring": {"type": "string", "format": "int-or-string"},
}
_ZEROS = {"string": "", "boolean": False, "integer": 0, "number": 0}
_PREFIX = {2: "#/definitions/", 3: "#/components/schemas/"}


def ref(name: str, version: int) -> Schema:
    """Refers to a definition by its name in OpenAPI."""
    return {"$ref": _PREFIX[version] + name}


def openapi_name(name: str) -> str:
    """Finds the name in OpenAPI of a type of the table."""
    return f"{table.package(name).openapi}.{name.rpartition('.')[2]}"


@cache
def definition(name: str, version: int) -> Schema:
    """Describes a type of the table; do not change what you get."""
    of = table.named(name)
    if of.form != "struct":
        return (_SPECIAL_V2.get(of.form) if version == 2 else None) or _SPECIAL.get(of.form, {})
    members = table.members(name)
    schema: Schema = {"type": "object"}
    if required := sorted(each.name for each in members if "required" in each.facts):
        schema["required"] = required
    properties = {each.name: _property(each, version) for each in members}
    if properties:
        schema["properties"] = dict(sorted(properties.items()))
    if table.is_atomic(name):
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


@cache
def closure(names: tuple[str, ...]) -> tuple[str, ...]:
    """All types of the table that are needed to understand some of them, themselves included."""
    found: dict[str, None] = {}
    rest = list(names)
    while rest:
        name = rest.pop()
        if name not in found:
            found[name] = None
            of = table.named(name)
            if of.form == "struct":
                rest.extend(filter(None, (_referred(each.type) for each in table.members(name))))
    return tuple(sorted(found))


def _referred(of: Type) -> str:
    """The definition a type leads to, "" if it can be written out."""
    if of.form == "struct" or of.form.startswith("@"):
        return of.name
    return _referred(of.inner) if of.inner else ""


def _property(member: Member, version: int) -> Schema:
    schema = _shape(member.type, version)
    if "$ref" in schema and version == 3:
        schema = {"allOf": [schema]}
        if member.type.form == "struct":
            schema["default"] = {}
    facts = member.facts
    if version == 3 and (default := _default(member, schema)) is not None:
        schema["default"] = default
    if "enum" in facts:
        target = schema.get("items") or schema.get("additionalProperties") or schema
        target["enum"] = facts["enum"].replace("%20", " ").split("|")
    return schema | _extensions(member)


def _default(member: Member, schema: Schema) -> Any:
    if "default" in member.facts:
        return json.loads(member.facts["default"])
    if member.omitempty or member.type.form in ("bytes", "pointer"):
        return schema.get("default")
    return _ZEROS.get(schema.get("type", ""), schema.get("default"))


def _extensions(member: Member) -> Schema:
    facts = member.facts
    schema: Schema = {}
    if "key" in facts:
        schema["x-kubernetes-patch-merge-key"] = facts["key"]
    if "patch" in facts:
        schema["x-kubernetes-patch-strategy"] = facts["patch"]
    for kind in ("atomic", "set", "map", "granular"):
        if kind in facts:
            what = "list" if member.type.form in ("list", "bytes") else "map"
            schema[f"x-kubernetes-{what}-type"] = kind
    if "map" in facts:
        schema["x-kubernetes-list-map-keys"] = facts["map"].split(",")
    return schema


def _shape(of: Type, version: int) -> Schema:
    if of.form == "pointer" and of.inner:
        return _shape(of.inner, version)
    if of.form == "list" and of.inner:
        return {"type": "array", "items": _inner(of.inner, version)}
    if of.form == "map" and of.inner:
        return {"type": "object", "additionalProperties": _inner(of.inner, version)}
    if of.form in _SCALARS:
        return dict(_SCALARS[of.form])
    return ref(openapi_name(of.name), version)


def _inner(of: Type, version: int) -> Schema:
    schema = _shape(of, version)
    if version == 2 or of.form == "bytes":
        return schema
    if of.form == "struct":
        return {"allOf": [schema], "default": {}}
    zero = _ZEROS.get(schema.get("type", ""))
    return schema if zero is None else schema | {"default": zero}
