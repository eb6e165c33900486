"""Tables of kinds nobody has columns for, and of custom kinds, whose columns come with their definition.

`World.table` is `table` unless a server is given a better one.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
import json
import re
from typing import Any

from korder.api import instant
from korder.embedded.apiserver.kinds.resource import Column, Resource

Object = dict[str, Any]
Table = Callable[[Resource, Sequence[Object], datetime], tuple[list[Object], list[list[Any]]]]
"""Makes the definitions of columns and the cells of each object's row."""

_STEP = re.compile(
    r"\.([A-Za-z0-9_\-]+)|\['((?:[^'\\]|\\.)*)'\]|\[([0-9]+)\]|\.((?:[^.\[\\]|\\.)+)"
)
_NAME = "Name must be unique within a namespace."
_CREATED = (
    "CreationTimestamp is a timestamp representing the server time when this object was created."
)


def table(
    resource: Resource, objects: Sequence[Object], now: datetime
) -> tuple[list[Object], list[list[Any]]]:
    """Name and age, and what a definition adds."""
    columns = resource.columns
    if columns is None:
        age = _definition("Created At", "date", "", _CREATED)
        rows = [[_name(obj), obj["metadata"].get("creationTimestamp", "")] for obj in objects]
        return [_definition("Name", "string", "name", _NAME), age], rows
    shown = columns or (Column("Age", "date", ".metadata.creationTimestamp", description=_CREATED),)
    definitions = [_definition("Name", "string", "name", _NAME)]
    definitions += [
        _definition(each.name, each.type, each.format, each.description, each.priority)
        for each in shown
    ]
    rows = [[_name(obj), *(_cell(column, obj, now) for column in shown)] for obj in objects]
    return definitions, rows


def _name(obj: Object) -> str:
    return str(obj["metadata"].get("name", ""))


def _definition(name: str, kind: str, form: str, told: str, priority: int = 0) -> Object:
    return {"name": name, "type": kind, "format": form, "description": told, "priority": priority}


def _cell(column: Column, obj: Object, now: datetime) -> Any:
    value = follow(column.path, obj)
    if value is None:
        return None
    match column.type:
        case "string":
            return value if isinstance(value, str) else _shown(value)
        case "date":
            return _age(value, now)
        case "boolean":
            return value if isinstance(value, bool) else None
        case "integer":
            return (
                int(value)
                if isinstance(value, int | float) and not isinstance(value, bool)
                else None
            )
        case _:
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"))
    return str(value)


def _age(value: Any, now: datetime) -> str:
    try:
        then = instant.parse(value) if isinstance(value, str) else None
    except instant.InvalidInstant:
        then = None
    return "<invalid>" if then is None else age(int((now - then).total_seconds()))


def age(seconds: int) -> str:
    """How long ago, as kubectl says it: two units where it is young, one where it is old."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(0, seconds)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 730:
        return f"{days}d"
    years, rest = divmod(days, 365)
    return f"{years}y{rest}d" if years < 8 and rest else f"{years}y"


def follow(path: str, obj: Object) -> Any:
    """What stands at a simple JSON path; None if nothing does."""
    value: Any = obj
    for step in _STEP.finditer(path):
        name, quoted, index, escaped = step.groups()
        if index is not None:
            place = int(index)
            value = value[place] if isinstance(value, list) and place < len(value) else None
        else:
            key = name or quoted or escaped
            value = value.get(key.replace("\\", "")) if isinstance(value, dict) else None
        if value is None:
            return None
    return value
