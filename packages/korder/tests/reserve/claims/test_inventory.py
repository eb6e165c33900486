"""Shelves: tickets lie together if, and only if, no pod could tell them apart but by name, node and times."""

import pytest

from korder.api.reserve import SCHEDULED_TIME_ANNOTATION, Ticket
from korder.reserve.claims import inventory
from korder.testing.builders import a_ticket
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder


def held(name: str = "t") -> Builder[Ticket]:
    requests: JSON = {"cpu": "1"}
    status: JSON = {"phase": "Reserved", "nodeName": "node-1"}
    made: JSON = {"apiVersion": "core.korder.dev/v1alpha1", "kind": "Order", "name": "o"}
    meta: JSON = {
        "labels": {"a": "b"},
        "ownerReferences": [{**made, "uid": "1", "controller": True}],
    }
    change: JSON = {
        "metadata": meta,
        "spec": {"resources": {"requests": requests}},
        "status": status,
    }
    return a_ticket(name).stored(f"uid-{name}").but(change)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"name": "other", "uid": "uid-other", "resourceVersion": "9"}},
        {"metadata": {"annotations": {SCHEDULED_TIME_ANNOTATION: "2026-01-01T00:00:00Z"}}},
        {"spec": {"duration": "3h"}},
        {"status": {"nodeName": "node-2", "guardianPod": "default/g"}},
        {"status": {"expirationTime": "2030-01-01T00:00:00Z"}},
    ],
)
def test_tickets_that_no_pod_tells_apart_lie_together(change: dict[str, JSON]) -> None:
    assert inventory.shelf_of(held().build()) == inventory.shelf_of(held().but(change).build())


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"a": "c"}}},
        {"metadata": {"annotations": {"korder.dev/ticket-group": "g"}}},
        {"metadata": {"ownerReferences": []}},
        {"spec": {"resources": {"requests": {"cpu": "2"}}}},
        {"spec": {"resources": {"requests": {"memory": "1Gi"}}}},
        {"spec": {"owners": [{"namespaces": ["batch"]}]}},
        {"spec": {"allocateOnce": False}},
        {"spec": {"nodeName": "node-1"}},
        {"status": {"sharedBy": [{"namespace": "d", "name": "p", "uid": "u", "requests": {}}]}},
    ],
)
def test_tickets_that_differ_for_some_pod_lie_apart(change: dict[str, JSON]) -> None:
    other = held().but(change).build()
    assert inventory.shelf_of(other) not in (None, inventory.shelf_of(held().build()))


@pytest.mark.parametrize(
    "change",
    [
        {"status": {"phase": "Claiming"}},
        {"status": {"phase": "Pending"}},
        {"status": {"nodeName": ""}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
    ],
)
def test_a_ticket_that_cannot_be_had_lies_nowhere(change: dict[str, JSON]) -> None:
    assert inventory.shelf_of(held().but(change).build()) is None


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"name": "other", "uid": "uid-other"}},
        {"spec": {"nodeName": "node-1"}},
        {"status": {"phase": "Claimed", "nodeName": "node-2"}},
        {"status": {"sharedBy": [{"namespace": "d", "name": "p", "uid": "u", "requests": {}}]}},
    ],
)
def test_a_ticket_stays_of_its_kind_whoever_has_it(change: dict[str, JSON]) -> None:
    assert inventory.kind_of(held().but(change).build()) == inventory.kind_of(held().build())


def test_a_ticket_that_has_ended_is_of_no_kind() -> None:
    assert inventory.kind_of(held().but({"status": {"phase": "Released"}}).build()) is None


def test_stock_is_what_can_be_had_what_is_on_its_way_and_what_there_is_at_all() -> None:
    claiming = held("c").but({"status": {"phase": "Claiming"}}).build()
    pending = held("p").but({"status": {"phase": "Pending"}}).build()
    large = held("l").but({"spec": {"resources": {"requests": {"cpu": "2"}}}}).build()
    equal = [held("a").build(), held("b").build()]
    gone = held("g").labelled({"a": "g"}).but({"status": {"phase": "Expired"}}).build()
    stock = inventory.stock_of([*equal, claiming, large, pending, gone])
    assert sorted(map(len, stock.shelves)) == [1, 2]
    assert list(stock.claiming) == [claiming]
    assert list(stock.kinds) == [equal[0], large]
