"""Who is asking: tokens of service accounts, reviews of tokens, and those who bring none."""

import base64
import json
from typing import Any

from tests.contract.objects import Home, everywhere, pod, simple
from tests.contract.wire import Server

TOKENS_ARE_REMEMBERED = 10.0
"""For so many seconds a real server believes a token that it has found good, whatever becomes of its pod."""


async def token_of(server: Server, home: Home, **spec: Any) -> dict[str, Any]:
    path = home("serviceaccounts", "default", "token")
    answer = (await server.post(path, {"spec": spec})).ok(201)
    assert answer["kind"] == "TokenRequest"
    status: dict[str, Any] = answer["status"]
    return status


def claims(token: str) -> dict[str, Any]:
    body = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return found


async def review(server: Server, token: str, **spec: Any) -> dict[str, Any]:
    answer = await server.post(everywhere("tokenreviews"), {"spec": {"token": token, **spec}})
    status: dict[str, Any] = answer.ok(201)["status"]
    return status


async def dies(server: Server, token: str) -> None:
    """Asks until the token is unknown: a real server hears of a deletion a little later."""
    answer = await server.until(
        lambda: server.get("/api", token=token),
        lambda answer: answer.status == 401,
        patience=2 * TOKENS_ARE_REMEMBERED,
    )
    answer.refused(401, "Unauthorized")


async def test_a_service_account_gets_a_token(server: Server, home: Home) -> None:
    status = await token_of(server, home)
    found = claims(status["token"])
    assert found["sub"] == f"system:serviceaccount:{home.name}:default"
    assert found["kubernetes.io"]["namespace"] == home.name
    assert found["kubernetes.io"]["serviceaccount"]["name"] == "default"
    assert found["exp"] - found["iat"] == 3600
    assert status["expirationTimestamp"].endswith("Z")


async def test_a_token_lives_as_long_as_asked(server: Server, home: Home) -> None:
    found = claims((await token_of(server, home, expirationSeconds=1200))["token"])
    assert found["exp"] - found["iat"] == 1200


async def test_a_token_lives_at_least_ten_minutes(server: Server, home: Home) -> None:
    answer = await server.post(
        home("serviceaccounts", "default", "token"), {"spec": {"expirationSeconds": 60}}
    )
    answer.refused(
        422,
        "Invalid",
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a '
        "duration less than 10 minutes",
    )


async def test_a_token_is_for_its_audience(server: Server, home: Home) -> None:
    token = (await token_of(server, home, audiences=["vault"]))["token"]
    assert claims(token)["aud"] == ["vault"]
    assert (await server.get("/api", token=token)).status == 401
    status = await review(server, token, audiences=["vault", "other"])
    assert (status["authenticated"], status["audiences"]) == (True, ["vault"])


async def test_an_account_that_is_not_there_has_no_token(server: Server, home: Home) -> None:
    answer = await server.post(home("serviceaccounts", "none", "token"), {"spec": {}})
    answer.refused(404, "NotFound", 'serviceaccounts "none" not found')


async def test_a_token_can_be_bound_to_a_pod(server: Server, home: Home) -> None:
    made = (await server.post(home("pods"), pod("a"))).ok(201)
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": made["metadata"]["uid"]}
    token = (await token_of(server, home, boundObjectRef=reference))["token"]
    assert claims(token)["kubernetes.io"]["pod"]["name"] == "a"
    user = (await review(server, token))["user"]
    assert user["extra"]["authentication.kubernetes.io/pod-name"] == ["a"]


async def test_a_token_dies_with_its_pod(server: Server, home: Home) -> None:
    made = (await server.post(home("pods"), pod("a"))).ok(201)
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": made["metadata"]["uid"]}
    token = (await token_of(server, home, boundObjectRef=reference))["token"]
    (await server.delete(home("pods", "a"))).ok()
    await dies(server, token)


async def test_a_token_cannot_be_bound_to_another_pod(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok(201)
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "other"}
    path = home("serviceaccounts", "default", "token")
    answer = await server.post(path, {"spec": {"boundObjectRef": reference}})
    status = answer.refused(409, "Conflict")
    assert (
        "the UID in the bound object reference (other) does not match the UID in record"
        in (status["message"])
    )


async def test_a_review_names_the_user(server: Server, home: Home) -> None:
    token = (await token_of(server, home))["token"]
    status = await review(server, token)
    assert status["authenticated"] is True
    assert status["user"]["username"] == f"system:serviceaccount:{home.name}:default"
    assert status["user"]["groups"] == [
        "system:serviceaccounts",
        f"system:serviceaccounts:{home.name}",
        "system:authenticated",
    ]
    assert status["user"]["extra"]["authentication.kubernetes.io/credential-id"]


async def test_a_review_of_rubbish_is_no(server: Server) -> None:
    status = await review(server, "rubbish")
    assert "authenticated" not in status or status["authenticated"] is False


async def test_a_review_needs_a_token(server: Server) -> None:
    answer = await server.post(everywhere("tokenreviews"), {"spec": {}})
    answer.refused(400, "BadRequest", "token is required for TokenReview in authentication")


async def test_an_account_is_known_by_its_token(server: Server, home: Home) -> None:
    token = (await token_of(server, home))["token"]
    answer = await server.post(everywhere("selfsubjectreviews"), {}, token=token)
    user = answer.ok(201)["status"]["userInfo"]
    assert user["username"] == f"system:serviceaccount:{home.name}:default"


async def test_an_account_without_rights_is_forbidden(server: Server, home: Home) -> None:
    token = (await token_of(server, home))["token"]
    (await server.get(home("pods"), token=token)).refused(
        403,
        "Forbidden",
        f'pods is forbidden: User "system:serviceaccount:{home.name}:default" cannot list resource "pods" in API group '
        f'"" in the namespace "{home.name}"',
    )


async def test_a_token_dies_with_its_account(server: Server, home: Home) -> None:
    (await server.post(home("serviceaccounts"), simple("v1", "ServiceAccount", "b"))).ok(201)
    token = (await server.post(home("serviceaccounts", "b", "token"), {"spec": {}})).ok()["status"][
        "token"
    ]
    (await server.delete(home("serviceaccounts", "b"))).ok()
    await dies(server, token)


async def test_an_unknown_token_is_unauthorized(server: Server) -> None:
    answer = await server.get("/api/v1/namespaces", token="nonsense")
    answer.refused(401, "Unauthorized", "Unauthorized")


async def test_a_forged_token_is_unauthorized(server: Server, home: Home) -> None:
    head, body, _ = (await token_of(server, home))["token"].split(".")
    answer = await server.get("/api", token=f"{head}.{body}.{'A' * 86}")
    answer.refused(401, "Unauthorized", "Unauthorized")


async def test_nobody_is_anonymous(server: Server) -> None:
    (await server.get("/api/v1/nodes", token="")).refused(
        403,
        "Forbidden",
        'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope',
    )


async def test_nobody_may_ask_for_version_and_health(server: Server) -> None:
    assert (await server.get("/version", token="")).status == 200
    assert (await server.get("/readyz", token="")).text == "ok"
    assert (await server.get("/api", token="")).status == 403


async def test_a_played_user_has_groups_and_extras(server: Server) -> None:
    headers = {
        "Impersonate-User": "alice",
        "Impersonate-Group": "painters",
        "Impersonate-Extra-Scopes": "view",
        "Impersonate-Uid": "42",
    }
    answer = await server.post(everywhere("selfsubjectreviews"), {}, headers=headers)
    assert answer.ok(201)["status"]["userInfo"] == {
        "username": "alice",
        "uid": "42",
        "groups": ["painters", "system:authenticated"],
        "extra": {"scopes": ["view"]},
    }


async def test_groups_without_a_user_are_refused(server: Server) -> None:
    answer = await server.get("/api", headers={"Impersonate-Group": "painters"})
    status = answer.refused(400, "BadRequest") if answer.status == 400 else answer.json
    assert "without impersonating a user" in status["message"]


async def test_a_service_account_can_be_played(server: Server, home: Home) -> None:
    name = f"system:serviceaccount:{home.name}:default"
    answer = await server.post(everywhere("selfsubjectreviews"), {}, user=name)
    assert answer.ok(201)["status"]["userInfo"]["groups"] == [
        "system:serviceaccounts",
        f"system:serviceaccounts:{home.name}",
        "system:authenticated",
    ]
