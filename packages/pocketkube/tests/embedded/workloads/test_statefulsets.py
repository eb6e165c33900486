"""StatefulSets: numbers in order, from any state, and partitions that hold."""

from typing import TYPE_CHECKING

import pytest

from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import STATEFUL_SETS
from pocketkube.controllers import pod_control

if TYPE_CHECKING:
    from tests.embedded.workloads.conftest import World


def names(world: "World") -> list[str]:
    return sorted(pod.metadata.name for pod in world.all(PODS))


def image_of(world: "World", name: str) -> str:
    return world.get(PODS, name).spec.containers[0].image


def new_image(world: "World", image: str, **strategy: JSON) -> None:
    container: JSON = {"name": "app", "image": image}
    body: JSON = {"spec": {"template": {"spec": {"containers": [container]}}, **strategy}}
    world.change(STATEFUL_SETS, "web", body)


def is_done(world: "World") -> bool:
    found = world.get(STATEFUL_SETS)
    status, wanted = found.status, found.spec.replicas
    return (
        status.observed_generation == found.metadata.generation
        and status.replicas == status.available_replicas == status.updated_replicas == wanted
        and status.current_revision == status.update_revision
    )


def one_after_the_other(world: "World") -> None:
    """Below a pod of an ordered set all others are ready, unless they are being renewed."""
    pods = {pod.metadata.name: pod for pod in world.all(PODS)}
    starting = [name for name, pod in pods.items() if not pod_control.is_ready(pod)]
    assert len(starting) <= 1
    assert set(pods) == {f"web-{number}" for number in range(len(pods))}


@pytest.mark.parametrize("seed", range(4))
async def test_pods_come_and_go_in_order_over_a_bad_wire(a_world: "type[World]", seed: int) -> None:
    world = a_world(seed)
    world.workload(STATEFUL_SETS, replicas=4)
    world.server.checks.append(lambda: one_after_the_other(world))
    world.misbehave()
    async with world.running():
        await world.until(lambda: is_done(world))
        assert names(world) == ["web-0", "web-1", "web-2", "web-3"]
        world.change(STATEFUL_SETS, "web", {"spec": {"replicas": 1}})
        await world.until(lambda: is_done(world))
        assert names(world) == ["web-0"]


async def test_in_parallel_all_come_at_once(world: "World") -> None:
    world.workload(STATEFUL_SETS, replicas=5, podManagementPolicy="Parallel", ordinals={"start": 3})
    world.kubelets_work = False
    async with world.running():
        await world.until(lambda: len(world.live()) == 5)
        assert names(world) == [f"web-{number}" for number in range(3, 8)]


async def test_a_rolling_update_goes_down_to_its_partition(world: "World") -> None:
    world.workload(STATEFUL_SETS, replicas=3)
    async with world.running():
        await world.until(lambda: is_done(world))
        rolling: JSON = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        new_image(world, "app:2", updateStrategy=rolling)
        await world.until(lambda: world.get(STATEFUL_SETS).status.updated_replicas == 2)
        await world.until(lambda: world.get(STATEFUL_SETS).status.available_replicas == 3)
        assert [image_of(world, name) for name in names(world)] == ["app:1", "app:2", "app:2"]
        assert not is_done(world)
        world.change(
            STATEFUL_SETS, "web", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}
        )
        await world.until(lambda: is_done(world))
        assert image_of(world, "web-0") == "app:2"


async def test_on_delete_a_pod_is_renewed_only_when_somebody_deletes_it(world: "World") -> None:
    world.workload(STATEFUL_SETS, replicas=2, updateStrategy={"type": "OnDelete"})
    async with world.running():
        await world.until(lambda: is_done(world))
        new_image(world, "app:2")
        await world.until(lambda: world.get(STATEFUL_SETS).status.observed_generation == 2)
        world.server.delete(world.path(PODS, "web-0"), {})
        await world.until(lambda: world.get(STATEFUL_SETS).status.updated_replicas == 1)
        await world.until(lambda: world.get(STATEFUL_SETS).status.available_replicas == 2)
        assert [image_of(world, name) for name in names(world)] == ["app:2", "app:1"]


async def test_a_failed_pod_comes_back_under_its_name(world: "World") -> None:
    world.workload(STATEFUL_SETS, replicas=2)
    async with world.running():
        await world.until(lambda: is_done(world))
        before = world.get(PODS, "web-0")
        world.finish(before, "Failed")
        await world.until(lambda: world.get(STATEFUL_SETS).status.ready_replicas == 1)
        await world.until(lambda: is_done(world))
        assert world.get(PODS, "web-0").metadata.uid != before.metadata.uid
        assert world.get(PODS, "web-0").metadata.labels["apps.kubernetes.io/pod-index"] == "0"
