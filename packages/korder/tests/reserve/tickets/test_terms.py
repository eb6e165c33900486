"""Terms of a ticket: when the next one begins, by the rule that its order wrote on it (rules 1, 5 and 7)."""

from datetime import UTC, datetime, timedelta

import pytest

from korder.api.reserve import LEAD_TIME_ANNOTATION, ORDERS, RENEWAL_ANNOTATION, Ticket, TicketPhase
from korder.reserve.tickets import deadlines
from korder.reserve.tickets.deadlines import RenewalRule, RenewalTrigger
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects import codec, instant
from kubeloop.objects.meta import JSON, owner_reference

MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)
OWNER = owner_reference(ORDERS, an_order("o").stored("order-uid").build())
HOURLY = "0 * * * *"


def at(text: str) -> datetime:
    hours, _, minutes = text.partition(":")
    return MIDNIGHT + timedelta(hours=int(hours), minutes=int(minutes))


def a_term(
    trigger: RenewalTrigger,
    *,
    length: str = "1h",
    schedule: str = HOURLY,
    zone: str = "UTC",
    lead: str = "",
    start: datetime = MIDNIGHT,
    phase: TicketPhase = TicketPhase.RESERVED,
    **status: JSON,
) -> Ticket:
    """A ticket of an order whose present term began at `start`."""
    rule = RenewalRule(trigger, "" if trigger is RenewalTrigger.EXPIRY else schedule, zone)
    notes: JSON = {
        RENEWAL_ANNOTATION: rule.render(),
        **({LEAD_TIME_ANNOTATION: lead} if lead else {}),
    }
    owners: JSON = [codec.plain(OWNER)]
    begun: JSON = {"phase": phase.value, "activationTime": instant.render(start), **status}
    return (
        a_ticket("t")
        .stored("u")
        .but(
            {
                "metadata": {"annotations": notes, "ownerReferences": owners},
                "spec": {"duration": length},
                "status": begun,
            }
        )
        .build()
    )


@pytest.mark.parametrize(
    ("trigger", "options", "now", "starts"),
    [
        pytest.param("Expiry", {}, "0:59", None, id="the term goes on"),
        pytest.param("Expiry", {}, "1:00", "1:00", id="the next term follows"),
        pytest.param("Expiry", {}, "3:30", "3:00", id="terms that were missed are skipped"),
        pytest.param("ExpiryAfterFiring", {}, "0:59", None, id="not before the end"),
        pytest.param("ExpiryAfterFiring", {}, "1:00", "1:00", id="it ends with a firing"),
        pytest.param("ExpiryAfterFiring", {"length": "90m"}, "1:15", None, id="fired, goes on"),
        pytest.param("ExpiryAfterFiring", {"length": "90m"}, "1:30", "1:00", id="from the firing"),
        pytest.param("ExpiryAfterFiring", {"length": "59m"}, "1:00", None, id="a gap"),
        pytest.param(
            "ExpiryAfterFiring", {"length": "55m", "lead": "5m"}, "0:55", "1:00", id="lead time"
        ),
        pytest.param(
            "ExpiryAfterFiring", {"length": "54m", "lead": "5m"}, "0:55", None, id="before it"
        ),
        pytest.param("ExpiryAfterFiring", {}, "5:20", "5:00", id="several missed"),
        pytest.param(
            "ExpiryAfterFiring", {"schedule": "0 0-3 * * *"}, "5:20", None, id="the last is over"
        ),
        pytest.param("Firing", {"length": "3h"}, "0:59", None, id="no firing yet"),
        pytest.param("Firing", {"length": "3h"}, "1:00", "1:00", id="each firing"),
        pytest.param("Firing", {"length": "3h", "lead": "10m"}, "0:50", "1:00", id="and its lead"),
        pytest.param("Firing", {"length": "3h"}, "2:59", "2:00", id="the last of them"),
    ],
)
def test_when_the_next_term_begins(
    trigger: str, options: dict[str, str], now: str, starts: str | None
) -> None:
    ticket = a_term(RenewalTrigger(trigger), **options)
    assert deadlines.next_start(ticket, at(now)) == (None if starts is None else at(starts))


@pytest.mark.parametrize(
    "phase",
    [TicketPhase.CLAIMING, TicketPhase.CLAIMED, TicketPhase.EXPIRED, TicketPhase.RELEASED],
)
def test_a_ticket_that_is_claimed_or_over_is_not_renewed(phase: TicketPhase) -> None:
    assert deadlines.next_start(a_term(RenewalTrigger.EXPIRY, phase=phase), at("2:00")) is None


def test_a_ticket_that_pods_share_in_part_is_renewed() -> None:
    """To its order it is claimed only while it is full."""
    share: JSON = {"namespace": "default", "name": "p", "uid": "u-p"}
    ticket = a_term(RenewalTrigger.EXPIRY, sharedBy=[share])
    assert deadlines.next_start(ticket, at("1:00")) == at("1:00")


def test_a_ticket_without_an_order_or_with_an_unreadable_rule_is_not_renewed() -> None:
    bare: JSON = {"metadata": {"annotations": {RENEWAL_ANNOTATION: '{"trigger":"Expiry"}'}}}
    begun: JSON = {"status": {"activationTime": instant.render(MIDNIGHT)}}
    assert deadlines.next_start(a_ticket("t").but(bare).but(begun).build(), at("30:00")) is None
    for schedule in ("", "no schedule"):
        ticket = a_term(RenewalTrigger.FIRING, schedule=schedule)
        assert deadlines.next_start(ticket, at("2:00")) is None
        assert deadlines.next_look(ticket, MIDNIGHT) is None


def test_a_clock_that_is_set_back_renews_nothing_twice() -> None:
    ticket = a_term(RenewalTrigger.FIRING, start=at("1:00"))
    for now in ("0:30", "0:59", "1:00", "1:59"):
        assert deadlines.next_start(ticket, at(now)) is None
    assert deadlines.next_start(ticket, at("2:00")) == at("2:00")


@pytest.mark.parametrize("trigger", [RenewalTrigger.FIRING, RenewalTrigger.EXPIRY_AFTER_FIRING])
@pytest.mark.parametrize(
    "night", [datetime(2026, 3, 28, 9, 0, tzinfo=UTC), datetime(2026, 10, 24, 9, 0, tzinfo=UTC)]
)
def test_a_daily_pool_of_25_hours_has_no_gap_where_clocks_change(
    trigger: RenewalTrigger, night: datetime
) -> None:
    """In the zone of the order a day has 23 or 25 hours then."""
    begins, ends = night, night + timedelta(days=4)
    now = begins
    while now < ends:
        ticket = a_term(
            trigger, length="25h", schedule="0 10 * * *", zone="Europe/Berlin", start=begins
        )
        start = deadlines.next_start(ticket, now)
        if start is not None:
            assert start <= now
            begins = start
        assert now < begins + timedelta(hours=25)
        now += timedelta(minutes=30)
    assert begins > night + timedelta(days=2)
