"""Deployments in a whole world: bounds hold in truth, not only on paper, while the wire is bad and the watch late."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import DEPLOYMENTS, REPLICA_SETS
from pocketkube.controllers import deployments, pod_control, rollout

if TYPE_CHECKING:
    from tests.embedded.workloads.conftest import World


def is_done(world: "World") -> bool:
    found = world.get(DEPLOYMENTS)
    current = found.status.observed_generation == found.metadata.generation
    return current and rollout.is_complete(found, found.status)


def images(world: "World") -> set[str]:
    return {each.image for pod in world.live() for each in pod.spec.containers}


def new_image(world: "World", image: str) -> None:
    container: JSON = {"name": "app", "image": image}
    body: JSON = {"spec": {"template": {"spec": {"containers": [container]}}}}
    world.change(DEPLOYMENTS, "web", body)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
async def test_a_rollout_keeps_its_bounds_in_truth_over_a_bad_wire(
    a_world: "type[World]", seed: int
) -> None:
    world = a_world(seed)
    replicas, surge, missing = (world.rng.randint(low, 6) for low in (2, 0, 0))
    rolling: JSON = {"maxSurge": surge, "maxUnavailable": missing}
    wanted = world.workload(
        DEPLOYMENTS, replicas=replicas, strategy={"type": "RollingUpdate", "rollingUpdate": rolling}
    )
    limits = rollout.bounds(wanted)
    world.misbehave()

    def within_bounds() -> None:
        live = world.live()
        assert len(live) <= limits.most
        assert sum(map(pod_control.is_ready, live)) >= limits.least

    async with world.running():
        await world.until(lambda: is_done(world))
        world.server.checks.append(within_bounds)
        for image in ("app:2", "app:3"):
            new_image(world, image)
            await world.until(lambda: is_done(world))
            assert images(world) == {image}
        assert len(world.live()) == replicas
    assert sum(world.wire.hits.values()) > 0


@pytest.mark.slow
async def test_history_is_numbered_kept_to_its_limit_and_gone_back_to(world: "World") -> None:
    world.workload(DEPLOYMENTS, replicas=1, revisionHistoryLimit=2)
    async with world.running():
        await world.until(lambda: is_done(world))
        for number in range(2, 6):
            new_image(world, f"app:{number}")
            await world.until(lambda: is_done(world))
        await world.until(lambda: len(world.all(REPLICA_SETS)) == 3)
        assert sorted(map(deployments.revision, world.all(REPLICA_SETS))) == [3, 4, 5]
        new_image(world, "app:4")
        await world.until(lambda: is_done(world) and images(world) == {"app:4"})
        await world.until(lambda: deployments.revision(world.get(DEPLOYMENTS)) == 6)
        assert sorted(map(deployments.revision, world.all(REPLICA_SETS))) == [3, 5, 6]


async def test_a_name_that_somebody_else_has_leads_to_another(world: "World") -> None:
    wanted = world.workload(DEPLOYMENTS, replicas=1)
    name = f"web-{pod_control.template_hash(wanted.spec.template)}"
    world.create(REPLICA_SETS, name, spec={"replicas": 0, "template": {}})
    async with world.running():
        await world.until(lambda: is_done(world))
        assert world.get(DEPLOYMENTS).status.collision_count == 1
        assert len(world.all(REPLICA_SETS)) == 2


async def test_recreation_never_mixes_templates(world: "World") -> None:
    world.workload(DEPLOYMENTS, replicas=3, strategy={"type": "Recreate"})

    def never_mixed() -> None:
        present = world.all(PODS)
        assert len({each.image for pod in present for each in pod.spec.containers}) <= 1

    world.server.checks.append(never_mixed)
    world.server.lag = 0.5
    async with world.running():
        await world.until(lambda: is_done(world))
        new_image(world, "app:2")
        await world.until(lambda: is_done(world))
        assert images(world) == {"app:2"}


async def test_nothing_is_written_once_all_is_as_it_should_be(world: "World") -> None:
    world.workload(DEPLOYMENTS, replicas=3)
    async with world.running():
        await world.until(lambda: is_done(world))
        await world.until(lambda: len(world.live()) == 3)
        before = len(world.server.writes)
        pod = world.live()[0].metadata.name
        world.change(PODS, pod, {"metadata": {"annotations": {"seen": "yes"}}})
        await asyncio.sleep(30)
        assert len(world.server.writes) == before
