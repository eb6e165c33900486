"""What becomes of a ticket when its pods end: released, returned, or lost; shared by several; deleted (S16, S18, rules 2, 3, 10, 11, 13)."""

from datetime import timedelta
from functools import partial
from typing import cast

from tests.reserve.scene import Scene, scene
from tests.reserve.tickets.ticket_helpers import (
    CLAIMED,
    RELEASED,
    RESERVED,
    a_pod_on,
    a_sized_ticket,
    begin_claim,
    claim,
    stated,
    write_status,
)

from korder.api.reserve import GUARDIAN_LABEL, TICKETS, Reason, Ticket, TicketPhase
from korder.reserve.tickets import guardian
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.objects import core
from kubeloop.objects.core import LEASES, NAMESPACES, PODS, Pod
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder

promising = partial(Tickets, options=guardian.Options(nominate=True))
SLOW: JSON = {"metadata": {"finalizers": ["example.com/slow"]}}


async def end(cluster: Scene, pod: Pod, phase: str) -> None:
    body: JSON = {"status": {"phase": phase}}
    key = Key("default", pod.metadata.name)
    await cluster.client.patch(PODS, key, body, subresource="status")


def returning(built: Builder[Ticket]) -> Builder[Ticket]:
    return built.but({"spec": {"afterUse": "Reserve"}})


def is_promised_room(pod: Pod) -> bool:
    return pod.status.nominated_node_name == "node-1"


async def test_a_ticket_is_released_when_its_pod_has_ended_s16(clock: Clock) -> None:
    async with scene(clock, Tickets) as cluster:
        names = ("deleted", "failed", "succeeded", "vanished")
        await cluster.put(*map(a_sized_ticket, names))
        users = {name: await claim(cluster, name) for name in names}
        claimed = await cluster.until(TICKETS, "failed", CLAIMED)
        await cluster.pass_time(1)
        claimed = await cluster.until(TICKETS, "failed", CLAIMED)
        assert claimed.status.utilization_rate == "100%"
        assert await cluster.guardians() == []
        await cluster.delete(PODS, users["deleted"].metadata.name)
        await end(cluster, users["failed"], "Failed")
        await end(cluster, users["succeeded"], "Succeeded")
        await cluster.end()
        await cluster.delete(PODS, users["vanished"].metadata.name)
        await cluster.gone(PODS, users["vanished"].metadata.name)
        await cluster.restart()
        for name in names:
            ended = await cluster.until(TICKETS, name, RELEASED)
            assert ended.status.finished_time is not None
            assert ended.status.claimed_by is not None
            assert "Released" in await stated(cluster, name)


async def test_a_pod_of_the_same_name_is_not_the_one_that_claimed_s16(clock: Clock) -> None:
    async with scene(clock, Tickets) as cluster:
        await cluster.put(a_sized_ticket("t"))
        user = await claim(cluster, "t")
        await cluster.end()
        await cluster.delete(PODS, user.metadata.name)
        await cluster.gone(PODS, user.metadata.name)
        await cluster.put(a_pod_on(user.spec.node_name, user.metadata.name))
        await cluster.restart()
        await cluster.until(TICKETS, "t", RELEASED)


async def test_a_claimed_ticket_outlives_its_duration_and_then_is_released_rule_3(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets) as cluster:
        await cluster.put(
            a_sized_ticket("consume", duration="5s"), returning(a_sized_ticket("t", duration="5s"))
        )
        users = [await claim(cluster, name) for name in ("consume", "t")]
        await cluster.pass_time(20)
        for name, user in zip(("consume", "t"), users, strict=True):
            ticket = await cluster.get(TICKETS, name)
            assert ticket is not None
            assert ticket.status.phase is TicketPhase.CLAIMED
            await cluster.delete(PODS, user.metadata.name)
        for name in ("consume", "t"):
            await cluster.until(TICKETS, name, RELEASED)
        await cluster.pass_time(2)
        assert await cluster.guardians() == []


async def test_a_ticket_takes_its_room_back_although_others_wait_for_it_rule_10(
    clock: Clock,
) -> None:
    """S16 with afterUse Reserve: the returning guardian waits nominated and gets the room that a crowd wants."""
    async with scene(clock, promising, nodes=1) as cluster:
        await cluster.put(returning(a_sized_ticket("t", cpu="4")))
        held = await cluster.until(TICKETS, "t", RESERVED)
        user = await claim(cluster, "t", a_pod_on("node-1", "user", cpu="4"))
        await cluster.put(*(a_pod_on("node-1", f"rival-{n}", cpu="2") for n in range(4)))
        await cluster.pass_time(2)
        await cluster.delete(PODS, "user")
        back = await cluster.until(TICKETS, "t", RESERVED)
        assert back.status.node_name == user.spec.node_name
        assert back.status.expiration_time == held.status.expiration_time
        assert back.status.claimed_by is None
        assert "Returning" in await stated(cluster, "t")
        rivals = [await cluster.get(PODS, f"rival-{n}") for n in range(4)]
        assert [rival.spec.node_name for rival in rivals if rival is not None] == [""] * 4


async def test_a_pod_that_takes_long_to_go_does_not_cost_its_ticket_the_room_rule_10(
    clock: Clock,
) -> None:
    """The returning guardian is then older than a scheduler may be silent; it counts from where its gate falls."""
    async with scene(clock, Tickets) as cluster:
        await cluster.put(returning(a_sized_ticket("t")))
        held = await cluster.until(TICKETS, "t", RESERVED)
        user = await claim(cluster, "t", a_pod_on(held.status.node_name, "user").but(SLOW))
        await cluster.delete(PODS, "user")
        await cluster.pass_time(300)
        await cluster.edit(PODS, "user", {"metadata": {"finalizers": None}})
        back = await cluster.until(TICKETS, "t", RESERVED)
        assert back.status.node_name == user.spec.node_name
        assert "Lost" not in await stated(cluster, "t")


async def test_a_promise_of_room_ends_with_the_time_of_its_ticket_rule_3(clock: Clock) -> None:
    """However long its pod takes to go: the ticket will be released, and nobody is to be kept off the node for it."""
    async with scene(clock, promising, nodes=1) as cluster:
        await cluster.put(returning(a_sized_ticket("t", duration="60s")))
        await claim(cluster, "t", a_pod_on("node-1", "user").but(SLOW))
        await cluster.delete(PODS, "user")
        await cluster.until(PODS, "korder-guardian-t", is_promised_room)
        await cluster.put(a_pod_on("node-1", "large", cpu="3"))
        await cluster.pass_time(30)
        large = await cluster.get(PODS, "large")
        assert large is not None
        assert not large.spec.node_name
        ticket = await cluster.until(TICKETS, "t", CLAIMED)
        await cluster.until(PODS, "large", lambda pod: bool(pod.spec.node_name))
        assert ticket.status.expiration_time is not None
        assert clock.now() - ticket.status.expiration_time <= timedelta(seconds=2)
        assert await cluster.guardians() == []
        await cluster.edit(PODS, "user", {"metadata": {"finalizers": None}})
        await cluster.until(TICKETS, "t", RELEASED)


async def test_room_that_somebody_took_is_lost_and_held_elsewhere_rule_10(clock: Clock) -> None:
    async with scene(clock, promising, nodes=1) as cluster:
        await cluster.put(returning(a_sized_ticket("t", cpu="4")))
        user = await claim(cluster, "t", a_pod_on("node-1", "user", cpu="4"))
        await cluster.end()
        await end(cluster, user, "Succeeded")
        await cluster.put(a_pod_on("node-1", "thief", cpu="1"))
        await cluster.until(PODS, "thief", lambda pod: bool(pod.spec.node_name))
        await cluster.restart()
        lost = await cluster.until(TICKETS, "t", lambda t: t.status.reason == Reason.LOST)
        assert lost.status.phase is TicketPhase.PENDING
        cluster.add_node("node-2")
        back = await cluster.until(TICKETS, "t", RESERVED)
        assert back.status.node_name == "node-2"
        assert len(await cluster.guardians()) == 1


async def test_two_pods_that_leave_one_full_node_both_leave_their_room_to_their_tickets(
    clock: Clock,
) -> None:
    """Rule 10: whichever goes first, what the other's guardian is promised does not keep the first one out."""
    async with scene(clock, promising, nodes=1) as cluster:
        for name in ("a", "b"):
            await cluster.put(returning(a_sized_ticket(name, cpu="2")))
            await claim(cluster, name, a_pod_on("node-1", f"user-{name}", cpu="2").but(SLOW))
        cluster.add_node("node-2")
        for name in ("a", "b"):
            await cluster.delete(PODS, f"user-{name}")
            await cluster.until(PODS, f"korder-guardian-{name}", is_promised_room)
        for name in ("b", "a"):
            await cluster.edit(PODS, f"user-{name}", {"metadata": {"finalizers": None}})
            back = await cluster.until(TICKETS, name, RESERVED)
            assert back.status.node_name == "node-1"
            assert "Lost" not in await stated(cluster, name)


async def test_a_pod_that_ends_leaves_its_room_to_its_ticket_while_another_one_leaves(
    clock: Clock,
) -> None:
    """Rule 10: also the guardian of a pod that ended by itself, which waits behind no gate."""
    async with scene(clock, promising, nodes=1) as cluster:
        users = {}
        for name in ("a", "b"):
            await cluster.put(returning(a_sized_ticket(name, cpu="2")))
            pod = a_pod_on("node-1", f"user-{name}", cpu="2").but(SLOW)
            users[name] = await claim(cluster, name, pod)
        cluster.add_node("node-2")
        await cluster.delete(PODS, "user-a")
        await cluster.until(PODS, "korder-guardian-a", is_promised_room)
        await end(cluster, users["b"], "Succeeded")
        back = await cluster.until(TICKETS, "b", RESERVED)
        assert back.status.node_name == "node-1"
        assert "Lost" not in await stated(cluster, "b")
        await cluster.until(PODS, "korder-guardian-a", is_promised_room)


async def test_a_new_scheduler_is_reported_which_room_a_ticket_takes_back_rule_10(
    clock: Clock,
) -> None:
    """K8: it learns of the nomination of a gated pod only when that pod changes."""
    async with scene(clock, promising, nodes=1) as cluster:
        await cluster.put(returning(a_sized_ticket("t")))
        await claim(cluster, "t", a_pod_on("node-1", "user").but(SLOW))
        await cluster.delete(PODS, "user")
        await cluster.until(PODS, "korder-guardian-t", is_promised_room)
        lease: JSON = {"name": "kube-scheduler", "namespace": "kube-system"}
        first: JSON = {"metadata": lease, "spec": {"holderIdentity": "first"}}
        await cluster.client.create(LEASES, first)
        for name in ("first", "second"):
            spec: JSON = {"holderIdentity": name}
            await cluster.edit(LEASES, "kube-scheduler", {"spec": spec}, "kube-system")
            guardian = await cluster.until(PODS, "korder-guardian-t", partial(has_told, name))
            assert is_promised_room(guardian)
        await cluster.edit(PODS, "user", {"metadata": {"finalizers": None}})
        back = await cluster.until(TICKETS, "t", RESERVED)
        assert back.status.node_name == "node-1"


def has_told(scheduler: str, guardian: Pod) -> bool:
    stated = core.reported(guardian.status.conditions, "korder.dev/RoomPromised")
    words = f"Room on node node-1 is kept for this guardian. Scheduler {scheduler} knows."
    return stated is not None and stated.message == words


async def share(cluster: Scene, name: str, pod: str, cpu: str) -> Pod:
    """Gives a pod its part of a reusable ticket as a hand-over does, with the smaller guardian in the place of the larger."""
    ticket = await cluster.until(TICKETS, name, RESERVED)
    node = ticket.status.node_name
    await begin_claim(cluster, name)
    for held in await cluster.guardians():
        await cluster.delete(PODS, held.metadata.name)
        await cluster.gone(PODS, held.metadata.name)
    await cluster.put(a_pod_on(node, pod, cpu))
    found = await cluster.until(PODS, pod, lambda each: bool(each.spec.node_name))
    part: JSON = {
        "namespace": "default",
        "name": pod,
        "uid": found.metadata.uid,
        "requests": {"cpu": cpu},
    }
    before = [
        {"namespace": s.namespace, "name": s.name, "uid": s.uid, "requests": dict(s.requests)}
        for s in ticket.status.shared_by
    ]
    shares = cast("JSON", [*before, part])
    await write_status(cluster, name, {"phase": "Pending", "sharedBy": shares, "guardianPod": None})
    return found


async def held_cpu(cluster: Scene) -> list[str]:
    return [str(guardian.holds(pod)["cpu"]) for pod in await cluster.guardians()]


async def test_pods_share_a_reusable_ticket_and_the_rest_stays_held_s18(clock: Clock) -> None:
    """Rule 11, as far as it is the ticket's: what is left has a guardian, and a share that ends goes back."""
    async with scene(clock, promising, nodes=1) as cluster:
        await cluster.put(a_sized_ticket("t", cpu="4").but({"spec": {"allocateOnce": False}}))
        first = await share(cluster, "t", "first", "1")
        ticket = await cluster.until(TICKETS, "t", RESERVED)
        assert ticket.status.utilization_rate == "25%"
        assert await held_cpu(cluster) == ["3"]
        second = await share(cluster, "t", "second", "3")
        full = await cluster.until(TICKETS, "t", CLAIMED)
        assert full.status.utilization_rate == "100%"
        assert await cluster.guardians() == []
        await cluster.put(*(a_pod_on("node-1", f"rival-{n}", cpu="1") for n in range(3)))
        await cluster.delete(PODS, first.metadata.name)
        again = await cluster.until(TICKETS, "t", RESERVED)
        assert [share.name for share in again.status.shared_by] == ["second"]
        assert await held_cpu(cluster) == ["1"]
        await end(cluster, second, "Succeeded")
        whole = await cluster.until(TICKETS, "t", lambda t: RESERVED(t) and not t.status.shared_by)
        assert whole.status.utilization_rate == "0%"
        await cluster.pass_time(2)
        assert await held_cpu(cluster) == ["4"]


async def test_a_share_comes_back_while_another_pod_takes_long_to_go_rule_10(clock: Clock) -> None:
    """The slow one costs neither its own ticket the room that is free, nor other tickets theirs."""
    async with scene(clock, promising, nodes=1) as cluster:
        await cluster.put(a_sized_ticket("t", cpu="2").but({"spec": {"allocateOnce": False}}))
        for name in ("quick", "slow"):
            await share(cluster, "t", name, "1")
            await cluster.edit(PODS, name, {"metadata": {"finalizers": ["example.com/slow"]}})
        await cluster.until(TICKETS, "t", CLAIMED)
        await cluster.put(returning(a_sized_ticket("other", cpu="2")))
        await claim(cluster, "other", a_pod_on("node-1", "user", cpu="2").but(SLOW))
        await cluster.put(a_pod_on("node-1", "rival", cpu="2"))
        await cluster.delete(PODS, "quick")
        await cluster.until(PODS, "korder-guardian-t", is_promised_room)
        await cluster.delete(PODS, "slow")
        await cluster.edit(PODS, "quick", {"metadata": {"finalizers": None}})
        half = await cluster.until(TICKETS, "t", RESERVED)
        assert [share.name for share in half.status.shared_by] == ["slow"]
        await cluster.delete(PODS, "user")
        await cluster.until(PODS, "korder-guardian-other", is_promised_room)
        await cluster.edit(PODS, "user", {"metadata": {"finalizers": None}})
        back = await cluster.until(TICKETS, "other", RESERVED)
        assert back.status.node_name == "node-1"
        assert "Lost" not in await stated(cluster, "other")
        await cluster.edit(PODS, "slow", {"metadata": {"finalizers": None}})
        await cluster.until(TICKETS, "t", lambda t: RESERVED(t) and not t.status.shared_by)
        rival = await cluster.get(PODS, "rival")
        assert rival is not None
        assert not rival.spec.node_name


async def test_a_shared_ticket_that_expires_lets_its_pods_stay_rule_3(clock: Clock) -> None:
    async with scene(clock, promising, nodes=1) as cluster:
        built = a_sized_ticket("t", cpu="2", duration="10s")
        await cluster.put(built.but({"spec": {"allocateOnce": False}}))
        pod = await share(cluster, "t", "user", "1")
        await cluster.until(TICKETS, "t", RESERVED)
        await cluster.pass_time(12)
        ticket = await cluster.until(TICKETS, "t", CLAIMED)
        assert len(ticket.status.shared_by) == 1
        assert await cluster.guardians() == []
        await cluster.delete(PODS, pod.metadata.name)
        await cluster.until(TICKETS, "t", RELEASED)


async def test_a_shared_ticket_whose_time_is_over_still_says_how_much_of_it_is_used(
    clock: Clock,
) -> None:
    async with scene(clock, promising, nodes=1) as cluster:
        built = a_sized_ticket("t", cpu="2", duration="10s")
        await cluster.put(built.but({"spec": {"allocateOnce": False}}))
        first = await share(cluster, "t", "first", "1")
        await share(cluster, "t", "second", "1")
        await cluster.pass_time(12)
        ticket = await cluster.until(TICKETS, "t", CLAIMED)
        assert ticket.status.utilization_rate == "100%"
        await cluster.edit(TICKETS, "t", {"spec": {"duration": "11s"}})
        await cluster.delete(PODS, first.metadata.name)
        await cluster.pass_time(2)
        ticket = await cluster.until(TICKETS, "t", CLAIMED)
        assert ticket.status.utilization_rate == "50%"
        assert ticket.status.observed_generation == ticket.metadata.generation


async def test_a_deleted_ticket_takes_its_guardian_along_but_not_its_pod(clock: Clock) -> None:
    async with scene(clock, Tickets) as cluster:
        await cluster.put(a_ticket("held"), a_sized_ticket("used"), a_ticket("claiming"))
        await claim(cluster, "used")
        for name in ("held", "claiming"):
            await cluster.until(TICKETS, name, RESERVED)
        await begin_claim(cluster, "claiming")
        for name in ("held", "used", "claiming"):
            await cluster.delete(TICKETS, name)
        for name in ("held", "used"):
            await cluster.gone(TICKETS, name)
        pods = {pod.metadata.name for pod in await cluster.all(PODS, "default")}
        assert pods == {"user-of-used", "korder-guardian-claiming"}
        assert (await stated(cluster, "held"))[-1] == "Deleted"

        # Rule 2: what is being handed over waits for the end of that, and is then judged.
        waiting = await cluster.get(TICKETS, "claiming")
        assert waiting is not None
        await write_status(cluster, "claiming", {"phase": "Reserved"})
        await cluster.gone(TICKETS, "claiming")
        assert await cluster.guardians() == []


async def test_expiry_waits_for_a_hand_over_rule_2(clock: Clock) -> None:
    async with scene(clock, Tickets) as cluster:
        await cluster.put(a_ticket("t", "5s"))
        await cluster.until(TICKETS, "t", RESERVED)
        await begin_claim(cluster, "t")
        await cluster.pass_time(10)
        ticket = await cluster.get(TICKETS, "t")
        assert ticket is not None
        assert ticket.status.phase is TicketPhase.CLAIMING
        assert len(await cluster.guardians()) == 1
        await write_status(cluster, "t", {"phase": "Pending"})
        ended = await cluster.until(TICKETS, "t", lambda t: t.status.finished_time is not None)
        assert ended.status.phase is TicketPhase.EXPIRED


async def test_a_namespace_that_ends_takes_its_tickets_along_rule_13(clock: Clock) -> None:
    async with scene(clock, Tickets) as cluster:
        await cluster.client.create(NAMESPACES, {"metadata": {"name": "team"}})
        await cluster.put(a_ticket("a").in_namespace("team"), a_ticket("b").in_namespace("team"))
        for name in ("a", "b"):
            await cluster.until(TICKETS, name, RESERVED, "team")
        await cluster.client.patch(
            TICKETS, Key("team", "b"), {"status": {"phase": "Claiming"}}, subresource="status"
        )
        began = clock.now()
        await cluster.delete(NAMESPACES, "team")
        await cluster.gone(NAMESPACES, "team")
        assert clock.now() - began <= timedelta(seconds=60)
        assert await cluster.all(PODS, labels=f"{GUARDIAN_LABEL}=true") == []
