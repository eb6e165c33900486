"""Reviews as an API server sends them, and answers as it wants them."""

import base64
import json

import pytest

from kubeloop.objects.admission import AdmissionRequest, GroupVersionKind, GroupVersionResource
from kubeloop.objects.meta import JSON
from kubeloop.runtime.webhook import review
from kubeloop.runtime.webhook.review import Malformed, Verdict

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
POD: JSON = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": None}}
REQUEST: dict[str, JSON] = {
    "uid": UID,
    "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"},
    "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
    "requestResource": {"group": "", "version": "v1", "resource": "pods"},
    "name": "p",
    "namespace": "default",
    "operation": "CREATE",
    "userInfo": {"username": "ada", "groups": ["system:authenticated"], "extra": None},
    "object": POD,
    "oldObject": None,
    "dryRun": True,
    "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
}


def a_review(**changes: JSON) -> bytes:
    body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": REQUEST}
    return json.dumps(body | changes).encode()


def answered(verdict: Verdict) -> dict[str, JSON]:
    answer = json.loads(review.encode(UID, verdict))
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert "request" not in answer
    response: dict[str, JSON] = answer["response"]
    assert response.pop("uid") == UID
    return response


def test_a_request_is_read_with_everything_a_gate_may_ask() -> None:
    request = review.decode(a_review())

    assert request.uid == UID
    assert request.kind == GroupVersionKind(version="v1", kind="Pod")
    assert request.resource == GroupVersionResource(version="v1", resource="pods")
    assert (request.operation, request.namespace, request.name) == ("CREATE", "default", "p")
    assert request.user_info.username == "ada"
    assert request.dry_run is True
    assert request.old_object is None
    assert isinstance(request.object, dict)
    assert request.object["kind"] == "Pod"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        pytest.param(b"", "is not an AdmissionReview", id="an empty body"),
        pytest.param(b"not json", "is not an AdmissionReview", id="no JSON"),
        pytest.param(b"[]", "is not an AdmissionReview", id="JSON of another shape"),
        pytest.param(a_review()[:-20], "is not an AdmissionReview", id="a torn body"),
        pytest.param(
            a_review(request={"uid": 7}), r"\$\.request\.uid", id="a field of the wrong type"
        ),
        pytest.param(
            a_review(apiVersion="admission.k8s.io/v1beta1"),
            "got AdmissionReview of admission.k8s.io/v1beta1",
            id="an old version",
        ),
        pytest.param(a_review(kind="Pod"), "got Pod of", id="another kind"),
        pytest.param(b"{}", "got something of no version", id="an empty object"),
        pytest.param(a_review(request=None), "has no request", id="no request"),
        pytest.param(a_review(request={"uid": ""}), "has no uid", id="no uid"),
    ],
)
def test_a_body_that_is_no_review_is_refused_with_the_reason(body: bytes, complaint: str) -> None:
    with pytest.raises(Malformed, match=complaint):
        review.decode(body)


def test_leave_is_a_short_answer() -> None:
    assert answered(review.allow()) == {"allowed": True}


def test_changes_travel_as_a_json_patch() -> None:
    operations: list[JSON] = [{"op": "add", "path": "/metadata/labels/a", "value": "b"}]

    response = answered(review.allow(patch=operations))

    assert response.pop("patchType") == "JSONPatch"
    assert json.loads(base64.b64decode(str(response.pop("patch")))) == operations
    assert response == {"allowed": True}


def test_warnings_travel_with_leave_and_with_refusal() -> None:
    assert answered(review.allow(warnings=["careful"]))["warnings"] == ["careful"]
    assert answered(review.deny("no", warnings=["careful"]))["warnings"] == ["careful"]


def test_a_refusal_says_why() -> None:
    assert answered(review.deny("the quota is used up")) == {
        "allowed": False,
        "status": {
            "status": "Failure",
            "code": 403,
            "reason": "Forbidden",
            "message": "the quota is used up",
        },
    }


def test_a_refusal_for_a_field_names_it_for_people_and_for_programs() -> None:
    response = answered(
        review.deny("must be positive", field="spec.replicas", code=422, reason="Invalid")
    )

    assert response["status"] == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "spec.replicas: must be positive",
        "details": {
            "causes": [
                {
                    "reason": "FieldValueInvalid",
                    "message": "must be positive",
                    "field": "spec.replicas",
                }
            ]
        },
    }


def test_the_uid_of_the_request_comes_back() -> None:
    request: AdmissionRequest = review.decode(a_review())

    answer = json.loads(review.encode(request.uid, review.allow()))

    assert answer["response"]["uid"] == UID
