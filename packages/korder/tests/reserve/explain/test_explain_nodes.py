"""`korder explain node`: why the hand-over taint is there, and what to do if it stays."""

from datetime import UTC, datetime, timedelta

from korder.api.reserve import HANDOVER_TAINT, Ticket
from korder.reserve.claims import patches as claim_patches
from korder.reserve.explain import cluster_scoped
from korder.reserve.explain.cluster_scoped import NodeQuestion
from korder.testing.builders import a_ticket
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
BEHIND = a_node("n").tainted(
    HANDOVER_TAINT, value=claim_patches.new_token(NOW - timedelta(seconds=3))
)


def on_node(name: str, phase: str, **status: JSON) -> Ticket:
    said: JSON = {"status": {"phase": phase, "nodeName": "n", **status}}
    return a_ticket(name).but(said).build()


def test_a_node_without_the_taint_lists_its_tickets() -> None:
    tickets = (on_node("a", "Reserved"), on_node("b", "Claimed", claimedPod="default/web"))
    stated = cluster_scoped.explain_node(NodeQuestion(a_node("n").build(), tickets, NOW))
    assert stated.verdict == "It has 2 tickets, and no hand-over keeps other pods away."
    assert [row[:3] for row in stated.rows] == [
        ("default/a", "Reserved", ""),
        ("default/b", "Claimed", "default/web"),
    ]
    assert not stated.facts


def test_a_node_in_a_hand_over_says_since_when_and_for_whom() -> None:
    tickets = (on_node("a", "Reserved"), on_node("b", "Claiming", claimedPod="default/web"))
    stated = cluster_scoped.explain_node(NodeQuestion(BEHIND.build(), tickets, NOW))
    assert "since 3s ago" in stated.verdict
    assert stated.rows[0][:3] == ("default/b", "Claiming", "default/web")
    assert any(fact.startswith("1 tickets are being claimed") for fact in stated.facts)
    assert any(f"kubectl taint node n {HANDOVER_TAINT}-" in fact for fact in stated.facts)


def test_a_taint_without_a_hand_over_is_called_one_that_goes() -> None:
    stated = cluster_scoped.explain_node(NodeQuestion(BEHIND.build(), (), NOW))
    assert any("within seconds" in fact for fact in stated.facts)
    assert not stated.rows


def test_a_taint_for_the_part_of_a_shared_ticket_says_that_it_comes_back() -> None:
    share: JSON = {"namespace": "default", "name": "web", "uid": "u", "requests": {"cpu": "1"}}
    stated = cluster_scoped.explain_node(
        NodeQuestion(BEHIND.build(), (on_node("a", "Reserved", sharedBy=[share]),), NOW)
    )
    assert any("1 can take capacity back" in fact for fact in stated.facts)
