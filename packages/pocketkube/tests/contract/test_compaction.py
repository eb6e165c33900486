"""After compaction: what is too old is said to be gone, in words that make clients list anew."""

from tests.contract.objects import Home, config_map, names
from tests.contract.wire import Server


async def test_a_watch_from_a_forgotten_version_is_expired(server: Server, home: Home) -> None:
    path = home("configmaps")
    old = (await server.post(path, config_map("a"))).ok()["metadata"]["resourceVersion"]
    for value in "xyz":
        (await server.patch(f"{path}/a", {"data": {"k": value}})).ok()
    await server.forget()
    async with server.watch(path, resourceVersion=old) as watch:
        event = await watch.next()
        assert await watch.rest() == []
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"].startswith(f"too old resource version: {old} (")


async def test_the_rest_of_a_forgotten_list_is_expired(server: Server, home: Home) -> None:
    path = home("configmaps")
    for name in "abc":
        (await server.post(path, config_map(name))).ok()
    first = (await server.get(path, limit=1)).ok()["metadata"]
    (await server.post(path, config_map("d"))).ok()
    await server.forget()
    status = (await server.get(path, limit=1, **{"continue": first["continue"]})).refused(
        410,
        "Expired",
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
        "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
        "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
        "deleted between the time the first chunk was returned and now may show up in the list.",
    )
    token = status["metadata"]["continue"]
    rest = (await server.get(path, limit=9, **{"continue": token})).ok()
    assert names(rest) == ["b", "c", "d"]


async def test_an_exact_version_that_is_forgotten_is_expired(server: Server, home: Home) -> None:
    path = home("configmaps")
    old = (await server.post(path, config_map("a"))).ok()["metadata"]["resourceVersion"]
    (await server.patch(f"{path}/a", {"data": {"k": "v"}})).ok()
    await server.forget()
    answer = await server.get(path, resourceVersion=old, resourceVersionMatch="Exact")
    answer.refused(
        410,
        "Expired",
        "The resourceVersion for the provided list is too old.",
    )


async def test_not_older_than_a_forgotten_version_is_fine(server: Server, home: Home) -> None:
    path = home("configmaps")
    old = (await server.post(path, config_map("a"))).ok()["metadata"]["resourceVersion"]
    (await server.patch(f"{path}/a", {"data": {"k": "v"}})).ok()
    await server.forget()
    assert names((await server.get(path, resourceVersion=old)).ok()) == ["a"]
