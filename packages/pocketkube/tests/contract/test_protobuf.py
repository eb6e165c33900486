"""Bodies in protobuf, which typed clients send: read as JSON is, and answered in JSON if the client takes it."""

import pytest
from tests.contract.objects import Home, config_map, unique
from tests.contract.wire import Server

PROTOBUF = {
    "Content-Type": "application/vnd.kubernetes.protobuf",
    "Accept": "application/vnd.kubernetes.protobuf,application/json",
}
ASKED = {**PROTOBUF, "Accept": "application/json"}


def field(number: int, value: bytes | str | int) -> bytes:
    """One field of a message; texts, messages and numbers are short here."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    raw = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(raw)]) + raw


def sent(api_version: str, kind: str, *fields: bytes) -> bytes:
    """An object as a client puts it on the wire."""
    about = field(1, api_version) + field(2, kind)
    return b"k8s\0" + field(1, about) + field(2, b"".join(fields))


def entry(key: str, value: str) -> bytes:
    return field(1, key) + field(2, value)


def named(name: str, *more: bytes) -> bytes:
    return field(1, field(1, name) + b"".join(more))


async def test_an_object_is_created(server: Server, home: Home) -> None:
    labels = field(11, entry("app", "web"))
    body = sent("v1", "ConfigMap", named("a", labels), field(2, entry("k", "v")))
    made = (await server.post(home("configmaps"), body, headers=ASKED)).ok(201)
    assert (made["kind"], made["data"], made["metadata"]["labels"]) == (
        "ConfigMap",
        {"k": "v"},
        {"app": "web"},
    )


async def test_kind_and_version_may_be_left_out(server: Server, home: Home) -> None:
    body = b"k8s\0" + field(2, named("a"))
    assert (await server.post(home("configmaps"), body, headers=ASKED)).ok(201)["metadata"]["name"]


async def test_an_object_is_replaced(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok(201)
    body = sent("v1", "ConfigMap", named("a"), field(2, entry("k", "w")))
    made = (await server.put(home("configmaps", "a"), body, headers=ASKED)).ok()
    assert made["data"] == {"k": "w"}


async def test_how_to_delete_is_read(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok(201)
    other = sent("v1", "DeleteOptions", field(2, field(1, "another")))
    (await server.delete(home("configmaps", "a"), other, headers=ASKED)).refused(409, "Conflict")
    dry = sent("v1", "DeleteOptions", field(5, "All"))
    (await server.delete(home("configmaps", "a"), dry, headers=ASKED)).ok()
    (await server.get(home("configmaps", "a"))).ok()
    (await server.delete(home("configmaps", "a"), sent("v1", "DeleteOptions"), headers=ASKED)).ok()
    (await server.get(home("configmaps", "a"))).refused(404, "NotFound")


async def test_a_question_is_answered(server: Server) -> None:
    asked = field(2, "get") + field(4, "") + field(5, "*") + field(6, "pods")
    body = sent(
        "authorization.k8s.io/v1",
        "SelfSubjectAccessReview",
        field(1, b""),
        field(2, field(1, field(1, "x") + asked)),
    )
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = (await server.post(path, body, headers=ASKED)).ok(201)
    assert answer["status"]["allowed"] is True


async def test_a_rule_is_refused_as_in_json(server: Server) -> None:
    answer = await server.post(
        "/api/v1/namespaces", sent("v1", "Namespace", named("A")), headers=ASKED
    )
    assert answer.refused(422, "Invalid")["details"]["causes"][0]["field"] == "metadata.name"


CONFIG_MAP = b"k8s\0\n\x0f\n\x02v1\x12\x09ConfigMap"
UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
UNHANDLED = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '


@pytest.mark.parametrize(
    ("body", "stated"),
    [
        pytest.param(b"", f"{UNRECOGNIZED}empty data (<empty>)", id="nothing"),
        pytest.param(
            b"garbage",
            f"{UNRECOGNIZED}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] "
            "(67617262616765)",
            id="something else",
        ),
        pytest.param(b"k8s\0", f"{UNRECOGNIZED}empty body (6b387300)", id="only the beginning"),
        pytest.param(
            b"k8s\0\n\xff", f"{UNRECOGNIZED}unexpected EOF (6b3873000aff)", id="a cut envelope"
        ),
        pytest.param(
            CONFIG_MAP + b"\x12\x02\n\x55", f"{UNHANDLED}unexpected EOF", id="a cut object"
        ),
        pytest.param(
            CONFIG_MAP + b"\x12\x02\x08\x05",
            f"{UNHANDLED}proto: wrong wireType = 0 for field ObjectMeta",
            id="a member of another type",
        ),
        pytest.param(
            sent("v1", "ConfigNap"),
            'ConfigNap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigNap" is registered for version "v1" '
            'in scheme "pkg/runtime/scheme.go:111"',
            id="an unknown kind",
        ),
        pytest.param(
            sent("v1", "Pod"),
            'Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown '
            "conversion",
            id="another kind",
        ),
    ],
)
async def test_what_is_no_object_is_refused(
    server: Server, home: Home, body: bytes, stated: str
) -> None:
    answer = await server.post(home("configmaps"), body, headers=ASKED)
    answer.refused(400, "BadRequest", stated)


@pytest.mark.parametrize(
    ("body", "stated"),
    [
        pytest.param(
            b"garbage",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
            id="something else",
        ),
        pytest.param(
            sent("v1", "DeleteOptions", field(1, b"\x05")),
            "proto: wrong wireType = 2 for field GracePeriodSeconds",
            id="a member of another type",
        ),
    ],
)
async def test_what_does_not_say_how_to_delete_is_refused(
    server: Server, home: Home, body: bytes, stated: str
) -> None:
    answer = await server.delete(home("configmaps", unique("none")), body, headers=ASKED)
    answer.refused(400, "BadRequest", stated)
