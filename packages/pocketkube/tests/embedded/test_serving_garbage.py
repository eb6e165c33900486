"""Whatever is sent, a Status comes back: random requests, wrong types everywhere, deep, huge and broken bodies."""

import asyncio
from collections.abc import AsyncIterator
import gc
import json
import os
import random
from typing import Any

import pytest
from tests.embedded.random_requests import RandomRequests

from kubeloop.net.http import Guard, Request, Response, Unreachable
from kubeloop.net.in_process import InProcessTransport
from kubeloop.runtime.clock import Clock
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server

SOAK_SEEDS = 5 * int(os.environ.get("KORDER_SEEDS", "20"))
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RULES = (
    *(f"{ADMISSION}/{change}webhookconfigurations" for change in ("mutating", "validating")),
    *(f"{ADMISSION}/{change}admissionpolicies" for change in ("mutating", "validating")),
    *(f"{ADMISSION}/{change}admissionpolicybindings" for change in ("mutating", "validating")),
    *("/api/v1/namespaces/default/resourcequotas", "/api/v1/namespaces/default/limitranges"),
)
"""What would keep the other requests from getting far."""

TYPES = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "text/plain",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
]


class NobodyThere:
    """What a webhook of a random configuration is."""

    async def send(self, request: Request, guard: Guard | None = None) -> Response:
        raise Unreachable("nobody is there")

    async def close(self) -> None:
        """Nothing is held."""


@pytest.fixture
async def server(clock: Clock) -> AsyncIterator[EmbeddedServer]:
    async with embedded_server(clock, connect=lambda _: NobodyThere()) as server:
        yield server


@pytest.fixture
def transport(server: EmbeddedServer) -> InProcessTransport:
    headers = {"Authorization": f"Bearer {server.admin_token}"}
    return InProcessTransport(server.api.handle, headers)


async def answer_to(transport: InProcessTransport, request: Request) -> tuple[Response, bytes]:
    response = await transport.send(request)
    async with response:
        return response, await response.read()


def check(request: Request, response: Response, body: bytes) -> None:
    """A server is allowed to be at a loss for others only: webhooks, and versions of the future."""
    stated = request, response.status, body[:2000]
    media = response.headers.get("Content-Type", "")
    found: Any = None
    rest = body.decode().strip() if media == "application/json" else ""
    while rest:
        found, end = json.JSONDecoder().raw_decode(rest)
        assert isinstance(found, dict), stated
        rest = rest[end:].lstrip()
    if response.status >= 500:
        assert found is not None, stated
        blamed = "failed calling webhook" in found["message"]
        assert (response.status == 504 and found["reason"] == "Timeout") or blamed, stated
    if response.status >= 400 and found is not None:
        assert found["kind"] == "Status", stated
        assert found["code"] == response.status, stated
        assert found["status"] == "Failure", stated


async def bombard(server: EmbeddedServer, seed: int, count: int) -> None:
    transport = server.transport()
    admin = {"Authorization": f"Bearer {server.admin_token}"}
    source = RandomRequests(server.api.world.registry.all, server.admin_token, random.Random(seed))
    for number in range(count):
        if number % 250 == 0:
            for path in RULES:
                await answer_to(transport, Request("DELETE", path, admin))
            for request in source.first():
                check(request, *await answer_to(transport, request))
        request = source.next()
        check(request, *await answer_to(transport, request))
    response, body = await answer_to(transport, Request("GET", "/api/v1/namespaces", admin))
    assert response.status == 200
    assert {"default", "kube-system"} <= {
        each["metadata"]["name"] for each in json.loads(body)["items"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
async def test_no_request_is_the_servers_fault(server: EmbeddedServer, seed: int) -> None:
    await bombard(server, seed, 1000)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1000 + SOAK_SEEDS))
async def test_no_request_is_the_servers_fault_many_times(
    server: EmbeddedServer, seed: int
) -> None:
    await bombard(server, seed, 2000)


@pytest.mark.slow
async def test_a_thousand_wrong_requests_leave_nothing_behind(server: EmbeddedServer) -> None:
    transport = server.transport()
    headers = {"Authorization": f"Bearer {server.admin_token}", "Content-Type": "application/json"}
    target = "/api/v1/namespaces/default/configmaps"
    sent = [
        Request(
            "POST",
            target,
            headers,
            b'{"metadata":{"name":"A B"},"data":{"a":"%s"}}' % (b"x" * 9000),
        ),
        Request("POST", target, headers, b'{"data":' + b'{"a":' * 500),
        Request("PATCH", f"{target}/none", headers, b"[]"),
        Request("GET", f"{target}?watch=1&timeoutSeconds=1&labelSelector=a", headers),
        Request("GET", f"{target}?labelSelector=a%3D%3D%3D", headers),
        Request("GET", "/apis/none.example.com/v1/nothing", headers),
    ]

    async def all_of_them(times: int) -> int:
        for _ in range(times):
            for request in sent:
                check(request, *await answer_to(transport, request))
        gc.collect()
        return len(gc.get_objects())

    before = await all_of_them(20)
    tasks = asyncio.all_tasks()
    assert await all_of_them(170) < before + 500
    assert asyncio.all_tasks() == tasks


DEEP = b'{"a":' * 100_000
TOWERS = {
    "objects": b'{"data":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001,
    "objects without end": DEEP,
    "lists": b"[" * 50_000 + b"]" * 50_000,
    "yaml": b"a: " + b"[" * 3000 + b"]" * 3000,
    "messages": b"k8s\x00" + b"\x12\xff\x01" * 20_000,
}
LARGE = {
    "one string": b'{"metadata":{"name":"a"},"data":{"a":"%s"}}' % (b"x" * (3 << 20)),
    "many members": b'{"data":{%s}}' % b",".join(b'"k%d":"v"' % n for n in range(300_000)),
    "spaces": b" " * (4 << 20),
    "random bytes": random.Random(1).randbytes(4 << 20),
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
        response, body = await answer_to(transport, request)
        check(request, response, body)
        assert 400 <= response.status < 500


@pytest.mark.parametrize("media", TYPES)
@pytest.mark.parametrize("large", LARGE)
async def test_huge_bodies_are_refused(
    transport: InProcessTransport, large: str, media: str
) -> None:
    for method, path in (("POST", ""), ("PATCH", "/a?fieldManager=m"), ("PUT", "/a")):
        target = f"/api/v1/namespaces/default/configmaps{path}"
        request = Request(method, target, {"Content-Type": media}, LARGE[large])
        response, body = await answer_to(transport, request)
        check(request, response, body)
        assert response.status in (413, 415)


async def test_copies_of_copies_do_not_fill_the_memory(transport: InProcessTransport) -> None:
    target = "/api/v1/namespaces/default/configmaps"
    body = json.dumps({"metadata": {"name": "a"}, "data": {"a": "x" * 1000}}).encode()
    headers = {"Content-Type": "application/json"}
    await answer_to(transport, Request("POST", target, headers, body))
    copies = [{"op": "copy", "from": "/data", "path": f"/data/{n}"} for n in range(60)]
    headers = {"Content-Type": "application/json-patch+json"}
    request = Request("PATCH", f"{target}/a", headers, json.dumps(copies).encode())
    response, _ = await answer_to(transport, request)
    assert response.status == 422
