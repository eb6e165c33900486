"""Lists that are sets or maps have no entry twice, and embedded objects are real objects.

Called by `structural` after the value checks. On an update a list that was already wrong is left alone.
"""

from collections.abc import Iterator
from typing import Any

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.schemas.schemanodes import Node


def duplicates(node: Node, value: Any, at: str = "") -> Iterator[Cause]:
    """A cause for each entry that stands in a set or map list a second time."""
    if not node.has_lists:
        return
    if isinstance(value, list):
        if node.list_type == "set":
            yield from _repeated(at, value)
        elif node.list_type == "map":
            yield from _repeated_keys(node, at, value)
    for below, member, place in _below(node, value, at):
        yield from duplicates(below, member, place)


def _below(node: Node, value: Any, at: str) -> Iterator[tuple[Node, Any, str]]:
    if isinstance(value, dict):
        for name, member in value.items():
            named = node.properties.get(name)
            if named is not None:
                yield named, member, f"{at}.{name}" if at else name
            elif node.additional is not None:
                yield node.additional, member, f"{at}[{name}]"
    elif isinstance(value, list) and node.items is not None:
        for index, entry in enumerate(value):
            yield node.items, entry, f"{at}[{index}]"


def _repeated(at: str, values: list[Any]) -> Iterator[Cause]:
    times: dict[object, int] = {}
    for index, value in enumerate(values):
        compound = isinstance(value, dict | list)
        key = (compound, fe.compact(value) if compound else value, isinstance(value, bool))
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            yield fe.duplicate(f"{at}[{index}]", value)


def _repeated_keys(node: Node, at: str, values: list[Any]) -> Iterator[Cause]:
    for index, value in enumerate(values):
        if value is not None and not isinstance(value, dict):
            detail = "must be an object for an array of list-type map"
            yield fe.invalid(f"{at}[{index}]", value, detail)
            return
    entries = [value or {} for value in values]
    keys = [{name: e[name] for name in node.map_keys if name in e} for e in entries]
    yield from _repeated(at, keys)


def embedded(node: Node, value: Any, at: str = "") -> Iterator[Cause]:
    """What an embedded object lacks to be one: a version and a kind."""
    if not node.has_embedded:
        return
    if isinstance(value, dict) and node.embedded:
        yield from _type_meta(value, at)
    for below, member, place in _below(node, value, at):
        yield from embedded(below, member, place)


def _type_meta(value: dict[str, Any], at: str) -> Iterator[Cause]:
    for name in ("apiVersion", "kind"):
        field = f"{at}.{name}"
        if name not in value:
            yield fe.required(field)
        elif not isinstance(value[name], str):
            yield fe.invalid(field, value[name], "must be a string")
        elif not value[name]:
            yield fe.invalid(field, "", "must not be empty")
