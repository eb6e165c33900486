"""From Python types to the structural schemas that API servers enforce.

The modules of our kinds annotate their fields with `doc` and their structs with class variables: `RULES` (CEL), `ONE_OF`
(members of which exactly one is there) and `ATOMIC` (one owner for all members). `crd` asks `describe` for the neutral
description of a kind and `render` for the OpenAPI text of it. Bounds live in the schema only: an API server enforces
them on write, decoding never does, because one stored object that breaks a newer bound must not make a whole list
unreadable.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
import inspect
from typing import cast

import msgspec
import msgspec.inspect as types

from kubeloop.objects.meta import JSON

MAX_PROPERTIES = 128
"""The greatest size of a map unless it says otherwise: a CEL rule costs what the largest map could cost."""

_KEYWORDS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "format": "format",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "list_type": "x-kubernetes-list-type",
    "list_keys": "x-kubernetes-list-map-keys",
    "nullable": "nullable",
    "keep_unknown": "x-kubernetes-preserve-unknown-fields",
}


class Refusal(StrEnum):
    """The machine-readable kind of a refusal."""

    INVALID = "FieldValueInvalid"
    FORBIDDEN = "FieldValueForbidden"
    REQUIRED = "FieldValueRequired"


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule; `field` is the path below the value it stands on that a refusal names."""

    expression: str
    message: str
    field: str = ""
    reason: Refusal = Refusal.INVALID


@dataclass(frozen=True, slots=True)
class Shape:
    """What one value may be; `type` is empty where a number and a text are both welcome."""

    type: str = ""
    keywords: Mapping[str, JSON] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    fields: Mapping[str, "Field"] = field(default_factory=dict)
    items: "Shape | None" = None
    values: "Shape | None" = None


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a struct; `default` is None where an absent member stays absent."""

    shape: Shape
    required: bool
    default: JSON = None


def doc(text: str = "", /, *rules: Rule, **keywords: JSON) -> msgspec.Meta:
    """Says what a field is for and what the API server is to check."""
    return msgspec.Meta(
        description=text or None,
        extra_json_schema={_KEYWORDS[name]: value for name, value in keywords.items()},
        extra={rule.expression: rule for rule in rules},
    )


def describe(model: type, stand_ins: Mapping[type, type] | None = None) -> Shape:
    """Describes a struct; a type among `stand_ins` is described by the one that stands in for it."""
    return _Describer(stand_ins or {}).shape(types.type_info(model))


def render(shape: Shape) -> dict[str, JSON]:
    """Writes a description as an OpenAPI v3 structural schema; no two parts of it are one object."""
    schema: dict[str, JSON] = {"type": shape.type} if shape.type else {}
    schema |= deepcopy(dict(shape.keywords))
    if shape.items is not None:
        schema["items"] = render(shape.items)
    if shape.values is not None:
        schema["additionalProperties"] = render(shape.values)
    if shape.fields:
        schema["properties"] = {name: _member(member) for name, member in shape.fields.items()}
    required: list[JSON] = [name for name, member in shape.fields.items() if member.required]
    if required:
        schema["required"] = required
    if shape.rules:
        schema["x-kubernetes-validations"] = [_rule(rule) for rule in shape.rules]
    return schema


def _member(member: Field) -> dict[str, JSON]:
    schema = render(member.shape)
    return schema if member.default is None else {**schema, "default": member.default}


def _rule(rule: Rule) -> dict[str, JSON]:
    rendered: dict[str, JSON] = {"rule": rule.expression, "message": rule.message}
    if rule.field:
        rendered["fieldPath"] = rule.field
    if rule.reason is not Refusal.INVALID:
        rendered["reason"] = rule.reason.value
    return rendered


@dataclass(frozen=True, slots=True)
class _Describer:
    stand_ins: Mapping[type, type]

    def shape(self, info: types.Type) -> Shape:
        match info:
            case types.Metadata():
                return self._documented(info)
            case types.UnionType():
                return self._union(info)
            case types.StructType():
                return self._struct(info.cls)
            case types.DictType() | types.VarTupleType():
                return self._collection(info)
            case types.EnumType():
                return Shape("string", {"enum": [member.value for member in info.cls]})
            case _:
                return _SCALARS[type(info)]

    def _collection(self, info: types.DictType | types.VarTupleType) -> Shape:
        if isinstance(info, types.DictType):
            return Shape(
                "object", {"maxProperties": MAX_PROPERTIES}, values=self.shape(info.value_type)
            )
        return Shape(
            "array", {"x-kubernetes-list-type": "atomic"}, items=self.shape(info.item_type)
        )

    def _documented(self, info: types.Metadata) -> Shape:
        inner = self.shape(info.type)
        keywords = cast("Mapping[str, JSON]", info.extra_json_schema or {})
        rules = cast("Mapping[str, Rule]", info.extra or {})
        return replace(
            inner,
            keywords={**inner.keywords, **keywords},
            rules=(*inner.rules, *rules.values()),
        )

    def _union(self, info: types.UnionType) -> Shape:
        members = [member for member in info.types if not isinstance(member, types.NoneType)]
        if len(members) == 1:
            return self.shape(members[0])
        kinds = {type(member) for member in members}
        if kinds == {types.StrType, types.IntType}:
            return _INT_OR_STRING
        if kinds == {types.StrType, types.IntType, types.FloatType}:
            return _NUMBER_OR_STRING
        raise TypeError(f"no structural schema can hold {info}")

    def _struct(self, cls: type) -> Shape:
        model = self.stand_ins.get(cls, cls)
        info = cast("types.StructType", types.type_info(model))
        keywords: dict[str, JSON] = {"description": _summary(model)}
        if getattr(model, "ATOMIC", False):
            keywords["x-kubernetes-map-type"] = "atomic"
        one_of = getattr(model, "ONE_OF", ())
        if one_of:
            keywords["oneOf"] = [{"required": [name]} for name in one_of]
        return Shape(
            "object",
            keywords,
            rules=getattr(model, "RULES", ()),
            fields={member.encode_name: self._field(member) for member in info.fields},
        )

    def _field(self, member: types.Field) -> Field:
        shape = _named(self.shape(member.type), member.encode_name)
        return Field(shape, member.required, _default(member))


def _named(shape: Shape, name: str) -> Shape:
    """Lets messages of rules that do not know the field they stand on begin with its name."""
    rules = tuple(
        replace(rule, message=f"{name} {rule.message}")
        if rule.message.startswith("must ")
        else rule
        for rule in shape.rules
    )
    return replace(
        shape,
        rules=rules,
        items=_named(shape.items, name) if shape.items else None,
        values=_named(shape.values, name) if shape.values else None,
    )


def _summary(model: type) -> str:
    """Takes the first paragraph of the docstring."""
    return inspect.cleandoc(model.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def _default(member: types.Field) -> JSON:
    """Leaves out what an absent member means anyway."""
    if member.required or not member.default or member.default is msgspec.NODEFAULT:
        return None
    if isinstance(member.default, msgspec.Struct):
        return _struct_default(member.default)
    return _plain(member.default)


def _struct_default(default: msgspec.Struct) -> JSON:
    """Writes out inner defaults too: the API server judges a default by the rules before it fills anything in."""
    info = cast("types.StructType", types.type_info(type(default)))
    inner = {member.encode_name: _default(member) for member in info.fields}
    written = cast("dict[str, JSON]", _plain(default))
    return {
        name: value for name, value in {**inner, **written}.items() if value is not None
    } or None


def _plain(value: object) -> JSON:
    return cast("JSON", msgspec.json.decode(msgspec.json.encode(value)))


_INT_OR_STRING = Shape(
    keywords={
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
    }
)

# No structural schema can say "number or text", so everything else is shut out value by value.
_NUMBER_OR_STRING = Shape(
    keywords={
        "x-kubernetes-preserve-unknown-fields": True,
        "not": {"enum": [True, False, {}, []]},
        "maxItems": 0,
        "maxProperties": 0,
    }
)

_SCALARS: Mapping[type, Shape] = {
    types.StrType: Shape("string"),
    types.BoolType: Shape("boolean"),
    types.IntType: Shape("integer", {"format": "int64"}),
    types.FloatType: Shape("number"),
    types.DateTimeType: Shape("string", {"format": "date-time"}),
    types.DateType: Shape("string", {"format": "date"}),
}
