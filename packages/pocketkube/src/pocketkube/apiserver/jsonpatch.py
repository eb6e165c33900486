"""JSON patches as a server applies them: more forgiving than `kubeloop.objects.patch`, which does the work, and in its own words.

Used for the patches of webhooks and policies. Every operation is applied alone, because what is forgiven can be seen only
in the document it meets.
"""

import re
from typing import Any

import msgspec

from kubeloop.objects import patch as rfc

_VERBS = {
    "add": 'add operation does not apply: doc is missing path: "{path}": missing value',
    "remove": 'remove operation does not apply: doc is missing path: "{path}": missing value',
    "replace": "replace operation does not apply: doc is missing path: {path}: missing value",
    "move": "move operation does not apply: doc is missing from path: {path}: missing value",
    "copy": "copy operation does not apply: doc is missing from path: {path}: missing value",
    "test": "test operation does not apply: is missing path: {path}: missing value",
}


MOST_COPIED = 3 * 1024 * 1024
"""Bytes that the copies of one patch may add: a copy of what was copied doubles it."""


_FROM_END = re.compile(r"/-[1-9]\d*(?![^/])")


class NotApplicable(ValueError):
    """The patch does not fit the document."""


class TestFailed(NotApplicable):
    """An operation of the patch tests for something that is not so."""


def apply(document: Any, operations: list[Any]) -> Any:
    """Applies all operations, or none of them.

    Raises:
        TestFailed: a test does not hold.
        NotApplicable: another operation cannot be carried out.
    """
    copied = 0
    for operation in operations:
        written = _counted(operation, document) if isinstance(operation, dict) else {}
        copied += _copied(written, document)
        if copied > MOST_COPIED:
            raise NotApplicable(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{copied}, exceeding the limit {MOST_COPIED}"
            )
        try:
            document = rfc.apply_json(document, _forgiven([written], written, document))
        except (rfc.InvalidPatch, rfc.PatchFailed):
            raise _refusal(written, document) from None
    return document


def _copied(operation: dict[str, Any], document: Any) -> int:
    """How many bytes an operation copies."""
    source = operation.get("from")
    if operation.get("op") != "copy" or not isinstance(source, str):
        return 0
    return len(msgspec.json.encode(_at(document, source)))


def _counted(operation: dict[str, Any], document: Any) -> dict[str, Any]:
    """An operation in which places that are counted from the end of a list are counted from its start."""
    made = dict(operation)
    for member in ("path", "from"):
        pointer = made.get(member)
        if isinstance(pointer, str) and _FROM_END.search(pointer):
            grows = member == "path" and made.get("op") in ("add", "copy", "move")
            made[member] = _from_start(pointer, document, grows=grows)
    return made


def _from_start(pointer: str, document: Any, *, grows: bool) -> str:
    first, *steps = pointer.split("/")
    made = first
    for index, step in enumerate(steps):
        home, place = _found(document, made), step
        if isinstance(home, list) and _FROM_END.fullmatch(f"/{step}"):
            counted = int(step) + len(home) + (grows and index == len(steps) - 1)
            place = str(counted) if counted >= 0 else step
        made += f"/{place}"
    return made


def _forgiven(operations: list[Any], written: dict[str, Any], document: Any) -> list[Any]:
    """A member that is not there can be replaced, and is as good as null for a test and a copy; the standard says otherwise.

    An addition without a value adds null.
    """
    verb, path = written.get("op"), written.get("path")
    if verb == "add" and "value" not in written:
        return [{**written, "value": None}]
    if verb == "copy" and _lacks(document, written.get("from")):
        return [{"op": "add", "path": path, "value": None}]
    if verb not in ("replace", "test") or not isinstance(path, str) or "value" not in written:
        return operations
    parent, _, key = path.rpartition("/")
    home = _found(document, parent) if path else None
    if not isinstance(home, dict) or _unescaped(key) in home:
        return operations
    if verb == "replace":
        return [{**written, "op": "add"}]
    return [] if written["value"] is None else operations


def _lacks(document: Any, path: Any) -> bool:
    """Whether an object is there that has no such member."""
    if not isinstance(path, str) or not path:
        return False
    parent, _, key = path.rpartition("/")
    home = _found(document, parent)
    return isinstance(home, dict) and _unescaped(key) not in home


def _refusal(operation: dict[str, Any], document: Any) -> NotApplicable:
    verb, path, source = (operation.get(each) for each in ("op", "path", "from"))
    if not isinstance(verb, str) or verb not in _VERBS:
        return NotApplicable(f"Unexpected kind: {verb or 'unknown'}")
    if not isinstance(path, str):
        return NotApplicable(f"{verb} operation failed to decode path: missing value")
    if verb in ("move", "copy"):
        return _not_from(verb, str(source), document)
    parent, _, key = path.rpartition("/")
    home = _found(document, parent)
    if home is None:
        return NotApplicable(_VERBS[verb].format(path=path))
    return _not_at(verb, path, home, key)


def _not_at(verb: str, path: str, home: Any, key: str) -> NotApplicable:
    if verb == "test":
        return TestFailed(f"testing value {path} failed: test failed")
    if verb == "replace":
        missing = f"doc is missing key: {path}: missing value"
        return NotApplicable(f"replace operation does not apply: {missing}")
    return NotApplicable(f"error in {verb} for path: '{path}': {_trouble(verb, home, key)}")


def _not_from(verb: str, source: str, document: Any) -> NotApplicable:
    parent, _, key = source.rpartition("/")
    home = _found(document, parent)
    if home is None or verb == "copy":
        return NotApplicable(_VERBS[verb].format(path=source))
    return NotApplicable(f"error in move for path: '{key}': {_trouble('remove', home, key)}")


def _trouble(verb: str, home: Any, key: str) -> str:
    if not isinstance(home, list):
        return f"Unable to remove nonexistent key: {key}: missing value"
    if key.isdecimal():
        return f"Unable to access invalid index: {key}: invalid index referenced"
    syntax = f'strconv.Atoi: parsing "{key}": invalid syntax'
    return syntax if verb == "remove" else f"value was not a proper array index: '{key}': {syntax}"


def _found(document: Any, pointer: str) -> Any:
    """The object or list at a place; None if there is none."""
    found = _at(document, pointer)
    return found if isinstance(found, dict | list) else None


def _at(document: Any, pointer: str) -> Any:
    copy: Any = {"op": "copy", "from": f"/at{pointer}", "path": "/to"}
    try:
        both: Any = rfc.apply_json({"at": document}, [copy])
        return both["to"]
    except (rfc.InvalidPatch, rfc.PatchFailed):
        return None


def _unescaped(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")
