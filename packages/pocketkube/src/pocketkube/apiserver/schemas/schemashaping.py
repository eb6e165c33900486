"""Brings an object into the shape its schema describes: unknown members go, defaults come.

Called by `structural` on every write, before anything is checked. Objects are changed in place: the caller decoded them
for this request and nobody else holds them.
"""

import copy
from typing import Any, Final

from pocketkube.apiserver.schemas.schemanodes import META, Node

OBJECT_META: Final = frozenset(
    {
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    }
)
"""The members of metadata; a server drops all others, whatever the schema says."""


def prune(node: Node, obj: dict[str, Any]) -> list[str]:
    """Drops what the schema of a whole object does not know, and nulls that may not be; returns paths of the unknown."""
    unknown: list[str] = []
    _metadata(obj.get("metadata"), "metadata", unknown)
    _prune(node, obj, "", unknown, is_resource=True)
    return sorted(unknown)


def _metadata(metadata: Any, at: str, unknown: list[str]) -> None:
    if isinstance(metadata, dict) and not OBJECT_META.issuperset(metadata):
        for name in [name for name in metadata if name not in OBJECT_META]:
            unknown.append(f"{at}.{name}")
            del metadata[name]


def _prune(
    node: Node | None, value: Any, at: str, unknown: list[str], *, is_resource: bool = False
) -> None:
    if isinstance(value, dict):
        if node is None:
            unknown.extend(f"{at}.{name}" for name in value)
            value.clear()
            return
        _prune_object(node, value, at, unknown, is_resource=is_resource or node.embedded)
    elif isinstance(value, list):
        below = None if node is None else node.items
        for index, entry in enumerate(value):
            if type(entry) is dict or type(entry) is list:
                if node is not None and node.preserve:
                    _prune_kept(below, entry, f"{at}[{index}]", unknown)
                else:
                    _prune(below, entry, f"{at}[{index}]", unknown)


def _prune_kept(node: Node | None, value: Any, at: str, unknown: list[str]) -> None:
    """Inside of a list that keeps unknown members: what no schema describes stays."""
    if node is None:
        return
    if isinstance(value, list):
        for index, entry in enumerate(value):
            _prune_kept(node.items, entry, f"{at}[{index}]", unknown)
    elif isinstance(value, dict):
        _prune_object(node, value, at, unknown, is_resource=node.embedded, keep=True)


def _prune_object(
    node: Node,
    value: dict[str, Any],
    at: str,
    unknown: list[str],
    *,
    is_resource: bool,
    keep: bool = False,
) -> None:
    gone: list[str] = []
    for name, member in value.items():
        if is_resource and name in META:
            if name == "metadata" and at:
                _metadata(member, f"{at}.metadata", unknown)
            continue
        below = node.properties.get(name) or node.additional
        place = f"{at}.{name}" if at else name
        if below is None and not node.open:
            if not (keep or node.preserve):
                unknown.append(place)
                gone.append(name)
        elif member is None:
            if below is not None and not below.nullable and below.default is None:
                gone.append(name)
        elif type(member) is dict or type(member) is list:
            _prune(below, member, place, unknown)
    for name in gone:
        del value[name]


def fill(node: Node, value: Any) -> None:
    """Puts defaults where a member is absent, or null and may not be."""
    if not node.has_defaults:
        return
    if isinstance(value, dict):
        for name, below in node.properties.items():
            if below.default is not None:
                present = value.get(name, _ABSENT)
                if present is _ABSENT or (present is None and not below.nullable):
                    value[name] = copy.deepcopy(below.default)
            if below.has_defaults and name in value:
                fill(below, value[name])
        if node.additional is not None:
            for name in value.keys() - node.properties.keys():
                value[name] = _filled(node.additional, value[name])
    elif isinstance(value, list) and node.items is not None:
        value[:] = [_filled(node.items, entry) for entry in value]


def _filled(node: Node, value: Any) -> Any:
    if value is None and not node.nullable and node.default is not None:
        value = copy.deepcopy(node.default)
    fill(node, value)
    return value


_ABSENT: Final = object()
