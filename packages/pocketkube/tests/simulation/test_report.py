"""The JSON form of a run is public: what is in it is in the document, field by field."""

from pathlib import Path
import re
import typing

import msgspec

from pocketkube.simulation.report.report import Report
from pocketkube.simulation.report.timeline import State

_DOCUMENT = (Path(__file__).parents[4] / "docs" / "simulation.md").read_text()
TEXT = _DOCUMENT.partition("## JSON")[2].partition("\n## ")[0]


def structs(model: type[msgspec.Struct]) -> set[type[msgspec.Struct]]:
    """A struct, and all that it is made of."""
    found = {model}
    for each in typing.get_type_hints(model).values():
        for part in (each, *typing.get_args(each)):
            if isinstance(part, type) and issubclass(part, msgspec.Struct):
                found |= structs(part)
    return found


def test_every_field_is_reported_and_every_field_reported_is_there() -> None:
    fields = {
        field.encode_name for model in structs(Report) for field in msgspec.structs.fields(model)
    }
    stated = set(re.findall(r"`([a-zA-Z]+)(?:\[\])?`", TEXT)) - {"Node"}
    assert fields - stated == set()
    assert stated - fields - set(State) == set()


def test_every_state_is_reported() -> None:
    assert {state for state in State if f"`{state}`" not in TEXT} == set()
