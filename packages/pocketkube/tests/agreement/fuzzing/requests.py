"""Sequences of requests: what a careless, stubborn and sometimes broken client would send to a few objects."""

from collections.abc import Callable
import random
from typing import Any

from tests.agreement.fuzzing import patches
from tests.agreement.fuzzing.kinds import KINDS, Kind, a_change
from tests.agreement.fuzzing.quirks import tamed
from tests.agreement.fuzzing.step import Step
from tests.agreement.fuzzing.subresources import SUBRESOURCES
from tests.agreement.fuzzing.values import mangled, sometimes

Query = dict[str, str]


def sequence(seed: int) -> list[Step]:
    """The requests of a seed. Most are about one or two kinds, so that they meet the same objects."""
    rng = random.Random(seed)
    kinds = rng.sample(KINDS, rng.choice((1, 1, 2, 3)))
    count = rng.randint(12, 20)
    steps = [create(rng, rng.choice(kinds), 0)]
    steps += [_step(rng, rng.choice(kinds), number) for number in range(1, count)]
    return tamed(steps)


def _step(rng: random.Random, kind: Kind, number: int) -> Step:
    (make,) = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
    return make(rng, kind, number)


def _options(rng: random.Random) -> Query:
    """The query of a write."""
    made: Query = {}
    if sometimes(rng, 0.08):
        made["dryRun"] = rng.choice(("All", "All", "All", "Some"))
    if sometimes(rng, 0.35):
        made["fieldValidation"] = rng.choice(("Strict", "Strict", "Warn", "Ignore", "Odd", ""))
    if sometimes(rng, 0.3):
        made["fieldManager"] = rng.choice(("one", "two", "three", "x" * 129))
    return made


def create(rng: random.Random, kind: Kind, number: int) -> Step:
    name = rng.choice(kind.names)
    body: Any = kind.whole(rng, name)
    if sometimes(rng, 0.08):
        prefix = f"g{number}-"
        body["metadata"]["generateName"] = "{home}-" + prefix if kind.selector else prefix
        if sometimes(rng, 0.8):
            body["metadata"].pop("name", None)
    if sometimes(rng, 0.2):
        body = mangled(rng, body)
    if sometimes(rng, 0.02):
        body = rng.choice((b"{", b"", b"[]", b"null", b'"x"', b'{"kind": 1}', b'{"a": 1} x'))
    return Step("POST", kind.collection, f"{kind.resource}/{name}", _options(rng), body)


def update(rng: random.Random, kind: Kind, number: int) -> Step:
    name = rng.choice(kind.names)
    body = kind.whole(rng, name)
    if sometimes(rng, 0.15):
        body = mangled(rng, body)
    basis = rng.choice(("current", "current", "current", "stale", ""))
    edits = a_change(rng, kind) + (a_change(rng, kind) if sometimes(rng, 0.2) else ())
    return Step(
        "PUT", kind.path(name), f"{kind.resource}/{name}", _options(rng), body, basis, edits
    )


def patch(rng: random.Random, kind: Kind, number: int) -> Step:
    name = rng.choice(kind.names)
    content, make = rng.choice(
        (
            (patches.JSON_PATCH, patches.json_patch),
            (patches.MERGE_PATCH, patches.merge_patch),
            (patches.STRATEGIC_PATCH, patches.strategic_patch),
        )
    )
    body = make(rng, kind)
    if sometimes(rng, 0.04):
        content = rng.choice(
            (patches.JSON_PATCH, patches.MERGE_PATCH, "application/json", "text/x")
        )
    sub = ("status",) if kind.status and sometimes(rng, 0.12) else ()
    path = kind.path(name, *sub)
    return Step("PATCH", path, f"{kind.resource}/{name}", _options(rng), body, content=content)


def apply(rng: random.Random, kind: Kind, number: int) -> Step:
    name = rng.choice(kind.names)
    query = _options(rng) | {"fieldManager": rng.choice(("one", "two", "three"))}
    if sometimes(rng, 0.35):
        query["force"] = rng.choice(("true", "true", "false", "1"))
    if sometimes(rng, 0.04):
        del query["fieldManager"]
    sub = ("status",) if kind.status and sometimes(rng, 0.1) else ()
    body = patches.applied(rng, kind, name)
    about = f"{kind.resource}/{name}"
    return Step("PATCH", kind.path(name, *sub), about, query, body, content=patches.APPLY_PATCH)


def write_status(rng: random.Random, kind: Kind, number: int) -> Step:
    if kind.status is None:
        return update(rng, kind, number)
    name = rng.choice(kind.names)
    edits = ((("status",), kind.status(rng)),)
    if sometimes(rng, 0.3):
        edits += a_change(rng, kind)
    basis = rng.choice(("current", "current", "stale"))
    body = {**kind.whole(rng, name), "status": kind.status(rng)}
    path = kind.path(name, "status")
    return Step("PUT", path, f"{kind.resource}/{name}", _options(rng), body, basis, edits)


def delete(rng: random.Random, kind: Kind, number: int) -> Step:
    name = rng.choice(kind.names)
    about = f"{kind.resource}/{name}"
    body = _delete_options(rng, about) if sometimes(rng, 0.5) else None
    query = {}
    if sometimes(rng, 0.15):
        query |= rng.choice(_DELETE_QUERIES)
    return Step("DELETE", kind.path(name), about, query, body)


_DELETE_QUERIES: tuple[Query, ...] = (
    {"dryRun": "All"},
    {"gracePeriodSeconds": "0"},
    {"gracePeriodSeconds": "7"},
    {"gracePeriodSeconds": "x"},
    {"propagationPolicy": "Foreground"},
    {"propagationPolicy": "Odd"},
    {"orphanDependents": "true"},
)


def _delete_options(rng: random.Random, about: str) -> Any:
    made: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if sometimes(rng, 0.4):
        made["preconditions"] = rng.choice(
            (
                {"uid": f"{{uid:{about}}}"},
                {"resourceVersion": f"{{rv:{about}}}"},
                {"resourceVersion": f"{{old:{about}}}"},
                {"uid": "00000000-0000-4000-8000-000000000009"},
                {"uid": f"{{uid:{about}}}", "resourceVersion": f"{{rv:{about}}}"},
                {},
            )
        )
    if sometimes(rng, 0.3):
        made["gracePeriodSeconds"] = rng.choice((0, 1, 30, -1, 100, "x"))
    if sometimes(rng, 0.4):
        made["propagationPolicy"] = rng.choice(("Foreground", "Background", "Orphan", "Odd", ""))
    if sometimes(rng, 0.08):
        made |= rng.choice(
            (
                {"orphanDependents": True},
                {"dryRun": ["All"]},
                {"dryRun": ["x"]},
                {"unknown": 1},
                {"kind": "Pod"},
                {"apiVersion": "v7"},
                {"preconditions": "x"},
            )
        )
    return made


def delete_collection(rng: random.Random, kind: Kind, number: int) -> Step:
    if kind.selector:
        return delete(rng, kind, number)
    query = _selection(rng, kind)
    query |= rng.choice(({}, {}, {"dryRun": "All"}, {"gracePeriodSeconds": "0"}))
    body = rng.choice((None, None, {"propagationPolicy": "Foreground"}, {"gracePeriodSeconds": 3}))
    return Step("DELETE", kind.collection, kind.resource, query, body)


def get(rng: random.Random, kind: Kind, number: int) -> Step:
    name = rng.choice((*kind.names, "missing"))
    return Step("GET", kind.path(name), f"{kind.resource}/{name}")


def list_(rng: random.Random, kind: Kind, number: int) -> Step:
    query = _selection(rng, kind)
    if sometimes(rng, 0.5):
        query["limit"] = rng.choice(("1", "1", "2", "0", "-1", "x"))
        if sometimes(rng, 0.5):
            query["continue"] = f"{{continue:{kind.resource}}}"
    if "continue" not in query and sometimes(rng, 0.3):
        query |= _at(rng, kind)
    if sometimes(rng, 0.02):
        query["continue"] = "nonsense"
    return Step("GET", kind.collection, kind.resource, query)


def _at(rng: random.Random, kind: Kind) -> Query:
    version = f"{{listed:{kind.resource}}}"
    return rng.choice(
        (
            {"resourceVersion": version, "resourceVersionMatch": "Exact"},
            {"resourceVersion": version, "resourceVersionMatch": "Odd"},
            {"resourceVersion": "nonsense"},
            {"resourceVersionMatch": "Exact"},
            {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        )
    )


def _selection(rng: random.Random, kind: Kind) -> Query:
    made: Query = {"labelSelector": kind.selector} if kind.selector else {}
    if sometimes(rng, 0.35):
        chosen = rng.choice(
            ("app", "!app", "app=a", "tier in (a,b)", "app!=a,tier", "bad key", "app==")
        )
        made["labelSelector"] = f"{kind.selector},{chosen}" if kind.selector else chosen
    if sometimes(rng, 0.25):
        made["fieldSelector"] = rng.choice((*kind.fields, "spec.odd=1"))
    return made


def subresource(rng: random.Random, kind: Kind, number: int) -> Step:
    makers = SUBRESOURCES.get(kind.resource)
    if not makers:
        return patch(rng, kind, number)
    return rng.choice(makers)(rng, kind)


_WEIGHTS: dict[Callable[[random.Random, Kind, int], Step], int] = {
    create: 20,
    update: 16,
    patch: 18,
    apply: 14,
    write_status: 7,
    subresource: 7,
    delete: 9,
    delete_collection: 2,
    get: 3,
    list_: 8,
}
