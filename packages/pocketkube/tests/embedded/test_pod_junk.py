"""Whatever stands in a pod or workload: the rules answer, or it is refused; nothing else is ever raised."""

from collections.abc import Iterator
import contextlib
from copy import deepcopy
from pathlib import Path
import random
import runpy
from typing import Any

import pytest
from tests.tables.pods.specs import PODS
from tests.tables.pods.words import POD
from tests.tables.pods.workloads import MADE, WORKLOADS

from pocketkube.apiserver.kinds import catalogue
from pocketkube.apiserver.kinds.strategy import Strategy
from pocketkube.apiserver.refusal import Refused

Object = dict[str, Any]
TABLES = Path(__file__).parent.parent / "agreement"
CHANGED = runpy.run_path(str(TABLES / "agreeing.py"))["changed"]
STRATEGIES = {
    each.kind: each.strategy for each in catalogue.builtin() if each.group != "events.k8s.io"
}
OBJECTS = [CHANGED(POD, case) for case in PODS.values()] + [
    CHANGED({**WORKLOADS[kind], "metadata": {"name": "case"}}, case)
    for kind, cases in MADE.items()
    for case in cases.values()
]
JUNK: list[Any] = [
    None, 0, -1, 2**31, 2**63 - 1, -(2**63), 1.5, True, "", "x", "-1", "5%", "1Gi", "1e400", "9" * 500, "n" * 300,
    [], {}, [None], [{}], {"a": None}, {"a": "b"}, ["x"], [["x"]], [1], "\0", "a\nb", "é", "..", "/",
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, member in items:
        yield from places(member, (*path, key))


def spoiled(obj: Object, rng: random.Random) -> Object:
    made = deepcopy(obj)
    for _ in range(rng.randint(1, 3)):
        member = "template" if "template" in made else "spec"
        path = rng.choice([(member,), *((member, *path) for path in places(made.get(member)))])
        holder: Any = made
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = deepcopy(rng.choice(JUNK))
    return made


def judge(strategy: Strategy, obj: Object, old: Object) -> None:
    for one in (obj, old):
        one["metadata"] |= {"namespace": "default", "resourceVersion": "1"}
        strategy.read(one)
        strategy.default(one)
    strategy.before_create(old)
    created, updated, reported = deepcopy(obj), deepcopy(obj), deepcopy(obj)
    strategy.before_create(created)
    strategy.check_create(created)
    strategy.warnings(created)
    strategy.before_update(updated, old)
    strategy.check_update(updated, old)
    strategy.before_status(reported, old)
    strategy.check_status(reported, old)
    strategy.fields(created)
    strategy.grace(created, None)
    for part in ("resize", "ephemeralcontainers"):
        if obj["kind"] == "Pod":
            part_of = deepcopy(obj)
            strategy.before_part(part, part_of, old)
            strategy.check_part(part, part_of, old)


@pytest.mark.parametrize("seed", range(8))
def test_junk_anywhere_is_judged_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(400):
        good = rng.choice(OBJECTS)
        others = [one for one in OBJECTS if one["kind"] == good["kind"]]
        with contextlib.suppress(Refused):
            judge(STRATEGIES[good["kind"]], spoiled(good, rng), deepcopy(rng.choice(others)))
