"""The shape of a CustomResourceDefinition: which member is a text, which a list, before anybody looks at what they say.

The server's write path asks `malformed` first and answers 400; `crds` and `crdschemas` then walk the definition without
asking again.
"""

from typing import Any

import msgspec

Number = int | float


class _Rule(msgspec.Struct, rename="camel"):
    rule: str = ""
    message: str | None = None
    message_expression: str | None = None
    reason: str | None = None
    field_path: str | None = None
    optional_old_self: bool | None = None


class _Schema(msgspec.Struct, rename="camel"):
    type: str | None = None
    format: str | None = None
    title: str | None = None
    description: str | None = None
    nullable: bool | None = None
    pattern: str | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    exclusive_minimum: bool | None = None
    exclusive_maximum: bool | None = None
    multiple_of: Number | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    unique_items: bool | None = None
    required: list[str] | None = None
    enum: list[Any] | None = None
    properties: dict[str, "_Schema"] | None = None
    additional_properties: "bool | _Schema | None" = None
    items: "_Schema | None" = None
    not_: "_Schema | None" = msgspec.field(default=None, name="not")
    all_of: list["_Schema"] | None = None
    any_of: list["_Schema"] | None = None
    one_of: list["_Schema"] | None = None
    list_type: str | None = msgspec.field(default=None, name="x-kubernetes-list-type")
    map_keys: list[str] | None = msgspec.field(default=None, name="x-kubernetes-list-map-keys")
    map_type: str | None = msgspec.field(default=None, name="x-kubernetes-map-type")
    either: bool | None = msgspec.field(default=None, name="x-kubernetes-int-or-string")
    embedded: bool | None = msgspec.field(default=None, name="x-kubernetes-embedded-resource")
    keeps: bool | None = msgspec.field(default=None, name="x-kubernetes-preserve-unknown-fields")
    rules: list[_Rule] | None = msgspec.field(default=None, name="x-kubernetes-validations")


class _Validation(msgspec.Struct):
    schema: _Schema | None = msgspec.field(default=None, name="openAPIV3Schema")


class _Scale(msgspec.Struct, rename="camel"):
    spec_replicas_path: str = ""
    status_replicas_path: str = ""
    label_selector_path: str | None = None


class _Subresources(msgspec.Struct):
    status: dict[str, Any] | None = None
    scale: _Scale | None = None


class _Column(msgspec.Struct, rename="camel"):
    name: str = ""
    type: str = ""
    format: str = ""
    description: str = ""
    priority: int = 0
    json_path: str = ""


class _Version(msgspec.Struct, rename="camel"):
    name: str = ""
    served: bool = False
    storage: bool = False
    deprecated: bool = False
    schema: _Validation | None = None
    subresources: _Subresources | None = None
    additional_printer_columns: list[_Column] | None = None


class _Names(msgspec.Struct, rename="camel"):
    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _Spec(msgspec.Struct, rename="camel"):
    group: str = ""
    scope: str = ""
    names: _Names = msgspec.field(default_factory=_Names)
    versions: list[_Version] | None = None
    conversion: dict[str, Any] | None = None
    preserve_unknown_fields: bool | None = None


class _Definition(msgspec.Struct):
    metadata: dict[str, Any]
    spec: _Spec = msgspec.field(default_factory=_Spec)


def malformed(crd: Any) -> str:
    """What cannot be read in a definition, with its place; nothing if it can be checked."""
    try:
        msgspec.convert(crd, _Definition)
    except msgspec.ValidationError as problem:
        return str(problem)
    return ""
