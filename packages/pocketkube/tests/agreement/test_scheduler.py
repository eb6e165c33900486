"""Our scheduler in the place of kube-scheduler on a real API server, and side by side with it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
import os
from pathlib import Path
import random
import re

import pytest
from tests.agreement.arrivals.applications import a_machine, an_application
from tests.agreement.arrivals.feeding import prepare
from tests.agreement.random_clusters import a_random_node, a_random_pod, a_wishful_pod, pinned
from tests.e2e.waiting import accepted, until

from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.client.errors import Forbidden
from kubeloop.client.request import Deletion
from kubeloop.objects import core
from kubeloop.objects.core import EVENTS, NAMESPACES, NODES, PODS, Pod
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock, SystemClock
from kubeloop.testing.builders import PodBuilder, a_node, a_pod
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.nodes.machines import Shape
from pocketkube.scheduler import pod_info, schedule_one, scoring
from pocketkube.scheduler.schedule_one import Found, Unschedulable
from pocketkube.scheduler.snapshot import Cluster
from pocketkube.testing.nodes import simulated_nodes
from pocketkube.testing.scheduler import running_scheduler

CLUSTERS = 80
SOAK_CLUSTERS = 15 * int(os.environ.get("KORDER_SEEDS", "20"))


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane that nobody schedules on, and where a pod needs no service account."""
    plane = ControlPlane(without=("kube-scheduler", "kube-controller-manager"))
    asyncio.run(plane.start())
    yield plane
    asyncio.run(plane.stop())


@pytest.fixture
async def ours(plane: ControlPlane, clock: Clock) -> AsyncIterator[Client]:
    """A client of a plane that our scheduler and two simulated nodes of 4 cpu serve."""
    shapes = {"n1": Shape(), "n2": Shape(labels={"disk": "ssd"})}
    async with client_of(plane) as client:
        async with simulated_nodes(client, shapes, clock=clock):
            await until(lambda: untainted(client, 2))
            async with running_scheduler(client, clock=clock):
                yield client
                await client.delete_collection(PODS, "default")
                await until(lambda: is_empty(client))
        await client.delete_collection(NODES)


@asynccontextmanager
async def client_of(plane: ControlPlane) -> AsyncIterator[Client]:
    config, now = str(plane.kubeconfig()), SystemClock().now
    async with open_client(config, now=now, rng=random.Random(0)) as client:
        yield client


async def untainted(client: Client, number: int) -> bool:
    nodes = (await client.list(NODES)).items
    return len(nodes) == number and not any(node.spec.taints for node in nodes)


async def is_empty(client: Client) -> bool:
    return not (await client.list(PODS)).items


async def add_class(plane: ControlPlane, client: Client, name: str, *flags: str) -> None:
    """Makes a priority class and waits until pods can have it."""
    await plane.kubectl("create", "priorityclass", name, *flags)
    probe = a_pod("probe").but({"spec": {"priorityClassName": name}})
    await accepted(lambda: client.create(PODS, probe.json, dry_run=True), Forbidden)


async def pod_named(client: Client, name: str) -> Pod:
    return await client.get(PODS, Key("default", name))


async def running(client: Client, name: str) -> bool:
    return (await pod_named(client, name)).status.phase == "Running"


async def message_of(client: Client, name: str) -> str:
    conditions = (await pod_named(client, name)).status.conditions
    stated = core.reported(conditions, "PodScheduled")
    return stated.message if stated is not None and stated.reason == "Unschedulable" else ""


async def refusals(client: Client, name: str) -> int:
    """How often the scheduler found no room for a pod."""
    events = (await client.list(EVENTS, "default")).items
    return sum(
        event.series.count if event.series is not None else 1
        for event in events
        if event.regarding.name == name and event.reason == "FailedScheduling"
    )


async def nominate(client: Client, key: Key, node: str) -> None:
    body: JSON = {"status": {"nominatedNodeName": node}}
    await client.patch(PODS, key, body, subresource="status")


async def lift_the_gate(client: Client, key: Key) -> None:
    await client.patch(PODS, key, {"spec": {"schedulingGates": None}})


async def test_pods_are_bound_and_run_until_the_nodes_are_full(ours: Client) -> None:
    async with asyncio.TaskGroup() as group:
        for i in range(9):
            group.create_task(ours.create(PODS, a_pod(f"p{i}").requesting(cpu="1").json))

    async def settled() -> bool:
        pods = (await ours.list(PODS, "default")).items
        return sum(pod.status.phase == "Running" for pod in pods) == 8 and any(
            [await message_of(ours, pod.metadata.name) for pod in pods]
        )

    await until(settled)
    pods = (await ours.list(PODS, "default")).items
    seats = [pod.spec.node_name for pod in pods]
    assert sorted(seats) == ["", *["n1"] * 4, *["n2"] * 4]
    (left,) = [pod.metadata.name for pod in pods if not pod.spec.node_name]
    assert await message_of(ours, left) == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate,"
        " preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )
    first = next(pod.metadata.name for pod in pods if pod.spec.node_name)
    await ours.delete(PODS, Key("default", first))
    await until(lambda: running(ours, left))


async def test_a_gated_pod_is_scheduled_when_its_gate_is_lifted(ours: Client) -> None:
    await ours.create(PODS, a_pod("gated").gated_by("korder.dev/ticket").json)
    await ours.create(PODS, a_pod("free").json)
    await until(lambda: running(ours, "free"))
    gated = await pod_named(ours, "gated")
    assert [c.reason for c in gated.status.conditions] == ["SchedulingGated"]
    await lift_the_gate(ours, Key("default", "gated"))
    await until(lambda: running(ours, "gated"))


async def test_an_important_pod_pushes_others_aside_and_is_nominated_meanwhile(
    ours: Client, plane: ControlPlane
) -> None:
    for name, value in (("low", 1), ("high", 1000)):
        await add_class(plane, ours, name, f"--value={value}")
    full = a_pod("low1").requesting(cpu="4").but({"spec": {"priorityClassName": "low"}})
    await ours.create(PODS, full.json)
    await ours.create(PODS, full.but({"metadata": {"name": "low2"}}).json)
    await until(lambda: running(ours, "low1"))
    await until(lambda: running(ours, "low2"))
    on_disk: dict[str, JSON] = {
        "priorityClassName": "high",
        "nodeSelector": {"disk": "ssd"},
    }
    await ours.create(PODS, a_pod("urgent").requesting(cpu="3").but({"spec": on_disk}).json)

    async def nominated() -> bool:
        urgent = await pod_named(ours, "urgent")
        return urgent.status.nominated_node_name == "n2" or urgent.spec.node_name == "n2"

    await until(nominated)
    await until(lambda: running(ours, "urgent"))
    left = {pod.metadata.name: pod.spec.node_name for pod in (await ours.list(PODS)).items}
    assert sorted(left.values()) == ["n1", "n2"]
    assert left["urgent"] == "n2"
    for name in ("low", "high"):
        await plane.kubectl("delete", "priorityclass", name)


async def test_a_handed_over_room_is_not_stolen(ours: Client) -> None:
    """The hand-over of a ticket: nominate the gated pod, delete the guardian, lift the gate."""
    here: JSON = {"kubernetes.io/hostname": "n1"}
    whole = a_pod("guardian").requesting(cpu="4").but({"spec": {"nodeSelector": here}})
    await ours.create(PODS, whole.json)
    await until(lambda: running(ours, "guardian"))
    intruder = whole.but({"metadata": {"name": "intruder"}})
    await ours.create(PODS, intruder.json)
    await ours.create(PODS, whole.but({"metadata": {"name": "owner"}}).gated_by("g").json)
    owner = Key("default", "owner")
    await nominate(ours, owner, "n1")
    await until(lambda: message_of(ours, "intruder"))
    before = await refusals(ours, "intruder")
    await ours.delete(PODS, Key("default", "guardian"))

    async def refused_again() -> bool:
        left = {pod.metadata.name for pod in (await ours.list(PODS)).items}
        return "guardian" not in left and await refusals(ours, "intruder") > before

    await until(refused_again)
    assert (await pod_named(ours, "intruder")).spec.node_name == ""
    await lift_the_gate(ours, owner)
    await until(lambda: running(ours, "owner"))
    assert (await pod_named(ours, "intruder")).spec.node_name == ""


class Contest:
    """Random clusters on a plane with a real kube-scheduler, one pending pod at a time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.feasible = 0
        self.refused = 0

    async def round(self, seed: int) -> list[str]:
        """Compares verdicts on one cluster and returns what differs."""
        rng = random.Random(seed)
        names = [f"c{seed}-n{i}" for i in range(4)]
        for name in names:
            node = a_random_node(rng, name, roomy=name == names[-1])
            await self._client.create(NODES, node)
        for i in range(rng.randrange(7)):
            seated = a_random_pod(rng, f"seated{i}").on(rng.choice(names))
            await self._client.create(PODS, seated.json)
        if rng.random() < 0.4:
            await self._promise(a_random_pod(rng, "promised"), rng.choice(names))
        await self._settle(names[-1])
        cluster = await self._snapshot()
        pod = a_wishful_pod(rng)
        differences = []
        for variant in (pod, *(pinned(pod, name) for name in names)):
            expected, stated = await self._both(variant, cluster)
            if expected != stated:
                differences.append(f"seed {seed}: we say {expected}, kube-scheduler {stated}")
        await self._clear()
        return differences

    async def _both(self, pod: PodBuilder, cluster: Cluster) -> tuple[str, str]:
        """What we and kube-scheduler say: nothing if it is scheduled, otherwise why not."""
        made = await self._client.create(PODS, pod.json)
        tenant = pod_info.measure(made)
        decision = schedule_one.choose(tenant, cluster, random.Random(1))
        able = schedule_one.feasible(tenant, cluster)
        assert isinstance(decision, Found) == bool(able)
        seat, why = await self._verdict(Key(made.metadata.namespace, "pending"))
        await self._client.delete(PODS, Key(made.metadata.namespace, "pending"), grace_seconds=0)
        if seat:
            self.feasible += 1
            assert seat in able or not able
        else:
            self.refused += 1
        return ("" if isinstance(decision, Found) else decision.message), why

    async def _verdict(self, key: Key) -> tuple[str, str]:
        async with asyncio.timeout(20):
            while True:
                pod = await self._client.get(PODS, key)
                stated = core.reported(pod.status.conditions, "PodScheduled")
                if pod.spec.node_name or stated is not None:
                    return pod.spec.node_name, stated.message if stated is not None else ""
                await asyncio.sleep(0.003)

    async def _promise(self, pod: PodBuilder, node: str) -> None:
        made = await self._client.create(PODS, pod.gated_by("ticket").json)
        key = Key(made.metadata.namespace, made.metadata.name)
        await nominate(self._client, key, node)

    async def _settle(self, last: str) -> None:
        """Waits until kube-scheduler knows the last node, and so all of them."""
        everything: JSON = [{"operator": "Exists"}]
        probe = pinned(a_pod("probe").but({"spec": {"tolerations": everything}}), last)
        await self._client.create(PODS, probe.json)

        async def bound() -> bool:
            return bool((await pod_named(self._client, "probe")).spec.node_name)

        await until(bound)
        await self._client.delete(PODS, Key("default", "probe"), grace_seconds=0)

    async def _snapshot(self) -> Cluster:
        cluster = Cluster()
        for namespace in (await self._client.list(NAMESPACES)).items:
            cluster.namespaces[namespace.metadata.name] = namespace.metadata.labels
        for node in (await self._client.list(NODES)).items:
            cluster.set_node(node.metadata.name, node)
        for pod in (await self._client.list(PODS)).items:
            tenant = pod_info.measure(pod)
            if pod.spec.node_name:
                cluster.seat(tenant, pod.spec.node_name)
            else:
                cluster.promise(tenant, pod.status.nominated_node_name)
        return cluster

    async def _clear(self) -> None:
        for namespace in ("default", "elsewhere"):
            await self._client.delete_collection(
                PODS, namespace, deletion=Deletion(grace_seconds=0)
            )
        await self._client.delete_collection(NODES)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(CLUSTERS), id="a few clusters", marks=pytest.mark.timeout(300)),
        pytest.param(
            range(1000, 1000 + SOAK_CLUSTERS),
            id="many clusters",
            marks=[pytest.mark.soak, pytest.mark.timeout(0)],
        ),
    ],
)
async def test_we_say_of_every_node_what_kube_scheduler_says_and_why(
    a_control_plane: Callable[..., Awaitable[ControlPlane]], seeds: range
) -> None:
    plane = await a_control_plane(without=("kube-controller-manager",))
    async with client_of(plane) as client:
        labels: JSON = {"team": "other"}
        await client.create(NAMESPACES, {"metadata": {"name": "elsewhere", "labels": labels}})
        contest = Contest(client)
        differences = [line for seed in seeds for line in await contest.round(seed)]
        assert differences == []
        assert min(contest.feasible, contest.refused) > len(seeds) // 2


class Weighing(Contest):
    """Clusters in which a pod has several nodes to choose from."""

    def __init__(self, client: Client, log: Path) -> None:
        super().__init__(client)
        self._log = log
        self.compared = 0

    async def round(self, seed: int) -> list[str]:
        rng = random.Random(seed)
        names = [f"c{seed}-n{i}" for i in range(6)]
        for name in names:
            await self._join(name, a_machine(rng, rng.choice("abc")))
        applications = [an_application(rng, f"app{i}") for i in range(7)]
        for i in range(rng.randrange(4, 20)):
            pod = rng.choice(applications).but({"metadata": {"name": f"seated{i}"}})
            await self._client.create(PODS, pod.on(rng.choice(names)).json)
        await self._settle(names[-1])
        differences = []
        for i, application in enumerate(applications):
            pod = application.but({"metadata": {"name": f"s{seed}-{i}"}})
            differences += await self._weigh(pod.but({"spec": {"priorityClassName": None}}))
        await self._clear()
        return differences

    async def _join(self, name: str, shape: Shape) -> None:
        """Adds a node that nobody plays; the taint that says so is taken away."""
        taints: list[JSON] = [dict(taint) for taint in shape.taints]
        meta: JSON = {"name": name, "labels": {"kubernetes.io/hostname": name, **shape.labels}}
        status: JSON = {"capacity": shape.capacity, "allocatable": shape.capacity}
        await self._client.create(NODES, {"metadata": meta, "status": status})
        await self._client.patch(NODES, Key("", name), {"spec": {"taints": taints}})

    async def _weigh(self, pod: PodBuilder) -> list[str]:
        """What differs in the worth of nodes; only differences between them matter."""
        cluster = await self._snapshot()
        made = await self._client.create(PODS, pod.json)
        tenant, key = pod_info.measure(made), Key("default", made.metadata.name)
        await self._verdict(key)
        able = sorted(schedule_one.feasible(tenant, cluster))
        if len(able) < 2:
            return []
        self.compared += 1
        ours = scoring.scores(tenant, cluster, able)
        theirs = self._worth(key.name)
        shifts = {theirs.get(name, 0) - score for name, score in ours.items()}
        same = ours.keys() == theirs.keys() and len(shifts) == 1
        return [] if same else [f"{key}: we say {ours}, kube-scheduler {theirs}"]

    def _worth(self, pod: str) -> dict[str, int]:
        """What kube-scheduler has written about its choice before it bound the pod."""
        said = re.finditer(
            rf'final score for pod" pod="default/{pod}" node="(\S+)" score=(\d+)',
            self._log.read_text(),
        )
        return {found[1]: int(found[2]) for found in said}


async def test_nodes_are_worth_to_us_what_they_are_worth_to_kube_scheduler(
    a_control_plane: Callable[..., Awaitable[ControlPlane]], tmp_path: Path
) -> None:
    plane = await a_control_plane(
        folder=tmp_path,
        without=("kube-controller-manager",),
        flags={"kube-scheduler": ("-v=10",)},
    )
    async with client_of(plane) as client:
        await prepare(client)
        contest = Weighing(client, tmp_path / "kube-scheduler.log")
        differences = [line for seed in range(5) for line in await contest.round(seed)]
        assert differences == []
        assert contest.compared > 20


class Pushing(Contest):
    """Full clusters in which an important pod has to push others aside."""

    async def round(self, seed: int) -> list[str]:
        rng = random.Random(seed)
        names = [f"c{seed}-n{i}" for i in range(3)]
        for name in names:
            await self._client.create(NODES, a_node(name).json)
        for i in range(12):
            await self._seat(f"seated{i}", rng.choice(names), rng, minute=i)
        await self._settle(names[-1])
        cluster = await self._snapshot()
        made = await self._client.create(PODS, urgent(rng.choice(("2", "3", "3500m"))).json)
        decision = schedule_one.choose(pod_info.measure(made), cluster, random.Random(seed))
        ours = ("", [])
        if isinstance(decision, Unschedulable):
            victims = sorted(victim.pod.metadata.name for victim in decision.victims)
            ours = (decision.nominated, victims)
            self.refused += bool(victims)
        theirs = await self._pushed(len(ours[1]))
        await self._clear()
        return [] if ours == theirs else [f"seed {seed}: we {ours}, kube-scheduler {theirs}"]

    async def _seat(self, name: str, node: str, rng: random.Random, minute: int) -> None:
        spec: JSON = {"priorityClassName": rng.choice(("p1", "p2", "p3")), "tolerations": ANYWHERE}
        pod = a_pod(name).requesting(cpu=rng.choice(("500m", "1", "2"))).but({"spec": spec})
        made = await self._client.create(PODS, pod.on(node).json)
        since: JSON = {"status": {"startTime": f"2026-01-01T00:{minute:02}:00Z"}}
        await self._client.patch(
            PODS, Key("default", made.metadata.name), since, subresource="status"
        )

    async def _pushed(self, expected: int) -> tuple[str, list[str]]:
        """Where kube-scheduler has nominated the pod to, and who has to leave for it."""

        async def settled() -> bool:
            pod = await pod_named(self._client, "urgent")
            return bool(pod.spec.node_name or await message_of(self._client, "urgent"))

        await until(settled)
        async with asyncio.timeout(20):
            while True:
                leaving = sorted(
                    pod.metadata.name
                    for pod in (await self._client.list(PODS)).items
                    if pod.metadata.deletion_timestamp is not None
                )
                if len(leaving) >= expected:
                    break
                await asyncio.sleep(0.01)
        return (await pod_named(self._client, "urgent")).status.nominated_node_name, leaving


ANYWHERE: list[JSON] = [{"operator": "Exists"}]


def urgent(cpu: str) -> PodBuilder:
    spec: JSON = {"priorityClassName": "p9", "tolerations": ANYWHERE}
    return a_pod("urgent").requesting(cpu=cpu).but({"spec": spec})


async def test_we_push_aside_whom_kube_scheduler_pushes(
    a_control_plane: Callable[..., Awaitable[ControlPlane]],
) -> None:
    plane = await a_control_plane(without=("kube-controller-manager",))
    async with client_of(plane) as client:
        for value in (1, 2, 3, 9):
            await add_class(plane, client, f"p{value}", f"--value={value}")
        contest = Pushing(client)
        differences = [line for seed in range(20) for line in await contest.round(seed)]
        assert differences == []
        assert contest.refused > 10


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        pytest.param("PreemptLowerPriority", "", id="is withdrawn"),
        pytest.param("Never", "n1", id="stays with a pod that never preempts"),
    ],
)
async def test_after_a_failed_attempt_a_nomination(
    a_control_plane: Callable[..., Awaitable[ControlPlane]], clock: Clock, policy: str, left: str
) -> None:
    plane = await a_control_plane(without=("kube-controller-manager",))
    async with client_of(plane) as client, running_scheduler(client, clock=clock, name="ours"):
        await add_class(plane, client, "some", "--value=0", f"--preemption-policy={policy}")
        await client.create(NODES, a_node("n1").json)
        for scheduler in ("default-scheduler", "ours"):
            spec: JSON = {"priorityClassName": "some", "schedulerName": scheduler}
            pod = a_pod(scheduler).requesting(cpu="9").gated_by("ticket").but({"spec": spec})
            key = Key("default", scheduler)
            await client.create(PODS, pod.json)
            await nominate(client, key, "n1")
            await lift_the_gate(client, key)
            await until(lambda name=scheduler: message_of(client, name))
        pods = [await pod_named(client, name) for name in ("default-scheduler", "ours")]
        assert [pod.status.nominated_node_name for pod in pods] == [left, left]
        assert await message_of(client, "ours") == await message_of(client, "default-scheduler")
