"""`korder explain ticket`: what it holds or waits for, until when, and who could take it."""

from datetime import UTC, datetime, timedelta

import pytest

from korder.api.reserve import (
    LEAD_TIME_ANNOTATION,
    ORDERS,
    REQUIRED_ANNOTATION,
    SCHEDULING_GATE,
    STANDING_ANNOTATION,
    TICKET_FINALIZER,
    TICKETS,
    Ticket,
)
from korder.explanation import Explanation
from korder.reserve.explain import tickets as explain_tickets
from korder.reserve.explain.tickets import TicketQuestion
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects import instant
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder, a_node, a_pod

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(**span: int) -> str:
    return instant.render(NOW + timedelta(**span))


def a_case(**status: JSON) -> Builder[Ticket]:
    spec: JSON = {"resources": {"requests": {"cpu": "1"}}}
    return a_ticket("t").stored("t-uid").but({"spec": spec, "status": status})


def explained(ticket: Builder[Ticket]) -> Explanation:
    return explain_tickets.explain(TicketQuestion(ticket.build(), NOW))


@pytest.mark.parametrize(
    ("ticket", "verdict", "facts"),
    [
        (
            a_case(),
            "It holds nothing yet.",
            [
                "It is to hold cpu 1.",
                "It has no guardian yet; the ticket controller makes one, and tries again if it is refused.",
                "It will hold for 60m, counted from when it is first Reserved.",
                "It belongs to no order.",
            ],
        ),
        (
            a_case(phase="Pending", reason="GuardianRefused", message="quota q is full."),
            "It holds nothing yet (GuardianRefused): quota q is full.",
            [],
        ),
        (
            a_case(phase="Pending", reason="Scheduled").but({"spec": {"startTime": at(hours=2)}}),
            "It holds nothing yet (Scheduled).",
            ["Its guardian is placed in 120m.", f"It starts in 120m, at {at(hours=2)}."],
        ),
        (
            a_case(
                phase="Pending",
                reason="Scheduled",
                message="Guardian g holds the room on node n1.",
                guardianPod="default/g",
            )
            .but({"spec": {"startTime": at(minutes=5)}})
            .annotated({LEAD_TIME_ANNOTATION: "10m"}),
            "It holds cpu 1 ahead of its time (Scheduled): Guardian g holds the room on node n1.",
            [f"It starts in 5m, at {at(minutes=5)}."],
        ),
        (
            a_case(phase="Reserved", nodeName="n1", activationTime=at(minutes=-50)),
            "It holds cpu 1 on node n1.",
            [
                f"It expires in 10m, at {at(minutes=10)}, unless it is claimed.",
                "No pod waits for it.",
            ],
        ),
        (
            a_case(phase="Reserved", nodeName="n1", activationTime=at(minutes=-50)).annotated(
                {STANDING_ANNOTATION: "true"}
            ),
            "It holds cpu 1 on node n1.",
            [f"It is renewed in place in 10m, at {at(minutes=10)}."],
        ),
        (
            a_case(
                phase="Claimed",
                nodeName="n1",
                claimedPod="default/web",
                claimedTime=at(hours=-5),
                utilizationRate="75%",
            ),
            "default/web has its room on node n1, for 5h now.",
            ["It uses 75% of the room. When its pod ends, the ticket is Released."],
        ),
        (
            a_case(phase="Expired", finishedTime=at(minutes=-10)),
            "It expired 10m ago.",
            ["The object is deleted in 50m."],
        ),
        (
            a_case(phase="Released", finishedTime=at(minutes=-10)).but(
                {"spec": {"lifecycle": {"cleanupPolicy": "Retain"}}}
            ),
            "It was released 10m ago.",
            ["The object stays (Retain)."],
        ),
    ],
    ids=[
        "new",
        "refused",
        "starts later",
        "held in its lead time",
        "held",
        "stands for ever",
        "in use",
        "expired",
        "released and retained",
    ],
)
def test_each_phase_in_words(ticket: Builder[Ticket], verdict: str, facts: list[str]):
    stated = explained(ticket)
    assert stated.verdict == verdict
    assert [fact for fact in facts if fact not in stated.facts] == []


@pytest.mark.parametrize(
    ("ticket", "fact"),
    [
        pytest.param(
            a_case(phase="Claiming", claimDeadline=at(seconds=50)),
            "The hand-over is undone in 50s if the pod is not bound by then.",
            id="a hand-over with time left",
        ),
        pytest.param(
            a_case(phase="Claiming", claimDeadline=at(seconds=-11)),
            "The hand-over was due to be undone 11s ago, at the latest.",
            id="a hand-over that is late",
        ),
        pytest.param(
            a_case(phase="Reserved", nodeName="n1", activationTime=at(minutes=-61)),
            f"It was due to expire 60s ago, at {at(minutes=-1)}.",
            id="an expiry that is late",
        ),
        pytest.param(
            a_case(phase="Expired", finishedTime=at(minutes=-61)),
            "The object was due to be deleted 60s ago.",
            id="a removal that is late",
        ),
    ],
)
def test_an_instant_that_has_passed_is_not_announced_as_one_to_come(
    ticket: Builder[Ticket], fact: str
):
    stated = explained(ticket)
    assert fact in stated.facts
    assert not [each for each in stated.facts if "is undone" in each and "ago" in each]


def test_a_guardian_without_a_node_names_the_scheduler_it_waits_for():
    """Of a scheduler that is not there nobody hears anything."""
    guardian = a_pod("g").but({"spec": {"schedulerName": "none-such"}}).build()
    stated = explain_tickets.explain(TicketQuestion(a_case().build(), NOW, guardians=[guardian]))
    said = "Guardian g waits for none-such: `korder describe pod g` shows what it says."
    assert said in stated.facts


def test_a_deletion_that_waits_says_for_what():
    leaving = a_case(phase="Claiming").deleted_at(NOW - timedelta(minutes=3))
    stated = explained(leaving.but({"metadata": {"finalizers": [TICKET_FINALIZER]}}))
    assert "It is being deleted, for 3m now." in stated.facts
    assert any(TICKET_FINALIZER in fact for fact in stated.facts)


def test_the_pods_that_wait_for_it_are_judged_one_by_one():
    def waiting(name: str, cpu: str) -> Builder[Pod]:
        pod = a_pod(name).requesting(cpu=cpu).gated_by(SCHEDULING_GATE)
        return pod.annotated({REQUIRED_ANNOTATION: "true"})

    held = a_case(phase="Reserved", nodeName="n1")
    stated = explain_tickets.explain(
        TicketQuestion(
            held.build(),
            NOW,
            waiting=[
                waiting("big", "2").build(),
                waiting("right", "1").build(),
                waiting("stranger", "1").in_namespace("other").build(),
            ],
            nodes={"n1": a_node("n1").build()},
        )
    )
    assert stated.rows == (
        ("default/big", "needs cpu 2, it holds 1"),
        ("default/right", "would fit"),
        ("other/stranger", "is not one of its owners"),
    )


def test_a_hand_over_names_its_stage():
    by: JSON = {"namespace": "default", "name": "web", "uid": "web-uid"}
    stated = explained(
        a_case(phase="Claiming", nodeName="n1", claimedPod="default/web", claimedBy=by)
    )
    assert stated.verdict == "It is being handed over to pod default/web, on node n1."
    assert stated.facts[0] == "The claim has no pod that could take the room."


def test_guardians_tell_what_they_wait_for():
    ticket = a_case()
    guardian = a_pod("g").owned_by(TICKETS, ticket.build())
    stated = explain_tickets.explain(
        TicketQuestion(
            ticket.build(),
            NOW,
            guardians=[
                guardian.build(),
                guardian.on("n1").build(),
                guardian.gated_by("korder.dev/guardian").build(),
            ],
        )
    )
    said = " ".join(stated.facts)
    assert "Guardian g waits for the scheduler" in said
    assert "Guardian g is on node n1." in said
    assert "Guardian g waits until the room it is to take is free." in said


def test_a_ticket_of_a_closed_order_says_that_nobody_can_claim_it():
    """A ticket of a closed order says that it cannot be claimed (rule 14)."""
    order = an_order("gang", 3).stored("o").but({"spec": {"minAvailable": 3}}).build()
    held = a_case(phase="Reserved", nodeName="n1").owned_by(ORDERS, order)
    stated = explain_tickets.explain(TicketQuestion(held.build(), NOW, order=order))
    assert "Nobody can claim it before order gang has once held 3 tickets." in stated.facts
    assert "It is a ticket of order gang." in stated.facts


def test_a_ticket_whose_guardian_cannot_be_deleted_says_so():
    ticket = a_case(phase="Reserved", nodeName="n1", guardianPod="default/g")
    guardian = a_pod("g").on("n1").owned_by(TICKETS, ticket.build())
    slow = guardian.but({"metadata": {"finalizers": ["example.com/slow"]}})
    stated = explain_tickets.explain(TicketQuestion(ticket.build(), NOW, guardians=[slow.build()]))
    assert (
        "It cannot be handed over to a pod: guardian g has the finalizer example.com/slow."
        in stated.facts
    )
