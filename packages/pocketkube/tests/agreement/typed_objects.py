"""Random objects of the kinds of Kubernetes, some of whose members are of the wrong type."""

import random
from typing import Any

from pocketkube.apiserver.types import table
from pocketkube.apiserver.types.table import Type

_WRONG: list[Any] = [
    *(None, 1, 1.5, -1, True, 10**12, "", "x", "1Gi", "2020-01-01T00:00:00Z"),
    *([], [1], [None], ["x"], {}, {"a": 1}, {"a": None}, {"a": "b"}),
]
_RIGHT: dict[str, list[Any]] = {
    "string": ["", "a", "x"],
    "bool": [True, False],
    "float64": [1.0, 0.5],
    "bytes": ["", "YQ=="],
    "@quantity": ["1", "500m", 1, "0"],
    "@intorstring": [1, "a"],
    "@time": ["2020-01-01T00:00:00Z"],
    "@microtime": ["2020-01-01T00:00:00.000000Z"],
    "@schemaorarray": [{"type": "x"}, [{"type": "x"}], 3],
    "@schemaorbool": [True, {"type": "x"}, 3],
    "@schemaorstrings": [{"type": "x"}, ["a"], [1]],
}
_DEEPEST = 8


def an_object(rng: random.Random, api_version: str, kind: str) -> dict[str, Any]:
    """An object that no other one of its name keeps from being created."""
    made = _struct(rng, table.kind(api_version, kind), 0)
    meta = made.get("metadata", {})
    if isinstance(meta, dict):
        meta = {**meta, "name": "typed"}
        for member in ("namespace", "managedFields", "resourceVersion"):
            meta.pop(member, None)
    return {**made, "apiVersion": api_version, "kind": kind, "metadata": meta}


def _value(rng: random.Random, of: Type, depth: int) -> Any:
    if rng.random() < 0.03:
        return rng.choice(_WRONG)
    if of.form == "struct":
        return _struct(rng, of, depth)
    if of.inner is None:
        return rng.choice(_RIGHT.get(of.form, [0, 1, 7] if "int" in of.form else [{"a": 1}]))
    if of.form == "pointer":
        return _value(rng, of.inner, depth)
    values = [_value(rng, of.inner, depth + 1) for _ in range(rng.randint(0, 2))]
    return values if of.form == "list" else dict(zip("ab", values, strict=False))


def _struct(rng: random.Random, of: Type, depth: int) -> dict[str, Any]:
    members = table.members(of.name) if depth < _DEEPEST else ()
    chosen = rng.sample(members, min(len(members), rng.randint(1, 4)))
    made = {member.name: _value(rng, member.type, depth + 1) for member in chosen}
    if rng.random() < 0.02:
        made[rng.choice(("unheard", "Name"))] = 1
    return made
