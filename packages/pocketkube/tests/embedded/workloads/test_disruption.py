"""PodDisruptionBudgets: how many pods may go, counted as kube-controller-manager counts."""

from typing import TYPE_CHECKING

import pytest

from kubeloop.objects import instant
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import DEPLOYMENTS, REPLICA_SETS
from pocketkube.objects.policy import POD_DISRUPTION_BUDGETS, PodDisruptionBudgetStatus

if TYPE_CHECKING:
    from tests.embedded.workloads.conftest import World

SELECTOR: JSON = {"matchLabels": {"app": "web"}}


def a_budget(world: "World", **spec: JSON) -> None:
    world.create(POD_DISRUPTION_BUDGETS, "b", spec={"selector": SELECTOR, **spec})


def status(world: "World") -> PodDisruptionBudgetStatus:
    return world.get(POD_DISRUPTION_BUDGETS, "b").status


def counts(world: "World") -> tuple[int, int, int, int]:
    """Expected, desired, healthy, allowed."""
    stated = status(world)
    return (
        stated.expected_pods,
        stated.desired_healthy,
        stated.current_healthy,
        stated.disruptions_allowed,
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"minAvailable": 2}, (4, 2, 4, 2), id="at least two"),
        pytest.param({"minAvailable": 9}, (4, 9, 4, 0), id="more than there are"),
        pytest.param({"minAvailable": "30%"}, (4, 2, 4, 2), id="a share that must stay"),
        pytest.param({"maxUnavailable": 1}, (4, 3, 4, 1), id="at most one"),
        pytest.param({"maxUnavailable": "30%"}, (4, 2, 4, 2), id="a share that may go"),
        pytest.param({"maxUnavailable": 9}, (4, 0, 4, 4), id="all may go"),
    ],
)
@pytest.mark.parametrize("kind", [REPLICA_SETS, DEPLOYMENTS], ids=["replica set", "deployment"])
async def test_healthy_pods_beyond_the_wanted_may_go(
    world: "World", kind: object, spec: dict[str, JSON], expected: tuple[int, ...]
) -> None:
    world.workload(kind, replicas=4)  # type: ignore[type-var,arg-type]
    a_budget(world, **spec)
    async with world.running():
        await world.until(lambda: counts(world) == expected)
    (condition,) = status(world).conditions
    wanted = ("True", "SufficientPods") if expected[3] else ("False", "InsufficientPods")
    assert (condition.type, condition.status, condition.reason) == ("DisruptionAllowed", *wanted)
    assert status(world).observed_generation == 1


async def test_a_pod_on_its_way_counts_as_gone_for_two_minutes(world: "World") -> None:
    world.workload(REPLICA_SETS, replicas=3)
    a_budget(world, minAvailable=1)
    async with world.running():
        await world.until(lambda: counts(world) == (3, 1, 3, 2))
        evicted = world.live()[0].metadata.name
        going: JSON = {evicted: instant.render(world.clock.now())}
        body: JSON = {"status": {"disruptedPods": going, "disruptionsAllowed": 1}}
        world.change(POD_DISRUPTION_BUDGETS, "b", body)
        await world.until(lambda: counts(world) == (3, 1, 2, 1), seconds=60)
        assert set(status(world).disrupted_pods) == {evicted}
        await world.until(lambda: counts(world) == (3, 1, 3, 2), seconds=200)
        assert not status(world).disrupted_pods


async def test_nothing_may_go_while_the_scale_is_unknown(world: "World") -> None:
    owner: JSON = {
        "apiVersion": "x/v1",
        "kind": "Other",
        "name": "o",
        "uid": "u",
        "controller": True,
    }
    meta: JSON = {"labels": {"app": "web"}, "ownerReferences": [owner]}
    world.create(PODS, "p", metadata=meta, spec={"containers": []})
    a_budget(world, maxUnavailable=1)
    async with world.running():
        await world.until(lambda: status(world).conditions)
    (condition,) = status(world).conditions
    assert (condition.reason, condition.message) == (
        "SyncFailed",
        'found no controllers for pod "p"',
    )
    assert status(world).disruptions_allowed == 0


async def test_a_budget_without_selector_means_no_pod(world: "World") -> None:
    world.workload(REPLICA_SETS, replicas=2)
    world.create(POD_DISRUPTION_BUDGETS, "b", spec={"minAvailable": 1})
    async with world.running():
        await world.until(lambda: len(world.live()) == 2)
        await world.until(lambda: status(world).conditions)
    assert counts(world) == (0, 1, 0, 0)
