"""What sequences leave out: what hangs on chance, and inputs to which a real server's answer hangs on how it holds them in memory.

Nobody could rely on those answers; they stand in docs/embedded-differences.md. `requests` sends every sequence through here.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.agreement.fuzzing import patches
from tests.agreement.fuzzing.step import DROP, Step
from tests.agreement.fuzzing.widgets import API_VERSION

Path = tuple[str | int, ...]
Change = Callable[[Path, Any], Any]
"""What stands at a place instead of a value; `DROP` for nothing."""

_DATA = ("data", "binaryData")
_CHOSEN = ("/metadata/resourceVersion", "/metadata/uid")


def tamed(steps: list[Step]) -> list[Step]:
    """The steps of a sequence without quirks."""
    mentioned = repr([(step.body, step.edits) for step in steps])
    immutable = "'immutable': True" in mentioned or "('immutable',), True" in mentioned
    bounded = "'limit'" in mentioned
    return [_tamed(step, immutable=immutable, bounded=bounded) for step in steps]


def _tamed(step: Step, *, immutable: bool, bounded: bool) -> Step:
    if step.query.get("fieldValidation") == "Ignore" and _is_no_patch(step):
        step = replace(step, query={**step.query, "fieldValidation": "Warn"})
    resource, content = step.about.partition("/")[0], step.content
    custom, applied = resource == "widgets", content == patches.APPLY_PATCH
    merged = content in (patches.MERGE_PATCH, patches.STRATEGIC_PATCH)
    converted = not custom and (applied or content == patches.STRATEGIC_PATCH)
    rules = {
        _bytes: resource == "configmaps" and not merged,
        _present: resource == "configmaps" and immutable,
        _whole: custom and bounded,
        _filled: custom and applied,
        _same: custom and step.method == "PATCH" and step.path.endswith("/status"),
        _small: converted,
        _named: content == patches.JSON_PATCH,
        _own: resource == "namespaces" and step.method == "POST",
    }
    for change, needed in rules.items():
        if needed:
            edits = tuple((path, _changed(change, path, value)) for path, value in step.edits)
            step = replace(step, body=_changed(change, (), step.body), edits=edits)
    return step


def _is_no_patch(step: Step) -> bool:
    """A patch that is none is told in other words, or does odd things, if nobody validates fields."""
    if step.content == patches.JSON_PATCH:
        operations = step.body if isinstance(step.body, list) else [None]
        return not all(isinstance(each, dict) for each in operations)
    merged = step.content in (patches.MERGE_PATCH, patches.STRATEGIC_PATCH)
    return merged and not isinstance(step.body, dict)


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
    """Whether a version or an id can be read as something else is chance."""
    del path
    if isinstance(value, dict) and value.get("from") in _CHOSEN:
        return {**value, "from": "/metadata/name"}
    return value


def _own(path: Path, value: Any) -> Any:
    """Sequences run beside each other, and namespaces are seen by all."""
    named = path == ("metadata", "name") and isinstance(value, str) and value.isidentifier()
    return f"{{home}}-{value}" if named else value


def _same(path: Path, value: Any) -> Any:
    """A patch of a status may name any version, but then nobody owns anything."""
    return API_VERSION if path == ("apiVersion",) and value == "v2" else value


def _whole(path: Path, value: Any) -> Any:
    """A whole float is no integer for a rule that looks at it."""
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole and path == ("spec", "size") else value


def _filled(path: Path, value: Any) -> Any:
    """Empty maps in the metadata of a custom object are stored when it is applied, though nobody sees them."""
    return DROP if value in ({}, []) and len(path) == 2 and path[0] == "metadata" else value
