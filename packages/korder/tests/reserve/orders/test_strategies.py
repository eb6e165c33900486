"""Table 1.8 as a whole (S27): what brings a new ticket, and when."""

import pytest
from tests.reserve.orders.desk import Desk

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
    "claim": lambda desk, name: desk.become(name, TicketPhase.CLAIMED),
    "expiry": lambda desk, name: desk.become(name, TicketPhase.EXPIRED),
    "loss": lambda desk, name: desk.delete(name),
}


def a_desk(kind: str, policy: str, replicas: int = 3) -> Desk:
    strategy = {"type": kind, "refreshPolicy": policy}
    if kind != "OneTime":
        strategy["schedule"] = NIGHTLY if kind == "Recurring" else WINDOW
    duration = "12h" if kind == "Scheduled" else "48h"
    order = an_order("o", replicas).but(
        {"spec": {"strategy": strategy, "template": {"spec": {"duration": duration}}}}
    )
    desk = Desk(order)
    desk.settle()
    return desk


@pytest.mark.parametrize("gone", [False, True], ids=["seen", "gone before anybody looks"])
@pytest.mark.parametrize("end", ["claim", "expiry", "loss"])
@pytest.mark.parametrize(("kind", "policy"), TABLE)
def test_table_of_strategies(kind: str, policy: str, end: str, *, gone: bool) -> None:
    """S27, rule 5: also of a ticket that has no time to live after its end."""
    desk = a_desk(kind, policy)
    first = desk.free
    assert len(first) == 3
    ENDS[end](desk, first[1])
    if gone and end != "loss":
        desk.delete(first[1])
    desk.settle()
    when = TABLE[kind, policy][end]
    assert len(desk.free) == (3 if when == AT_ONCE else 2)
    if kind != "Recurring":
        return
    desk.at("02:00")
    desk.settle()
    assert len(desk.free) == (2 if when == NEVER else 3)
    assert set(desk.free) & set(first) == {first[0], first[2]}


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
@pytest.mark.parametrize("kind", ["OneTime", "Recurring"])
def test_an_end_counts_once_however_often_one_looks(kind: str, policy: str) -> None:
    desk = a_desk(kind, policy)
    for _ in range(3):
        desk.become(desk.free[0], TicketPhase.CLAIMED)
        for _ in range(3):
            desk.settle()
    refilled = policy != "Never" and kind == "OneTime"
    assert len(desk.free) == (3 if refilled else 0)
    assert len(desk.made) == (6 if refilled else 3)


@pytest.mark.parametrize(("policy", "left"), [("Never", 3), ("OnClaim", 3), ("Always", 0)], ids=str)
def test_the_next_firing_retires_what_is_left_of_a_window_only_with_always(
    policy: str, left: int
) -> None:
    strategy = {"type": "Scheduled", "refreshPolicy": policy, "schedule": "0 * * * *"}
    template = {"spec": {"duration": "90m"}}
    desk = Desk(an_order("o", 3).but({"spec": {"strategy": strategy, "template": template}}))
    desk.settle()
    first = desk.free
    desk.at("01:00")
    desk.settle()
    assert len([name for name in first if name in desk.free]) == left
    assert len([name for name in desk.free if name not in first]) == 3


def test_a_claim_is_replaced_only_until_its_window_closes() -> None:
    """S27: Scheduled with OnClaim."""
    desk = a_desk("Scheduled", "OnClaim")
    desk.become(desk.free[0], TicketPhase.CLAIMED)
    desk.at("12:00")
    for name in desk.free:
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle()
    assert desk.free == []
    assert len(desk.made) == 3


@pytest.mark.parametrize("policy", ["Never", "OnClaim"])
def test_an_order_is_complete_when_all_tickets_have_ended_and_none_can_come(policy: str) -> None:
    desk = a_desk("OneTime", policy)
    for name in desk.free:
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle()
    conditions = {each.type: each.status.value for each in desk.order.status.conditions}
    assert conditions == {
        "Ready": "True",
        "Progressing": "False",
        "Failure": "False",
        "Complete": "True",
    }
    ready = next(each for each in desk.order.status.conditions if each.type == "Ready")
    assert (ready.reason, ready.message) == ("Complete", "All tickets have ended.")


def test_a_ticket_that_comes_back_after_use_undoes_its_claim() -> None:
    """With afterUse Reserve the pool is as large as before, whatever the policy."""
    for policy in ("Never", "OnClaim", "Always"):
        for kind in ("OneTime", "Recurring"):
            desk = a_desk(kind, policy)
            name = desk.free[0]
            desk.become(name, TicketPhase.CLAIMED)
            desk.settle()
            desk.become(name, TicketPhase.RESERVED)
            desk.settle()
            assert len(desk.free) == 3, (kind, policy)
            desk.at("02:00")
            desk.settle()
            assert len(desk.free) == 3, (kind, policy)


def test_claiming_is_neither_claimed_nor_free() -> None:
    """Rule 2: a hand-over that fails has cost nothing."""
    desk = a_desk("OneTime", "OnClaim")
    desk.become("o-1", TicketPhase.CLAIMING)
    desk.settle()
    assert len(desk.made) == 3
    desk.become("o-1", TicketPhase.PENDING)
    desk.settle()
    assert len(desk.made) == 3
    assert len(desk.free) == 3


def test_an_order_without_a_strategy_is_one_time_with_its_refresh_policy() -> None:
    """The form of the original's last state."""
    for policy, made in (("Never", 3), ("OnClaim", 4), (None, 4)):
        order = an_order("o", 3).but({"spec": {"strategy": None, "refreshPolicy": policy}})
        desk = Desk(order)
        desk.settle()
        desk.become("o-0", TicketPhase.CLAIMED)
        desk.settle()
        assert len(desk.made) == made


def condition(desk: Desk, name: str) -> str:
    return next(each.status for each in desk.order.status.conditions if each.type == name)


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
    desk = Desk(order)
    desk.settle()
    assert desk.requeue_at == desk.now.replace(hour=2, minute=0, second=0)
    desk.become("o-0", TicketPhase.CLAIMED)
    desk.settle()
    made = list(desk.made)
    desk.at("02:00")
    for name in desk.free:
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle()
    assert desk.made == made
    assert condition(desk, "Complete") == "False"
    desk.become("o-0", TicketPhase.RELEASED)
    desk.settle()
    assert desk.made == made
    assert condition(desk, "Complete") == "True"
    assert set(desk.tickets) == set(made)


def test_an_order_whose_time_is_over_says_that_nothing_was_made() -> None:
    times = {"startTime": "2026-01-04T01:00:00Z", "duration": "1h"}
    desk = Desk(an_order("o", 2).but({"spec": {"template": {"spec": times}}}))
    desk.settle()
    assert desk.made == []
    stated = {each.type: (each.status, each.message) for each in desk.order.status.conditions}
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
    desk = Desk(an_order("o", 2).but({"spec": {"strategy": strategy, "template": {"spec": times}}}))
    desk.settle()
    desk.at("02:00")
    for name in desk.free:
        desk.become(name, TicketPhase.EXPIRED)
    desk.settle()
    desk.edit({"template": {"spec": {"startTime": "2026-01-05T03:00:00Z"}}})
    desk.settle()
    assert len(desk.made) == made


@pytest.mark.parametrize("policy", ["Never", "OnClaim", "Always"])
def test_after_its_only_window_a_pool_with_a_fixed_start_is_not_refreshed(policy: str) -> None:
    strategy = {"type": "Recurring", "schedule": "30 * * * *", "refreshPolicy": policy}
    times = {"startTime": "2026-01-05T01:00:00Z", "duration": "1h"}
    desk = Desk(an_order("o", 2).but({"spec": {"strategy": strategy, "template": {"spec": times}}}))
    desk.settle()
    desk.at("01:30")
    desk.settle()
    desk.at("02:00")
    for name in desk.free:
        desk.become(name, TicketPhase.EXPIRED)
    made = list(desk.made)
    desk.settle()
    assert condition(desk, "Complete") == "True"
    assert desk.requeue_at is None
    desk.at("02:30")
    desk.settle()
    assert desk.made == made
    assert desk.order.status.next_schedule_time is None
