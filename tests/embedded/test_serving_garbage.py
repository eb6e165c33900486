"""Whatever is sent, a Status comes back: random requests, wrong types everywhere, deep and broken bodies."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
import json
import random
from typing import Any

import pytest

from korder.embedded.apiserver.server import ApiServer
from korder.embedded.apiserver.storage import open_storage
from korder.net.http import Request
from korder.net.inprocess import InProcessTransport

NOW = datetime(2026, 1, 31, 8, 30, tzinfo=UTC)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW")
WORDS = [
    "api",
    "apis",
    "v1",
    "apps",
    "batch",
    "namespaces",
    "default",
    "configmaps",
    "pods",
    "deployments",
    "nodes",
    "events",
    "jobs",
    "status",
    "scale",
    "watch",
    "a",
    "b",
    "x",
    "customresourcedefinitions",
    "apiextensions.k8s.io",
    "widgets.example.com",
    "leases",
    "coordination.k8s.io",
    "%2f",
    "%ff",
    "..",
    "openapi",
    "v3",
]
QUERY = [
    "watch=1&timeoutSeconds=1",
    "limit=x",
    "limit=1",
    "continue=e30",
    "resourceVersion=0",
    "resourceVersion=-1",
    "labelSelector=a%3D%3D%3D",
    "fieldSelector=x",
    "dryRun=All",
    "dryRun=x",
    "fieldManager=m",
    "force=x",
    "fieldValidation=Strict",
    "pretty=1",
    "sendInitialEvents=1",
    "resourceVersionMatch=Exact",
    "propagationPolicy=Orphan",
    "gracePeriodSeconds=9999999999999999999",
    "includeObject=Maybe",
    "%zz",
]
TYPES = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "text/plain",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/json;charset=x",
]
ACCEPTS = (
    "application/json",
    "application/yaml",
    "*/*",
    "text/html",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;q=x",
)
VALUES = (
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    1e300,
    "",
    "a",
    "\x00",
    "ä\ud800",
    [],
    {},
    [[]],
    {"": {}},
    [None],
    {"a": None},
)
MEMBERS = [
    "kind",
    "apiVersion",
    "metadata",
    "spec",
    "status",
    "data",
    "labels",
    "annotations",
    "name",
    "namespace",
    "finalizers",
    "ownerReferences",
    "replicas",
    "managedFields",
    "selector",
    "template",
    "containers",
    "resourceVersion",
    "uid",
    "op",
    "path",
    "value",
    "rules",
    "type",
    "versions",
    "names",
    "group",
]


@pytest.fixture
async def transport() -> AsyncIterator[InProcessTransport]:
    async with open_storage(None) as storage:
        server = ApiServer(storage, now=lambda: NOW, rng=random.Random(1))
        await server.start()
        yield InProcessTransport(server.handle)


def anything(chance: random.Random, depth: int = 0) -> Any:
    if depth > 4 or chance.random() < 0.4:
        return chance.choice(VALUES)
    if chance.random() < 0.2:
        return [anything(chance, depth + 1) for _ in range(chance.randrange(3))]
    members = chance.sample(MEMBERS, chance.randrange(1, 7))
    return {name: anything(chance, depth + 1) for name in members}


def broken(body: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(body) + 1)
    return (
        body[:at]
        + chance.choice((b"", b"\xff", b"\\u", b"}", b'"', b"\x00", b",,"))
        + body[at + 1 :]
    )


def target(chance: random.Random) -> str:
    known = (
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces",
        "/api/v1/namespaces/default/pods/a",
    )
    more = (
        "/apis/apps/v1/namespaces/default/deployments/a",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    )
    if chance.random() < 0.6:
        path = chance.choice((*known, *more)) + chance.choice(("", "/a", "/status", "/scale", "/"))
    else:
        path = "/" + "/".join(chance.choices(WORDS, k=chance.randrange(7)))
    query = "&".join(chance.sample(QUERY, chance.randrange(3)))
    return f"{path}?{query}" if query else path


def body(chance: random.Random) -> bytes:
    sent = anything(chance)
    if isinstance(sent, dict) and chance.random() < 0.8:
        meta = {
            "name": chance.choice(("a", "b")),
            **(anything(chance, 3) if chance.random() < 0.3 else {}),
        }
        sent = {**sent, "metadata": meta} if isinstance(meta, dict) else sent
        kind = chance.choice(
            (("ConfigMap", "v1"), ("Pod", "v1"), ("Deployment", "apps/v1"), ("Namespace", "v1"))
        )
        sent["kind"], sent["apiVersion"] = kind
    encoded = json.dumps(sent).encode()
    return broken(encoded, chance) if chance.random() < 0.2 else encoded


@pytest.mark.parametrize("seed", range(8))
async def test_no_request_is_the_servers_fault(transport: InProcessTransport, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(250):
        headers = {
            "Content-Type": chance.choice(TYPES),
            "Accept": chance.choice(ACCEPTS),
            "User-Agent": chance.choice(("a/b", "", "\x07")),
        }
        try:
            extra = body(chance)
        except TypeError:
            continue
        request = Request(chance.choice(METHODS), target(chance), headers, extra)
        async with await transport.send(request) as response:
            answer = await response.read()
        assert response.status < 500 or response.status == 504, (request, answer)


DEEP = b'{"a":' * 100_000
TOWERS = {
    "objects": b'{"data":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001,
    "objects without end": DEEP,
    "lists": b"[" * 50_000 + b"]" * 50_000,
    "yaml": b"a: " + b"[" * 3000 + b"]" * 3000,
}


@pytest.mark.parametrize("tower", TOWERS)
@pytest.mark.parametrize("media", TYPES)
async def test_deep_bodies_are_refused(
    transport: InProcessTransport, tower: str, media: str
) -> None:
    for method, path in (
        ("POST", ""),
        ("PATCH", "/a?fieldManager=m"),
        ("PUT", "/a"),
        ("DELETE", "/a"),
    ):
        target = f"/api/v1/namespaces/default/configmaps{path}"
        request = Request(method, target, {"Content-Type": media}, TOWERS[tower])
        async with await transport.send(request) as response:
            answer = json.loads(await response.read())
        assert 400 <= answer["code"] < 500
