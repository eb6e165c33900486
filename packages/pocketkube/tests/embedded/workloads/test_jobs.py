"""Jobs: every end of a pod counts exactly once, and Jobs end, rest and vanish when they should."""

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from kubeloop.objects.core import PODS, Pod, reported
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import JOBS
from pocketkube.controllers import job_status

if TYPE_CHECKING:
    from tests.embedded.workloads.conftest import World


def running(world: "World") -> list[Pod]:
    return [pod for pod in world.live() if pod.status.phase == "Running"]


def holds(world: "World", kind: str) -> bool:
    return job_status.holds(world.get(JOBS).status.conditions, kind)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_every_success_and_failure_counts_once_over_a_bad_wire(
    a_world: "type[World]", seed: int
) -> None:
    world = a_world(seed)
    completions, parallelism = world.rng.randint(1, 8), world.rng.randint(1, 4)
    world.workload(JOBS, completions=completions, parallelism=parallelism, backoffLimit=100)
    world.misbehave()
    ended = {"Succeeded": 0, "Failed": 0}

    def never_too_many() -> None:
        assert len(world.live()) <= parallelism

    world.server.checks.append(never_too_many)
    async with world.running():
        for _ in range(2_000):
            await asyncio.sleep(1)
            if job_status.is_finished(world.get(JOBS)):
                break
            for pod in running(world):
                phase = world.rng.choice(["Succeeded", "Succeeded", "Failed"])
                ended[phase] += 1
                world.finish(pod, phase)
                if world.rng.random() < 0.5:
                    world.server.delete(world.path(PODS, pod.metadata.name), {})
        status = world.get(JOBS).status
        assert (status.succeeded, status.failed) == (completions, ended["Failed"])
        assert ended["Succeeded"] == completions
        assert status.completion_time is not None
        assert not status.active
        assert not status.uncounted_terminated_pods
        assert not [p for p in world.all(PODS) if job_status.TRACKING in p.metadata.finalizers]


async def test_a_job_is_given_up_when_too_much_fails_and_tries_are_spaced(world: "World") -> None:
    world.workload(JOBS, completions=1, backoffLimit=2)
    async with world.running():
        begun = world.clock.now()
        for _ in range(3):
            await world.until(lambda: running(world))
            world.finish(running(world)[0], "Failed")
        await world.until(lambda: holds(world, "Failed"))
        failed = reported(world.get(JOBS).status.conditions, "Failed")
        assert failed is not None
        assert failed.reason == "BackoffLimitExceeded"
        assert holds(world, "FailureTarget")
        assert world.clock.now() - begun > timedelta(seconds=25)


async def test_a_job_that_takes_too_long_fails_and_its_pods_do_not_count(world: "World") -> None:
    world.workload(JOBS, completions=2, parallelism=2, activeDeadlineSeconds=30)
    async with world.running():
        await world.until(lambda: len(running(world)) == 2)
        await world.until(lambda: holds(world, "Failed"))
        status = world.get(JOBS).status
        assert (status.failed, status.active, world.live()) == (0, 0, [])
        assert {each.reason for each in status.conditions} == {"DeadlineExceeded"}


async def test_a_suspended_job_rests_and_begins_anew(world: "World") -> None:
    world.workload(JOBS, completions=1)
    async with world.running():
        await world.until(lambda: running(world))
        world.change(JOBS, "web", {"spec": {"suspend": True}})
        await world.until(lambda: holds(world, "Suspended") and not world.all(PODS))
        assert world.get(JOBS).status.failed == 0
        before = world.get(JOBS).status.start_time
        await asyncio.sleep(100)
        world.change(JOBS, "web", {"spec": {"suspend": False}})
        await world.until(lambda: running(world))
        after = world.get(JOBS).status.start_time
        assert before is not None
        assert after is not None
        assert after - before > timedelta(seconds=90)
        assert not holds(world, "Suspended")


async def test_without_completions_one_success_lets_the_others_finish(world: "World") -> None:
    world.workload(JOBS, parallelism=3)
    async with world.running():
        await world.until(lambda: len(running(world)) == 3)
        first, *others = running(world)
        world.finish(first, "Succeeded")
        await asyncio.sleep(30)
        assert len(running(world)) == 2
        for pod in others:
            world.finish(pod, "Succeeded")
        await world.until(lambda: holds(world, "Complete"))
        assert world.get(JOBS).status.succeeded == 3


async def test_a_finished_job_is_deleted_with_its_pods_when_its_time_is_over(
    world: "World",
) -> None:
    world.workload(JOBS, completions=1, ttlSecondsAfterFinished=100)
    async with world.running():
        await world.until(lambda: running(world))
        world.finish(running(world)[0], "Succeeded")
        await world.until(lambda: holds(world, "Complete"))
        before = world.clock.now()
        await world.until(lambda: not world.all(JOBS))
        assert world.clock.now() - before > timedelta(seconds=90)
        await world.until(lambda: not world.all(PODS))


@pytest.mark.parametrize("finalizer", ["orphan", "foregroundDeletion"])
async def test_no_pod_is_held_for_ever_by_a_job_that_is_gone(
    world: "World", finalizer: str
) -> None:
    world.workload(JOBS, completions=2, parallelism=2)
    async with world.running():
        await world.until(lambda: len(running(world)) == 2)
        mark: JSON = {"metadata": {"finalizers": [finalizer]}}
        world.change(JOBS, "web", mark)
        world.server.delete(world.path(JOBS, "web"), {})
        await world.until(lambda: not world.all(JOBS))
        for pod in world.all(PODS):
            world.server.delete(world.path(PODS, pod.metadata.name), {})
        await world.until(lambda: not world.all(PODS))
