"""What the kinds of Kubernetes are made of, as far as merging asks: drawn from the table of their types.

`endpoints` looks kinds up here. Lists and structs that have one owner are leaves, whatever is in them; strategic merge
patches have their own facts and may merge what apply takes as a whole.
"""

from functools import cache
import json

from kubeloop.objects.meta import JSON
from pocketkube.apiserver.managed_fields.structure import LEAF, MAP, METADATA, Form, Node
from pocketkube.apiserver.types import reading, table
from pocketkube.apiserver.types.table import Member, Type

_METADATA = "meta/v1.ObjectMeta"


@cache
def find(api_version: str, kind: str) -> Node:
    """Finds the structure of a kind."""
    return _type(table.kind(api_version, kind))


def empty(api_version: str, kind: str) -> dict[str, JSON]:
    """Makes the object of a kind that nobody has filled in."""
    made: dict[str, JSON] = reading.zero(api_version, kind)()
    return made


@cache
def _type(of: Type) -> Node:
    if of.form == "pointer" and of.inner:
        return _type(of.inner)
    if of.form == "map" and of.inner:
        values = _type(of.inner)
        return MAP if values is LEAF else Node(Form.MAP, values=values)
    if of.form != "struct" or table.is_atomic(of.name):
        return LEAF
    return METADATA if of.name == _METADATA else _struct(of.name)


@cache
def _struct(name: str) -> Node:
    fields = {member.name: _member(member) for member in table.members(name)}
    return Node(Form.MAP, {name: node for name, node in fields.items() if node is not LEAF})


def _member(member: Member) -> Node:
    strategies = member.facts.get("patch", "").split(",")
    if member.type.form == "list" and member.type.inner:
        merge_key = member.facts.get("key", "") if "merge" in strategies else None
        return _list(member, member.type.inner, merge_key)
    if "replace" in strategies:
        return Node(replaced=True)
    pointed = member.type.inner if member.type.form == "pointer" else None
    if pointed and "granular" in member.facts:
        return _struct(pointed.name)
    return LEAF if "atomic" in member.facts else _type(member.type)


def _list(member: Member, item: Type, merge_key: str | None) -> Node:
    if "map" in member.facts:
        keys = {key: _absent(item, key) for key in member.facts["map"].split(",")}
        return Node(Form.LIST, items=_type(item), keys=keys, merge_key=merge_key)
    if "set" in member.facts:
        return Node(Form.LIST, items=LEAF, merge_key=merge_key)
    return LEAF if merge_key is None else Node(items=_type(item), merge_key=merge_key)


def _absent(item: Type, key: str) -> JSON:
    """The value of a key that an item does not have; None if it has none."""
    member = next(each for each in table.members(item.name) if each.name == key)
    default: JSON = json.loads(member.facts.get("default", "null"))
    if default is None and not member.omitempty and member.type.form != "pointer":
        return "" if member.type.form == "string" else 0
    return default
