"""JSON patches as a server applies them: more forgiving than `korder.api.patch`, which does the work, and in its own words.

Used for the patches of webhooks and policies. Every operation is applied alone, because what is forgiven can be seen only
in the document it meets.
"""

from typing import Any

from korder.api import patch as rfc


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
    for operation in operations:
        try:
            document = rfc.apply_json(document, [operation])
        except (rfc.InvalidPatch, rfc.PatchFailed):
            written = operation if isinstance(operation, dict) else {}
            if not _is_forgiven(written, document):
                raise _refusal(written, document) from None
            if written["op"] == "replace":
                document = rfc.apply_json(document, [{**written, "op": "add"}])
    return document


def _is_forgiven(operation: dict[str, Any], document: Any) -> bool:
    """A member that is not there can be replaced, and is as good as null for a test; the standard says otherwise."""
    parent, _, key = str(operation.get("path", "")).rpartition("/")
    verb = operation.get("op")
    if not key or verb not in ("replace", "test") or "value" not in operation:
        return False
    home = _found(document, parent)
    if not isinstance(home, dict):
        return False
    return verb == "replace" or (operation["value"] is None and _unescaped(key) not in home)


def _refusal(operation: dict[str, Any], document: Any) -> NotApplicable:
    path, verb = str(operation.get("path", "")), operation.get("op")
    parent, _, key = path.rpartition("/")
    missing = f'doc is missing path: "{path}": missing value'
    match verb:
        case "test":
            return TestFailed(f"testing value {path} failed: test failed")
        case "remove" if _found(document, parent) is not None:
            why = f"Unable to remove nonexistent key: {key}: missing value"
            return NotApplicable(f"error in remove for path: '{path}': {why}")
        case "replace":
            what = "key" if _found(document, parent) is not None else "path"
            missing = f"doc is missing {what}: {path}: missing value"
        case "move" | "copy":
            missing = f"doc is missing from path: {operation.get('from', '')}: missing value"
        case "add" | "remove":
            pass
        case _:
            return NotApplicable(f"Unexpected kind: {verb or 'unknown'}")
    return NotApplicable(f"{verb} operation does not apply: {missing}")


def _found(document: Any, pointer: str) -> Any:
    copy: Any = {"op": "copy", "from": f"/at{pointer}", "path": "/to"}
    try:
        both: Any = rfc.apply_json({"at": document}, [copy])
        return both["to"]
    except (rfc.InvalidPatch, rfc.PatchFailed):
        return None


def _unescaped(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")
