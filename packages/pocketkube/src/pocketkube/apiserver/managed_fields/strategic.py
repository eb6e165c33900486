"""Strategic merge patch: a merge patch that knows which lists are merged, and by which member.

The server calls `patch` for the kinds of Kubernetes; custom kinds do not have it (415), because nothing in a CRD says how
to merge their lists. Nothing given is changed, and the result shares with it what was not touched. The order of a merged
list follows `$setElementOrder`, then the patch, then what is there.
"""

from collections.abc import Iterable
import json

from kubeloop.objects.meta import JSON
from pocketkube.apiserver import gotext
from pocketkube.apiserver.managed_fields import merging
from pocketkube.apiserver.managed_fields.structure import Node

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"
_Object = dict[str, JSON]

_text = json.JSONEncoder(sort_keys=True).encode


class StrategicRefused(ValueError):
    """The patch is none, or does not fit the object; `code` is the HTTP status to answer with."""

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.code = code


def patch(structure: Node, original: _Object, change: _Object) -> _Object:
    """Applies a patch to an object."""
    return _merge_map(structure, original, change)


def _merge_map(node: Node, original: _Object, change: _Object) -> _Object:
    if _DIRECTIVE in change:
        return _directed(change)
    merged = _retained(original, change)
    orders = {key: value for key, value in change.items() if key.startswith(_ORDER)}
    ordered = {_list_of(key, _ORDER): _entries(value) for key, value in orders.items()}
    for name, order in ordered.items():
        _merge_ordered(node.member(name), merged, name, change, order)
    for key, value in change.items():
        if key == _RETAIN or key in orders or key in ordered:
            continue
        if key.startswith(_DELETE_FROM):
            _delete_from(merged, _list_of(key, _DELETE_FROM), value)
        else:
            _set(node.member(key), merged, key, value)
    return merged


def _directed(change: _Object) -> _Object:
    if change[_DIRECTIVE] == "replace":
        return {key: value for key, value in change.items() if key != _DIRECTIVE}
    if change[_DIRECTIVE] == "delete":
        return {}
    raise _unknown(change)


def _unknown(change: _Object) -> StrategicRefused:
    return StrategicRefused(
        f"unknown patch type: {gotext.printed(change[_DIRECTIVE])} in map: {gotext.printed(change)}"
    )


def _retained(original: _Object, change: _Object) -> _Object:
    if _RETAIN not in change:
        return dict(original)
    kept = change[_RETAIN]
    mentioned = [
        key
        for key, value in change.items()
        if value is not None and not key.startswith((_RETAIN, _DELETE_FROM, _ORDER))
    ]
    if not isinstance(kept, list) or any(key not in kept for key in mentioned):
        raise StrategicRefused("invalid patch format of retainKeys", 400)
    return {key: value for key, value in original.items() if key in kept}


def _set(node: Node, merged: _Object, key: str, value: JSON) -> None:
    there = merged.get(key)
    if value is None:
        merged.pop(key, None)
    elif isinstance(there, dict) and isinstance(value, dict):
        merged[key] = value if node.replaced else _merge_map(node, there, value)
    elif isinstance(there, list) and isinstance(value, list):
        merged[key] = value if node.merge_key is None else _merge_list(node, there, value)
    elif isinstance(value, dict) and _DIRECTIVE in value:
        merged.pop(key, None)
    else:
        merged[key] = _cleaned(value)


def _delete_from(merged: _Object, name: str, value: JSON) -> None:
    there = merged.get(name)
    if value is None:
        merged.pop(name, None)
    elif isinstance(there, list) and isinstance(value, list) and (there or value):
        _are_objects(there, value)
        gone = set(map(_text, value))
        merged[name] = [item for item in there if _text(item) not in gone]


def _merge_ordered(
    node: Node, merged: _Object, name: str, change: _Object, order: list[JSON]
) -> None:
    """Merges a list whose order the patch lays down, or only puts it into that order."""
    if name not in merged and name not in change:
        return
    there, sent = _entries(merged.get(name) or []), _entries(change.get(name) or [])
    key = node.merge_key or ""
    _check_order(sent, order, key)
    if name not in change:
        items = there
    elif name not in merged:
        items = _entries(_cleaned(sent))
    else:
        items = sent if node.merge_key is None else _merge_list(node, there, sent)
    merged[name] = _in_order(items, order, there, key)


def _check_order(sent: list[JSON], order: list[JSON], key: str) -> None:
    """Refuses items that the order does not name, and directives behind the last that it names: so does the server."""
    if not sent or not order:
        return
    items = [item for item in sent if not (key and _directive(item) == "delete")]
    place = 0
    for wanted in order:
        while place < len(items) and _directive(items[place]) is not None:
            place += 1
        if place < len(items) and _identity(items[place], key) == _identity(wanted, key):
            place += 1
    if place < len(items):
        raise StrategicRefused(
            f"The order in patch list:\n{gotext.printed(sent)}\n doesn't match {_ORDER} list:\n{gotext.printed(order)}\n"
        )


def _directive(item: JSON) -> JSON:
    return item.get(_DIRECTIVE) if isinstance(item, dict) else None


def _merge_list(node: Node, there: list[JSON], sent: list[JSON]) -> list[JSON]:
    if not there and not sent:
        return there
    if not _are_objects(there, sent):
        merged = list({_text(item): item for item in (*there, *sent)}.values())
        return _in_order(merged, sent, there, "")
    key = node.merge_key
    if not key:
        raise StrategicRefused("cannot merge lists without merge key")
    there, items = _without_directives(there, sent, key)
    merged = list(there)
    places: dict[str, int] = {}
    for item in items:
        identity = _identity(item, key)
        places = places or _places(merged, key)
        place = places.setdefault(identity, len(merged))
        if place < len(merged):
            merged[place] = _merge_map(node.item, _object(merged[place]), item)
        else:
            merged.append(merging.without_nulls(item))
    return _in_order(merged, items, there, key)


def _without_directives(
    there: list[JSON], sent: list[JSON], key: str
) -> tuple[list[JSON], list[_Object]]:
    """Carries out what the patch says about whole items; left are the items to merge."""
    plain: list[_Object] = []
    replace = False
    for item in map(_object, sent):
        match item.get(_DIRECTIVE):
            case None:
                plain.append(item)
            case "delete":
                gone = _identity(item, key)
                there = [
                    old
                    for old in there
                    if _object(old).get(key) is None or _identity(old, key) != gone
                ]
            case "replace":
                replace = True
            case "merge":
                raise StrategicRefused("merging lists cannot yet be specified in the patch")
            case _:
                raise _unknown(item)
    return (list(plain), []) if replace else (there, plain)


def _in_order(items: list[JSON], wanted: Iterable[JSON], there: list[JSON], key: str) -> list[JSON]:
    """Puts what the patch names into its order, and between it what only the server has, where that stood."""
    first = _places(wanted, key)
    before = _places(there, key)
    known = [(_identity(item, key), item) for item in items]
    named = [each for each in known if each[0] in first]
    named.sort(key=lambda each: first[each[0]])
    others = [each for each in known if each[0] not in first]
    others.sort(key=lambda each: before.get(each[0], len(before)))
    result: list[JSON] = []
    for identity, item in named:
        place = before.get(identity, -1)
        while others and before.get(others[0][0], place) < place:
            result.append(others.pop(0)[1])
        result.append(item)
    return result + [item for _, item in others]


def _places(items: Iterable[JSON], key: str) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, item in enumerate(items):
        places.setdefault(_identity(item, key), place)
    return places


def _identity(item: JSON, key: str) -> str:
    if not key:
        return _text(item)
    found = _object(item).get(key)
    if found is None:
        raise StrategicRefused(
            f"map: {gotext.printed(item)} does not contain declared merge key: {key}"
        )
    return _text(found)


def _are_objects(there: list[JSON], sent: list[JSON]) -> bool:
    """Says whether the items are objects rather than scalars; all have to be of one type."""
    kinds = [type(item) for item in (*there, *sent)]
    if kinds[0] is list:
        raise StrategicRefused("lists of lists are not supported", 422)
    if len(set(kinds)) > 1:
        raise StrategicRefused(
            f"list element types are not identical: {gotext.printed([there, sent])}"
        )
    return kinds[0] is dict


def _cleaned(value: JSON) -> JSON:
    """Takes directives and nulls out of a value that meets nothing to be merged with."""
    if isinstance(value, dict):
        return {
            key: _cleaned(inner)
            for key, inner in value.items()
            if inner is not None and not _is_directed(inner)
        }
    if isinstance(value, list):
        return [_cleaned(item) for item in value if not _is_directed(item)]
    return value


def _is_directed(value: JSON) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _list_of(key: str, prefix: str) -> str:
    """Finds the list that a directive such as `$setElementOrder/env` speaks of."""
    directive, slash, name = key.partition("/")
    if directive != prefix or not slash:
        what = "setElementOrder" if prefix == _ORDER else "primitive"
        raise StrategicRefused(f"invalid patch format of {what} list", 400)
    return name


def _entries(value: JSON) -> list[JSON]:
    if not isinstance(value, list):
        raise StrategicRefused(f"expected a []interface {{}}, but received a {_go_type(value)}")
    return value


def _object(value: JSON) -> _Object:
    return value if isinstance(value, dict) else {}


def _go_type(value: JSON) -> str:
    names: dict[type, str] = {bool: "bool", int: "int64", float: "float64", str: "string"}
    return (
        "map[string]interface {}"
        if isinstance(value, dict)
        else names.get(type(value), "%!s(<nil>)")
    )
