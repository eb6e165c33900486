"""Fixtures for tests against a real Kubernetes: one shared control plane, and planes of one's own to break.

Everything below this folder is marked `e2e` and lives in real time with real sockets. Collecting starts nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
import random
import secrets
from typing import Any

import pytest
import pytest_asyncio
from tests.e2e.installation import managed
from tests.e2e.stage import Stage, World, a_stage, a_world

from korder.kube.client import Client
from korder.kube.connect import open_client
from korder.runtime.clock import Clock
from korder.testing.controlplane import ControlPlane

HERE = Path(__file__).parent
SECONDS = 120
"""What a test may take, unless it says otherwise itself."""
LONGEST = (
    "test_informer_truth",
    "test_kubectl",
    "test_scheduler",
    "test_leader_election",
    "test_cli",
    "test_apply_agreement",
    "test_arrivals_agreement",
    "test_race_scenarios",
)
"""Modules that take minutes: they begin first, so that at the end nobody waits for one of them."""


def pytest_collectstart(collector: pytest.Collector) -> None:
    # The marks go to the folder and not to the tests: the loop of a test is chosen by its marks while it is being
    # collected, and a mark of a test or a module must win over these.
    for node in collector.listchain():
        if node.path == HERE and not any(node.iter_markers("e2e")):
            node.add_marker(pytest.mark.e2e)
            node.add_marker(pytest.mark.enable_socket)
            node.add_marker(pytest.mark.timeout(SECONDS))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(LONGEST)))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """The plane that all tests share: leave it running, and clean up what you make outside of your namespace."""
    plane = ControlPlane(audit="Metadata")
    asyncio.run(plane.start())
    yield plane
    asyncio.run(plane.stop())


@pytest.fixture(scope="session")
def kubeconfig(control_plane: ControlPlane) -> Path:
    """The administrator's kubeconfig for the shared plane."""
    return control_plane.kubeconfig()


@pytest.fixture
async def client(kubeconfig: Path, clock: Clock) -> AsyncIterator[Client]:
    """The administrator's client for the shared plane."""
    async with open_client(str(kubeconfig), now=clock.now, rng=random.Random(0)) as client:
        yield client


@pytest.fixture
async def a_control_plane() -> AsyncIterator[Callable[..., Awaitable[ControlPlane]]]:
    """Starts planes of the test's own, to kill, pause, compact or configure; they end with the test.

    Takes the arguments of `ControlPlane`.
    """
    async with AsyncExitStack() as planes:

        async def start(**options: Any) -> ControlPlane:
            return await planes.enter_async_context(ControlPlane(**options))

        yield start


@pytest.fixture
async def namespace(control_plane: ControlPlane) -> AsyncIterator[str]:
    """A namespace of the test's own in which pods can be made; its deletion begins when the test ends.

    Made by kubectl, so that it also serves tests of a client that is broken.
    """
    name = f"test-{secrets.token_hex(4)}"
    await control_plane.kubectl("create", "namespace", name)
    await control_plane.kubectl("wait", "-n", name, "--for=create", "serviceaccount/default")
    yield name
    await control_plane.kubectl("delete", "namespace", name, "--wait=false")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A plane with korder, its manager and simulated nodes, for all scenarios of a module; they run on the module's loop."""
    async with a_world() as world, managed(world.plane, tmp_path_factory.mktemp("manager")):
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def stage(world: World) -> AsyncIterator[Stage]:
    """A namespace of the test's own in that world; nodes are added as needed."""
    async with a_stage(world) as stage:
        yield stage
