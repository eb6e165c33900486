"""How a row is written: a good object of some kind, and what spoils it."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
import re

from tests.tables.mistakes.good import GOOD, JSON, Object

Changes = Mapping[str, JSON]

GONE = "<gone>"
"""As a new value: take the member away."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One row of the table; `field` is what the refusal must name, `says` a part of its text."""

    id: str
    field: str
    after: Object
    before: Object | None = None
    status: bool = False
    says: str = ""


def good(kind: str, changes: Changes | None = None) -> Object:
    """Makes the good object of a kind, with members changed by path (`spec.limits[0].selector`)."""
    made = deepcopy(GOOD[kind])
    made["metadata"] = {"name": kind.lower()}
    for path, value in (changes or {}).items():
        _put(made, re.findall(r"[^.\[\]]+", path), deepcopy(value))
    return made


def _put(inside: JSON, path: list[str], value: JSON) -> None:
    step, rest = path[0], path[1:]
    if isinstance(inside, list):
        place = int(step)
        inside.extend({} for _ in range(len(inside), place + 1))
        if rest:
            _put(inside[place], rest, value)
        else:
            inside[place] = value
    elif isinstance(inside, dict):
        if rest:
            _put(inside.setdefault(step, [] if rest[0].isdigit() else {}), rest, value)
        elif value == GONE:
            del inside[step]
        else:
            inside[step] = value


def created(name: str, kind: str, changes: Changes, field: str = "", says: str = "") -> Mistake:
    """A bad object from the start; unless said otherwise the first change is the field at fault."""
    return Mistake(name, field or next(iter(changes)), good(kind, changes), says=says)


def updated(
    name: str, kind: str, before: Changes, after: Changes, field: str = "", says: str = ""
) -> Mistake:
    """A good object made bad."""
    return Mistake(
        name, field or next(iter(after)), good(kind, after), before=good(kind, before), says=says
    )


def reported(
    name: str, kind: str, before: Changes, after: Changes, field: str = "", says: str = ""
) -> Mistake:
    """A bad status."""
    return Mistake(
        name,
        field or next(iter(after)),
        good(kind, after),
        before=good(kind, before),
        status=True,
        says=says,
    )


def unknown_word(kind: str, path: str, changes: Changes | None = None) -> Mistake:
    """A word that is not among those allowed."""
    name = f"{kind} with an unknown word in {path}"
    spoiled = {**(changes or {}), path: "Nonsense"}
    if path.startswith("status"):
        return reported(name, kind, {}, spoiled, field=path, says="Unsupported value")
    return created(name, kind, spoiled, field=path, says="Unsupported value")


NEAR = [{"key": "a", "operator": "Near", "values": ["b"]}]


def unknown_operator(kind: str, selector: str, changes: Changes | None = None) -> Mistake:
    """A label selector that compares in a way nobody knows."""
    return created(
        f"{kind} with an unknown operator in {selector}",
        kind,
        {**(changes or {}), f"{selector}.matchExpressions": deepcopy(NEAR)},
        field=f"{selector}.matchExpressions[0].operator",
        says="Unsupported value",
    )


TEMPLATE = "spec.template.spec"
IN_NO_VALUES = [{"key": "a", "operator": "In"}]


def conditions(kind: str) -> Mistake:
    """A condition that is neither true nor false nor unknown."""
    path = "status.conditions[0].status"
    return unknown_word(kind, path, {"status.conditions[0].type": "Ready"})
