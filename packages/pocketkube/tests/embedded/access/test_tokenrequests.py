"""Requests for tokens of service accounts."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pocketkube.apiserver.refusal import Refused

if TYPE_CHECKING:
    from tests.embedded.access.conftest import World

Object = dict[str, Any]


@pytest.fixture
async def team(world: "World") -> "World":
    await world.make("ServiceAccount", "bot", "team")
    await world.make("Secret", "s", "team")
    await world.make("Pod", "p", "team", spec={"serviceAccountName": "other"})
    return world


def test_an_empty_request_gets_an_hour_for_this_server(team: "World") -> None:
    answer = team.access_checker.issue("team", "bot", {})
    token = answer["status"].pop("token")
    assert answer == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": "bot",
            "namespace": "team",
            "uid": "uid-of-bot",
            "creationTimestamp": "2026-03-01T12:00:00Z",
        },
        "spec": {
            "audiences": ["https://test"],
            "expirationSeconds": 3600,
            "boundObjectRef": None,
        },
        "status": {"expirationTimestamp": "2026-03-01T13:00:00Z"},
    }
    claims = team.access_checker.signer.read(token, "https://test")
    noon = int(team.now.timestamp())
    assert len(claims.pop("jti")) == 36
    assert claims == {
        "aud": ["https://test"],
        "exp": noon + 3600,
        "iat": noon,
        "nbf": noon,
        "iss": "https://test",
        "kubernetes.io": {
            "namespace": "team",
            "serviceaccount": {"name": "bot", "uid": "uid-of-bot"},
        },
        "sub": "system:serviceaccount:team:bot",
    }


async def test_the_hour_that_pods_ask_for_is_a_year_for_clients_that_forget(team: "World") -> None:
    await team.make("Pod", "mine", "team", spec={"serviceAccountName": "bot"})
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "mine"}
    claims = team.access_checker.signer.read(
        team.token(expirationSeconds=3607, boundObjectRef=bound), "https://test"
    )
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607


def test_equal_claims_give_equal_tokens(team: "World") -> None:
    signer = team.access_checker.signer
    assert signer.sign({"a": 1}) == signer.sign({"a": 1})


@pytest.mark.parametrize(
    ("request_", "code", "stated"),
    [
        pytest.param(
            {"spec": {"expirationSeconds": 599}},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
            id="too short",
        ),
        pytest.param(
            {"spec": {"expirationSeconds": 2**32 + 1}},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
            id="too long",
        ),
        pytest.param(
            {"metadata": {"name": "x"}},
            422,
            'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified',
            id="another name",
        ),
        pytest.param(
            {"metadata": {"uid": "x"}},
            409,
            'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "bot": the UID in the token request (x) does not match the UID of the service account (uid-of-bot)',
            id="another account of that name",
        ),
        pytest.param(
            {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "x"}}},
            404,
            'pods "x" not found',
            id="bound to nothing",
        ),
        pytest.param(
            {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}},
            400,
            'cannot bind token for serviceaccount "bot" to pod running with different serviceaccount name.',
            id="bound to somebody else's pod",
        ),
        pytest.param(
            {"spec": {"boundObjectRef": {"kind": "Deployment", "apiVersion": "apps/v1"}}},
            400,
            "cannot bind token to object of type apps/v1, Kind=Deployment",
            id="bound to another kind",
        ),
        pytest.param(
            {"spec": {"boundObjectRef": {}}},
            400,
            "cannot bind token to object of type /, Kind=",
            id="bound to no kind",
        ),
        pytest.param(
            {"spec": {"boundObjectRef": {"kind": "Secret", "name": "s", "uid": "1"}}},
            409,
            'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (1) does not match the UID in record. The object might have been deleted and then recreated',
            id="bound to an earlier secret",
        ),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(
    team: "World", request_: Object, code: int, stated: str
) -> None:
    with pytest.raises(Refused) as caught:
        team.access_checker.issue("team", "bot", request_)
    assert (caught.value.status.code, caught.value.status.message) == (code, stated)


def test_there_is_no_token_for_an_account_that_is_not_there(team: "World") -> None:
    with pytest.raises(Refused, match='serviceaccounts "bob" not found'):
        team.access_checker.issue("team", "bob", {})


@pytest.mark.parametrize("value", [None, 1, 1.5, "x", [1], {"a": 1}, True], ids=repr)
@pytest.mark.parametrize("member", ["metadata", "spec", "spec.boundObjectRef", "spec.audiences"])
def test_members_of_any_type_are_answered(team: "World", member: str, value: object) -> None:
    first, _, second = member.partition(".")
    with suppress(Refused):
        team.access_checker.issue("team", "bot", {first: {second: value} if second else value})
