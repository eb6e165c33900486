"""Tickets in a small cluster: reserved when a guardian is bound, expired on time, removed when their time is over (S1-S3)."""

from datetime import datetime, timedelta

import pytest
from tests.reserve.scene import Scene, scene
from tests.reserve.tickets.ticket_helpers import EXPIRED, RESERVED, Counted, a_sized_ticket, stated

from korder.api.reserve import (
    GUARDIAN_LABEL,
    LEAD_TIME_ANNOTATION,
    ROLE_LABEL,
    SCHEDULED_TIME_ANNOTATION,
    STANDING_ANNOTATION,
    TICKET_FINALIZER,
    TICKETS,
    Reason,
    Ticket,
    TicketPhase,
)
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.objects import instant
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder

SECOND = timedelta(seconds=1)


async def status_of(cluster: Scene, name: str) -> tuple[TicketPhase | None, str]:
    ticket = await cluster.get(TICKETS, name)
    assert ticket is not None
    return ticket.status.phase, ticket.status.reason


async def test_tickets_are_reserved_only_when_their_guardians_are_bound_s1(clock: Clock) -> None:
    async with scene(clock, Tickets, nodes=1) as cluster:
        names = ("a", "b", "c")
        await cluster.put(*(a_sized_ticket(name, cpu="1500m") for name in names))
        await cluster.pass_time(3)
        found = {ticket.metadata.name: ticket for ticket in await cluster.all(TICKETS)}
        (left,) = [name for name in names if found[name].status.phase is not TicketPhase.RESERVED]
        assert found[left].status.phase is TicketPhase.PENDING
        assert found[left].status.reason == Reason.UNSCHEDULABLE
        assert "Insufficient cpu" in found[left].status.message
        assert found[left].status.expiration_time is None
        assert [c.status for c in found[left].status.conditions] == ["False", "False"]

        cluster.add_node("late")
        ticket = await cluster.until(TICKETS, left, RESERVED)
        assert ticket.status.node_name == "late"
        assert [c.status for c in ticket.status.conditions] == ["True", "True"]
        for label in (f"{ROLE_LABEL}=guardian", f"{GUARDIAN_LABEL}=true"):
            pods = await cluster.all(PODS, labels=label)
            assert {f"default/{pod.metadata.name}": pod.spec.node_name for pod in pods} == {
                t.status.guardian_pod: t.status.node_name for t in await cluster.all(TICKETS)
            }
        assert await stated(cluster, left) == ["Created", "Unschedulable", "Reserved"]


async def test_a_guardian_that_waits_for_capacity_is_visible_to_autoscalers(clock: Clock) -> None:
    """They count pods that are Pending, have no gate, and that the scheduler has called Unschedulable."""
    async with scene(clock, Tickets, nodes=1) as cluster:
        await cluster.put(a_sized_ticket("a", cpu="3"), a_sized_ticket("b", cpu="3"))
        await cluster.pass_time(60)
        (waiting,) = [pod for pod in await cluster.guardians() if not pod.spec.node_name]
        assert waiting.status.phase == "Pending"
        assert waiting.spec.scheduling_gates == ()
        assert not waiting.status.nominated_node_name
        (scheduled,) = [c for c in waiting.status.conditions if c.type == "PodScheduled"]
        assert (scheduled.status, scheduled.reason) == ("False", "Unschedulable")
        cluster.add_node("scaled-up")
        names = [ticket.metadata.name for ticket in await cluster.all(TICKETS)]
        for name in names:
            await cluster.until(TICKETS, name, RESERVED)


def ending(name: str, policy: str, ttl: int) -> Builder[Ticket]:
    lifecycle: JSON = {"cleanupPolicy": policy, "ttlSecondsAfterFinished": ttl}
    made = a_ticket(name, duration="10s").but({"spec": {"lifecycle": lifecycle}})
    return made.but({"metadata": {"finalizers": [TICKET_FINALIZER]}})


async def test_unclaimed_tickets_expire_on_time_and_go_also_over_restarts_s2(clock: Clock) -> None:
    async with scene(clock, Tickets) as cluster:
        await cluster.put(
            ending("soon", "Delete", 0), ending("later", "Delete", 5), ending("kept", "Retain", 0)
        )
        ends: list[datetime] = []
        for name in ("soon", "later", "kept"):
            held = await cluster.until(TICKETS, name, RESERVED)
            assert held.status.activation_time is not None
            ends.append(held.status.activation_time + timedelta(seconds=10))
            assert held.status.expiration_time == ends[-1]
        await cluster.pass_time(4)
        await cluster.restart()
        await cluster.pass_time((min(ends) - clock.now()).total_seconds() - 0.1)
        assert len(await cluster.guardians()) == 3
        await cluster.gone(TICKETS, "soon")
        assert clock.now() <= max(ends) + SECOND
        await cluster.pass_time((max(ends) + SECOND - clock.now()).total_seconds())
        assert await cluster.guardians() == []
        ended = await cluster.until(TICKETS, "later", EXPIRED)
        assert await status_of(cluster, "kept") == (TicketPhase.EXPIRED, Reason.EXPIRED)
        await cluster.restart()
        await cluster.gone(TICKETS, "later")
        assert ended.status.finished_time is not None
        assert timedelta() <= clock.now() - ended.status.finished_time - 5 * SECOND <= SECOND
        await cluster.pass_time(60)
        assert await status_of(cluster, "kept") == (TicketPhase.EXPIRED, Reason.EXPIRED)
        assert await stated(cluster, "later") == ["Created", "Reserved", "Expired", "Deleted"]


async def test_becoming_reserved_costs_one_guardian_and_one_status(clock: Clock) -> None:
    counted = Counted()
    async with scene(clock, counted) as cluster:
        made = a_ticket("t").but({"metadata": {"finalizers": [TICKET_FINALIZER]}})
        await cluster.put(made)
        await cluster.until(TICKETS, "t", RESERVED)
        await cluster.pass_time(30)
        assert counted.writes() == {"create pods": 1, "patch tickets.core.korder.dev": 1}


def starting(name: str, at: datetime) -> Builder[Ticket]:
    """A ticket that begins at an instant, in the way its name says."""
    text = instant.render(at)
    if name == "window":
        window: JSON = {"startTime": text, "duration": "30s"}
        return a_ticket(name).but({"spec": {"duration": None, "window": window}})
    plain = a_ticket(name, "30s").but({"spec": {"startTime": text}})
    return plain.annotated({LEAD_TIME_ANNOTATION: "3s"}) if name == "ahead" else plain


async def test_a_hold_begins_at_its_start_and_lasts_from_there_s3(clock: Clock) -> None:
    """Rule 1: the clock of such tickets starts at their start."""
    names = ("start", "window", "ahead")
    async with scene(clock, Tickets) as cluster:
        start = clock.now().replace(microsecond=0) + timedelta(seconds=10)
        await cluster.put(*(starting(name, start) for name in names))

        async def at(seconds: float) -> None:
            due = start + timedelta(seconds=seconds)
            await cluster.pass_time((due - clock.now()).total_seconds())

        await at(-3.1)
        assert await cluster.guardians() == []
        for name in names:
            assert await status_of(cluster, name) == (TicketPhase.PENDING, Reason.SCHEDULED)
        await at(-2.5)
        (early,) = await cluster.guardians()
        assert early.metadata.name == "korder-guardian-ahead"
        assert early.spec.node_name
        await at(-0.1)
        assert len(await cluster.guardians()) == 1
        assert await status_of(cluster, "ahead") == (TicketPhase.PENDING, Reason.SCHEDULED)
        await at(1)
        for name in names:
            ticket = await cluster.until(TICKETS, name, RESERVED)
            assert ticket.status.activation_time == start
            assert ticket.status.expiration_time == start + timedelta(seconds=30)
        assert clock.now() <= start + SECOND
        await at(31)
        for name in names:
            assert await status_of(cluster, name) == (TicketPhase.EXPIRED, Reason.EXPIRED)


async def test_a_ticket_of_a_pool_that_stands_is_held_at_once_and_its_clock_starts_at_the_firing(
    clock: Clock,
) -> None:
    """Rule 1: its order makes it by the lead time before; until then others of the pool go that could be claimed."""
    async with scene(clock, Tickets) as cluster:
        firing = clock.now().replace(microsecond=0) + timedelta(seconds=10)
        notes = {SCHEDULED_TIME_ANNOTATION: instant.render(firing)}
        await cluster.put(a_ticket("t", "30s").annotated(notes))
        ticket = await cluster.until(TICKETS, "t", RESERVED)
        assert clock.now() < firing
        assert ticket.status.activation_time == firing
        assert ticket.status.expiration_time == firing + timedelta(seconds=30)
        await cluster.pass_time((firing - clock.now()).total_seconds() + 29)
        assert await status_of(cluster, "t") == (TicketPhase.RESERVED, Reason.HELD)
        await cluster.pass_time(2)
        assert await status_of(cluster, "t") == (TicketPhase.EXPIRED, Reason.EXPIRED)


async def test_an_edit_moves_the_end_and_a_standing_ticket_is_renewed_in_place(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets) as cluster:
        standing = a_ticket("standing", "20s").annotated({STANDING_ANNOTATION: "true"})
        await cluster.put(standing, a_ticket("longer", "20s"), a_ticket("shorter"))
        await cluster.put(a_ticket("put-off"))
        began: dict[str, datetime] = {}
        for name in ("standing", "longer", "shorter", "put-off"):
            held = await cluster.until(TICKETS, name, RESERVED)
            assert held.status.activation_time is not None
            began[name] = held.status.activation_time
        guardians = {pod.metadata.uid for pod in await cluster.guardians()}

        await cluster.edit(TICKETS, "longer", {"spec": {"duration": "40s"}})
        await cluster.edit(TICKETS, "shorter", {"spec": {"duration": "20s"}})
        later = instant.render(clock.now() + timedelta(hours=1))
        await cluster.edit(TICKETS, "put-off", {"spec": {"startTime": later}})
        await cluster.pass_time(22)
        assert await status_of(cluster, "put-off") == (TicketPhase.PENDING, Reason.SCHEDULED)
        assert await status_of(cluster, "shorter") == (TicketPhase.EXPIRED, Reason.EXPIRED)
        longer = await cluster.until(TICKETS, "longer", RESERVED)
        assert longer.status.expiration_time == began["longer"] + timedelta(seconds=40)
        assert longer.status.observed_generation == longer.metadata.generation == 2
        renewed = await cluster.until(TICKETS, "standing", RESERVED)
        assert renewed.status.expiration_time == began["standing"] + timedelta(seconds=40)
        await cluster.edit(TICKETS, "longer", {"spec": {"duration": "1s"}})
        await cluster.pass_time(20)
        assert await status_of(cluster, "longer") == (TicketPhase.EXPIRED, Reason.EXPIRED)
        renewed = await cluster.until(TICKETS, "standing", RESERVED)
        assert renewed.status.expiration_time == began["standing"] + timedelta(seconds=60)
        (left,) = await cluster.guardians()
        assert left.metadata.uid in guardians
        assert "Renewed" in await stated(cluster, "standing")
        assert "Rescheduled" in await stated(cluster, "longer")


@pytest.mark.parametrize("cut", ["-", "."])
async def test_what_happens_to_a_ticket_with_a_long_name_is_reported_s39(
    clock: Clock, cut: str
) -> None:
    """The name of an Event is the beginning of the ticket's and must be legal wherever that is cut."""
    async with scene(clock, Tickets, nodes=1) as cluster:
        name = cut.join(("t" * 62, "t" * 62, "t" * 62, "t" * 10, "t" * 20))
        await cluster.put(a_ticket(name))
        await cluster.until(TICKETS, name, RESERVED)
        assert await stated(cluster, name) == ["Created", "Reserved"]
