"""The scale of an object: who owns its replicas, and what admission sees of it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.hooks import Hooks, allow, deny, patch, serving
from tests.contract.objects import Home, workload
from tests.contract.wire import Answer, Server

REPLICAS = {"f:spec": {"f:replicas": {}}}


@pytest.fixture
async def hooks(server: Server, home: Home) -> AsyncIterator[Hooks]:
    async with serving(server, home) as hooks:
        yield hooks


@pytest.fixture
async def path(server: Server, home: Home) -> str:
    """A Deployment of two replicas, made by `maker`."""
    body = workload("Deployment", "a", replicas=2)
    (await server.post(home("deployments"), body, fieldManager="maker")).ok(201)
    return home("deployments", "a")


def scale(replicas: int) -> dict[str, Any]:
    head = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
    return {**head, "metadata": {"name": "a"}, "spec": {"replicas": replicas}}


async def owners(server: Server, path: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Who owns replicas, by manager, operation and subresource."""
    found = (await server.get(path)).ok()["metadata"]["managedFields"]
    return {
        (each["manager"], each["operation"], each.get("subresource", "")): each
        for each in found
        if "f:replicas" in each["fieldsV1"].get("f:spec", {})
    }


async def test_an_update_takes_the_replicas(server: Server, path: str) -> None:
    (await server.put(f"{path}/scale", scale(3), fieldManager="scaler")).ok()
    found = await owners(server, path)
    assert list(found) == [("scaler", "Update", "scale")]
    owned = found["scaler", "Update", "scale"]
    assert (owned["apiVersion"], owned["fieldsV1"]) == ("apps/v1", REPLICAS)
    assert "time" not in owned


async def test_nobody_owns_replicas_that_were_set_to_none(server: Server, path: str) -> None:
    (await server.patch(f"{path}/scale", {"spec": {"replicas": 0}})).ok()
    assert not await owners(server, path)


async def test_a_patch_that_says_nothing_is_a_write(server: Server, path: str) -> None:
    before = (await server.get(path)).ok()
    (await server.patch(f"{path}/scale", {})).ok()
    after = (await server.get(path)).ok()
    assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    entries = after["metadata"]["managedFields"]
    assert REPLICAS in [each["fieldsV1"] for each in entries if each["manager"] == "maker"]


async def test_replicas_of_others_are_a_conflict_to_those_who_apply(
    server: Server, path: str
) -> None:
    answer = await server.apply(f"{path}/scale", scale(3), "scaler")
    answer.refused(
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "maker" using autoscaling/v1: .spec.replicas',
    )


async def test_whoever_applies_a_scale_owns_the_replicas(server: Server, path: str) -> None:
    forced = await server.apply(f"{path}/scale", scale(3), "scaler", force="true")
    assert forced.ok()["spec"] == {"replicas": 3}
    found = await owners(server, path)
    assert list(found) == [("scaler", "Apply", "scale")]
    assert found["scaler", "Apply", "scale"]["fieldsV1"] == REPLICAS
    (await server.apply(f"{path}/scale", scale(4), "scaler")).ok()
    assert (await server.get(path)).ok()["spec"]["replicas"] == 4
    assert list(await owners(server, path)) == [("scaler", "Apply", "scale")]


async def test_a_scale_of_another_object_is_refused(server: Server, path: str) -> None:
    uid = "00000000-0000-4000-8000-000000000001"
    body = scale(3)
    body["metadata"]["uid"] = uid
    status = (await server.put(f"{path}/scale", body)).refused(409, "Conflict")
    assert f"UID in precondition: {uid}" in status["message"]


SCALED = {
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "operations": ["UPDATE"],
    "resources": ["deployments/scale"],
}


async def scaled(server: Server, path: str) -> Answer:
    return await server.patch(f"{path}/scale", {"spec": {"replicas": 5}})


async def test_a_hook_is_shown_the_scale(server: Server, path: str, hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: allow(), rules=[SCALED])
    await hooks.install("Validating", hook)
    (await scaled(server, path)).ok()
    request = hooks.asked_of(hook)[-1]
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (request["subResource"], request["name"]) == ("scale", "a")
    new, old = request["object"], request["oldObject"]
    assert (new["kind"], old["kind"], new["apiVersion"]) == ("Scale", "Scale", "autoscaling/v1")
    assert (new["spec"], old["spec"]) == ({"replicas": 5}, {"replicas": 2})
    assert new["status"] == {"replicas": 0, "selector": "app=a"}


async def test_a_hook_changes_the_scale(server: Server, path: str, hooks: Hooks) -> None:
    fewer = patch({"op": "replace", "path": "/spec/replicas", "value": 4})
    await hooks.install("Mutating", hooks.hook(lambda request: fewer, rules=[SCALED]))
    assert (await scaled(server, path)).ok()["spec"] == {"replicas": 4}
    assert (await server.get(path)).ok()["spec"]["replicas"] == 4


async def test_a_hook_refuses_a_scale(server: Server, path: str, hooks: Hooks) -> None:
    hook = hooks.hook(lambda request: deny("too many"), rules=[SCALED])
    await hooks.install("Validating", hook)
    status = (await scaled(server, path)).refused(403, "")
    assert "too many" in status["message"]
    assert (await server.get(path)).ok()["spec"]["replicas"] == 2


async def test_a_hook_that_breaks_the_scale_is_reported(
    server: Server, path: str, hooks: Hooks
) -> None:
    broken = patch({"op": "replace", "path": "/spec/replicas", "value": "many"})
    await hooks.install("Mutating", hooks.hook(lambda request: broken, rules=[SCALED]))
    answer = await scaled(server, path)
    assert answer.status >= 400
    assert "cannot unmarshal string" in answer.json["message"]
    assert (await server.get(path)).ok()["spec"]["replicas"] == 2
