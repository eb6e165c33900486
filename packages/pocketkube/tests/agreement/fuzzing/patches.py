"""Patches of all four kinds, most of them sensible."""

import random
from typing import Any

from tests.agreement.fuzzing.kinds import Kind, a_change
from tests.agreement.fuzzing.values import KEYS, ODD, VALUES, mangled, sometimes

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def json_patch(rng: random.Random, kind: Kind) -> Any:
    """A list of operations on places that may exist."""
    made = [_operation(rng, kind) for _ in range(rng.randint(0 if sometimes(rng, 0.1) else 1, 3))]
    if sometimes(rng, 0.05):
        return rng.choice(({}, [1], None, [{"op": "odd", "path": "/x"}], [{"op": "add"}]))
    return made


def _operation(rng: random.Random, kind: Kind) -> Object:
    path, value = _pointer(rng, kind)
    match rng.randrange(8):
        case 0 | 1 | 2:
            return {"op": "add", "path": path, "value": value}
        case 3:
            return {"op": "replace", "path": path, "value": value}
        case 4:
            return {"op": "remove", "path": path}
        case 5:
            return {"op": "test", "path": path, "value": value}
        case 6:
            return {
                "op": rng.choice(("copy", "move")),
                "from": _pointer(rng, kind)[0],
                "path": path,
            }
        case _:
            return rng.choice(_ODD_OPERATIONS)


_ODD_OPERATIONS: tuple[Object, ...] = (
    {"op": "test", "path": "/kind", "value": "Nothing"},
    {"op": "add", "path": "/metadata/labels/-", "value": "x"},
    {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/p"},
    {"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/p"},
    {"op": "add", "path": "/metadata/finalizers/9", "value": "example.com/p"},
    {"op": "remove", "path": "/metadata/finalizers/0"},
    {"op": "remove", "path": "/metadata/finalizers/-1"},
    {"op": "replace", "path": "", "value": {}},
    {"op": "replace", "path": "/metadata/labels/example.com~1part", "value": "x"},
    {"op": "test", "path": "/metadata/labels/app", "value": "a"},
    {"op": "remove", "path": "metadata"},
    {"op": "add", "path": "/spec"},
    {"op": "replace", "path": "/metadata/name", "value": "other"},
    {"op": "test", "path": "/metadata/labels", "value": None},
    {"op": "add", "path": "/metadata/resourceVersion", "value": "1"},
)


def _pointer(rng: random.Random, kind: Kind) -> tuple[str, Any]:
    path, value = a_change(rng, kind)[0]
    parts = [str(part).replace("~", "~0").replace("/", "~1") for part in path]
    return "/" + "/".join(parts), rng.choice(ODD) if value == "<drop>" else value


def merge_patch(rng: random.Random, kind: Kind) -> Any:
    """A tree of members to set, with nulls for those to remove."""
    if sometimes(rng, 0.04):
        return rng.choice(([], None, "text", 1, [{"op": "add", "path": "/x", "value": 1}]))
    made: Object = {}
    for _ in range(rng.randint(0 if sometimes(rng, 0.1) else 1, 2)):
        path, value = a_change(rng, kind)[0]
        _put(made, path, None if value == "<drop>" else value)
    if sometimes(rng, 0.1):
        _put(
            made,
            ("metadata", "resourceVersion"),
            f"{{rv:{kind.resource}/{rng.choice(kind.names)}}}",
        )
    return made


def _put(made: Object, path: tuple[str | int, ...], value: Any) -> None:
    *parts, last = path
    names = [part for part in parts if isinstance(part, str)]
    for part in names:
        inner = made.get(part)
        if not isinstance(inner, dict):
            inner = made[part] = {}
        made = inner
    if isinstance(last, int):
        made["x"] = value
    elif len(names) < len(parts):
        made[last] = value
    else:
        made[last] = value


def strategic_patch(rng: random.Random, kind: Kind) -> Any:
    """A merge patch, often with directives or lists that merge by key."""
    if kind.resource == "pods" and sometimes(rng, 0.6):
        return rng.choice(_POD_PATCHES)
    if sometimes(rng, 0.3):
        return rng.choice(_DIRECTIVES)
    return merge_patch(rng, kind)


_DIRECTIVES: tuple[Any, ...] = (
    {"data": {"$patch": "replace", "a": "9"}},
    {"data": {"$patch": "delete"}},
    {"metadata": {"labels": {"$patch": "replace", "app": "b"}}},
    {"metadata": {"labels": {"$retainKeys": ["app"], "app": "a"}}},
    {"metadata": {"finalizers": ["example.com/s"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}},
    {"metadata": {"$setElementOrder/finalizers": ["example.com/b", "example.com/a"]}},
    {
        "metadata": {
            "$setElementOrder/finalizers": ["example.com/s", "example.com/a"],
            "finalizers": ["example.com/s"],
        }
    },
    {"$patch": "delete"},
    {"$patch": "replace", "metadata": {"name": "a"}},
    {"$patch": "odd"},
    {"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "u"}]}},
    {"metadata": {"ownerReferences": [{"uid": "u", "kind": "X", "name": "n", "apiVersion": "v1"}]}},
    {"spec": {"finalizers": ["example.com/s"]}},
    {"metadata": {"labels": None, "annotations": {"example.com/part": "s"}}},
)
_POD_PATCHES: tuple[Any, ...] = (
    {"spec": {"containers": [{"name": "main", "image": "patched"}]}},
    {"spec": {"containers": [{"name": "new", "image": "patched"}]}},
    {"spec": {"containers": [{"$patch": "delete", "name": "side"}]}},
    {"spec": {"containers": [{"image": "nameless"}]}},
    {"spec": {"containers": [{"$patch": "replace"}, {"name": "main", "image": "y"}]}},
    {
        "spec": {
            "$setElementOrder/containers": [{"name": "main"}],
            "containers": [{"name": "main", "image": "z"}],
        }
    },
    {"spec": {"schedulingGates": [{"name": "g", "$patch": "delete"}]}},
    {"spec": {"schedulingGates": [{"$patch": "replace"}]}},
    {"spec": {"schedulingGates": None}},
    {"spec": {"tolerations": [{"key": "p", "operator": "Exists"}]}},
    {"spec": {"containers": [{"name": "main", "ports": [{"containerPort": 80, "name": "x"}]}]}},
    {"spec": {"volumes": [{"name": "v", "emptyDir": None}]}},
    {"spec": {"nodeSelector": {"zone": None}}},
    {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
    {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}},
    {"status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.9"}]}},
)


def applied(rng: random.Random, kind: Kind, name: str) -> Any:
    """A configuration for server-side apply."""
    body = kind.whole(rng, name)
    body["metadata"].pop("resourceVersion", None)
    if sometimes(rng, 0.5):
        body = {key: body[key] for key in ("apiVersion", "kind")} | _part(rng, kind, name)
    if sometimes(rng, 0.08):
        return rng.choice(
            (
                {},
                [],
                b"not: [yaml",
                b"a: b",
                {**body, "metadata": {**body["metadata"], "managedFields": [{"manager": "x"}]}},
                {**body, "apiVersion": "v9"},
                {key: each for key, each in body.items() if key != "kind"},
            )
        )
    return mangled(rng, body) if sometimes(rng, 0.12) else body


def _part(rng: random.Random, kind: Kind, name: str) -> Object:
    made: Object = {"metadata": {"name": name}}
    if sometimes(rng, 0.4):
        made["metadata"]["labels"] = {rng.choice(KEYS): rng.choice(VALUES)}
    path, value = kind.edits(rng)[0]
    if value != "<drop>" and all(isinstance(each, str) for each in path):
        _put(made, path, value)
    return made
