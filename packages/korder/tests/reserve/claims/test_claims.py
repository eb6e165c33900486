"""Claims on a whole cluster: pods that ask get the room that is held for them, and are told what they wait for."""

from datetime import timedelta

import pytest
from tests.reserve.claims.holds import asking, bound, claiming, forbid, hold, keep, phase
from tests.reserve.scene import Scene, scene

from korder.api.reserve import TICKETS, TicketPhase
from korder.reserve.claims import patches as claim_patches
from korder.reserve.orders.controller import Orders
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket, an_order
from kubeloop.client import rest_mapper
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager


async def test_a_pod_on_an_empty_node_gets_its_ticket_before_the_guardian_goes(
    clock: Clock,
) -> None:
    """S10, the fast path."""
    async with scene(clock, claiming) as cluster:
        await hold(cluster, "t")
        await cluster.put(asking("web"))
        ticket = await phase(cluster, "t", TicketPhase.CLAIMED)
        pod = await bound(cluster, "web")
        assert pod.spec.node_name == "node-1"
        assert ticket.status.claimed_by is not None
        assert ticket.status.claimed_by.uid == pod.metadata.uid
        assert pod.metadata.annotations["korder.dev/ticket-claimed"] == "t"
        assert pod.metadata.annotations["korder.dev/ticket-node"] == "node-1"
        await cluster.gone(PODS, "korder-guardian-t")


async def test_a_pod_of_a_ticket_of_another_group_gets_its_room_like_any_other(
    clock: Clock,
) -> None:
    """S11: a help desk may have tickets too, and make pods for them."""
    async with scene(clock, claiming, nodes=1) as cluster:
        await hold(cluster, "t", cpu="4")
        owner: JSON = {
            "apiVersion": "helpdesk.example.com/v1",
            "kind": "Ticket",
            "name": "case-7",
            "uid": "uid-of-case-7",
            "controller": True,
        }
        web = asking("web").requesting(cpu="4").but({"metadata": {"ownerReferences": [owner]}})
        began = clock.now()
        await cluster.put(web)
        await phase(cluster, "t", TicketPhase.CLAIMED)
        assert clock.now() - began < timedelta(seconds=5)


async def test_pods_on_a_full_node_get_their_tickets_in_one_batch(clock: Clock) -> None:
    """S11: four tickets fill the node, four pods take them, and nobody fails."""
    async with scene(clock, claiming, nodes=1) as cluster:
        for number in range(4):
            await hold(cluster, f"t{number}")
        for number in range(4):
            await cluster.put(asking(f"web{number}"))
        owners = set()
        for number in range(4):
            ticket = await phase(cluster, f"t{number}", TicketPhase.CLAIMED)
            assert ticket.status.claimed_by is not None
            owners.add(ticket.status.claimed_by.uid)
        pods = [await bound(cluster, f"web{number}") for number in range(4)]
        assert owners == {pod.metadata.uid for pod in pods}
        assert await cluster.guardians() == []


async def test_a_pod_that_requires_a_ticket_waits_with_words_until_there_is_one(
    clock: Clock,
) -> None:
    """A pod that requires a ticket waits with an explanation until there is one (S12 and rule 15)."""
    async with scene(clock, claiming) as cluster:
        await cluster.put(asking("web"))
        pod = await cluster.until(PODS, "web", lambda pod: claim_patches.stated(pod) is not None)
        stated = claim_patches.stated(pod)
        assert stated is not None
        assert stated.message == "There are no orders in namespace default."
        await hold(cluster, "t")
        await phase(cluster, "t", TicketPhase.CLAIMED)
        pod = await bound(cluster, "web")
        stated = claim_patches.stated(pod)
        assert stated is not None
        assert stated.status == "True"


async def test_a_pod_that_prefers_a_ticket_goes_without_at_once(clock: Clock) -> None:
    """A pod that prefers a ticket goes without at once (S13)."""
    async with scene(clock, claiming) as cluster:
        began = clock.now()
        await cluster.put(asking("web", {"korder.dev/order": "none"}))
        await bound(cluster, "web")
        assert clock.now() - began <= timedelta(seconds=1)
        assert await cluster.all(TICKETS) == []
        await cluster.pass_time(5)
        web = await cluster.client.get(PODS, Key("default", "web"))
        assert claim_patches.stated(web) is None


@pytest.mark.parametrize("crash", [False, True], ids=["at once", "after a crash"])
async def test_a_pod_that_was_reported_what_it_waits_for_is_reported_that_it_goes_without(
    clock: Clock, crash: bool
) -> None:
    """S13: nobody who runs says that it waits, whoever let it go."""
    async with scene(clock, claiming) as cluster:
        await cluster.put(asking("web", {"korder.dev/fallback-after": "20s"}))
        await cluster.pass_time(5)
        if crash:
            await cluster.end()
            await cluster.edit(PODS, "web", {"spec": {"schedulingGates": None}})
            await cluster.restart()
        await bound(cluster, "web")
        await cluster.pass_time(1)
        stated = claim_patches.stated(await cluster.client.get(PODS, Key("default", "web")))
        assert stated is not None
        assert (stated.status, stated.reason, stated.message) == (
            "False",
            "FellBack",
            "Scheduled without a ticket: There are no orders in namespace default.",
        )


async def test_a_pod_whose_change_is_refused_does_not_make_others_late(clock: Clock) -> None:
    """S12 and S13: the pause after failures grows to a minute, and what is due in between is done in time."""
    async with scene(clock, claiming, nodes=1) as cluster:
        await keep(cluster, "UPDATE", "kept")
        await cluster.pass_time(5)
        await cluster.put(asking("kept", {"korder.dev/order": "none"}))
        await cluster.pass_time(600)
        await cluster.put(asking("patient", {"korder.dev/fallback-after": "100s"}))
        await cluster.pass_time(98)
        patient = await cluster.get(PODS, "patient")
        assert patient is not None
        assert claim_patches.is_gated(patient)
        await cluster.pass_time(4)
        assert (await bound(cluster, "patient")).spec.node_name
        born = patient.metadata.creation_timestamp
        assert born is not None
        assert clock.now() - born < timedelta(seconds=104)
        kept = await cluster.get(PODS, "kept")
        assert kept is not None
        assert claim_patches.is_gated(kept)
        stated = claim_patches.stated(kept)
        assert stated is not None
        assert stated.reason == "UngateRefused"
        assert "stays as it is" in stated.message


async def let_change(cluster: Scene) -> None:
    """That policy ends."""
    found = (await rest_mapper.discover(cluster.client)).of(
        "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"
    )
    assert found is not None
    await cluster.client.delete(found.kind, Key("", "keep"))


async def test_a_pod_that_may_not_be_tied_to_its_node_is_reported_so_and_holds_nobody_up(
    clock: Clock,
) -> None:
    """S24: its ticket holds the room again, others on the node get theirs, and it is tried ever later."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await keep(cluster, "UPDATE", "kept")
        for name in ("a", "b"):
            requests: JSON = {"cpu": "2", "memory": "1Gi"}
            await cluster.put(a_ticket(name).but({"spec": {"resources": {"requests": requests}}}))
            await phase(cluster, name, TicketPhase.RESERVED)
        await cluster.pass_time(5)
        for name, ticket in (("kept", "a"), ("other", "b")):
            wanted = {"korder.dev/required": "true", "korder.dev/ticket-request": ticket}
            await cluster.put(asking(name, wanted).requesting(cpu="2"))
            await cluster.pass_time(0.5)
        began = clock.now()
        await bound(cluster, "other")
        assert clock.now() - began < timedelta(seconds=10)
        kept = await cluster.client.get(PODS, Key("default", "kept"))
        stated = claim_patches.stated(kept)
        assert stated is not None
        assert (stated.status, stated.reason) == ("False", "ChangeRefused")
        assert "stays as it is" in stated.message
        assert not kept.status.nominated_node_name
        await phase(cluster, "a", TicketPhase.RESERVED)
        await cluster.pass_time(600)
        events = [e for e in await cluster.all(EVENTS) if "stays as it is" in e.note]
        assert {event.regarding.name for event in events} >= {"a", "kept"}
        tries = [e.series.count if e.series else 1 for e in events if e.regarding.name == "kept"]
        assert 3 <= sum(tries) <= 8
        await let_change(cluster)
        await bound(cluster, "kept")
        await phase(cluster, "a", TicketPhase.CLAIMED)


PIN = "has(object.spec.affinity) && !has(oldObject.spec.affinity)"
"""What somebody else's policy looks for that lets no pod be tied to a node."""


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [
        pytest.param({"korder.dev/fallback-after": "30s"}, 30, id="when its time is over"),
        pytest.param({"korder.dev/order": "gold"}, 0, id="at once"),
    ],
)
async def test_a_pod_that_may_not_be_tied_and_only_prefers_a_ticket_goes_without(
    clock: Clock, wanted: dict[str, str], seconds: int
) -> None:
    """S13: however often its claims are refused; to be let go is less than to be tied, and may be allowed."""
    async with scene(clock, Orders, Tickets, claiming, nodes=1) as cluster:
        await forbid(cluster, "UPDATE", PIN)
        await cluster.put(an_order("gold"))
        await cluster.pass_time(5)
        await cluster.put(asking("web", wanted).requesting(cpu="100m"))
        web = await bound(cluster, "web")
        born = web.metadata.creation_timestamp
        assert born is not None
        late = clock.now() - born - timedelta(seconds=seconds)
        assert timedelta() <= late <= timedelta(seconds=2)
        assert "korder.dev/ticket-claimed" not in web.metadata.annotations
        (ticket,) = await cluster.all(TICKETS)
        await phase(cluster, ticket.metadata.name, TicketPhase.RESERVED)
        (event,) = [e for e in await cluster.all(EVENTS) if e.reason == "FellBack"]
        words = "Scheduled without a ticket: The pod cannot be tied to node node-1: "
        assert event.note.startswith(words)
        await cluster.pass_time(1)
        stated = claim_patches.stated(await cluster.client.get(PODS, Key("default", "web")))
        assert stated is not None
        assert stated.reason == "FellBack"
        assert stated.message.startswith(words)


async def test_a_pod_that_may_not_go_at_all_is_tried_ever_later(clock: Clock) -> None:
    """S13: its time is over, so it claims no more, and to let it go is tried as seldom as a claim would be."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await keep(cluster, "UPDATE", "kept")
        await cluster.put(a_ticket("t"))
        await phase(cluster, "t", TicketPhase.RESERVED)
        await cluster.put(
            asking("kept", {"korder.dev/fallback-after": "30s"}).requesting(cpu="100m")
        )
        await cluster.pass_time(600)
        events = [e for e in await cluster.all(EVENTS) if e.regarding.name == "kept"]
        tries = sum(e.series.count if e.series else 1 for e in events)
        assert 4 <= tries <= 9
        (claims,) = [e for e in await cluster.all(EVENTS) if e.reason == "Claiming"]
        assert (claims.series.count if claims.series else 1) <= 2
        await let_change(cluster)
        await bound(cluster, "kept")
        ticket = await phase(cluster, "t", TicketPhase.RESERVED)
        assert not ticket.status.claimed_pod
        await cluster.pass_time(1)
        stated = claim_patches.stated(await cluster.client.get(PODS, Key("default", "kept")))
        assert stated is not None
        assert stated.message == "Scheduled without a ticket: Its time to wait for one is over."


async def test_many_pods_that_may_not_go_are_each_tried_once(clock: Clock) -> None:
    """S13: forty refusals are forty, and not as many for each of the forty pods."""
    managers: list[Manager] = []
    async with scene(clock, claiming, managers.append, nodes=1) as cluster:
        await keep(cluster, "UPDATE")
        wanted = {"korder.dev/order": "none", "korder.dev/fallback-after": "10s"}
        for number in range(40):
            await cluster.client.create(PODS, asking(f"web{number}", wanted).json)
        await cluster.pass_time(15)
        stated = [claim_patches.stated(pod) for pod in await cluster.all(PODS)]
        assert [each.reason for each in stated if each is not None] == ["UngateRefused"] * 40
        lines = managers[0].metrics.render().decode().splitlines()
        patches = [line for line in lines if 'controller="claims"' in line and "patch" in line]
        (tries,) = [line for line in patches if 'outcome="Invalid"' in line and "_total" in line]
        assert float(tries.split()[-1]) == 40
