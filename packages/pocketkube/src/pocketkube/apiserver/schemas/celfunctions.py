"""The functions over lists and texts that Kubernetes' CEL has and the library lacks.

Declared once in `cel`'s environments, with those of `celvalues`. The library has an extension for texts, but it takes the
names `indexOf` and `reverse` for itself, which lists need too; so all of them are here.
"""

from collections.abc import Callable, Iterable
import datetime as dt
import re
from typing import Any, Final

from cel_expr_python import cel  # type: ignore[import-untyped]  # its stubs lack the marker

from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.schemas import celauthorizer, celvalues, schemapatterns
from pocketkube.apiserver.schemas.celvalues import Book

T = cel.Type
_LIST: Final = T.List(T.DYN)
_TEXTS: Final = T.List(T.STRING)
_ANY: Final = (
    T.INT, T.STRING, T.BOOL, T.DOUBLE, T.UINT, T.LIST, T.MAP, T.BYTES, T.TIMESTAMP, T.DURATION, T.NULL,
)  # fmt: skip


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers across types, booleans only with booleans."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


def _index(items: Iterable[Any], wanted: Any) -> int:
    return next((i for i, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index(items: list[Any], wanted: Any) -> int:
    found = _index(reversed(items), wanted)
    return len(items) - 1 - found if found >= 0 else -1


def _sum(items: list[Any]) -> Any:
    if items and isinstance(items[0], dt.timedelta):
        return sum(items, dt.timedelta())
    return sum(items)


def _extreme(choose: Callable[[list[Any]], Any], name: str) -> Callable[[list[Any]], Any]:
    def extreme(items: list[Any]) -> Any:
        if not items:
            raise ValueError(f"{name} called on empty list")
        return choose(items)

    return extreme


def _is_sorted(items: list[Any]) -> bool:
    return all(not items[i + 1] < items[i] for i in range(len(items) - 1))


def _distinct(items: list[Any]) -> list[Any]:
    return [item for i, item in enumerate(items) if _index(items, item) == i]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        flat += _flatten(item, depth - 1) if isinstance(item, list) and depth > 0 else [item]
    return flat


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end > len(items) or start > end:
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _keys(members: dict[Any, Any]) -> list[Any]:
    """In one order, however often the same map is handed over; the library has none of its own."""
    return sorted(members, key=lambda key: (type(key).__name__, key))


def _find(text: str, pattern: str) -> str:
    found = re.search(schemapatterns.to_python(pattern), text, re.ASCII)
    return found.group() if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    matches = re.finditer(schemapatterns.to_python(pattern), text, re.ASCII)
    found = [match.group() for match in matches]
    return found if most < 0 else found[:most]


def _contains(items: list[Any], wanted: list[Any]) -> bool:
    return all(_index(items, one) >= 0 for one in wanted)


# -- texts

_ASCII_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_ASCII_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise ValueError(f"index out of range: {at}")
    return text[at : at + 1]


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= len(text) or not 0 <= stop <= len(text):
        raise ValueError(f"index out of range: {start if not 0 <= start <= len(text) else stop}")
    if start > stop:
        raise ValueError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _split(text: str, mark: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    pieces = text.split(mark, most - 1 if most > 0 else -1) if mark else list(text)
    return pieces if mark or most < 0 else [*pieces[: most - 1], "".join(pieces[most - 1 :])]


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    return text.replace(old, new, most)


def shown(value: Any) -> str:
    """A value inside of a formatted text."""
    printer = _PRINTERS.get(type(value), str)
    return printer(value)


def _shown_map(value: dict[Any, Any]) -> str:
    return f"{{{', '.join(sorted(f'{shown(key)}: {shown(member)}' for key, member in value.items()))}}}"


_PRINTERS: Final[dict[type, Callable[[Any], str]]] = {
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
    dt.timedelta: lambda value: f"{fielderrors.plain(value.total_seconds())}s",
    dt.datetime: lambda value: value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z"),
    bytes: lambda value: value.decode(errors="replace"),
    list: lambda value: f"[{', '.join(shown(item) for item in value)}]",
    dict: _shown_map,
    float: fielderrors.plain,
}


def _format(text: str, values: list[Any]) -> str:
    left = iter(values)

    def clause(found: re.Match[str]) -> str:
        verb = found[2]
        if verb == "%":
            return "%"
        try:
            value = next(left)
        except StopIteration:
            raise ValueError("index out of range: not enough arguments for the format") from None
        if verb == "s":
            return shown(value)
        if verb in "xX" and isinstance(value, str | bytes):
            made = (value.encode() if isinstance(value, str) else value).hex()
            return made.upper() if verb == "X" else made
        precision = found[1] or (".6" if verb in "fe" else "")
        return format(value, f"{precision}{verb}")

    return re.sub(r"%(\.[0-9]+)?([%sdfebxXo])", clause, text)


def _lists(book: Book) -> None:
    book.add("isSorted", _is_sorted, T.BOOL, _LIST)
    book.add("sum", _sum, T.DYN, _LIST)
    book.add("min", _extreme(min, "min"), T.DYN, _LIST)
    book.add("max", _extreme(max, "max"), T.DYN, _LIST)
    for kind in _ANY:
        book.add("indexOf", _index, T.INT, _LIST, kind)
        book.add("lastIndexOf", _last_index, T.INT, _LIST, kind)
    book.add("slice", _slice, _LIST, _LIST, T.INT, T.INT)
    book.add("flatten", _flatten, _LIST, _LIST)
    book.add("flatten", _flatten, _LIST, _LIST, T.INT)
    book.add("distinct", _distinct, _LIST, _LIST)
    book.add("reverse", lambda items: items[::-1], _LIST, _LIST)
    book.add("sort", sorted, _LIST, _LIST)
    book.call("lists.range", lambda size: list(range(size)), T.List(T.INT), T.INT)
    book.call("sets.contains", _contains, T.BOOL, _LIST, _LIST)
    book.call(
        "sets.equivalent", lambda a, b: _contains(a, b) and _contains(b, a), T.BOOL, _LIST, _LIST
    )
    book.call(
        "sets.intersects", lambda a, b: any(_index(a, one) >= 0 for one in b), T.BOOL, _LIST, _LIST
    )
    book.call("k8s_keys", lambda items: list(range(len(items))), _LIST, T.LIST)
    book.call("k8s_keys", _keys, _LIST, T.MAP)
    book.call(
        "k8s_zip",
        lambda keys, values: dict(zip(keys, values, strict=True)),
        T.Map(T.DYN, T.DYN),
        _LIST,
        _LIST,
    )
    book.call(
        "k8s_merge",
        lambda maps: {k: v for one in maps for k, v in one.items()},
        T.Map(T.DYN, T.DYN),
        _LIST,
    )


def _strings(book: Book) -> None:
    text, number = T.STRING, T.INT
    book.add("charAt", _char_at, text, text, number)
    book.add("indexOf", str.find, number, text, text)
    book.add("indexOf", str.find, number, text, text, number)
    book.add("lastIndexOf", str.rfind, number, text, text)
    book.add("join", "".join, text, _LIST)
    book.add("join", lambda items, mark: mark.join(items), text, _LIST, text)
    book.add("lowerAscii", lambda value: value.translate(_ASCII_LOWER), text, text)
    book.add("upperAscii", lambda value: value.translate(_ASCII_UPPER), text, text)
    book.add("replace", _replace, text, text, text, text)
    book.add("replace", _replace, text, text, text, text, number)
    book.add("split", _split, _TEXTS, text, text)
    book.add("split", _split, _TEXTS, text, text, number)
    book.add("substring", _substring, text, text, number)
    book.add("substring", _substring, text, text, number, number)
    book.add("trim", str.strip, text, text)
    book.add("format", _format, text, text, _LIST)
    book.call("strings.quote", fielderrors.quote, text, text)
    book.add("k8s_matches", schemapatterns.search, T.BOOL, text, text)
    book.add("find", _find, text, text, text)
    book.add("findAll", _find_all, _TEXTS, text, text)
    book.add("findAll", _find_all, _TEXTS, text, text, number)
    book.call(
        "jsonpatch.escapeKey", lambda key: key.replace("~", "~0").replace("/", "~1"), text, text
    )


def declarations() -> list[cel.FunctionDecl]:
    """All functions, ready for an environment."""
    book = Book()
    for chapter in (
        _lists,
        _strings,
        celvalues.quantities,
        celvalues.addresses,
        celauthorizer.checks,
    ):
        chapter(book)
    return book.declared()
