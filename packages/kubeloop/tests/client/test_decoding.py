"""Bytes to objects, with everything servers do."""

import json
from typing import Any

import pytest

from kubeloop.client import errors
from kubeloop.client.decoding import UNREADABLE, EventDecoder, decode_list, decode_object, stamped
from kubeloop.objects.core import PODS, Node, Pod


def event(type_: str, content: Any) -> bytes:
    return json.dumps({"type": type_, "object": content}).encode()


def test_a_change_is_an_object_of_its_kind() -> None:
    line = event("ADDED", {"metadata": {"name": "web"}, "spec": {"nodeName": "n1"}})
    found = EventDecoder(Pod).decode(line)
    assert (found.type, found.object.spec.node_name) == ("ADDED", "n1")


def test_a_line_of_two_watches_is_one_object_for_each_type() -> None:
    line = event("ADDED", {"metadata": {"name": "web"}})
    found = EventDecoder(Pod).decode(line)
    assert EventDecoder(Pod).decode(bytes(bytearray(line))).object is found.object
    assert type(EventDecoder(Node).decode(line).object) is Node


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"metadata": {"resourceVersion": "9"}}, id="bare"),
        pytest.param(
            {"metadata": {"resourceVersion": "9"}, "spec": {"containers": None}}, id="with nulls"
        ),
        pytest.param({"metadata": {"resourceVersion": "9"}, "spec": "?"}, id="of no use otherwise"),
    ],
)
def test_a_bookmark_is_read_for_its_version(content: Any) -> None:
    found = EventDecoder(Pod).decode(event("BOOKMARK", content))
    assert found.object.metadata.resource_version == "9"


@pytest.mark.parametrize("metadata", [{}, None], ids=["like an object", "unlike an object"])
def test_an_error_event_raises_what_it_says(metadata: Any) -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "status": "Failure"}
    line = event("ERROR", {**status, "metadata": metadata, "message": "too old"})
    with pytest.raises(errors.Expired, match="too old"):
        EventDecoder(Pod).decode(line)


def test_nulls_in_a_change_are_absent_members() -> None:
    line = event("MODIFIED", {"metadata": {"name": "web", "labels": None}, "status": None})
    assert EventDecoder(Pod).decode(line).object.metadata.labels == {}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"type":"ADDED","object":{"metadata"', id="half a line"),
        pytest.param(b"[]", id="no event"),
        pytest.param(b'1000{"type":"ADDED"}', id="something before the event"),
        pytest.param(b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}', id="no text"),
        pytest.param(b'{"type":"ERROR","object":{"code":"500"}}', id="an odd error"),
        pytest.param(b'{"type":"ERROR","object":null}', id="an error about nothing"),
        pytest.param(event("ADDED", {"metadata": {"name": 5}}), id="an object without a name"),
    ],
)
def test_what_cannot_be_read_is_said(line: bytes) -> None:
    with pytest.raises(errors.Undecodable):
        EventDecoder(Pod).decode(line)


def test_items_of_a_list_need_not_say_their_kind() -> None:
    found = decode_list(b'{"metadata":{"continue":"t"},"items":[{"metadata":{"name":"a"}}]}', Pod)
    assert (found.metadata.continue_token, found.items[0].metadata.name) == ("t", "a")


def test_an_item_of_a_list_gets_the_kind_it_has_everywhere_else() -> None:
    (item,) = decode_list(b'{"items":[{"metadata":{"name":"a"}}]}', Pod).items
    assert (stamped(item, PODS).api_version, stamped(item, PODS).kind) == ("v1", "Pod")


def test_an_object_names_the_place_that_does_not_fit() -> None:
    with pytest.raises(errors.Undecodable, match=r"Pod.*\$\.metadata\.uid"):
        decode_object(b'{"metadata":{"uid":1}}', Pod)


def test_an_event_about_something_unreadable_keeps_its_name_and_version() -> None:
    odd = {"metadata": {"name": "web", "namespace": "ns", "resourceVersion": "7"}, "spec": "?"}
    found = EventDecoder(Pod).decode(event("MODIFIED", odd))
    assert found.type == UNREADABLE
    assert found.object.metadata.resource_version == "7"
    assert "ns/web cannot be read" in str(found.object)


def test_one_unreadable_item_does_not_hide_the_others() -> None:
    items = [
        {"metadata": {"name": "a"}},
        {"metadata": {"name": "odd"}, "spec": {"priority": "high"}},
        {"metadata": {"name": "b", "labels": None}},
    ]
    found = decode_list(json.dumps({"metadata": {"continue": "t"}, "items": items}).encode(), Pod)
    assert [item.metadata.name for item in found.items] == ["a", "b"]
    assert [odd.metadata.name for odd in found.unreadable] == ["odd"]
    assert found.metadata.continue_token == "t"
