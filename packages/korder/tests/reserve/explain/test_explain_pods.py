"""`korder explain pod`: why it waits, which tickets would fit, and what is wrong with the others (S12, S14, S17)."""

from datetime import UTC, datetime, timedelta

import pytest

from korder.api.reserve import (
    FALLBACK_AFTER_ANNOTATION,
    GUARDIAN_LABEL,
    ORDER_ANNOTATION,
    ORDERS,
    REQUIRED_ANNOTATION,
    SCHEDULING_GATE,
    TICKET_CLAIMED_ANNOTATION,
    TICKET_NODE_ANNOTATION,
    TICKET_REQUEST_ANNOTATION,
    TICKETS,
    Order,
    Ticket,
)
from korder.explanation import Explanation
from korder.reserve.claims.inventory import Market
from korder.reserve.claims.requirements import Site
from korder.reserve.explain import pods as explain_pods
from korder.reserve.explain.pods import PodQuestion
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects import instant
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder, PodBuilder, a_node, a_pod

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REQUIRED = {REQUIRED_ANNOTATION: "true"}
SERVED = {TICKET_CLAIMED_ANNOTATION: "t", TICKET_NODE_ANNOTATION: "node-1"}


TOLD: JSON = {"type": "korder.dev/TicketBound", "status": "False", "reason": "NoTicket"}


def a_seeker(name: str = "web", **asked: str) -> PodBuilder:
    born = instant.render(NOW - timedelta(minutes=2))
    pod = a_pod(name).requesting(cpu="1").gated_by(SCHEDULING_GATE)
    return (
        pod.annotated(asked or REQUIRED)
        .stored(f"{name}-uid")
        .but({"metadata": {"creationTimestamp": born}})
    )


def a_held(name: str, cpu: str = "1", node: str = "node-1", **status: JSON) -> Builder[Ticket]:
    spec: JSON = {"resources": {"requests": {"cpu": cpu}}}
    said: JSON = {"phase": "Reserved", "nodeName": node, **status}
    return a_ticket(name).stored(f"{name}-uid").but({"spec": spec, "status": said})


def explained(
    pod: Builder[Pod],
    *tickets: Builder[Ticket],
    orders: tuple[Builder[Order], ...] = (),
    nodes: tuple[Builder[Node], ...] = (a_node("node-1"),),
    waiting: tuple[Builder[Pod], ...] = (),
    knows_nodes: bool = True,
    blocked: dict[str, str] | None = None,
) -> Explanation:
    sites = {node.build().metadata.name: Site(node.build()) for node in nodes}
    market = Market(
        "default",
        [ticket.build() for ticket in tickets],
        [order.build() for order in orders],
        sites.get,
        NOW,
        blocked=blocked or {},
    )
    everybody = [each.build() for each in (pod, *waiting)]
    return explain_pods.explain(
        PodQuestion(pod.build(), market, everybody, knows_nodes=knows_nodes)
    )


def verdicts(stated: Explanation) -> dict[str, str]:
    return {row[0]: row[-1] for row in stated.rows}


def test_each_ticket_that_is_asked_for_gets_its_own_verdict():
    closed = an_order("gang", 3).stored("gang-uid").but({"spec": {"minAvailable": 3}})
    stated = explained(
        a_seeker(),
        a_held("small", cpu="500m"),
        a_held("taken", phase="Claimed", claimedPod="default/other"),
        a_held("waits", phase="Pending", reason="Unschedulable", node=""),
        a_held("early", phase="Pending", reason="Scheduled", node="", guardianPod="default/g").but(
            {"spec": {"startTime": instant.render(NOW + timedelta(minutes=5))}}
        ),
        a_held("theirs").but({"spec": {"owners": [{"serviceAccounts": ["robot"]}]}}),
        a_held("tainted", node="node-2"),
        a_held("gang-0").owned_by(ORDERS, closed.build()),
        a_held("over", phase="Expired"),
        orders=(closed,),
        nodes=(a_node("node-1"), a_node("node-2").tainted("gpu")),
    )
    assert stated.verdict == (
        "It waits (NoTicketFits): No free ticket fits; nearest mismatch:"
        " does not tolerate taint gpu:NoSchedule of its node."
    )
    assert verdicts(stated) == {
        "small": "does not fit: the pod needs cpu 1, it holds 500m",
        "tainted": "does not fit: the pod does not tolerate taint gpu:NoSchedule of node node-2",
        "waits": "holds nothing yet (Unschedulable)",
        "early": "is held and cannot be claimed yet: starts in 5m",
        "taken": "is taken by default/other",
        "theirs": "is not for this pod: its owners do not include it",
        "gang-0": "is closed: its order waits for minAvailable",
    }


def test_a_ticket_without_owners_is_only_for_its_own_namespace():
    order = an_order("o").stored("o-uid")
    held = a_held("t").owned_by(ORDERS, order.build())
    asking = a_seeker(**{ORDER_ANNOTATION: "default/o"}).in_namespace("batch")
    stated = explained(asking, held, orders=(order,))
    assert verdicts(stated)["t"] == (
        "is not for this pod: it names no owners, so only pods of namespace default may claim it"
    )


def test_the_most_hopeful_tickets_come_first():
    stated = explained(a_seeker(), a_held("a", phase="Claimed"), a_held("b"), a_held("c", cpu="1m"))
    assert [row[0] for row in stated.rows] == ["b", "c", "a"]
    assert stated.verdict == "It would get ticket default/b now."


def test_a_long_list_is_cut_and_says_so():
    stated = explained(a_seeker(), *(a_held(f"t{n:02}", cpu="1m") for n in range(30)))
    assert len(stated.rows) == 21
    assert stated.rows[-1][0] == "and 10 more"


def test_tickets_that_are_not_asked_for_are_left_out():
    stated = explained(a_seeker(**{TICKET_REQUEST_ANNOTATION: "name:b"}), a_held("a"), a_held("b"))
    assert [row[0] for row in stated.rows] == ["b"]


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        (REQUIRED, "It waits until there is a ticket, however long."),
        ({ORDER_ANNOTATION: "o"}, "It goes without a ticket at once."),
        (
            {ORDER_ANNOTATION: "o", FALLBACK_AFTER_ANNOTATION: "5m"},
            "It goes without a ticket in 3m.",
        ),
    ],
    ids=["required", "prefers", "prefers for a while"],
)
def test_what_becomes_of_a_pod_without_a_ticket_is_reported(asked: dict[str, str], fact: str):
    assert fact in explained(a_seeker(**asked)).facts


def test_it_tells_what_the_pod_asks_for_and_needs():
    facts = explained(a_seeker()).facts
    assert "It asks with korder.dev/required=true." in facts
    assert "It needs cpu 1." in facts


def test_pods_that_come_first_are_counted():
    """Rule 16: by priority, then by age."""
    first = a_seeker("first").but({"spec": {"priority": 5}})
    stated = explained(a_seeker(), waiting=(first, a_seeker("zzz")))
    assert "1 other pod comes before it, by priority and age." in stated.facts


def test_pods_that_want_other_tickets_are_not_in_its_way():
    def wanting(name: str, ticket: str) -> PodBuilder:
        return a_seeker(name, **{**REQUIRED, TICKET_REQUEST_ANNOTATION: ticket})

    tickets = (a_held("mine", cpu="100m"), a_held("theirs", cpu="100m"))
    stated = explained(wanting("web", "mine"), *tickets, waiting=(wanting("abc", "theirs"),))
    assert not any("before it" in fact for fact in stated.facts)
    stated = explained(wanting("web", "mine"), *tickets, waiting=(a_seeker("abc"),))
    assert "1 other pod comes before it, by priority and age." in stated.facts


def test_the_next_firing_of_an_order_is_reported():
    fires = instant.render(NOW + timedelta(hours=3))
    order = an_order("o").but({"status": {"nextScheduleTime": fires}})
    stated = explained(a_seeker(), orders=(order, an_order("p").but({"spec": {"paused": True}})))
    assert "Order default/o fires next in 3h." in stated.facts
    assert "Order default/p is paused and makes no tickets." in stated.facts
    named = a_seeker(**{"korder.dev/ticket-request": "name:t"})
    stated = explained(named, a_held("t", phase="Claimed"), orders=(order,))
    assert not any("fires next" in fact for fact in stated.facts)


def test_a_pod_that_nobody_reported_anything_makes_one_doubt_the_manager():
    assert (
        "Nobody has told it anything yet: does `korder manager` run?" in explained(a_seeker()).facts
    )


def test_without_a_look_at_nodes_only_sizes_are_compared():
    stated = explained(a_seeker(), a_held("t"), nodes=(), knows_nodes=False)
    assert verdicts(stated) == {"t": "would fit"}
    assert "You may not read nodes, so only sizes were compared." in stated.facts


def test_a_request_nobody_understands_is_reported_as_admission_tells_it():
    stated = explained(a_seeker(**{TICKET_REQUEST_ANNOTATION: "colour:red"}))
    assert stated.verdict.startswith("What it asks for cannot be understood: annotation")


def test_other_gates_come_first():
    """Other gates come first (rule 8)."""
    gates: JSON = [{"name": SCHEDULING_GATE}, {"name": "quota.example/wait"}]
    stated = explained(a_seeker().but({"spec": {"schedulingGates": gates}}), a_held("t"))
    assert stated.verdict.startswith("It waits: other gates hold it back")
    assert "Gates: korder.dev/ticket, quota.example/wait." in stated.facts


def test_a_pod_with_a_ticket_names_it():
    by: JSON = {"namespace": "default", "name": "web", "uid": "web-uid"}
    bound = a_seeker().but({"spec": {"schedulingGates": None}}).on("node-1")
    stated = explained(bound, a_held("t", phase="Claimed", claimedBy=by))
    assert stated.verdict == "It has ticket default/t, on node node-1."


@pytest.mark.parametrize(
    ("left", "undone"),
    [
        (50, "The hand-over is undone in 50s if the pod is not bound by then."),
        (-11, "The hand-over was due to be undone 11s ago, at the latest."),
    ],
)
def test_a_hand_over_tells_how_far_it_is(left: int, undone: str):
    by: JSON = {"namespace": "default", "name": "web", "uid": "web-uid"}
    deadline = instant.render(NOW + timedelta(seconds=left))
    held = a_held("t", phase="Claiming", claimedBy=by, claimDeadline=deadline)
    guardian = a_pod("g").labelled({GUARDIAN_LABEL: "true"}).on("node-1")
    market = Market("default", [held.build()], [], lambda _: None, NOW)
    stated = explain_pods.explain(
        PodQuestion(
            a_seeker().build(),
            market,
            guardians=[guardian.owned_by(TICKETS, held.build()).build()],
        )
    )
    assert stated.verdict == "Ticket default/t is being handed over to it, on node node-1."
    assert stated.facts[0] == "The claim waits for the node's next batch."
    assert stated.facts[1] == undone


@pytest.mark.parametrize(
    ("pod", "verdict"),
    [
        (a_pod("p"), "It waits for a node, and asks for no ticket."),
        (
            a_pod("p").annotated(REQUIRED),
            (
                "It waits for a node without a ticket, though it requires one:"
                " it has never had the gate korder.dev/ticket."
            ),
        ),
        (
            a_pod("p").annotated({ORDER_ANNOTATION: "o"}).on("node-1"),
            "It is on node node-1 without a ticket: none that fits was there, and it did not wait.",
        ),
        (
            a_pod("p").annotated({"korder.dev/fallback-after": "20s"}).on("node-1"),
            (
                "It is on node node-1 without a ticket:"
                " none that fits was there, and it waited no longer than 20s."
            ),
        ),
        (
            a_pod("p").annotated(REQUIRED).but({"status": {"conditions": [TOLD]}}),
            (
                "It waits for a node without a ticket, though it requires one:"
                " somebody took the gate away."
            ),
        ),
        (a_seeker().in_phase("Failed"), "It has ended, and has no ticket."),
        (
            a_pod("p").annotated({**REQUIRED, **SERVED}).on("node-1").in_phase("Succeeded"),
            "It has ended. It had ticket t, on node node-1.",
        ),
        (
            a_pod("p").annotated({**REQUIRED, **SERVED}).on("node-1"),
            "It came to node node-1 with ticket t, which is gone; nothing is taken from it.",
        ),
        (
            a_pod("p").annotated({ORDER_ANNOTATION: "o", **SERVED}).on("node-2"),
            "It is on node node-2 without a ticket: none that fits was there, and it did not wait.",
        ),
        (
            a_pod("p").labelled({GUARDIAN_LABEL: "true"}),
            "It is labelled as a guardian, but no ticket owns it: it guards nothing.",
        ),
    ],
    ids=[
        "asks for nothing",
        "no admission",
        "fell back",
        "fell back after a while",
        "was let go",
        "has ended",
        "has ended with its ticket",
        "has outlived its ticket",
        "says so itself",
        "a false guardian",
    ],
)
def test_pods_that_wait_for_nothing(pod: PodBuilder, verdict: str):
    assert explained(pod).verdict == verdict


def test_a_guardian_names_its_ticket():
    guardian = (
        a_pod("g")
        .labelled({GUARDIAN_LABEL: "true"})
        .owned_by(TICKETS, a_held("t").build())
        .on("node-1")
    )
    assert explained(guardian).verdict == (
        "It is a guardian: it holds the room of ticket t on node node-1."
    )


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("korder.dev/require", REQUIRED_ANNOTATION),
        ("korder.dev/orders", ORDER_ANNOTATION),
        ("korder.dev/ticket_request", TICKET_REQUEST_ANNOTATION),
        ("korder.io/required", REQUIRED_ANNOTATION),
        ("korder.dev/runs-for", None),
        ("example.com/order", None),
    ],
)
def test_an_annotation_that_is_misspelt_is_named(wrong: str, meant: str | None):
    stated = explained(a_pod("p").annotated({wrong: "true"}).on("node-1"))
    said = f"It carries {wrong}, which korder does not know: is {meant} meant?"
    assert (said in stated.facts) is (meant is not None)
    assert len(stated.facts) == (2 if meant else 1)


def test_a_pod_that_did_not_wait_says_what_its_event_said():
    pod = a_pod("p").annotated({ORDER_ANNOTATION: "o"}).on("node-1").build()
    market = Market("default", [], [], lambda _: None, NOW)
    parting = "FellBack: Scheduled without a ticket: There is no order default/o."
    stated = explain_pods.explain(PodQuestion(pod, market, parting=parting))
    assert stated.facts == (f"It was last told: {parting}",)


def test_a_ticket_that_cannot_be_handed_over_says_why():
    why = "guardian korder-guardian-t has the finalizer example.com/slow"
    stated = explained(a_seeker(), a_held("t"), blocked={"t-uid": why})
    assert stated.verdict == (
        f"It waits (NoTicketFree): No ticket is free; ticket default/t cannot be handed over: {why}."
    )
    assert verdicts(stated) == {"t": f"cannot be handed over: {why}"}
