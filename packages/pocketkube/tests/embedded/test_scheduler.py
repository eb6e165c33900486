"""The scheduler on a server in memory and virtual time."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
import random
from typing import cast

import pytest

from kubeloop.client.client import Client
from kubeloop.net.faults import Fault, FaultyTransport, Rule
from kubeloop.net.http import Request
from kubeloop.objects import codec, node_room
from kubeloop.objects.core import Node, Pod
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import NodeBuilder, PodBuilder, a_node, a_pod
from kubeloop.testing.memory import MemoryServer, Stored
from pocketkube.testing.scheduler import running_scheduler

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"


class World:
    """A server in memory with a scheduler on it."""

    def __init__(self, clock: Clock, seed: int = 1) -> None:
        self.clock = clock
        self.server = MemoryServer()
        self.wire = FaultyTransport(self.server.connect("scheduler"), random.Random(seed))
        self.client = Client(self.wire, rng=random.Random(seed))

    @asynccontextmanager
    async def scheduling(self, **options: str) -> AsyncIterator[None]:
        async with running_scheduler(self.client, clock=self.clock, **options):
            await asyncio.sleep(1)
            yield

    def add(self, *objects: NodeBuilder | PodBuilder) -> None:
        for obj in objects:
            path = NODES if isinstance(obj, NodeBuilder) else PODS
            self.server.create(path, obj.json)

    def pod(self, name: str) -> Pod:
        return codec.convert(cast("JSON", self.server.objects[f"{PODS}/{name}"]), Pod)

    def pods(self) -> list[Pod]:
        found = [o for path, o in self.server.objects.items() if path.startswith(PODS)]
        return [codec.convert(cast("JSON", obj), Pod) for obj in found]

    def bound(self) -> set[str]:
        return {pod.metadata.name for pod in self.pods() if pod.spec.node_name}

    def node_of(self, name: str) -> str:
        return self.pod(name).spec.node_name

    def change(self, name: str, body: Stored) -> None:
        self.server.merge(f"{PODS}/{name}", body)

    def remove(self, name: str) -> None:
        self.server.delete(f"{PODS}/{name}", {})

    def stated(self, name: str) -> tuple[str, str, str]:
        (condition,) = self.pod(name).status.conditions
        return condition.status, condition.reason, condition.message

    def events(self, reason: str) -> list[str]:
        found = [o for path, o in self.server.objects.items() if "/events/" in path]
        return [str(event["note"]) for event in found if event["reason"] == reason]

    def bindings(self, name: str) -> int:
        return sum(path == f"{PODS}/{name}/binding" for _, _, path in self.server.writes)


@pytest.fixture
def world(clock: Clock) -> World:
    return World(clock)


def prioritized(pod: PodBuilder, priority: int, policy: str = "") -> PodBuilder:
    policies: dict[str, JSON] = {"preemptionPolicy": policy} if policy else {}
    return pod.but({"spec": {"priority": priority, **policies}})


async def test_a_pod_gets_a_node_and_an_event(world: World) -> None:
    world.add(a_node("n1"), a_pod("p").requesting(cpu="1"))
    async with world.scheduling():
        await asyncio.sleep(1)
        assert world.node_of("p") == "n1"
        assert world.events("Scheduled") == ["Successfully assigned default/p to n1"]


async def test_no_node_gets_more_than_it_has_although_the_watch_lags(world: World) -> None:
    world.add(*(a_node(f"n{i}").offering(cpu="4", memory="8Gi", pods="10") for i in range(5)))
    world.add(*(a_pod(f"p{i}").requesting(cpu="1") for i in range(30)))
    async with world.scheduling():
        world.server.lag = 2.0
        await asyncio.sleep(60)
        seats = [pod.spec.node_name for pod in world.pods()]
        assert sorted(seats.count(f"n{i}") for i in range(5)) == [4] * 5
        assert seats.count("") == 10
        assert all(world.bindings(f"p{i}") <= 1 for i in range(30))


async def test_urgent_pods_come_first_then_older_ones(world: World) -> None:
    async with world.scheduling():
        world.add(*(a_pod(f"low{i}").requesting(cpu="1") for i in range(3)))
        world.add(*(prioritized(a_pod(f"high{i}").requesting(cpu="1"), 10) for i in range(2)))
        await asyncio.sleep(5)
        world.add(a_node("n1").offering(cpu="2", memory="8Gi", pods="110"))
        await asyncio.sleep(5)
        assert world.bound() == {"high0", "high1"}
        world.add(a_node("n2").offering(cpu="2", memory="8Gi", pods="110"))
        await asyncio.sleep(5)
        assert world.bound() == {"high0", "high1", "low0", "low1"}


async def test_an_urgent_pod_overtakes_one_whose_turn_has_come_but_not_begun(world: World) -> None:
    world.add(a_node("n1"))
    async with world.scheduling():
        world.add(a_pod("low").requesting(cpu="3"))
        world.add(prioritized(a_pod("high").requesting(cpu="3"), 5, "Never"))
        await asyncio.sleep(5)
        assert (world.node_of("low"), world.node_of("high")) == ("", "n1")


async def test_a_pod_of_another_scheduler_is_left_alone(world: World) -> None:
    world.add(a_node("n1"), a_pod("foreign").but({"spec": {"schedulerName": "other"}}))
    world.add(a_pod("ours").but({"spec": {"schedulerName": "mine"}}), a_pod("plain"))
    async with world.scheduling(name="mine"):
        await asyncio.sleep(5)
        assert [world.node_of(n) for n in ("foreign", "ours", "plain")] == ["", "n1", ""]


async def test_a_gated_pod_waits_until_its_gate_is_gone(world: World) -> None:
    world.add(a_node("n1"), a_pod("p").gated_by("korder.dev/ticket"))
    async with world.scheduling():
        await asyncio.sleep(5)
        assert world.node_of("p") == ""
        assert world.stated("p")[:2] == ("False", "SchedulingGated")
        world.change("p", {"spec": {"schedulingGates": None}})
        await asyncio.sleep(0.5)
        assert world.node_of("p") == "n1"


async def test_an_unschedulable_pod_says_why_in_the_words_of_kube_scheduler(world: World) -> None:
    world.add(
        a_node("n1").offering(cpu="1", memory="8Gi", pods="110"),
        a_node("n2").tainted("dedicated"),
        a_node("n3").cordoned(),
        a_node("n4").offering(cpu="1", memory="8Gi", pods="110"),
        a_pod("p").requesting(cpu="2"),
    )
    message = (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable,"
        " 2 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are available:"
        " 4 Preemption is not helpful for scheduling."
    )
    async with world.scheduling():
        await asyncio.sleep(1)
        assert world.stated("p") == ("False", "Unschedulable", message)
        assert world.events("FailedScheduling") == [message]


async def test_without_nodes_a_pod_waits_for_the_first(world: World) -> None:
    world.add(a_pod("p"))
    async with world.scheduling():
        await asyncio.sleep(3)
        assert world.stated("p")[2] == "no nodes available to schedule pods"
        world.add(a_node("n1"))
        await asyncio.sleep(0.1)
        assert world.node_of("p") == "n1"


async def test_a_pod_that_does_not_fit_is_tried_again_when_another_leaves(world: World) -> None:
    world.add(
        a_node("n1"), a_pod("big").requesting(cpu="4").on("n1"), a_pod("p").requesting(cpu="4")
    )
    async with world.scheduling():
        await asyncio.sleep(100)
        assert len(world.events("FailedScheduling")) == 1
        world.remove("big")
        await asyncio.sleep(0.1)
        assert world.node_of("p") == "n1"


async def test_heartbeats_of_nodes_are_no_reason_to_try_again(world: World) -> None:
    world.add(a_node("n1"), a_pod("p").requesting(cpu="100"))
    async with world.scheduling():
        for i in range(100):
            ready = {"type": "Ready", "status": "True", "message": str(i)}
            world.server.merge(f"{NODES}/n1", {"status": {"conditions": [ready]}})
            await asyncio.sleep(0.5)
        (event,) = [o for path, o in world.server.objects.items() if "/events/" in path]
        assert "series" not in event


async def test_what_cannot_help_a_pod_is_no_reason_to_try_it_again(world: World) -> None:
    world.add(a_node("n1"), a_pod("p").requesting(cpu="100"))
    async with world.scheduling():
        for i in range(100):
            world.add(a_pod(f"other{i}").on("n1"))
            await asyncio.sleep(1)
            world.server.merge(f"{NODES}/n1", {"spec": {"taints": [{"key": f"t{i}"}]}})
            world.remove(f"other{i}")
            await asyncio.sleep(1)
        (event,) = [o for path, o in world.server.objects.items() if "/events/" in path]
        assert "series" not in event


async def test_a_pod_kept_away_by_one_on_another_node_is_tried_when_that_leaves(
    world: World,
) -> None:
    term: JSON = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    required: JSON = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    small = a_node("n1").offering(cpu="1", memory="8Gi", pods="10")
    world.add(small.labelled({"zone": "z"}), a_node("n2").labelled({"zone": "z"}))
    world.add(a_pod("keeper").on("n1").but({"spec": {"affinity": {"podAntiAffinity": required}}}))
    async with world.scheduling():
        world.add(a_pod("p").labelled({"app": "web"}).requesting(cpu="2"))
        await asyncio.sleep(60)
        assert world.node_of("p") == ""
        world.remove("keeper")
        await asyncio.sleep(12)
        assert world.node_of("p") == "n2"


_FRIEND: JSON = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
_SEEKING: Mapping[str, JSON] = {
    "spec": {
        "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_FRIEND]}}
    }
}


async def test_a_pod_that_seeks_another_is_tried_again_when_that_comes(world: World) -> None:
    world.add(a_node("n1"), a_node("n2"), a_pod("p").but(_SEEKING))
    async with world.scheduling():
        await asyncio.sleep(5)
        world.add(a_pod("friend").labelled({"app": "web"}).on("n2"))
        await asyncio.sleep(0.1)
        assert world.node_of("p") == "n2"


async def test_retries_are_paused_longer_and_longer_however_much_happens(world: World) -> None:
    world.add(a_node("n1"), a_pod("p").requesting(cpu="100").but(_SEEKING))
    async with world.scheduling():
        for i in range(600):
            world.server.merge(f"{NODES}/n1", {"spec": {"taints": [{"key": f"t{i}"}]}})
            await asyncio.sleep(0.1)
        (event,) = [o for path, o in world.server.objects.items() if "/events/" in path]
        attempts = cast("dict[str, int]", event["series"])["count"]
        assert 7 <= attempts <= 10  # after 0, 1, 3, 7, 15, 25, 35, 45, 55 s


async def test_a_pod_pushes_the_least_important_aside(world: World) -> None:
    world.add(
        a_node("n1"),
        a_node("n2"),
        prioritized(a_pod("a").requesting(cpu="3"), 5).on("n1"),
        prioritized(a_pod("b").requesting(cpu="2"), 1).on("n2"),
        prioritized(a_pod("c").requesting(cpu="2"), 2).on("n2"),
        prioritized(a_pod("urgent").requesting(cpu="2"), 100),
    )
    async with world.scheduling():
        await asyncio.sleep(5)
        assert world.node_of("urgent") == "n2"
        assert {pod.metadata.name for pod in world.pods()} == {"a", "c", "urgent"}
        assert world.events("Preempted") == [
            f"Preempted by pod {world.pod('urgent').metadata.uid} on node n2"
        ]
        nominated = [
            obj
            for _, _, path, obj in world.server.log
            if path.endswith("/urgent") and "status" in obj
        ]
        assert cast("Mapping[str, JSON]", nominated[0]["status"])["nominatedNodeName"] == "n2"


@pytest.mark.parametrize(
    ("priority", "policy", "note"),
    [
        pytest.param(
            0,
            "",
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="not more important than the others",
        ),
        pytest.param(
            9, "Never", "not eligible due to preemptionPolicy=Never.", id="that does not want to"
        ),
    ],
)
async def test_a_pod_pushes_nobody(world: World, priority: int, policy: str, note: str) -> None:
    world.add(
        a_node("n1"),
        a_pod("a").requesting(cpu="4").on("n1"),
        prioritized(a_pod("p").requesting(cpu="1"), priority, policy),
    )
    async with world.scheduling():
        await asyncio.sleep(5)
        message = (
            "0/1 nodes are available: 1 Insufficient cpu."
            f" no new claims to deallocate, preemption: {note}"
        )
        assert world.stated("p") == ("False", "Unschedulable", message)
        assert world.node_of("a") == "n1"


async def test_a_nomination_keeps_the_room_for_its_pod_even_while_that_is_gated(
    world: World,
) -> None:
    world.add(a_node("n1"), prioritized(a_pod("guardian").requesting(cpu="4"), 9).on("n1"))
    world.add(prioritized(a_pod("owner").requesting(cpu="4").gated_by("g"), 5))
    world.add(prioritized(a_pod("rival").requesting(cpu="4"), 5))
    async with world.scheduling():
        await asyncio.sleep(1)
        world.change("owner", {"status": {"nominatedNodeName": "n1"}})
        await asyncio.sleep(1)
        world.remove("guardian")
        await asyncio.sleep(30)
        assert world.node_of("rival") == ""
        world.change("owner", {"spec": {"schedulingGates": None}})
        await asyncio.sleep(1)
        assert world.node_of("owner") == "n1"


async def test_a_more_important_pod_ignores_a_nomination(world: World) -> None:
    world.add(a_node("n1"), prioritized(a_pod("owner").requesting(cpu="4").gated_by("g"), 5))
    async with world.scheduling():
        world.change("owner", {"status": {"nominatedNodeName": "n1"}})
        await asyncio.sleep(1)
        world.add(prioritized(a_pod("rival").requesting(cpu="4"), 6))
        await asyncio.sleep(1)
        assert world.node_of("rival") == "n1"


async def test_a_failed_attempt_clears_the_nomination_and_frees_the_room(world: World) -> None:
    world.add(a_node("n1"), a_pod("other").requesting(cpu="3").on("n1"))
    world.add(a_pod("p").requesting(cpu="2").but({"status": {"nominatedNodeName": "n1"}}))
    async with world.scheduling():
        await asyncio.sleep(1)
        assert world.pod("p").status.nominated_node_name == ""
        world.add(a_pod("small").requesting(cpu="1"))
        await asyncio.sleep(1)
        assert world.node_of("small") == "n1"


async def test_a_cleared_nomination_frees_the_room_even_if_that_cannot_be_written(
    world: World,
) -> None:
    world.add(a_node("n1"), a_pod("other").requesting(cpu="3").on("n1"))
    world.add(a_pod("p").requesting(cpu="2").but({"status": {"nominatedNodeName": "n1"}}))
    world.wire.rules.append(Rule(Fault.BROKEN, lambda request: "/p/status" in request.target))
    async with world.scheduling():
        await asyncio.sleep(0.5)
        world.add(a_pod("small").requesting(cpu="1"))
        await asyncio.sleep(0.3)
        assert world.pod("p").status.nominated_node_name == "n1"
        assert world.node_of("small") == "n1"


async def test_who_pushes_others_aside_takes_the_nominations_of_lesser_pods(world: World) -> None:
    world.add(a_node("n1"), a_pod("victim").requesting(cpu="4").on("n1"))
    owner = prioritized(a_pod("owner").requesting(cpu="4").gated_by("g"), 1)
    world.add(owner.but({"status": {"nominatedNodeName": "n1"}}))
    world.add(prioritized(a_pod("urgent").requesting(cpu="4"), 9))
    async with world.scheduling():
        await asyncio.sleep(5)
        assert world.node_of("urgent") == "n1"
        assert world.pod("owner").status.nominated_node_name == ""


@pytest.mark.parametrize("end", ["is deleted", "is withdrawn"])
async def test_the_end_of_a_nomination_lets_others_try_again(world: World, end: str) -> None:
    world.add(a_node("n1"), a_pod("owner").requesting(cpu="4").gated_by("g"))
    async with world.scheduling():
        world.change("owner", {"status": {"nominatedNodeName": "n1"}})
        await asyncio.sleep(1)
        world.add(a_pod("p").requesting(cpu="1"))
        await asyncio.sleep(20)
        assert world.node_of("p") == ""
        if end == "is deleted":
            world.remove("owner")
        else:
            world.change("owner", {"status": {"nominatedNodeName": None}})
        await asyncio.sleep(0.1)
        assert world.node_of("p") == "n1"


def binding(request: Request) -> bool:
    return request.target.split("?")[0].endswith("/binding")


@pytest.mark.parametrize(
    "fault", [Fault.LOST_AFTER, Fault.LOST_BEFORE, Fault.CONFLICT, Fault.BROKEN]
)
async def test_a_binding_that_fails_once_is_repeated_and_its_room_stays_taken(
    world: World, fault: Fault
) -> None:
    world.add(a_node("n1"), a_pod("p").requesting(cpu="4"), a_pod("q").requesting(cpu="4"))
    world.wire.rules.append(Rule(fault, binding, times=1))
    async with world.scheduling():
        await asyncio.sleep(20)
        assert world.wire.hits[fault] == 1
        assert sorted(world.node_of(name) for name in ("p", "q")) == ["", "n1"]


async def test_room_comes_back_when_a_binding_is_refused_for_good(world: World) -> None:
    world.add(a_node("n1"), a_pod("cursed").requesting(cpu="4"))
    world.wire.rules.append(Rule(Fault.BROKEN, lambda r: "/cursed/binding" in r.target))
    async with world.scheduling():
        await asyncio.sleep(2)
        world.add(prioritized(a_pod("p").requesting(cpu="4"), 1, "Never"))
        await asyncio.sleep(20)
        assert world.node_of("p") == "n1"
        assert world.node_of("cursed") == ""


async def test_a_pod_bound_by_somebody_else_takes_its_room(world: World) -> None:
    world.add(a_node("n1"))
    async with world.scheduling():
        world.add(a_pod("theirs").requesting(cpu="3").on("n1"))
        await asyncio.sleep(0.1)
        world.add(a_pod("p").requesting(cpu="2"))
        await asyncio.sleep(5)
        assert world.node_of("p") == ""
        world.change("theirs", {"status": {"phase": "Succeeded"}})
        await asyncio.sleep(1)
        assert world.node_of("p") == "n1"


async def test_a_deleted_pod_is_not_scheduled_any_more(world: World) -> None:
    ending = a_pod("p").deleted_at(datetime(2026, 1, 1, tzinfo=UTC))
    world.add(ending)
    async with world.scheduling():
        world.add(a_node("n1"))
        await asyncio.sleep(5)
        assert world.node_of("p") == ""


@pytest.mark.parametrize("seed", range(5))
async def test_with_every_kind_of_trouble_nothing_is_overbooked_and_all_that_fits_is_bound(
    clock: Clock, seed: int
) -> None:
    world = World(clock, seed)
    rng = random.Random(seed)
    world.add(*(a_node(f"n{i}") for i in range(4)))
    for fault in (Fault.LOST_BEFORE, Fault.LOST_AFTER, Fault.BROKEN, Fault.CUT):
        world.wire.rules.append(Rule(fault, chance=0.1))
    world.wire.rules.append(Rule(Fault.CONFLICT, binding, chance=0.2))
    async with world.scheduling():
        for i in range(40):
            cpu = rng.choice(("500m", "1", "2"))
            world.add(prioritized(a_pod(f"p{i}").requesting(cpu=cpu), rng.randrange(3)))
            await asyncio.sleep(rng.random() * 0.2)
            if i % 10 == 9:
                world.server.break_watches()
        world.wire.rules.clear()
        await asyncio.sleep(60)
    for node in (codec.convert(a_node(f"n{i}").json, Node) for i in range(4)):
        here = [pod for pod in world.pods() if pod.spec.node_name == node.metadata.name]
        free = node_room.room_of(node, here).free()["cpu"].milli()
        assert free >= 0
        waiting = [node_room.demand_of(p) for p in world.pods() if not p.spec.node_name]
        assert all(demand.amounts["cpu"] > free for demand in waiting)
