"""A server that ended between a write and what follows from it does the rest when it starts again."""

from base64 import b64decode
from datetime import UTC, datetime
import json
import random
from typing import Any

from kubeloop.net.http import Request
from pocketkube.apiserver.access.access_check import ADMIN, Settings
from pocketkube.apiserver.access.tokens import make_key
from pocketkube.apiserver.assembly import Surroundings, assemble
from pocketkube.apiserver.server import ApiServer
from pocketkube.apiserver.storage import Storage, open_storage

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
HOME = "/api/v1/namespaces/default"
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer admin"}
TOKEN = "kubernetes.io/service-account-token"


async def start(storage: Storage) -> ApiServer:
    rng = random.Random(0)
    access = Settings(make_key(rng.randbytes), {"admin": ADMIN})
    server = assemble(storage, Surroundings(access=access), now=lambda: NOW, rng=rng)
    await server.start()
    return server


async def send(server: ApiServer, method: str, target: str, body: Any = None) -> tuple[int, Any]:
    sent = b"" if body is None else json.dumps(body).encode()
    reply = await server.handle(Request(method, target, HEADERS, sent))
    assert isinstance(reply.body, bytes)
    return reply.status, json.loads(reply.body)


def token_secret(name: str, account: str) -> Any:
    annotations = {"kubernetes.io/service-account.name": account}
    return {"metadata": {"name": name, "annotations": annotations}, "type": TOKEN}


async def test_roles_gather_what_a_crash_kept_them_from() -> None:
    async with open_storage(None) as storage:
        server = await start(storage)
        rule = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"]}
        labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
        server.world.followers.clear()
        meta = {"name": "widgets", "labels": labels}
        await send(server, "POST", ROLES, {"metadata": meta, "rules": [rule]})
        server = await start(storage)
        for name in ("view", "edit", "admin"):
            assert rule in (await send(server, "GET", f"{ROLES}/{name}"))[1]["rules"]


async def test_secrets_get_the_token_that_a_crash_kept_from_them() -> None:
    async with open_storage(None) as storage:
        server = await start(storage)
        for name in ("stays", "goes"):
            await send(server, "POST", f"{HOME}/serviceaccounts", {"metadata": {"name": name}})
        await send(server, "POST", f"{HOME}/secrets", token_secret("orphan", "goes"))
        server.world.followers.clear()
        await send(server, "POST", f"{HOME}/secrets", token_secret("late", "stays"))
        await send(server, "DELETE", f"{HOME}/serviceaccounts/goes")
        server = await start(storage)
        _, secret = await send(server, "GET", f"{HOME}/secrets/late")
        assert b64decode(secret["data"]["token"]).count(b".") == 2
        assert (await send(server, "GET", f"{HOME}/secrets/orphan"))[0] == 404


async def test_a_start_after_a_clean_end_writes_nothing() -> None:
    async with open_storage(None) as storage:
        server = await start(storage)
        await send(server, "POST", f"{HOME}/serviceaccounts", {"metadata": {"name": "a"}})
        await send(server, "POST", f"{HOME}/secrets", token_secret("token", "a"))
        before = storage.version
        await start(storage)
        assert storage.version == before


async def test_a_token_of_an_account_that_was_made_anew_goes() -> None:
    async with open_storage(None) as storage:
        server = await start(storage)
        account = {"metadata": {"name": "a"}}
        await send(server, "POST", f"{HOME}/serviceaccounts", account)
        await send(server, "POST", f"{HOME}/secrets", token_secret("token", "a"))
        server.world.followers.clear()
        await send(server, "DELETE", f"{HOME}/serviceaccounts/a")
        await send(server, "POST", f"{HOME}/serviceaccounts", account)
        server = await start(storage)
        assert (await send(server, "GET", f"{HOME}/secrets/token"))[0] == 404
