"""Mean values: what fits almost everywhere, almost."""

from collections.abc import Sequence
from copy import deepcopy
import random
from typing import Any, TypeVar

Object = dict[str, Any]
T = TypeVar("T")

ODD: tuple[Any, ...] = (
    None,
    "",
    "text",
    "Not Valid!",
    "a" * 300,
    "1Gi",
    "-1",
    0,
    -1,
    7,
    1.5,
    10**12,
    True,
    [],
    {},
    [{}],
    [None],
    ["x", "x"],
    {"a": 1},
    {"a": None},
    {"name": "x"},
)

KEYS = ("app", "tier", "example.com/part")
VALUES = ("", "a", "b", "web.x_1")
BAD_KEYS = ("bad key", "-x", "a/b/c", "", "x" * 64)
BAD_VALUES = ("has space", "-x", "y" * 64)


def sometimes(rng: random.Random, chance: float) -> bool:
    return rng.random() < chance


def some(rng: random.Random, values: Sequence[T], most: int = 3) -> list[T]:
    """A few of them, in any order."""
    return rng.sample(list(values), rng.randint(0, min(most, len(values))))


def labels(rng: random.Random) -> Object:
    """Labels that are usually valid."""
    made: Object = {key: rng.choice(VALUES) for key in some(rng, KEYS)}
    if sometimes(rng, 0.06):
        made[rng.choice(BAD_KEYS)] = rng.choice(VALUES)
    if sometimes(rng, 0.06):
        made[rng.choice(KEYS)] = rng.choice((*BAD_VALUES, 1, None, True))
    return made


def metadata(rng: random.Random, name: str) -> Object:
    """The metadata of a write."""
    made: Object = {"name": name}
    if sometimes(rng, 0.6):
        made["labels"] = labels(rng)
    if sometimes(rng, 0.3):
        made["annotations"] = {key: rng.choice(("", "x", "Any text!")) for key in some(rng, KEYS)}
    if sometimes(rng, 0.3):
        made["finalizers"] = rng.choice(
            (
                ["example.com/a"],
                ["example.com/a", "example.com/b"],
                ["example.com/a", "example.com/a"],
                ["foregroundDeletion"],
                ["orphan", "foregroundDeletion"],
                ["nogroup"],
                ["Bad One/x"],
                [],
            )
        )
    if sometimes(rng, 0.1):
        made["ownerReferences"] = [owner(rng) for _ in range(rng.randint(0, 2))]
    if sometimes(rng, 0.12):
        made |= rng.choice(ODD_METADATA)
    return made


ODD_METADATA: tuple[Object, ...] = (
    {"name": "Bad_Name"},
    {"name": "x" * 254},
    {"name": ""},
    {"name": "a/b"},
    {"name": "other"},
    {"namespace": "elsewhere"},
    {"namespace": "{home}"},
    {"uid": "00000000-0000-4000-8000-000000000001"},
    {"resourceVersion": "1"},
    {"resourceVersion": "none"},
    {"resourceVersion": ""},
    {"generation": 7},
    {"creationTimestamp": "2024-01-01T00:00:00Z"},
    {"creationTimestamp": "yesterday"},
    {"deletionTimestamp": "2024-01-01T00:00:00Z"},
    {"deletionGracePeriodSeconds": 5},
    {"selfLink": "/x"},
    {"managedFields": []},
    {"managedFields": [{"manager": "x", "operation": "Update"}]},
    {"labels": None},
    {"annotations": {"Bad Key": "x"}},
    {"unknown": 1},
    {"name": 7},
    {"labels": ["x"]},
    {"ownerReferences": [{}]},
)


def owner(rng: random.Random) -> Object:
    made: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": rng.choice("abc"),
        "uid": rng.choice(("{uid:configmaps/a}", "{uid:configmaps/b}", "u")),
    }
    if sometimes(rng, 0.4):
        made["controller"] = rng.choice((True, False))
    if sometimes(rng, 0.3):
        made["blockOwnerDeletion"] = True
    if sometimes(rng, 0.15):
        made |= rng.choice(({"kind": ""}, {"uid": ""}, {"apiVersion": "a/b/c"}, {"name": ""}))
    return made


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths to everything inside of a value."""
    found = [path] if path else []
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inner:
        found += places(each, (*path, key))
    return found


def mangled(rng: random.Random, obj: Object) -> Object:
    """A copy of an object with one thing in it that does not belong there."""
    made = deepcopy(obj)
    found = places(made)
    if not found:
        return made
    *parts, last = rng.choice(found)
    holder: Any = made
    for part in parts:
        holder = holder[part]
    match rng.randrange(10):
        case 0 if isinstance(holder, dict):
            del holder[last]
        case 1 if isinstance(holder, dict):
            holder[rng.choice(("unknown", "spec", "Name", "x-y"))] = rng.choice(ODD)
        case 2 if isinstance(holder, list):
            holder.append(deepcopy(holder[int(last)]))
        case _:
            holder[last] = deepcopy(rng.choice(ODD))
    return made
