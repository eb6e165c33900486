"""Guardians that are lost, refused, or stand on a cordoned node (S8, S9, rule 12)."""

from datetime import timedelta

import pytest
from tests.reserve.scene import Scene, scene
from tests.reserve.tickets.ticket_helpers import RESERVED, a_sized_ticket, reason_is, stated

from korder.api.reserve import TICKETS, Reason, Ticket, TicketPhase
from korder.reserve.tickets.controller import Tickets
from korder.testing.builders import a_ticket
from kubeloop.client import rest_mapper
from kubeloop.objects.core import NAMESPACES, NODES, PODS, Pod
from kubeloop.objects.limits import LIMIT_RANGES
from kubeloop.objects.meta import JSON, Key, key_of
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import a_pod


async def guardian_of(cluster: Scene, ticket: Ticket) -> Pod:
    found = await cluster.get(PODS, ticket.status.guardian_pod.partition("/")[2])
    assert found is not None
    return found


async def a_class(cluster: Scene, name: str, value: int) -> None:
    found = (await rest_mapper.discover(cluster.client)).of("scheduling.k8s.io/v1", "PriorityClass")
    assert found is not None
    await cluster.client.create(found.kind, {"metadata": {"name": name}, "value": value})


async def test_a_lost_guardian_is_reported_of_and_replaced_while_the_clock_goes_on_s8(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets) as cluster:
        names = ("deleted", "evicted", "failed", "preempted")
        await cluster.put(*map(a_ticket, names))
        before = {name: await cluster.until(TICKETS, name, RESERVED) for name in names}
        pods = {name: await guardian_of(cluster, before[name]) for name in names}
        await cluster.delete(PODS, pods["deleted"].metadata.name)
        await cluster.client.post(PODS, key_of(pods["evicted"]), "eviction", {})
        failed: JSON = {"status": {"phase": "Failed", "reason": "OutOfcpu", "message": "no room"}}
        await cluster.client.patch(PODS, key_of(pods["failed"]), failed, subresource="status")
        await a_class(cluster, "very-high", 5_000_000)
        taker = a_pod("taker").requesting(cpu="3950m")
        node = pods["preempted"].spec.node_name
        selector: JSON = {"kubernetes.io/hostname": node}
        await cluster.put(
            taker.but({"spec": {"priorityClassName": "very-high", "nodeSelector": selector}})
        )
        await cluster.until(PODS, "taker", lambda pod: bool(pod.spec.node_name))
        await cluster.pass_time(3)
        expected = {
            "deleted": Reason.GUARDIAN_DELETED,
            "evicted": Reason.EVICTED,
            "failed": Reason.GUARDIAN_FAILED,
            "preempted": Reason.PREEMPTED,
        }
        for name in names:
            after = await cluster.until(TICKETS, name, RESERVED)
            assert after.status.expiration_time == before[name].status.expiration_time
            healed = await guardian_of(cluster, after)
            assert healed.metadata.uid != pods[name].metadata.uid
            assert expected[name] in await stated(cluster, name)
        assert len(await cluster.guardians()) == len(names)


async def test_where_guardians_are_turned_away_the_next_takes_its_time_s8(clock: Clock) -> None:
    """A kubelet that is shutting down, or counts otherwise than the scheduler, fails whatever comes; nobody should feed it without end."""
    async with scene(clock, Tickets, nodes=1) as cluster:
        await cluster.put(a_ticket("t"))
        away: JSON = {"status": {"phase": "Failed", "reason": "NodeShutdown"}}
        turned = set[str]()
        for _ in range(300):
            for pod in await cluster.guardians():
                if pod.spec.node_name and pod.metadata.uid not in turned:
                    await cluster.client.patch(PODS, key_of(pod), away, subresource="status")
                    turned.add(pod.metadata.uid)
            await cluster.pass_time(0.1)
        assert 5 <= len(turned) <= 7
        refused = await cluster.until(TICKETS, "t", reason_is(Reason.GUARDIAN_FAILED))
        assert "NodeShutdown" in refused.status.message
        await cluster.until(TICKETS, "t", RESERVED)
        await cluster.pass_time(1)
        assert len(await cluster.guardians()) == 1


async def seen(cluster: Scene, seconds: int) -> set[str]:
    """The guardians there are within this time."""
    uids = set[str]()
    for _ in range(seconds):
        await cluster.pass_time(1)
        uids |= {pod.metadata.uid for pod in await cluster.guardians()}
    return uids


async def test_a_ticket_of_nothing_is_held_where_defaults_would_make_it_something(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets, nodes=1) as cluster:
        meta: JSON = {"name": "l", "namespace": "default"}
        nothing: JSON = {"requests": {"cpu": "1", "memory": "0"}}
        least: JSON = {"type": "Container", "defaultRequest": {"memory": "64Mi"}}
        await cluster.client.create(LIMIT_RANGES, {"metadata": meta, "spec": {"limits": [least]}})
        await cluster.put(a_ticket("t").but({"spec": {"resources": nothing}}))
        await cluster.until(TICKETS, "t", RESERVED)
        assert len(await seen(cluster, 20)) == 1


async def test_guardians_of_a_lost_node_come_back_elsewhere_or_are_lost_if_pinned_s8(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets, nodes=1) as cluster:
        pinned = a_ticket("pinned").but({"spec": {"nodeName": "node-1"}})
        await cluster.put(a_ticket("free"), pinned)
        for name in ("free", "pinned"):
            await cluster.until(TICKETS, name, RESERVED)
        cluster.add_node("node-2")
        await cluster.until(NODES, "node-2", lambda node: bool(node.status.allocatable))
        cluster.machines.remove("node-1")
        await cluster.delete(NODES, "node-1")
        free = await cluster.until(TICKETS, "free", lambda t: t.status.node_name == "node-2")
        assert free.status.phase is TicketPhase.RESERVED
        lost = await cluster.until(TICKETS, "pinned", lambda t: t.status.reason == Reason.LOST)
        assert lost.status.phase is TicketPhase.PENDING
        await cluster.pass_time(2)
        assert "NodeLost" in await stated(cluster, "free")
        assert "Lost" in await stated(cluster, "pinned")
        cluster.add_node("node-1")
        back = await cluster.until(TICKETS, "pinned", RESERVED)
        assert back.status.node_name == "node-1"


@pytest.mark.parametrize("tolerated", [[], [{"operator": "Exists"}]], ids=["nothing", "anything"])
async def test_a_ticket_on_a_cordoned_node_moves_its_new_guardian_first_rule_12(
    clock: Clock, tolerated: JSON
) -> None:
    """Rule 17: whatever it tolerates."""
    async with scene(clock, Tickets, nodes=1) as cluster:
        await cluster.put(a_ticket("t").but({"spec": {"tolerations": tolerated}}))
        held = await cluster.until(TICKETS, "t", RESERVED)
        await cluster.edit(NODES, "node-1", {"spec": {"unschedulable": True}})
        stuck = await cluster.until(TICKETS, "t", lambda t: t.status.reason == Reason.NODE_CORDONED)
        assert stuck.status.phase is TicketPhase.RESERVED
        assert stuck.status.guardian_pod == held.status.guardian_pod
        await cluster.pass_time(2)
        assert len(await cluster.guardians()) == 2
        cluster.add_node("node-2")
        moved = await cluster.until(TICKETS, "t", lambda t: t.status.node_name == "node-2")
        assert moved.status.reason == Reason.HELD
        assert moved.status.expiration_time == held.status.expiration_time
        await cluster.pass_time(2)
        (left,) = await cluster.guardians()
        assert f"default/{left.metadata.name}" == moved.status.guardian_pod
        await cluster.edit(NODES, "node-1", {"spec": {"unschedulable": False}})
        await cluster.edit(NODES, "node-2", {"spec": {"unschedulable": True}})
        await cluster.until(TICKETS, "t", lambda t: t.status.node_name == "node-1")


async def test_a_refused_guardian_is_reported_of_tried_again_and_costs_no_time_s9(
    clock: Clock,
) -> None:
    async with scene(clock, Tickets) as cluster:
        await cluster.client.patch(
            NAMESPACES,
            Key("", "default"),
            {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
        )
        found = await rest_mapper.discover(cluster.client)
        quotas = found.of("v1", "ResourceQuota")
        ranges = found.of("v1", "LimitRange")
        assert quotas is not None
        assert ranges is not None
        quota: JSON = {"hard": {"count/configmaps": "1", "requests.cpu": "2"}}
        await cluster.client.create(
            quotas.kind, {"metadata": {"name": "q", "namespace": "default"}, "spec": quota}
        )
        limits: JSON = [{"type": "Container", "max": {"memory": "1Gi"}}]
        await cluster.client.create(
            ranges.kind,
            {"metadata": {"name": "r", "namespace": "default"}, "spec": {"limits": limits}},
        )
        sizes: dict[str, JSON] = {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}}
        await cluster.put(
            a_sized_ticket("quota", cpu="3"),
            a_ticket("class").but({"spec": {"priorityClassName": "missing"}}),
            a_ticket("range").but({"spec": {"resources": sizes}}),
            a_ticket("system").but({"spec": {"priorityClassName": "system-node-critical"}}),
        )
        words = {
            "quota": "exceeded quota",
            "class": "no PriorityClass with name missing",
            "range": "maximum memory usage per Container is 1Gi",
            "system": "must not be",
        }
        for name, said in words.items():
            ticket = await cluster.until(
                TICKETS, name, lambda t: t.status.reason == Reason.GUARDIAN_REFUSED
            )
            assert ticket.status.phase is TicketPhase.PENDING
            assert said in ticket.status.message
            assert {c.status for c in ticket.status.conditions} == {"False"}
            assert await stated(cluster, name) == ["GuardianRefused"]
        await cluster.pass_time(60)
        await a_class(cluster, "missing", 7)
        await cluster.client.delete(quotas.kind, Key("default", "q"))
        await cluster.client.delete(ranges.kind, Key("default", "r"))
        fixed = clock.now()
        for name in ("quota", "class", "range"):
            ticket = await cluster.until(TICKETS, name, RESERVED)
            assert clock.now() - fixed <= timedelta(seconds=61)
            assert ticket.status.activation_time is not None
            assert ticket.status.activation_time >= fixed
