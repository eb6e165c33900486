"""Bodies in protobuf: typed clients, kubectl's among them, send what they create in it and understand answers in JSON.

`serving.bodies` calls `decode` and goes on with JSON. The types are those of the table; `protobuf.txt` has the numbers of their
members. Only reading is here: nobody insists on being answered in protobuf.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
import struct
from typing import Any

import msgspec

from korder.api import instant
from korder.embedded.apiserver.types import table
from korder.embedded.apiserver.types.table import Member, Type

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_UNREADABLE = ("apiextensions/", "apiregistration/")
"""Packages with types that no client sends in this form."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WHOLE = frozenset(
    ("int", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
)

Object = dict[str, Any]
Plan = dict[int, "Member | Plan"]


class Malformed(ValueError):
    """The bytes are not a message of the type; the text is near to what Go says."""


def decode(body: bytes) -> Object:
    """Reads an object with its kind and version; of kinds that are not known only these two.

    Raises:
        Malformed: it is none.
    """
    if not body.startswith(_MAGIC):
        raise Malformed("provided data does not appear to be a protobuf message")
    envelope = dict(_fields(body[len(_MAGIC) :]))
    about = dict(_fields(_bytes(envelope.get(1, b""))))
    obj: Object = {"kind": _text(about.get(2, b"")), "apiVersion": _text(about.get(1, b""))}
    known = _type(obj["apiVersion"], obj["kind"])
    if known is not None:
        if known.name.startswith(_UNREADABLE):
            raise Malformed(f"{obj['kind']} can only be read in JSON or YAML")
        _fill(obj, _plan(known.name), _bytes(envelope.get(2, b"")))
    return obj


def _type(api_version: str, kind: str) -> Type | None:
    # Options are of every group and version.
    for version in (api_version, "v1") if kind.endswith("Options") else (api_version,):
        try:
            return table.kind(version, kind)
        except table.UnknownType:
            continue
    return None


@cache
def _plan(name: str) -> Plan:
    members = [each for each in table.members(name) if "TypeMeta" not in each.via]
    numbers = _numbers().get(name) or list(map(str, range(1, len(members) + 1)))
    plan: Plan = {}
    for member, path in zip(members, numbers, strict=True):
        *embedded, last = map(int, path.split("."))
        inner = plan
        for number in embedded:
            found = inner.setdefault(number, {})
            assert isinstance(found, dict), name  # noqa: S101  the numbers are made by a program
            inner = found
        inner[last] = member
    return plan


@cache
def _numbers() -> Mapping[str, list[str]]:
    text = resources.files(__package__).joinpath("protobuf.txt").read_text("utf-8")
    lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: numbers for name, *numbers in lines}


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: numbers with whole numbers or bytes."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        wire = tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise Malformed(f"proto: illegal wireType {wire}")
        if position + size > end:
            raise Malformed("unexpected EOF")
        yield tag >> 3, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data):
            raise Malformed("unexpected EOF")
        if shift >= 64:
            raise Malformed("proto: integer overflow")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), position
        shift += 7


def _fill(obj: Object, plan: Plan, data: bytes) -> None:
    for number, raw in _fields(data):
        found = plan.get(number)
        if isinstance(found, dict):
            _fill(obj, found, _bytes(raw))
        elif found is not None:
            _take(obj, found, raw)


def _take(obj: Object, member: Member, raw: int | bytes) -> None:
    given = member.type
    if given.form == "list" and given.inner is not None:
        obj.setdefault(member.name, []).extend(_items(given.inner, raw))
    elif given.form == "map" and given.inner is not None:
        entry = dict(_fields(_bytes(raw)))
        value = _value(given.inner, entry[2]) if 2 in entry else _nothing(given.inner)
        obj.setdefault(member.name, {})[_text(entry.get(1, b""))] = value
    else:
        value = _value(given, raw)
        # Go writes members that nobody has set, unless they are pointers.
        if value is not None and (value or given.form == "pointer" or not member.omitempty):
            obj[member.name] = value


def _items(item: Type, raw: int | bytes) -> list[Any]:
    if item.form in _WHOLE and isinstance(raw, bytes):
        position, packed = 0, []
        while position < len(raw):
            value, position = _varint(raw, position)
            packed.append(_signed(value))
        return packed
    return [_value(item, raw)]


def _nothing(given: Type) -> Any:
    return {"string": "", "bool": False, "struct": {}, "list": []}.get(given.form)


def _value(given: Type, raw: int | bytes) -> Any:
    while given.form == "pointer" and given.inner is not None:
        given = given.inner
    if given.form == "struct":
        made: Object = {}
        _fill(made, _plan(given.name), _bytes(raw))
        return made
    if given.form == "list" and given.inner is not None:
        # A list inside of a map is a message of its own.
        inner = given.inner
        return [_value(inner, item) for _, item in _fields(_bytes(raw))]
    if given.form in _WHOLE:
        return _signed(_whole(raw))
    return _READERS[given.form](raw)


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _whole(raw: int | bytes) -> int:
    if isinstance(raw, bytes):
        raise Malformed("proto: wrong wireType = 2")
    return raw


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise Malformed("proto: wrong wireType = 0")
    return raw


def _text(raw: int | bytes) -> str:
    try:
        return _bytes(raw).decode()
    except UnicodeDecodeError:
        raise Malformed("proto: invalid UTF-8") from None


def _double(raw: int | bytes) -> float:
    try:
        found: float = struct.unpack("<d", _bytes(raw))[0]
    except struct.error:
        raise Malformed("unexpected EOF") from None
    return found


def _quantity(raw: int | bytes) -> str:
    return _text(dict(_fields(_bytes(raw))).get(1, b"0"))


def _int_or_string(raw: int | bytes) -> int | str:
    parts = dict(_fields(_bytes(raw)))
    return _text(parts.get(3, b"")) if parts.get(1) else _signed(_whole(parts.get(2, 0)))


def _time(raw: int | bytes, render: Callable[[datetime], str]) -> str | None:
    parts = dict(_fields(_bytes(raw)))
    if not parts:
        return None
    seconds, nanos = (_signed(_whole(parts.get(number, 0))) for number in (1, 2))
    try:
        return render(_EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000))
    except OverflowError:
        raise Malformed("year outside of range [0,9999]") from None


def _duration(raw: int | bytes) -> str:
    return f"{_signed(_whole(dict(_fields(_bytes(raw))).get(1, 0)))}ns"


def _json(raw: int | bytes) -> Any:
    text = _bytes(dict(_fields(_bytes(raw))).get(1, b""))
    try:
        return msgspec.json.decode(text) if text else None
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None


_READERS: Mapping[str, Callable[[int | bytes], Any]] = {
    "string": _text,
    "bool": lambda raw: bool(_whole(raw)),
    "float64": _double,
    "bytes": lambda raw: b64encode(_bytes(raw)).decode(),
    "@quantity": _quantity,
    "@intorstring": _int_or_string,
    "@time": lambda raw: _time(raw, instant.render),
    "@microtime": lambda raw: _time(raw, instant.render_micro),
    "@duration": _duration,
    "@object": _json,
    "@raw": _json,
    "@json": _json,
}
