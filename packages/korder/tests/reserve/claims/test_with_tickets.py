"""Claims together with the ticket controller: room is handed over, comes back, is shared, and is never leaked."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

import pytest
from tests.reserve.claims.holds import asking, bound, claiming, nominating, phase
from tests.reserve.scene import Scene, scene

from korder.api.reserve import TICKETS, Ticket, TicketPhase
from korder.reserve.claims import patches as claim_patches
from korder.reserve.handovers import handover_state
from korder.reserve.orders.controller import Orders
from korder.reserve.tickets import guardian
from korder.reserve.tickets.controller import Tickets
from korder.reserve.tickets.guardian import Options
from korder.testing.builders import a_ticket, an_order
from kubeloop.objects.core import EVENTS, NAMESPACES, NODES, PODS, Pod
from kubeloop.objects.limits import RESOURCE_QUOTAS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.workloads import DAEMON_SETS, REPLICA_SETS, STATEFUL_SETS
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder, a_pod
from pocketkube.nodes.machines import Manners, Shape

promising = partial(Tickets, options=Options(nominate=True))


def of(name: str, cpu: str = "1", **spec: JSON) -> Builder[Ticket]:
    requests: JSON = {"cpu": cpu, "memory": "1Gi"}
    return a_ticket(name).but({"spec": {"resources": {"requests": requests}, **spec}})


async def reserve(cluster: Scene, *tickets: Builder[Ticket]) -> None:
    await cluster.put(*tickets)
    for ticket in tickets:
        await phase(cluster, ticket.build().metadata.name, TicketPhase.RESERVED)


async def in_peace(cluster: Scene) -> None:
    """Nothing is leaked: every Reserved ticket has one guardian, every Claimed one a pod, and nobody else has any."""
    await cluster.pass_time(20)
    tickets = await cluster.all(TICKETS)
    pods = await cluster.all(PODS)
    by_uid = {pod.metadata.uid: pod for pod in pods}
    for ticket in tickets:
        mine = [
            pod
            for pod in pods
            if any(r.uid == ticket.metadata.uid for r in pod.metadata.owner_references)
        ]
        status = ticket.status
        assert status.phase is not TicketPhase.CLAIMING
        assert len(mine) == (status.phase is TicketPhase.RESERVED), ticket
        if status.phase is TicketPhase.CLAIMED and status.claimed_by is not None:
            assert by_uid[status.claimed_by.uid].spec.node_name == status.node_name
    assert len(await cluster.guardians()) == sum(
        t.status.phase is TicketPhase.RESERVED for t in tickets
    )


async def test_a_ticket_is_claimed_used_and_released(clock: Clock) -> None:
    """S10 and S16: from Reserved to Released with one pod, each phase in its time."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, of("t", cpu="4"))
        await cluster.put(asking("web").requesting(cpu="4"))
        ticket = await phase(cluster, "t", TicketPhase.CLAIMED)
        assert (ticket.status.reason, ticket.status.message) == (
            "InUse",
            "pod default/web has the room",
        )
        await bound(cluster, "web")
        await in_peace(cluster)
        await cluster.delete(PODS, "web")
        await phase(cluster, "t", TicketPhase.RELEASED)
        await in_peace(cluster)


async def test_a_stateful_pod_gets_the_place_of_its_predecessor_back(clock: Clock) -> None:
    """S16: afterUse Reserve; the pod of the same name has another UID and claims anew."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, of("t", cpu="4", afterUse="Reserve"))
        pod = (
            asking("db")
            .requesting(cpu="4")
            .labelled({"app": "db"})
            .but({"metadata": {"name": None}})
        )
        spec: JSON = {
            "replicas": 1,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": pod.json["metadata"], "spec": pod.json["spec"]},
        }
        meta: JSON = {"name": "db", "namespace": "default"}
        await cluster.client.create(STATEFUL_SETS, {"metadata": meta, "spec": spec})
        first = await bound(cluster, "db-0")
        await phase(cluster, "t", TicketPhase.CLAIMED)
        await cluster.delete(PODS, "db-0")
        second = await cluster.until(
            PODS,
            "db-0",
            lambda pod: pod.metadata.uid != first.metadata.uid and bool(pod.spec.node_name),
        )
        ticket = await phase(cluster, "t", TicketPhase.CLAIMED)
        assert ticket.status.claimed_by is not None
        assert ticket.status.claimed_by.uid == second.metadata.uid
        await in_peace(cluster)


STEPS = {
    "nominated": handover_state.is_marked,
    "let go": lambda pod: not claim_patches.is_gated(pod),
    "bound": lambda pod: bool(pod.spec.node_name),
}


@pytest.mark.parametrize("step", STEPS)
async def test_the_room_of_a_pod_that_is_deleted_on_the_way_is_held_again(
    clock: Clock, step: str
) -> None:
    """S24: the guardian is restored, and the next pod can have the ticket."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, of("t", cpu="4", afterUse="Reserve"))
        await cluster.client.create(PODS, asking("web").requesting(cpu="4").json)
        while not STEPS[step](await cluster.client.get(PODS, Key("default", "web"))):
            await cluster.pass_time(0.005)
        await cluster.delete(PODS, "web")
        await phase(cluster, "t", TicketPhase.RESERVED)
        await in_peace(cluster)
        await cluster.put(asking("next").requesting(cpu="4"))
        await bound(cluster, "next")
        await in_peace(cluster)


def held(pods: list[Pod]) -> list[Mapping[str, str]]:
    return [{name: str(amount) for name, amount in guardian.holds(pod).items()} for pod in pods]


async def test_two_pods_share_a_ticket_and_the_third_waits(clock: Clock) -> None:
    """S18 and rule 11: the node is full, and what is left is held in between."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, of("t", cpu="2", allocateOnce=False), of("rest", cpu="2"))
        for name in ("a", "b", "c"):
            wanted = {"korder.dev/required": "true", "korder.dev/ticket-request": "t"}
            await cluster.put(asking(name, wanted).requesting(cpu="1", memory="512Mi"))
            if name == "a":
                await bound(cluster, "a")
                ticket = await phase(cluster, "t", TicketPhase.RESERVED)
                assert [share.name for share in ticket.status.shared_by] == ["a"]
                mine = [g for g in await cluster.guardians() if "rest" not in g.metadata.name]
                assert held(mine) == [{"cpu": "1", "memory": "512Mi"}]
        await bound(cluster, "b")
        ticket = await phase(cluster, "t", TicketPhase.CLAIMED)
        assert [share.name for share in ticket.status.shared_by] == ["a", "b"]
        await cluster.pass_time(5)
        third = await cluster.get(PODS, "c")
        assert third is not None
        assert claim_patches.is_gated(third)
        await cluster.delete(PODS, "a")
        await bound(cluster, "c")
        await cluster.pass_time(5)
        ticket = await phase(cluster, "t", TicketPhase.CLAIMED)
        assert sorted(share.name for share in ticket.status.shared_by) == ["b", "c"]


async def test_replicas_that_prefer_a_ticket_all_share_it_although_they_come_at_once(
    clock: Clock,
) -> None:
    """S18 and S13: only the one for which no room is left goes without."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, of("t", cpu="3", allocateOnce=False))
        names = ("a", "b", "c", "d")
        for name in names:
            wanted = {"korder.dev/ticket-request": "t"}
            await cluster.put(asking(name, wanted).requesting(cpu="1", memory="256Mi"))
        for name in names:
            await bound(cluster, name)
        ticket = await phase(cluster, "t", TicketPhase.RESERVED)
        assert [share.name for share in ticket.status.shared_by] == ["a", "b", "c"]


async def test_a_ticket_is_not_shared_where_the_node_takes_no_more_pods(clock: Clock) -> None:
    """S18: its guardian and a pod would be one too many; the room stays held until another pod goes."""
    async with scene(clock, Tickets, claiming, nodes=0) as cluster:
        cluster.add_node("small", Shape(cpu="4", memory="8Gi", pods=2))
        await reserve(cluster, of("t", cpu="2", allocateOnce=False))
        await cluster.put(a_pod("other").requesting(cpu="1"))
        await bound(cluster, "other")
        await cluster.put(asking("web").requesting(cpu="1", memory="512Mi"))
        await cluster.pass_time(100)
        web = await cluster.get(PODS, "web")
        assert web is not None
        stated = claim_patches.stated(web)
        assert stated is not None
        assert stated.message == (
            "No free ticket fits; nearest mismatch:"
            " needs a place beside the guardian, its node takes no more pods."
        )
        await phase(cluster, "t", TicketPhase.RESERVED)
        await cluster.delete(PODS, "other")
        await bound(cluster, "web")
        await phase(cluster, "t", TicketPhase.RESERVED)
        assert held(await cluster.guardians()) == [{"cpu": "1", "memory": "512Mi"}]


async def test_a_refused_guardian_of_the_remainder_ends_the_claim_and_is_reported(
    clock: Clock,
) -> None:
    """S12: not again before 20 s have passed, the room stays held, and the pod comes when the quota allows it."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, of("t", cpu="4", allocateOnce=False))
        meta: JSON = {"name": "q", "namespace": "default"}
        few: JSON = {"metadata": meta, "spec": {"hard": {"pods": "2"}}}
        await cluster.client.create(RESOURCE_QUOTAS, few)
        await cluster.pass_time(3)
        await cluster.put(asking("web").requesting(cpu="1", memory="512Mi"))
        web = await cluster.until(PODS, "web", lambda pod: claim_patches.stated(pod) is not None)
        stated = claim_patches.stated(web)
        assert stated is not None
        assert stated.reason == "GuardianRefused"
        assert "exceeded quota" in stated.message
        await phase(cluster, "t", TicketPhase.RESERVED)
        await cluster.pass_time(110)
        events = [e for e in await cluster.all(EVENTS) if e.reason == "GuardianRefused"]
        assert {e.regarding.name for e in events} == {"t", "web"}
        for event in events:
            assert event.series is not None
            assert 4 <= event.series.count <= 6
        await cluster.client.delete(RESOURCE_QUOTAS, Key("default", "q"))
        await bound(cluster, "web")
        await phase(cluster, "t", TicketPhase.RESERVED)
        assert held(await cluster.guardians()) == [{"cpu": "3", "memory": "512Mi"}]


async def test_daemon_pods_take_the_ticket_of_their_own_node_and_get_it_back_after_an_update(
    clock: Clock,
) -> None:
    """S36, also in korder-system."""
    async with scene(clock, Tickets, claiming, nodes=2) as cluster:
        ours = [of(f"t{n}", cpu="4", nodeName=f"node-{n}", afterUse="Reserve") for n in (1, 2)]
        await reserve(cluster, *ours)
        pod = (
            asking("agent")
            .requesting(cpu="4")
            .labelled({"app": "agent"})
            .but({"metadata": {"name": None}})
        )
        spec: JSON = {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": pod.json["metadata"], "spec": pod.json["spec"]},
        }
        meta: JSON = {"name": "agent", "namespace": "default"}
        await cluster.client.create(DAEMON_SETS, {"metadata": meta, "spec": spec})
        for _ in range(2):
            for n in (1, 2):
                ticket = await phase(cluster, f"t{n}", TicketPhase.CLAIMED)
                assert ticket.status.node_name == f"node-{n}"
            await in_peace(cluster)
            agents = await cluster.all(PODS, labels="app=agent")
            assert {each.spec.node_name for each in agents} == {"node-1", "node-2"}
            change: JSON = {"spec": {"template": {"metadata": {"annotations": {"again": "1"}}}}}
            await cluster.client.patch(DAEMON_SETS, Key("default", "agent"), change)
            await cluster.pass_time(30)


async def test_a_pod_gets_its_room_while_another_one_leaves_the_same_node(clock: Clock) -> None:
    """S11 and rule 10: the guardian that waits for the room of the leaving pod is promised nothing of the other ticket's."""
    async with scene(clock, promising, nominating, nodes=1) as cluster:
        await reserve(cluster, of("a", cpu="2", afterUse="Reserve"), of("b", cpu="2"))
        wanted = {"korder.dev/required": "true", "korder.dev/ticket-request": "a"}
        slow: JSON = {"spec": {"terminationGracePeriodSeconds": 30}}
        await cluster.put(asking("old", wanted).requesting(cpu="2").but(slow))
        await phase(cluster, "a", TicketPhase.CLAIMED)
        cluster.machines.slow("node-1", Manners(stop=15))
        await cluster.delete(PODS, "old")
        await cluster.until(PODS, "korder-guardian-a", lambda g: bool(g.status.nominated_node_name))
        wanted = {"korder.dev/required": "true", "korder.dev/ticket-request": "b"}
        await cluster.put(asking("new", wanted).requesting(cpu="2"))
        await bound(cluster, "new")
        await phase(cluster, "b", TicketPhase.CLAIMED)
        old = await cluster.get(PODS, "old")
        assert old is not None
        await cluster.until(PODS, "korder-guardian-a", lambda g: bool(g.status.nominated_node_name))
        await cluster.gone(PODS, "old")
        await phase(cluster, "a", TicketPhase.RESERVED)
        await in_peace(cluster)


async def test_a_promise_that_comes_late_does_not_hold_a_batch_up(clock: Clock) -> None:
    """S11 and rule 10: it is taken back, and then the batch goes on at once."""
    async with scene(clock, promising, nominating, nodes=1) as cluster:
        await reserve(cluster, of("a", cpu="2", afterUse="Reserve"))
        stays: JSON = {"metadata": {"finalizers": ["example.com/stays"]}}
        await cluster.put(asking("old").requesting(cpu="2").but(stays))
        await phase(cluster, "a", TicketPhase.CLAIMED)
        await reserve(cluster, of("b", cpu="2"))
        await cluster.delete(PODS, "old")
        await cluster.until(PODS, "korder-guardian-a", lambda g: bool(g.status.nominated_node_name))
        cluster.machines.slow("node-1", Manners(stop=1))
        await cluster.client.create(PODS, asking("new").requesting(cpu="2").json)
        while not handover_state.is_marked(await cluster.client.get(PODS, Key("default", "new"))):
            await cluster.pass_time(0.005)
        promise: JSON = {"status": {"nominatedNodeName": "node-1"}}
        key = Key("default", "korder-guardian-a")
        await cluster.client.patch(PODS, key, promise, subresource="status")
        assert await cluster.get(PODS, "korder-guardian-b")
        began = clock.now()
        await bound(cluster, "new")
        assert clock.now() - began < timedelta(seconds=5)
        await cluster.edit(PODS, "old", {"metadata": {"finalizers": None}})
        await in_peace(cluster)


async def test_a_pod_is_not_tied_to_a_node_that_is_cordoned_in_the_middle_of_its_hand_over(
    clock: Clock,
) -> None:
    """Rule 12: it gets another ticket at once, and the first one moves there too."""
    async with scene(clock, promising, nominating, nodes=1) as cluster:
        await reserve(cluster, of("t", cpu="4"))
        cluster.machines.slow("node-1", Manners(stop=1))
        await cluster.client.create(PODS, asking("web").requesting(cpu="4").json)
        while not handover_state.is_marked(await cluster.client.get(PODS, Key("default", "web"))):
            await cluster.pass_time(0.005)
        await cluster.edit(NODES, "node-1", {"spec": {"unschedulable": True}})
        cluster.add_node("node-2")
        since = cluster.clock.now()
        web = await bound(cluster, "web")
        assert web.spec.node_name == "node-2"
        assert cluster.clock.now() - since < timedelta(seconds=20)
        await in_peace(cluster)


async def test_a_pod_that_is_made_again_tries_the_tickets_that_have_not_failed_first(
    clock: Clock,
) -> None:
    """Rule 9: two tickets on nodes that do not take it, which nobody could know, do not keep it from the third."""
    async with scene(clock, Tickets, claiming) as cluster:
        for name, number in (("a", 1), ("b", 2), ("c", 3)):
            there: JSON = {"kubernetes.io/hostname": f"node-{number}"}
            cpu = "2" if name == "c" else "1"
            await reserve(cluster, of(name, cpu=cpu, nodeSelector=there))
        near: JSON = {"nodeSelector": {"kubernetes.io/hostname": "node-3"}}
        await cluster.put(a_pod("cache").labelled({"app": "cache"}).but({"spec": near}))
        await bound(cluster, "cache")
        term: JSON = {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "cache"}},
        }
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        beside: JSON = {"affinity": {"podAffinity": {required: [term]}}}
        pod = asking("web").labelled({"app": "web"}).but({"spec": beside})
        template = pod.but({"metadata": {"name": None}}).json
        spec: JSON = {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": template["metadata"], "spec": template["spec"]},
        }
        meta: JSON = {"name": "web", "namespace": "default"}
        await cluster.client.create(REPLICA_SETS, {"metadata": meta, "spec": spec})
        await phase(cluster, "c", TicketPhase.CLAIMED)
        web, *others = await cluster.all(PODS, labels="app=web")
        assert (web.spec.node_name, others) == ("node-3", [])
        await in_peace(cluster)


async def test_a_pod_waits_for_a_host_port_that_another_one_is_about_to_take(clock: Clock) -> None:
    """S14: it is not tied to the node meanwhile, and comes when the other one has gone."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, of("a"), of("b"))
        port: JSON = {"containerPort": 80, "hostPort": 80}
        container: JSON = {"name": "app", "image": "app", "ports": [port]}
        for name in ("one", "two"):
            await cluster.put(asking(name).but({"spec": {"containers": [container]}}))
        await cluster.pass_time(20)
        pods = [await cluster.client.get(PODS, Key("default", name)) for name in ("one", "two")]
        (first,) = (pod for pod in pods if pod.spec.node_name)
        (second,) = (pod for pod in pods if claim_patches.is_gated(pod))
        stated = claim_patches.stated(second)
        assert stated is not None
        assert "needs host port TCP 0.0.0.0:80, which is taken on its node" in stated.message
        await cluster.delete(PODS, first.metadata.name)
        await bound(cluster, second.metadata.name)


async def test_a_gang_waits_for_its_last_ticket_and_then_all_go(clock: Clock) -> None:
    """S19: minAvailable 3, room for 2; with another node the order opens, and three pods are bound."""
    async with scene(clock, Orders, Tickets, claiming, nodes=1) as cluster:
        spec: JSON = {"resources": {"requests": {"cpu": "2"}}}
        order = an_order("gang", 3).but({"spec": {"minAvailable": 3, "template": {"spec": spec}}})
        await cluster.put(order)
        for n in range(3):
            wanted = {"korder.dev/required": "true", "korder.dev/order": "gang"}
            await cluster.put(asking(f"web-{n}", wanted).requesting(cpu="2"))
        await cluster.pass_time(20)
        pods = [pod for pod in await cluster.all(PODS) if pod.metadata.name.startswith("web")]
        assert [claim_patches.is_gated(pod) for pod in pods] == [True] * 3
        assert {stated.reason for pod in pods if (stated := claim_patches.stated(pod))} == {
            "OrderClosed"
        }
        cluster.add_node("node-9")
        for n in range(3):
            await bound(cluster, f"web-{n}")


async def test_a_pod_of_another_namespace_claims_where_owners_allow_it(clock: Clock) -> None:
    """S17: `order: namespace/name`; one namespace is an owner, the other is told why it is not."""
    async with scene(clock, Orders, Tickets, claiming, nodes=1) as cluster:
        for name in ("team", "guests"):
            await cluster.client.create(NAMESPACES, {"metadata": {"name": name}})
        spec: JSON = {"owners": [{"namespaces": ["team"]}]}
        await cluster.put(an_order("gold").but({"spec": {"template": {"spec": spec}}}))
        await cluster.pass_time(5)
        for name in ("guests", "team"):
            wanted = {"korder.dev/required": "true", "korder.dev/order": "default/gold"}
            await cluster.put(asking("web", wanted).requesting(cpu="100m").in_namespace(name))
        pod = await cluster.until(PODS, "web", lambda pod: bool(pod.spec.node_name), "team")
        assert pod.metadata.annotations["korder.dev/ticket-claimed"].startswith("default/gold")
        await cluster.pass_time(5)
        guest = await cluster.get(PODS, "web", "guests")
        assert guest is not None
        stated = claim_patches.stated(guest)
        assert stated is not None
        assert stated.reason == "NotAnOwner"


async def test_a_ticket_that_is_deleted_in_the_middle_of_a_hand_over_goes_when_that_is_done(
    clock: Clock,
) -> None:
    """Rule 2: the pod has the room, and keeps it."""
    async with scene(clock, Tickets, claiming, nodes=1) as cluster:
        await reserve(cluster, of("t", cpu="4"))
        await cluster.client.create(PODS, asking("web").requesting(cpu="4").json)
        while not handover_state.is_marked(await cluster.client.get(PODS, Key("default", "web"))):
            await cluster.pass_time(0.005)
        await cluster.delete(TICKETS, "t")
        await bound(cluster, "web")
        await cluster.gone(TICKETS, "t")
        await cluster.pass_time(5)
        assert [pod.metadata.name for pod in await cluster.all(PODS)] == ["web"]


@pytest.mark.parametrize("by_controller", [True, False], ids=["of a controller", "bare"])
async def test_a_pod_is_not_forgotten_when_the_namespace_of_its_ticket_ends_in_the_middle(
    clock: Clock, by_controller: bool
) -> None:
    """Rules 9 and 13: it is tied to a node by then and never bound; the namespace waits a minute at most."""
    async with scene(clock, Orders, Tickets, claiming, nodes=1) as cluster:
        await cluster.client.create(NAMESPACES, {"metadata": {"name": "pool"}})
        spec: JSON = {"owners": [{"namespaces": ["default"]}]}
        gold = an_order("gold").in_namespace("pool").but({"spec": {"template": {"spec": spec}}})
        await cluster.put(gold)
        await cluster.pass_time(5)
        wanted = {"korder.dev/required": "true", "korder.dev/order": "pool/gold"}
        pod = asking("web", wanted).requesting(cpu="100m").labelled({"app": "web"})
        pod = pod.but({"spec": {"schedulerName": "nobody"}})
        if by_controller:
            await cluster.client.create(REPLICA_SETS, a_set(pod))
        else:
            await cluster.put(pod)
        await cluster.pass_time(5)
        (first,) = await cluster.all(PODS, "default")
        assert not claim_patches.is_gated(first)
        await cluster.delete(NAMESPACES, "pool")
        began = clock.now()
        await cluster.gone(NAMESPACES, "pool")
        assert clock.now() - began < timedelta(seconds=70)
        await cluster.pass_time(5)
        (last,) = await cluster.all(PODS, "default")
        assert (last.metadata.uid != first.metadata.uid) == by_controller
        stated = claim_patches.stated(last)
        assert stated is not None
        assert (stated.status, stated.reason) == (
            "False",
            "NoTicket" if by_controller else "NeverBound",
        )
        (event,) = [e for e in await cluster.all(EVENTS, "default") if e.reason == "NeverBound"]
        assert event.regarding.name == first.metadata.name


def a_set(pod: Builder[Pod]) -> dict[str, JSON]:
    """A ReplicaSet of one such pod."""
    template = pod.but({"metadata": {"name": None}}).json
    spec: JSON = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": template["metadata"], "spec": template["spec"]},
    }
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
