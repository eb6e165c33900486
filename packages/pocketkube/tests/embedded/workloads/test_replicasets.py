"""ReplicaSets: the right number of pods, from any state, over a bad wire and behind a late watch."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from kubeloop.net.faults import Fault
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import REPLICA_SETS
from kubeloop.testing.builders import PodBuilder, a_pod
from pocketkube.controllers import replicasets

if TYPE_CHECKING:
    from tests.embedded.workloads.conftest import World


def made(world: "World") -> Counter[str]:
    """How often each pod was made, by name and UID."""
    return Counter(
        str(obj["metadata"]["name"])  # type: ignore[call-overload,index]
        for _, kind, path, obj in world.server.log
        if kind == "ADDED" and "/pods/" in path
    )


async def test_each_pod_is_made_once_although_the_watch_lags(world: "World") -> None:
    world.workload(REPLICA_SETS, replicas=30)
    world.server.checks.append(lambda: _at_most(world, 30))
    async with world.running():
        world.server.lag = 5.0
        await world.until(lambda: world.get(REPLICA_SETS).status.available_replicas == 30)
        assert set(made(world).values()) == {1}
        assert len(made(world)) == 30


def _at_most(world: "World", number: int) -> None:
    assert len(world.live()) <= number


@pytest.mark.parametrize("seed", range(8))
async def test_any_state_becomes_the_wanted_one_over_a_bad_wire(
    a_world: "type[World]", seed: int
) -> None:
    world = a_world(seed)
    replicas = world.rng.randint(1, 8)
    owner = world.workload(REPLICA_SETS, replicas=replicas)
    for number in range(world.rng.randint(0, 12)):
        pod = a_pod(f"old-{number}").labelled({"app": world.rng.choice(["web", "other"])})
        if world.rng.random() < 0.6:
            pod = pod.owned_by(REPLICA_SETS, owner)
        body = pod.but({"status": {"phase": world.rng.choice(["Running", "Failed", "Pending"])}})
        spec = {"nodeName": "n1"}
        members = {**body.json, "spec": {**body.json["spec"], **spec}}  # type: ignore[dict-item]
        meta = members.pop("metadata")
        for word in ("apiVersion", "kind"):
            members.pop(word)
        world.create(PODS, f"old-{number}", metadata=meta, **members)
    world.misbehave()
    async with world.running():
        await world.until(lambda: _settled(world, replicas))
        await world.until(lambda: world.get(REPLICA_SETS).status.replicas == replicas)
    owned = [pod for pod in world.live() if pod.metadata.owner_references]
    assert len(owned) == replicas
    assert all(pod.metadata.labels["app"] == "web" for pod in owned)
    assert not [p for p in world.live() if p.metadata.labels["app"] == "web" and p not in owned]


def _settled(world: "World", replicas: int) -> bool:
    status = world.get(REPLICA_SETS).status
    owned = [pod for pod in world.live() if pod.metadata.owner_references]
    strays = [p for p in owned if p.metadata.labels["app"] != "web"]
    return (
        len(owned) == replicas == status.replicas and not strays and status.observed_generation == 1
    )


async def test_a_lost_answer_makes_no_second_pod(world: "World") -> None:
    world.misbehave(0)
    for rule in world.wire.rules:
        rule.chance = 0.5 if rule.fault is Fault.LOST_AFTER else 0
    world.workload(REPLICA_SETS, replicas=10)
    world.server.checks.append(lambda: _at_most(world, 10))
    async with world.running():
        await world.until(lambda: world.get(REPLICA_SETS).status.available_replicas == 10)
    assert len(made(world)) == 10
    assert world.wire.hits[Fault.LOST_AFTER] > 3


async def test_a_pod_that_failed_or_is_ending_is_replaced(world: "World") -> None:
    world.workload(REPLICA_SETS, replicas=2)
    async with world.running():
        await world.until(lambda: world.get(REPLICA_SETS).status.ready_replicas == 2)
        first, second = world.live()
        world.finish(first, "Failed")
        world.server.delete(world.path(PODS, second.metadata.name), {})
        await world.until(lambda: world.get(REPLICA_SETS).status.ready_replicas == 2)
        await world.until(lambda: len(world.live()) == 2)
        assert not {first.metadata.uid, second.metadata.uid} & {
            pod.metadata.uid for pod in world.live()
        }


async def test_orphans_are_not_taken_in_by_an_owner_that_is_gone_but_still_in_the_cache(
    world: "World",
) -> None:
    world.workload(REPLICA_SETS, replicas=2)
    async with world.running():
        await world.until(lambda: world.get(REPLICA_SETS).status.ready_replicas == 2)
        await asyncio.sleep(5)
        world.server.lag = 30.0
        world.server.delete(world.path(REPLICA_SETS, "web"), {})
        await asyncio.sleep(0.1)
        world.server.lag = 0.0
        for pod in world.live():
            world.change(PODS, pod.metadata.name, {"metadata": {"ownerReferences": []}})
        await asyncio.sleep(60)
        assert [pod.metadata.owner_references for pod in world.live()] == [(), ()]


async def test_pods_count_as_available_only_after_a_while(world: "World") -> None:
    world.workload(REPLICA_SETS, replicas=2, minReadySeconds=60)
    async with world.running():
        await world.until(lambda: world.get(REPLICA_SETS).status.ready_replicas == 2)
        before = world.clock.now()
        assert world.get(REPLICA_SETS).status.available_replicas == 0
        await world.until(lambda: world.get(REPLICA_SETS).status.available_replicas == 2)
        assert timedelta(seconds=50) < world.clock.now() - before < timedelta(seconds=70)


def running(name: str, **but: JSON) -> PodBuilder:
    ready: JSON = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status: JSON = {"phase": "Running", "conditions": [ready]}
    pod = a_pod(name).on(f"node-of-{name}").stored(f"uid-{name}").but({"status": status})
    return pod.but(dict(but))


LESS_WORTH = {
    "one that is not bound": running("x").but({"spec": {"nodeName": None}}),
    "one that is pending": running("x").in_phase("Pending"),
    "one that is not ready": running("x").but({"status": {"conditions": []}}),
    "one that is said to be cheap": running("x").annotated(
        {"controller.kubernetes.io/pod-deletion-cost": "-5"}
    ),
    "one that became ready later": running("x").but(
        {
            "status": {
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "lastTransitionTime": "2026-01-01T01:00:00Z",
                    }
                ]
            }
        }
    ),
    "one that restarted": running("x").but(
        {"status": {"containerStatuses": [{"name": "app", "restartCount": 3}]}}
    ),
    "one that is younger": running("x").but(
        {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}
    ),
}


@pytest.mark.parametrize("victim", LESS_WORTH.values(), ids=LESS_WORTH.keys())
def test_of_too_many_pods_the_least_valuable_goes(victim: PodBuilder) -> None:
    pods = [running("a").build(), victim.build(), running("c").build()]

    (step,) = replicasets.surplus(pods, 2)

    assert step.key.name == "x"


def test_of_two_on_one_node_one_goes_before_one_that_is_alone() -> None:
    pods = [running("a").build(), running("b").on("n").build(), running("c").on("n").build()]

    (step,) = replicasets.surplus(pods, 2)

    assert step.key.name in ("b", "c")
