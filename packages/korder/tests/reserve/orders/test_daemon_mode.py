"""DaemonSet mode: one ticket on each eligible node, through all that happens to nodes (S36, rules 7 and 19)."""

from datetime import timedelta

from hypothesis import given, settings, strategies as st
import pytest
from tests.reserve.orders.desk import START, Desk
from tests.reserve.orders.windowed import hold_ahead

from korder.api.reserve import NODE_LABEL, STANDING_ANNOTATION, AfterUse, TicketPhase
from korder.testing.builders import an_order
from kubeloop.objects import instant
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node

CPU: dict[str, JSON] = {"template": {"spec": {"resources": {"requests": {"cpu": "2"}}}}}


def a_desk(count: int = 3, **spec: JSON) -> Desk:
    desk = Desk(an_order("o").but({"spec": {"daemonSet": True, **spec}}))
    desk.nodes = {f"n{number}": a_node(f"n{number}") for number in range(count)}
    desk.settle()
    return desk


def condition(desk: Desk, name: str) -> tuple[str, str, str]:
    found = next(each for each in desk.order.status.conditions if each.type == name)
    return found.status.value, found.reason, found.message


def not_ready(desk: Desk, name: str) -> None:
    since = instant.render(desk.now)
    ready: JSON = {"type": "Ready", "status": "False", "lastTransitionTime": since}
    desk.nodes[name] = desk.nodes[name].but({"status": {"conditions": [ready]}})


def test_each_node_has_one_pinned_standing_ticket() -> None:
    """Each node has one pinned standing ticket (S36)."""
    desk = a_desk()
    assert sorted(desk.tickets) == ["o-n0", "o-n1", "o-n2"]
    ticket = desk.tickets["o-n1"]
    assert ticket.spec.node_name == "n1"
    assert ticket.metadata.labels[NODE_LABEL] == "n1"
    assert ticket.metadata.annotations[STANDING_ANNOTATION] == "true"
    assert ticket.spec.after_use is AfterUse.RESERVE
    status = desk.order.status
    assert (status.desired_replicas, status.replicas, status.available_replicas) == (3, 3, 3)
    assert condition(desk, "Ready")[0] == "True"


def test_nodes_come_and_go() -> None:
    desk = a_desk()
    desk.nodes["n3"] = a_node("n3")
    del desk.nodes["n0"]
    desk.settle()
    assert sorted(desk.tickets) == ["o-n1", "o-n2", "o-n3"]
    assert desk.order.status.desired_replicas == 3


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"spec": {"unschedulable": True}}, id="cordoned"),
        pytest.param({"metadata": {"labels": {"disk": None}}}, id="relabelled"),
        pytest.param({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}, id="tainted"),
    ],
)
def test_an_unclaimed_ticket_goes_at_once_and_a_claimed_one_when_its_pod_ends(
    change: dict[str, JSON],
) -> None:
    desk = a_desk(0, template={"spec": {"nodeSelector": {"disk": "ssd"}}})
    desk.nodes = {name: a_node(name).labelled({"disk": "ssd"}) for name in ("n0", "n1", "n2")}
    desk.settle()
    desk.become("o-n1", TicketPhase.CLAIMED)
    desk.become("o-n2", TicketPhase.CLAIMING)
    before = dict(desk.nodes)
    desk.nodes = {name: node.but(change) for name, node in desk.nodes.items()}
    desk.settle()
    assert sorted(desk.tickets) == ["o-n1", "o-n2"]
    assert condition(desk, "Ready")[:2] == ("False", "NoEligibleNode")
    desk.become("o-n1", TicketPhase.RESERVED)
    desk.become("o-n2", TicketPhase.CLAIMED)
    desk.settle()
    assert sorted(desk.tickets) == ["o-n2"]
    desk.nodes = before
    desk.settle()
    assert sorted(desk.tickets) == ["o-n0", "o-n1", "o-n2"]


def test_a_short_flap_causes_no_churn() -> None:
    """S36: not ready for 5 s; after 40 s the ticket goes, on time."""
    desk = a_desk()
    not_ready(desk, "n0")
    desk.settle()
    assert desk.requeue_at == START + timedelta(seconds=40)
    desk.pass_time(seconds=5)
    desk.nodes["n0"] = a_node("n0")
    desk.settle()
    assert len(desk.made) == 3
    not_ready(desk, "n0")
    desk.pass_time(seconds=39)
    desk.settle()
    assert "o-n0" in desk.tickets
    desk.pass_time(seconds=1)
    desk.settle()
    assert "o-n0" not in desk.tickets


def test_a_node_that_is_not_ready_gets_no_ticket() -> None:
    desk = a_desk(0)
    desk.nodes = {"n0": a_node("n0").not_ready()}
    desk.settle()
    assert desk.tickets == {}
    assert condition(desk, "Ready") == (
        "False",
        "NoEligibleNode",
        "none of 1 nodes: node n0 is not ready",
    )


def test_no_node_at_all_is_told() -> None:
    desk = a_desk(0)
    assert condition(desk, "Ready") == ("False", "NoEligibleNode", "there is no node")


def test_replicas_have_no_effect_and_an_event_says_so_once() -> None:
    desk = a_desk(replicas=7)
    desk.hold()
    desk.settle()
    stated = [emit.note for emit in desk.emits if emit.reason == "ReplicasIgnored"]
    assert stated == ["replicas 7 has no effect: there is one ticket on each eligible node"]
    assert len(desk.tickets) == 3
    desk.edit({"replicas": 0})
    desk.settle()
    assert len(desk.tickets) == 3


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_a_claimed_ticket_is_its_node_s_one_ticket_whatever_the_policy(policy: str) -> None:
    """A claimed ticket is the one ticket of its node, whatever the policy (rule 19)."""
    desk = a_desk(strategy={"type": "OneTime", "refreshPolicy": policy})
    desk.become("o-n0", TicketPhase.CLAIMED)
    desk.settle()
    assert sorted(desk.tickets) == ["o-n0", "o-n1", "o-n2"]
    assert len(desk.made) == 3
    assert desk.order.status.claimed_replicas == 1
    assert condition(desk, "Ready")[0] == "True"


def test_a_ticket_that_is_deleted_or_has_ended_is_made_again() -> None:
    desk = a_desk()
    desk.delete("o-n0")
    desk.become("o-n1", TicketPhase.EXPIRED)
    desk.settle()
    assert len(desk.free) == 3
    assert desk.made[3:] == ["o-n0", "o-n1"]


def test_a_new_template_breaks_before_it_makes_a_few_nodes_at_a_time() -> None:
    """A new template breaks before it makes a few nodes at a time (rule 7)."""
    desk = a_desk(30)
    desk.become("o-n7", TicketPhase.CLAIMED)
    desk.edit(CPU)
    least = 30
    for _ in range(100):
        if not desk.reconcile():
            break
        least = min(least, len(desk.tickets))
        desk.hold()
    assert least == 27
    new = [name for name, each in desk.tickets.items() if each.spec.requests.get("cpu") == "2"]
    assert len(new) == 29
    assert "o-n7" not in new


def test_a_template_that_fits_the_same_guardian_breaks_nothing() -> None:
    """The tickets of all nodes get it in place."""
    desk = a_desk(30)
    before = {name: each.metadata.uid for name, each in desk.tickets.items()}
    desk.edit({"template": {"spec": {"owners": [{"namespaces": ["other"]}]}}})
    desk.settle()
    assert {name: each.metadata.uid for name, each in desk.tickets.items()} == before
    assert all(each.spec.owners[0].namespaces == ("other",) for each in desk.tickets.values())
    assert desk.order.status.updated_replicas == 30


def no_room(desk: Desk) -> None:
    for name in desk.names(TicketPhase.PENDING):
        desk.become(name, TicketPhase.PENDING, reason="Unschedulable", message="Insufficient cpu")


def turns_without_room(desk: Desk) -> None:
    for _ in range(100):
        no_room(desk)
        if not desk.reconcile():
            return
    raise AssertionError("it never comes to rest")


def test_a_new_template_without_room_stops_after_one_wave_and_says_why() -> None:
    """Rule 7: two of twenty nodes hold nothing, the others keep what they have."""
    desk = a_desk(20)
    desk.edit(CPU)
    turns_without_room(desk)
    assert len(desk.names(TicketPhase.RESERVED)) == 18
    assert condition(desk, "Progressing") == (
        "False",
        "RolloutBlocked",
        "the old tickets stay, because o-n0 has no room: Insufficient cpu",
    )
    desk.become("o-n0", TicketPhase.RESERVED)
    turns_without_room(desk)
    assert len(desk.names(TicketPhase.RESERVED)) == 18
    assert desk.tickets["o-n0"].spec.requests["cpu"] == "2"
    desk.settle()
    assert {each.spec.requests["cpu"] for each in desk.tickets.values()} == {"2"}
    assert condition(desk, "Progressing")[1] == "Settled"


def test_a_template_that_is_taken_back_replaces_the_tickets_that_found_no_room() -> None:
    desk = a_desk(20)
    before = desk.order.spec.template.spec.requests["cpu"]
    desk.edit(CPU)
    turns_without_room(desk)
    desk.edit({"template": {"spec": {"resources": None}}})
    desk.settle()
    assert {each.spec.requests["cpu"] for each in desk.tickets.values()} == {before}
    assert len(desk.names(TicketPhase.RESERVED)) == 20
    assert len(desk.made) == 24


def test_the_open_window_keeps_its_tickets_through_the_lead_time_of_the_next() -> None:
    strategy: JSON = {"type": "Scheduled", "schedule": "0 * * * *", "leadTime": "10m"}
    desk = a_desk(2, strategy=strategy, template={"spec": {"duration": "1h"}})
    open_now = ["o-202601050000-n0", "o-202601050000-n1"]
    coming = ["o-202601050100-n0", "o-202601050100-n1"]
    desk.at("00:50")
    desk.settle()
    assert sorted(desk.free) == [*open_now, *coming]
    assert desk.requeue_at == START.replace(hour=1, second=0)
    desk.delete(open_now[0])
    desk.settle()
    assert sorted(desk.free) == [*open_now, *coming]
    desk.at("01:00")
    desk.settle()
    assert sorted(desk.free) == coming
    assert condition(desk, "Ready")[0] == "True"


def test_scheduled_tickets_live_for_their_window() -> None:
    strategy: JSON = {"type": "Scheduled", "schedule": "0 * * * *"}
    desk = a_desk(2, strategy=strategy, template={"spec": {"duration": "30m"}})
    assert sorted(desk.tickets) == ["o-202601050000-n0", "o-202601050000-n1"]
    ticket = desk.tickets["o-202601050000-n0"]
    assert STANDING_ANNOTATION not in ticket.metadata.annotations
    assert ticket.spec.start_time == "2026-01-05T00:00:00Z"
    desk.nodes["n2"] = a_node("n2")
    desk.settle()
    assert len(desk.tickets) == 3
    desk.at("00:30")
    for name in desk.free:
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle()
    assert desk.free == []
    assert condition(desk, "Ready")[:2] == ("True", "BetweenWindows")
    assert desk.requeue_at == START.replace(hour=1, second=0)
    desk.at("01:00")
    desk.settle()
    assert len(desk.free) == 3


def test_lead_time_swallows_no_window_of_a_node() -> None:
    """Rule 4: each firing that is near has its ticket, and an edit takes away what the schedule has no more."""
    strategy: JSON = {"type": "Scheduled", "schedule": "0 * * * *", "leadTime": "2h"}
    desk = a_desk(1, strategy=strategy, template={"spec": {"duration": "30m"}})
    assert sorted(desk.tickets) == [f"o-20260105{hour:02}00-n0" for hour in (0, 1, 2)]
    desk.edit({"strategy": {"schedule": "45 * * * *"}})
    desk.settle()
    windows = ("0000", "0045", "0145")
    assert sorted(desk.tickets) == [f"o-20260105{window}-n0" for window in windows]
    assert desk.requeue_at is not None
    assert desk.requeue_at > desk.now
    assert not [emit for emit in desk.emits if emit.reason == "FiringMissed"]


def test_a_firing_of_a_recurring_order_only_looks_again() -> None:
    strategy: JSON = {"type": "Recurring", "schedule": "0 * * * *", "refreshPolicy": "Always"}
    desk = a_desk(2, strategy=strategy)
    desk.at("01:00")
    desk.settle()
    assert len(desk.made) == 2
    assert desk.order.status.last_schedule_time == desk.now


def test_orders_that_compete_for_a_node_say_so() -> None:
    desk = a_desk()
    desk.rivals = {"n1": ["order default/other"]}
    desk.become("o-n1", TicketPhase.PENDING, message="Insufficient cpu")
    desk.settle(hold=False)
    assert condition(desk, "Ready") == (
        "False",
        "TicketsWait",
        "2 of 3 tickets can be claimed; o-n1 waits: Insufficient cpu; node n1 is also booked by order default/other",
    )


def test_a_name_that_somebody_else_has_is_led_around() -> None:
    desk = a_desk(0)
    desk.foreign = {"o-n0"}
    desk.nodes = {"n0": a_node("n0")}
    desk.settle()
    (name,) = desk.tickets
    assert name.startswith("o-n0-")
    desk.settle()
    assert len(desk.made) == 1


def test_a_paused_order_follows_no_node() -> None:
    desk = a_desk(paused=True)
    assert desk.tickets == {}
    desk.edit({"paused": False})
    desk.settle()
    desk.edit({"paused": True})
    del desk.nodes["n0"]
    desk.settle()
    assert len(desk.tickets) == 3


def test_an_order_that_changes_its_mode_changes_its_tickets() -> None:
    desk = a_desk()
    desk.edit({"daemonSet": False, "replicas": 2})
    desk.settle()
    assert sorted(desk.tickets) == ["o-0", "o-1"]
    desk.edit({"daemonSet": True})
    desk.settle()
    assert sorted(desk.tickets) == ["o-n0", "o-n1", "o-n2"]


@pytest.mark.parametrize("pinned", [{}, {"nodeName": "n1"}], ids=["anywhere", "on a node"])
def test_the_tickets_of_replicas_go_as_such_and_none_is_taken_for_that_of_a_node(
    pinned: dict[str, JSON],
) -> None:
    desk = Desk(an_order("o", 2).but({"spec": {"template": {"spec": pinned}}}))
    desk.nodes = {"n1": a_node("n1")}
    desk.settle()
    desk.edit({"daemonSet": True})
    desk.settle()
    assert list(desk.tickets) == ["o-n1"]
    stated = [emit.note for emit in desk.emits if emit.reason == "TicketsDeleted"]
    assert stated == ["deleted 2 tickets (o-0, o-1): they are of no node"]


def test_an_order_that_goes_back_to_replicas_gets_them_again() -> None:
    desk = Desk(an_order("o", 2))
    desk.nodes = {"n0": a_node("n0")}
    desk.settle()
    desk.edit({"daemonSet": True})
    desk.settle()
    desk.edit({"daemonSet": False})
    desk.settle()
    assert sorted(desk.tickets) == ["o-2", "o-3"]
    assert condition(desk, "Complete")[0] == "False"


happenings = st.tuples(
    st.sampled_from(["add", "remove", "cordon", "open", "claim", "return", "lose"]),
    st.integers(0, 5),
    st.none() | st.integers(0, 5),
)


@settings(max_examples=60)
@given(history=st.lists(happenings, max_size=15))
def test_each_eligible_node_has_exactly_one_ticket(
    history: list[tuple[str, int, int | None]],
) -> None:
    """Wherever turns are broken off; and no other node has an unclaimed one."""
    desk = a_desk()
    for what, number, steps in history:
        node, name = f"n{number}", f"o-n{number}"
        if what == "add":
            desk.nodes.setdefault(node, a_node(node))
        elif what == "remove":
            desk.nodes.pop(node, None)
        elif what in ("cordon", "open") and node in desk.nodes:
            change: JSON = {"unschedulable": what == "cordon"}
            desk.nodes[node] = desk.nodes[node].but({"spec": change})
        elif name in desk.tickets and what in ("claim", "return"):
            desk.become(name, TicketPhase.CLAIMED if what == "claim" else TicketPhase.RESERVED)
        elif name in desk.tickets and what == "lose":
            desk.delete(name)
        if steps is not None:
            desk.reconcile(most=steps)
        desk.settle()
        eligible = {n for n, each in desk.nodes.items() if not each.build().spec.unschedulable}
        booked = sorted(ticket.spec.node_name for ticket in desk.tickets.values())
        assert len(set(booked)) == len(booked)
        assert eligible <= set(booked)
        assert {desk.tickets[each].spec.node_name for each in desk.free} <= eligible


def a_window_to_come(count: int) -> Desk:
    """Of a Scheduled order whose guardians have their room, and whose time has not come."""
    strategy: JSON = {"type": "Scheduled", "schedule": "0 6 * * *", "leadTime": "1h"}
    desk = a_desk(count, strategy=strategy, template={"spec": {"duration": "30m"}})
    desk.at("05:30")
    guarded_ahead(desk)
    return desk


def guarded_ahead(desk: Desk) -> None:
    for _ in range(10):
        if not desk.reconcile():
            return
        hold_ahead(desk)
    raise AssertionError("it never comes to rest")


def test_before_its_window_opens_an_order_waits_for_that_and_not_for_tickets() -> None:
    desk = a_window_to_come(2)
    assert condition(desk, "Ready") == (
        "True",
        "BetweenWindows",
        "The next window opens at 2026-01-05T06:00:00Z; 2 of 2 tickets hold their room ahead of it.",
    )
    assert desk.order.status.desired_replicas == 2
    desk.at("06:00")
    desk.settle(hold=False)
    assert condition(desk, "Ready")[1] == "TicketsWait"
    desk.settle()
    assert condition(desk, "Ready")[0] == "True"


def test_a_new_template_takes_the_room_of_a_window_to_come_from_a_few_nodes_at_a_time() -> None:
    """A guardian that is there by its lead time holds room, though its ticket is still Pending."""
    desk = a_window_to_come(20)
    desk.edit(CPU)
    desk.reconcile()
    assert len(desk.tickets) == 18
    turns_of_new_ones_without_room(desk)
    assert len([each for each in desk.tickets.values() if each.status.reason == "Scheduled"]) == 18
    assert condition(desk, "Progressing")[1] == "RolloutBlocked"


def turns_of_new_ones_without_room(desk: Desk) -> None:
    for _ in range(10):
        for name, ticket in desk.tickets.items():
            if ticket.spec.requests["cpu"] == "2":
                desk.become(name, TicketPhase.PENDING, reason="Unschedulable", message="full")
        if not desk.reconcile():
            return
    raise AssertionError("it never comes to rest")


def test_a_node_that_had_no_room_before_does_not_stop_a_roll_out() -> None:
    """S36: a node without room leaves only its own ticket Pending."""
    desk = a_desk(4)
    desk.become("o-n0", TicketPhase.PENDING, reason="Unschedulable", message="full")
    desk.settle(hold=False)
    desk.edit(CPU)
    least = 3
    for _ in range(100):
        if not desk.reconcile():
            break
        least = min(least, len(desk.names(TicketPhase.RESERVED)))
        for name in desk.names(TicketPhase.PENDING):
            phase = TicketPhase.PENDING if name == "o-n0" else TicketPhase.RESERVED
            desk.become(name, phase, reason="Unschedulable")
    assert {each.spec.requests["cpu"] for each in desk.tickets.values()} == {"2"}
    assert least == 2
    assert condition(desk, "Progressing")[1] == "Settled"


def test_one_template_after_the_other_without_room_takes_no_more_than_one_wave() -> None:
    desk = a_desk(4)
    for cpu in ("2", "3", "4"):
        desk.edit({"template": {"spec": {"resources": {"requests": {"cpu": cpu}}}}})
        turns_without_room(desk)
        assert len(desk.names(TicketPhase.RESERVED)) == 3
