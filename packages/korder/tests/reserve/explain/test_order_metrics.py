"""What objects add to the figures that people watch."""

import pytest
from tests.reserve.quotas.quotas import a_quota

from korder.api.reserve import GUARDIAN_LABEL, TICKETS, Ticket
from korder.reserve import metrics
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder, a_pod

GUARDED = {GUARDIAN_LABEL: "true"}


def a_held_ticket(phase: str) -> Builder[Ticket]:
    requests: JSON = {"requests": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": 1}}
    status: JSON = {"phase": phase, "nodeName": "n1"}
    return a_ticket("t").but({"spec": {"resources": requests}, "status": status})


def shown(amounts: metrics.Amounts) -> dict[str, float]:
    """Lines as they are printed."""
    return {
        f"{family.name.removeprefix('korder_')} {' '.join(labels)}": amount / family.unit
        for (family, labels), amount in amounts.items()
    }


@pytest.mark.parametrize(
    ("change", "active"),
    [
        ({}, True),
        ({"spec": {"paused": True}}, False),
        ({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, False),
        ({"status": {"conditions": [{"type": "Complete", "status": "False"}]}}, True),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False),
    ],
    ids=["plain", "paused", "complete", "not complete yet", "being deleted"],
)
def test_an_order_is_active_while_it_makes_tickets(change: JSON, active: bool):
    assert isinstance(change, dict)
    amounts = shown(metrics.of_order(an_order("o").but(change).build()))
    assert amounts == {
        "orders_total default OneTime": 1,
        **({"orders_active default OneTime": 1} if active else {}),
    }


def test_an_order_without_strategy_counts_as_one_time():
    amounts = shown(metrics.of_order(an_order("o").but({"spec": {"strategy": None}}).build()))
    assert "orders_total default OneTime" in amounts


def test_pods_use_their_shares_while_the_rest_waits_for_room():
    share: JSON = {"namespace": "default", "name": "p", "uid": "u", "requests": {"cpu": "1"}}
    waiting = a_held_ticket("Pending").but({"spec": {"allocateOnce": False}})
    amounts = shown(metrics.of_ticket(waiting.but({"status": {"sharedBy": [share]}}).build()))
    assert amounts == {
        "tickets_total default Pending": 1,
        "tickets_active default Pending": 1,
        "claimed_resources default cpu cores": 1,
        "node_claimed_resources n1 cpu cores": 1,
    }


@pytest.mark.parametrize("phase", ["Reserved", "Claiming"])
def test_held_room_is_shown_by_namespace_and_by_node(phase: str):
    assert shown(metrics.of_ticket(a_held_ticket(phase).build())) == {
        f"tickets_total default {phase}": 1,
        f"tickets_active default {phase}": 1,
        "reserved_resources default cpu cores": 1.5,
        "reserved_resources default memory bytes": 2**30,
        "reserved_resources default nvidia.com/gpu count": 1,
        "node_reserved_resources n1 cpu cores": 1.5,
        "node_reserved_resources n1 memory bytes": 2**30,
        "node_reserved_resources n1 nvidia.com/gpu count": 1,
    }


def test_room_in_use_is_claimed_and_no_longer_reserved():
    amounts = shown(metrics.of_ticket(a_held_ticket("Claimed").build()))
    assert amounts["claimed_resources default cpu cores"] == 1.5
    assert amounts["node_claimed_resources n1 cpu cores"] == 1.5
    assert not [line for line in amounts if "reserved" in line]


@pytest.mark.parametrize("phase", ["Released", "Expired"])
def test_an_ended_ticket_is_counted_and_holds_nothing(phase: str):
    assert shown(metrics.of_ticket(a_held_ticket(phase).build())) == {
        f"tickets_total default {phase}": 1
    }


def test_a_ticket_nobody_has_looked_at_is_pending_and_holds_nothing():
    assert shown(metrics.of_ticket(a_ticket("t").build())) == {
        "tickets_total default Pending": 1,
        "tickets_active default Pending": 1,
    }


def test_a_shared_ticket_is_in_part_held_and_in_part_in_use():
    share: JSON = {"namespace": "default", "name": "p", "uid": "u", "requests": {"cpu": "1"}}
    ticket = a_held_ticket("Reserved").but(
        {"spec": {"allocateOnce": False}, "status": {"sharedBy": [share]}}
    )
    amounts = shown(metrics.of_ticket(ticket.build()))
    assert amounts["reserved_resources default cpu cores"] == 0.5
    assert amounts["claimed_resources default cpu cores"] == 1


def test_a_shared_ticket_whose_time_is_over_holds_nothing_beside_its_pods():
    share: JSON = {"namespace": "default", "name": "p", "uid": "u", "requests": {"cpu": "1"}}
    ticket = a_held_ticket("Claimed").but(
        {"spec": {"allocateOnce": False}, "status": {"sharedBy": [share]}}
    )
    amounts = shown(metrics.of_ticket(ticket.build()))
    assert amounts["claimed_resources default cpu cores"] == 1
    assert not any(name.startswith(("reserved_", "node_reserved_")) for name in amounts)


def test_a_pod_counts_as_a_guardian_only_if_a_ticket_owns_it():
    owner = a_ticket("t").stored("t-uid").build()
    guardian = a_pod("g").labelled(GUARDED).owned_by(TICKETS, owner)
    assert shown(metrics.of_pod(guardian.build())) == {"guardian_pods_total default": 1}
    assert metrics.of_pod(a_pod("fake").labelled(GUARDED).build()) == {}
    assert metrics.of_pod(a_pod("other").build()) == {}


@pytest.mark.parametrize(
    ("used", "hard", "ratio"),
    [
        ("3", "4", 0.75),
        ("5", "4", 1.25),
        ("0", "0", 0),
        ("500m", "0", 1.5),
    ],
    ids=["a part", "too much", "nothing of nothing", "something where nothing is allowed"],
)
def test_a_limit_is_exceeded_exactly_when_its_ratio_is_above_one(
    used: str, hard: str, ratio: float
):
    key = "reserved.cpu"
    quota = a_quota("q").but({"status": {"hard": {key: hard}, "used": {key: used}}}).build()
    amounts = shown(metrics.of_quota(quota))
    assert amounts[f"quota_usage_ratio q {key}"] == ratio
