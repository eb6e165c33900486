"""A structural schema, read once into nodes that the checks walk.

`structural` compiles; the value, list and CEL checks read. A node carries for its whole subtree whether there is
anything to do for defaults, lists or embedded objects, so that a walk ends early where nothing can be found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pocketkube.apiserver.schemas import schemaformats, schemapatterns

META: Final = frozenset({"apiVersion", "kind", "metadata"})
"""What every object has, whether its schema names it or not."""


@dataclass(slots=True, eq=False)
class Node:
    """One place of a schema; what is absent is None or empty."""

    schema: Mapping[str, Any]
    types: tuple[str, ...]
    nullable: bool
    format: str
    properties: dict[str, "Node"]
    additional: "Node | None"
    items: "Node | None"
    open: bool
    """Whether additionalProperties is just true."""
    default: Any
    required: tuple[str, ...]
    enum: tuple[Any, ...]
    maximum: float | None
    minimum: float | None
    below_maximum: bool
    above_minimum: bool
    multiple: float | None
    longest: int | None
    shortest: int | None
    pattern: str
    matches: schemapatterns.Matcher | None
    most_items: int | None
    fewest_items: int | None
    most_properties: int | None
    fewest_properties: int | None
    any_of: tuple["Node", ...]
    one_of: tuple["Node", ...]
    all_of: tuple["Node", ...]
    never: "Node | None"
    list_type: str
    map_keys: tuple[str, ...]
    int_or_string: bool
    preserve: bool
    embedded: bool
    has_defaults: bool = False
    has_lists: bool = False
    has_embedded: bool = False

    @property
    def type(self) -> str:
        return str(self.schema.get("type", ""))

    def member(self, name: str) -> "Node | None":
        """The node of a member of an object."""
        return self.properties.get(name) or self.additional

    def children(self) -> list["Node"]:
        """The nodes one step down that data can reach."""
        below = [self.additional, self.items]
        return [*self.properties.values(), *(node for node in below if node is not None)]


def compile_node(schema: Mapping[str, Any]) -> Node:
    """Reads a schema; patterns that Go would refuse raise ValueError."""
    int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
    named = str(schema.get("type", ""))
    types = ("integer", "string") if int_or_string else (named,) if named else ()
    additional = schema.get("additionalProperties")
    items, never = schema.get("items"), schema.get("not")
    pattern = str(schema.get("pattern", ""))
    node = Node(
        schema=schema,
        types=types,
        nullable=bool(schema.get("nullable")),
        format=schemaformats.supported(types, str(schema.get("format", ""))),
        properties={name: compile_node(sub) for name, sub in schema.get("properties", {}).items()},
        additional=compile_node(additional) if isinstance(additional, Mapping) else None,
        items=compile_node(items) if isinstance(items, Mapping) else None,
        open=additional is True,
        default=schema.get("default"),
        required=tuple(schema.get("required") or ()),
        enum=tuple(schema.get("enum") or ()),
        maximum=schema.get("maximum"),
        minimum=schema.get("minimum"),
        below_maximum=bool(schema.get("exclusiveMaximum")),
        above_minimum=bool(schema.get("exclusiveMinimum")),
        multiple=schema.get("multipleOf"),
        longest=schema.get("maxLength"),
        shortest=schema.get("minLength"),
        pattern=pattern,
        matches=schemapatterns.matcher(pattern) if pattern else None,
        most_items=schema.get("maxItems"),
        fewest_items=schema.get("minItems"),
        most_properties=schema.get("maxProperties"),
        fewest_properties=schema.get("minProperties"),
        any_of=_each(schema, "anyOf"),
        one_of=_each(schema, "oneOf"),
        all_of=_each(schema, "allOf"),
        never=compile_node(never) if isinstance(never, Mapping) else None,
        list_type=str(schema.get("x-kubernetes-list-type", "")),
        map_keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        int_or_string=int_or_string,
        preserve=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded=bool(schema.get("x-kubernetes-embedded-resource")),
    )
    below = node.children()
    node.has_defaults = any(sub.default is not None or sub.has_defaults for sub in below)
    node.has_lists = node.list_type in ("set", "map") or any(sub.has_lists for sub in below)
    node.has_embedded = node.embedded or any(sub.has_embedded for sub in below)
    return node


def _each(schema: Mapping[str, Any], word: str) -> tuple[Node, ...]:
    return tuple(compile_node(sub) for sub in schema.get(word) or ())
