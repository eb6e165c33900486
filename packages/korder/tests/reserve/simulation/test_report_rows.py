"""What a chronicle tells of orders: a ticket that is yet to come is missing, from the order's first instant on."""

from pathlib import Path
import runpy

import pytest

from korder.reserve.scenarios.report import REPORT
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects import instant
from kubeloop.objects.meta import JSON
from pocketkube.simulation.report import page
from pocketkube.simulation.report.timeline import State, Timeline
from pocketkube.simulation.report.workload_rows import Name

_FILE = Path(__file__).parents[4] / "pocketkube/tests/simulation/history.py"
_HISTORY = runpy.run_path(str(_FILE))
BaseHistory, NO_ROOM, at, a_report = (
    _HISTORY[name] for name in ("History", "NO_ROOM", "at", "a_report")
)

BATCH = Name("Order", "default", "batch")
SETTLED: dict[str, JSON] = {"type": "Progressing", "status": "False", "reason": "Settled"}
WORKING: dict[str, JSON] = {"type": "Progressing", "status": "True", "reason": "Working"}
CLOSED: dict[str, JSON] = {"type": "Ready", "status": "True", "reason": "BetweenWindows"}
EMPTY: dict[str, JSON] = {
    "type": "Ready",
    "status": "False",
    "reason": "GapBetweenTickets",
    "message": "No ticket until 03:00.",
}
POOL: dict[str, JSON] = {"strategy": {"type": "Recurring", "schedule": "0 */3 * * *"}}


class History(BaseHistory):  # type: ignore[misc, valid-type]
    """A history of the order `batch`."""

    extensions = (REPORT,)

    def __init__(self, seconds: float = 3600) -> None:
        super().__init__(BATCH, seconds=seconds)

    def order(self, replicas: int, generation: int = 1, **spec: JSON) -> None:
        """Somebody writes the order, and nobody has acted on it."""
        self.order_is({}, replicas, generation, **spec)

    def order_is(
        self, status: dict[str, JSON], replicas: int, generation: int = 1, **spec: JSON
    ) -> None:
        changed: dict[str, JSON] = {
            "metadata": {"generation": generation},
            "spec": spec,
            "status": status,
        }
        self.put(an_order("batch", replicas).but(changed))

    def books_tickets(self, members: str, made: int, replicas: int = 3) -> None:
        """The order has acted: its pool has these members, and so many numbers are made."""
        pool: JSON = {"members": members, "size": replicas}
        self.order_is(_status(madeIndex=made, nextIndex=3, pools=[pool]), replicas)

    def ticket(self, name: str, phase: str = "", why: str = "", start: str = "") -> None:
        owner = an_order("batch").stored(f"{an_order('batch').kind}/default/batch").build()
        built = a_ticket(name).owned_by(an_order("batch").kind, owner)
        status: dict[str, JSON] = {"phase": phase, "reason": why, "message": why} if phase else {}
        spec: dict[str, JSON] = {"startTime": start} if start else {}
        self.put(built.but({"spec": spec, "status": status}), by="korder")

    def texts(self) -> list[str]:
        stated: Timeline = self.stated()
        return [each.text for each in stated.happenings]


def _status(**more: JSON) -> dict[str, JSON]:
    return {"observedGeneration": 1, "issuedReplicas": 3, "conditions": [SETTLED], **more}


def test_one_ticket_of_three_is_not_all_while_the_others_are_being_made() -> None:
    history = History()
    history.order(3)
    history.books_tickets("0-2", made=0)
    history.ticket("batch-1")
    history.after(1).ticket("batch-1", "Reserved")
    stated = history.stated()
    assert stated.workloads[0].complete_at is None
    assert stated.promises[0].text == "wants 3, has 1 since 00:00:00"


def test_an_order_is_complete_when_its_last_ticket_is_held() -> None:
    history = History()
    history.order(3)
    history.books_tickets("0-2", made=0)
    for number in range(3):
        history.ticket(f"batch-{number}")
    for number in range(3):
        history.after(1).ticket(f"batch-{number}", "Reserved")
    history.books_tickets("0-2", made=3)
    assert history.stated().workloads[0].complete_at == at(3)
    assert history.texts() == ["3 tickets wanted, all held after 3s"]


def test_a_ticket_that_ends_is_not_taken_for_one_that_is_yet_to_be_made() -> None:
    history = History()
    history.books_tickets("0-2", made=0)
    for number in range(3):
        history.ticket(f"batch-{number}", "Reserved")
    history.after(60).ticket("batch-1", "Expired")
    assert history.stated().promises[0].text == "has all 2 tickets held"


def test_an_order_on_which_nobody_acts_misses_what_its_spec_wants() -> None:
    history = History()
    history.order(3)
    assert history.stated().promises[0].text == "wants 3, has 0 since 00:00:00"


def test_an_order_that_is_made_again_counts_anew() -> None:
    history = History()
    history.books_tickets("0-2", made=0)
    history.ticket("batch-0", "Reserved")
    history.drop("orders.core.korder.dev", "batch")
    history.drop("tickets.core.korder.dev", "batch-0", by="korder")
    history.after(60).order(3)
    assert history.stated().promises[0].text == "wants 3, has 0 since 00:01:00"


def test_an_order_that_is_scaled_wants_the_rest_at_once() -> None:
    history = History()
    history.books_tickets("0-2", made=3)
    for number in range(3):
        history.ticket(f"batch-{number}", "Reserved")
    pool: JSON = {"members": "0-2", "size": 3}
    made = _status(madeIndex=3, nextIndex=3, pools=[pool])
    history.after(60).order_is(made, replicas=5, generation=2)
    stated = history.stated()
    assert stated.promises[0].text == "wants 5, has 3 since 00:01:00"
    assert history.texts()[-1] == "2 of 5 still missing at the end"


def test_tickets_whose_time_has_not_come_are_not_wanted_and_then_all_at_once() -> None:
    history = History()
    start = instant.render(at(600))
    history.order(2)
    history.books_tickets("0-1", made=0, replicas=2)
    for number in (0, 1):
        history.ticket(f"batch-{number}", start=start)
    history.after(1).ticket("batch-0", "Pending", "Scheduled", start)
    history.ticket("batch-1", "Pending", "Scheduled", start)
    history.after(600).ticket("batch-0", "Reserved", start=start)
    history.after(2).ticket("batch-1", "Reserved", start=start)
    (batch,) = history.stated().workloads
    assert (batch.started_at, batch.complete_at) == (at(601), at(603))
    assert batch.spans[0].state is State.IDLE
    assert history.texts() == ["2 tickets wanted, all held after 2s"]


@pytest.mark.parametrize(
    ("replicas", "status", "spec", "text"),
    [
        pytest.param(0, {}, {}, "wants no tickets", id="scaled to nothing"),
        pytest.param(3, {}, {"paused": True}, "is not meant to run", id="paused"),
        pytest.param(
            3,
            _status(madeIndex=0, nextIndex=0, conditions=[CLOSED]),
            {"strategy": {"type": "Scheduled", "schedule": "0 8 * * *"}},
            "wants no tickets",
            id="between windows",
        ),
        pytest.param(
            3,
            {},
            {"strategy": {"type": "Scheduled", "schedule": "0 8 * * *"}},
            "wants no tickets",
            id="before its first window",
        ),
    ],
)
def test_an_order_that_wants_nothing_now_is_kept_and_nothing_is_reported(
    replicas: int, status: dict[str, JSON], spec: dict[str, JSON], text: str
) -> None:
    history = History()
    history.order_is(status, replicas, **spec)
    stated = history.stated()
    assert (stated.promises[0].kept, stated.promises[0].text) == (True, text)
    assert stated.workloads[0].complete_at is None
    assert history.texts() == []


def test_an_order_for_every_node_wants_a_ticket_on_each() -> None:
    history = History()
    made = _status(desiredReplicas=2, issuedReplicas=0, conditions=[WORKING])
    history.order_is(made, replicas=1, daemonSet=True)
    history.ticket("batch-node-1", "Reserved")
    history.after(1).ticket("batch-node-2", "Reserved")
    assert history.stated().workloads[0].complete_at == at(1)
    assert history.texts() == ["2 tickets wanted, all held after 1s"]


def test_tickets_that_wait_for_room_are_counted_apart_from_pods() -> None:
    history = History(seconds=300)
    history.books_tickets("0-2", made=3)
    history.ticket("batch-0", "Reserved")
    history.ticket("batch-1", "Pending", NO_ROOM)
    history.ticket("batch-2", "Pending", NO_ROOM)
    history.after(100).ticket("batch-1", "Reserved")
    history.after(100).drop("tickets.core.korder.dev", "batch-2", by="korder")
    use = history.stated().use
    assert [use.waiting_tickets[second] for second in (0, 50, 150, 250)] == [2, 2, 1, 0]
    assert set(use.waiting) == {0}


def a_pool_of_two() -> History:
    """A pool whose tickets are held for half an hour after each firing."""
    history = History(seconds=14_400)
    history.order_is(_status(), replicas=2, **POOL)
    for number in (0, 1):
        history.ticket(f"batch-{number}", "Reserved")
    return history


def test_a_pool_whose_tickets_have_expired_misses_them_until_the_next_firing() -> None:
    history = a_pool_of_two()
    history.after(1800).ticket("batch-0", "Expired")
    history.ticket("batch-1", "Expired")
    history.order_is(_status(conditions=[EMPTY]), replicas=2, **POOL)
    history.after(60).drop("tickets.core.korder.dev", "batch-0", by="korder")
    history.after(8940).order_is(_status(), replicas=2, **POOL)
    history.ticket("batch-2", "Reserved")
    history.ticket("batch-3", "Reserved")
    stated = history.stated()
    assert history.texts()[-1] == "2 of 2 tickets missing for 150m: No ticket until 03:00"
    assert [each.bad for each in stated.happenings] == [False, True]
    assert [each.state for each in stated.workloads[0].spans] == [
        State.RUNNING,
        State.WAITING,
        State.RUNNING,
    ]
    assert (stated.promises[0].kept, stated.promises[0].text) == (
        False,
        "had 2 of 2 tickets missing for 150m since 00:30:00: No ticket until 03:00",
    )


def test_a_pool_that_is_empty_at_the_end_wants_its_tickets() -> None:
    history = a_pool_of_two()
    history.after(1800).ticket("batch-0", "Expired")
    history.ticket("batch-1", "Expired")
    stated = history.stated()
    assert (stated.promises[0].kept, stated.promises[0].text) == (
        False,
        "wants 2, has 0 since 00:30:00",
    )
    assert (stated.workloads[0].wanted, stated.workloads[0].state) == (2, State.WAITING)


@pytest.mark.parametrize("phase", ["Released", "Reserved"])
def test_a_pool_whose_tickets_were_used_or_renewed_misses_nothing(phase: str) -> None:
    history = a_pool_of_two()
    history.after(1800).ticket("batch-0", phase)
    history.ticket("batch-1", phase)
    assert history.stated().promises[0].kept


def test_a_pool_that_is_paused_scaled_down_or_replaced_in_seconds_misses_nothing() -> None:
    paused = a_pool_of_two()
    paused.order_is(_status(), replicas=2, generation=2, paused=True, **POOL)
    smaller = a_pool_of_two()
    smaller.order_is(_status(), replicas=1, **POOL)
    quick = a_pool_of_two()
    for history in (paused, smaller, quick):
        history.after(1800).ticket("batch-0", "Expired")
    quick.after(2).ticket("batch-2", "Reserved")
    for history in (paused, smaller, quick):
        assert history.stated().promises[0].kept


def test_an_order_that_is_no_pool_misses_no_ticket_that_has_expired() -> None:
    history = History()
    history.books_tickets("0-2", made=0)
    for number in range(3):
        history.ticket(f"batch-{number}", "Reserved")
    history.after(60).ticket("batch-1", "Expired")
    assert history.stated().promises[0].kept


def test_tickets_that_wait_are_shown_beside_the_pods_that_do() -> None:
    history = History()
    history.node("node-1")
    history.put(a_ticket("one").but({"status": {"phase": "Pending", "message": NO_ROOM}}))
    shown = page.render(a_report(history.stated()))
    assert 'aria-label="waiting tickets: 1 at most"' in shown
    assert '<th scope="col">Waiting tickets</th>' in shown
