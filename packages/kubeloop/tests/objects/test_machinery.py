import msgspec
import pytest

from kubeloop.objects import codec, core, machinery
from kubeloop.objects.meta import JSON, Kind, Object


def test_a_refusal_of_the_server_names_the_field() -> None:
    body: JSON = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "busy",
        "reason": "TooManyRequests",
        "details": {
            "kind": "pods",
            "causes": [{"reason": "FieldValueInvalid", "message": "bad", "field": "spec.x"}],
            "retryAfterSeconds": 7,
        },
        "code": 429,
    }

    status = codec.decode(msgspec.json.encode(body), machinery.Status)

    assert (status.code, status.reason) == (429, "TooManyRequests")
    assert status.details is not None
    assert status.details.retry_after_seconds == 7
    assert status.details.causes == (
        machinery.StatusCause(reason="FieldValueInvalid", message="bad", field="spec.x"),
    )


def test_a_definition_the_server_has_only_just_stored_is_read() -> None:
    body = b'{"spec":{"group":"x"},"status":{"conditions":null,"storedVersions":null}}'

    fresh = msgspec.json.decode(body, type=machinery.CustomResourceDefinition)

    assert fresh.spec == {"group": "x"}
    assert fresh.status.conditions is None


def test_a_definition_tells_when_it_is_established() -> None:
    body: JSON = {"status": {"conditions": [{"type": "Established", "status": "True"}]}}

    known = codec.convert(body, machinery.CustomResourceDefinition)

    established = core.reported(known.status.conditions or (), "Established")
    assert established is not None
    assert established.status == "True"


def test_reviews_ask_with_a_spec_and_answer_with_a_status() -> None:
    token: JSON = {"status": {"authenticated": True, "user": {"username": "bot", "groups": ["g"]}}}
    question = machinery.SubjectAccessReview(
        spec=machinery.SubjectAccessReviewSpec(
            user="bot",
            non_resource_attributes=machinery.NonResourceAttributes(path="/metrics", verb="get"),
        )
    )

    assert codec.convert(token, machinery.TokenReview).status.user == machinery.UserInfo(
        username="bot", groups=("g",)
    )
    assert msgspec.to_builtins(question) == {
        "spec": {
            "user": "bot",
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        }
    }
    assert codec.convert(
        {"status": {"allowed": True}}, machinery.SubjectAccessReview
    ).status.allowed


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (
            machinery.CUSTOM_RESOURCE_DEFINITIONS,
            "customresourcedefinitions.apiextensions.k8s.io",
        ),
        (machinery.TOKEN_REVIEWS, "tokenreviews.authentication.k8s.io"),
        (machinery.SELF_SUBJECT_REVIEWS, "selfsubjectreviews.authentication.k8s.io"),
        (machinery.SUBJECT_ACCESS_REVIEWS, "subjectaccessreviews.authorization.k8s.io"),
    ],
    ids=str,
)
def test_kinds_name_their_resource_of_the_cluster(kind: Kind[Object], name: str) -> None:
    assert str(kind) == name
    assert not kind.namespaced
