"""What an order counts: tickets that can be claimed, that have pods, and the nodes of DaemonSet mode."""

from tests.reserve.orders.order_harness import OrderHarness

from korder.api.reserve import TicketPhase
from korder.testing.builders import an_order
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node


def ready(harness: OrderHarness) -> tuple[str, str]:
    found = next(each for each in harness.order.status.conditions if each.type == "Ready")
    return found.status.value, found.message


def reason(harness: OrderHarness) -> str:
    return next(each.reason for each in harness.order.status.conditions if each.type == "Ready")


def test_an_order_without_a_free_ticket_says_that_all_are_in_use() -> None:
    """Ready=True: each ticket holds its room for its pod, and the policy wants no others."""
    strategy: JSON = {"type": "OneTime", "refreshPolicy": "Never"}
    harness = OrderHarness(an_order("o", 4).but({"spec": {"strategy": strategy}}))
    harness.settle()
    assert (reason(harness), *ready(harness)) == (
        "AllHeld",
        "True",
        "4 of 4 tickets can be claimed.",
    )
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.settle()
    stated = "3 of 4 tickets can be claimed, 1 is in use."
    assert (reason(harness), *ready(harness)) == ("AllHeld", "True", stated)
    for name in ("o-1", "o-2"):
        harness.become(name, TicketPhase.CLAIMED)
    harness.become("o-3", TicketPhase.CLAIMING)
    harness.settle()
    stated = "0 of 4 tickets can be claimed, 3 are in use, 1 is being handed over."
    assert (reason(harness), *ready(harness)) == ("AllInUse", "True", stated)
    harness.become("o-3", TicketPhase.CLAIMED)
    harness.settle()
    stated = "0 of 4 tickets can be claimed, 4 are in use."
    assert (reason(harness), *ready(harness)) == ("AllInUse", "True", stated)


def test_an_order_that_refills_waits_for_tickets_while_all_are_in_use() -> None:
    harness = OrderHarness(an_order("o", 2))
    harness.settle()
    for name in harness.free:
        harness.become(name, TicketPhase.CLAIMED)
    harness.settle(hold=False)
    assert (reason(harness), *ready(harness)) == (
        "TicketsWait",
        "False",
        "0 of 2 tickets can be claimed",
    )
    harness.settle()
    stated = "2 of 2 tickets can be claimed, 2 are in use."
    assert (reason(harness), *ready(harness)) == ("AllHeld", "True", stated)


def test_every_node_of_daemon_set_mode_may_be_in_use() -> None:
    harness = OrderHarness(an_order("o").but({"spec": {"daemonSet": True}}))
    harness.nodes = {"n0": a_node("n0")}
    harness.settle()
    harness.become("o-n0", TicketPhase.CLAIMED)
    harness.settle()
    stated = "0 of 1 tickets can be claimed, 1 is in use."
    assert (reason(harness), *ready(harness)) == ("AllInUse", "True", stated)


def test_a_held_ticket_that_cannot_be_claimed_is_not_available() -> None:
    """Rule 12: its node is cordoned."""
    harness = OrderHarness(an_order("o", 2))
    harness.settle()
    assert (harness.order.status.available_replicas, ready(harness)[0]) == (2, "True")
    cordoned: JSON = [{"type": "Ready", "status": "False", "reason": "NodeCordoned"}]
    harness.become("o-1", TicketPhase.RESERVED, conditions=cordoned, message="node n is cordoned")
    harness.settle()
    assert harness.order.status.available_replicas == 1
    assert ready(harness) == (
        "False",
        "1 of 2 tickets can be claimed; o-1 waits: node n is cordoned",
    )


def test_a_ticket_that_pods_share_has_a_pod() -> None:
    harness = OrderHarness(
        an_order("o", 2).but({"spec": {"template": {"spec": {"allocateOnce": False}}}})
    )
    harness.settle()
    shares: JSON = [{"namespace": "default", "name": "web", "uid": "u", "requests": {}}]
    harness.become("o-0", TicketPhase.RESERVED, sharedBy=shares)
    harness.settle()
    status = harness.order.status
    assert (status.claimed_replicas, status.available_replicas) == (1, 2)


def test_the_replicas_of_daemon_set_mode_are_the_eligible_nodes() -> None:
    harness = OrderHarness(an_order("o").but({"spec": {"daemonSet": True}}))
    harness.nodes = {name: a_node(name) for name in ("n0", "n1", "n2")}
    harness.settle()
    harness.become("o-n0", TicketPhase.CLAIMED)
    harness.nodes["n0"] = harness.nodes["n0"].but({"spec": {"unschedulable": True}})
    harness.settle()
    assert len(harness.tickets) == 3
    assert (harness.order.status.desired_replicas, harness.order.status.replicas) == (2, 2)
