"""What an object is made of, as far as merging asks.

`builtin` draws these descriptions from the types of Kubernetes, `of_schema` derives them from the schema of a CRD;
`merging` and `strategic` walk along them. A description is smaller than a schema: a member that is not mentioned is a
leaf, owned and replaced as a whole, whatever its value is. Only what is merged piece by piece has to be said.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import cast

from kubeloop.objects.meta import JSON


class Form(Enum):
    """How a value is walked; ANY is decided by the value that is there."""

    LEAF = auto()
    MAP = auto()
    LIST = auto()
    ANY = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """The structure of one value.

    Attributes:
        form: How it is walked.
        fields: Members with a structure of their own.
        values: What the other members are in a map; None if the others are members of a struct, hence leaves.
        items: What the items of a list are.
        keys: The members that name an item, each with the value it has when absent; none in a set.
        merge_key: The member by which a strategic merge patch finds an item, "" for a list of scalars; None if such a
            patch replaces the list.
        replaced: Whether a strategic merge patch replaces the object instead of merging it.
    """

    form: Form = Form.LEAF
    fields: Mapping[str, "Node"] = field(default_factory=dict)
    values: "Node | None" = None
    items: "Node | None" = None
    keys: Mapping[str, JSON] = field(default_factory=dict)
    merge_key: str | None = None
    replaced: bool = False

    def member(self, name: str) -> "Node":
        return self.fields.get(name) or self.values or LEAF

    def names(self, name: str) -> bool:
        """Says whether a member is a field of a struct and not an entry of a map."""
        return self.values is None or name in self.fields

    @property
    def item(self) -> "Node":
        return self.items or LEAF

    def form_of(self, value: JSON) -> Form:
        if self.form is not Form.ANY:
            return self.form
        if value is None or isinstance(value, dict):
            return Form.MAP
        return Form.LIST if isinstance(value, list) and self.items else Form.LEAF


LEAF = Node()
STRUCT = Node(Form.MAP)
MAP = Node(Form.MAP, values=LEAF)

# Whatever is not described: objects are merged member by member, lists are replaced. It describes its own members,
# which a frozen object can say only after it was made.
DEDUCED = Node(Form.ANY)
object.__setattr__(DEDUCED, "values", DEDUCED)

METADATA = Node(
    Form.MAP,
    {
        "labels": MAP,
        "annotations": MAP,
        "finalizers": Node(Form.LIST, items=LEAF, merge_key=""),
        "ownerReferences": Node(Form.LIST, items=LEAF, keys={"uid": ""}, merge_key="uid"),
    },
)


def of_schema(schema: Mapping[str, JSON]) -> Node:
    """Describes the objects of a CRD by the structural schema of one of its versions."""
    described = _described(schema, keep_unknown=False)
    return replace(described, fields={**described.fields, "metadata": METADATA})


def _described(schema: Mapping[str, JSON], *, keep_unknown: bool) -> Node:
    keep_unknown = keep_unknown or schema.get("x-kubernetes-preserve-unknown-fields") is True
    match schema.get("type"):
        case "object":
            return _map(schema, keep_unknown=keep_unknown)
        case "array":
            return _list(schema, keep_unknown=keep_unknown)
        case None | "":
            node = _map(schema, keep_unknown=keep_unknown)
            return LEAF if node is LEAF else replace(node, form=Form.ANY)
        case _:
            return LEAF


def _map(schema: Mapping[str, JSON], *, keep_unknown: bool) -> Node:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return LEAF
    properties = _object(schema.get("properties"))
    fields = {
        name: _described(_object(inner), keep_unknown=keep_unknown)
        for name, inner in properties.items()
    }
    if schema.get("x-kubernetes-embedded-resource") is True:
        fields["metadata"] = METADATA
    return Node(Form.MAP, fields, values=_values(schema, keep_unknown=keep_unknown))


def _values(schema: Mapping[str, JSON], *, keep_unknown: bool) -> Node | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return _described(additional, keep_unknown=keep_unknown)
    if additional is True or (additional is None and (keep_unknown or "properties" not in schema)):
        return DEDUCED
    return None


def _list(schema: Mapping[str, JSON], *, keep_unknown: bool) -> Node:
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("map", "set"):
        return LEAF
    item = _object(schema.get("items"))
    properties = _object(item.get("properties"))
    names = cast("list[str]", schema.get("x-kubernetes-list-map-keys")) if kind == "map" else []
    return Node(
        Form.LIST,
        items=_described(item, keep_unknown=keep_unknown),
        keys={name: _object(properties.get(name)).get("default") for name in names},
    )


def _object(value: JSON) -> dict[str, JSON]:
    return value if isinstance(value, dict) else {}
