"""JSON patch (RFC 6902) and merge patch (RFC 7386) on plain JSON values.

Called by whoever writes a patch or stands in for a server; calls nothing. Nothing given is changed: a result is built
anew along the changed paths and shares the rest with what it was made from, so treat both as read-only.
"""

import re

from kubeloop.objects.meta import JSON

_Path = tuple[str, ...]
_Container = dict[str, JSON] | list[JSON]

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")


class InvalidPatch(ValueError):
    """The patch itself is malformed, whatever it would be applied to."""


class PatchFailed(ValueError):
    """The patch does not fit the document: a place is missing or a test does not hold."""


def apply_json(document: JSON, patch: JSON) -> JSON:
    """Applies the operations one after the other; all of them or, with an error that names the one, none."""
    if not isinstance(patch, list):
        raise InvalidPatch("a JSON patch is a list of operations")
    for number, operation in enumerate(patch):
        try:
            document = _apply(document, operation)
        except (InvalidPatch, PatchFailed) as error:
            raise type(error)(f"operation {number}: {error}") from None
    return document


def apply_merge(target: JSON, patch: JSON) -> JSON:
    """Lays the patch over the target: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = apply_merge(merged.get(key), value)
    return merged


def diff_merge(before: dict[str, JSON], after: dict[str, JSON]) -> dict[str, JSON]:
    """Finds the smallest merge patch from one object to another; empty if nothing is to be done.

    A null member of `after` counts as absent, as it does for an API server: a merge patch cannot say anything else.
    """
    patch: dict[str, JSON] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict):
            change = diff_merge(old if isinstance(old, dict) else {}, value)
            if change or not isinstance(old, dict):
                patch[key] = change
        elif not _same(old, value):
            patch[key] = value
    return patch


def _apply(document: JSON, operation: JSON) -> JSON:
    if not isinstance(operation, dict):
        raise InvalidPatch("an operation is an object")
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            return _add(document, path, _value(operation))
        case "remove":
            return _remove(document, path)
        case "replace":
            return _replace(document, path, _value(operation))
        case "move":
            return _move(document, _pointer(operation, "from"), path)
        case "copy":
            return _add(document, path, _descend(document, _pointer(operation, "from"))[1])
        case "test":
            return _test(document, path, _value(operation))
        case other:
            raise InvalidPatch(f"the op {other!r} is unknown")


def _pointer(operation: dict[str, JSON], member: str) -> _Path:
    text = operation.get(member)
    if not isinstance(text, str):
        raise InvalidPatch(f"{member!r} is missing or not a text")
    if not _POINTER.fullmatch(text):
        raise InvalidPatch(f"{text!r} is not a JSON pointer")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def _value(operation: dict[str, JSON]) -> JSON:
    if "value" not in operation:
        raise InvalidPatch("'value' is missing")
    return operation["value"]


def _add(document: JSON, path: _Path, value: JSON) -> JSON:
    if not path:
        return value
    parents, home = _descend(document, path[:-1])
    token = path[-1]
    if isinstance(home, dict):
        return _rebuild(parents, path[:-1], {**home, token: value})
    if not isinstance(home, list):
        raise PatchFailed(f"{_text(path[:-1])} is neither an object nor a list")
    index = len(home) if token == "-" else _index(path, len(home) + 1)  # noqa: S105 a pointer's last place
    return _rebuild(parents, path[:-1], [*home[:index], value, *home[index:]])


def _remove(document: JSON, path: _Path) -> JSON:
    parents, _ = _descend(document, path)
    if not parents:
        raise PatchFailed("the whole document cannot be removed")
    home = parents.pop()
    if isinstance(home, dict):
        rest: JSON = {key: value for key, value in home.items() if key != path[-1]}
    else:
        rest = [*home[: int(path[-1])], *home[int(path[-1]) + 1 :]]
    return _rebuild(parents, path[:-1], rest)


def _replace(document: JSON, path: _Path, value: JSON) -> JSON:
    parents, _ = _descend(document, path)
    return _rebuild(parents, path, value)


def _move(document: JSON, source: _Path, path: _Path) -> JSON:
    if len(path) > len(source) and path[: len(source)] == source:
        raise PatchFailed(f"{_text(source)} cannot be moved into itself")
    value = _descend(document, source)[1]
    return document if source == path else _add(_remove(document, source), path, value)


def _test(document: JSON, path: _Path, value: JSON) -> JSON:
    if not _same(_descend(document, path)[1], value):
        raise PatchFailed(f"the value at {_text(path)} is not the tested one")
    return document


def _descend(node: JSON, path: _Path) -> tuple[list[_Container], JSON]:
    """Follows a path: the containers on the way, outermost first, and what is there."""
    parents: list[_Container] = []
    for depth, token in enumerate(path, start=1):
        if isinstance(node, list):
            child = node[_index(path[:depth], len(node))]
        elif isinstance(node, dict) and token in node:
            child = node[token]
        else:
            raise PatchFailed(f"there is no {_text(path[:depth])}")
        parents.append(node)
        node = child
    return parents, node


def _rebuild(parents: list[_Container], path: _Path, node: JSON) -> JSON:
    """Makes copies of the containers on a path that hold `node` at its end."""
    for parent, token in zip(reversed(parents), reversed(path), strict=True):
        if isinstance(parent, dict):
            node = {**parent, token: node}
        else:
            node = [*parent[: int(token)], node, *parent[int(token) + 1 :]]
    return node


def _index(path: _Path, bound: int) -> int:
    if not _INDEX.fullmatch(path[-1]) or int(path[-1]) >= bound:
        raise PatchFailed(f"there is no {_text(path)}: {path[-1]!r} is not an index below {bound}")
    return int(path[-1])


def _same(left: JSON, right: JSON) -> bool:
    """Compares as JSON does: numbers by value, and `true` is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            _same(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _text(path: _Path) -> str:
    return repr("".join("/" + token.replace("~", "~0").replace("/", "~1") for token in path))
