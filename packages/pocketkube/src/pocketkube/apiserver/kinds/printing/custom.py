"""Tables of custom kinds: `additionalPrinterColumns` with their JSON paths.

Paths are the simple ones of definitions: members, indexes, wildcards and equality filters,
as in `.status.conditions[?(@.type=="Ready")].status`. A path that cannot be read shows nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
import re
from typing import Any, Final

from pocketkube.apiserver import gotext
from pocketkube.apiserver.kinds.printer import NAME, Cells, Column, Object, Printer
from pocketkube.apiserver.kinds.printing.cells import since

Step = Callable[[Any], Iterable[Any]]

AGE: Final[Mapping[str, Any]] = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
}
"""The column of a definition that names none."""

_STEP: Final = re.compile(
    r"\.(?P<member>(?:\\.|[^.\[\]\\])+)"
    r"|\[(?P<index>-?[0-9]+)\]"
    r"|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]"
    r"|\[\?\(@(?P<filter>(?:\.[^.\[\]=!<> ]+)+) *(?P<operator>==|!=) *(?P<value>[^)]*?) *\)\]"
    r"|(?:\.|\[)(?P<all>\*)\]?"
)


def printer(definitions: Sequence[Mapping[str, Any]] | None) -> Printer:
    """Makes the printer of one version of a definition."""
    given = definitions or (AGE,)
    columns = tuple(
        Column(
            each.get("name", ""),
            each.get("type", ""),
            each.get("format", ""),
            each.get("priority", 0),
            each.get("description", "")
            or f"Custom resource definition column (in JSONPath format): {each.get('jsonPath', '')}",
        )
        for each in given
    )
    paths = tuple((each.get("type", ""), _steps(each.get("jsonPath", ""))) for each in given)

    def cells(obj: Object, now: datetime) -> Cells:
        name = obj["metadata"].get("name", "")
        return [name, *(_cell(kind, _first(steps, obj), now) for kind, steps in paths)]

    return Printer((NAME, *columns), cells)


def _steps(path: str) -> tuple[Step, ...] | None:
    steps: list[Step] = []
    position = 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            return None
        steps.append(_step(found))
        position = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["all"]:
        return _everything
    if found["index"]:
        return _at_index(int(found["index"]))
    if found["filter"]:
        members = found["filter"][1:].split(".")
        return _filtered(members, found["operator"] == "==", found["value"].strip("'\""))
    return _at_member((found["key"] if found["quote"] else found["member"]).replace("\\", ""))


def _at_member(member: str) -> Step:
    def step(value: Any) -> Iterable[Any]:
        return (value[member],) if isinstance(value, dict) and member in value else ()

    return step


def _at_index(index: int) -> Step:
    def step(value: Any) -> Iterable[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            return (value[index],)
        return ()

    return step


def _everything(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _filtered(members: Sequence[str], wanted: bool, text: str) -> Step:  # noqa: FBT001 one of two operators
    steps = tuple(map(_at_member, members))

    def step(value: Any) -> Iterable[Any]:
        items = value if isinstance(value, list) else ()
        return [item for item in items if _is(_first(steps, item), text) is wanted]

    return step


def _is(value: Any, text: str) -> bool:
    return value is not None and gotext.printed(value) == text


def _first(steps: Sequence[Step] | None, obj: Any) -> Any:
    """The first value at the end of a path."""
    values: Iterable[Any] = () if steps is None else (obj,)
    for step in steps or ():
        values = [inner for value in values for inner in step(value)]
    return next(iter(values), None)


def _cell(kind: str, value: Any, now: datetime) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "string" if value is not None:
            composed = isinstance(value, dict | list)
            return gotext.encoded(value) if composed else gotext.printed(value)
        case "integer" if number:
            return int(value)
        case "date" if isinstance(value, str):
            return since(value, now)
        case "number" | "boolean" if number is (kind == "number"):
            return value if number or isinstance(value, bool) else None
        case _:
            return None
