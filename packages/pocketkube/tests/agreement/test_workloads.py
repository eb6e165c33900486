"""The workload actors in place of kube-controller-manager, on a real API server with a real scheduler and simulated nodes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
import json
import random
import secrets

import pytest
from tests.e2e.waiting import until

from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.client.errors import NotFound
from kubeloop.client.request import Propagation
from kubeloop.objects import workloads
from kubeloop.objects.core import CONFIG_MAPS, NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS, Pod
from kubeloop.objects.meta import JSON, Key, Kind, T
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.controlplane import ControlPlane
from pocketkube.controllers.stored_kinds import stored_kinds
from pocketkube.controllers.workloads import add_workloads
from pocketkube.nodes.machines import Machines, Shape
from pocketkube.testing.nodes import simulated_nodes

SHAPES = {f"n{number}": Shape(cpu="4") for number in range(3)}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A plane whose workload controllers are ours."""
    plane = ControlPlane(without=("kube-controller-manager",))
    asyncio.run(plane.start())
    yield plane
    asyncio.run(plane.stop())


@pytest.fixture
async def client(plane: ControlPlane, clock: Clock) -> AsyncIterator[Client]:
    path = str(plane.kubeconfig())
    async with open_client(path, now=clock.now, rng=random.Random(0)) as client:
        yield client


@asynccontextmanager
async def actors(client: Client, clock: Clock) -> AsyncIterator[None]:
    manager = Manager(client, Settings(identity="actors"), clock=clock, rng=random.Random(1))
    add_workloads(manager, client, await stored_kinds(client))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        try:
            yield
        finally:
            stop.set()


@pytest.fixture
async def nodes(client: Client, clock: Clock) -> AsyncIterator[Machines]:
    """Simulated nodes and our controllers, as long as the test runs."""
    async with simulated_nodes(client, SHAPES, clock=clock) as nodes, actors(client, clock):
        yield nodes


@pytest.fixture
async def namespace(client: Client, nodes: Machines) -> str:
    name = f"test-{secrets.token_hex(4)}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    return name


def template(image: str = "app:1", **spec: JSON) -> dict[str, JSON]:
    container: JSON = {"name": "app", "image": image}
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
    }


def workload(kind: Kind[T], namespace: str, **spec: JSON) -> str:
    said = {"selector": {"matchLabels": {"app": "web"}}, "template": template(), **spec}
    return json.dumps(
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": "web", "namespace": namespace},
            "spec": said,
        }
    )


async def live(client: Client, namespace: str) -> list[Pod]:
    pods = (await client.list(PODS, namespace)).items
    return [pod for pod in pods if pod.metadata.deletion_timestamp is None]


def images(pods: list[Pod]) -> set[str]:
    return {container.image for pod in pods for container in pod.spec.containers}


async def is_gone(client: Client, kind: Kind[T], key: Key) -> bool:
    try:
        await client.get(kind, key)
    except NotFound:
        return True
    return False


async def test_a_deployment_rolls_out_scales_changes_and_goes_back(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    status = ("rollout", "status", "-n", namespace, "deployment/web", "--timeout=30s")
    body = workload(workloads.DEPLOYMENTS, namespace, replicas=3)
    await plane.kubectl("apply", "-f", "-", input=body)
    assert "successfully rolled out" in await plane.kubectl(*status)
    assert len(await live(client, namespace)) == 3

    await plane.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=5")
    assert "successfully rolled out" in await plane.kubectl(*status)
    assert len(await live(client, namespace)) == 5

    await plane.kubectl("set", "image", "-n", namespace, "deployment/web", "app=app:2")
    assert "successfully rolled out" in await plane.kubectl(*status)
    assert images(await live(client, namespace)) == {"app:2"}

    await plane.kubectl("rollout", "undo", "-n", namespace, "deployment/web")
    assert "successfully rolled out" in await plane.kubectl(*status)
    assert images(await live(client, namespace)) == {"app:1"}
    history = await plane.kubectl("rollout", "history", "-n", namespace, "deployment/web")
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["2", "3"]

    await plane.kubectl(
        "wait", "-n", namespace, "--for=condition=Available", "deployment/web", "--timeout=10s"
    )
    sets = (await client.list(workloads.REPLICA_SETS, namespace)).items
    assert sorted(each.spec.replicas for each in sets) == [0, 5]


async def test_a_paused_deployment_waits_and_one_that_recreates_never_mixes(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    status = ("rollout", "status", "-n", namespace, "deployment/web", "--timeout=30s")
    body = workload(workloads.DEPLOYMENTS, namespace, replicas=2, strategy={"type": "Recreate"})
    await plane.kubectl("apply", "-f", "-", input=body)
    await plane.kubectl(*status)
    await plane.kubectl("rollout", "pause", "-n", namespace, "deployment/web")
    await plane.kubectl("set", "image", "-n", namespace, "deployment/web", "app=app:2")
    await plane.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=3")

    async def three() -> bool:
        return len(await live(client, namespace)) == 3

    await until(three)
    assert images(await live(client, namespace)) == {"app:1"}
    await plane.kubectl("rollout", "resume", "-n", namespace, "deployment/web")

    async def done() -> bool:
        present = (await client.list(PODS, namespace)).items
        assert len(images(list(present))) <= 1
        return len(present) == 3 and images(list(present)) == {"app:2"}

    await until(done)


async def test_deletion_takes_the_children_along_leaves_them_or_waits_for_them(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    key = Key(namespace, "web")
    body = workload(workloads.DEPLOYMENTS, namespace, replicas=2)

    async def running() -> bool:
        pods = await live(client, namespace)
        return len(pods) == 2 and all(pod.status.phase == "Running" for pod in pods)

    async def nothing_left() -> bool:
        sets = (await client.list(workloads.REPLICA_SETS, namespace)).items
        return not sets and not (await client.list(PODS, namespace)).items

    await plane.kubectl("apply", "-f", "-", input=body)
    await until(running)
    await client.delete(workloads.DEPLOYMENTS, key, propagation=Propagation.ORPHAN)
    await until(lambda: is_gone(client, workloads.DEPLOYMENTS, key))
    (orphan,) = (await client.list(workloads.REPLICA_SETS, namespace)).items
    assert orphan.metadata.owner_references == ()
    before = {pod.metadata.uid for pod in await live(client, namespace)}

    await plane.kubectl("apply", "-f", "-", input=body)
    await plane.kubectl("rollout", "status", "-n", namespace, "deployment/web", "--timeout=30s")
    adopted = await client.get(workloads.REPLICA_SETS, Key(namespace, orphan.metadata.name))
    assert adopted.metadata.owner_references[0].name == "web"
    assert {pod.metadata.uid for pod in await live(client, namespace)} == before

    await client.delete(workloads.DEPLOYMENTS, key, propagation=Propagation.FOREGROUND)
    await until(lambda: is_gone(client, workloads.DEPLOYMENTS, key))
    assert await nothing_left()

    await plane.kubectl("apply", "-f", "-", input=body)
    await until(running)
    await client.delete(workloads.DEPLOYMENTS, key, propagation=Propagation.BACKGROUND)
    await until(nothing_left)


async def test_a_child_whose_owner_never_was_is_collected_and_one_with_another_owner_kept(
    client: Client, namespace: str
) -> None:
    owner = await client.create(
        CONFIG_MAPS, {"metadata": {"name": "owner", "namespace": namespace}}
    )
    missing: JSON = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "1-2-3"}
    there: JSON = {**missing, "name": "owner", "uid": owner.metadata.uid}  # type: ignore[dict-item]
    for name, refs in {"lost": [missing], "kept": [missing, there]}.items():
        meta: JSON = {"name": name, "namespace": namespace, "ownerReferences": refs}
        await client.create(CONFIG_MAPS, {"metadata": meta})
    await until(lambda: is_gone(client, CONFIG_MAPS, Key(namespace, "lost")))

    async def freed() -> bool:
        kept = await client.get(CONFIG_MAPS, Key(namespace, "kept"))
        return [ref.uid for ref in kept.metadata.owner_references] == [owner.metadata.uid]

    await until(freed)


async def test_a_stateful_set_is_filled_renewed_and_emptied_in_order(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    status = ("rollout", "status", "-n", namespace, "statefulset/web", "--timeout=30s")
    body = workload(workloads.STATEFUL_SETS, namespace, replicas=3, serviceName="web")
    await plane.kubectl("apply", "-f", "-", input=body)
    await plane.kubectl(*status)
    pods = sorted(await live(client, namespace), key=lambda pod: int(pod.metadata.resource_version))
    assert {pod.metadata.name for pod in pods} == {"web-0", "web-1", "web-2"}
    ready = {pod.metadata.name: pod.status.start_time for pod in pods}
    assert ready["web-0"] <= ready["web-1"] <= ready["web-2"]  # type: ignore[operator]

    await plane.kubectl("set", "image", "-n", namespace, "statefulset/web", "app=app:2")
    assert "roll out complete" in await plane.kubectl(*status)
    assert images(await live(client, namespace)) == {"app:2"}

    await plane.kubectl("scale", "-n", namespace, "statefulset/web", "--replicas=1")

    async def one() -> bool:
        return [p.metadata.name for p in (await client.list(PODS, namespace)).items] == ["web-0"]

    await until(one)


async def test_a_daemon_set_follows_the_nodes(
    plane: ControlPlane, client: Client, namespace: str, nodes: Machines
) -> None:
    status = ("rollout", "status", "-n", namespace, "daemonset/web", "--timeout=30s")
    body = workload(workloads.DAEMON_SETS, namespace)
    await plane.kubectl("apply", "-f", "-", input=body)

    async def places() -> set[str]:
        pods = await live(client, namespace)
        return {pod.spec.node_name for pod in pods if pod.status.phase == "Running"}

    async def everywhere() -> bool:
        return await places() == set(SHAPES)

    await until(everywhere)
    assert "successfully rolled out" in await plane.kubectl(*status)
    extra = f"extra-{secrets.token_hex(3)}"
    nodes.add(extra, Shape())

    async def on_the_new_one_too() -> bool:
        return await places() == {*SHAPES, extra}

    await until(on_the_new_one_too)
    await plane.kubectl("taint", "node", extra, "maintenance=now:NoExecute")
    await until(everywhere)
    await plane.kubectl("set", "image", "-n", namespace, "daemonset/web", "app=app:2")
    assert "successfully rolled out" in await plane.kubectl(*status)
    assert images(await live(client, namespace)) == {"app:2"}
    await client.delete(NODES, Key("", extra))


async def finish(client: Client, pod: Pod, phase: str) -> None:
    key = Key(pod.metadata.namespace, pod.metadata.name)
    await client.patch(PODS, key, {"status": {"phase": phase}}, subresource="status")


async def test_a_job_completes_and_is_forgotten_when_its_time_is_over(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    spec: JSON = {
        "completions": 3,
        "parallelism": 2,
        "ttlSecondsAfterFinished": 8,
        "template": template(restartPolicy="Never"),
    }
    meta: JSON = {"name": "work", "namespace": namespace}
    key = Key(namespace, "work")
    await client.create(workloads.JOBS, {"metadata": meta, "spec": spec})
    done = 0
    while done < 3:

        async def some_run() -> list[Pod]:
            pods = await live(client, namespace)
            assert len([p for p in pods if p.status.phase in ("Pending", "Running")]) <= 2
            return [pod for pod in pods if pod.status.phase == "Running"]

        await until(some_run)
        for pod in (await some_run())[: 3 - done]:
            await finish(client, pod, "Succeeded")
            done += 1
    await plane.kubectl(
        "wait", "-n", namespace, "--for=condition=Complete", "job/work", "--timeout=10s"
    )
    job = await client.get(workloads.JOBS, key)
    assert (job.status.succeeded, job.status.failed, job.status.active) == (3, 0, 0)
    assert job.status.completion_time is not None
    await until(lambda: is_gone(client, workloads.JOBS, key))
    assert not await live(client, namespace)


async def test_a_job_that_fails_too_often_is_given_up_and_a_suspended_one_rests(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    spec: JSON = {"backoffLimit": 0, "suspend": True, "template": template(restartPolicy="Never")}
    meta: JSON = {"name": "work", "namespace": namespace}
    await client.create(workloads.JOBS, {"metadata": meta, "spec": spec})
    wait = ("wait", "-n", namespace, "job/work", "--timeout=10s")
    await plane.kubectl(*wait, "--for=condition=Suspended")
    assert not await live(client, namespace)
    await client.patch(workloads.JOBS, Key(namespace, "work"), {"spec": {"suspend": False}})

    async def runs() -> list[Pod]:
        return [pod for pod in await live(client, namespace) if pod.status.phase == "Running"]

    await until(runs)
    await finish(client, (await runs())[0], "Failed")
    await plane.kubectl(*wait, "--for=condition=Failed")
    job = await client.get(workloads.JOBS, Key(namespace, "work"))
    assert (job.status.failed, job.status.succeeded) == (1, 0)


async def test_a_deleted_namespace_empties_itself_waits_for_finalizers_and_goes(
    plane: ControlPlane, client: Client, namespace: str
) -> None:
    async def has_its_account() -> bool:
        return not await is_gone(client, SERVICE_ACCOUNTS, Key(namespace, "default"))

    await until(has_its_account)
    body = workload(workloads.DEPLOYMENTS, namespace, replicas=2)
    await plane.kubectl("apply", "-f", "-", input=body)
    job: JSON = {"template": template(restartPolicy="Never")}
    await client.create(
        workloads.JOBS, {"metadata": {"name": "job", "namespace": namespace}, "spec": job}
    )
    held: JSON = {"name": "held", "namespace": namespace, "finalizers": ["korder.dev/test"]}
    await client.create(CONFIG_MAPS, {"metadata": held})
    await plane.kubectl("rollout", "status", "-n", namespace, "deployment/web", "--timeout=30s")
    await client.delete(NAMESPACES, Key("", namespace))

    async def only_the_held_one() -> bool:
        pods = (await client.list(PODS, namespace)).items
        return not pods and [
            each.metadata.name for each in (await client.list(CONFIG_MAPS, namespace)).items
        ] == ["held"]

    await until(only_the_held_one)
    assert not await is_gone(client, NAMESPACES, Key("", namespace))
    await client.patch(CONFIG_MAPS, Key(namespace, "held"), {"metadata": {"finalizers": []}})
    await until(lambda: is_gone(client, NAMESPACES, Key("", namespace)))
