"""Simulated nodes under a real scheduler: pods run, end and are refused as on real ones."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
import secrets

import pytest

from kubeloop.client.client import Client
from kubeloop.client.errors import NotFound
from kubeloop.objects.core import LEASES, NODES, PODS, Pod, is_ready
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import Clock
from pocketkube.nodes.conditions import NOT_READY
from pocketkube.nodes.machines import Machines, Shape
from pocketkube.testing.nodes import simulated_nodes

SHAPES = {
    "small": Shape(cpu="2", memory="4Gi"),
    "marked": Shape(
        cpu="8",
        labels={"node-type": "compute"},
        extended={"nvidia.com/gpu": "2"},
        taints=({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},),
    ),
}


@pytest.fixture
async def names() -> dict[str, str]:
    """Node names are the cluster's, so each test has its own."""
    suffix = secrets.token_hex(3)
    return {name: f"{name}-{suffix}" for name in SHAPES}


@pytest.fixture
async def nodes(client: Client, clock: Clock, names: dict[str, str]) -> AsyncIterator[Machines]:
    shapes = {names[name]: shape for name, shape in SHAPES.items()}
    async with simulated_nodes(client, shapes, clock=clock) as nodes:
        yield nodes
    for name in names.values():
        await client.delete(NODES, Key("", name))


def a_pod(name: str, namespace: str, cpu: str, **spec: JSON) -> dict[str, JSON]:
    container: JSON = {"name": "app", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
    }


async def until(check: Callable[[], Awaitable[object]], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not await check():
            await asyncio.sleep(0.05)


async def test_nodes_are_ready_untainted_and_keep_their_leases(
    client: Client, nodes: Machines, names: dict[str, str]
) -> None:
    async def usable() -> bool:
        found = [await client.get(NODES, Key("", name)) for name in names.values()]
        return all(is_ready(n) and all(t.key != NOT_READY for t in n.spec.taints) for n in found)

    async def registered() -> bool:
        listed = {node.metadata.name for node in (await client.list(NODES)).items}
        return listed.issuperset(names.values())

    await until(registered)
    await until(usable)
    marked = await client.get(NODES, Key("", names["marked"]))
    assert [taint.key for taint in marked.spec.taints] == ["dedicated"]
    assert marked.status.allocatable["nvidia.com/gpu"] == "2"
    lease = await client.get(LEASES, Key("kube-node-lease", names["small"]))
    assert lease.spec.holder_identity == names["small"]


async def test_a_scheduled_pod_runs_and_a_deleted_one_is_gone_soon(
    client: Client, nodes: Machines, names: dict[str, str], namespace: str, clock: Clock
) -> None:
    key = Key(namespace, "worker")
    await client.create(
        PODS,
        a_pod(
            "worker",
            namespace,
            "500m",
            nodeSelector={"kubernetes.io/hostname": names["small"]},
            terminationGracePeriodSeconds=30,
        ),
    )

    async def runs() -> bool:
        pod = await client.get(PODS, key)
        return pod.status.phase == "Running" and pod.spec.node_name == names["small"]

    await until(runs)
    asked = clock.monotonic()
    assert isinstance(await client.delete(PODS, key), Pod)

    async def gone() -> bool:
        try:
            await client.get(PODS, key)
        except NotFound:
            return True
        return False

    await until(gone)
    assert clock.monotonic() - asked < 15


async def test_a_pod_bound_past_the_scheduler_is_refused_when_it_does_not_fit(
    client: Client, nodes: Machines, names: dict[str, str], namespace: str
) -> None:
    here: dict[str, JSON] = {"nodeName": names["small"]}
    await client.create(PODS, a_pod("first", namespace, "1500m", **here))

    async def phase(name: str) -> tuple[str, str]:
        status = (await client.get(PODS, Key(namespace, name))).status
        return status.phase, status.reason

    async def first_runs() -> bool:
        return await phase("first") == ("Running", "")

    await until(first_runs)
    await client.create(PODS, a_pod("second", namespace, "600m", **here))

    async def second_is_refused() -> bool:
        return await phase("second") == ("Failed", "OutOfcpu")

    await until(second_is_refused)
    refused = await client.get(PODS, Key(namespace, "second"))
    assert "requested: 600, used: 1500, capacity: 2000" in refused.status.message


async def test_a_lost_node_does_nothing_until_it_is_back(
    client: Client, nodes: Machines, names: dict[str, str], namespace: str
) -> None:
    key = Key(namespace, "waiting")
    await client.create(PODS, a_pod("probe", namespace, "100m", nodeName=names["small"]))

    async def running(name: str) -> bool:
        return (await client.get(PODS, Key(namespace, name))).status.phase == "Running"

    await until(lambda: running("probe"))
    nodes.lose(names["small"])
    await client.create(PODS, a_pod("waiting", namespace, "100m", nodeName=names["small"]))
    await client.create(PODS, a_pod("elsewhere", namespace, "100m", nodeName=names["marked"]))
    await until(lambda: running("elsewhere"))
    assert (await client.get(PODS, key)).status.phase == "Pending"
    nodes.recover(names["small"])
    await until(lambda: running("waiting"))
