"""`korder explain order`: what it has, lacks, and will do next."""

from datetime import UTC, datetime, timedelta

import pytest

from korder.api.reserve import NODE_LABEL, ORDERS, STANDING_ANNOTATION, Order, Ticket
from korder.explanation import Explanation
from korder.reserve.explain import orders as explain_orders
from korder.reserve.explain.orders import OrderQuestion
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects import instant
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder, a_node

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def an_observed(**spec: JSON) -> Builder[Order]:
    ready: JSON = {
        "type": "Ready",
        "status": "False",
        "reason": "TicketsWait",
        "message": "1 waits.",
    }
    return an_order("o", 2).stored("o-uid").but({"spec": spec, "status": {"conditions": [ready]}})


def explained(order: Builder[Order], *tickets: Builder[Ticket]) -> Explanation:
    built = [ticket.build() for ticket in tickets]
    return explain_orders.explain(OrderQuestion(order.build(), built, NOW))


def test_its_tickets_are_counted_and_reported_one_by_one():
    order = an_observed()
    stated = explained(
        order,
        a_ticket("a")
        .but({"status": {"phase": "Claimed", "claimedPod": "default/web"}})
        .owned_by(ORDERS, order.build()),
        a_ticket("b")
        .but({"status": {"phase": "Pending", "reason": "Unschedulable", "message": "no room"}})
        .owned_by(ORDERS, order.build()),
        a_ticket("foreign"),
    )
    assert stated.verdict == "Not ready (TicketsWait): 1 waits. Tickets: 1 Pending, 1 Claimed."
    assert [row[0] for row in stated.rows] == ["a", "b"]
    assert stated.rows[0][-1] == "by default/web"
    assert stated.rows[1][-1] == "Unschedulable: no room"


def test_a_ticket_that_is_free_says_until_when():
    order = an_observed()
    ends = instant.render(NOW + timedelta(minutes=10))
    free = a_ticket("a").but({"status": {"phase": "Reserved", "expirationTime": ends}})
    stated = explained(order, free.owned_by(ORDERS, order.build()))
    assert stated.rows[0][-1] == "expires in 10m"
    standing = free.annotated({STANDING_ANNOTATION: "true"}).owned_by(ORDERS, order.build())
    assert explained(order, standing).rows[0][-1] == "renewed in 10m"


@pytest.mark.parametrize(("start", "fires"), [("10:59", False), ("11:01", True)])
def test_a_pool_whose_only_time_is_over_fires_no_more(start: str, fires: bool) -> None:
    times: JSON = {"startTime": f"2026-03-01T{start}:00Z", "duration": "1h"}
    recurring: JSON = {"type": "Recurring", "schedule": "0 * * * *"}
    stated = explained(an_observed(strategy=recurring, template={"spec": times}))
    assert any("It fires next" in fact for fact in stated.facts) is fires


def test_an_order_nobody_has_looked_at():
    assert "does `korder manager` run?" in explained(an_order("o")).verdict


@pytest.mark.parametrize(
    ("spec", "fact"),
    [
        (
            {"paused": True},
            "It is paused: it makes and refreshes no tickets; those that are there go on.",
        ),
        (
            {"minAvailable": 2},
            "It is closed: nobody may claim before 2 tickets are held for the first time; 0 are.",
        ),
        ({"daemonSet": True}, "It keeps one ticket on every eligible node: 0 of them."),
        (
            {},
            (
                "OneTime with OnClaim replaces tickets so: a claimed one at once, an expired one never,"
                " a deleted one never."
            ),
        ),
        (
            {"strategy": {"type": "Recurring", "schedule": "0 18 * * *", "refreshPolicy": "Never"}},
            (
                "Recurring with Never replaces tickets so: a claimed one never,"
                " an expired one at the next firing, a deleted one never."
            ),
        ),
    ],
    ids=["paused", "closed", "on every node", "on claim", "recurring"],
)
def test_what_it_does_is_reported(spec: dict[str, JSON], fact: str):
    assert fact in explained(an_observed(**spec)).facts


def test_the_next_firing_comes_from_the_schedule_itself():
    strategy: JSON = {
        "type": "Scheduled",
        "schedule": "0 18 * * *",
        "timeZone": "Europe/Berlin",
        "leadTime": "10m",
    }
    stated = explained(an_observed(strategy=strategy))
    fires = NOW + timedelta(hours=5)
    assert f"It fires next in 5h, at {instant.render(fires)}." in stated.facts
    assert "Its guardians are placed 10m before." in stated.facts


def test_a_firing_that_was_acted_on_ahead_of_its_time_has_not_happened():
    strategy: JSON = {"type": "Scheduled", "schedule": "0 18 * * *", "leadTime": "10h"}
    order = an_observed(strategy=strategy).but(
        {"status": {"lastScheduleTime": instant.render(NOW + timedelta(hours=6))}}
    )
    stated = " ".join(explained(order).facts)
    assert "last fired" not in stated
    assert "Its guardians are placed 10h before." in stated


def test_a_paused_order_does_not_fire():
    strategy: JSON = {"type": "Scheduled", "schedule": "0 18 * * *"}
    facts = explained(an_observed(strategy=strategy, paused=True)).facts
    assert not any("fires next" in fact for fact in facts)


def test_a_schedule_nobody_can_read_is_reported():
    strategy: JSON = {"type": "Scheduled", "schedule": "61 * * * *"}
    facts = explained(an_observed(strategy=strategy)).facts
    assert any(fact.startswith("Its schedule cannot be read:") for fact in facts)


def test_an_order_that_is_being_deleted():
    assert "It is being deleted." in explained(an_observed().deleted_at(NOW)).facts


def test_a_roll_out_that_does_not_go_on_is_reported():
    blocked: JSON = {
        "type": "Progressing",
        "status": "False",
        "reason": "RolloutBlocked",
        "message": "o-2 has no room",
    }
    order = an_observed().but({"status": {"conditions": [blocked]}})
    stated = "Its roll-out does not go on (RolloutBlocked): o-2 has no room"
    assert stated in explained(order).facts


def test_daemonset_mode_tells_of_every_node_what_it_has_or_what_keeps_it_out():
    """Seed 001: does a node match, are its taints tolerated, is it ready and not cordoned."""
    order = an_observed(daemonSet=True, template={"spec": {"nodeSelector": {"os": "linux"}}})
    linux = {"os": "linux"}
    ticket = a_ticket("o-n1").labelled({NODE_LABEL: "n1"})
    ticket = ticket.but({"spec": {"nodeName": "n1"}, "status": {"phase": "Pending"}})
    used = a_ticket("o-n7").labelled({NODE_LABEL: "n7"})
    use: JSON = {"phase": "Claimed", "claimedPod": "default/web"}
    used = used.but({"spec": {"nodeName": "n7"}, "status": use})
    stated = explain_orders.explain(
        OrderQuestion(
            order.build(),
            [each.owned_by(ORDERS, order.build()).build() for each in (ticket, used)],
            NOW,
            [
                a_node("n1").labelled(linux).build(),
                a_node("n2").labelled(linux).build(),
                a_node("n3").labelled({"os": "windows"}).build(),
                a_node("n4").labelled(linux).tainted("gpu").build(),
                a_node("n5").labelled(linux).cordoned().build(),
                a_node("n6").labelled(linux).not_ready().build(),
                a_node("n7").labelled(linux).cordoned().build(),
            ],
        )
    )
    assert stated.titles == ("NODE", "TICKET", "PHASE", "WHY")
    rows = {row[0]: row[1:] for row in stated.rows}
    assert rows["n1"][:2] == ("o-n1", "Pending")
    assert rows["n2"][-1] == "no ticket yet"
    assert "os=linux" in rows["n3"][-1]
    assert "does not tolerate taint gpu:NoSchedule" in rows["n4"][-1]
    assert rows["n5"][-1] == "node n5 is cordoned"
    assert rows["n6"][-1] == "node n6 is not ready"
    assert rows["n7"][-1] == "by default/web; node n7 is cordoned"
