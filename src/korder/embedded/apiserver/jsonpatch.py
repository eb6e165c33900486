"""JSON patches as the server applies them: the same result as `korder.api.patch`, refusals in the server's words.

Used for the patches of webhooks and policies.
"""

import re
from typing import Any

from korder.api import patch as rfc

_PLACE = re.compile(r"operation (\d+): ")


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
    try:
        return rfc.apply_json(document, operations)
    except (rfc.InvalidPatch, rfc.PatchFailed) as error:
        place = _PLACE.match(str(error))
        operation = operations[int(place[1])] if place else {}
        raise _refusal(operation if isinstance(operation, dict) else {}, document) from None


def _refusal(operation: dict[str, Any], document: Any) -> NotApplicable:
    path, verb = str(operation.get("path", "")), operation.get("op")
    parent, _, key = path.rpartition("/")
    missing = f'doc is missing path: "{path}": missing value'
    match verb:
        case "test":
            return TestFailed(f"testing value {path} failed: test failed")
        case "remove" if _there(document, parent):
            why = f"Unable to remove nonexistent key: {key}: missing value"
            return NotApplicable(f"error in remove for path: '{path}': {why}")
        case "replace":
            what = "key" if _there(document, parent) else "path"
            missing = f"doc is missing {what}: {path}: missing value"
        case "move" | "copy":
            missing = f"doc is missing from path: {operation.get('from', '')}: missing value"
        case "add" | "remove":
            pass
        case _:
            return NotApplicable(f"Unexpected kind: {verb or 'unknown'}")
    return NotApplicable(f"{verb} operation does not apply: {missing}")


def _there(document: Any, pointer: str) -> bool:
    try:
        rfc.apply_json(document, [{"op": "copy", "from": pointer, "path": ""}])
    except (rfc.InvalidPatch, rfc.PatchFailed):
        return False
    return True
