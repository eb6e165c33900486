"""On a real control plane, by webhooks and by policies: only the manager lets pods tolerate the hand-over taint by name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import random

import pytest
import pytest_asyncio
from tests.e2e.capacity import Installation, an_installation
from tests.e2e.stage import Stage, a_stage

from korder.api.reserve import HANDOVER_TAINT
from kubeloop.client.client import Client
from kubeloop.client.connect import open_client
from kubeloop.client.errors import Forbidden, Invalid
from kubeloop.objects import codec
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON, Key
from kubeloop.runtime.clock import SystemClock
from kubeloop.testing.builders import PodBuilder

pytestmark = [pytest.mark.asyncio(loop_scope="module")]
REFUSED = (
    r"spec\.tolerations:? must not name the key korder\.dev/handover.*allowed is any other key"
)
BY_NAME: list[dict[str, JSON]] = [
    {"key": HANDOVER_TAINT, "operator": "Exists"},
    {"key": HANDOVER_TAINT, "operator": "Equal", "value": "1", "effect": "NoSchedule"},
]
EVERY_TAINT: dict[str, JSON] = {"operator": "Exists"}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["webhook", "policy"])
async def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Installation]:
    async with an_installation(request.param, tmp_path_factory.mktemp("manager")) as site:
        yield site


def tolerating(stage: Stage, toleration: dict[str, JSON]) -> PodBuilder:
    return stage.pod("p").but({"spec": {"tolerations": [toleration]}})


async def test_pods_that_tolerate_hand_overs_by_name_are_refused(site: Installation) -> None:
    async with a_stage(site.world) as stage, a_tenant(stage) as tenant:
        for toleration in BY_NAME:
            with pytest.raises((Invalid, Forbidden), match=REFUSED):
                await tenant.create(PODS, tolerating(stage, toleration).json)
        await tenant.create(PODS, tolerating(stage, EVERY_TAINT).json)
        for toleration in BY_NAME:
            with pytest.raises((Invalid, Forbidden), match=REFUSED):
                await add(tenant, stage, "p", toleration)
        await add(tenant, stage, "p", {"key": "dedicated", "operator": "Exists"})


async def test_the_manager_hands_over_a_full_node_and_the_pod_can_be_changed_after_that(
    site: Installation,
) -> None:
    async with a_stage(site.world) as stage, a_tenant(stage) as tenant:
        await stage.add_nodes(cpu="1")
        await stage.put(stage.order("pool", 1))
        await stage.counted(Reserved=1)
        await stage.put(stage.asking("web", order="pool"))
        await stage.bound("web")
        pod = await stage.get(PODS, "web")
        assert pod is not None
        assert any(each.key == HANDOVER_TAINT for each in pod.spec.tolerations)
        change: JSON = {"metadata": {"labels": {"a": "b"}}}
        await tenant.patch(PODS, Key(stage.name, "web"), change)
        with pytest.raises((Invalid, Forbidden), match=REFUSED):
            await add(tenant, stage, "web", BY_NAME[0])


@asynccontextmanager
async def a_tenant(stage: Stage) -> AsyncIterator[Client]:
    """A user who may edit what is in the stage's namespace, and nothing else."""
    plane = stage.world.plane
    await plane.kubectl(
        *("create", "rolebinding", "tenant", "-n", stage.name),
        *("--clusterrole=edit", "--user=viewer"),
    )
    config = str(plane.kubeconfig("viewer"))
    async with open_client(config, now=SystemClock().now, rng=random.Random(3)) as client:
        yield client


async def add(client: Client, stage: Stage, name: str, toleration: dict[str, JSON]) -> None:
    pod = await stage.get(PODS, name)
    assert pod is not None
    listed: JSON = [*(codec.plain(each) for each in pod.spec.tolerations), toleration]
    await client.patch(PODS, Key(stage.name, name), {"spec": {"tolerations": listed}})
