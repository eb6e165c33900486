"""Bodies of requests: JSON, YAML or protobuf to an object of the expected kind, or the refusal a real server gives.

Called by every verb that takes an object. Decoding is msgspec's; only a body it refuses, or one that may name a member twice, is
looked at again, slowly.
"""

from collections.abc import Iterable
import json
from typing import Any

import msgspec

from pocketkube.apiserver import gotext
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.refusal import Refused, bad_request, failure
from pocketkube.apiserver.serving import gojson, yamlbodies
from pocketkube.apiserver.serving.negotiation import JSON, YAML
from pocketkube.apiserver.types import protobuf

LARGEST = 3 * 1024 * 1024
"""Bytes of the largest body a server reads."""

_SHOWN = 30
EXACT = 2.0**63
"""Whole numbers from here on stay floats: storage keeps no longer integers."""

HEADER = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

Object = dict[str, Any]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Unreadable(ValueError):
    """A text is not JSON or not YAML; the message is the server's."""


def check_size(body: bytes) -> None:
    """Refuses a body that is too large."""
    if len(body) > LARGEST:
        raise too_large()


def too_large() -> Refused:
    """The refusal of a body over the limit."""
    stated = f"Request entity too large: limit is {LARGEST}"
    return failure(413, "RequestEntityTooLarge", stated)


def media_type(content_type: str) -> str:
    """The type of a body without its parameters; JSON if it has none."""
    return content_type.partition(";")[0].strip() or JSON


def unsupported() -> Refused:
    """Nobody here can read this type of body."""
    stated = f"the body of the request was in an unknown format - accepted media types include: {JSON}, {YAML}, {protobuf.MEDIA_TYPE}"
    return failure(415, "UnsupportedMediaType", stated)


def read(
    body: bytes, content_type: str, resource: Resource, kind: str = ""
) -> tuple[Object, list[str]]:
    """Decodes an object; returns it with the paths of members that stand there twice.

    Args:
        body: As sent.
        content_type: The header.
        resource: What the request is about.
        kind: The kind that is expected, if it is not that of the resource.

    Raises:
        Refused: 400, 413, 415.
    """
    check_size(body)
    media = media_type(content_type)
    expected = kind or resource.kind
    if media == protobuf.MEDIA_TYPE and (kind or not resource.custom):
        return _read_protobuf(body, resource, expected), []
    if media not in (JSON, YAML):
        raise unsupported()
    try:
        value, repeated = (decode_json if media == JSON else decode_yaml)(body)
    except Unreadable as error:
        stated = (
            f"couldn't get version/kind; json parse error: {error}" if media == JSON else str(error)
        )
        raise _unrecognized(expected, stated, body) from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        stated = f"json: cannot unmarshal {go_type(value)} into Go value of type {HEADER}"
        raise _unrecognized(
            expected, f"couldn't get version/kind; json parse error: {stated}", body
        )
    _check_header(value, expected, body)
    return value, repeated


def _read_protobuf(body: bytes, resource: Resource, expected: str) -> Object:
    api_version = resource.api_version if expected == resource.kind else ""
    try:
        return protobuf.decode(body, api_version, expected)
    except protobuf.NoEnvelope as problem:
        raise _unrecognized(expected, str(problem), body) from None
    except protobuf.NotOfKind as problem:
        version = problem.api_version.rpartition("/")[2]
        raise bad_request(
            f'{problem.kind} in version "{version}" cannot be handled as a {expected}: {problem}'
        ) from None


def _check_header(value: Object, expected: str, body: bytes) -> None:
    problem = header_problem(value)
    if problem:
        raise _unrecognized(expected, problem, body)


def header_problem(value: Object) -> str:
    """Why kind and version of an object cannot be read, if so; takes out those that are null."""
    for member in ("apiVersion", "kind"):
        found = value.get(member)
        if found is None:
            value.pop(member, None)
        elif not isinstance(found, str):
            stated = f"json: cannot unmarshal {go_type(found)} into Go struct field .{member} of type string"
            return f"couldn't get version/kind; json parse error: {stated}"
    return ""


def check_named(body: bytes, value: Object, resource: Resource, *, lenient: bool) -> None:
    """Refuses a custom object that leaves out its kind or version; a lenient reader has other words for that."""
    text = body.decode(errors="replace")
    if not value.get("kind"):
        stated = f"Object 'Kind' is missing in '{text}'"
        if lenient:
            raise _unhandled(resource, resource.version, stated)
        raise _unrecognized(resource.kind, stated, body)
    if "apiVersion" not in value and '"apiVersion"' in text:
        stated = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        raise _unhandled(resource, "", stated)
    if not value.get("apiVersion"):
        raise other_version("", resource)


def _unhandled(resource: Resource, version: str, stated: str) -> Refused:
    kind = resource.kind
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {stated}')


def other_version(version: str, resource: Resource) -> Refused:
    """A custom object of another version."""
    return bad_request(
        f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
    )


def _unrecognized(kind: str, stated: str, body: bytes) -> Refused:
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {stated} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    short, dots = body[:_SHOWN], " ..." if len(body) > _SHOWN else ""
    text = short.decode(errors="replace") if body.startswith(b"{") else short.hex()
    return text + dots


def go_type(value: Any) -> str:
    """How Go's decoder calls a JSON value."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "number"


def decode_json(body: bytes) -> tuple[Any, list[str]]:
    """Decodes JSON; returns the paths of members that stand there twice as well.

    Raises:
        Unreadable: it is none.
    """
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_slowly(body)
    if _encode(value) == body or _members(value) == body.count(b'":'):
        return value, []
    return value, _repeated(body.decode())


def reread(value: Any) -> Any:
    """What would be read if this were sent: a copy of one's own, in which nothing can stand twice."""
    body = _encode(value)
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_slowly(body)[0]


def _decode_slowly(body: bytes) -> tuple[Any, list[str]]:
    """Reads what Go reads and msgspec does not: broken UTF-8 and lone halves of characters become replacement characters."""
    text = body.decode(errors="replace")
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Unreadable(gojson.problem(text)) from None
    whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return json.loads(whole.decode("utf-8", "replace")), _repeated(text)


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _members(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_members, value.values()))
    return sum(map(_members, value)) if isinstance(value, list) else 0


class _Pairs(list[tuple[str, Any]]):
    """An object with all its members, repeated ones too."""


def _repeated(text: str) -> list[str]:
    try:
        value = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return []
    return list(dict.fromkeys(_find_repeated(value, "")))


def _find_repeated(value: Any, at: str) -> Iterable[str]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, member in value:
            path = f"{at}.{name}" if at else name
            if name in seen:
                yield path
            seen.add(name)
            yield from _find_repeated(member, path)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _find_repeated(entry, f"{at}[{index}]")


def decode_yaml(body: bytes) -> tuple[Any, list[str]]:
    """Decodes YAML as the JSON it stands for; most of it is JSON already.

    Raises:
        Unreadable: it is none, or has no JSON form.
    """
    if body.startswith(b"{"):
        try:
            return gotext.whole_numbers(_decode(body), EXACT), []
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    try:
        return gotext.whole_numbers(yamlbodies.decode(body.decode(errors="replace")), EXACT), []
    except yamlbodies.NotYaml as error:
        raise Unreadable(str(error)) from None
