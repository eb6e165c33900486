"""Tickets whose guardian cannot be deleted at once: no pod claims them while others are free, and a pod that waits for one is told why."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.reserve.claims.holds import asking, bound, claiming, hold, phase
from tests.reserve.claims.markets import (
    NOW,
    Counted,
    asking as seeking_pod,
    chosen,
    market,
    reserved,
)
from tests.reserve.scene import Scene, scene

from korder.api.reserve import TICKETS, ClaimReason, Ticket, TicketPhase
from korder.reserve.claims import patches as claim_patches
from korder.reserve.handovers import handover_state
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.objects import codec
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import JSON, Key, owner_reference
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder, a_pod

FOREIGN: JSON = {"metadata": {"finalizers": ["example.com/slow"]}}
FREE: JSON = {"metadata": {"finalizers": None}}
WHY = "guardian korder-guardian-a has the finalizer example.com/slow"


def guardian_of(ticket: Ticket, name: str = "g") -> Builder[Pod]:
    owner = codec.plain(owner_reference(TICKETS, ticket))
    return a_pod(name).on("node-1").but({"metadata": {"ownerReferences": [owner]}})


TICKET = reserved("t").but({"status": {"guardianPod": "default/g"}}).build()
GUARDIAN = guardian_of(TICKET)


@pytest.mark.parametrize(
    ("guardians", "why"),
    [
        pytest.param([GUARDIAN], "", id="an ordinary one"),
        pytest.param(
            [GUARDIAN.but(FOREIGN)], "guardian g has the finalizer example.com/slow", id="finalizer"
        ),
        pytest.param([GUARDIAN.deleted_at(NOW)], "guardian g is being deleted", id="deleted"),
        pytest.param(
            [guardian_of(TICKET, "former").deleted_at(NOW), GUARDIAN],
            "",
            id="a former one of a shared ticket goes",
        ),
        pytest.param(
            [guardian_of(reserved("other").build()).but(FOREIGN)], "", id="of another ticket"
        ),
    ],
)
def test_a_ticket_is_blocked_by_its_own_guardian_alone(
    guardians: list[Builder[Pod]], why: str
) -> None:
    built = [each.build() for each in guardians]
    assert handover_state.why(TICKET, built) == why
    named = handover_state.among(built, {Key("default", "t"): TICKET}.get)
    assert named == ({"uid-t": why} if why else {})


def test_a_blocked_ticket_is_left_for_one_that_fits_worse() -> None:
    there = market([reserved("a"), reserved("b", cpu="3", memory="4Gi")], blocked={"uid-a": WHY})
    assert chosen([seeking_pod("web")], there) == {"web": "b"}
    assert chosen([seeking_pod("web", "b")], there) == {"web": "b"}


@pytest.mark.parametrize(
    ("wanted", "tickets", "said"),
    [
        pytest.param(
            "", [reserved("a")], f"ticket default/a cannot be handed over: {WHY}", id="any"
        ),
        pytest.param(
            "a", [reserved("a")], f"ticket default/a cannot be handed over: {WHY}", id="named"
        ),
        pytest.param(
            "",
            [reserved("a"), reserved("c", "closed")],
            f"ticket default/a cannot be handed over: {WHY}",
            id="others do not fit",
        ),
    ],
)
def test_a_pod_is_reported_what_keeps_the_only_ticket_that_fits(
    wanted: str, tickets: list[Builder[Ticket]], said: str
) -> None:
    there = market(tickets, blocked={"uid-a": WHY})
    assert chosen([seeking_pod("web", wanted)], there) == {"web": f"No ticket is free; {said}."}


def test_a_blocked_ticket_that_is_too_small_is_not_what_a_pod_waits_for() -> None:
    there = market([reserved("a")], blocked={"uid-a": WHY})
    said = chosen([seeking_pod("web", cpu="2")], there)
    assert said["web"].startswith("No ticket fits; nearest mismatch: needs cpu 2")


def test_ten_thousand_tickets_are_looked_at_once_with_and_without_a_blocked_one() -> None:
    looks = []
    free = market([reserved(f"t{n}") for n in range(10_000)])
    pods = [seeking_pod(f"web-{n}") for n in range(50)]
    for held_up in ({}, {"uid-t0": WHY}):
        stock = free.stock()
        shelves = [Counted(shelf) for shelf in stock.shelves]
        there = replace(free, at_hand=replace(stock, shelves=shelves), blocked=held_up)
        got = chosen(pods, there)
        assert len(set(got.values())) == 50
        assert ("t0" in got.values()) == (not held_up)
        looks.append(sum(shelf.looks for shelf in shelves))
    assert looks[0] == looks[1]


async def reserve(cluster: Scene, name: str) -> None:
    spec: JSON = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    await cluster.put(a_ticket(name).but({"spec": spec}))
    await phase(cluster, name, TicketPhase.RESERVED)


async def test_a_pod_gets_the_other_ticket_at_once_while_a_finalizer_keeps_a_guardian(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, "a")
        await reserve(cluster, "b")
        await cluster.edit(PODS, "korder-guardian-a", FOREIGN)
        await cluster.pass_time(1)
        began = clock.now()
        await cluster.put(asking("web"))
        await bound(cluster, "web")
        assert clock.now() - began < timedelta(seconds=5)
        assert (await phase(cluster, "b", TicketPhase.CLAIMED)).status.claimed_pod == "default/web"
        assert (await cluster.get(TICKETS, "a")).status.phase is TicketPhase.RESERVED


async def test_a_pod_is_reported_why_it_waits_and_served_when_the_finalizer_goes(
    clock: Clock,
) -> None:
    async with scene(clock, claiming, nodes=1) as cluster:
        await hold(cluster, "a")
        await cluster.edit(PODS, "korder-guardian-a", FOREIGN)
        await cluster.pass_time(1)
        await cluster.put(asking("web"))
        await cluster.until(PODS, "web", lambda pod: claim_patches.stated(pod) is not None)
        await cluster.pass_time(200)
        stated = claim_patches.stated(await cluster.get(PODS, "web"))
        assert stated is not None
        assert stated.reason == ClaimReason.NONE_FREE
        assert WHY in stated.message
        assert (await cluster.get(TICKETS, "a")).status.phase is TicketPhase.RESERVED
        began = clock.now()
        await cluster.edit(PODS, "korder-guardian-a", FREE)
        await bound(cluster, "web")
        assert clock.now() - began < timedelta(seconds=5)
