"""The fields of a new object, in one walk: most writes create, and whoever creates owns all that is there.

`apply.update` calls this where nobody owned anything before. It says what `merging.compare` says of the object and the empty
one, without noting paths on the way.
"""

from collections.abc import Mapping

from kubeloop.objects.meta import JSON
from pocketkube.apiserver.managed_fields import fieldsets, listitems, merging
from pocketkube.apiserver.managed_fields.fieldsets import EMPTY, FieldSet
from pocketkube.apiserver.managed_fields.structure import LEAF, Form, Node


def fields(node: Node, empty: Mapping[str, JSON], new: Mapping[str, JSON]) -> FieldSet:
    """The fields that an object has and the empty one has not, or has with another value."""
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    others = EMPTY
    for name, value in new.items():
        step, inner = fieldsets.member(name), node.member(name)
        below = EMPTY
        if name not in empty:
            members.add(step)
            below = _all(inner, value)
        elif inner.form is Form.LEAF:
            if not merging.same(empty[name], value):
                members.add(step)
        elif inner.form is Form.MAP and isinstance(value, dict) and isinstance(empty[name], dict):
            below = fields(inner, _members(empty[name]), value)
        elif inner.form is Form.LIST and empty[name] is None and value:
            below = _all(inner, value)
        else:
            others |= merging.compare(node, {name: empty[name]}, {name: value}).changed
        if below:
            children[step] = below
    found = FieldSet(frozenset(members), children)
    return found | others if others else found


def _members(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, dict) else {}


def _all(node: Node, value: JSON) -> FieldSet:
    """Everything below a value that was not there: each member and item is a field, and so is what is in it."""
    if node is LEAF or not value:
        return EMPTY
    form = node.form_of(value)
    if form is Form.MAP and isinstance(value, dict):
        below = {
            fieldsets.member(name): _all(node.member(name), inner) for name, inner in value.items()
        }
    elif form is Form.LIST and isinstance(value, list):
        below = {
            step: _all(node.item, items[0]) if len(items) == 1 else EMPTY
            for step, items in listitems.grouped(node, value).items()
        }
    else:
        return EMPTY
    return FieldSet(frozenset(below), {step: each for step, each in below.items() if each})
