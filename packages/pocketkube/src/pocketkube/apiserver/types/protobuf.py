"""Bodies in protobuf: typed clients, kubectl's among them, send what they create in it and understand answers in JSON.

`serving.bodies` calls `decode` and goes on as with JSON. The types are those of the table; `protobuf.txt` has the numbers of
their members. Only reading is here: clients that prefer protobuf take JSON as well, and see from an answer's header what it is.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from kubeloop.objects import instant
from pocketkube.apiserver.types import table, values, wire
from pocketkube.apiserver.types.table import Member, Type
from pocketkube.apiserver.types.wire import Malformed, Value

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCHEMA = "apiextensions/v1.JSONSchemaProps"
_WIDTHS = {"int8": 8, "int16": 16, "int32": 32, "int": 64, "int64": 64}
_UNSIGNED = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}

Object = dict[str, Any]
Plan = dict[int, "Member | Plan"]


class NoEnvelope(Malformed):
    """The bytes do not even tell of which kind the message in them is."""


class NotOfKind(Malformed):
    """The message is not one of its kind, or that is not known.

    Attributes:
        kind: The kind.
        api_version: Its version.
    """

    def __init__(self, stated: str, api_version: str, kind: str) -> None:
        super().__init__(stated)
        self.api_version, self.kind = api_version, kind


def decode(body: bytes, api_version: str, kind: str) -> Object:
    """Reads an object, as it would have been sent in JSON; of kinds that are not known only kind and version.

    Args:
        body: As sent.
        api_version: Its version, if it does not tell.
        kind: Its kind, if it does not tell.

    Raises:
        NoEnvelope: it is no object.
        NotOfKind: it is no object of its kind.
    """
    about, message = _unwrapped(body)
    obj: Object = {"kind": about.get(2) or kind, "apiVersion": about.get(1) or api_version}
    known = _type(obj["apiVersion"], obj["kind"])
    if known is not None:
        try:
            _fill(obj, _plan(known.name), message)
        except Malformed as problem:
            raise NotOfKind(str(problem), obj["apiVersion"], obj["kind"]) from None
        except RecursionError:
            raise NotOfKind("exceeded max depth", obj["apiVersion"], obj["kind"]) from None
    return obj


def _unwrapped(body: bytes) -> tuple[Mapping[int, str], bytes]:
    if not body:
        raise NoEnvelope("empty data")
    if not body.startswith(_MAGIC):
        stated = "provided data does not appear to be a protobuf message, expected prefix"
        raise NoEnvelope(f"{stated} [{' '.join(map(str, _MAGIC))}]")
    if body == _MAGIC:
        raise NoEnvelope("empty body")
    try:
        envelope = dict(wire.fields(body[len(_MAGIC) :]))
        about = wire.fields(wire.octets(envelope.get(1, b"")))
        named = {number: wire.text(value) for number, value in about}
        return named, wire.octets(envelope.get(2, b""))
    except Malformed as problem:
        raise NoEnvelope(str(problem)) from None


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
    """The members of a struct by their numbers; embedded structs are plans in it."""
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


def _fill(obj: Object, plan: Plan, data: bytes) -> None:
    for number, value in wire.fields(data):
        found = plan.get(number)
        if isinstance(found, dict):
            _fill(obj, found, wire.octets(value))
        elif found is not None:
            _take(obj, found, value)


def _take(obj: Object, member: Member, sent: Value) -> None:
    of = member.type
    try:
        if of.form == "list" and of.inner is not None:
            obj.setdefault(member.name, []).extend(_items(of.inner, sent))
        elif of.form == "map" and of.inner is not None:
            key, value = _entry(of.inner, sent)
            obj.setdefault(member.name, {})[key] = value
        else:
            value = _value(of, sent)
            if value is not None and (value or _is_set(member)):
                obj[member.name] = value
    except Malformed as problem:
        stated = str(problem)
        raise Malformed(
            f"{stated} for field {_go(member.name)}"
            if stated[:-1].endswith("wireType = ")
            else stated
        ) from None


def _is_set(member: Member) -> bool:
    """Whether somebody means the nothing that was sent: Go sends all members but pointers to nothing."""
    return not member.omitempty or member.type.form.startswith(("pointer", "@"))


def _go(name: str) -> str:
    return "ObjectMeta" if name == "metadata" else name[:1].upper() + name[1:]


def _items(item: Type, sent: Value) -> list[Any]:
    if isinstance(sent, bytes) and (bits := _WIDTHS.get(item.form)):
        return [wire.signed(value, bits) for value in wire.packed(sent)]
    return [_value(item, sent)]


def _entry(of: Type, sent: Value) -> tuple[str, Any]:
    entry = dict(wire.fields(wire.octets(sent)))
    value = _value(of, entry[2]) if 2 in entry else _nothing(of)
    return wire.text(entry.get(1, b"")), value


def _nothing(of: Type) -> Any:
    return "" if of.form == "bytes" else values.ZEROS.get(of.form, {})


def _value(of: Type, sent: Value) -> Any:
    while of.form == "pointer" and of.inner is not None:
        of = of.inner
    if of.form == "struct":
        return _struct(of.name, sent)
    if of.form == "list" and of.inner is not None:
        # A list inside of a map is a message of its own.
        inner = of.inner
        return [_value(inner, item) for _, item in wire.fields(wire.octets(sent))]
    if of.form in _WIDTHS:
        return wire.signed(wire.whole(sent), _WIDTHS[of.form])
    if of.form in _UNSIGNED:
        return wire.whole(sent) % (1 << _UNSIGNED[of.form])
    return _READERS[of.form](sent)


def _struct(name: str, sent: Value) -> Object:
    made: Object = {}
    _fill(made, _plan(name), wire.octets(sent))
    return made


def _parts(sent: Value) -> dict[int, Value]:
    return dict(wire.fields(wire.octets(sent)))


def _quantity(sent: Value) -> str:
    return wire.text(_parts(sent).get(1, b"")) or "0"


def _int_or_string(sent: Value) -> int | str:
    parts = _parts(sent)
    if parts.get(1):
        return wire.text(parts.get(3, b""))
    return wire.signed(wire.whole(parts.get(2, 0)), 32)


def _time(sent: Value, render: Callable[[datetime], str]) -> str | None:
    if not sent:
        return None
    parts = _parts(sent)
    seconds = wire.signed(wire.whole(parts.get(1, 0)))
    nanos = wire.signed(wire.whole(parts.get(2, 0)), 32)
    try:
        return render(_EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000))
    except OverflowError:
        raise Malformed("Time.MarshalJSON: year outside of range [0,9999]") from None


def _duration(sent: Value) -> str:
    return f"{wire.signed(wire.whole(_parts(sent).get(1, 0)))}ns"


def _json(sent: Value) -> Any:
    text = wire.octets(_parts(sent).get(1, b""))
    try:
        return msgspec.json.decode(text) if text else None
    except ValueError as problem:
        raise Malformed(str(problem)) from None


def _schema_or_array(sent: Value) -> Any:
    parts = list(wire.fields(wire.octets(sent)))
    several = [_struct(_SCHEMA, value) for number, value in parts if number == 2]
    return several or next((_struct(_SCHEMA, value) for _, value in parts), None)


def _schema_or_bool(sent: Value) -> Any:
    parts = _parts(sent)
    return _struct(_SCHEMA, parts[2]) if 2 in parts else bool(wire.whole(parts.get(1, 0)))


def _schema_or_strings(sent: Value) -> Any:
    parts = list(wire.fields(wire.octets(sent)))
    several = [wire.text(value) for number, value in parts if number == 2]
    return several or next((_struct(_SCHEMA, value) for _, value in parts), None)


_READERS: Mapping[str, Callable[[Value], Any]] = {
    "string": wire.text,
    "bool": lambda sent: bool(wire.whole(sent)),
    "float64": wire.number,
    "bytes": lambda sent: b64encode(wire.octets(sent)).decode(),
    "@quantity": _quantity,
    "@intorstring": _int_or_string,
    "@time": lambda sent: _time(sent, instant.render),
    "@microtime": lambda sent: _time(sent, instant.render_micro),
    "@duration": _duration,
    "@object": _json,
    "@raw": _json,
    "@json": _json,
    "@schemaorarray": _schema_or_array,
    "@schemaorbool": _schema_or_bool,
    "@schemaorstrings": _schema_or_strings,
}
