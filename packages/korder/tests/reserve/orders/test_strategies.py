"""Table 1.8 as a whole (S27): what brings a new ticket, and when."""

import pytest
from tests.reserve.orders.order_harness import OrderHarness

from korder.api.reserve import TicketPhase
from korder.testing.builders import an_order

NIGHTLY, WINDOW = "0 2 * * *", "0 0 * * *"
AT_ONCE, AT_FIRING, NEVER = "at once", "at the firing", "never"

TABLE = {
    ("OneTime", "Never"): {"claim": NEVER, "expiry": NEVER, "loss": NEVER},
    ("OneTime", "OnClaim"): {"claim": AT_ONCE, "expiry": NEVER, "loss": NEVER},
    ("OneTime", "Always"): {"claim": AT_ONCE, "expiry": AT_ONCE, "loss": AT_ONCE},
    ("Scheduled", "Never"): {"claim": NEVER, "expiry": NEVER, "loss": NEVER},
    ("Scheduled", "OnClaim"): {"claim": AT_ONCE, "expiry": NEVER, "loss": NEVER},
    ("Scheduled", "Always"): {"claim": AT_ONCE, "expiry": NEVER, "loss": AT_ONCE},
    ("Recurring", "Never"): {"claim": NEVER, "expiry": AT_FIRING, "loss": NEVER},
    ("Recurring", "OnClaim"): {"claim": AT_FIRING, "expiry": AT_FIRING, "loss": NEVER},
    ("Recurring", "Always"): {"claim": AT_FIRING, "expiry": AT_FIRING, "loss": AT_FIRING},
}
ENDS = {
    "claim": lambda harness, name: harness.become(name, TicketPhase.CLAIMED),
    "expiry": lambda harness, name: harness.become(name, TicketPhase.EXPIRED),
    "loss": lambda harness, name: harness.delete(name),
}


def a_harness(kind: str, policy: str, replicas: int = 3) -> OrderHarness:
    strategy = {"type": kind, "refreshPolicy": policy}
    if kind != "OneTime":
        strategy["schedule"] = NIGHTLY if kind == "Recurring" else WINDOW
    duration = "12h" if kind == "Scheduled" else "48h"
    order = an_order("o", replicas).but(
        {"spec": {"strategy": strategy, "template": {"spec": {"duration": duration}}}}
    )
    harness = OrderHarness(order)
    harness.settle()
    return harness


@pytest.mark.parametrize("gone", [False, True], ids=["seen", "gone before anybody looks"])
@pytest.mark.parametrize("end", ["claim", "expiry", "loss"])
@pytest.mark.parametrize(("kind", "policy"), TABLE)
def test_table_of_strategies(kind: str, policy: str, end: str, *, gone: bool) -> None:
    """S27, rule 5: also of a ticket that has no time to live after its end."""
    harness = a_harness(kind, policy)
    first = harness.free
    assert len(first) == 3
    ENDS[end](harness, first[1])
    if gone and end != "loss":
        harness.delete(first[1])
    harness.settle()
    when = TABLE[kind, policy][end]
    assert len(harness.free) == (3 if when == AT_ONCE else 2)
    if kind != "Recurring":
        return
    harness.at("02:00")
    harness.settle()
    assert len(harness.free) == (2 if when == NEVER else 3)
    assert set(harness.free) & set(first) == {first[0], first[2]}


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
@pytest.mark.parametrize("kind", ["OneTime", "Recurring"])
def test_an_end_counts_once_however_often_one_looks(kind: str, policy: str) -> None:
    harness = a_harness(kind, policy)
    for _ in range(3):
        harness.become(harness.free[0], TicketPhase.CLAIMED)
        for _ in range(3):
            harness.settle()
    refilled = policy != "Never" and kind == "OneTime"
    assert len(harness.free) == (3 if refilled else 0)
    assert len(harness.made) == (6 if refilled else 3)


@pytest.mark.parametrize(("policy", "left"), [("Never", 3), ("OnClaim", 3), ("Always", 0)], ids=str)
def test_the_next_firing_retires_what_is_left_of_a_window_only_with_always(
    policy: str, left: int
) -> None:
    strategy = {"type": "Scheduled", "refreshPolicy": policy, "schedule": "0 * * * *"}
    template = {"spec": {"duration": "90m"}}
    harness = OrderHarness(
        an_order("o", 3).but({"spec": {"strategy": strategy, "template": template}})
    )
    harness.settle()
    first = harness.free
    harness.at("01:00")
    harness.settle()
    assert len([name for name in first if name in harness.free]) == left
    assert len([name for name in harness.free if name not in first]) == 3


def test_a_claim_is_replaced_only_until_its_window_closes() -> None:
    """S27: Scheduled with OnClaim."""
    harness = a_harness("Scheduled", "OnClaim")
    harness.become(harness.free[0], TicketPhase.CLAIMED)
    harness.at("12:00")
    for name in harness.free:
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle()
    assert harness.free == []
    assert len(harness.made) == 3


@pytest.mark.parametrize("policy", ["Never", "OnClaim"])
def test_an_order_is_complete_when_all_tickets_have_ended_and_none_can_come(policy: str) -> None:
    harness = a_harness("OneTime", policy)
    for name in harness.free:
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle()
    conditions = {each.type: each.status.value for each in harness.order.status.conditions}
    assert conditions == {
        "Ready": "True",
        "Progressing": "False",
        "Failure": "False",
        "Complete": "True",
    }
    ready = next(each for each in harness.order.status.conditions if each.type == "Ready")
    assert (ready.reason, ready.message) == ("Complete", "All tickets have ended.")


def test_a_ticket_that_comes_back_after_use_undoes_its_claim() -> None:
    """With afterUse Reserve the pool is as large as before, whatever the policy."""
    for policy in ("Never", "OnClaim", "Always"):
        for kind in ("OneTime", "Recurring"):
            harness = a_harness(kind, policy)
            name = harness.free[0]
            harness.become(name, TicketPhase.CLAIMED)
            harness.settle()
            harness.become(name, TicketPhase.RESERVED)
            harness.settle()
            assert len(harness.free) == 3, (kind, policy)
            harness.at("02:00")
            harness.settle()
            assert len(harness.free) == 3, (kind, policy)


def test_claiming_is_neither_claimed_nor_free() -> None:
    """Rule 2: a hand-over that fails has cost nothing."""
    harness = a_harness("OneTime", "OnClaim")
    harness.become("o-1", TicketPhase.CLAIMING)
    harness.settle()
    assert len(harness.made) == 3
    harness.become("o-1", TicketPhase.PENDING)
    harness.settle()
    assert len(harness.made) == 3
    assert len(harness.free) == 3


def test_an_order_without_a_strategy_is_one_time_with_its_refresh_policy() -> None:
    """The form of the original's last state."""
    for policy, made in (("Never", 3), ("OnClaim", 4), (None, 4)):
        order = an_order("o", 3).but({"spec": {"strategy": None, "refreshPolicy": policy}})
        harness = OrderHarness(order)
        harness.settle()
        harness.become("o-0", TicketPhase.CLAIMED)
        harness.settle()
        assert len(harness.made) == made


def condition(harness: OrderHarness, name: str) -> str:
    return next(each.status for each in harness.order.status.conditions if each.type == name)


@pytest.mark.parametrize("form", ["start and duration", "window"])
@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_after_its_only_window_an_order_with_a_fixed_start_makes_nothing(
    policy: str, form: str
) -> None:
    """A ticket made then would begin in the past, end at once, and be replaced without end."""
    times = {"startTime": "2026-01-05T01:00:00Z", "duration": "1h"}
    order = an_order("o", 2).but(
        {
            "spec": {
                "strategy": {"type": "OneTime", "refreshPolicy": policy},
                "template": {"spec": {"window": times} if form == "window" else times},
            }
        }
    )
    harness = OrderHarness(order)
    harness.settle()
    assert harness.requeue_at == harness.now.replace(hour=2, minute=0, second=0)
    harness.become("o-0", TicketPhase.CLAIMED)
    harness.settle()
    made = list(harness.made)
    harness.at("02:00")
    for name in harness.free:
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle()
    assert harness.made == made
    assert condition(harness, "Complete") == "False"
    harness.become("o-0", TicketPhase.RELEASED)
    harness.settle()
    assert harness.made == made
    assert condition(harness, "Complete") == "True"
    assert set(harness.tickets) == set(made)


def test_an_order_whose_time_is_over_says_that_nothing_was_made() -> None:
    times = {"startTime": "2026-01-04T01:00:00Z", "duration": "1h"}
    harness = OrderHarness(an_order("o", 2).but({"spec": {"template": {"spec": times}}}))
    harness.settle()
    assert harness.made == []
    stated = {each.type: (each.status, each.message) for each in harness.order.status.conditions}
    assert stated["Complete"] == (
        "True",
        "The time of the order was over before a ticket was created; no ticket will follow.",
    )
    assert stated["Ready"] == (
        "False",
        "The time of the order was over before a ticket was created.",
    )


@pytest.mark.parametrize(("policy", "made"), [("Never", 2), ("OnClaim", 2), ("Always", 4)])
def test_a_later_start_brings_new_tickets_only_with_always(policy: str, made: int) -> None:
    strategy = {"type": "OneTime", "refreshPolicy": policy}
    times = {"startTime": "2026-01-05T01:00:00Z", "duration": "1h"}
    harness = OrderHarness(
        an_order("o", 2).but({"spec": {"strategy": strategy, "template": {"spec": times}}})
    )
    harness.settle()
    harness.at("02:00")
    for name in harness.free:
        harness.become(name, TicketPhase.EXPIRED)
    harness.settle()
    harness.edit({"template": {"spec": {"startTime": "2026-01-05T03:00:00Z"}}})
    harness.settle()
    assert len(harness.made) == made


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_after_its_only_window_a_pool_with_a_fixed_start_is_not_refreshed(policy: str) -> None:
    strategy = {"type": "Recurring", "schedule": "30 * * * *", "refreshPolicy": policy}
    times = {"startTime": "2026-01-05T01:00:00Z", "duration": "1h"}
    harness = OrderHarness(
        an_order("o", 2).but({"spec": {"strategy": strategy, "template": {"spec": times}}})
    )
    harness.settle()
    harness.at("01:30")
    harness.settle()
    harness.at("02:00")
    for name in harness.free:
        harness.become(name, TicketPhase.EXPIRED)
    made = list(harness.made)
    harness.settle()
    assert condition(harness, "Complete") == "True"
    assert harness.requeue_at is None
    harness.at("02:30")
    harness.settle()
    assert harness.made == made
    assert harness.order.status.next_schedule_time is None
