"""What a simulation tells of orders and tickets: which would wait, since when, and why."""

from tests.simulation.history import History, at

from korder.api.reserve import ORDERS, TICKETS
from korder.reserve.scenarios.report import REPORT
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import a_node, a_pod
from pocketkube.simulation.report.extension import Extension
from pocketkube.simulation.report.timeline import State, Timeline
from pocketkube.simulation.report.workload_rows import Name

FRIDAY = Name("Order", "default", "friday")
LATER = "2026-01-05T12:00:00Z"
NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu"


class Booked(History):
    """A history of orders and tickets."""

    extensions: tuple[Extension, ...] = (REPORT,)

    def order(self, **status: JSON) -> None:
        """An order that its controller has looked at."""
        seen: JSON = {"observedGeneration": 1, **status}
        self.put(an_order("friday", 2).stored("friday-uid").but({"status": seen}))

    def ticket(self, number: int, phase: str, **status: JSON) -> None:
        owner = an_order("friday").stored("friday-uid").build()
        built = a_ticket(f"friday-{number}").owned_by(ORDERS, owner)
        start = LATER if status.get("reason") == "Scheduled" else None
        stated: JSON = {"phase": phase, **status}
        self.put(built.but({"spec": {"startTime": start}, "status": stated}), by="korder")

    def waits(self, number: int) -> None:
        self.ticket(number, "Pending", reason="Unschedulable", message=f"{NO_ROOM}. And so on.")


def lines(stated: Timeline) -> list[str]:
    return [
        f"{(each.at - stated.start).total_seconds():g} {each.text}" for each in stated.happenings
    ]


def test_an_order_whose_tickets_are_all_held_keeps_its_promise() -> None:
    history = Booked(FRIDAY)
    history.order()
    history.waits(0)
    history.waits(1)
    history.after(4).ticket(0, "Reserved")
    history.ticket(1, "Reserved")
    stated = history.stated()
    (friday,) = stated.workloads
    assert (friday.kind, friday.wanted, friday.running) == ("Order", 2, 2)
    assert lines(stated) == ["0 2 tickets wanted, all held after 4s"]
    assert stated.promises[0].text == "has all 2 tickets held"
    assert stated.kept


def test_an_order_that_does_not_fit_says_since_when_and_why() -> None:
    history = Booked(FRIDAY)
    history.order()
    history.ticket(0, "Reserved")
    history.after(60).waits(1)
    stated = history.stated()
    assert not stated.kept
    assert stated.promises[0].text == f"wants 2, has 1 since 00:01:00: 1 waits: {NO_ROOM}"
    assert stated.workloads[0].state is State.SHORT


def test_a_ticket_that_ends_without_ever_holding_room_breaks_the_promise() -> None:
    history = Booked(FRIDAY)
    history.order()
    history.ticket(0, "Reserved")
    history.waits(1)
    history.after(600).ticket(1, "Expired")
    history.ticket(0, "Expired")
    history.after(1).ticket(1, "Expired", message="nobody came")
    stated = history.stated()
    assert stated.promises[0].text == f"had a ticket that never held anything: {NO_ROOM}"
    assert lines(stated)[1:] == [f"0 1 of 2 tickets missing for 10m: {NO_ROOM}"]
    assert stated.happenings[1].bad
    assert stated.workloads[0].state is State.IDLE


def test_a_ticket_whose_time_has_not_come_is_not_missed() -> None:
    history = Booked(FRIDAY)
    history.order()
    history.ticket(0, "Pending", reason="Scheduled", message="starts at noon")
    assert history.stated().kept
    assert history.stated().workloads[0].state is State.IDLE


def test_a_ticket_that_was_used_ends_well() -> None:
    history = Booked(FRIDAY)
    history.order()
    for phase in ("Reserved", "Claiming", "Claimed", "Released"):
        history.after(5).ticket(0, phase)
    history.after(5).drop(str(TICKETS), "friday-0")
    stated = history.stated()
    assert stated.kept
    assert stated.promises[0].text == "wants no tickets"


def test_a_lost_guardian_opens_a_gap_in_its_order() -> None:
    history = Booked(FRIDAY)
    history.order()
    history.ticket(0, "Reserved")
    history.after(100).waits(0)
    history.after(50).ticket(0, "Reserved")
    stated = history.stated()
    assert lines(stated)[1:] == [f"100 1 of 1 tickets missing for 50s: {NO_ROOM}"]
    waited = stated.workloads[0].longest_wait
    assert waited is not None
    assert (waited.since, waited.seconds) == (at(100), 50.0)


def test_an_order_that_a_quota_cuts_short_says_which_and_by_how_much() -> None:
    history = Booked(FRIDAY)
    history.order()
    history.ticket(0, "Reserved")
    stated = "quota team: tickets used 1 of 1, requested 1"
    short: JSON = {
        "type": "Ready",
        "status": "False",
        "reason": "QuotaExceeded",
        "message": stated,
    }
    booked: JSON = [{"size": 2, "members": "0-1"}]
    history.after(60).order(pools=booked, madeIndex=1, conditions=[short])
    assert not history.stated().kept
    assert history.stated().promises[0].text == f"wants 2, has 1 since 00:01:00: {stated}"
    history.after(60).order(pools=booked, madeIndex=2)
    history.ticket(1, "Reserved")
    assert history.stated().kept


def test_a_paused_order_promises_nothing_and_a_failed_one_says_why() -> None:
    history = Booked(FRIDAY)
    history.put(an_order("friday").stored("friday-uid").but({"spec": {"paused": True}}))
    assert history.stated().promises[0].text == "is not meant to run"
    failure: JSON = {"type": "Failure", "status": "True", "message": "the schedule is wrong"}
    history.order(conditions=[failure])
    assert history.stated().promises[0].text == "failed: the schedule is wrong"


def test_a_ticket_made_by_hand_is_reported_by_its_own_name() -> None:
    history = Booked(Name("Ticket", "default", "mine"))
    history.put(a_ticket("mine").but({"status": {"phase": "Pending", "message": NO_ROOM}}))
    assert history.stated().promises[0].text.endswith(f"1 waits: {NO_ROOM}")
    history.put(a_ticket("mine").but({"status": {"phase": "Reserved"}}))
    assert history.stated().promises[0].text == "is held"
    history.after(1).drop(str(TICKETS), "mine")
    assert history.stated().workloads[0].deleted_at == at(1)


def test_a_ticket_made_by_hand_for_a_later_day_promises_nothing_yet() -> None:
    history = Booked(Name("Ticket", "default", "mine"))
    waits: JSON = {"phase": "Pending", "reason": "Scheduled"}
    history.put(a_ticket("mine").but({"spec": {"startTime": LATER}, "status": waits}))
    assert history.stated().promises[0].text == "wants no tickets"
    assert history.stated().kept


def test_guardians_take_room_and_are_not_reported() -> None:
    history = Booked()
    history.put(a_node("node-1"))
    guardian = a_pod("guardian").requesting(cpu="1").on("node-1")
    history.put(guardian.owned_by(TICKETS, a_ticket("t").stored("t-uid").build()))
    history.after(1800).drop("pods", "guardian")
    stated = history.stated()
    assert stated.workloads == ()
    cpu = next(each for each in stated.use.series if each.resource == "cpu")
    assert (max(cpu.peak), cpu.requested[0], cpu.requested[-1]) == (1, 1, 0)


def test_a_pod_that_waits_for_a_ticket_says_so() -> None:
    history = Booked(Name("Pod", "default", "web"))
    bound: JSON = {
        "type": "korder.dev/TicketBound",
        "status": "False",
        "message": "There is no order default/o.",
    }
    history.put(a_pod("web").but({"status": {"phase": "Pending", "conditions": [bound]}}))
    assert history.stated().promises[0].text.endswith("1 waits: There is no order default/o")
