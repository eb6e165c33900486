"""Lists: selectors, pages, and what a resource version asks for."""

import base64
import json
from typing import Any

import pytest
from tests.contract.objects import Home, config_map, everywhere, names, pod, simple
from tests.contract.wire import Server


@pytest.fixture
async def five(server: Server, home: Home) -> str:
    """The path of five config maps, a to e, with labels."""
    for index, name in enumerate("abcde"):
        labels = {"name": name, "half": "low" if index < 2 else "high"}
        body = config_map(name, labels={**labels, "odd": "yes"} if index % 2 else labels)
        (await server.post(home("configmaps"), body)).ok(201)
    return home("configmaps")


async def test_a_list_is_ordered_by_name_and_has_a_version(server: Server, five: str) -> None:
    found = (await server.get(five)).ok()
    assert names(found) == ["a", "b", "c", "d", "e"]
    assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMapList")
    newest = max(int(item["metadata"]["resourceVersion"]) for item in found["items"])
    assert int(found["metadata"]["resourceVersion"]) >= newest


async def test_items_of_a_list_do_not_repeat_their_kind(server: Server, five: str) -> None:
    assert not any(
        {"kind", "apiVersion"} & set(item) for item in (await server.get(five)).json["items"]
    )


async def test_an_empty_list_has_no_items_and_still_a_version(server: Server, home: Home) -> None:
    found = (await server.get(home("secrets"))).ok()
    assert found["items"] == []
    assert int(found["metadata"]["resourceVersion"]) > 0


async def test_a_list_over_all_namespaces_is_ordered_by_namespace(
    server: Server, five: str
) -> None:
    found = (await server.get(everywhere("configmaps"))).ok()
    keys = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in found["items"]]
    assert keys == sorted(keys)
    assert len(keys) >= 5


async def test_a_namespace_that_does_not_exist_is_an_empty_list(server: Server) -> None:
    assert (await server.get(Home("nowhere-at-all")("configmaps"))).ok()["items"] == []


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("half=low", "ab"),
        ("half==high", "cde"),
        ("half!=low", "cde"),
        ("odd", "bd"),
        ("!odd", "ace"),
        ("name in (a,e)", "ae"),
        ("name notin (a,e)", "bcd"),
        ("half=high,odd", "d"),
        ("", "abcde"),
    ],
    ids=["is", "equals", "is not", "exists", "is absent", "one of", "none of", "both", "all"],
)
async def test_labels_select(server: Server, five: str, selector: str, expected: str) -> None:
    assert names((await server.get(five, labelSelector=selector)).ok()) == list(expected)


async def test_numbers_compare_in_label_selectors(server: Server, home: Home) -> None:
    for name, size in (("a", "1"), ("b", "5"), ("c", "x")):
        (await server.post(home("configmaps"), config_map(name, labels={"size": size}))).ok()
    assert names((await server.get(home("configmaps"), labelSelector="size>3")).ok()) == ["b"]
    assert names((await server.get(home("configmaps"), labelSelector="size<3")).ok()) == ["a"]


async def test_a_label_selector_that_cannot_be_read_is_refused(server: Server, five: str) -> None:
    answer = await server.get(five, labelSelector="a in b")
    answer.refused(
        400,
        "BadRequest",
        "unable to parse requirement: found 'b' expected: '('",
    )


async def test_names_select_as_fields(server: Server, five: str) -> None:
    assert names((await server.get(five, fieldSelector="metadata.name=c")).ok()) == ["c"]
    some = await server.get(five, fieldSelector="metadata.name!=c,metadata.name!=a")
    assert names(some.ok()) == ["b", "d", "e"]


async def test_pods_are_selected_by_node_and_phase(server: Server, home: Home) -> None:
    (await server.post(home("pods"), pod("a", nodeName="one"))).ok()
    (await server.post(home("pods"), pod("b"))).ok()
    (await server.patch(home("pods", "b", "status"), {"status": {"phase": "Running"}})).ok()

    async def found(selector: str) -> list[str]:
        return names((await server.get(home("pods"), fieldSelector=selector)).ok())

    assert await found("spec.nodeName=one") == ["a"]
    assert await found("spec.nodeName=") == ["b"]
    assert await found("status.phase=Running") == ["b"]
    assert await found("status.phase!=Running,spec.restartPolicy=Always") == ["a"]


async def test_a_field_that_cannot_be_selected_is_refused(server: Server, five: str) -> None:
    (await server.get(five, fieldSelector="data.k=v")).refused(
        400,
        "BadRequest",
        '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )


async def test_a_field_selector_that_cannot_be_read_is_refused(server: Server, five: str) -> None:
    answer = await server.get(five, fieldSelector="metadata.name")
    answer.refused(
        400,
        "BadRequest",
        "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
    )


async def test_events_are_selected_by_what_they_are_about(server: Server, home: Home) -> None:
    for name, target in (("a", "one"), ("b", "two")):
        event = simple(
            "v1",
            "Event",
            name,
            involvedObject={"kind": "Pod", "name": target, "namespace": home.name},
            reason="Because",
            type="Normal",
        )
        (await server.post(home("events"), event)).ok(201)
    found = await server.get(home("events"), fieldSelector="involvedObject.name=two,reason=Because")
    assert names(found.ok()) == ["b"]


async def test_pages_cover_everything_once(server: Server, five: str) -> None:
    first = (await server.get(five, limit=2)).ok()
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    second = (await server.get(five, limit=2, **{"continue": first["metadata"]["continue"]})).ok()
    assert names(second) == ["c", "d"]
    assert second["metadata"]["remainingItemCount"] == 1
    last = (await server.get(five, limit=2, **{"continue": second["metadata"]["continue"]})).ok()
    assert names(last) == ["e"]
    assert not {"continue", "remainingItemCount"} & set(last["metadata"])


async def test_all_pages_show_the_same_moment(server: Server, five: str) -> None:
    first = (await server.get(five, limit=2)).ok()
    (await server.delete(f"{five}/d")).ok()
    (await server.post(five, config_map("cc"))).ok()
    rest = (await server.get(five, limit=9, **{"continue": first["metadata"]["continue"]})).ok()
    assert names(rest) == ["c", "d", "e"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_pages_of_a_selection_do_not_say_how_much_remains(server: Server, five: str) -> None:
    first = (await server.get(five, limit=1, labelSelector="half=high")).ok()
    assert names(first) == ["c"]
    assert "remainingItemCount" not in first["metadata"]
    token = first["metadata"]["continue"]
    rest = await server.get(five, limit=5, labelSelector="half=high", **{"continue": token})
    assert names(rest.ok()) == ["d", "e"]


async def test_a_page_that_holds_all_is_the_last(server: Server, five: str) -> None:
    assert "continue" not in (await server.get(five, limit=5)).ok()["metadata"]


async def test_a_token_that_cannot_be_read_is_refused(server: Server, five: str) -> None:
    answer = await server.get(five, limit=2, **{"continue": "???"})
    status = answer.refused(400, "BadRequest")
    assert status["message"].startswith("invalid continue token: continue key is not valid: ")


async def test_a_token_has_its_own_version(server: Server, five: str) -> None:
    token = (await server.get(five, limit=2)).ok()["metadata"]["continue"]
    query: dict[str, Any] = {"limit": 2, "continue": token, "resourceVersion": "5"}
    answer = await server.get(five, **query)
    answer.refused(
        400,
        "BadRequest",
        "specifying resource version is not allowed when using continue",
    )


async def test_a_token_is_only_good_for_its_list(server: Server, five: str, home: Home) -> None:
    token = (await server.get(five, limit=2)).ok()["metadata"]["continue"]
    inside = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    assert inside["v"] == "meta.k8s.io/v1"
    inside["start"] = "../../secrets"
    bad = base64.urlsafe_b64encode(json.dumps(inside).encode()).decode().rstrip("=")
    answer = await server.get(five, limit=2, **{"continue": bad})
    answer.refused(
        400, "BadRequest", "invalid continue token: continue key is not valid: ../../secrets"
    )


async def test_version_zero_is_any_version(server: Server, five: str) -> None:
    found = (await server.get(five, resourceVersion="0")).ok()
    assert int(found["metadata"]["resourceVersion"]) > 0


async def test_not_older_than_a_version_shows_it_or_later(server: Server, five: str) -> None:
    made = (await server.post(five, config_map("f"))).ok()["metadata"]["resourceVersion"]
    for match in ({}, {"resourceVersionMatch": "NotOlderThan"}):
        found = (await server.get(five, resourceVersion=made, **match)).ok()
        assert "f" in names(found)
        assert int(found["metadata"]["resourceVersion"]) >= int(made)


async def test_an_exact_version_shows_that_moment(server: Server, five: str) -> None:
    then = (await server.get(five)).ok()["metadata"]["resourceVersion"]
    (await server.delete(f"{five}/a")).ok()
    query = {"resourceVersion": then, "resourceVersionMatch": "Exact"}
    found = (await server.get(five, **query)).ok()
    assert names(found) == ["a", "b", "c", "d", "e"]
    assert found["metadata"]["resourceVersion"] == then


async def test_a_version_with_a_limit_is_exact(server: Server, five: str) -> None:
    then = (await server.get(five)).ok()["metadata"]["resourceVersion"]
    (await server.delete(f"{five}/a")).ok()
    found = (await server.get(five, resourceVersion=then, limit=2)).ok()
    assert names(found) == ["a", "b"]


async def test_an_exact_match_needs_a_version(server: Server, five: str) -> None:
    answer = await server.get(five, resourceVersionMatch="Exact")
    answer.refused(
        422,
        "Invalid",
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless '
        "resourceVersion is provided",
    )


async def test_exactly_zero_is_refused(server: Server, five: str) -> None:
    answer = await server.get(five, resourceVersion="0", resourceVersionMatch="Exact")
    answer.refused(
        422,
        "Invalid",
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is '
        'forbidden for resourceVersion "0"',
    )


async def test_a_match_nobody_knows_is_refused(server: Server, five: str) -> None:
    answer = await server.get(five, resourceVersion="1", resourceVersionMatch="Roughly")
    answer.refused(
        422,
        "Invalid",
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Roughly": supported values: '
        '"Exact", "NotOlderThan", ""',
    )


async def test_a_version_that_is_no_number_is_refused(server: Server, five: str) -> None:
    status = (await server.get(five, resourceVersion="abc")).refused(400, "BadRequest")
    assert "abc" in status["message"]


async def test_a_version_from_the_future_is_too_large(server: Server, five: str) -> None:
    now = int((await server.get(five)).ok()["metadata"]["resourceVersion"])
    answer = await server.get(five, resourceVersion=str(now + 100000))
    status = answer.refused(504, "Timeout")
    assert status["message"].startswith(
        f"Timeout: Too large resource version: {now + 100000}, current: "
    )
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert status["details"]["retryAfterSeconds"] == 1


async def test_an_object_can_be_read_from_a_version(server: Server, five: str) -> None:
    made = (await server.post(five, config_map("f"))).ok()
    version = made["metadata"]["resourceVersion"]
    assert (await server.get(f"{five}/f", resourceVersion=version)).ok() == made
    assert (await server.get(f"{five}/f", resourceVersion="0")).status in (200, 404)


async def test_a_limit_that_is_no_number_is_refused(server: Server, five: str) -> None:
    answer = await server.get(five, limit="two")
    answer.refused(400, "BadRequest", 'strconv.ParseInt: parsing "two": invalid syntax')


async def test_a_list_of_one_name_has_no_further_pages(server: Server, five: str) -> None:
    found = (await server.get(five, fieldSelector="metadata.name=a", limit="1")).ok()
    assert names(found) == ["a"]
    assert "continue" not in found["metadata"]
