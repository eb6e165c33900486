"""Binding, evicting, resizing, debugging and logs of pods: the same requests to a real and to the embedded server."""

from collections.abc import AsyncIterator, Awaitable, Callable
import json
import random
import re
from typing import Any

import pytest

from kubeloop.client.client import Client
from kubeloop.net.http import Request
from kubeloop.net.in_process import InProcessTransport
from kubeloop.runtime.clock import Clock
from pocketkube.apiserver.server import ApiServer, Parts
from pocketkube.apiserver.serving import podpaths
from pocketkube.apiserver.storage import open_storage

Object = dict[str, Any]
Ask = Callable[..., Awaitable[tuple[int, Any]]]
MADE_UP = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|meta: [0-9]+(?![-0-9a-f])|[0-9]{4}-[0-9-]+T[0-9:]+Z|/pods/[^/]+/"
)


def asking(transport: Any, namespace: str) -> Ask:
    """Speaks JSON about the pods of a namespace."""

    async def ask(method: str, path: str, body: Object | None = None) -> tuple[int, Any]:
        group = "/apis/policy/v1" if path.startswith("/poddisruption") else "/api/v1"
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        target = f"{group}/namespaces/{namespace}{path}"
        async with await transport.send(Request(method, target, headers, data)) as answer:
            found = await answer.read()
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        return answer.status, json.loads(found) if is_json else found.decode()

    return ask


@pytest.fixture
async def embedded(clock: Clock) -> AsyncIterator[Ask]:
    async with open_storage(None) as storage:
        server = ApiServer(
            storage,
            now=clock.now,
            rng=random.Random(1),
            parts=Parts(specials=podpaths.SPECIALS),
        )
        await server.start()
        yield asking(InProcessTransport(server.handle), "default")
        await server.close()


@pytest.fixture
def real(client: Client, namespace: str) -> Ask:
    return asking(client._sender.transport, namespace)


def a_pod(name: str, **spec: Any) -> Object:
    amounts = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    container = {"name": "a", "image": "img:1", "resources": amounts}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "x"}},
        "spec": {
            "automountServiceAccountToken": False,
            "schedulerName": "nobody",
            "containers": [container],
            **spec,
        },
    }


def a_binding(name: str, *, kind: str = "Node", **meta: Any) -> Object:
    target = {"kind": kind, "name": "n1"}
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **meta},
        "target": target,
    }


def an_eviction(name: str, **options: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "deleteOptions": options,
    }


async def bindings(ask: Ask) -> AsyncIterator[tuple[int, Any]]:
    await ask("POST", "/pods", a_pod("p"))
    await ask("POST", "/pods", a_pod("gated", schedulingGates=[{"name": "g"}]))
    yield await ask("POST", "/pods/p/binding", a_binding("other"))
    yield await ask("POST", "/pods/p/binding", a_binding("p", uid="other"))
    yield await ask("POST", "/pods/p/binding", a_binding("p", resourceVersion="1"))
    yield await ask("POST", "/pods/nobody/binding", a_binding("nobody"))
    yield await ask("POST", "/pods/gated/binding", a_binding("gated"))
    yield await ask("POST", "/bindings", a_binding("gated"))
    yield await ask("POST", "/pods/p/binding?dryRun=All", a_binding("p"))
    yield await ask("GET", "/pods/p/log")
    yield await ask("GET", "/pods/p/log?container=zz")
    yield await ask("GET", "/pods/p/log?tailLines=-1&limitBytes=0")
    yield await ask(
        "POST", "/pods/p/binding", a_binding("p", labels={"l": "m"}, annotations={"a": "b"})
    )
    yield await ask("POST", "/pods/p/binding", a_binding("p"))
    code, pod = await ask("GET", "/pods/p")
    yield code, [pod["status"], pod["metadata"]["labels"], pod["metadata"]["generation"]]


async def debugging(ask: Ask) -> AsyncIterator[tuple[int, Any]]:
    await ask("POST", "/pods", a_pod("p"))
    _, pod = await ask("GET", "/pods/p")
    pod["spec"]["ephemeralContainers"] = [{"name": "d", "image": "sh:1"}]
    pod["spec"]["hostname"] = "ignored"
    code, pod = await ask("PUT", "/pods/p/ephemeralcontainers", pod)
    yield code, [pod["spec"]["ephemeralContainers"], pod["metadata"]["generation"]]
    pod["spec"]["ephemeralContainers"][0]["image"] = "sh:2"
    yield await ask("PUT", "/pods/p/ephemeralcontainers", pod)
    pod["spec"]["ephemeralContainers"] = [
        {"name": "e", "image": "i", "ports": [{"containerPort": 1}]}
    ]
    yield await ask("PUT", "/pods/p/ephemeralcontainers", pod)


async def resizing(ask: Ask) -> AsyncIterator[tuple[int, Any]]:
    await ask("POST", "/pods", a_pod("p"))
    _, pod = await ask("GET", "/pods/p")
    container = pod["spec"]["containers"][0]
    for change in (
        {"resources": {"requests": {"cpu": "1"}}},
        {
            "resources": {
                "requests": {"cpu": "1", "memory": "1Gi"},
                "limits": {"cpu": "1", "memory": "1Gi"},
            }
        },
        {"resources": {"requests": {"cpu": "1", "ephemeral-storage": "1"}, "limits": {"cpu": "2"}}},
        {"name": "renamed"},
    ):
        changed = {**pod, "spec": {**pod["spec"], "containers": [{**container, **change}]}}
        yield await ask("PUT", "/pods/p/resize", changed)
    more = {**pod["spec"], "containers": [container, {**container, "name": "b"}]}
    yield await ask("PUT", "/pods/p/resize", {**pod, "spec": more})
    amounts = {"requests": {"cpu": "1500m"}, "limits": {"cpu": "3"}}
    resized = {
        **pod["spec"],
        "containers": [{**container, "resources": amounts, "image": "ignored:1"}],
    }
    code, pod = await ask("PUT", "/pods/p/resize", {**pod, "spec": resized})
    assert code == 200, pod
    yield code, [pod["spec"]["containers"], pod["metadata"]["generation"]]


async def evictions(ask: Ask) -> AsyncIterator[tuple[int, Any]]:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    await ask("POST", "/pods", a_pod("waits"))
    await ask("POST", "/pods", a_pod("runs", nodeName="n1"))
    _, pod = await ask("GET", "/pods/runs")
    pod["status"] |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    yield (await ask("PUT", "/pods/runs/status", pod))[0], ""
    yield await ask("POST", "/pods/runs/eviction", an_eviction("other"))
    yield await ask("POST", "/pods/nobody/eviction", an_eviction("nobody"))
    yield await ask("POST", "/pods/runs/eviction", an_eviction("runs", preconditions={"uid": "z"}))
    yield await ask("POST", "/pods/runs/eviction?dryRun=All", an_eviction("runs"))
    await ask("POST", "/poddisruptionbudgets", budget)
    yield await ask("POST", "/pods/waits/eviction", an_eviction("waits"))
    yield (await ask("GET", "/pods/waits"))[0], ""
    await ask("DELETE", "/poddisruptionbudgets/b")
    yield await ask("POST", "/pods/runs/eviction", an_eviction("runs", gracePeriodSeconds=7))
    code, pod = await ask("GET", "/pods/runs")
    yield code, [pod["status"]["conditions"], pod["metadata"]["deletionGracePeriodSeconds"]]
    yield await ask("POST", "/pods/runs/binding", a_binding("runs"))


@pytest.mark.parametrize(
    "story", [bindings, debugging, resizing, evictions], ids=lambda one: one.__name__
)
async def test_special_paths_of_pods_answer_alike(real: Ask, embedded: Ask, story: Any) -> None:
    theirs = [shown(*each) async for each in story(real)]
    ours = [shown(*each) async for each in story(embedded)]
    assert ours == theirs


def shown(code: int, body: Any) -> tuple[int, str]:
    return code, MADE_UP.sub("~", json.dumps(body, sort_keys=True))
