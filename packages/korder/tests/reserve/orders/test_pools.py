"""Whatever happens, and wherever a turn is broken off: nothing is issued twice and no name comes again."""

import random

from hypothesis import given, settings, strategies as st
import pytest
from tests.reserve.orders.order_harness import OrderHarness

from korder.api.reserve import TicketPhase
from korder.reserve import names as object_names
from korder.testing.builders import an_order

REPLICAS = 3
DEEDS = ("claim", "expire", "lose", "forget")
REPLACED = {
    ("OneTime", "Never"): (),
    ("OneTime", "OnClaim"): ("claim",),
    ("OneTime", "Always"): ("claim", "expire", "lose"),
    ("Recurring", "Never"): ("expire",),
    ("Recurring", "OnClaim"): ("claim", "expire"),
    ("Recurring", "Always"): ("claim", "expire", "lose"),
}
actions = st.tuples(st.sampled_from(DEEDS), st.integers(0, 9), st.none() | st.integers(0, 4))


def a_harness(kind: str, policy: str) -> OrderHarness:
    strategy = {"type": kind, "refreshPolicy": policy}
    if kind == "Recurring":
        strategy["schedule"] = "0 * * * *"
    return OrderHarness(an_order("o", REPLICAS).but({"spec": {"strategy": strategy}}))


def do(harness: OrderHarness, action: str, which: int) -> bool:
    """Does something to one of the tickets; says whether there was one."""
    ended = harness.names(TicketPhase.CLAIMED, TicketPhase.EXPIRED, TicketPhase.RELEASED)
    among = ended if action == "forget" else harness.free
    if not among:
        return False
    name = among[which % len(among)]
    if action == "claim":
        harness.become(name, TicketPhase.CLAIMED)
    elif action == "expire":
        harness.become(name, TicketPhase.EXPIRED)
    else:
        harness.delete(name)
    return True


@settings(max_examples=60)
@given(case=st.sampled_from(sorted(REPLACED)), history=st.lists(actions, max_size=12))
def test_every_end_is_settled_once_wherever_turns_are_broken_off(
    case: tuple[str, str], history: list[tuple[str, int, int | None]]
) -> None:
    """A turn that ends after any of its steps, as after a crash or a lost answer, changes nothing about the result."""
    harness = a_harness(*case)
    harness.settle()
    expected = REPLICAS
    owed = 0
    for action, which, steps in history:
        if do(harness, action, which) and action != "forget":
            if action not in REPLACED[case]:
                expected -= 1
            elif case[0] == "Recurring":
                expected, owed = expected - 1, owed + 1
        if steps is not None:
            harness.reconcile(most=steps)
        harness.settle()
        assert len(harness.free) == expected
    if case[0] == "Recurring":
        harness.at("01:00")
        harness.reconcile(most=2)
        harness.settle()
        assert len(harness.free) == (REPLICAS if case[1] == "Always" else expected + owed)
    assert len(harness.made) == len(set(harness.made))


scales = st.tuples(st.just("scale"), st.integers(0, 6), st.none() | st.integers(0, 9))


@settings(max_examples=60)
@given(
    case=st.sampled_from(sorted(REPLACED)),
    history=st.lists(actions | scales, max_size=15),
    foreign=st.sets(st.integers(0, 12), max_size=4),
)
def test_names_never_repeat_and_the_pool_never_exceeds_its_replicas(
    case: tuple[str, str], history: list[tuple[str, int, int | None]], foreign: set[int]
) -> None:
    """S5: names of others are passed over, and nothing gets stuck."""
    harness = a_harness(*case)
    harness.foreign = {f"o-{number}" for number in foreign}
    harness.settle()
    for action, which, steps in history:
        if action == "scale":
            harness.edit({"replicas": which})
        else:
            do(harness, action, which)
        if steps is not None:
            harness.reconcile(most=steps)
        harness.settle()
        assert len(harness.free) <= harness.order.spec.replicas
        if case == ("OneTime", "Always"):
            assert len(harness.free) == harness.order.spec.replicas
        status = harness.order.status
        assert status.replicas == len(harness.free) + len(harness.names(TicketPhase.CLAIMED))
        assert status.available_replicas == len(harness.free)
        assert status.terminal_replicas == len(harness.names(TicketPhase.EXPIRED))
    assert len(harness.made) == len(set(harness.made))
    assert not harness.foreign & set(harness.made)


def test_two_hundred_deletions_bring_two_hundred_new_names() -> None:
    """Two hundred deletions bring two hundred new names (S5)."""
    harness = a_harness("OneTime", "Always")
    harness.settle()
    rng = random.Random(5)
    for _ in range(200):
        harness.delete(rng.choice(harness.free))
        harness.settle()
        assert len(harness.free) == REPLICAS
    assert len(set(harness.made)) == len(harness.made) == 200 + REPLICAS


@pytest.mark.parametrize(("policy", "left"), [("Never", 2), ("OnClaim", 2), ("Always", 3)])
def test_a_ticket_that_goes_before_it_is_noted_is_lost_as_any_other(policy: str, left: int) -> None:
    harness = a_harness("OneTime", policy)
    harness.reconcile()
    harness.reconcile()
    assert harness.order.status.made_index == 0
    harness.delete("o-1")
    harness.settle()
    assert len(harness.free) == left
    assert "o-1" not in harness.free


def test_a_name_that_somebody_takes_at_the_last_moment_is_given_up() -> None:
    harness = a_harness("OneTime", "Never")
    harness.reconcile()
    steps = harness.steps()
    harness.reconcile(most=1)
    assert len(steps) == 1 + REPLICAS
    harness.foreign = {"o-1"}
    harness.settle()
    assert sorted(harness.free) == ["o-0", "o-2", "o-3"]
    assert harness.order.status.collision_count == 1


@given(st.sets(st.integers(0, 300)))
def test_numbers_are_read_as_they_were_written(some: set[int]) -> None:
    assert object_names.parse(object_names.render(some)) == some


def test_numbers_of_many_tickets_are_short() -> None:
    assert object_names.render([*range(1000), 1002]) == "0-999,1002"


names = st.text("abz09-.", min_size=1, max_size=253).filter(
    lambda text: text[0] not in "-." and text[-1] not in "-."
)


@given(order=names, number=st.integers(0, 10**7), node=names)
def test_names_of_tickets_are_legal_and_tell_their_number(
    order: str, number: int, node: str
) -> None:
    name = object_names.numbered(order, number)
    assert len(name) <= 253
    assert object_names.number_of(name) == number
    other = object_names.numbered(order + "x", number)
    assert other != name
    plain = object_names.on_node(order, "uid", node, None, lambda _: False)
    taken = {plain}
    second = object_names.on_node(order, "uid", node, None, taken.__contains__)
    assert len(plain) <= 253
    assert len(second) <= 253
    assert second != plain


@pytest.mark.parametrize(("kind", "policy"), sorted(REPLACED))
def test_an_order_of_an_older_version_keeps_its_tickets(kind: str, policy: str) -> None:
    """S40: its status has no books, and its tickets are there."""
    harness = a_harness(kind, policy)
    harness.settle()
    harness.become("o-0", TicketPhase.CLAIMED)
    before = set(harness.tickets)
    harness.lose_books()
    harness.settle()
    assert before <= set(harness.tickets)
    assert set(harness.free) >= {"o-1", "o-2"}
    assert len(harness.free) <= REPLICAS
    harness.edit({"replicas": REPLICAS + 1})
    harness.settle()
    assert len(harness.tickets) > len(before)
    assert len(set(harness.made)) == len(harness.made)
