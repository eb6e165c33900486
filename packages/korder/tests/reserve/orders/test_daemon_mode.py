"""DaemonSet mode: one ticket on each eligible node, through all that happens to nodes (S36, rules 7 and 19)."""

from datetime import timedelta

from hypothesis import given, settings, strategies as st
import pytest
from tests.reserve.orders.order_harness import START, OrderHarness
from tests.reserve.orders.windowed import hold_ahead

from korder.api.reserve import NODE_LABEL, STANDING_ANNOTATION, AfterUse, TicketPhase
from korder.testing.builders import an_order
from kubeloop.objects import instant
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node

CPU: dict[str, JSON] = {"template": {"spec": {"resources": {"requests": {"cpu": "2"}}}}}


def a_harness(count: int = 3, **spec: JSON) -> OrderHarness:
    harness = OrderHarness(an_order("o").but({"spec": {"daemonSet": True, **spec}}))
    harness.nodes = {f"n{number}": a_node(f"n{number}") for number in range(count)}
    harness.settle()
    return harness


def condition(harness: OrderHarness, name: str) -> tuple[str, str, str]:
    found = next(each for each in harness.order.status.conditions if each.type == name)
    return found.status.value, found.reason, found.message


def not_ready(harness: OrderHarness, name: str) -> None:
    since = instant.render(harness.now)
    ready: JSON = {"type": "Ready", "status": "False", "lastTransitionTime": since}
    harness.nodes[name] = harness.nodes[name].but({"status": {"conditions": [ready]}})


def test_each_node_has_one_pinned_standing_ticket() -> None:
    """Each node has one pinned standing ticket (S36)."""
    harness = a_harness()
    assert sorted(harness.tickets) == ["o-n0", "o-n1", "o-n2"]
    ticket = harness.tickets["o-n1"]
    assert ticket.spec.node_name == "n1"
    assert ticket.metadata.labels[NODE_LABEL] == "n1"
    assert ticket.metadata.annotations[STANDING_ANNOTATION] == "true"
    assert ticket.spec.after_use is AfterUse.RESERVE
    status = harness.order.status
    assert (status.desired_replicas, status.replicas, status.available_replicas) == (3, 3, 3)
    assert condition(harness, "Ready")[0] == "True"


def test_nodes_come_and_go() -> None:
    harness = a_harness()
    harness.nodes["n3"] = a_node("n3")
    del harness.nodes["n0"]
    harness.settle()
    assert sorted(harness.tickets) == ["o-n1", "o-n2", "o-n3"]
    assert harness.order.status.desired_replicas == 3


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
    harness = a_harness(0, template={"spec": {"nodeSelector": {"disk": "ssd"}}})
    harness.nodes = {name: a_node(name).labelled({"disk": "ssd"}) for name in ("n0", "n1", "n2")}
    harness.settle()
    harness.become("o-n1", TicketPhase.CLAIMED)
    harness.become("o-n2", TicketPhase.CLAIMING)
    before = dict(harness.nodes)
    harness.nodes = {name: node.but(change) for name, node in harness.nodes.items()}
    harness.settle()
    assert sorted(harness.tickets) == ["o-n1", "o-n2"]
    assert condition(harness, "Ready")[:2] == ("False", "NoEligibleNode")
    harness.become("o-n1", TicketPhase.RESERVED)
    harness.become("o-n2", TicketPhase.CLAIMED)
    harness.settle()
    assert sorted(harness.tickets) == ["o-n2"]
    harness.nodes = before
    harness.settle()
    assert sorted(harness.tickets) == ["o-n0", "o-n1", "o-n2"]


def test_a_short_flap_causes_no_churn() -> None:
    """S36: not ready for 5 s; after 40 s the ticket goes, on time."""
    harness = a_harness()
    not_ready(harness, "n0")
    harness.settle()
    assert harness.requeue_at == START + timedelta(seconds=40)
    harness.pass_time(seconds=5)
    harness.nodes["n0"] = a_node("n0")
    harness.settle()
    assert len(harness.made) == 3
    not_ready(harness, "n0")
    harness.pass_time(seconds=39)
    harness.settle()
    assert "o-n0" in harness.tickets
    harness.pass_time(seconds=1)
    harness.settle()
    assert "o-n0" not in harness.tickets


def test_a_node_that_is_not_ready_gets_no_ticket() -> None:
    harness = a_harness(0)
    harness.nodes = {"n0": a_node("n0").not_ready()}
    harness.settle()
    assert harness.tickets == {}
    assert condition(harness, "Ready") == (
        "False",
        "NoEligibleNode",
        "none of 1 nodes: node n0 is not ready",
    )


def test_no_node_at_all_is_reported() -> None:
    harness = a_harness(0)
    assert condition(harness, "Ready") == ("False", "NoEligibleNode", "there is no node")


def test_replicas_have_no_effect_and_an_event_says_so_once() -> None:
    harness = a_harness(replicas=7)
    harness.hold()
    harness.settle()
    stated = [emit.note for emit in harness.emits if emit.reason == "ReplicasIgnored"]
    assert stated == ["replicas 7 has no effect: there is one ticket on each eligible node"]
    assert len(harness.tickets) == 3
    harness.edit({"replicas": 0})
    harness.settle()
    assert len(harness.tickets) == 3


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_a_claimed_ticket_is_its_node_s_one_ticket_whatever_the_policy(policy: str) -> None:
    """A claimed ticket is the one ticket of its node, whatever the policy (rule 19)."""
    harness = a_harness(strategy={"type": "OneTime", "refreshPolicy": policy})
    harness.become("o-n0", TicketPhase.CLAIMED)
    harness.settle()
    assert sorted(harness.tickets) == ["o-n0", "o-n1", "o-n2"]
    assert len(harness.made) == 3
    assert harness.order.status.claimed_replicas == 1
    assert condition(harness, "Ready")[0] == "True"


def test_a_ticket_that_is_deleted_or_has_ended_is_made_again() -> None:
    harness = a_harness()
    harness.delete("o-n0")
    harness.become("o-n1", TicketPhase.EXPIRED)
    harness.settle()
    assert len(harness.free) == 3
    assert harness.made[3:] == ["o-n0", "o-n1"]


def test_a_new_template_breaks_before_it_makes_a_few_nodes_at_a_time() -> None:
    """A new template breaks before it makes a few nodes at a time (rule 7)."""
    harness = a_harness(30)
    harness.become("o-n7", TicketPhase.CLAIMED)
    harness.edit(CPU)
    least = 30
    for _ in range(100):
        if not harness.reconcile():
            break
        least = min(least, len(harness.tickets))
        harness.hold()
    assert least == 27
    new = [name for name, each in harness.tickets.items() if each.spec.requests.get("cpu") == "2"]
    assert len(new) == 29
    assert "o-n7" not in new


def test_a_template_that_fits_the_same_guardian_breaks_nothing() -> None:
    """The tickets of all nodes get it in place."""
    harness = a_harness(30)
    before = {name: each.metadata.uid for name, each in harness.tickets.items()}
    harness.edit({"template": {"spec": {"owners": [{"namespaces": ["other"]}]}}})
    harness.settle()
    assert {name: each.metadata.uid for name, each in harness.tickets.items()} == before
    assert all(each.spec.owners[0].namespaces == ("other",) for each in harness.tickets.values())
    assert harness.order.status.updated_replicas == 30


def no_room(harness: OrderHarness) -> None:
    for name in harness.names(TicketPhase.PENDING):
        harness.become(
            name, TicketPhase.PENDING, reason="Unschedulable", message="Insufficient cpu"
        )


def turns_without_room(harness: OrderHarness) -> None:
    for _ in range(100):
        no_room(harness)
        if not harness.reconcile():
            return
    raise AssertionError("it never comes to rest")


def test_a_new_template_without_room_stops_after_one_wave_and_says_why() -> None:
    """Rule 7: two of twenty nodes hold nothing, the others keep what they have."""
    harness = a_harness(20)
    harness.edit(CPU)
    turns_without_room(harness)
    assert len(harness.names(TicketPhase.RESERVED)) == 18
    assert condition(harness, "Progressing") == (
        "False",
        "RolloutBlocked",
        "the old tickets stay, because o-n0 has no room: Insufficient cpu",
    )
    harness.become("o-n0", TicketPhase.RESERVED)
    turns_without_room(harness)
    assert len(harness.names(TicketPhase.RESERVED)) == 18
    assert harness.tickets["o-n0"].spec.requests["cpu"] == "2"
    harness.settle()
    assert {each.spec.requests["cpu"] for each in harness.tickets.values()} == {"2"}
    assert condition(harness, "Progressing")[1] == "Settled"


def test_a_template_that_is_taken_back_replaces_the_tickets_that_found_no_room() -> None:
    harness = a_harness(20)
    before = harness.order.spec.template.spec.requests["cpu"]
    harness.edit(CPU)
    turns_without_room(harness)
    harness.edit({"template": {"spec": {"resources": None}}})
    harness.settle()
    assert {each.spec.requests["cpu"] for each in harness.tickets.values()} == {before}
    assert len(harness.names(TicketPhase.RESERVED)) == 20
    assert len(harness.made) == 24


def test_the_open_window_keeps_its_tickets_through_the_lead_time_of_the_next() -> None:
    strategy: JSON = {"type": "Scheduled", "schedule": "0 * * * *", "leadTime": "10m"}
    harness = a_harness(2, strategy=strategy, template={"spec": {"duration": "1h"}})
    open_now = ["o-202601050000-n0", "o-202601050000-n1"]
    coming = ["o-202601050100-n0", "o-202601050100-n1"]
    harness.at("00:50")
    harness.settle()
    assert sorted(harness.free) == [*open_now, *coming]
    assert harness.requeue_at == START.replace(hour=1, second=0)
    harness.delete(open_now[0])
    harness.settle()
    assert sorted(harness.free) == [*open_now, *coming]
    harness.at("01:00")
    harness.settle()
    assert sorted(harness.free) == coming
    assert condition(harness, "Ready")[0] == "True"


def test_scheduled_tickets_live_for_their_window() -> None:
    strategy: JSON = {"type": "Scheduled", "schedule": "0 * * * *"}
    harness = a_harness(2, strategy=strategy, template={"spec": {"duration": "30m"}})
    assert sorted(harness.tickets) == ["o-202601050000-n0", "o-202601050000-n1"]
    ticket = harness.tickets["o-202601050000-n0"]
    assert STANDING_ANNOTATION not in ticket.metadata.annotations
    assert ticket.spec.start_time == "2026-01-05T00:00:00Z"
    harness.nodes["n2"] = a_node("n2")
    harness.settle()
    assert len(harness.tickets) == 3
    harness.at("00:30")
    for name in harness.free:
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle()
    assert harness.free == []
    assert condition(harness, "Ready")[:2] == ("True", "BetweenWindows")
    assert harness.requeue_at == START.replace(hour=1, second=0)
    harness.at("01:00")
    harness.settle()
    assert len(harness.free) == 3


def test_lead_time_swallows_no_window_of_a_node() -> None:
    """Rule 4: each firing that is near has its ticket, and an edit takes away what the schedule has no more."""
    strategy: JSON = {"type": "Scheduled", "schedule": "0 * * * *", "leadTime": "2h"}
    harness = a_harness(1, strategy=strategy, template={"spec": {"duration": "30m"}})
    assert sorted(harness.tickets) == [f"o-20260105{hour:02}00-n0" for hour in (0, 1, 2)]
    harness.edit({"strategy": {"schedule": "45 * * * *"}})
    harness.settle()
    windows = ("0000", "0045", "0145")
    assert sorted(harness.tickets) == [f"o-20260105{window}-n0" for window in windows]
    assert harness.requeue_at is not None
    assert harness.requeue_at > harness.now
    assert not [emit for emit in harness.emits if emit.reason == "FiringMissed"]


def test_a_firing_of_a_recurring_order_only_looks_again() -> None:
    strategy: JSON = {"type": "Recurring", "schedule": "0 * * * *", "refreshPolicy": "Always"}
    harness = a_harness(2, strategy=strategy)
    harness.at("01:00")
    harness.settle()
    assert len(harness.made) == 2
    assert harness.order.status.last_schedule_time == harness.now


def test_orders_that_compete_for_a_node_say_so() -> None:
    harness = a_harness()
    harness.rivals = {"n1": ["order default/other"]}
    harness.become("o-n1", TicketPhase.PENDING, message="Insufficient cpu")
    harness.settle(hold=False)
    assert condition(harness, "Ready") == (
        "False",
        "TicketsWait",
        "2 of 3 tickets can be claimed; o-n1 waits: Insufficient cpu; node n1 is also booked by order default/other",
    )


def test_a_name_that_somebody_else_has_is_led_around() -> None:
    harness = a_harness(0)
    harness.foreign = {"o-n0"}
    harness.nodes = {"n0": a_node("n0")}
    harness.settle()
    (name,) = harness.tickets
    assert name.startswith("o-n0-")
    harness.settle()
    assert len(harness.made) == 1


def test_a_paused_order_follows_no_node() -> None:
    harness = a_harness(paused=True)
    assert harness.tickets == {}
    harness.edit({"paused": False})
    harness.settle()
    harness.edit({"paused": True})
    del harness.nodes["n0"]
    harness.settle()
    assert len(harness.tickets) == 3


def test_an_order_that_changes_its_mode_changes_its_tickets() -> None:
    harness = a_harness()
    harness.edit({"daemonSet": False, "replicas": 2})
    harness.settle()
    assert sorted(harness.tickets) == ["o-0", "o-1"]
    harness.edit({"daemonSet": True})
    harness.settle()
    assert sorted(harness.tickets) == ["o-n0", "o-n1", "o-n2"]


@pytest.mark.parametrize("pinned", [{}, {"nodeName": "n1"}], ids=["anywhere", "on a node"])
def test_the_tickets_of_replicas_go_as_such_and_none_is_taken_for_that_of_a_node(
    pinned: dict[str, JSON],
) -> None:
    harness = OrderHarness(an_order("o", 2).but({"spec": {"template": {"spec": pinned}}}))
    harness.nodes = {"n1": a_node("n1")}
    harness.settle()
    harness.edit({"daemonSet": True})
    harness.settle()
    assert list(harness.tickets) == ["o-n1"]
    stated = [emit.note for emit in harness.emits if emit.reason == "TicketsDeleted"]
    assert stated == ["deleted 2 tickets (o-0, o-1): they are of no node"]


def test_an_order_that_goes_back_to_replicas_gets_them_again() -> None:
    harness = OrderHarness(an_order("o", 2))
    harness.nodes = {"n0": a_node("n0")}
    harness.settle()
    harness.edit({"daemonSet": True})
    harness.settle()
    harness.edit({"daemonSet": False})
    harness.settle()
    assert sorted(harness.tickets) == ["o-2", "o-3"]
    assert condition(harness, "Complete")[0] == "False"


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
    harness = a_harness()
    for what, number, steps in history:
        node, name = f"n{number}", f"o-n{number}"
        if what == "add":
            harness.nodes.setdefault(node, a_node(node))
        elif what == "remove":
            harness.nodes.pop(node, None)
        elif what in ("cordon", "open") and node in harness.nodes:
            change: JSON = {"unschedulable": what == "cordon"}
            harness.nodes[node] = harness.nodes[node].but({"spec": change})
        elif name in harness.tickets and what in ("claim", "return"):
            harness.become(name, TicketPhase.CLAIMED if what == "claim" else TicketPhase.RESERVED)
        elif name in harness.tickets and what == "lose":
            harness.delete(name)
        if steps is not None:
            harness.reconcile(most=steps)
        harness.settle()
        eligible = {n for n, each in harness.nodes.items() if not each.build().spec.unschedulable}
        booked = sorted(ticket.spec.node_name for ticket in harness.tickets.values())
        assert len(set(booked)) == len(booked)
        assert eligible <= set(booked)
        assert {harness.tickets[each].spec.node_name for each in harness.free} <= eligible


def a_window_to_come(count: int) -> OrderHarness:
    """Of a Scheduled order whose guardians have their room, and whose time has not come."""
    strategy: JSON = {"type": "Scheduled", "schedule": "0 6 * * *", "leadTime": "1h"}
    harness = a_harness(count, strategy=strategy, template={"spec": {"duration": "30m"}})
    harness.at("05:30")
    guarded_ahead(harness)
    return harness


def guarded_ahead(harness: OrderHarness) -> None:
    for _ in range(10):
        if not harness.reconcile():
            return
        hold_ahead(harness)
    raise AssertionError("it never comes to rest")


def test_before_its_window_opens_an_order_waits_for_that_and_not_for_tickets() -> None:
    harness = a_window_to_come(2)
    assert condition(harness, "Ready") == (
        "True",
        "BetweenWindows",
        "The next window opens at 2026-01-05T06:00:00Z; 2 of 2 tickets hold their room ahead of it.",
    )
    assert harness.order.status.desired_replicas == 2
    harness.at("06:00")
    harness.settle(hold=False)
    assert condition(harness, "Ready")[1] == "TicketsWait"
    harness.settle()
    assert condition(harness, "Ready")[0] == "True"


def test_a_new_template_takes_the_room_of_a_window_to_come_from_a_few_nodes_at_a_time() -> None:
    """A guardian that is there by its lead time holds room, though its ticket is still Pending."""
    harness = a_window_to_come(20)
    harness.edit(CPU)
    harness.reconcile()
    assert len(harness.tickets) == 18
    turns_of_new_ones_without_room(harness)
    assert (
        len([each for each in harness.tickets.values() if each.status.reason == "Scheduled"]) == 18
    )
    assert condition(harness, "Progressing")[1] == "RolloutBlocked"


def turns_of_new_ones_without_room(harness: OrderHarness) -> None:
    for _ in range(10):
        for name, ticket in harness.tickets.items():
            if ticket.spec.requests["cpu"] == "2":
                harness.become(name, TicketPhase.PENDING, reason="Unschedulable", message="full")
        if not harness.reconcile():
            return
    raise AssertionError("it never comes to rest")


def test_a_node_that_had_no_room_before_does_not_stop_a_roll_out() -> None:
    """S36: a node without room leaves only its own ticket Pending."""
    harness = a_harness(4)
    harness.become("o-n0", TicketPhase.PENDING, reason="Unschedulable", message="full")
    harness.settle(hold=False)
    harness.edit(CPU)
    least = 3
    for _ in range(100):
        if not harness.reconcile():
            break
        least = min(least, len(harness.names(TicketPhase.RESERVED)))
        for name in harness.names(TicketPhase.PENDING):
            phase = TicketPhase.PENDING if name == "o-n0" else TicketPhase.RESERVED
            harness.become(name, phase, reason="Unschedulable")
    assert {each.spec.requests["cpu"] for each in harness.tickets.values()} == {"2"}
    assert least == 2
    assert condition(harness, "Progressing")[1] == "Settled"


def test_one_template_after_the_other_without_room_takes_no_more_than_one_wave() -> None:
    harness = a_harness(4)
    for cpu in ("2", "3", "4"):
        harness.edit({"template": {"spec": {"resources": {"requests": {"cpu": cpu}}}}})
        turns_without_room(harness)
        assert len(harness.names(TicketPhase.RESERVED)) == 3
