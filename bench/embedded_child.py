"""The load of `embedded-create` and `embedded-list`: bare requests over one client; prints the rate as JSON."""

import asyncio
import json
from pathlib import Path
import sys
from time import perf_counter

import uvloop

from bench.plane import a_client
from kubeloop.client.client import Client
from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.net.http import Request
from kubeloop.objects.core import NAMESPACES, PODS
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import SystemClock

IN_FLIGHT = 32
CREATES = 4_000
PODS_THERE = 3_000
PAGE = 500
LISTS = 5
_JSON = {"Accept": "application/json", "Content-Type": "application/json"}
_PLAIN = {"Accept": "application/json", "Accept-Encoding": "identity"}


async def create(kubeconfig: Path, namespace: str) -> float:
    """Creates per second."""
    transport = connect(load(str(kubeconfig)), SystemClock().now)
    target = f"/api/v1/namespaces/{namespace}/configmaps"
    names = iter(range(CREATES))

    async def work() -> None:
        for index in names:
            body = {"metadata": {"name": f"cm-{index}"}, "data": {"text": "x" * 1000}}
            request = Request("POST", target, _JSON, json.dumps(body).encode())
            async with await transport.send(request) as response:
                await response.read()
                assert response.status == 201, response.status

    started = perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())
    spent = perf_counter() - started
    await transport.close()
    return CREATES / spent


async def list_pages(kubeconfig: Path, client: Client, namespace: str) -> float:
    """Pods per second; only the bytes are read."""
    await _pods(client, namespace)
    transport = connect(load(str(kubeconfig)), SystemClock().now)
    base = f"/api/v1/namespaces/{namespace}/pods?limit={PAGE}"
    started = perf_counter()
    for _ in range(LISTS):
        after, pages = "", 0
        while after or not pages:
            async with await transport.send(Request("GET", base + after, _PLAIN)) as response:
                body = await response.read()
            token = json.loads(body[: body.index(b'"items"')].rstrip(b", ") + b"}")["metadata"]
            after = f"&continue={token['continue']}" if token.get("continue") else ""
            pages += 1
        assert pages == PODS_THERE // PAGE, pages
    spent = perf_counter() - started
    await transport.close()
    return LISTS * PODS_THERE / spent


async def _pods(client: Client, namespace: str) -> None:
    async def make(index: int) -> None:
        container: JSON = {"name": "c", "image": "registry.example/app:1"}
        meta: JSON = {"name": f"pod-{index}", "namespace": namespace, "labels": {"app": "bench"}}
        spec: JSON = {"containers": [container], "automountServiceAccountToken": False}
        await client.create(PODS, {"metadata": meta, "spec": spec})

    async with asyncio.TaskGroup() as group:
        for index in range(PODS_THERE):
            group.create_task(make(index))


async def main() -> None:
    """Makes the namespace and measures what was asked for."""
    what, path, namespace = sys.argv[1:]
    kubeconfig = Path(path)
    async with a_client(kubeconfig) as client:
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        account = {"metadata": {"name": "default"}}
        target = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        await client.raw(Request("POST", target, _JSON, json.dumps(account).encode()))
        if what == "create":
            rate = await create(kubeconfig, namespace)
        else:
            rate = await list_pages(kubeconfig, client, namespace)
    print(json.dumps({"rate": rate}))


if __name__ == "__main__":
    uvloop.run(main())
