"""Objects and sets of fields: which fields an object has, which changed, and how to merge and to remove them.

`apply` calls these; they walk a value along its `structure`. An absent value is told apart from null, because a null
that is sent is a field like any other. Where a struct has a member, the member's path is a field only if there is
nothing below it; an entry of a map and an item of a list are fields of their own beside what is below them.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kubeloop.objects.meta import JSON
from pocketkube.apiserver.managed_fields import fieldsets, listitems
from pocketkube.apiserver.managed_fields.fieldsets import FieldSet, Path
from pocketkube.apiserver.managed_fields.structure import LEAF, Form, Node


class _Absent:
    """The type of a value that is not there."""


_ABSENT: Final = _Absent()
_Value = JSON | _Absent


def fields_of(node: Node, value: JSON) -> FieldSet:
    """Finds the fields that an object sets."""
    return fieldsets.of_paths(_fields(node, value, ()))


def _fields(node: Node, value: JSON, path: Path) -> Iterator[Path]:
    form = node.form_of(value)
    if form is Form.LEAF:
        yield path
    elif form is Form.MAP and isinstance(value, dict):
        for name, inner in value.items():
            below = (*path, fieldsets.member(name))
            yield from _fields(node.member(name), inner, below)
            if inner is None or inner == {} or not node.names(name):
                yield below
    elif form is Form.LIST and isinstance(value, list):
        for step, items in listitems.grouped(node, value, path).items():
            below = (*path, step)
            yield below
            if len(items) == 1:
                yield from _fields(node.item, items[0], below)


@dataclass(slots=True)
class _Changes:
    added: list[Path] = field(default_factory=list)
    modified: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)

    def note(self, old: _Value, new: _Value, path: Path) -> None:
        if isinstance(old, _Absent):
            self.added.append(path)
        elif isinstance(new, _Absent):
            self.removed.append(path)
        elif not same(old, new):
            self.modified.append(path)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The fields in which two objects differ."""

    changed: FieldSet
    removed: FieldSet


def compare(
    node: Node,
    old: Mapping[str, JSON],
    new: Mapping[str, JSON],
    ignored: FieldSet = fieldsets.EMPTY,
) -> Comparison:
    """Finds what was added, modified and removed between two objects, except for what is ignored."""
    changes = _Changes()
    _compare(node, _looked_at(old, ignored), _looked_at(new, ignored), (), changes)
    return Comparison(
        fieldsets.of_paths((*changes.added, *changes.modified)).without(ignored),
        fieldsets.of_paths(changes.removed).without(ignored),
    )


def _looked_at(obj: Mapping[str, JSON], ignored: FieldSet) -> dict[str, JSON]:
    """Leaves out whole parts that are ignored: a status is written often, and the spec need not be walked for it."""
    return {
        name: value for name, value in obj.items() if fieldsets.member(name) not in ignored.members
    }


def _compare(node: Node, old: _Value, new: _Value, path: Path, changes: _Changes) -> None:
    if node.form is Form.LEAF:
        changes.note(old, new, path)
        return
    for form in _forms(node, old, new):
        if form is Form.LEAF or not (_size(form, old) or _size(form, new)):
            changes.note(old, new, path)
            continue
        if form is Form.MAP:
            _compare_maps(node, old, new, path, changes)
        else:
            _compare_lists(node, old, new, path, changes)
        if isinstance(old, _Absent) or isinstance(new, _Absent):
            changes.note(old, new, path)


def _forms(node: Node, old: _Value, new: _Value) -> Iterable[Form]:
    """Says how to walk: in both ways where a value has become one of another form."""
    if node.form is not Form.ANY:
        return (node.form,)
    return {node.form_of(value) for value in (old, new) if not isinstance(value, _Absent)}


def _compare_maps(node: Node, old: _Value, new: _Value, path: Path, changes: _Changes) -> None:
    before, after = _members(old), _members(new)
    for name in before.keys() | after.keys():
        left, right = before.get(name, _ABSENT), after.get(name, _ABSENT)
        if left != right or not _same_truths(left, right):
            below = (*path, fieldsets.member(name))
            _compare(node.member(name), left, right, below, changes)


def _compare_lists(node: Node, old: _Value, new: _Value, path: Path, changes: _Changes) -> None:
    before, after = (
        listitems.grouped(node, _list(old), path),
        listitems.grouped(node, _list(new), path),
    )
    for step in before.keys() | after.keys():
        _compare_items(node.item, before.get(step, []), after.get(step, []), (*path, step), changes)


def _compare_items(
    node: Node, old: list[JSON], new: list[JSON], path: Path, changes: _Changes
) -> None:
    """Compares the items of one name; several of the same name count as one field without members."""
    if len(old) < 2 and len(new) < 2:
        _compare(node, _only(old), _only(new), path, changes)
    elif len(old) > 1 and len(new) > 1:
        changes.note(old, new, path)
    elif len(old) > 1:
        if new:
            _compare(node, _ABSENT, new[0], path, changes)
        changes.removed.append(path)
    else:
        if old:
            _compare(node, old[0], _ABSENT, path, changes)
        changes.added.append(path)


def merge(node: Node, live: JSON, applied: JSON) -> JSON:
    """Lays what is applied over what is there: what is not mentioned stays."""
    return _merge(node, live, applied)


def _merge(node: Node, live: _Value, applied: _Value) -> JSON:
    decisive = live if isinstance(applied, _Absent) else applied
    assert not isinstance(decisive, _Absent)  # noqa: S101 one of the two is there
    form = node.form_of(decisive)
    if form is Form.LEAF or not (_size(form, live) or _size(form, applied)):
        return decisive
    if form is Form.MAP:
        return _merge_maps(node, _members(live), _members(applied))
    return _merge_lists(node, _list(live), _list(applied))


def _merge_maps(node: Node, live: dict[str, JSON], applied: dict[str, JSON]) -> JSON:
    return {
        name: _merge(node.member(name), live.get(name, _ABSENT), applied.get(name, _ABSENT))
        for name in {**live, **applied}
    }


def _merge_lists(node: Node, live: list[JSON], applied: list[JSON]) -> JSON:
    theirs = [step for step, _ in listitems.named(node, live)]
    ours = dict(listitems.named(node, applied))
    # An item that is stored twice is not merged with the applied one: it gives way to it.
    there: dict[str, _Value] = {
        step: None if len(items) > 1 else items[0]
        for step, items in listitems.grouped(node, live).items()
    }
    return [
        _merge(node.item, there.get(step, _ABSENT), ours[step]) if place is None else live[place]
        for place, step in _interleaved(theirs, [*ours])
    ]


def _interleaved(live: Sequence[str], applied: Sequence[str]) -> Iterator[tuple[int | None, str]]:
    """Orders items: what is applied in its own order, the rest where it stood.

    Yields the place in the live list for items that only live there, and None for applied ones.
    """
    wanted, present = set(applied), set(live)
    shared = deque(step for step in applied if step in present)
    done: set[str] = set()
    left = right = 0
    while left < len(live) or right < len(applied):
        here = live[left] if left < len(live) else None
        coming = applied[right] if right < len(applied) else None
        if here is not None and here not in wanted:
            yield left, here
            left += 1
        elif here is not None and coming not in (None, here) and shared and here != shared[0]:
            left += 1
        else:
            left += here is not None and (here == coming or here in done)
            if coming is not None:
                yield None, coming
                done.add(coming)
                right += 1
                if shared and shared[0] == coming:
                    shared.popleft()


def remove(node: Node, value: JSON, fields: FieldSet) -> JSON:
    """Takes fields out of an object, each with everything below it; what gets empty becomes null."""
    if node.form_of(value) is Form.LEAF:
        return value if not isinstance(value, dict | list) else None
    if isinstance(value, dict):
        kept: dict[str, JSON] = {}
        for name, inner in value.items():
            step = fieldsets.member(name)
            if step not in fields.members:
                below = fields.below(step)
                kept[name] = remove(node.member(name), inner, below) if below else inner
        return kept or None
    if not isinstance(value, list):
        return None
    rest = [
        remove(node.item, item, fields.below(step)) if fields.below(step) else item
        for step, item in listitems.named(node, value)
        if step not in fields.members
    ]
    return list(rest) or None


def without_nulls(obj: dict[str, JSON]) -> dict[str, JSON]:
    """Leaves out members that are null, at any depth."""
    return {name: _without_nulls(value) for name, value in obj.items() if value is not None}


def _without_nulls(value: JSON) -> JSON:
    if isinstance(value, dict):
        return without_nulls(value)
    return list(map(_without_nulls, value)) if isinstance(value, list) else value


def with_structs(node: Node, fields: FieldSet) -> FieldSet:
    """Adds the members of structs below which there are fields: they go when the last of those goes."""
    members = set(fields.members)
    children: dict[str, FieldSet] = {}
    for step, below in fields.children.items():
        inner = node.item if step.startswith("k:") else LEAF
        if step.startswith("f:"):
            inner = node.member(step[2:])
            if node.form in (Form.MAP, Form.ANY) and node.names(step[2:]):
                members.add(step)
        children[step] = with_structs(inner, below)
    return FieldSet(frozenset(members), children)


def same(left: JSON, right: JSON) -> bool:
    """Compares as JSON does: numbers by value, and `true` is not 1, which is all in which Python is less strict."""
    return left == right and _same_truths(left, right)


def _same_truths(left: _Value, right: _Value) -> bool:
    """Whether values that Python takes for equal have their truth values in the same places."""
    if isinstance(left, str):
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return all(_same_truths(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return all(map(_same_truths, left, right))
    return isinstance(left, bool) == isinstance(right, bool)


def _size(form: Form, value: _Value) -> int:
    return len(_members(value)) if form is Form.MAP else len(_list(value))


def _members(value: _Value) -> dict[str, JSON]:
    return value if isinstance(value, dict) else {}


def _list(value: _Value) -> list[JSON]:
    return value if isinstance(value, list) else []


def _only(items: list[JSON]) -> _Value:
    return items[0] if items else _ABSENT
