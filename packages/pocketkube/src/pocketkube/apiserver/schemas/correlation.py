"""Which part of the old object a part of the new one came from, and whether it is still the same.

The schema checks forgive what was wrong before and did not change; CEL rules compare `self` with `oldSelf`. Members of
objects correlate by name, entries of map lists by their keys, entries of other lists not at all.
"""

from typing import Any, Final

from pocketkube.apiserver.schemas.schemanodes import Node

NOTHING: Final = object()
"""There is no old part."""


def member(old: Any, name: str) -> Any:
    """The old value of a member."""
    return old.get(name, NOTHING) if isinstance(old, dict) else NOTHING


def key_of(node: Node, entry: Any) -> tuple[Any, ...] | None:
    """What identifies an entry of a map list; None if a key is missing or is no scalar."""
    if not isinstance(entry, dict):
        return None
    parts = tuple(entry.get(name) for name in node.map_keys)
    return None if any(part is None or isinstance(part, dict | list) for part in parts) else parts


class Entries:
    """The entries of an old list, found by the keys of new ones."""

    __slots__ = ("_by_key", "_node")

    def __init__(self, node: Node, old: Any) -> None:
        self._node = node
        usable = node.list_type == "map" and isinstance(old, list)
        self._by_key = {key_of(node, entry): entry for entry in reversed(old)} if usable else {}

    def get(self, entry: Any) -> Any:
        """The old entry with the same keys."""
        if not self._by_key:
            return NOTHING
        key = key_of(self._node, entry)
        return NOTHING if key is None else self._by_key.get(key, NOTHING)


def same(node: Node | None, old: Any, new: Any) -> bool:
    """Whether nothing changed; members that no schema describes count as changed, the order of map lists does not count."""
    if node is None or old is NOTHING or isinstance(old, bool) != isinstance(new, bool):
        return False
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(
            same(node.member(name), old[name], value) for name, value in new.items()
        )
    if isinstance(old, list) and isinstance(new, list) and node.list_type == "map":
        entries = Entries(node, old)
        return len(old) == len(new) and all(
            same(node.items, entries.get(entry), entry) for entry in new
        )
    return bool(old == new)
