"""Room that stays with its tickets although others wait for it, whatever becomes of the claims and of their neighbours."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.reserve.claims.holds import a_priority, asking, bound, claiming, hold, phase
from tests.reserve.claims.test_return import with_finalizer
from tests.reserve.scene import Part, Scene, scene

from korder.api.reserve import HANDOVER_TAINT, TICKETS, TicketPhase
from korder.reserve.claims import patches as claim_patches
from korder.reserve.handovers.controller import SCHEDULER_LEASE
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.client import rest_mapper
from kubeloop.objects.core import LEASES, NODES, PODS, Pod
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder, a_pod
from pocketkube.nodes.machines import Manners

NODE = "node-1"
NO_CPU: JSON = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available: 1 Insufficient cpu.",
}


async def reserve(cluster: Scene, name: str, cpu: str, **spec: JSON) -> None:
    wanted: JSON = {"resources": {"requests": {"cpu": cpu}}, **spec}
    await cluster.put(a_ticket(name).but({"spec": wanted}))
    await phase(cluster, name, TicketPhase.RESERVED)


def claim(name: str, ticket: str, cpu: str, **spec: JSON) -> Builder[Pod]:
    wanted = {"korder.dev/ticket-request": ticket, "korder.dev/required": "true"}
    return asking(name, wanted).requesting(cpu=cpu).but({"spec": spec})


async def compete(cluster: Scene, *cpus: str) -> None:
    """Pods of high priority that wait for room."""
    await a_priority(cluster, "high", 2_000_000)
    for n, cpu in enumerate(cpus):
        rival = a_pod(f"rival-{n}").requesting(cpu=cpu)
        await cluster.put(rival.but({"spec": {"priorityClassName": "high"}}))
        await cluster.until(PODS, f"rival-{n}", lambda pod: bool(pod.status.conditions))


async def winners(cluster: Scene) -> list[str]:
    pods = await cluster.all(PODS)
    return [
        pod.metadata.name
        for pod in pods
        if pod.metadata.name.startswith("rival") and pod.spec.node_name
    ]


async def tokens(cluster: Scene) -> list[str]:
    node = await cluster.get(NODES, NODE)
    taints = node.spec.taints if node is not None else ()
    return [taint.value for taint in taints if taint.key == HANDOVER_TAINT]


async def say(cluster: Scene, pod: str, condition: JSON) -> None:
    """What the scheduler of a pod says about it."""
    change: JSON = {"status": {"conditions": [condition]}}
    key = Key("default", pod)
    await cluster.client.patch(PODS, key, change, PatchType.STRATEGIC, subresource="status")


@asynccontextmanager
async def wanted(clock: Clock, *parts: Part) -> AsyncIterator[Scene]:
    """A ticket that has a whole node, and rivals of all sizes that wait for it."""
    async with scene(clock, Tickets, *parts, nodes=1) as cluster:
        await reserve(cluster, "t", "4")
        await compete(cluster, "1", "2", "4")
        yield cluster


@pytest.mark.parametrize("scheduler", ["default-scheduler", "unknown"])
@pytest.mark.parametrize("after", [0.0, 0.05, 0.3, 0.6, 1.0, 1.5, 2.0, 2.3, 2.6, 3.5])
async def test_no_room_is_lost_when_a_claimant_is_deleted_at_any_step(
    clock: Clock, after: float, scheduler: str
) -> None:
    """S24, with others that wait for the room: it belongs to the ticket until a pod has been bound to it."""
    async with wanted(clock, claiming) as cluster:
        cluster.machines.slow(NODE, Manners(stop=2))
        await cluster.put(claim("web", "t", "4", schedulerName=scheduler))
        await cluster.pass_time(after)
        web = await cluster.get(PODS, "web")
        if web is not None and web.spec.node_name:
            return
        await cluster.client.delete(PODS, Key("default", "web"), grace_seconds=0)
        await phase(cluster, "t", TicketPhase.RESERVED)
        await cluster.pass_time(5)
        assert not await winners(cluster)
        assert not await tokens(cluster)


@pytest.mark.parametrize("priority", [0, 2_000_000])
async def test_a_claim_that_nobody_binds_gives_its_room_back_to_its_ticket(
    clock: Clock, priority: int
) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, "t", "4")
        await a_priority(cluster, "some", priority)
        rival = a_pod("rival").requesting(cpu="1").but({"spec": {"priorityClassName": "some"}})
        await cluster.put(rival)
        await cluster.put(claim("web", "t", "4", schedulerName="unknown"))
        web = await cluster.until(PODS, "web", lambda pod: claim_patches.stated(pod) is not None)
        stated = claim_patches.stated(web)
        assert stated is not None
        assert stated.message.endswith(
            "Delete the pod and create it again: ticket default/t takes its room back."
        )
        await phase(cluster, "t", TicketPhase.RESERVED)
        assert not await winners(cluster)


async def test_a_pod_whose_place_was_taken_late_still_gets_the_room_of_its_guardian(
    clock: Clock,
) -> None:
    """It was let go beside its guardian, and its scheduler came to it seconds later."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, "t", "2")
        thief = a_pod("thief").requesting(cpu="2").gated_by("later")
        await cluster.put(thief)
        await cluster.put(claim("web", "t", "2", schedulerName="late"))
        await cluster.until(PODS, "web", lambda pod: not claim_patches.is_gated(pod))
        await cluster.pass_time(6)
        await cluster.edit(PODS, "thief", {"spec": {"schedulingGates": None}})
        await bound(cluster, "thief")
        await say(cluster, "web", NO_CPU)
        await cluster.gone(PODS, "korder-guardian-t")
        await cluster.pass_time(3)
        web = await cluster.get(PODS, "web")
        assert web is not None
        target: JSON = {"metadata": {"uid": web.metadata.uid}, "target": {"name": NODE}}
        await cluster.client.post(PODS, Key("default", "web"), "binding", target)
        await phase(cluster, "t", TicketPhase.CLAIMED)
        await cluster.pass_time(1)
        assert not await tokens(cluster)


async def test_a_guardian_that_cannot_go_neither_taints_its_node_nor_keeps_its_ticket_claimed(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, "t", "2")
        thief = a_pod("thief").requesting(cpu="2").gated_by("later")
        await cluster.put(thief)
        await cluster.put(claim("web", "t", "2", schedulerName="late"))
        await cluster.until(PODS, "web", lambda pod: not claim_patches.is_gated(pod))
        held: JSON = {"metadata": {"finalizers": ["example.com/slow"]}}
        await cluster.edit(PODS, "korder-guardian-t", held)
        await cluster.edit(PODS, "thief", {"spec": {"schedulingGates": None}})
        await bound(cluster, "thief")
        await say(cluster, "web", NO_CPU)
        await cluster.pass_time(1)
        assert not await tokens(cluster)
        await cluster.pass_time(60)
        ticket = await cluster.get(TICKETS, "t")
        assert ticket is not None
        assert ticket.status.phase is TicketPhase.RESERVED


async def break_webhook(cluster: Scene, pod: str) -> None:
    """A webhook of one tenant that does not answer, for changes of its pod."""
    known = await rest_mapper.discover(cluster.client)
    found = known.of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
    assert found is not None
    rule: JSON = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["pods"],
    }
    hook: JSON = {
        "name": "slow.example.com",
        "clientConfig": {"service": {"namespace": "default", "name": "nothing"}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
        "rules": [rule],
        "matchConditions": [{"name": "one", "expression": f"object.metadata.name == '{pod}'"}],
    }
    body: JSON = {"metadata": {"name": "slow"}, "webhooks": [hook]}
    await cluster.client.create(found.kind, body)


async def test_a_pod_that_may_not_be_changed_holds_up_no_neighbour(clock: Clock) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, "a", "2")
        await reserve(cluster, "b", "2")
        await break_webhook(cluster, "bad")
        await cluster.put(claim("bad", "a", "2"))
        await phase(cluster, "a", TicketPhase.CLAIMING)
        await cluster.pass_time(3)
        began = clock.monotonic()
        await cluster.put(claim("web", "b", "2"))
        await bound(cluster, "web")
        assert clock.monotonic() - began < 2.5


async def test_a_pod_that_terminates_for_minutes_holds_up_no_neighbour(clock: Clock) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, "mine", "2", afterUse="Reserve")
        await reserve(cluster, "other", "2")
        await cluster.put(claim("slow", "mine", "2", terminationGracePeriodSeconds=600))
        await phase(cluster, "mine", TicketPhase.CLAIMED)
        await compete(cluster, "2")
        cluster.machines.slow(NODE, Manners(stop=400))
        await cluster.delete(PODS, "slow")
        await cluster.pass_time(65)
        began = clock.monotonic()
        await cluster.put(claim("web", "other", "2"))
        await bound(cluster, "web")
        assert clock.monotonic() - began < 5
        await cluster.client.delete(PODS, Key("default", "slow"), grace_seconds=0)
        await phase(cluster, "mine", TicketPhase.RESERVED)
        await cluster.pass_time(1)
        assert not await winners(cluster)
        assert not await tokens(cluster)


async def test_a_node_with_room_to_spare_is_not_tainted_while_a_pod_terminates(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, "t", "1", afterUse="Reserve")
        await cluster.put(claim("slow", "t", "1", terminationGracePeriodSeconds=600))
        await phase(cluster, "t", TicketPhase.CLAIMED)
        cluster.machines.slow(NODE, Manners(stop=290))
        await cluster.delete(PODS, "slow")
        await bound(cluster, "korder-guardian-t")
        assert await cluster.get(PODS, "slow")
        assert not await tokens(cluster)
        await compete(cluster, "3")
        await cluster.gone(PODS, "slow")
        await cluster.pass_time(5)
        (guardian,) = await cluster.guardians()
        assert guardian.metadata.name == "korder-guardian-t"
        ticket = await cluster.get(TICKETS, "t")
        assert ticket is not None
        assert ticket.status.phase is TicketPhase.RESERVED


async def test_the_return_finalizer_goes_although_nodes_may_not_be_tainted(clock: Clock) -> None:
    async with scene(clock, Tickets, with_finalizer, nodes=1) as cluster:
        await reserve(cluster, "t", "4", afterUse="Reserve")
        await cluster.put(claim("web", "t", "4"))
        await phase(cluster, "t", TicketPhase.CLAIMED)
        await forbid_taints(cluster)
        await cluster.delete(PODS, "web")
        await cluster.gone(PODS, "web")


async def forbid_taints(cluster: Scene) -> None:
    rule: JSON = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["nodes"],
    }
    stays: JSON = {
        "expression": "object.spec == oldObject.spec",
        "message": "nodes stay as they are",
        "reason": "Forbidden",
    }
    policy: JSON = {"matchConstraints": {"resourceRules": [rule]}, "validations": [stays]}
    binding: JSON = {"policyName": "keep", "validationActions": ["Deny"]}
    known = await rest_mapper.discover(cluster.client)
    for kind, spec in (("", policy), ("Binding", binding)):
        found = known.of("admissionregistration.k8s.io/v1", f"ValidatingAdmissionPolicy{kind}")
        assert found is not None
        await cluster.client.create(found.kind, {"metadata": {"name": "keep"}, "spec": spec})


async def test_a_pod_is_not_given_up_while_its_scheduler_is_away(clock: Clock) -> None:
    """Neither after 30 s of silence nor at its deadline: nobody could have bound it."""
    async with scene(clock, claiming, nodes=1) as cluster:
        meta: JSON = {"name": SCHEDULER_LEASE.name, "namespace": SCHEDULER_LEASE.namespace}
        await cluster.client.create(LEASES, {"metadata": meta, "spec": {"holderIdentity": "first"}})
        await hold(cluster, "t", spec={"schedulerName": "away"}, cpu="4")
        await cluster.put(claim("web", "t", "4", schedulerName="away"))
        await cluster.pass_time(300)
        ticket = await cluster.get(TICKETS, "t")
        assert ticket is not None
        assert ticket.status.phase is TicketPhase.CLAIMING
        assert await tokens(cluster)
        began = clock.monotonic()
        for n in range(20):
            change: JSON = {"spec": {"holderIdentity": "second", "leaseTransitions": n + 1}}
            await cluster.client.patch(LEASES, SCHEDULER_LEASE, change)
            await cluster.pass_time(2)
        await phase(cluster, "t", TicketPhase.PENDING)
        assert 29 <= clock.monotonic() - began <= 41


async def test_a_new_leader_lowers_a_barrier_without_members_after_seconds(clock: Clock) -> None:
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await cluster.until(NODES, NODE, lambda _: True)
        taint: JSON = {"key": HANDOVER_TAINT, "value": "1", "effect": "NoSchedule"}
        await cluster.edit(NODES, NODE, {"spec": {"taints": [taint]}})
        await cluster.pass_time(2)
        assert await tokens(cluster)
        await cluster.pass_time(2)
        assert not await tokens(cluster)
