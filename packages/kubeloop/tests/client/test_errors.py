"""The tree of errors: reason first, code if there is none, and words for people."""

import json
from typing import Any

import pytest

from kubeloop.client import errors
from kubeloop.objects.machinery import Status


def status(**fields: Any) -> bytes:
    return json.dumps(
        {"kind": "Status", "apiVersion": "v1", "status": "Failure", **fields}
    ).encode()


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotAllowed),
        (406, "NotAcceptable", errors.NotAcceptable),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Gone", errors.Gone),
        (410, "Expired", errors.Expired),
        (413, "RequestEntityTooLarge", errors.RequestEntityTooLarge),
        (415, "UnsupportedMediaType", errors.UnsupportedMediaType),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.InternalError),
        (500, "ServerTimeout", errors.ServerTimeout),
        (503, "ServiceUnavailable", errors.ServiceUnavailable),
        (504, "Timeout", errors.Timeout),
        (500, "Expired", errors.Expired),
        (409, "SomethingNew", errors.Conflict),
        (404, "", errors.NotFound),
        (418, "", errors.ApiError),
    ],
)
def test_the_reason_decides_and_the_code_stands_in(
    code: int, reason: str, kind: type[errors.ApiError]
) -> None:
    error = errors.from_response(code, {}, status(code=code, reason=reason, message="so it is"))
    assert type(error) is kind
    assert (error.code, error.reason, str(error)) == (
        code,
        reason,
        "the server does not accept our credentials (wrong or expired): so it is"
        if code == 401
        else "so it is",
    )


def test_expired_is_a_kind_of_gone() -> None:
    assert issubclass(errors.Expired, errors.Gone)


@pytest.mark.parametrize(
    ("code", "body", "message"),
    [
        pytest.param(
            404,
            b"404 page not found\n",
            "the server answered 404 Not Found: 404 page not found",
            id="text",
        ),
        pytest.param(502, b"", "the server answered 502 Bad Gateway", id="nothing"),
        pytest.param(502, b"\xff\xfe", "the server answered 502 Bad Gateway: ��", id="garbage"),
        pytest.param(599, b"{}", "the server answered 599", id="a code nobody knows"),
        pytest.param(
            500, b'{"kind":"Pod"}', "the server answered 500 Internal Server Error", id="an object"
        ),
        pytest.param(
            401,
            status(message="Unauthorized"),
            "the server does not accept our credentials (wrong or expired)",
            id="a stranger",
        ),
        pytest.param(400, status(message="m", details=None), "m", id="nulls"),
    ],
)
def test_there_are_always_words(code: int, body: bytes, message: str) -> None:
    assert str(errors.from_response(code, {}, body)) == message


def test_mistakes_come_with_their_fields() -> None:
    causes = [
        {"reason": "FieldValueInvalid", "message": "must be positive", "field": "spec.replicas"}
    ]
    error = errors.from_response(
        422, {}, status(reason="Invalid", details={"name": "web", "causes": causes})
    )
    assert [(cause.field, cause.message) for cause in error.causes] == [
        ("spec.replicas", "must be positive")
    ]
    assert error.details.name == "web"


@pytest.mark.parametrize(
    ("headers", "details", "expected"),
    [
        pytest.param({"Retry-After": "3"}, {}, 3.0, id="in a header"),
        pytest.param({"retry-after": "0"}, {}, 0.0, id="at once"),
        pytest.param({}, {"retryAfterSeconds": 5}, 5.0, id="in the body"),
        pytest.param({"Retry-After": "1"}, {"retryAfterSeconds": 5}, 1.0, id="header before body"),
        pytest.param({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, None, id="a date"),
        pytest.param({}, {}, None, id="not at all"),
    ],
)
def test_when_to_come_again(
    headers: dict[str, str], details: dict[str, Any], expected: float | None
) -> None:
    assert errors.from_response(429, headers, status(details=details)).retry_after == expected


def test_a_status_in_a_stream_brings_its_own_code() -> None:
    error = errors.from_status(Status(code=410, reason="Expired", message="too old"))
    assert (type(error), error.code) == (errors.Expired, 410)


def test_everything_has_one_root() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    raised = [kind for kind in kinds if issubclass(kind, Exception)]
    assert len(raised) > 20
    assert all(issubclass(kind, errors.KubeError) for kind in raised)
