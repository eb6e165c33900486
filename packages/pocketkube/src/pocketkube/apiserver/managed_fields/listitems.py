"""The items of lists that are merged: each is known by its keys or, in a set, by its value.

`merging` asks here what to call an item. Keys that are absent may have a value all the same: a port without a protocol is
one of TCP.
"""

from kubeloop.objects.meta import JSON
from pocketkube.apiserver.managed_fields import fieldsets
from pocketkube.apiserver.managed_fields.fieldsets import Path
from pocketkube.apiserver.managed_fields.structure import Node


class Unmergeable(ValueError):
    """A value is not what its structure says; the message begins with its path."""


def named(node: Node, items: list[JSON], path: Path = ()) -> list[tuple[str, JSON]]:
    """Gives every item of a list at a path its step."""
    named: list[tuple[str, JSON]] = []
    for place, item in enumerate(items):
        try:
            named.append((_step(node, item), item))
        except (TypeError, ValueError) as error:
            raise Unmergeable(f"{fieldsets.describe(path)}: element {place}: {error}") from None
    return named


def _step(node: Node, item: JSON) -> str:
    if not node.keys:
        return _step_by_value(item)
    if not isinstance(item, dict):
        wrong = "a null element" if item is None else "non-map elements"
        raise TypeError(f"associative list with keys may not have {wrong}")
    keys = {
        name: item.get(name, default)
        for name, default in node.keys.items()
        if name in item or default is not None
    }
    if not keys:
        names = " ".join(f'"{name}"' for name in node.keys)
        raise ValueError(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return fieldsets.item_by_keys(keys)


def _step_by_value(item: JSON) -> str:
    if isinstance(item, list):
        raise TypeError("not supported: associative list with lists as elements")
    if item is None or isinstance(item, dict):
        what = "an explicit null" if item is None else "a map type"
        raise ValueError(f"associative list without keys has an element that's {what}")
    return fieldsets.item_by_value(item)


def distinct(items: list[tuple[str, JSON]], path: Path) -> dict[str, JSON]:
    """Makes sure that no two items have the same name."""
    distinct = dict(items)
    if len(distinct) < len(items):
        steps = [step for step, _ in items]
        again = next(step for place, step in enumerate(steps) if step in steps[:place])
        where, what = fieldsets.describe(path), fieldsets.describe((again,))
        raise Unmergeable(f"{where}: duplicate entries for key {what}")
    return distinct


def grouped(node: Node, items: list[JSON], path: Path = ()) -> dict[str, list[JSON]]:
    """Gathers the items of a list by name: stored lists may hold one twice."""
    groups: dict[str, list[JSON]] = {}
    for step, item in named(node, items, path):
        groups.setdefault(step, []).append(item)
    return groups
