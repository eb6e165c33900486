"""The second version of OpenAPI as a Protocol Buffer, the only form in which kubectl asks for it.

`openapi` calls it. Only what kubectl looks at is written: the definitions, and which kinds are patched with which
parameters. The numbers are those of the fields in gnostic's message `openapi.v2.Document`.
"""

from collections.abc import Iterable, Mapping
import json
from typing import Any

_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_SUB_SCHEMAS = {"query": (3, 6), "path": (4, 5)}
"""Where a parameter stands, and where its type stands in it."""


def encode(document: Mapping[str, Any]) -> bytes:
    """Writes a document."""
    info = document["info"]
    paths = (_message(2, _named(path, _path(each))) for path, each in document["paths"].items())
    return b"".join(
        (
            _text(1, document["swagger"]),
            _message(2, _text(1, info["title"]) + _text(2, info["version"])),
            _message(8, b"".join(paths)),
            _message(9, _schemas(document["definitions"])),
        )
    )


def _path(item: Mapping[str, Any]) -> bytes:
    return b"".join(
        _message(number, _operation(item[method]))
        for method, number in _METHODS.items()
        if method in item
    )


def _operation(operation: Mapping[str, Any]) -> bytes:
    queries = (each for each in operation.get("parameters", ()) if each["in"] in _SUB_SCHEMAS)
    return b"".join(
        (
            _text(5, operation["operationId"]),
            *(_message(8, _parameter(each)) for each in queries),
            *_extensions(13, operation),
        )
    )


def _parameter(parameter: Mapping[str, Any]) -> bytes:
    place, type_ = _SUB_SCHEMAS[parameter["in"]]
    described = _text(2, parameter["in"]) + _text(4, parameter["name"])
    described += _text(type_, parameter["type"])
    return _message(1, _message(2, _message(place, described)))


def _schemas(schemas: Mapping[str, Any]) -> bytes:
    return b"".join(_message(1, _named(name, _schema(schema))) for name, schema in schemas.items())


def _schema(schema: Mapping[str, Any]) -> bytes:
    parts: list[bytes] = []
    if "$ref" in schema:
        parts.append(_text(1, schema["$ref"]))
    if "format" in schema:
        parts.append(_text(2, schema["format"]))
    parts += (_text(19, name) for name in schema.get("required", ()))
    parts += (_message(20, _any(value)) for value in schema.get("enum", ()))
    if "additionalProperties" in schema:
        parts.append(_message(21, _message(1, _schema(schema["additionalProperties"]))))
    if "type" in schema:
        parts.append(_message(22, _text(1, schema["type"])))
    if "items" in schema:
        parts.append(_message(23, _message(1, _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(_message(25, _schemas(schema["properties"])))
    return b"".join((*parts, *_extensions(31, schema)))


def _extensions(number: int, holder: Mapping[str, Any]) -> Iterable[bytes]:
    return (
        _message(number, _named(key, _any(value)))
        for key, value in holder.items()
        if key.startswith("x-")
    )


def _named(name: str, value: bytes) -> bytes:
    return _text(1, name) + _message(2, value)


def _any(value: Any) -> bytes:
    """A value as YAML, of which JSON is a part."""
    return _text(2, json.dumps(value))


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode())


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
