"""How values of a schema look to CEL: their types, and the data that is handed over.

`rules` asks once per schema node. Objects are typed dynamically, because the library has no way to declare their fields
(`celsource` looks fields up instead); scalars, lists and maps of scalars are typed exactly. Property names that are no
identifiers are escaped, null members are absent, whole numbers of `number` fields become doubles, and the texts of dates,
instants and durations are brought into one spelling, so that equal ones are equal.
"""

import base64
import binascii
from collections.abc import Callable
import datetime as dt
import re
from typing import Any, Final

from kubeloop.objects.duration import Duration
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.schemas import celsource, correlation, schemaformats
from pocketkube.apiserver.schemas.schemanodes import Node

Convert = Callable[[Any], Any]

_SCALARS: Final = {"integer": "int", "number": "double", "boolean": "bool"}
_FRACTION: Final = re.compile(r"\.([0-9]+)")


def signature(node: Node) -> str:
    """The CEL type of a schema node; empty if rules cannot see such values."""
    if node.int_or_string:
        return "dyn"
    named = node.type
    if named == "string":
        return "bytes" if node.format == "byte" else "string"
    if named == "array":
        inner = signature(node.items) if node.items is not None else ""
        return f"list<{inner}>" if inner else ""
    if named == "object":
        if node.additional is None:
            return "dyn"
        inner = signature(node.additional)
        return f"map<string,{inner}>" if inner else ""
    return _SCALARS.get(named, "")


def converter(node: Node, *, canonical: bool = False) -> Convert | None:
    """What turns JSON into the data for CEL; None if nothing has to be turned.

    With `canonical`, sets and map lists are ordered by their content, so that two with the same entries are equal.
    """
    if node.items is not None:
        return _list(node, converter(node.items, canonical=canonical), canonical=canonical)
    if node.properties or node.additional is not None:
        return _object(node, canonical=canonical)
    if node.type == "number":
        return _number
    return _text(node.format) if node.type == "string" and node.format in _FORMATS else None


def _text(form: str) -> Convert:
    reconcile = _FORMATS[form]
    return lambda value: reconcile(value) if isinstance(value, str) else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value


def _instant(text: str) -> str:
    """UTC with as many digits as were given; the library reads nanoseconds, Python would cut them."""
    try:
        instant = dt.datetime.fromisoformat(_FRACTION.sub("", text.upper()))
    except ValueError:
        return text
    aware = instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)
    found = _FRACTION.search(text)
    digits = found[1].rstrip("0") if found else ""
    seconds = aware.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return f"{seconds}.{digits}Z" if digits else f"{seconds}Z"


def _span(text: str) -> str:
    try:
        return str(Duration(schemaformats.nanoseconds(text)))
    except ValueError:
        return text


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return text.encode()


_FORMATS: Final[dict[str, Convert]] = {
    "date-time": _instant,
    "date": lambda text: f"{text}T00:00:00Z",
    "duration": _span,
    "byte": _bytes,
}


def _list(node: Node, entry: Convert | None, *, canonical: bool) -> Convert | None:
    ordered = canonical and node.list_type in ("set", "map")
    if entry is None and not ordered:
        return None

    def order(value: Any) -> str:
        key = correlation.key_of(node, value) if node.list_type == "map" else None
        return fielderrors.compact(list(key) if key is not None else _plain(value))

    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        entries = sorted(value, key=order) if ordered else value
        return (
            entries if entry is None else [None if one is None else entry(one) for one in entries]
        )

    return convert


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _object(node: Node, *, canonical: bool) -> Convert | None:
    named = {name: converter(below, canonical=canonical) for name, below in node.properties.items()}
    names = {name: celsource.escape(name) or name for name in node.properties}
    rest = converter(node.additional, canonical=canonical) if node.additional is not None else None
    may_be_null = any(below.nullable for below in node.properties.values())
    as_is = all(made is None for made in named.values()) and all(a == b for a, b in names.items())
    if as_is and rest is None and not may_be_null:
        return None

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        made = {}
        for name, member in value.items():
            if member is None and name in named:
                continue
            reconcile = named.get(name, rest)
            made[names.get(name, name)] = (
                member if reconcile is None or member is None else reconcile(member)
            )
        return made

    return convert
