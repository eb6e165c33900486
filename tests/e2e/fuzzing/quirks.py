"""What sequences leave out: inputs to which a real server's answer hangs on how its memory or its storage holds them.

Nobody could rely on those answers; each stands in docs/embedded-differences.md. `requests` sends every sequence through here.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.e2e.fuzzing import patches
from tests.e2e.fuzzing.step import DROP, Step

Path = tuple[str | int, ...]
Change = Callable[[Path, Any], Any]
"""What stands at a place instead of a value; `DROP` for nothing."""

_DATA = ("data", "binaryData")


def tamed(steps: list[Step]) -> list[Step]:
    """The steps of a sequence without quirks."""
    mentioned = repr([(step.body, step.edits) for step in steps])
    changes: dict[str, list[Change]] = {
        "configmaps": [_bytes],
        "widgets": [_whole] if "'limit'" in mentioned else [],
    }
    if "'immutable': True" in mentioned or "('immutable',), True" in mentioned:
        changes["configmaps"].append(_present)
    return [_tamed(step, changes.get(step.about.partition("/")[0], [])) for step in steps]


def _tamed(step: Step, changes: list[Change]) -> Step:
    if step.method == "POST" and step.about.startswith("namespaces/"):
        changes = [*changes, _own]
    if step.content == patches.MERGE_PATCH and step.query.get("fieldValidation") == "Ignore":
        changes = [*changes, _object]
    custom = step.about.startswith("widgets/")
    if step.content == patches.APPLY_PATCH and custom:
        changes = [*changes, _filled]
    if step.content in (patches.APPLY_PATCH, patches.STRATEGIC_PATCH) and not custom:
        changes = [*changes, _small]
    if step.content == patches.JSON_PATCH:
        changes = [*changes, _named]
    merged = step.content in (patches.MERGE_PATCH, patches.STRATEGIC_PATCH)
    for change in changes:
        if not (merged and change is _bytes):
            edits = tuple((path, _changed(change, path, value)) for path, value in step.edits)
            step = replace(step, body=_changed(change, (), step.body), edits=edits)
    return step


def _changed(change: Change, path: Path, value: Any) -> Any:
    """A value with a change made everywhere in it; the value of a JSON patch stands where its operation puts it."""
    if isinstance(value, dict) and isinstance(value.get("path"), str) and "value" in value:
        place = tuple(value["path"].split("/")[1:])
        put = _changed(change, place, value["value"])
        return value if put == DROP else {**value, "value": put}
    value = change(path, value)
    if isinstance(value, dict):
        inner = {key: _changed(change, (*path, key), each) for key, each in value.items()}
        return {key: each for key, each in inner.items() if each != DROP}
    if isinstance(value, list):
        return [_changed(change, path, each) for each in value]
    return value


def _bytes(path: Path, value: Any) -> Any:
    """Bytes that are null are read as empty ones, but not stored as such: the next write of the object is a change."""
    return "" if value is None and len(path) == 2 and path[0] == "binaryData" else value


def _present(path: Path, value: Any) -> Any:
    """Empty data are not the same as none in the eyes of what keeps an immutable object."""
    return DROP if value == {} and len(path) == 1 and path[0] in _DATA else value


def _small(path: Path, value: Any) -> Any:
    """Numbers of more than 32 bits are wrapped around."""
    del path
    return 10**6 if value == 10**12 else value


def _named(path: Path, value: Any) -> Any:
    """A version is short on one server and long on the other."""
    del path
    if isinstance(value, dict) and value.get("from") == "/metadata/resourceVersion":
        return {**value, "from": "/metadata/name"}
    return value


def _own(path: Path, value: Any) -> Any:
    """Sequences run beside each other, and namespaces are seen by all."""
    named = path == ("metadata", "name") and isinstance(value, str) and value.isidentifier()
    return f"{{home}}-{value}" if named else value


def _object(path: Path, value: Any) -> Any:
    """A merge patch that is no object becomes the object if nobody validates fields."""
    return value if path or isinstance(value, dict) else {}


def _whole(path: Path, value: Any) -> Any:
    """A whole float is no integer for a rule that looks at it."""
    return int(value) if path == ("spec", "size") and value == 1.0 else value


def _filled(path: Path, value: Any) -> Any:
    """Empty maps in the metadata of a custom object are stored when it is applied, though nobody sees them."""
    return DROP if value in ({}, []) and len(path) == 2 and path[0] == "metadata" else value
