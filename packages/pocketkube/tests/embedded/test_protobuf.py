"""Protobuf becomes what JSON would have been, and what is none is refused, whatever the bytes."""

from contextlib import suppress
import struct
from typing import Any

from hypothesis import given, strategies as st
import pytest

from pocketkube.apiserver.types import protobuf, table

KINDS = sorted(table.kinds())
MAGIC = b"k8s\0"


def varint(value: int) -> bytes:
    value %= 2**64
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def field(number: int, value: bytes | str | float) -> bytes:
    match value:
        case int():
            return varint(number << 3) + varint(value)
        case float():
            return varint(number << 3 | 1) + struct.pack("<d", value)
        case str():
            value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def sent(api_version: str, kind: str, *fields: bytes) -> bytes:
    about = field(1, api_version) + field(2, kind)
    return MAGIC + field(1, about) + field(2, b"".join(fields))


def decoded(body: bytes) -> Any:
    obj = protobuf.decode(body, "", "")
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def metadata(*fields: bytes) -> bytes:
    return sent("v1", "ConfigMap", field(1, b"".join(fields)))


def container(*fields: bytes) -> bytes:
    return sent("v1", "Pod", field(2, field(2, b"".join(fields))))


def schema(*fields: bytes) -> bytes:
    version = field(4, field(1, b"".join(fields)))
    kind = "CustomResourceDefinition"
    return sent("apiextensions.k8s.io/v1", kind, field(2, field(7, version)))


def within(obj: Any) -> Any:
    """What an object holds where `metadata`, `container` and `schema` put their fields."""
    match obj:
        case {"metadata": found} | {"spec": {"containers": [found]}}:
            return found
        case {"spec": {"versions": [{"schema": {"openAPIV3Schema": found}}]}}:
            return found
    return obj


def entry(key: str, value: bytes | str) -> bytes:
    return field(1, key) + field(2, value)


TIME = field(1, 1_600_000_000) + field(2, 123_456_789)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(metadata(field(1, "a")), {"name": "a"}, id="a text"),
        pytest.param(metadata(field(1, "a"), field(2, "")), {"name": "a"}, id="an empty text"),
        pytest.param(metadata(field(1, b"\xff")), {"name": "\ufffd"}, id="a broken text"),
        pytest.param(metadata(field(7, 5)), {"generation": 5}, id="a number"),
        pytest.param(metadata(field(7, -5)), {"generation": -5}, id="a negative number"),
        pytest.param(metadata(field(10, 0)), {"deletionGracePeriodSeconds": 0}, id="a set zero"),
        pytest.param(
            metadata(field(14, "a") + field(14, "")), {"finalizers": ["a", ""]}, id="a list"
        ),
        pytest.param(
            metadata(field(11, entry("a", "b")), field(11, field(1, "c"))),
            {"labels": {"a": "b", "c": ""}},
            id="a map",
        ),
        pytest.param(
            metadata(field(8, TIME)), {"creationTimestamp": "2020-09-13T12:26:40Z"}, id="a time"
        ),
        pytest.param(metadata(field(8, b"")), {}, id="no time"),
        pytest.param(
            metadata(field(17, field(7, field(1, b'{"f:data":{}}')))),
            {"managedFields": [{"fieldsV1": {"f:data": {}}}]},
            id="owned fields",
        ),
        pytest.param(
            metadata(field(99, "x"), field(98, 1), field(97, 1.5)), {}, id="unknown members"
        ),
        pytest.param(
            sent("v1", "Secret", field(2, entry("a", b"\x01\x02")), field(2, field(1, "b"))),
            {"data": {"a": "AQI=", "b": ""}},
            id="bytes",
        ),
        pytest.param(
            container(field(8, field(1, entry("cpu", field(1, "500m"))))),
            {"resources": {"limits": {"cpu": "500m"}}},
            id="a quantity",
        ),
        pytest.param(
            container(field(10, field(1, field(2, field(2, field(1, 1) + field(3, "web")))))),
            {"livenessProbe": {"httpGet": {"port": "web"}}},
            id="a port by its name",
        ),
        pytest.param(
            container(field(10, field(1, field(2, field(2, field(1, 0) + field(2, 80)))))),
            {"livenessProbe": {"httpGet": {"port": 80}}},
            id="a port by its number",
        ),
        pytest.param(
            sent("v1", "Pod", field(2, field(1, field(1, "v") + field(2, field(2, field(1, "")))))),
            {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
            id="members of an embedded struct",
        ),
        pytest.param(
            sent("coordination.k8s.io/v1", "Lease", field(2, field(4, TIME))),
            {"spec": {"renewTime": "2020-09-13T12:26:40.123456Z"}},
            id="a time with microseconds",
        ),
        pytest.param(
            sent("apps/v1", "ControllerRevision", field(2, field(1, b'{"a":[1]}'))),
            {"data": {"a": [1]}},
            id="any object",
        ),
        pytest.param(
            sent(
                "authorization.k8s.io/v1",
                "SubjectAccessReview",
                field(2, field(5, entry("k", field(1, "a") + field(1, "b")))),
            ),
            {"spec": {"extra": {"k": ["a", "b"]}}},
            id="lists in a map",
        ),
        pytest.param(schema(field(9, 1.5)), {"maximum": 1.5}, id="a fraction"),
        pytest.param(schema(field(8, field(1, b"[1]"))), {"default": [1]}, id="any value"),
        pytest.param(
            schema(field(24, field(1, field(5, "string")))),
            {"items": {"type": "string"}},
            id="the schema of items",
        ),
        pytest.param(
            schema(field(24, field(2, field(5, "string")))),
            {"items": [{"type": "string"}]},
            id="schemas of items",
        ),
        pytest.param(
            schema(field(30, field(1, 1))), {"additionalProperties": True}, id="yes to any schema"
        ),
        pytest.param(
            schema(field(30, field(1, 1) + field(2, field(5, "string")))),
            {"additionalProperties": {"type": "string"}},
            id="a schema instead of a yes",
        ),
        pytest.param(
            schema(field(32, entry("a", field(2, "b")))),
            {"dependencies": {"a": ["b"]}},
            id="names instead of a schema",
        ),
    ],
)
def test_a_message_becomes_an_object(body: bytes, expected: Any) -> None:
    assert within(decoded(body)) == expected


def test_what_is_not_reported_is_what_is_expected() -> None:
    obj = protobuf.decode(MAGIC + field(2, field(1, field(1, "a"))), "v1", "ConfigMap")
    assert obj == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def test_options_are_of_every_group() -> None:
    assert decoded(sent("apps/v1", "DeleteOptions", field(1, 0))) == {"gracePeriodSeconds": 0}


def test_numbers_may_come_in_one_piece() -> None:
    context = field(14, field(4, varint(1) + varint(300)))
    assert decoded(sent("v1", "Pod", field(2, context)))["spec"]["securityContext"] == {
        "supplementalGroups": [1, 300]
    }


def test_of_unknown_kinds_only_their_names_are_read() -> None:
    assert decoded(sent("example.com/v1", "Widget", b"\xff")) == {}


@pytest.mark.parametrize(
    ("message", "stated"),
    [
        pytest.param(b"\x0a", "unexpected EOF", id="no size"),
        pytest.param(b"\x0a\x05", "unexpected EOF", id="too short"),
        pytest.param(b"\xff" * 11, "proto: integer overflow", id="an endless number"),
        pytest.param(b"\x00\x00", "proto: illegal tag 0 (wire type 0)", id="no member's number"),
        pytest.param(b"\x0f", "proto: illegal wireType 7", id="an unknown form"),
        pytest.param(
            b"\x0a" + b"\xff" * 9 + b"\x01",
            "proto: negative length found during unmarshaling",
            id="a negative size",
        ),
        pytest.param(
            field(1, 1),
            "proto: wrong wireType = 0 for field ObjectMeta",
            id="a number for an object",
        ),
        pytest.param(
            field(3, field(2, 1.5)), "proto: wrong wireType = 1", id="a fraction for bytes in a map"
        ),
        pytest.param(
            field(1, field(8, field(1, 2**62))),
            "Time.MarshalJSON: year outside of range [0,9999]",
            id="the end of days",
        ),
        pytest.param(field(1, field(17, field(7, field(1, b"{")))), "truncated", id="broken JSON"),
    ],
)
def test_what_is_no_message_is_refused(message: bytes, stated: str) -> None:
    with pytest.raises(protobuf.NotOfKind) as refused:
        decoded(sent("v1", "ConfigMap", message))
    assert stated in str(refused.value)


def test_endless_nesting_is_refused() -> None:
    nested = b""
    for _ in range(5000):
        nested = field(28, nested)
    with pytest.raises(protobuf.NotOfKind):
        decoded(schema(nested))


@given(kind=st.sampled_from(KINDS), message=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(kind: tuple[str, str], message: bytes) -> None:
    with suppress(protobuf.NotOfKind):
        decoded(sent(*kind, message))


MESSAGES = st.recursive(
    st.one_of(st.binary(max_size=5), st.integers(0, 2**64 - 1), st.floats()),
    lambda inner: st.lists(st.tuples(st.integers(1, 45), inner), max_size=4).map(
        lambda fields: b"".join(field(*each) for each in fields)
    ),
)


@given(kind=st.sampled_from(KINDS), fields=st.lists(st.tuples(st.integers(1, 8), MESSAGES)))
def test_any_message_is_read_or_refused(
    kind: tuple[str, str], fields: list[tuple[int, bytes | float]]
) -> None:
    with suppress(protobuf.NotOfKind):
        decoded(sent(*kind, *(field(*each) for each in fields)))


@given(body=st.binary(max_size=50))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    for whole in (body, MAGIC + body):
        with suppress(protobuf.NoEnvelope, protobuf.NotOfKind):
            decoded(whole)
