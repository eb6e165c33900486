"""Watches: where they begin, what they show, bookmarks, and lists that come as a stream."""

from typing import Any

from tests.contract.objects import Home, config_map, everywhere, names, pod, simple
from tests.contract.wire import Server

BOOKMARK = "k8s.io/initial-events-end"


def shown(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["type"], each["object"]["metadata"].get("name", "")) for each in events]


async def version(server: Server, path: str) -> str:
    found: str = (await server.get(path)).ok()["metadata"]["resourceVersion"]
    return found


async def test_a_watch_shows_each_change_with_the_object(server: Server, home: Home) -> None:
    path = home("configmaps")
    async with server.watch(path, resourceVersion=await version(server, path)) as watch:
        made = (await server.post(path, config_map("a", {"k": "v"}))).ok()
        changed = (await server.patch(f"{path}/a", {"data": {"k": "w"}})).ok()
        (await server.delete(f"{path}/a")).ok()
        events = [await watch.next() for _ in range(3)]
    assert [each["type"] for each in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert [each["object"] for each in events[:2]] == [made, changed]


async def test_a_deletion_carries_the_last_state_and_a_new_version(
    server: Server, home: Home
) -> None:
    path = home("configmaps")
    made = (await server.post(path, config_map("a", {"k": "v"}))).ok()
    async with server.watch(path, resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        (await server.delete(f"{path}/a")).ok()
        gone = (await watch.next())["object"]
    assert gone["data"] == {"k": "v"}
    assert int(gone["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_a_watch_without_a_version_begins_with_what_is_there(
    server: Server, home: Home
) -> None:
    path = home("configmaps")
    for name in ("a", "b"):
        (await server.post(path, config_map(name))).ok()
    async with server.watch(path) as watch:
        events = [await watch.next() for _ in range(2)]
        (await server.post(path, config_map("c"))).ok()
        events.append(await watch.next())
    assert sorted(shown(events)) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_a_watch_from_zero_begins_with_what_is_there(server: Server, home: Home) -> None:
    path = home("configmaps")
    (await server.post(path, config_map("a"))).ok()
    async with server.watch(path, resourceVersion="0") as watch:
        assert shown([await watch.next()]) == [("ADDED", "a")]


async def test_a_watch_replays_what_happened_since(server: Server, home: Home) -> None:
    path = home("configmaps")
    start = await version(server, path)
    for name in ("a", "b"):
        (await server.post(path, config_map(name))).ok()
    (await server.delete(f"{path}/a")).ok()
    async with server.watch(path, resourceVersion=start) as watch:
        events = [await watch.next() for _ in range(3)]
    assert shown(events) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


async def test_versions_of_events_only_grow(server: Server, home: Home) -> None:
    path = home("configmaps")
    start = await version(server, path)
    for index in range(5):
        (await server.post(path, config_map(f"a{index}"))).ok()
    async with server.watch(path, resourceVersion=start) as watch:
        events = [await watch.next() for _ in range(5)]
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in events]
    assert versions == sorted(set(versions))


async def test_writes_that_change_nothing_are_not_shown(server: Server, home: Home) -> None:
    path = home("configmaps")
    made = (await server.post(path, config_map("a"))).ok()
    async with server.watch(path, resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        (await server.put(f"{path}/a", made)).ok()
        (await server.post(path, config_map("b"))).ok()
        assert shown([await watch.next()]) == [("ADDED", "b")]


async def test_other_namespaces_are_not_shown(server: Server, home: Home) -> None:
    path = home("configmaps")
    async with server.watch(path, resourceVersion=await version(server, path)) as watch:
        (
            await server.post(
                "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "x-"}}
            )
        )
        (await server.post(path, config_map("a"))).ok()
        assert shown([await watch.next()]) == [("ADDED", "a")]


async def test_a_watch_can_span_all_namespaces(server: Server, home: Home) -> None:
    start = await version(server, everywhere("configmaps"))
    async with server.watch(everywhere("configmaps"), resourceVersion=start) as watch:
        (await server.post(home("configmaps"), config_map("mine"))).ok()
        event = (await watch.until(lambda each: each["object"]["metadata"]["name"] == "mine"))[-1]
    assert event["object"]["metadata"]["namespace"] == home.name


async def test_one_object_can_be_watched_by_name(server: Server, home: Home) -> None:
    path = home("configmaps")
    query = {"resourceVersion": await version(server, path), "fieldSelector": "metadata.name=b"}
    async with server.watch(path, **query) as watch:
        for name in ("a", "b"):
            (await server.post(path, config_map(name))).ok()
        assert shown([await watch.next()]) == [("ADDED", "b")]


async def test_objects_enter_and_leave_a_selection(server: Server, home: Home) -> None:
    path = home("configmaps")
    query = {"resourceVersion": await version(server, path), "labelSelector": "in=yes"}
    async with server.watch(path, **query) as watch:
        (await server.post(path, config_map("a", labels={"in": "no"}))).ok()
        (await server.patch(f"{path}/a", {"metadata": {"labels": {"in": "yes"}}})).ok()
        (await server.patch(f"{path}/a", {"data": {"k": "v"}})).ok()
        (await server.patch(f"{path}/a", {"metadata": {"labels": {"in": "no"}}})).ok()
        (await server.delete(f"{path}/a")).ok()
        (await server.post(path, config_map("b", labels={"in": "yes"}))).ok()
        events = [await watch.next() for _ in range(4)]
    assert shown(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b")]
    assert events[2]["object"]["metadata"]["labels"] == {"in": "yes"}
    assert events[2]["object"]["data"] == {"k": "v"}


async def test_pods_enter_and_leave_the_selection_of_a_field(server: Server, home: Home) -> None:
    path = home("pods")
    query = {"resourceVersion": await version(server, path), "fieldSelector": "spec.nodeName=n"}
    async with server.watch(path, **query) as watch:
        (await server.post(path, pod("a"))).ok()
        target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
        binding = simple("v1", "Binding", "a", target=target)
        (await server.post(home("pods", "a", "binding"), binding)).ok(201)
        assert shown([await watch.next()]) == [("ADDED", "a")]


async def test_a_watch_ends_after_its_time(server: Server, home: Home) -> None:
    path = home("configmaps")
    (await server.post(path, config_map("a"))).ok()
    async with server.watch(path, timeoutSeconds=3) as watch:
        assert shown(await watch.rest()) == [("ADDED", "a")]


async def test_a_bookmark_is_sent_before_the_end(server: Server, home: Home) -> None:
    path = home("configmaps")
    start = await version(server, path)
    query: dict[str, Any] = {"resourceVersion": start, "allowWatchBookmarks": "true"}
    async with server.watch(path, timeoutSeconds=6, **query) as watch:
        made = (await server.post(path, config_map("a"))).ok()
        *_, last = await watch.until(lambda each: each["type"] == "BOOKMARK")
    bookmark = last["object"]
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])
    assert "name" not in bookmark["metadata"]


STREAM: dict[str, Any] = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


async def test_a_list_can_come_as_a_stream(server: Server, home: Home) -> None:
    path = home("configmaps")
    for name in ("a", "b"):
        (await server.post(path, config_map(name))).ok()
    async with server.watch(path, **STREAM) as watch:
        *items, end = await watch.until(lambda each: each["type"] == "BOOKMARK")
        assert sorted(shown(items)) == [("ADDED", "a"), ("ADDED", "b")]
        assert end["object"]["metadata"]["annotations"] == {BOOKMARK: "true"}
        newest = max(int(each["object"]["metadata"]["resourceVersion"]) for each in items)
        assert int(end["object"]["metadata"]["resourceVersion"]) >= newest
        (await server.post(path, config_map("c"))).ok()
        assert shown([await watch.next()]) == [("ADDED", "c")]


async def test_an_empty_list_as_a_stream_is_one_bookmark(server: Server, home: Home) -> None:
    async with server.watch(home("configmaps"), **STREAM) as watch:
        end = await watch.next()
    assert end["type"] == "BOOKMARK"
    assert end["object"]["metadata"]["annotations"] == {BOOKMARK: "true"}


async def test_a_stream_can_leave_out_what_is_there(server: Server, home: Home) -> None:
    path = home("configmaps")
    (await server.post(path, config_map("a"))).ok()
    query = {**STREAM, "sendInitialEvents": "false", "resourceVersion": await version(server, path)}
    async with server.watch(path, **query) as watch:
        (await server.post(path, config_map("b"))).ok()
        event = (await watch.until(lambda each: each["type"] != "BOOKMARK"))[-1]
    assert shown([event]) == [("ADDED", "b")]


async def test_a_stream_needs_a_match(server: Server, home: Home) -> None:
    answer = await server.get(home("configmaps"), watch="1", sendInitialEvents="true")
    status = answer.refused(422, "Invalid")
    assert status["message"] == (
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting '
        "resourceVersionMatch to NotOlderThan"
    )


async def test_a_list_that_is_no_watch_cannot_be_streamed(server: Server, home: Home) -> None:
    answer = await server.get(home("configmaps"), sendInitialEvents="true")
    answer.refused(
        422,
        "Invalid",
        'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
    )


async def test_a_match_without_a_stream_is_refused(server: Server, home: Home) -> None:
    answer = await server.get(
        home("configmaps"), watch="1", resourceVersion="1", resourceVersionMatch="NotOlderThan"
    )
    status = answer.refused(422, "Invalid")
    assert (
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        in (status["message"])
    )


async def test_a_version_that_is_no_number_cannot_be_watched(server: Server, home: Home) -> None:
    answer = await server.get(home("configmaps"), watch="1", resourceVersion="abc")
    answer.fails(
        'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    )


async def test_the_old_path_of_watches_still_works(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok()
    path = f"/api/v1/watch/namespaces/{home.name}/configmaps"
    async with server.watch(path) as watch:
        assert shown([await watch.next()]) == [("ADDED", "a")]


async def test_a_watch_begins_where_a_list_ended(server: Server, home: Home) -> None:
    path = home("configmaps")
    (await server.post(path, config_map("a"))).ok()
    found = (await server.get(path)).ok()
    assert names(found) == ["a"]
    async with server.watch(path, resourceVersion=found["metadata"]["resourceVersion"]) as watch:
        (await server.post(path, config_map("b"))).ok()
        assert shown([await watch.next()]) == [("ADDED", "b")]


async def test_a_watch_is_json_lines(server: Server, home: Home) -> None:
    async with server.watch(home("configmaps"), timeoutSeconds=1) as watch:
        assert watch.headers["Content-Type"] == "application/json"


async def test_a_status_change_is_a_change(server: Server, home: Home) -> None:
    path = home("pods")
    made = (await server.post(path, pod("a"))).ok()
    async with server.watch(path, resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        (await server.patch(f"{path}/a/status", {"status": {"phase": "Running"}})).ok()
        event = await watch.next()
    assert event["type"] == "MODIFIED"
    assert event["object"]["status"]["phase"] == "Running"


async def test_the_mark_of_deletion_is_a_change(server: Server, home: Home) -> None:
    path = home("configmaps")
    made = (await server.post(path, config_map("a", finalizers=["x.io/wait"]))).ok()
    async with server.watch(path, resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        (await server.delete(f"{path}/a")).ok()
        (await server.patch(f"{path}/a", {"metadata": {"finalizers": None}})).ok()
        events = [await watch.next() for _ in range(2)]
    assert shown(events) == [("MODIFIED", "a"), ("DELETED", "a")]
    assert events[0]["object"]["metadata"]["deletionTimestamp"]
