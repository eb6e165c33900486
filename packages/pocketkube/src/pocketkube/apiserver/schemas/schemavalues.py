"""Whether a value is what its schema asks for, and what a server says if it is not.

Called by `structural` for whole objects and by `crds` for defaults. The order of the checks, which of several failed
alternatives is reported and the odd wording follow kube-apiserver. On an update, what was wrong before and did not
change is forgiven.
"""

from collections.abc import Callable
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.schemas import correlation, schemaformats
from pocketkube.apiserver.schemas.correlation import NOTHING
from pocketkube.apiserver.schemas.schemanodes import Node

_NAMES: Final = {
    str: ("string", ""),
    bool: ("boolean", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}
"""What a server calls a value's type, and the format it guesses."""

_INT64: Final = 1 << 63
_FLOAT32: Final = 3.4028235677973366e38
_RANGES: Final = {"int32": 1 << 31, "int64": _INT64, "": _INT64}


class Checker:
    """One pass over one object; `base` is the field the checked value stands in, if it is not the whole object."""

    __slots__ = ("_base", "causes")

    def __init__(self, base: str = "") -> None:
        self._base = base
        self.causes: list[Cause] = []

    def run(self, node: Node, value: Any, old: Any = NOTHING) -> list[Cause]:
        """All causes, each once."""
        self._correlated(node, "", value, old)
        return list(dict.fromkeys(self.causes))

    def _correlated(self, node: Node, at: str, value: Any, old: Any) -> None:
        before = len(self.causes)
        self._check(node, at, value, old)
        if len(self.causes) > before and correlation.same(node, old, value):
            del self.causes[before:]

    def _check(self, node: Node, at: str, value: Any, old: Any) -> None:
        kind = type(value)
        if kind is int and not -_INT64 <= value < _INT64:
            value, kind = float(value), float
        if value is None:
            if node.types and not node.nullable:
                self._wrong_type(at, ",".join(node.types), "null")
        else:
            if node.types or node.format:
                self.typed(node, at, value, kind)
            if node.any_of or node.one_of or node.all_of or node.never is not None:
                self._alternatives(node, at, value)
            _BY_KIND[kind](self, node, at, value, old)
        if node.enum and not any(_equals(value, allowed) for allowed in node.enum):
            names = [text if isinstance(text, str) else fe.compact(text) for text in node.enum]
            self._add(fe.not_supported(self._field(at), value, names))

    def typed(self, node: Node, at: str, value: Any, kind: type) -> None:
        """Whether the value is of one of the types, with the server's two ways of saying no."""
        name, guessed = _NAMES[kind]
        fits = (
            name in node.types
            or (kind is int and "number" in node.types)
            or (kind is float and "integer" in node.types and value.is_integer())
        )
        if fits:
            return
        textual = kind is str or kind is list
        if node.format and not textual:
            self._wrong_type(at, node.format, guessed)
        elif not (node.format and not {"number", "integer"}.intersection(node.types)):
            self._wrong_type(at, ",".join(node.types), name)

    def string(self, node: Node, at: str, value: str, _: Any) -> None:
        """Length, pattern and format."""
        if node.longest is not None and len(value) > node.longest:
            self._add(fe.too_long(self._field(at), node.longest))
        elif node.shortest is not None and len(value) < node.shortest:
            self._bad(at, value, f"should be at least {node.shortest} chars long")
        elif node.matches is not None and not node.matches(value):
            self._bad(at, value, f"should match '{node.pattern}'")
        known = schemaformats.FORMATS.get(node.format.replace("-", "")) if node.format else None
        if known is not None and not known(value):
            self._wrong_type(at, node.format, value)

    def numeric(self, node: Node, at: str, value: float, _: Any) -> None:
        """Range, multiple and bounds."""
        named = node.types[0] if len(node.types) == 1 else ""
        if named == "integer" and not (
            -_RANGES[node.format] <= value < _RANGES[node.format] and value == int(value)
        ):
            form = f"with format {node.format}" if node.format else "(default format)"
            self._whole(f"Checked value must be of type integer {form} in {at}")
        elif named == "number" and node.format == "float" and abs(value) >= _FLOAT32:
            self._whole(f"Checked value must be of type number with format float in {at}")
        self._multiple(node, at, value)
        self._bounds(node, at, value)

    def _multiple(self, node: Node, at: str, value: float) -> None:
        if node.multiple is None:
            return
        factor = int(node.multiple) if isinstance(value, int) else float(node.multiple)
        if factor <= 0:
            detail = f"factor MultipleOf declared for {at} must be positive: {fe.number(factor)}"
            self._add(fe.invalid(self._field(at), factor, detail))
        elif isinstance(value, int):
            fits = value % factor == 0
            if not fits:
                self._bad(at, value, f"should be a multiple of {factor}")
        else:
            ratio = 1 / factor * value if factor < 1 else value / factor
            if abs(ratio - round(ratio)) >= 1e-9 * max(1.0, abs(ratio)):
                self._bad(at, value, f"should be a multiple of {fe.number(factor)}")

    def _bounds(self, node: Node, at: str, value: float) -> None:
        convert: Callable[[float], float] = int if isinstance(value, int) else float
        if node.minimum is not None:
            least = convert(node.minimum)
            if value <= least if node.above_minimum else value < least:
                word = "greater than" if node.above_minimum else "greater than or equal to"
                self._bad(at, value, f"should be {word} {fe.number(least)}")
        if node.maximum is not None:
            most = convert(node.maximum)
            if value >= most if node.below_maximum else value > most:
                word = "less than" if node.below_maximum else "less than or equal to"
                self._bad(at, value, f"should be {word} {fe.number(most)}")

    def array(self, node: Node, at: str, value: list[Any], old: Any) -> None:
        """The entries and how many there are."""
        if node.items is not None:
            entries = None if old is NOTHING else correlation.Entries(node, old)
            for index, entry in enumerate(value):
                was = NOTHING if entries is None else entries.get(entry)
                self._correlated(node.items, f"{at}[{index}]", entry, was)
        size = len(value)
        if node.fewest_items is not None and size < node.fewest_items:
            self._bad(at, size, f"should have at least {node.fewest_items} items")
        if node.most_items is not None and size > node.most_items:
            self._add(fe.too_many(self._field(at), size, node.most_items))

    def mapping(self, node: Node, at: str, value: dict[str, Any], old: Any) -> None:
        """The members, how many there are, and the required ones."""
        size, properties = len(value), node.properties
        if node.fewest_properties is not None and size < node.fewest_properties:
            self._bad(at, size, f"should have at least {node.fewest_properties} properties")
        if node.most_properties is not None and size > node.most_properties:
            self._add(fe.too_many(self._field(at), size, node.most_properties))
        for name, entry in value.items():
            below = properties.get(name)
            if below is not None:
                was = NOTHING if not at and name in ("apiVersion", "kind") else old
                place = f"{at}.{name}" if at else name
                self._correlated(below, place, entry, correlation.member(was, name))
            elif node.additional is not None:
                was = correlation.member(old, name)
                self._correlated(node.additional, f"{at}.{name}", entry, was)
        for name in node.required:
            if name not in value:
                self._add(fe.required(self._field(f"{at}.{name}")))

    def boolean(self, node: Node, at: str, value: bool, old: Any) -> None:  # noqa: FBT001  one of the kinds
        """Nothing but the type can be wrong with a boolean."""

    def _alternatives(self, node: Node, at: str, value: Any) -> None:
        if node.any_of:
            self._any_of(node, at, value)
        if node.one_of:
            self._one_of(node, at, value)
        failed = 0
        for rule in node.all_of:
            causes = self.tried(rule, at, value)
            self.causes += causes
            failed += bool(causes)
        if failed:
            none = ". None validated" if failed == len(node.all_of) else ""
            self._whole(f"{fe.quote(at)} must validate all the schemas (allOf){none}")
        if node.never is not None and not self.tried(node.never, at, value):
            self._whole(f"{fe.quote(at)} must not validate the schema (not)")

    def _any_of(self, node: Node, at: str, value: Any) -> None:
        failures = []
        for rule in node.any_of:
            causes = self.tried(rule, at, value)
            if not causes:
                return
            failures.append((rule, causes))
        self._whole(f"{fe.quote(at)} must validate at least one schema (anyOf)")
        self.causes += self._best(failures, value)

    def _one_of(self, node: Node, at: str, value: Any) -> None:
        tried = [(rule, self.tried(rule, at, value)) for rule in node.one_of]
        passed = sum(not causes for _, causes in tried)
        if passed == 1:
            return
        found = f"Found {passed} valid alternatives" if passed else "Found none valid"
        self._whole(f"{fe.quote(at)} must validate one and only one schema (oneOf). {found}")
        if not passed:
            self.causes += self._best(tried, value)

    def tried(self, rule: Node, at: str, value: Any) -> list[Cause]:
        """What one alternative has against a value; alternatives forgive nothing."""
        trial = Checker(self._base)
        trial._check(rule, at, value, NOTHING)
        return trial.causes

    @staticmethod
    def _best(failures: list[tuple[Node, list[Cause]]], value: Any) -> list[Cause]:
        """The causes of the alternative of which most was right, the first of equals."""
        if len(failures) == 1:
            return failures[0][1]
        return max(failures, key=lambda failure: matched(failure[0], value))[1]

    def _field(self, at: str) -> str:
        name = at.removeprefix(".")
        if self._base:
            return f"{self._base}.{name}" if name else self._base
        return name or fe.NO_FIELD

    def _add(self, cause: Cause) -> None:
        self.causes.append(cause)

    def _bad(self, at: str, value: Any, detail: str) -> None:
        self.causes.append(fe.invalid(self._field(at), value, f"{at} in body {detail}"))

    def _whole(self, detail: str) -> None:
        self.causes.append(fe.invalid(self._base or fe.NO_FIELD, "", detail))

    def _wrong_type(self, at: str, expected: str, found: str) -> None:
        detail = f"{at} in body must be of type {expected}: {fe.quote(found)}"
        self.causes.append(fe.invalid(self._field(at), found, detail, fe.TYPE_INVALID))


_BY_KIND: Final[dict[type, Callable[[Checker, Node, str, Any, Any], None]]] = {
    str: Checker.string,
    int: Checker.numeric,
    float: Checker.numeric,
    bool: Checker.boolean,
    list: Checker.array,
    dict: Checker.mapping,
}


def _equals(value: Any, allowed: Any) -> bool:
    if type(value) is float and type(allowed) is int:
        return int(value) == allowed
    return (
        value is not None
        and isinstance(value, bool) == isinstance(allowed, bool)
        and bool(value == allowed)
    )


def matched(node: Node, value: Any) -> int:
    """How many checks of a schema a server counts as made and passed; it reports the alternative with most."""
    trial = Checker()
    if value is None:
        return int(not node.types or node.nullable)
    score = 2  # the alternatives and the enumeration are always counted
    if node.types or node.format:
        trial.typed(node, "", value, type(value))
        score += 1 + (not trial.causes)
    score += 1 + _matched_alternatives(node, value)
    match value:
        case str():
            known = node.format.replace("-", "") in schemaformats.FORMATS
            score += 1 + (bool(node.format) and known)
        case int() | float() if not isinstance(value, bool):
            score += 2
        case list():
            below = node.items
            score += 2 + sum(matched(below, entry) for entry in value if below is not None)
        case dict():
            members = ((node.member(name), entry) for name, entry in value.items())
            score += 1 + sum(matched(sub, entry) for sub, entry in members if sub is not None)
        case _:
            pass
    return score + 1


def _matched_alternatives(node: Node, value: Any) -> int:
    trial = Checker()
    score = sum(matched(rule, value) for rule in node.all_of)
    any_passed = [rule for rule in node.any_of if not trial.tried(rule, "", value)]
    one_passed = [rule for rule in node.one_of if not trial.tried(rule, "", value)]
    if node.any_of:
        chosen = any_passed[:1] or node.any_of
        score += max(matched(rule, value) for rule in chosen)
    if node.one_of and len(one_passed) < 2:
        score += max(matched(rule, value) for rule in one_passed or node.one_of)
    return score
