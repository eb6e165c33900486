"""Which tickets an order makes, and what is there at rest: promises kept and broken (table 1.8, rules 6 and 18)."""

from collections.abc import Sequence

import pytest
from tests.reserve.simulation import story_objects
from tests.reserve.simulation.story_objects import WE, guardian, order, ordered, pod, reserved

from korder.reserve.scenarios.invariants import at_rest, tickets_made
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import Builder, a_node
from pocketkube.testing.story import Story

HERE = Builder(NAMESPACES, {"metadata": {"name": "default"}})
NEVER: JSON = {"type": "OneTime", "refreshPolicy": "Never"}
ALWAYS: JSON = {"type": "OneTime", "refreshPolicy": "Always"}
WINDOWS: JSON = {"type": "Scheduled", "refreshPolicy": "Never", "schedule": "0 * * * *"}


def test_a_name_is_used_once() -> None:
    """A name is used once (S5)."""
    story = Story(tickets_made.NamesAreNew())
    story.tell(order(), ordered("o-0"), by=WE)
    story.lose(ordered("o-0"))
    story.tell(ordered("o-1"), by=WE)
    assert story.broken == []
    story.tell(ordered("o-0"), by=WE)
    assert story.broken == ["order o has used this name before"]


def test_an_order_makes_no_ticket_too_many() -> None:
    story = Story(tickets_made.NoTicketTooMany())
    story.tell(order(2), ordered("o-0", "Reserved"), ordered("o-1", "Pending"), by=WE)
    story.tell(ordered("o-1", "Claimed"), ordered("o-2"), by=WE)
    assert story.broken == []
    story.tell(ordered("o-3"), by=WE)
    assert story.broken == ["it was made as number 3 of 2"]


def test_who_replaces_a_ticket_that_is_just_coming_back_could_not_know() -> None:
    story = Story(tickets_made.NoTicketTooMany())
    story.tell(order(1), ordered("o-0", "Claiming"), by=WE)
    story.tell(ordered("o-0", "Reserved"), ordered("o-1"), by=WE)
    assert story.broken == []
    story.lose(ordered("o-1"), by=WE)
    story.wait(60)
    story.tell(ordered("o-2"), by=WE)
    assert story.broken == ["it was made as number 2 of 1"]


def test_what_is_never_replaced_is_made_once() -> None:
    story = Story(tickets_made.NoTicketTooMany())
    story.tell(order(1, strategy=NEVER), ordered("o-0", "Claimed"), by=WE)
    assert story.broken == []
    story.tell(ordered("o-1"), by=WE)
    assert story.broken == ["it is number 2 of 1 that are never replaced"]


@pytest.mark.parametrize(
    ("strategy", "wanted", "stated"),
    [
        (WINDOWS, 0, []),
        (WINDOWS, 1, ["it is number 2 of 1 that are never replaced"]),
        (NEVER, 0, ["it is number 2 of 1 that are never replaced"]),
    ],
    ids=["in a window", "that nobody scaled down", "without windows"],
)
def test_what_was_too_much_in_a_window_may_be_made_again(
    strategy: JSON, wanted: int, stated: list[str]
) -> None:
    """What was too much in a window may be made again (rule 18)."""
    story = Story(tickets_made.NoTicketTooMany())
    story.tell(order(1, strategy=strategy), ordered("o-0", "Reserved"), by=WE)
    story.tell(order(wanted, strategy=strategy))
    story.lose(ordered("o-0"), by=WE)
    story.tell(order(1, strategy=strategy), ordered("o-1"), by=WE)
    assert story.broken == stated


def counted(replicas: int, **spec: JSON) -> Builder[story_objects.Order]:
    return order(replicas, **spec).but({"status": {"replicas": replicas}})


@pytest.mark.parametrize(
    ("phases", "stated"),
    [
        (("Reserved", "Pending"), []),
        (
            ("Reserved", "Expired"),
            [
                (
                    "status.replicas is 2 instead of 1; status.terminalReplicas is 0 instead of 1;"
                    " it has 1 unclaimed tickets instead of 2"
                )
            ],
        ),
    ],
    ids=["all there", "one expired"],
)
def test_at_rest_an_order_has_what_it_promises(phases: Sequence[str], stated: list[str]) -> None:
    """At rest an order has what it promises (S27)."""
    story = Story(at_rest.OrdersSettle())
    story.tell(HERE, counted(2, strategy=ALWAYS))
    story.tell(*(ordered(f"o-{n}", phase) for n, phase in enumerate(phases)))
    story.wait(100)
    story.rest()
    assert story.broken == stated


@pytest.mark.parametrize(
    ("node", "nodes", "stated"),
    [
        (a_node("node-1"), ["node-1"], []),
        (a_node("node-1"), [], ["node node-1 has 0 tickets instead of one"]),
        (a_node("node-1"), ["node-1", "node-1"], ["node node-1 has 2 tickets instead of one"]),
        (a_node("node-1").cordoned(), [], []),
        (
            a_node("node-1").cordoned(),
            ["node-1"],
            ["node node-1 is not eligible and has a ticket"],
        ),
        (
            a_node("node-1").tainted("maintenance"),
            ["node-1"],
            ["node node-1 is not eligible and has a ticket"],
        ),
    ],
    ids=["one", "none", "two", "none if cordoned", "one if cordoned", "one if tainted"],
)
def test_at_rest_every_eligible_node_has_a_ticket(
    node: Builder[object], nodes: list[str], stated: list[str]
) -> None:
    """At rest every eligible node has a ticket (S36)."""
    story = Story(at_rest.NodesAreCovered())
    story.tell(HERE, node, order(strategy=ALWAYS, daemonSet=True))
    for number, name in enumerate(nodes):
        story.tell(ordered(f"o-{number}", "Reserved").but({"spec": {"nodeName": name}}))
    story.wait(100)
    story.rest()
    assert story.broken == stated


REQUIRED = {"korder.dev/required": "true"}


@pytest.mark.parametrize(
    ("asks", "stated"),
    [
        (REQUIRED, ["it waits although ticket t fits it"]),
        ({**REQUIRED, "korder.dev/ticket-request": "name:other"}, []),
        (
            {**REQUIRED, "korder.dev/ticket-request": "selector:team=red"},
            ["it waits although ticket t fits it"],
        ),
        ({**REQUIRED, "korder.dev/order": "o"}, []),
        (
            {"korder.dev/ticket-request": "other"},
            ["it waits although it need not have a ticket"],
        ),
    ],
    ids=["any", "another one", "by its label", "of an order", "not insisting"],
)
def test_at_rest_nobody_waits_for_what_is_free(asks: dict[str, str], stated: list[str]) -> None:
    story = Story(at_rest.NobodyWaitsForWhatIsFree())
    free = reserved().labelled({"team": "red"})
    story.tell(a_node("node-1"), free, guardian().on("node-1"), pod(**asks))
    story.wait(100)
    story.rest()
    assert story.broken == stated


@pytest.mark.parametrize(
    ("wait", "stated"),
    [("90s", []), ("80s", ["it waits although it need not have a ticket"])],
    ids=["not yet", "too long"],
)
def test_a_pod_that_prefers_a_ticket_waits_as_long_as_it_says(wait: str, stated: list[str]) -> None:
    """And a moment longer, in which its gate is taken away."""
    story = Story(at_rest.NobodyWaitsForWhatIsFree())
    asks = {"korder.dev/order": "none", "korder.dev/fallback-after": wait}
    made: JSON = {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}
    story.tell(a_node("node-1"), pod(**asks).but(made))
    story.wait(100)
    story.rest()
    assert story.broken == stated


def test_a_pod_that_is_too_large_waits() -> None:
    """A pod that is too large waits (S14)."""
    story = Story(at_rest.NobodyWaitsForWhatIsFree())
    big = pod(**REQUIRED).requesting(cpu="2", memory="1Gi")
    story.tell(a_node("node-1"), reserved(), big)
    story.wait(100)
    story.rest()
    assert story.broken == []
