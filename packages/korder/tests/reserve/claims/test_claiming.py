"""What becomes of pods that wait: a claim, words that are said once, or leave to go without a ticket."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from korder.api.reserve import SCHEDULING_GATE, TICKETS, Order, Ticket
from korder.reserve.claims import plan as claim_plan
from korder.reserve.claims.inventory import Market
from korder.reserve.claims.requirements import Site
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.plan import Patch, Plan
from kubeloop.testing.builders import Builder, a_node, a_pod

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NO_ORDERS = "There are no orders in namespace default."


def waiting(gates: tuple[str, ...] = (SCHEDULING_GATE,), **said: str) -> Builder[Pod]:
    """A pod that was made ten seconds ago."""
    annotations = {f"korder.dev/{name.replace('_', '-')}": value for name, value in said.items()}
    born = (NOW - timedelta(seconds=10)).isoformat()
    return (
        a_pod("web")
        .stored("uid-web", 7)
        .annotated(annotations)
        .but({"metadata": {"creationTimestamp": born}})
        .but({"spec": {"schedulingGates": [{"name": gate} for gate in gates]}})
    )


def stated(pod: Builder[Pod], reason: str, message: str, status: str = "False") -> Builder[Pod]:
    condition: JSON = {
        "type": "korder.dev/TicketBound",
        "status": status,
        "reason": reason,
        "message": message,
    }
    return pod.but({"status": {"conditions": [condition]}})


def refused(pod: Builder[Pod], message: str, seconds_ago: int) -> Builder[Pod]:
    """A pod that the server did not let go, with a ticket or without."""
    condition: JSON = {
        "type": "korder.dev/TicketBound",
        "status": "False",
        "reason": "UngateRefused" if message == STAYS else "ChangeRefused",
        "message": message,
        "lastTransitionTime": (NOW - timedelta(seconds=seconds_ago)).isoformat(),
    }
    return pod.but({"status": {"conditions": [condition]}})


def free_ticket() -> Builder[Ticket]:
    return (
        a_ticket("t")
        .stored("uid-t", 3)
        .but({"status": {"phase": "Reserved", "nodeName": "node-1"}})
    )


def decide(
    pod: Builder[Pod], *tickets: Builder[Ticket], orders: Collection[Builder[Order]] = ()
) -> Plan:
    site = Site(a_node("node-1").build())
    built, known = [each.build() for each in tickets], [each.build() for each in orders]
    return claim_plan.plan([pod.build()], Market("default", built, known, lambda _: site, NOW))


def outcome(plan: Plan) -> str:
    """What is written, in one word or sentence."""
    steps = [step for stage in plan.stages for step in stage]
    if not steps:
        return "nothing"
    (step,) = steps
    assert isinstance(step, Patch)
    body = cast("Mapping[str, Any]", step.body)
    if step.kind == TICKETS:
        assert step.resource_version == "3"
        assert body["status"]["claimedBy"] == {
            "namespace": "default",
            "name": "web",
            "uid": "uid-web",
        }
        return f"{body['status']['phase']} until {body['status']['claimDeadline']}"
    assert step.uid == "uid-web"
    if "spec" in body:
        assert step.resource_version == "7"
        return f"let go, gates left: {[gate['name'] for gate in body['spec']['schedulingGates']]}"
    (condition,) = body["status"]["conditions"]
    return f"{condition['reason']}: {condition['message']}"


@pytest.mark.parametrize(
    ("pod", "tickets", "expected"),
    [
        pytest.param(
            waiting(required="true"),
            (free_ticket(),),
            "Claiming until 2026-01-01T12:01:00Z",
            id="S10: a ticket is claimed, for a minute",
        ),
        pytest.param(
            waiting(required="true"),
            (),
            f"NoTicket: {NO_ORDERS}",
            id="rule 15: required, no orders",
        ),
        pytest.param(
            waiting(order="gold"),
            (),
            "let go, gates left: []",
            id="rule 15 and S13: preferred, no orders",
        ),
        pytest.param(
            waiting(order="gold", fallback_after="11s"),
            (),
            "NoTicket: There is no order default/gold.",
            id="preferred, and still patient",
        ),
        pytest.param(
            waiting(order="gold", fallback_after="10s"),
            (),
            "let go, gates left: []",
            id="preferred, and out of patience",
        ),
        pytest.param(
            waiting(required="maybe"),
            (free_ticket(),),
            "InvalidRequest: annotation korder.dev/required must be true or false, not 'maybe'.",
            id="S15: nonsense that passed the door",
        ),
        pytest.param(
            waiting(ticket_claimed="t"),
            (free_ticket(),),
            "let go, gates left: []",
            id="S17: our own answer, written by the user, claims nothing",
        ),
        pytest.param(
            waiting((SCHEDULING_GATE, "other.dev/gate"), required="true"),
            (free_ticket(),),
            "OtherGates: The pod claims a ticket once nobody else holds it back: other.dev/gate.",
            id="rule 8: somebody else's gate",
        ),
        pytest.param(
            waiting((SCHEDULING_GATE, "other.dev/gate"), order="gold"),
            (free_ticket(),),
            "OtherGates: The pod claims a ticket once nobody else holds it back: other.dev/gate.",
            id="rule 8: who only prefers waits as well",
        ),
        pytest.param(
            waiting((SCHEDULING_GATE, "other.dev/gate"), order="gold", fallback_after="1s"),
            (free_ticket(),),
            "let go, gates left: ['other.dev/gate']",
            id="rule 8: unless its time is over",
        ),
        pytest.param(
            stated(waiting(required="true"), "NoTicket", NO_ORDERS),
            (),
            "nothing",
            id="it knows already",
        ),
        pytest.param(
            stated(waiting(required="true"), "TicketClaimed", "Ticket default/gone ...", "True"),
            (free_ticket(),),
            "ClaimUndone: The hand-over was undone; the pod looks for another ticket.",
            id="what is left of an earlier hand-over goes first",
        ),
    ],
)
def test_a_waiting_pod(
    pod: Builder[Pod], tickets: tuple[Builder[Ticket], ...], expected: str
) -> None:
    assert outcome(decide(pod, *tickets)) == expected


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        pytest.param({}, "Order default/gold has no ticket now.", id="any"),
        pytest.param(
            {"ticket_request": "group:nightly"},
            "Order default/gold has no such ticket.",
            id="certain ones",
        ),
    ],
)
def test_of_an_order_without_tickets_it_is_said_whether_others_might_do(
    wanted: Mapping[str, str], said: str
) -> None:
    pod = waiting(required="true", order="gold", **wanted)
    assert outcome(decide(pod, orders=[an_order("gold")])) == f"NoTicket: {said}"


def shared(**status: JSON) -> Builder[Ticket]:
    """A ticket that several pods may share, on its way to one of them."""
    spec: JSON = {"allocateOnce": False, "resources": {"requests": {"cpu": "2"}}}
    return free_ticket().but({"spec": spec, "status": {"phase": "Claiming", **status}})


ANY: Mapping[str, str] = {"ticket_request": "t"}
OTHER: JSON = {"namespace": "default", "name": "a", "uid": "a", "requests": {"cpu": "1500m"}}


@pytest.mark.parametrize(
    ("pod", "ticket", "waits"),
    [
        pytest.param(waiting(**ANY), shared(), True, id="one that can be shared"),
        pytest.param(
            waiting(**ANY), shared().but({"spec": {"allocateOnce": True}}), False, id="any other"
        ),
        pytest.param(waiting(**ANY), shared(sharedBy=[OTHER]), False, id="no room is left in it"),
        pytest.param(waiting(ticket_request="u"), shared(), False, id="it is not asked for"),
        pytest.param(
            waiting(fallback_after="5s", **ANY), shared(), False, id="the time of the pod is over"
        ),
    ],
)
def test_a_pod_that_prefers_a_ticket_waits_while_it_is_shared_with_another_one(
    pod: Builder[Pod], ticket: Builder[Ticket], waits: bool
) -> None:
    """S18: replicas that come at once shall all have it, as far as its room goes."""
    container: JSON = {"name": "app", "resources": {"requests": {"cpu": "1"}}}
    plan = decide(pod.but({"spec": {"containers": [container]}}), ticket)
    assert outcome(plan).startswith("NoTicketFree" if waits else "let go")


def test_a_pod_that_waits_is_not_written_to_when_others_take_tickets_that_do_not_fit_it() -> None:
    container: JSON = {"name": "app", "resources": {"requests": {"cpu": "9"}}}
    pod = waiting(required="true").but({"spec": {"containers": [container]}})
    reason, message = outcome(decide(pod, free_ticket())).split(": ", 1)
    taken = free_ticket().but({"status": {"phase": "Claimed"}})
    another = free_ticket().but({"metadata": {"name": "a", "uid": "uid-a"}})
    for tickets in ((taken, another), (another,), (taken,)):
        assert outcome(decide(stated(pod, reason, message), *tickets)) == "nothing"


def test_a_patient_pod_is_looked_at_when_its_patience_ends() -> None:
    plan = decide(waiting(order="gold", fallback_after="15s"))
    assert plan.requeue_at == NOW + timedelta(seconds=5)


TIED = "The pod cannot be tied to node node-1: no."
STAYS = "The pod cannot be let go: no."
GONE = "let go, gates left: []"


@pytest.mark.parametrize(
    ("pod", "expected", "wakes"),
    [
        pytest.param(
            refused(waiting(required="true"), TIED, 5), "nothing", 15, id="required: a pause"
        ),
        pytest.param(
            refused(waiting(ticket_request="t", fallback_after="15s"), TIED, 5),
            "nothing",
            5,
            id="still patient: a pause that its time may end",
        ),
        pytest.param(
            refused(waiting(ticket_request="t", fallback_after="40s"), TIED, 5),
            "nothing",
            15,
            id="very patient: it will claim again before",
        ),
        pytest.param(
            refused(waiting(ticket_request="t", fallback_after="10s"), TIED, 5),
            GONE,
            15,
            id="out of patience: it goes before the pause is over",
        ),
        pytest.param(
            refused(waiting(ticket_request="t"), TIED, 30),
            GONE,
            None,
            id="and does not claim again",
        ),
        pytest.param(
            refused(waiting(ticket_request="t"), STAYS, 5),
            "nothing",
            15,
            id="it may not go either: a pause",
        ),
        pytest.param(
            refused(waiting(ticket_request="t"), STAYS, 30),
            GONE,
            None,
            id="it could not go either, and is tried again",
        ),
    ],
)
def test_a_pod_whose_change_was_refused(
    pod: Builder[Pod], expected: str, wakes: int | None
) -> None:
    """S13: who only prefers a ticket is let go when its time is over, and nothing is tried in a hurry."""
    plan = decide(pod, free_ticket())
    assert outcome(plan) == expected
    assert plan.requeue_at == (None if wakes is None else NOW + timedelta(seconds=wakes))


def test_the_event_of_a_fallback_says_why() -> None:
    """The event of a fallback says why (S13)."""
    (emit,) = decide(waiting(order="gold")).emits
    assert (emit.reason, emit.note) == (
        "FellBack",
        "Scheduled without a ticket: There is no order default/gold.",
    )


@pytest.mark.parametrize(
    ("pod", "tickets"),
    [
        pytest.param(waiting(required="true"), (free_ticket(),), id="a claim"),
        pytest.param(waiting(required="true"), (), id="a wait"),
        pytest.param(waiting(order="gold"), (), id="a fallback"),
    ],
)
def test_what_is_reported_belongs_to_the_step_that_does_it(
    pod: Builder[Pod], tickets: tuple[Builder[Ticket], ...]
) -> None:
    """Another pod's step may fail, and this one's Event is sent all the same (S39)."""
    plan = decide(pod, *tickets)
    (emit,), ((step,),) = plan.emits, plan.stages
    assert emit.after is step


LET_GO = stated(waiting((), order="gold"), "NoTicketFree", "All are taken.")


@pytest.mark.parametrize(
    ("pod", "unreported"),
    [
        pytest.param(LET_GO, True, id="it waited"),
        pytest.param(waiting((), order="gold"), False, id="it was never told anything"),
        pytest.param(
            stated(waiting((), order="gold"), "FellBack", "Scheduled ..."), False, id="it knows"
        ),
        pytest.param(
            stated(waiting(order="gold"), "NoTicketFree", "All are taken."), False, id="it waits"
        ),
        pytest.param(
            stated(waiting((), order="gold", ticket_claimed="t"), "NeverBound", "full"),
            False,
            id="it was tied to a node",
        ),
        pytest.param(
            stated(waiting((), order="gold"), "TicketClaimed", "Ticket ...", "True"),
            False,
            id="it has a ticket",
        ),
        pytest.param(LET_GO.deleted_at(NOW), False, id="it is on its way out"),
        pytest.param(LET_GO.but({"status": {"phase": "Succeeded"}}), False, id="it has ended"),
    ],
)
def test_a_pod_that_was_let_go_is_reported_so_if_it_was_reported_to_wait(
    pod: Builder[Pod], unreported: bool
) -> None:
    assert claim_plan.is_unreported(pod.build()) == unreported


def test_to_be_reported_costs_a_pod_nothing_that_the_scheduler_promised_it() -> None:
    nominated = LET_GO.but({"status": {"nominatedNodeName": "node-2"}}).build()
    ((step,),) = claim_plan.plan(
        [], Market("default", [], [], lambda _: None, NOW), [nominated]
    ).stages
    assert isinstance(step, Patch)
    assert "nominatedNodeName" not in cast("Mapping[str, Any]", step.body)["status"]


@pytest.mark.parametrize(
    ("pod", "namespace"),
    [
        pytest.param(waiting(required="true"), "default", id="its own"),
        pytest.param(waiting(order="team/gold"), "team", id="that of the order"),
        pytest.param(waiting(required="maybe"), "default", id="nonsense"),
        pytest.param(waiting((), required="true"), None, id="no gate"),
        pytest.param(waiting(required="true").deleted_at(NOW), None, id="on its way out"),
    ],
)
def test_a_pod_waits_in_the_namespace_where_it_seeks(
    pod: Builder[Pod], namespace: str | None
) -> None:
    assert claim_plan.sought_namespace(pod.build()) == namespace
