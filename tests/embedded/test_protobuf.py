"""Bodies in protobuf, written here by hand: what they say, and that nothing else can come of them."""

from contextlib import suppress
import struct
from typing import Any

from hypothesis import given, strategies as st
import pytest

from korder.embedded.apiserver.types.protobuf import Malformed, decode

Field = tuple[int, int | str | bytes | list[Any] | float]


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(*fields: Field) -> bytes:
    """Whole numbers are varints, floats are doubles, texts, bytes and lists of fields have a length."""
    out = b""
    for number, value in fields:
        match value:
            case int():
                out += varint(number << 3) + varint(value)
            case float():
                out += varint(number << 3 | 1) + struct.pack("<d", value)
            case _:
                inner = message(*value) if isinstance(value, list) else value
                inner = inner.encode() if isinstance(inner, str) else inner
                out += varint(number << 3 | 2) + varint(len(inner)) + inner
    return out


def body(api_version: str, kind: str, *fields: Field) -> bytes:
    about = [(1, api_version), (2, kind)]
    return b"k8s\x00" + message((1, about), (2, message(*fields)), (3, ""), (4, ""))


def test_a_question_of_kubectl_is_read() -> None:
    attributes: list[Field] = [(1, "team"), (2, "list"), (3, ""), (5, "pods")]
    sent = body("authorization.k8s.io/v1", "SelfSubjectAccessReview", (2, [(1, attributes)]))
    assert decode(sent) == {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {"resourceAttributes": {"namespace": "team", "verb": "list", "resource": "pods"}},
    }


def test_members_of_all_forms_are_read() -> None:
    volume: list[Field] = [(1, "v"), (2, [(2, [(1, "Memory"), (2, [(1, "1Gi")])])])]
    env: list[Field] = [(1, "A"), (2, "")]
    probe: list[Field] = [(1, [(2, [(1, "/x"), (2, [(1, 1), (2, 0), (3, "http")])])]), (2, 7)]
    container: list[Field] = [
        (1, "c"),
        (3, "run"),
        (3, "fast"),
        (7, env),
        (8, [(1, [(1, "cpu"), (2, [(1, "500m")])])]),
        (10, probe),
        (18, 0),
    ]
    meta: list[Field] = [
        (1, "p"),
        (2, ""),
        (7, 0),
        (8, []),
        (11, [(1, "app"), (2, "web")]),
        (12, [(1, "empty")]),
    ]
    spec: list[Field] = [(1, volume), (2, container), (4, 0), (25, -5)]
    read = decode(body("v1", "Pod", (1, meta), (2, spec)))
    assert read["metadata"] == {"name": "p", "labels": {"app": "web"}, "annotations": {"empty": ""}}
    assert read["spec"] == {
        "volumes": [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
        "containers": [
            {
                "name": "c",
                "command": ["run", "fast"],
                "env": [{"name": "A"}],
                "resources": {"limits": {"cpu": "500m"}},
                "livenessProbe": {
                    "httpGet": {"path": "/x", "port": "http"},
                    "initialDelaySeconds": 7,
                },
            }
        ],
        "terminationGracePeriodSeconds": 0,
        "priority": -5,
    }


def test_instants_bytes_and_lists_in_maps_are_read() -> None:
    lease = decode(body("coordination.k8s.io/v1", "Lease", (2, [(4, [(1, 60), (2, 5000)])])))
    assert lease["spec"] == {"renewTime": "1970-01-01T00:01:00.000005Z"}
    secret = decode(body("v1", "Secret", (2, [(1, "k"), (2, b"\xff\x00")])))
    assert secret["data"] == {"k": "/wA="}
    spec: list[Field] = [(3, "x"), (5, [(1, "scope"), (2, [(1, "a"), (1, "b")])])]
    review = decode(body("authorization.k8s.io/v1", "SubjectAccessReview", (2, spec)))
    assert review["spec"] == {"user": "x", "extra": {"scope": ["a", "b"]}}


def test_options_are_known_in_every_group() -> None:
    read = decode(body("apps/v1", "DeleteOptions", (1, 0), (4, "Orphan"), (5, "All")))
    assert read == {
        "kind": "DeleteOptions",
        "apiVersion": "apps/v1",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Orphan",
        "dryRun": ["All"],
    }


def test_of_an_unknown_kind_only_the_name_is_read() -> None:
    assert decode(body("a/v1", "Thing", (1, "x"))) == {"kind": "Thing", "apiVersion": "a/v1"}


def test_members_nobody_knows_are_passed_over() -> None:
    read = decode(body("v1", "ConfigMap", (99, "x"), (98, 1), (97, 1.5)))
    assert read == {"kind": "ConfigMap", "apiVersion": "v1"}


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{}", id="JSON"),
        pytest.param(b"k8s\x00\x0a", id="cut off"),
        pytest.param(b"k8s\x00\x0b", id="a group"),
        pytest.param(b"k8s\x00" + b"\xff" * 11, id="an endless number"),
        pytest.param(body("v1", "ConfigMap", (1, 5)), id="a number for a message"),
        pytest.param(body("v1", "ConfigMap", (1, [(1, b"\xff")])), id="broken UTF-8"),
        pytest.param(body("v1", "Pod", (2, [(4, "x")])), id="a text for a number"),
        pytest.param(body("v1", "Pod", (1, [(8, [(1, 2**62)])])), id="after the end of time"),
        pytest.param(body("apps/v1", "ControllerRevision", (2, [(1, "{")])), id="broken JSON"),
        pytest.param(
            body("apps/v1", "ControllerRevision", (2, [(1, "[" * 50_000)])), id="deep JSON"
        ),
        pytest.param(
            body("apiextensions.k8s.io/v1", "CustomResourceDefinition"), id="a definition"
        ),
    ],
)
def test_what_is_no_message_is_refused(sent: bytes) -> None:
    with pytest.raises(Malformed):
        decode(sent)


@given(st.sampled_from(["Pod", "Secret", "Event", "Node"]), st.binary())
def test_whatever_is_sent_is_read_or_refused(kind: str, sent: bytes) -> None:
    with suppress(Malformed):
        decode(b"k8s\x00" + message((1, [(1, "v1"), (2, kind)]), (2, sent)))
    with suppress(Malformed):
        decode(b"k8s\x00" + sent)
