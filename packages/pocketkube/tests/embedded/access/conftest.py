"""A small cluster as access sees it: stored objects, a clock that is set by hand, and a door."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
import hashlib
import random
from typing import Any

import pytest

from pocketkube.apiserver.access import policy
from pocketkube.apiserver.access.access_check import ADMIN, AccessCheck, Settings
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.tokens import make_key
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.storage import Create, Delete, Key, Storage, Update, open_storage
from pocketkube.apiserver.view import View, decoded, draft

Object = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
STORED = {
    "ClusterRole": f"clusterroles.{RBAC}",
    "ClusterRoleBinding": f"clusterrolebindings.{RBAC}",
    "Role": f"roles.{RBAC}",
    "RoleBinding": f"rolebindings.{RBAC}",
    "ServiceAccount": "serviceaccounts",
    "Secret": "secrets",
    "Pod": "pods",
    "Node": "nodes",
}


def chance(count: int) -> bytes:
    return hashlib.shake_256(b"test").digest(count)


class World:
    def __init__(self, storage: Storage) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.storage = storage
        tokens = {"admin": ADMIN, "alice": User("alice", ("staff",)), "nobody": User("nobody")}
        settings = Settings(make_key(chance), tokens, "https://test")
        self.access_checker = AccessCheck(
            View(storage), settings, lambda: self.now, random.Random(0)
        )

    def pass_time(self, **span: float) -> None:
        self.now += timedelta(**span)

    async def put(self, obj: Object) -> None:
        meta = obj["metadata"]
        key = Key(STORED[obj["kind"]], meta.get("namespace", ""), meta["name"])
        old = self.storage.get(key)
        write = Create(key, draft(obj)) if old is None else Update(key, draft(obj), old.version)
        await self.storage.write(write)

    async def make(self, kind: str, name: str, namespace: str = "", **content: Any) -> None:
        home = {"namespace": namespace} if namespace else {}
        meta = {"name": name, "uid": f"uid-of-{name}", **home, **content.pop("metadata", {})}
        await self.put({"kind": kind, "metadata": meta, **content})

    async def remove(self, kind: str, name: str, namespace: str = "") -> None:
        key = Key(STORED[kind], namespace, name)
        record = self.storage.get(key)
        assert record is not None
        await self.storage.write(Delete(key, draft(decoded(record)), record.version))

    async def role(self, name: str, *rules: str, namespace: str = "") -> None:
        """Makes a role of rules such as `get,list apps deployments` or `get : /metrics`."""
        kind = "Role" if namespace else "ClusterRole"
        written = [policy.rule(rule) for rule in rules]
        await self.make(kind, name, namespace, rules=written)

    async def bind(
        self, name: str, role: str, *subjects: Mapping[str, str], namespace: str = ""
    ) -> None:
        """Binds `ClusterRole/edit` or `Role/own` to subjects."""
        kind, _, named = role.partition("/")
        ref = {"apiGroup": RBAC, "kind": kind, "name": named}
        bound = "RoleBinding" if namespace else "ClusterRoleBinding"
        await self.make(bound, name, namespace, subjects=list(subjects), roleRef=ref)

    def enter(self, token: str, action: Action, **headers: str) -> User:
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.access_checker.enter(sent, action)

    def refusal(self, token: str, action: Action, **headers: str) -> tuple[int, str]:
        """How a request is refused; (200, "") if it is not."""
        try:
            self.enter(token, action, **headers)
        except Refused as refused:
            return refused.status.code, refused.status.message
        return 200, ""

    def may(self, token: str, action: Action) -> bool:
        return self.refusal(token, action)[0] == 200

    def token(self, name: str = "bot", namespace: str = "team", **spec: Any) -> str:
        answer = self.access_checker.issue(namespace, name, {"spec": spec})
        return str(answer["status"]["token"])

    def review(self, plural: str, spec: Object, user: User = ADMIN, namespace: str = "") -> Object:
        answer: Object = self.access_checker.answer(plural, namespace, {"spec": spec}, user)[
            "status"
        ]
        return answer


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_storage(None, inline=True) as storage:
        yield World(storage)
