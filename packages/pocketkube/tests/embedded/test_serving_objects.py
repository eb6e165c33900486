"""Objects over HTTP: create, read, replace, delete and watch, through the handler of a server without sockets."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
import json
import random
from typing import Any

import pytest

from kubeloop.net.http import Request
from kubeloop.net.in_process import InProcessTransport
from pocketkube.apiserver.server import ApiServer
from pocketkube.apiserver.storage import open_storage

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
NOW = datetime(2026, 1, 31, 8, 30, tzinfo=UTC)


class Client:
    """Speaks JSON to a server."""

    def __init__(self, server: ApiServer) -> None:
        self.transport = InProcessTransport(server.handle, {"User-Agent": "tests"})

    async def send(
        self, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        data = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        request = Request(method, target, headers or {"Content-Type": "application/json"}, data)
        async with await self.transport.send(request) as response:
            answer = await response.read()
        return response.status, json.loads(answer) if answer else None


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with open_storage(None) as storage:
        made = ApiServer(storage, now=lambda: NOW, rng=random.Random(1))
        await made.start()
        yield made
        await made.close()


@pytest.fixture
def client(server: ApiServer) -> Client:
    return Client(server)


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}


async def test_a_created_object_can_be_read(client: Client) -> None:
    code, made = await client.send("POST", CONFIGMAPS, configmap("a", k="v"))
    assert code == 201
    assert made["metadata"]["creationTimestamp"] == "2026-01-31T08:30:00Z"
    assert made["metadata"]["managedFields"][0]["manager"] == "tests"
    assert await client.send("GET", f"{CONFIGMAPS}/a") == (200, made)


async def test_a_list_shows_objects_without_their_kind(client: Client) -> None:
    await client.send("POST", CONFIGMAPS, configmap("a"))
    code, found = await client.send("GET", CONFIGMAPS)
    assert (code, found["kind"]) == (200, "ConfigMapList")
    assert [item["metadata"]["name"] for item in found["items"]] == ["a"]
    assert "kind" not in found["items"][0]


async def test_an_update_of_an_old_version_is_refused(client: Client) -> None:
    _, made = await client.send("POST", CONFIGMAPS, configmap("a", k="v"))
    made["data"]["k"] = "w"
    code, changed = await client.send("PUT", f"{CONFIGMAPS}/a", made)
    assert (code, changed["data"]) == (200, {"k": "w"})
    code, status = await client.send("PUT", f"{CONFIGMAPS}/a", made)
    assert (code, status["reason"]) == (409, "Conflict")


async def test_an_update_that_changes_nothing_keeps_the_version(client: Client) -> None:
    _, made = await client.send("POST", CONFIGMAPS, configmap("a", k="v"))
    assert await client.send("PUT", f"{CONFIGMAPS}/a", configmap("a", k="v")) == (200, made)


async def test_a_deleted_object_is_gone(client: Client) -> None:
    _, made = await client.send("POST", CONFIGMAPS, configmap("a"))
    code, status = await client.send("DELETE", f"{CONFIGMAPS}/a")
    assert (code, status["details"]["uid"]) == (200, made["metadata"]["uid"])
    code, status = await client.send("GET", f"{CONFIGMAPS}/a")
    assert (code, status["message"]) == (404, 'configmaps "a" not found')


async def test_a_watch_tells_what_is_there_and_what_comes(client: Client) -> None:
    await client.send("POST", CONFIGMAPS, configmap("a"))
    request = Request("GET", f"{CONFIGMAPS}?watch=1&timeoutSeconds=5")
    seen = []
    async with await client.transport.send(request) as response:
        async for chunk in response.chunks():
            seen += [json.loads(line) for line in chunk.splitlines()]
            if len(seen) == 1:
                await client.send("POST", CONFIGMAPS, configmap("b"))
                await client.send("DELETE", f"{CONFIGMAPS}/b")
    story = [(event["type"], event["object"]["metadata"]["name"]) for event in seen]
    assert story == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "b")]


CRD = {
    "kind": "CustomResourceDefinition",
    "apiVersion": "apiextensions.k8s.io/v1",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer", "default": 3}},
                            },
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
        ],
    },
}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


async def test_a_definition_brings_a_resource_and_takes_it_away(client: Client) -> None:
    code, _ = await client.send("POST", CRDS, CRD)
    assert code == 201
    _, stored = await client.send("GET", f"{CRDS}/widgets.example.com")
    assert [each["status"] for each in stored["status"]["conditions"]] == ["True", "True"]
    widget = {
        "kind": "Widget",
        "apiVersion": "example.com/v1",
        "metadata": {"name": "w"},
        "spec": {},
    }
    code, made = await client.send("POST", WIDGETS, widget)
    assert (code, made["spec"], made["metadata"]["generation"]) == (201, {"size": 3}, 1)
    _, groups = await client.send("GET", "/apis")
    assert "example.com" in [group["name"] for group in groups["groups"]]
    await client.send("DELETE", f"{CRDS}/widgets.example.com")
    reply = await client.transport.send(Request("GET", WIDGETS))
    assert (reply.status, await reply.read()) == (404, b"404 page not found\n")


async def test_a_definition_waits_for_objects_that_somebody_holds(client: Client) -> None:
    await client.send("POST", CRDS, CRD)
    held = {"name": "w", "finalizers": ["example.com/hold"]}
    widget = {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": held}
    assert (await client.send("POST", WIDGETS, widget))[0] == 201
    code, dying = await client.send("DELETE", f"{CRDS}/widgets.example.com")
    assert (code, dying["status"]["conditions"][-1]["type"]) == (200, "Terminating")
    _, waiting = await client.send("GET", f"{WIDGETS}/w")
    assert "deletionTimestamp" in waiting["metadata"]
    patch = {"Content-Type": "application/merge-patch+json"}
    await client.send("PATCH", f"{WIDGETS}/w", {"metadata": {"finalizers": None}}, patch)
    assert (await client.send("GET", f"{CRDS}/widgets.example.com"))[0] == 404


async def test_the_replicas_of_a_workload_are_written_through_its_scale(client: Client) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    body = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "a"}, "spec": spec}
    assert (await client.send("POST", path, body))[0] == 201
    patch = {"Content-Type": "application/merge-patch+json"}
    code, scale = await client.send("PATCH", f"{path}/a/scale", {"spec": {"replicas": 4}}, patch)
    assert (code, scale["kind"], scale["status"]["selector"]) == (200, "Scale", "app=a")
    assert (await client.send("GET", f"{path}/a"))[1]["spec"]["replicas"] == 4


async def test_a_list_of_any_version_is_not_cut_into_pages(client: Client) -> None:
    for name in ("a", "b", "c"):
        await client.send("POST", CONFIGMAPS, configmap(name))
    _, found = await client.send("GET", f"{CONFIGMAPS}?limit=1&resourceVersion=0")
    assert len(found["items"]) == 3
    assert "continue" not in found["metadata"]


async def test_a_watch_from_a_version_to_come_is_silent_until_then(client: Client) -> None:
    _, made = await client.send("POST", CONFIGMAPS, configmap("a"))
    since = int(made["metadata"]["resourceVersion"]) + 2
    request = Request("GET", f"{CONFIGMAPS}?watch=1&timeoutSeconds=5&resourceVersion={since}")
    async with await client.transport.send(request) as response:
        for name in ("b", "c", "d"):
            await client.send("POST", CONFIGMAPS, configmap(name))
        stated = await response.read()
    names = [json.loads(line)["object"]["metadata"]["name"] for line in stated.splitlines()]
    assert names == ["d"]


async def test_a_watch_without_a_time_ends_after_half_an_hour_at_the_earliest(
    client: Client,
) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    async with await client.transport.send(Request("GET", f"{CONFIGMAPS}?watch=1")) as response:
        await response.read()
    assert 1800 <= loop.time() - begun <= 3600


async def test_others_have_their_turn_while_many_objects_are_deleted(client: Client) -> None:
    for number in range(20):
        await client.send("POST", CONFIGMAPS, configmap(f"m{number}"))
    deleting = asyncio.get_running_loop().create_task(client.send("DELETE", CONFIGMAPS))
    left = []
    while not deleting.done():
        left.append(len((await client.send("GET", CONFIGMAPS))[1]["items"]))
        await asyncio.sleep(0)
    assert len(set(left)) > 10
