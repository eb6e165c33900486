"""Pods that end by themselves on simulated machines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
import random
from typing import Any, cast

import pytest

from kubeloop.client.client import Client
from kubeloop.objects.core import EVENTS, PODS, ContainerStatus, Pod
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.manager import Manager, Settings
from kubeloop.testing.builders import a_pod
from pocketkube.controllers import pod_control
from pocketkube.controllers.namespaces import DefaultAccounts
from pocketkube.nodes.heartbeat import Nodes
from pocketkube.nodes.kubelet import Kubelet
from pocketkube.nodes.machines import Machines, Shape
from pocketkube.testing.apiserver import embedded_server


class World:
    """One machine, and a server that knows it."""

    def __init__(self, client: Client, clock: VirtualClock) -> None:
        self.client = client
        self.clock = clock
        self.machines = Machines()
        self.machines.add("n1", Shape())

    @asynccontextmanager
    async def kubelet(self) -> AsyncIterator[None]:
        """Plays the machine until the block ends, and then forgets all."""
        settings = Settings(identity="kubelet")
        manager = Manager(self.client, settings, clock=self.clock, rng=random.Random(1))
        DefaultAccounts(manager)
        Nodes(manager, self.machines, leases=False)
        Kubelet(manager, self.machines)
        async with asyncio.TaskGroup() as group:
            process = group.create_task(manager.run(asyncio.Event()))
            await asyncio.sleep(5)
            try:
                yield
            finally:
                process.cancel()

    async def run(self, policy: str, **annotations: str) -> None:
        """Makes a pod that says of itself how long it runs, and waits until it does."""
        pod = cast("dict[str, Any]", a_pod("p").on("n1").json)
        pod["metadata"]["annotations"] = {
            f"korder.dev/{name.replace('_', '-')}": text for name, text in annotations.items()
        }
        pod["spec"]["restartPolicy"] = policy
        await self.client.create(PODS, pod)
        await asyncio.sleep(1)

    async def pod(self) -> Pod:
        return await self.client.get(PODS, Key("default", "p"))

    async def phase(self) -> str:
        return (await self.pod()).status.phase

    async def container(self) -> ContainerStatus:
        (container,) = (await self.pod()).status.container_statuses
        return container


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = VirtualClock()
    async with embedded_server(clock) as server:
        yield World(server.client(), clock)


@pytest.mark.parametrize(
    ("policy", "annotation", "phase", "code"),
    [
        pytest.param("Never", "runs_for", "Succeeded", 0, id="a run that is not repeated"),
        pytest.param("OnFailure", "runs_for", "Succeeded", 0, id="a run that went well"),
        pytest.param("Never", "fails_after", "Failed", 1, id="a failure that is not repeated"),
    ],
)
async def test_a_pod_ends_when_its_time_is_over(
    world: World, policy: str, annotation: str, phase: str, code: int
) -> None:
    async with world.kubelet():
        await world.run(policy, **{annotation: "90m"})
        await asyncio.sleep(89 * 60)
        assert await world.phase() == "Running"
        await asyncio.sleep(2 * 60)
        assert await world.phase() == phase
        ended = (await world.container()).state.terminated
        assert ended is not None
        assert ended.exit_code == code
        assert ended.started_at is not None
        assert ended.finished_at is not None
        assert ended.finished_at - ended.started_at == timedelta(minutes=90)
        assert not pod_control.is_ready(await world.pod())


async def test_whichever_comes_first_counts(world: World) -> None:
    async with world.kubelet():
        await world.run("Never", runs_for="1h", fails_after="30s")
        await asyncio.sleep(60)
        assert await world.phase() == "Failed"


async def test_the_time_goes_on_while_the_kubelet_is_down(world: World) -> None:
    async with world.kubelet():
        await world.run("Never", runs_for="10m")
        await asyncio.sleep(60)
    await asyncio.sleep(60)
    async with world.kubelet():
        await asyncio.sleep(7 * 60)
        assert await world.phase() == "Running"
        await asyncio.sleep(60)
        assert await world.phase() == "Succeeded"


async def test_a_pod_that_always_runs_is_restarted_with_growing_pauses(world: World) -> None:
    async with world.kubelet():
        await world.run("Always", fails_after="30s")
        await asyncio.sleep(35)  # it has failed and was run again at once
        container = await world.container()
        assert (container.restart_count, container.ready) == (1, True)
        assert container.last_state.terminated is not None
        assert container.last_state.terminated.exit_code == 1
        await asyncio.sleep(30)  # it has failed again and has to wait
        container, pod = await world.container(), await world.pod()
        assert container.state.waiting is not None
        assert container.state.waiting.reason == "CrashLoopBackOff"
        assert (pod.status.phase, pod_control.is_ready(pod)) == ("Running", False)
        await asyncio.sleep(10)
        container, pod = await world.container(), await world.pod()
        assert (container.restart_count, pod_control.is_ready(pod)) == (2, True)


async def test_a_pod_that_waits_to_run_again_does_so_after_the_kubelet_was_down(
    world: World,
) -> None:
    async with world.kubelet():
        await world.run("Always", runs_for="30s")
        await asyncio.sleep(62)
    async with world.kubelet():
        await asyncio.sleep(10)
        container = await world.container()
        assert (container.restart_count, container.ready) == (2, True)


async def test_a_long_run_is_repeated_at_once(world: World) -> None:
    async with world.kubelet():
        await world.run("Always", runs_for="1h")
        await asyncio.sleep(24 * 3600 + 60)
        container = await world.container()
        assert (container.restart_count, container.ready) == (24, True)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("soon", "'soon' is not a duration: write numbers with units", id="no length"),
        pytest.param("-5m", "'-5m' is not above zero, allowed is", id="less than nothing"),
        pytest.param("0s", "'0s' is not above zero, allowed is", id="nothing"),
    ],
)
async def test_a_bad_value_is_reported_and_the_pod_runs_on(
    world: World, text: str, complaint: str
) -> None:
    async with world.kubelet():
        await world.run("Never", runs_for=text)
        await asyncio.sleep(3600)
        assert await world.phase() == "Running"
        (event,) = (await world.client.list(EVENTS, "default")).items
        assert (event.type, event.reason) == ("Warning", "InvalidAnnotation")
        assert event.note.startswith("annotation korder.dev/runs-for: ")
        assert complaint in event.note
