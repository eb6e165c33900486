"""The product on a real Kubernetes: a plane with korder installed, its manager, and simulated nodes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.e2e.installation import managed
from tests.e2e.stage import Stage, World, a_stage, a_world

from kubeloop.testing.controlplane.fixtures import (
    a_control_plane,
    client,
    control_plane,
    kubeconfig,
    mark_folder,
    namespace,
)

__all__ = ["a_control_plane", "client", "control_plane", "kubeconfig", "namespace"]
HERE = Path(__file__).parent
LONGEST = ("test_informer_truth", "test_leader_election", "test_cli", "test_race_scenarios")
"""Modules that take minutes: they begin first, so that at the end nothing waits for one of them."""


def pytest_collectstart(collector: pytest.Collector) -> None:
    mark_folder(collector, HERE)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(LONGEST)))


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
