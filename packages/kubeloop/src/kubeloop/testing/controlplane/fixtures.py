"""Fixtures for tests against a real Kubernetes: one shared control plane, and planes of one's own to break.

A conftest imports the fixtures it wants, and marks its folder with `mark_folder`: tests live in real time with real sockets.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
import random
import secrets
from typing import Any

import pytest

from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.runtime.clock import Clock
from kubeloop.testing.controlplane import ControlPlane

SECONDS = 120
"""What a test may take, unless it says otherwise itself."""


def mark_folder(collector: pytest.Collector, folder: Path) -> None:
    """Marks everything below the folder as `e2e`.

    The marks go to the folder and not to the tests: the loop of a test is chosen by its marks while it is being collected, and a mark of a test or
    a module must win over these.
    """
    for node in collector.listchain():
        if node.path == folder and not any(node.iter_markers("e2e")):
            node.add_marker(pytest.mark.e2e)
            node.add_marker(pytest.mark.enable_socket)
            node.add_marker(pytest.mark.timeout(SECONDS))


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
