"""Questions about who somebody is and what they may do."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pocketkube.apiserver.access.access_check import ADMIN
from pocketkube.apiserver.access.reviews import REVIEWS
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.refusal import Refused

if TYPE_CHECKING:
    from tests.embedded.access.conftest import World

Object = dict[str, Any]

ALICE = User("alice", ("staff",), "7", {"b": ("2",), "a": ("1", "0")})
PODS = {"verb": "list", "resource": "pods", "namespace": "team"}
ALLOWED = {
    "allowed": True,
    "reason": 'RBAC: allowed by RoleBinding "here/team" of Role "lister" to User "alice"',
}


@pytest.fixture
async def team(world: "World") -> "World":
    await world.role("lister", "list core pods", namespace="team")
    await world.bind("here", "Role/lister", {"kind": "User", "name": "alice"}, namespace="team")
    await world.make("ServiceAccount", "bot", "team")
    return world


def test_a_review_says_whether_somebody_may_and_why(team: "World") -> None:
    asked = {"user": "alice", "resourceAttributes": PODS}
    assert team.review("subjectaccessreviews", asked) == ALLOWED
    assert team.review("localsubjectaccessreviews", asked, namespace="team") == ALLOWED
    assert team.review("selfsubjectaccessreviews", {"resourceAttributes": PODS}, ALICE) == ALLOWED
    other = {"user": "bob", "resourceAttributes": PODS}
    assert team.review("subjectaccessreviews", other) == {"allowed": False}
    path = {"user": "bob", "nonResourceAttributes": {"verb": "get", "path": "/x"}}
    assert team.review("subjectaccessreviews", path) == {"allowed": False}


def test_masters_need_no_reason(team: "World") -> None:
    asked = {"user": "x", "groups": ["system:masters"], "resourceAttributes": PODS}
    assert team.review("subjectaccessreviews", asked) == {"allowed": True}


@pytest.mark.parametrize(
    ("plural", "spec", "stated"),
    [
        pytest.param(
            "selfsubjectaccessreviews",
            {},
            "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            id="nothing is asked",
        ),
        pytest.param(
            "selfsubjectaccessreviews",
            {"resourceAttributes": PODS, "nonResourceAttributes": {"verb": "get", "path": "/a"}},
            'spec.nonResourceAttributes: Invalid value: {"Path":"/a","Verb":"get"}: cannot be specified in combination with resourceAttributes',
            id="two things are asked",
        ),
        pytest.param(
            "subjectaccessreviews",
            {"resourceAttributes": PODS},
            'spec.user: Invalid value: "": at least one of user or group must be specified',
            id="nobody is meant",
        ),
        pytest.param(
            "localsubjectaccessreviews",
            {"user": "x", "resourceAttributes": {"verb": "get"}},
            'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
            id="another namespace",
        ),
        pytest.param(
            "localsubjectaccessreviews",
            {"user": "x", "nonResourceAttributes": {"verb": "list", "path": "/"}},
            'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"list"}: disallowed on this kind of request',
            id="a path in a namespace",
        ),
        pytest.param(
            "selfsubjectaccessreviews",
            {"resourceAttributes": {"labelSelector": {}}},
            "spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required",
            id="a selector that says nothing",
        ),
        pytest.param(
            "selfsubjectaccessreviews",
            {"resourceAttributes": {"fieldSelector": {"rawSelector": "a=b", "requirements": [{}]}}},
            'spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements',
            id="a selector that says it twice",
        ),
    ],
)
def test_half_a_question_is_refused(team: "World", plural: str, spec: Object, stated: str) -> None:
    with pytest.raises(Refused) as caught:
        team.review(plural, spec, namespace="team")
    assert caught.value.status.code == 422
    assert caught.value.status.message == f'.authorization.k8s.io "" is invalid: {stated}'


def test_a_question_has_no_name(team: "World") -> None:
    asked = {"metadata": {"name": "x"}, "spec": {"resourceAttributes": PODS}}
    with pytest.raises(Refused, match=r'metadata: Invalid value: \{"name":"x"\}: must be empty'):
        team.access_checker.answer("selfsubjectaccessreviews", "", asked, ALICE)
    own = {"metadata": {"managedFields": [{}], "creationTimestamp": None}}
    team.access_checker.answer("selfsubjectaccessreviews", "", asked | own, ALICE)


def test_selectors_that_cannot_be_read_are_reported(team: "World") -> None:
    selectors = {"labelSelector": {"rawSelector": "a=!!"}, "fieldSelector": {"rawSelector": "a"}}
    answer = team.review(
        "selfsubjectaccessreviews", {"resourceAttributes": PODS | selectors}, ALICE
    )
    assert answer["evaluationError"] == (
        "spec.resourceAttributes.fieldSelector ignored due to parse error; "
        "spec.resourceAttributes.labelSelector ignored due to parse error"
    )


async def test_a_review_lists_what_one_may_do_in_a_namespace(team: "World") -> None:
    await team.role("public", "get : /healthz", "get core nodes = n1")
    await team.bind("public", "ClusterRole/public", {"kind": "Group", "name": "staff"})
    await team.bind("vain", "ClusterRole/gone", {"kind": "Group", "name": "staff"})
    rules = team.review("selfsubjectrulesreviews", {"namespace": "team"}, ALICE)
    assert rules == {
        "resourceRules": [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"], "resourceNames": ["n1"]},
            {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]},
        ],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}],
        "incomplete": False,
        "evaluationError": 'clusterrole.rbac.authorization.k8s.io "gone" not found',
    }
    with pytest.raises(Refused, match="no namespace on request"):
        team.review("selfsubjectrulesreviews", {}, ALICE)


def test_whoever_asks_hears_who_they_are(team: "World") -> None:
    stated = {
        "username": "alice",
        "uid": "7",
        "groups": ["staff"],
        "extra": {"a": ["1", "0"], "b": ["2"]},
    }
    answer = team.access_checker.answer("selfsubjectreviews", "", {}, ALICE)
    assert answer["status"] == {"userInfo": stated}
    assert answer["metadata"] == {"creationTimestamp": "2026-03-01T12:00:00Z"}


def test_a_token_review_says_whose_token_it_is_and_for_whom(team: "World") -> None:
    token = team.token(audiences=["vault", "https://test"])
    answer = team.review("tokenreviews", {"token": token})
    assert answer["authenticated"] is True
    assert answer["user"]["username"] == "system:serviceaccount:team:bot"
    assert answer["audiences"] == ["https://test"]
    elsewhere = team.review("tokenreviews", {"token": token, "audiences": ["vault", "x"]})
    assert elsewhere["audiences"] == ["vault"]
    known = team.review("tokenreviews", {"token": "admin"})
    assert known["user"]["groups"] == ["system:masters", "system:authenticated"]


def test_a_token_review_says_what_is_wrong_with_a_token(team: "World") -> None:
    def error(token: str, *audiences: str) -> object:
        answer = team.review("tokenreviews", {"token": token, "audiences": list(audiences)})
        assert answer.pop("user") == {}
        return answer.pop("error"), answer

    token = team.token()
    wrong = 'token audiences ["https://test"] is invalid for the target audiences ["x"]'
    assert error("abc") == ("invalid bearer token", {})
    assert error("admin", "x") == ("invalid bearer token", {})
    assert error(token, "x") == (f"[invalid bearer token, {wrong}]", {})
    team.pass_time(hours=2)
    expired = "service account token has expired"
    assert error(token) == (f"[invalid bearer token, {expired}]", {})
    with pytest.raises(Refused, match="token is required for TokenReview in authentication"):
        team.review("tokenreviews", {})


@pytest.mark.parametrize("plural", REVIEWS)
@pytest.mark.parametrize(
    "value", [None, 1, 1.5, "x", [1], {"token": [], "namespace": {}}], ids=repr
)
def test_members_of_any_type_are_answered(team: "World", plural: str, value: object) -> None:
    for review in (
        {"spec": value},
        {"metadata": value, "spec": {"user": value, "resourceAttributes": value}},
        {"spec": {"token": value, "groups": value, "resourceAttributes": {"labelSelector": value}}},
    ):
        with suppress(Refused):
            team.access_checker.answer(plural, "team", review, ADMIN)


def test_there_are_no_other_reviews(team: "World") -> None:
    with pytest.raises(Refused, match="could not find"):
        team.access_checker.answer("filmreviews", "", {}, ADMIN)
