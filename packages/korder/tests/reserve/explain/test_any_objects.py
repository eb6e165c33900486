"""Whatever objects there are: figures add up, and every question gets an answer in whole sentences."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings, strategies as st

from korder.api.reserve import (
    FALLBACK_AFTER_ANNOTATION,
    ORDER_ANNOTATION,
    ORDERS,
    REQUIRED_ANNOTATION,
    SCHEDULING_GATE,
    STANDING_ANNOTATION,
    TICKET_REQUEST_ANNOTATION,
    Order,
    Ticket,
    TicketPhase,
)
from korder.explanation import Explanation
from korder.reserve import metrics
from korder.reserve.claims.inventory import Market
from korder.reserve.claims.requirements import Site
from korder.reserve.explain import (
    orders as explain_orders,
    pods as explain_pods,
    tickets as explain_tickets,
)
from korder.reserve.explain.orders import OrderQuestion
from korder.reserve.explain.pods import PodQuestion
from korder.reserve.explain.tickets import TicketQuestion
from korder.reserve.tickets import state as ticket_state
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects import instant, resources
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node, a_pod

FEW = settings(max_examples=50)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIVE = ("Reserved", "Claiming", "Claimed")
NODES = {name: Site(a_node(name).build()) for name in ("n1", "n2")}
OWNER = an_order("o").stored("o-uid").build()

instants = st.integers(-100_000, 100_000).map(
    lambda seconds: instant.render(NOW + timedelta(seconds=seconds))
)
maybe = st.none() | instants
pod_references = st.fixed_dictionaries(
    {
        "namespace": st.just("default"),
        "name": st.sampled_from(["p", "q"]),
        "uid": st.sampled_from(["p-uid", "q-uid"]),
    }
)


@st.composite
def tickets(draw: st.DrawFn) -> Ticket:
    once = draw(st.booleans())
    status: dict[str, JSON] = {
        "phase": draw(st.none() | st.sampled_from([str(phase) for phase in TicketPhase])),
        "nodeName": draw(st.sampled_from(["", "n1", "n2", "gone"])),
        "reason": draw(st.sampled_from(["", "Lost", "Unschedulable"])),
        "message": draw(st.sampled_from(["", "no room", "no room."])),
        "claimedBy": draw(st.none() | pod_references),
        "activationTime": draw(maybe),
        "claimDeadline": draw(maybe),
        "claimedTime": draw(maybe),
        "finishedTime": draw(maybe),
    }
    if not once:
        parts = draw(st.integers(0, 3))
        status["sharedBy"] = [
            {"namespace": "default", "name": f"s{n}", "uid": f"s{n}", "requests": {"cpu": "500m"}}
            for n in range(parts)
        ]
    spec: JSON = {
        "allocateOnce": once,
        "startTime": draw(st.just("") | instants),
        "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}},
        "owners": draw(st.sampled_from([None, [{"serviceAccounts": ["robot"]}]])),
        "afterUse": draw(st.sampled_from(["Consume", "Reserve"])),
    }
    said = {name: value for name, value in status.items() if value is not None}
    built = a_ticket("t").stored("t-uid").but({"spec": spec, "status": said})
    if draw(st.booleans()):
        built = built.owned_by(ORDERS, OWNER)
    if draw(st.booleans()):
        built = built.annotated({STANDING_ANNOTATION: "true"})
    return (built.deleted_at(NOW) if draw(st.booleans()) else built).build()


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    words = st.sampled_from(["true", "false", "o", "ns/o", "name:t", "group:g", "5m", "?", ""])
    names = (
        REQUIRED_ANNOTATION,
        ORDER_ANNOTATION,
        TICKET_REQUEST_ANNOTATION,
        FALLBACK_AFTER_ANNOTATION,
    )
    asked = draw(st.dictionaries(st.sampled_from(names), words))
    gates: JSON = [
        {"name": name}
        for name in draw(st.sets(st.sampled_from([SCHEDULING_GATE, "other/gate"]), max_size=2))
    ]
    born: JSON = {"metadata": {"creationTimestamp": draw(instants)}}
    built = a_pod("p").stored("p-uid").requesting(cpu=draw(st.sampled_from(["1", "2"])))
    built = built.annotated(asked).but(born).but({"spec": {"schedulingGates": gates}})
    if draw(st.booleans()):
        built = built.on("n1").in_phase(draw(st.sampled_from(["Pending", "Running", "Failed"])))
    return built.build()


@st.composite
def orders(draw: st.DrawFn) -> Order:
    kind = draw(st.sampled_from(["OneTime", "Scheduled", "Recurring"]))
    strategy: dict[str, JSON] = {
        "type": kind,
        "refreshPolicy": draw(st.sampled_from(["Always", "OnClaim", "Never"])),
    }
    if kind != "OneTime":
        strategy["schedule"] = draw(st.sampled_from(["0 18 * * *", "61 * * * *", "@daily"]))
    ready: JSON = {"type": "Ready", "status": "False", "reason": "X", "message": "no room"}
    spec: JSON = {
        "strategy": strategy,
        "paused": draw(st.booleans()),
        "daemonSet": draw(st.booleans()),
        "minAvailable": draw(st.none() | st.just(2)),
    }
    given = draw(st.sampled_from([[], [ready]]))
    built = an_order("o", 2).stored("o-uid").but({"spec": spec, "status": {"conditions": given}})
    return (built.deleted_at(NOW) if draw(st.booleans()) else built).build()


def explained_well(stated: Explanation) -> None:
    """Whole sentences, and rows as wide as their titles."""
    for sentence in (stated.verdict, *stated.facts):
        assert sentence
        assert sentence[-1] in ".?"
        assert not sentence.endswith("..")
        assert "  " not in sentence
        assert "None" not in sentence
    assert all(len(row) == len(stated.titles) for row in stated.rows)


@FEW
@given(tickets())
def test_held_and_used_room_are_all_the_room_of_a_ticket_that_lives(ticket: Ticket):
    held, used = metrics.room(ticket)
    whole = resources.parse_list(ticket.spec.requests)
    together = resources.add(held, used)
    shared = ticket.status.phase is TicketPhase.CLAIMED and ticket.status.shared_by
    if str(ticket.status.phase) in LIVE and not shared:
        assert {name: together.get(name) for name in whole} == whole
    elif ticket_state.is_over(ticket):
        assert together == {}
    else:
        assert (held, used) == ({}, ticket_state.taken(ticket.status.shared_by))


@FEW
@given(pods(), st.lists(tickets(), max_size=3), st.lists(orders(), max_size=1), st.booleans())
def test_a_question_about_any_pod_is_answered(
    pod: Pod, offered: list[Ticket], made: list[Order], knows: bool
):
    market = Market("default", offered, made, NODES.get, NOW)
    explained_well(explain_pods.explain(PodQuestion(pod, market, [pod], knows_nodes=knows)))


@FEW
@given(tickets(), st.lists(pods(), max_size=2))
def test_a_question_about_any_ticket_is_answered(ticket: Ticket, around: list[Pod]):
    asked = TicketQuestion(
        ticket,
        NOW,
        order=OWNER,
        guardians=around[:1],
        waiting=around,
        claimant=around[0] if around else None,
        nodes={name: site.node for name, site in NODES.items()},
    )
    explained_well(explain_tickets.explain(asked))


@FEW
@given(orders(), st.lists(tickets(), max_size=3), st.booleans())
def test_a_question_about_any_order_is_answered(order: Order, made: list[Ticket], knows: bool):
    nodes = [site.node for site in NODES.values()] if knows else []
    explained_well(explain_orders.explain(OrderQuestion(order, made, NOW, nodes)))
