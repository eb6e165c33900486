"""Webhooks for the contract: an HTTPS server on loopback that both servers call, and configurations that lead to it."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cache
import json
from typing import Any

from tests.contract.objects import Home, everywhere, unique
from tests.contract.wire import Answer, Server

from kubeloop.net import certificates
from kubeloop.net.http import Request
from kubeloop.net.ports import LOOPBACK
from kubeloop.net.server import Reply, Server as HttpServer
from kubeloop.net.server_tls import ServerTls
from kubeloop.runtime.clock import SystemClock

Object = dict[str, Any]
Judge = Callable[[Object], Object | Reply | Awaitable[Object | Reply]]
"""Takes the request of a review and gives its response, or a whole reply."""

HEADERS = {"Content-Type": "application/json", "Connection": "close"}
GOODBYE = 0.1
"""Seconds in which the other side agrees that a connection is closed; asyncio complains about those that are not."""

GROUP = "admissionregistration.k8s.io/v1"


def allow(**more: Any) -> Object:
    return {"allowed": True, **more}


def deny(message: str, code: int = 403, **more: Any) -> Object:
    return {"allowed": False, "status": {"message": message, "code": code, **more}}


def patch(*operations: Object) -> Object:
    encoded = b64encode(json.dumps(operations).encode()).decode()
    return allow(patch=encoded, patchType="JSONPatch")


def label(name: str) -> Object:
    """A patch that adds a label to an object that has labels."""
    return patch({"op": "add", "path": f"/metadata/labels/{name}", "value": "yes"})


class Hooks:
    """The webhooks of one test, in force in its namespace only."""

    def __init__(self, server: Server, home: Home) -> None:
        self.server = server
        self.home = home
        self.asked: dict[str, list[Object]] = {}
        self.judges: dict[str, Judge] = {}
        self.port = 0

    async def answer(self, request: Request) -> Reply:
        """What the HTTPS server replies."""
        path = request.target.partition("?")[0]
        review = json.loads(request.body)
        self.asked[path].append(review["request"])
        verdict = self.judges[path](review["request"])
        if not isinstance(verdict, dict | Reply):
            verdict = await verdict
        if isinstance(verdict, Reply):
            return verdict
        review["response"] = {"uid": review["request"]["uid"], **verdict}
        return Reply(200, json.dumps(review).encode(), HEADERS)

    def hook(self, judge: Judge, **more: Any) -> Object:
        """A webhook of a configuration; `more` is laid over it."""
        path = f"/{unique('hook')}"
        self.judges[path] = judge
        self.asked[path] = []
        config = {
            "url": f"https://{LOOPBACK}:{self.port}{path}",
            "caBundle": b64encode(_authority().certificate).decode(),
        }
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["configmaps"],
        }
        return {
            "name": f"{path[1:]}.example.com",
            "clientConfig": config,
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.home.name}},
            "timeoutSeconds": 5,
            **more,
            "matchConditions": [_NO_PROBE, *more.get("matchConditions", ())],
        }

    def asked_of(self, hook: Object) -> list[Object]:
        """The requests a hook was asked about."""
        path = "/" + hook["clientConfig"]["url"].rpartition("/")[2]
        return self.asked[path]

    async def install(self, kind: str, *hooks: Object) -> str:
        """Makes a configuration of `Validating` or `Mutating` webhooks and waits until it is in force."""
        name = unique("hooks")
        probe = {
            **self.hook(lambda request: deny("probe", 418)),
            "matchConditions": [{"name": "probe", "expression": _PROBE}],
        }
        body = {
            "apiVersion": GROUP,
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [probe, *hooks],
        }
        path = everywhere(f"{kind.lower()}webhookconfigurations")
        (await self.server.post(path, body)).ok(201)
        probed = {"metadata": {"name": "probe"}}
        await self.server.until(
            lambda: self.server.post(self.home("configmaps"), probed, dryRun="All"),
            lambda answer: answer.status == 418,
        )
        return f"{path}/{name}"

    async def make(self, name: str = "a", **members: Any) -> Answer:
        """Makes a config map, which the hooks are asked about."""
        body = {"metadata": {"name": name, "labels": {"app": "a"}}, **members}
        return await self.server.post(self.home("configmaps"), body)


_PROBE = "object != null && object.metadata.name == 'probe'"
_NO_PROBE = {"name": "no-probe", "expression": f"!({_PROBE})"}


@asynccontextmanager
async def serving(server: Server, home: Home) -> AsyncIterator[Hooks]:
    """Listens for reviews while the block runs."""
    tls = ServerTls()
    tls.load(_pair())
    hooks = Hooks(server, home)
    listener = HttpServer(hooks.answer, LOOPBACK, 0, tls)
    hooks.port = await listener.start()
    try:
        yield hooks
    finally:
        await listener.stop(1)
        await asyncio.sleep(GOODBYE)


@cache
def _lifetime() -> certificates.Lifetime:
    now = SystemClock().now()
    return certificates.Lifetime(now - timedelta(hours=1), now + timedelta(days=1))


@cache
def _authority() -> certificates.Pair:
    return certificates.make_authority("contract", _lifetime())


@cache
def _pair() -> certificates.Pair:
    return certificates.issue(_authority(), [LOOPBACK], _lifetime())
