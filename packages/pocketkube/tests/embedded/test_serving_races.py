"""Requests that meet each other, that are given up, or that a crash cut in two: nothing half done stays behind."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
import json
import random
from typing import Any

import pytest

from kubeloop.net.http import Request
from kubeloop.net.in_process import InProcessTransport
from pocketkube.apiserver.admission.attributes import Attributes, Chain, Operation, Plugin
from pocketkube.apiserver.admission.lifecycle import NamespaceLifecycle
from pocketkube.apiserver.server import ApiServer, Parts
from pocketkube.apiserver.serving import podpaths
from pocketkube.apiserver.storage import Storage, open_storage
from pocketkube.apiserver.view import View

NOW = datetime(2026, 1, 31, 8, 30, tzinfo=UTC)
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CONFIGMAPS = "/api/v1/namespaces/{}/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}


class AdmissionHandler(Plugin):
    """Holds writes of one resource until it is opened, as a slow webhook would; notes what it has seen."""

    def __init__(self, plural: str) -> None:
        self.plural = plural
        self.reached, self.open = asyncio.Event(), asyncio.Event()
        self.seen: list[tuple[Operation, str]] = []

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.resource.plural == self.plural:
            self.seen.append((attributes.operation, attributes.subresource))
            self.reached.set()
            await self.open.wait()


class Yielding(Plugin):
    """Gives every other request its turn between reading and writing."""

    async def mutate(self, attributes: Attributes) -> None:
        del attributes
        await asyncio.sleep(0)


async def serve(storage: Storage, *plugins: Plugin) -> ApiServer:
    parts = Parts(chain=Chain(plugins), specials=podpaths.SPECIALS)
    server = ApiServer(storage, now=lambda: NOW, rng=random.Random(1), parts=parts)
    await server.start()
    return server


async def send(
    server: ApiServer,
    method: str,
    target: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, Any]:
    data = b"" if body is None else json.dumps(body).encode()
    request = Request(method, target, headers or {"Content-Type": "application/json"}, data)
    async with await InProcessTransport(server.handle).send(request) as response:
        answer = await response.read()
    return response.status, json.loads(answer) if answer.startswith(b"{") else answer


@pytest.fixture
async def storage() -> AsyncIterator[Storage]:
    async with open_storage(None) as made:
        yield made


def definition(plural: str = "widgets", *versions: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "Widget"},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == "v1",
                    "schema": {"openAPIV3Schema": schema},
                }
                for name in versions or ("v1",)
            ],
        },
    }


def widget(name: str, *finalizers: str) -> dict[str, Any]:
    return {
        "kind": "Widget",
        "apiVersion": "example.com/v1",
        "metadata": {"name": name, "finalizers": list(finalizers)},
    }


async def test_a_definition_that_goes_is_still_served_after_a_restart(storage: Storage) -> None:
    server = await serve(storage)
    await send(server, "POST", CRDS, definition())
    await send(server, "POST", WIDGETS, widget("held", "example.com/hold"))
    await send(server, "DELETE", f"{CRDS}/widgets.example.com")
    server = await serve(storage)
    code, _ = await send(
        server, "PATCH", f"{WIDGETS}/held", {"metadata": {"finalizers": None}}, MERGE
    )
    assert code == 200
    assert (await send(server, "GET", f"{CRDS}/widgets.example.com"))[0] == 404


async def test_nothing_is_created_under_a_definition_that_goes(storage: Storage) -> None:
    server = await serve(storage)
    await send(server, "POST", CRDS, definition())
    await send(server, "POST", WIDGETS, widget("held", "example.com/hold"))
    await send(server, "DELETE", f"{CRDS}/widgets.example.com")
    code, status = await send(server, "POST", WIDGETS, widget("late"))
    assert (code, status["message"]) == (
        403,
        'widgets.example.com "late" is forbidden: create not allowed while custom resource definition is terminating',
    )


async def test_an_object_does_not_outlive_its_definition(storage: Storage) -> None:
    gate = AdmissionHandler("widgets")
    server = await serve(storage, gate)
    await send(server, "POST", CRDS, definition())
    async with asyncio.TaskGroup() as group:
        creating = group.create_task(send(server, "POST", WIDGETS, widget("late")))
        await gate.reached.wait()
        await send(server, "DELETE", f"{CRDS}/widgets.example.com")
        gate.open.set()
    assert creating.result()[0] == 404
    assert not storage.page("widgets.example.com").records


async def test_an_object_does_not_slip_into_a_namespace_that_goes(storage: Storage) -> None:
    gate = AdmissionHandler("configmaps")
    server = await serve(storage, NamespaceLifecycle(View(storage)), gate)
    await send(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "short"}})
    target = CONFIGMAPS.format("short")
    async with asyncio.TaskGroup() as group:
        creating = group.create_task(send(server, "POST", target, {"metadata": {"name": "late"}}))
        await gate.reached.wait()
        await send(server, "DELETE", "/api/v1/namespaces/short")
        gate.open.set()
    assert creating.result()[0] == 403
    assert not storage.page("configmaps", "short").records


async def test_a_definition_is_served_though_its_writer_has_gone(storage: Storage) -> None:
    server = await serve(storage)
    real = storage.write

    async def slow(*writes: Any) -> Any:
        done = await real(*writes)
        await asyncio.sleep(1)
        return done

    storage.write = slow  # type: ignore[method-assign]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await send(server, "POST", CRDS, definition())
    await server.close()
    assert (await send(server, "GET", WIDGETS))[0] == 200


async def test_two_definitions_of_one_kind_keep_what_they_have(storage: Storage) -> None:
    server = await serve(storage)
    await send(server, "POST", CRDS, definition("widgets"))
    await send(server, "POST", CRDS, definition("gadgets"))
    label = {"metadata": {"labels": {"a": "b"}}}
    await send(server, "PATCH", f"{CRDS}/widgets.example.com", label, MERGE)
    assert (await send(server, "GET", WIDGETS))[0] == 200
    server = await serve(storage)
    assert (await send(server, "GET", WIDGETS))[0] == 200
    assert (await send(server, "GET", WIDGETS.replace("widgets", "gadgets")))[0] == 404


async def test_names_that_become_free_are_given_to_who_waits_for_them(storage: Storage) -> None:
    server = await serve(storage)
    await send(server, "POST", CRDS, definition("widgets"))
    await send(server, "POST", CRDS, definition("gadgets"))
    await send(server, "DELETE", f"{CRDS}/widgets.example.com")
    assert (await send(server, "GET", WIDGETS.replace("widgets", "gadgets")))[0] == 200


async def test_each_watch_shows_the_version_it_asked_for(storage: Storage) -> None:
    server = await serve(storage)
    await send(server, "POST", CRDS, definition("widgets", "v1", "v2"))

    async def watched(version: str) -> Any:
        target = WIDGETS.replace("v1", version) + "?watch=true&timeoutSeconds=5"
        _, event = await send(server, "GET", target)
        return event["object"]["apiVersion"]

    async def later() -> Any:
        await asyncio.sleep(1)
        return await send(server, "POST", WIDGETS, widget("a"))

    shown = await asyncio.gather(watched("v1"), watched("v2"), watched("v1"), later())
    assert list(shown[:3]) == ["example.com/v1", "example.com/v2", "example.com/v1"]


@pytest.mark.parametrize(
    ("method", "headers"),
    [("PATCH", MERGE), ("PUT", None), ("DELETE", None)],
    ids=["patches", "unconditional updates", "deletions"],
)
async def test_however_many_write_one_object_nobody_hears_of_a_conflict(
    storage: Storage, method: str, headers: Mapping[str, str] | None
) -> None:
    server = await serve(storage, Yielding())
    target = CONFIGMAPS.format("default")
    held = {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}
    await send(server, "POST", target, held)

    def body(number: int) -> Any:
        return None if method == "DELETE" else {**held, "data": {f"k{number}": "v"}}

    codes = await asyncio.gather(
        *(send(server, method, f"{target}/a", body(n), headers) for n in range(12)),
        *(send(server, "PATCH", f"{target}/a", {"data": {f"m{n}": ""}}, MERGE) for n in range(8)),
    )
    assert Counter(code for code, _ in codes) == {200: 20}


async def test_an_eviction_is_not_admitted_as_a_deletion(storage: Storage) -> None:
    gate = AdmissionHandler("pods")
    gate.open.set()
    server = await serve(storage, gate)
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "main", "image": "scratch"}]}
    await send(server, "POST", pods, {"metadata": {"name": "p"}, "spec": spec})
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "p"}}
    assert (await send(server, "POST", f"{pods}/p/eviction", eviction))[0] == 201
    assert gate.seen == [(Operation.CREATE, ""), (Operation.CREATE, "eviction")]


class QuotaCounter(Yielding):
    """Notes how often writes were tried."""

    def __init__(self) -> None:
        self.tried = 0

    async def mutate(self, attributes: Attributes) -> None:
        self.tried += 1
        await super().mutate(attributes)


async def test_a_storm_of_writers_takes_turns(storage: Storage) -> None:
    quota_counter = QuotaCounter()
    server = await serve(storage, quota_counter)
    target = CONFIGMAPS.format("default")
    await send(server, "POST", target, {"metadata": {"name": "a"}})
    quota_counter.tried = 0
    await asyncio.gather(
        *(send(server, "PATCH", f"{target}/a", {"data": {f"k{n}": ""}}, MERGE) for n in range(60))
    )
    _, found = await send(server, "GET", f"{target}/a")
    assert len(found["data"]) == 60
    assert quota_counter.tried <= 2 * 60


async def test_nobody_stands_behind_the_webhook_of_somebody_else(storage: Storage) -> None:
    class Sleepy(Yielding):
        async def mutate(self, attributes: Attributes) -> None:
            data = (attributes.object or {}).get("data") or {}
            await asyncio.sleep(10 if data.get("last") == "slow" else 0)

    server = await serve(storage, Sleepy())
    target = CONFIGMAPS.format("default")
    await send(server, "POST", target, {"metadata": {"name": "a"}})
    slow = asyncio.create_task(  # noqa: TID251  it is to lose against the others
        send(server, "PATCH", f"{target}/a", {"data": {"last": "slow"}}, MERGE)
    )
    await asyncio.sleep(9)
    await send(server, "PATCH", f"{target}/a", {"data": {"last": "quick"}}, MERGE)
    await asyncio.sleep(2)
    begun = asyncio.get_running_loop().time()
    await asyncio.gather(
        *(send(server, "PATCH", f"{target}/a", {"data": {"last": "x"}}, MERGE) for _ in range(5))
    )
    assert asyncio.get_running_loop().time() - begun < 1
    slow.cancel()


async def test_a_create_that_begins_again_is_judged_by_the_new_schema(storage: Storage) -> None:
    gate = AdmissionHandler("widgets")
    server = await serve(storage, gate)
    await send(server, "POST", CRDS, definition())
    changed = definition()
    properties = {"size": {"type": "integer"}, "color": {"type": "string", "default": "red"}}
    schema = {"type": "object", "properties": properties, "required": ["size"]}
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    async with asyncio.TaskGroup() as group:
        bad = group.create_task(send(server, "POST", WIDGETS, widget("bad")))
        good = group.create_task(
            send(server, "POST", WIDGETS, {**widget("good"), "size": 1, "unknown": 2})
        )
        await gate.reached.wait()
        patch = {"spec": changed["spec"]}
        assert (await send(server, "PATCH", f"{CRDS}/widgets.example.com", patch, MERGE))[0] == 200
        gate.open.set()
    assert bad.result()[0] == 422
    code, made = good.result()
    assert (code, made["color"], "unknown" in made) == (201, "red", False)


async def test_a_definition_that_goes_says_so(storage: Storage) -> None:
    server = await serve(storage)
    await send(server, "POST", CRDS, definition())
    await send(server, "POST", WIDGETS, widget("held", "example.com/hold"))
    await send(server, "DELETE", f"{CRDS}/widgets.example.com")
    _, found = await send(server, "GET", f"{CRDS}/widgets.example.com")
    last = found["status"]["conditions"][-1]
    assert (last["type"], last["status"], last["reason"]) == (
        "Terminating",
        "True",
        "InstanceDeletionInProgress",
    )
    _, held = await send(server, "GET", f"{WIDGETS}/held")
    assert held["metadata"]["generation"] == 2
