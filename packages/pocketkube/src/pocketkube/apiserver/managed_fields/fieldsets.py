"""Sets of fields, as `managedFields` writes them down (FieldsV1).

`merging` makes them from objects, `managers` reads and writes them, `apply` reckons with them. A field is a path of
steps, and a step is kept as the text it has on the wire: `f:name` is a member, `k:{"name":"a"}` an item by its keys,
`v:"a"` an item by its value, `i:0` one by its place. A set may hold a field without what is below it and the other
way round: who owns a list item does not own all of its members.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
import json
from typing import cast

import msgspec

from kubeloop.objects.meta import JSON
from pocketkube.apiserver import gotext

Path = tuple[str, ...]

_SELF = "."
_RANKS = "fkvi"


class MalformedFields(ValueError):
    """A text or a value is not a set of fields."""


class FieldSet(msgspec.Struct, frozen=True):
    """A set of paths; `children` holds no empty set, so equal sets are equal objects."""

    members: frozenset[str] = frozenset()
    children: Mapping[str, "FieldSet"] = {}

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def __or__(self, other: "FieldSet") -> "FieldSet":
        children = dict(self.children)
        for step, theirs in other.children.items():
            mine = children.get(step)
            children[step] = theirs if mine is None else mine | theirs
        return FieldSet(self.members | other.members, children)

    def __sub__(self, other: "FieldSet") -> "FieldSet":
        if not other:
            return self
        return _made(
            self.members - other.members,
            ((step, mine - other.below(step)) for step, mine in self.children.items()),
        )

    def __and__(self, other: "FieldSet") -> "FieldSet":
        return _made(
            self.members & other.members,
            (
                (step, self.children[step] & other.children[step])
                for step in self.children.keys() & other.children.keys()
            ),
        )

    def without(self, other: "FieldSet") -> "FieldSet":
        """Leaves out the fields of another set and everything below them."""
        if not other:
            return self
        return _made(
            self.members - other.members,
            (
                (step, mine.without(other.below(step)))
                for step, mine in self.children.items()
                if step not in other.members
            ),
        )

    def below(self, step: str) -> "FieldSet":
        return self.children.get(step, EMPTY)

    def paths(self) -> Iterator[Path]:
        """Lists the fields: those of one level in order, then what is below each."""
        for step in sorted(self.members, key=_order):
            yield (step,)
        for step in sorted(self.children, key=_order):
            for path in self.children[step].paths():
                yield (step, *path)


EMPTY = FieldSet()


def _made(members: frozenset[str], children: Iterable[tuple[str, FieldSet]]) -> FieldSet:
    return FieldSet(members, {step: below for step, below in children if below})


def of_paths(paths: Iterable[Path]) -> FieldSet:
    """Gathers paths into a set; the empty path stands for the whole object, which nobody owns."""
    members: set[str] = set()
    below: dict[str, list[Path]] = {}
    for path in paths:
        if len(path) == 1:
            members.add(path[0])
        elif path:
            below.setdefault(path[0], []).append(path[1:])
    return FieldSet(frozenset(members), {step: of_paths(rest) for step, rest in below.items()})


def to_json(fields: FieldSet) -> dict[str, JSON]:
    """Writes a set as FieldsV1, in the order the real server uses."""
    written: dict[str, JSON] = {}
    members, children = fields.members, fields.children
    for step in sorted(members | children.keys(), key=_order):
        inner = to_json(children[step]) if step in children else {}
        written[step] = {_SELF: {}, **inner} if inner and step in members else inner
    return written


def from_json(value: JSON) -> FieldSet:
    """Reads FieldsV1; steps of a kind nobody knows yet are passed over."""
    if not isinstance(value, dict):
        raise MalformedFields("a set of fields is an object")
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    for text, inner in value.items():
        if text == _SELF or text[:1] not in _RANKS:
            continue
        step = _canonical(text)
        below = from_json(inner)
        if not inner or (isinstance(inner, dict) and _SELF in inner):
            members.add(step)
        if below:
            children[step] = below
    return FieldSet(frozenset(members), children)


def member(name: str) -> str:
    """Names the step to a member of an object."""
    return f"f:{name}"


def item_by_keys(keys: Mapping[str, JSON]) -> str:
    """Names the step to an item of a list of objects."""
    if all(type(value) is str for value in keys.values()):
        return _item_by_texts(tuple(keys.items()))
    return f"k:{gotext.encoded(dict(keys))}"


@lru_cache(maxsize=4096)
def _item_by_texts(keys: tuple[tuple[str, JSON], ...]) -> str:
    """The same where all keys are texts, as most are: the same few come again and again."""
    return f"k:{gotext.encoded(dict(keys))}"


def item_by_value(value: JSON) -> str:
    """Names the step to an item of a set."""
    return f"v:{gotext.encoded(value)}"


def describe(path: Path) -> str:
    """Writes a path as it stands in messages: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(map(_described, path))


def _described(step: str) -> str:
    kind, content = step[0], step[2:]
    if kind == "f":
        return f".{content}"
    if kind == "i":
        return f"[{content}]"
    if kind == "v":
        return f"[={_plain(json.loads(content))}]"
    keys = json.loads(content)
    return "[" + ",".join(f"{name}={_plain(value)}" for name, value in keys.items()) + "]"


def _plain(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    kind, colon, content = text[:1], text[1:2], text[2:]
    if colon != ":":
        raise MalformedFields(f"missing colon: {text}")
    if kind == "f":
        return text
    try:
        parsed: JSON = json.loads(content)
    except ValueError:
        parsed = None
    if kind == "k" and isinstance(parsed, dict):
        return item_by_keys(parsed)
    if kind == "v" and parsed is not None:
        return item_by_value(parsed)
    if kind == "i" and isinstance(parsed, int):
        return f"i:{parsed}"
    raise MalformedFields(f"not a step of a path: {text}")


@lru_cache(maxsize=4096)
def _order(step: str) -> tuple[object, ...]:
    """Sorts members before items, numbers by size and texts by their bytes."""
    kind, content = step[0], step[2:]
    rank = _RANKS.index(kind)
    if kind == "f":
        return (rank, content)
    parsed = cast("JSON", json.loads(content))
    if kind == "k" and isinstance(parsed, dict):
        return (rank, *((name, _scalar_order(value)) for name, value in parsed.items()))
    return (rank, _scalar_order(parsed))


def _scalar_order(value: JSON) -> tuple[int, float, str]:
    if isinstance(value, bool):
        return (2, value, "")
    if isinstance(value, int | float):
        return (0, value, "")
    return (1, 0, value) if isinstance(value, str) else (3, 0, _plain(value))
