"""A server with its door closed: who is let in over HTTP, reviews, tokens, and roles that gather."""

from base64 import b64decode
from collections.abc import AsyncIterator
from datetime import UTC, datetime
import json
import random
from typing import Any

import pytest

from kubeloop.net.http import Request
from pocketkube.apiserver.access.access_check import ADMIN, Settings
from pocketkube.apiserver.access.rbac import CLUSTER_ROLES
from pocketkube.apiserver.access.tokens import make_key
from pocketkube.apiserver.assembly import Surroundings, assemble
from pocketkube.apiserver.server import ApiServer
from pocketkube.apiserver.storage import Key, open_storage

Object = dict[str, Any]

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MASTER = "admin"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCESS = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"


class World:
    def __init__(self, server: ApiServer) -> None:
        self.server = server

    async def send(
        self, method: str, target: str, body: Object | None = None, token: str = MASTER
    ) -> tuple[int, Object]:
        headers = {"Content-Type": "application/json", "User-Agent": "test"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        sent = b"" if body is None else json.dumps(body).encode()
        reply = await self.server.handle(Request(method, target, headers, sent))
        assert isinstance(reply.body, bytes)
        return reply.status, json.loads(reply.body)

    async def rules(self, name: str) -> list[Object]:
        _, role = await self.send("GET", f"{RBAC}/clusterroles/{name}")
        rules: list[Object] = role["rules"]
        return rules


@pytest.fixture
async def world() -> AsyncIterator[World]:
    rng = random.Random(0)
    surroundings = Surroundings(
        access=Settings(make_key(rng.randbytes), {MASTER: ADMIN}, authority=b"PEM")
    )
    async with open_storage(None, inline=True) as storage:
        server = assemble(storage, surroundings, now=lambda: NOW, rng=rng)
        await server.start()
        world = World(server)
        for path, name in (
            ("/api/v1/namespaces", "team"),
            ("/api/v1/namespaces/team/serviceaccounts", "bot"),
        ):
            code, _ = await world.send("POST", path, {"metadata": {"name": name}})
            assert code == 201
        yield world
        await server.close()


async def a_token(world: World) -> str:
    path = "/api/v1/namespaces/team/serviceaccounts/bot/token"
    code, answer = await world.send("POST", path, {})
    assert code == 201
    return str(answer["status"]["token"])


async def test_a_token_is_issued_and_lets_its_account_in(world: World) -> None:
    path = "/api/v1/namespaces/team/serviceaccounts/bot/token"
    code, answer = await world.send("POST", path, {"spec": {"expirationSeconds": 600}})
    assert (code, answer["kind"], answer["metadata"]["name"]) == (201, "TokenRequest", "bot")
    (owner,) = answer["metadata"]["managedFields"]
    assert owner["fieldsV1"] == {"f:spec": {"f:expirationSeconds": {}}}
    token = answer["status"]["token"]
    code, whoami = await world.send("POST", f"{AUTHENTICATION}/selfsubjectreviews", {}, token)
    assert (code, whoami["status"]["userInfo"]["username"]) == (
        201,
        "system:serviceaccount:team:bot",
    )
    code, refusal = await world.send("GET", "/api/v1/namespaces/team/pods", token=token)
    assert (code, refusal["details"]) == (403, {"kind": "pods"})


async def test_bodies_of_another_kind_or_type_are_refused(world: World) -> None:
    path = "/api/v1/namespaces/team/serviceaccounts/bot/token"
    code, refusal = await world.send("POST", path, {"kind": "ConfigMap", "apiVersion": "v1"})
    assert code == 400
    assert refusal["message"] == (
        'ConfigMap in version "v1" cannot be handled as a TokenRequest: converting'
        " (v1.ConfigMap) to (authentication.TokenRequest): unknown conversion"
    )
    for spec in (1, [], {"audiences": 1}, {"expirationSeconds": "x"}, {"boundObjectRef": "x"}):
        code, _ = await world.send("POST", path, {"spec": spec})
        assert code == 400
    code, _ = await world.send("POST", f"{ACCESS}/selfsubjectaccessreviews", {"spec": 1})
    assert code == 400


async def test_without_a_token_only_the_public_paths_answer(world: World) -> None:
    assert (await world.send("GET", "/version", token=""))[0] == 200
    code, refusal = await world.send("GET", "/apis", token="")
    assert (code, refusal["message"]) == (
        403,
        'forbidden: User "system:anonymous" cannot get path "/apis"',
    )
    assert (await world.send("GET", "/version", token="wrong"))[0] == 401


async def test_a_review_is_answered_and_not_stored(world: World) -> None:
    attributes = {"verb": "list", "resource": "pods", "namespace": "team"}
    asked = {"spec": {"user": "x", "groups": ["system:masters"], "resourceAttributes": attributes}}
    code, answer = await world.send("POST", f"{ACCESS}/subjectaccessreviews", asked)
    assert (code, answer["status"]) == (201, {"allowed": True})
    assert answer["kind"] == "SubjectAccessReview"
    assert answer["metadata"]["managedFields"][0]["manager"] == "test"
    assert (await world.send("GET", f"{ACCESS}/subjectaccessreviews"))[0] == 405
    place = f"{ACCESS}/namespaces/team/localsubjectaccessreviews"
    code, answer = await world.send("POST", place, asked)
    assert (code, answer["status"]) == (201, {"allowed": True})


async def test_a_role_that_is_labelled_for_viewers_is_theirs_at_once(world: World) -> None:
    before = await world.rules("admin")
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    rule = {"verbs": ["get"], "apiGroups": ["acme.io"], "resources": ["things"]}
    meta = {"name": "things", "labels": label}
    await world.send("POST", f"{RBAC}/clusterroles", {"metadata": meta, "rules": [rule]})
    for name in ("view", "edit", "admin"):
        assert rule in await world.rules(name)
    await world.send("DELETE", f"{RBAC}/clusterroles/things")
    assert await world.rules("admin") == before


async def test_the_roles_every_cluster_has_need_no_gathering(world: World) -> None:
    version = world.server.world.storage.version
    gathering = world.server.world.followers[CLUSTER_ROLES]
    await gathering(Key(CLUSTER_ROLES, "", "admin"))
    assert world.server.world.storage.version == version


async def test_accounts_may_learn_how_to_check_tokens(world: World) -> None:
    token = await a_token(world)
    code, about = await world.send("GET", "/.well-known/openid-configuration", token=token)
    assert (code, about["issuer"]) == (200, "https://kubernetes.default.svc.cluster.local")
    assert about["jwks_uri"] == "https://127.0.0.1:6443/openid/v1/jwks"
    code, keys = await world.send("GET", "/openid/v1/jwks", token=token)
    assert (code, keys["keys"][0]["alg"]) == (200, "ES256")
    assert (await world.send("GET", "/openid/v1/jwks", token=""))[0] == 403
    assert (await world.send("POST", "/openid/v1/jwks"))[0] == 405


async def test_nobody_writes_a_role_with_more_than_they_have(world: World) -> None:
    rule = {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"]}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "writer"}
    subject = {"kind": "ServiceAccount", "name": "bot"}
    place = f"{RBAC}/namespaces/team"
    await world.send("POST", f"{place}/roles", {"metadata": {"name": "writer"}, "rules": [rule]})
    binding = {"metadata": {"name": "writer"}, "roleRef": ref, "subjects": [subject]}
    await world.send("POST", f"{place}/rolebindings", binding)
    token = await a_token(world)
    less = {"metadata": {"name": "less"}, "rules": [rule | {"resources": ["roles"]}]}
    assert (await world.send("POST", f"{place}/roles", less, token))[0] == 201
    more = {"metadata": {"name": "more"}, "rules": [rule | {"verbs": ["*"]}]}
    code, refusal = await world.send("POST", f"{place}/roles", more, token)
    assert (code, "not currently held" in refusal["message"]) == (403, True)
    admin = {
        "metadata": {"name": "admin"},
        "roleRef": ref | {"kind": "ClusterRole", "name": "admin"},
    }
    code, refusal = await world.send("POST", f"{place}/rolebindings", admin, token)
    assert (code, "not currently held" in refusal["message"]) == (403, True)


async def test_an_object_may_be_sent_in_protobuf(world: World) -> None:
    about = b"\x0a\x02v1\x12\x09ConfigMap"
    meta = b"\x0a\x03\x0a\x01a"
    sent = b"k8s\x00\x0a" + bytes([len(about)]) + about + b"\x12" + bytes([len(meta)]) + meta
    headers = {
        "Authorization": f"Bearer {MASTER}",
        "Content-Type": "application/vnd.kubernetes.protobuf",
        "Accept": "application/vnd.kubernetes.protobuf,application/json",
    }
    target = "/api/v1/namespaces/team/configmaps"
    reply = await world.server.handle(Request("POST", target, headers, sent))
    assert (reply.status, reply.headers["Content-Type"]) == (201, "application/json")
    reply = await world.server.handle(Request("POST", target, headers, sent[:-1]))
    assert reply.status == 400
    await world.send("DELETE", f"{target}/a")
    assert (await world.send("GET", f"{target}/a"))[0] == 404


def a_secret(account: str) -> Object:
    meta = {"name": "s", "annotations": {"kubernetes.io/service-account.name": account}}
    return {"metadata": meta, "type": "kubernetes.io/service-account-token"}


async def test_a_secret_of_an_account_is_filled_and_ends_with_it(world: World) -> None:
    place = "/api/v1/namespaces/team/secrets"
    assert (await world.send("POST", place, a_secret("bot")))[0] == 201
    _, secret = await world.send("GET", f"{place}/s")
    data = {name: b64decode(value) for name, value in secret["data"].items()}
    token = data.pop("token").decode()
    assert data == {"ca.crt": b"PEM", "namespace": b"team"}
    _, whoami = await world.send("POST", f"{AUTHENTICATION}/selfsubjectreviews", {}, token)
    assert whoami["status"]["userInfo"]["username"] == "system:serviceaccount:team:bot"
    await world.send("PUT", f"{place}/s", {**secret, "data": {}})
    _, secret = await world.send("GET", f"{place}/s")
    assert b64decode(secret["data"]["token"]).decode() == token
    await world.send("DELETE", "/api/v1/namespaces/team/serviceaccounts/bot")
    assert (await world.send("GET", f"{place}/s"))[0] == 404


async def test_a_secret_of_no_account_does_not_stay(world: World) -> None:
    place = "/api/v1/namespaces/team/secrets"
    assert (await world.send("POST", place, a_secret("nobody")))[0] == 201
    assert (await world.send("GET", f"{place}/s"))[0] == 404


@pytest.mark.parametrize(
    "target",
    ["/%ff", "/apis/%ff/v1/x", "/api/v1/namespaces/%ff/pods", "/api/v1/namespaces/team/pods/%ff"],
)
@pytest.mark.parametrize("token", [MASTER, ""], ids=["the administrator", "nobody"])
async def test_paths_that_are_no_text_are_answered(world: World, target: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    reply = await world.server.handle(Request("GET", target, headers))
    assert reply.status in (200, 403, 404)
