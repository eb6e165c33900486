"""Dry run: everything is checked and answered as if it were done, and nothing is kept."""

import pytest
from tests.contract.objects import Home, config_map, names, pod, simple
from tests.contract.wire import Server


@pytest.fixture
async def a(server: Server, home: Home) -> str:
    (await server.post(home("configmaps"), config_map("a", {"k": "v"}))).ok(201)
    return home("configmaps", "a")


async def test_a_dry_create_keeps_nothing(server: Server, home: Home) -> None:
    made = (await server.post(home("configmaps"), config_map("b", {"k": "v"}), dryRun="All")).ok(
        201
    )
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"]
    assert "resourceVersion" not in made["metadata"]
    assert (await server.get(home("configmaps", "b"))).status == 404


async def test_a_dry_create_makes_a_name(server: Server, home: Home) -> None:
    body = {"metadata": {"generateName": "x-"}}
    made = (await server.post(home("configmaps"), body, dryRun="All")).ok(201)
    assert made["metadata"]["name"].startswith("x-")
    assert names((await server.get(home("configmaps"))).ok()) == []


async def test_a_dry_create_of_a_taken_name_is_refused(server: Server, home: Home, a: str) -> None:
    answer = await server.post(home("configmaps"), config_map("a"), dryRun="All")
    answer.refused(409, "AlreadyExists", 'configmaps "a" already exists')


async def test_a_dry_create_is_validated(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("No"), dryRun="All")).refused(422, "Invalid")


async def test_a_dry_create_gets_defaults(server: Server, home: Home) -> None:
    made = (await server.post(home("pods"), pod("a"), dryRun="All")).ok(201)
    assert made["spec"]["restartPolicy"] == "Always"


async def test_a_dry_update_keeps_nothing(server: Server, a: str) -> None:
    before = (await server.get(a)).ok()
    changed = (await server.put(a, config_map("a", {"k": "w"}), dryRun="All")).ok(200)
    assert changed["data"] == {"k": "w"}
    assert (await server.get(a)).ok() == before


async def test_a_dry_update_of_a_stale_version_is_a_conflict(server: Server, a: str) -> None:
    body = config_map("a", {"k": "w"}, resourceVersion="1")
    (await server.put(a, body, dryRun="All")).refused(409, "Conflict")


async def test_a_dry_patch_keeps_nothing(server: Server, a: str) -> None:
    before = (await server.get(a)).ok()
    assert (await server.patch(a, {"data": {"l": "w"}}, dryRun="All")).ok()["data"]["l"] == "w"
    assert (await server.get(a)).ok() == before


async def test_a_dry_apply_keeps_nothing(server: Server, home: Home) -> None:
    path = home("configmaps", "b")
    assert (await server.apply(path, config_map("b", {"k": "v"}), dryRun="All")).ok(201)
    assert (await server.get(path)).status == 404


async def test_a_dry_delete_keeps_the_object(server: Server, a: str) -> None:
    assert (await server.delete(a, dryRun="All")).ok(200)["status"] == "Success"
    assert (await server.get(a)).status == 200
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]}
    assert (await server.delete(a, body)).ok(200)["status"] == "Success"
    assert (await server.get(a)).status == 200


async def test_a_dry_delete_of_a_collection_keeps_it(server: Server, home: Home, a: str) -> None:
    assert names((await server.delete(home("configmaps"), dryRun="All")).ok()) == ["a"]
    assert names((await server.get(home("configmaps"))).ok()) == ["a"]


async def test_a_dry_binding_binds_nothing(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok()
    binding = simple("v1", "Binding", "a", target={"kind": "Node", "name": "n"})
    (await server.post(home("pods", "a", "binding"), binding, dryRun="All")).ok(201)
    assert "nodeName" not in (await server.get(home("pods", "a"))).ok()["spec"]


async def test_a_dry_eviction_evicts_nothing(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a"))).ok()
    eviction = simple("policy/v1", "Eviction", "a")
    (await server.post(home("pods", "a", "eviction"), eviction, dryRun="All")).ok(201)
    assert (await server.get(home("pods", "a"))).status == 200


async def test_a_dry_write_is_not_shown_to_watchers(server: Server, home: Home) -> None:
    path = home("configmaps")
    start = (await server.get(path)).ok()["metadata"]["resourceVersion"]
    async with server.watch(path, resourceVersion=start) as watch:
        (await server.post(path, config_map("dry"), dryRun="All")).ok()
        (await server.post(path, config_map("wet"))).ok()
        assert (await watch.next())["object"]["metadata"]["name"] == "wet"


async def test_a_dry_run_nobody_knows_is_refused(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), config_map("b"), dryRun="Some")
    answer.refused(
        422,
        "Invalid",
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
    )
