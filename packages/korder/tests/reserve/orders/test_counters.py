"""What an order counts: tickets that can be claimed, that have pods, and the nodes of DaemonSet mode."""

from tests.reserve.orders.desk import Desk

from korder.api.reserve import TicketPhase
from korder.testing.builders import an_order
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node


def ready(desk: Desk) -> tuple[str, str]:
    found = next(each for each in desk.order.status.conditions if each.type == "Ready")
    return found.status.value, found.message


def reason(desk: Desk) -> str:
    return next(each.reason for each in desk.order.status.conditions if each.type == "Ready")


def test_an_order_without_a_free_ticket_says_that_all_are_in_use() -> None:
    """Ready=True: each ticket holds its room for its pod, and the policy wants no others."""
    strategy: JSON = {"type": "OneTime", "refreshPolicy": "Never"}
    desk = Desk(an_order("o", 4).but({"spec": {"strategy": strategy}}))
    desk.settle()
    assert (reason(desk), *ready(desk)) == ("AllHeld", "True", "4 of 4 tickets can be claimed.")
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.settle()
    stated = "3 of 4 tickets can be claimed, 1 is in use."
    assert (reason(desk), *ready(desk)) == ("AllHeld", "True", stated)
    for name in ("o-1", "o-2"):
        desk.become(name, TicketPhase.CLAIMED)
    desk.become("o-3", TicketPhase.CLAIMING)
    desk.settle()
    stated = "0 of 4 tickets can be claimed, 3 are in use, 1 is being handed over."
    assert (reason(desk), *ready(desk)) == ("AllInUse", "True", stated)
    desk.become("o-3", TicketPhase.CLAIMED)
    desk.settle()
    stated = "0 of 4 tickets can be claimed, 4 are in use."
    assert (reason(desk), *ready(desk)) == ("AllInUse", "True", stated)


def test_an_order_that_refills_waits_for_tickets_while_all_are_in_use() -> None:
    desk = Desk(an_order("o", 2))
    desk.settle()
    for name in desk.free:
        desk.become(name, TicketPhase.CLAIMED)
    desk.settle(hold=False)
    assert (reason(desk), *ready(desk)) == ("TicketsWait", "False", "0 of 2 tickets can be claimed")
    desk.settle()
    stated = "2 of 2 tickets can be claimed, 2 are in use."
    assert (reason(desk), *ready(desk)) == ("AllHeld", "True", stated)


def test_every_node_of_daemon_set_mode_may_be_in_use() -> None:
    desk = Desk(an_order("o").but({"spec": {"daemonSet": True}}))
    desk.nodes = {"n0": a_node("n0")}
    desk.settle()
    desk.become("o-n0", TicketPhase.CLAIMED)
    desk.settle()
    stated = "0 of 1 tickets can be claimed, 1 is in use."
    assert (reason(desk), *ready(desk)) == ("AllInUse", "True", stated)


def test_a_held_ticket_that_cannot_be_claimed_is_not_available() -> None:
    """Rule 12: its node is cordoned."""
    desk = Desk(an_order("o", 2))
    desk.settle()
    assert (desk.order.status.available_replicas, ready(desk)[0]) == (2, "True")
    cordoned: JSON = [{"type": "Ready", "status": "False", "reason": "NodeCordoned"}]
    desk.become("o-1", TicketPhase.RESERVED, conditions=cordoned, message="node n is cordoned")
    desk.settle()
    assert desk.order.status.available_replicas == 1
    assert ready(desk) == ("False", "1 of 2 tickets can be claimed; o-1 waits: node n is cordoned")


def test_a_ticket_that_pods_share_has_a_pod() -> None:
    desk = Desk(an_order("o", 2).but({"spec": {"template": {"spec": {"allocateOnce": False}}}}))
    desk.settle()
    shares: JSON = [{"namespace": "default", "name": "web", "uid": "u", "requests": {}}]
    desk.become("o-0", TicketPhase.RESERVED, sharedBy=shares)
    desk.settle()
    status = desk.order.status
    assert (status.claimed_replicas, status.available_replicas) == (1, 2)


def test_the_replicas_of_daemon_set_mode_are_the_eligible_nodes() -> None:
    desk = Desk(an_order("o").but({"spec": {"daemonSet": True}}))
    desk.nodes = {name: a_node(name) for name in ("n0", "n1", "n2")}
    desk.settle()
    desk.become("o-n0", TicketPhase.CLAIMED)
    desk.nodes["n0"] = desk.nodes["n0"].but({"spec": {"unschedulable": True}})
    desk.settle()
    assert len(desk.tickets) == 3
    assert (desk.order.status.desired_replicas, desk.order.status.replicas) == (2, 2)
