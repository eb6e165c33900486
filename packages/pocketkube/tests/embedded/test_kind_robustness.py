"""Whatever is sent, a kind accepts it or refuses it: nothing else comes out of its strategy and its printer."""

from copy import deepcopy
from datetime import UTC, datetime
import json
from pathlib import Path
import random
import runpy
from typing import Any

import pytest
from tests.tables.kinds import CREATES

from pocketkube.apiserver.kinds import catalogue, serviceaddresses
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.refusal import Refused

E2E = Path(__file__).parent.parent / "agreement"
OBJECTS = [
    *((name, obj) for _, name, obj in CREATES),
    *runpy.run_path(str(E2E / "table_objects.py"))["OBJECTS"],
]
RESOURCES = {
    f"{each.plural}.{each.group}" if each.group else each.plural: each
    for each in catalogue.builtin()
}
NOW = datetime(2026, 6, 1, tzinfo=UTC)
JUNK: tuple[Any, ...] = (
    None, "", "x", "a b", "-1", "99999999999999999999", 0, -1, 2**31, 2**63, 1.5, 1e300, True, False,
    [], [None], ["x"], [[]], {}, {"x": None}, {"x": "y"}, {"": ""}, "é\u0000", "*", "/", "10.0.0.0/99",
)  # fmt: skip
Object = dict[str, Any]


def spoiled(value: Any, rng: random.Random, odds: float) -> Any:
    """The same with some members replaced, removed or added."""
    if rng.random() < odds:
        return deepcopy(rng.choice(JUNK))
    if isinstance(value, dict):
        kept = {
            key: spoiled(inner, rng, odds) for key, inner in value.items() if rng.random() > odds
        }
        if rng.random() < odds:
            kept[rng.choice(["x", "", "metadata", "spec", "name"])] = deepcopy(rng.choice(JUNK))
        return kept
    return [spoiled(inner, rng, odds) for inner in value] if isinstance(value, list) else value


def taken_through(resource: Resource, obj: Object, old: Object | None) -> None:
    strategy = resource.strategy
    strategy.read(obj)
    meta = obj["metadata"]
    meta["resourceVersion"] = "1"
    if resource.namespaced:
        meta["namespace"] = "n"
    strategy.default(obj)
    if resource.stored == "services":
        serviceaddresses.assign(obj, old, serviceaddresses.Taken(), random.Random(0))
    if old is None:
        strategy.before_create(obj)
        strategy.check_create(obj)
        stored = deepcopy(obj)
        strategy.inward(stored)
        strategy.fields(stored)
        strategy.warnings(obj)
        resource.printer.cells(obj, NOW)
        resource.printer.conditions(obj)
    else:
        strategy.before_update(obj, old)
        strategy.check_update(obj, old)
        strategy.before_status(obj, old)
        strategy.check_status(obj, old)
        strategy.before_finalize(obj, old)
        strategy.check_finalize(obj, old)
        strategy.held(obj)


@pytest.mark.parametrize("seed", range(8))
def test_no_object_breaks_its_kind(seed: int) -> None:
    rng = random.Random(seed)
    for name, sent in OBJECTS:
        resource, good = RESOURCES[name], {"metadata": {"name": "a"}, **sent}
        old = deepcopy(good)
        taken_through(resource, old, None)
        for _ in range(6):
            bad = spoiled(good, rng, rng.choice((0.02, 0.1, 0.3)))
            bad = bad if isinstance(bad, dict) else {}
            text = json.dumps(bad)
            for before in (None, old):
                try:
                    taken_through(resource, json.loads(text), before)
                except Refused:
                    continue
                except Exception as error:
                    raise AssertionError(f"{name} {text}") from error
