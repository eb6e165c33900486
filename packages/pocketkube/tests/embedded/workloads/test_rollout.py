"""The arithmetic of rollouts: rounding, and bounds that hold at every step whatever the reports say and however late."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st
import msgspec
import pytest

from kubeloop.objects.meta import ObjectMeta
from kubeloop.objects.workloads import (
    Deployment,
    DeploymentSpec,
    IntOrString,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
    RollingUpdate,
    UpdateStrategy,
)
from pocketkube.controllers import rollout
from pocketkube.controllers.rollout import Bounds, Sets

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def deployment(
    replicas: int,
    surge: IntOrString | None = None,
    missing: IntOrString | None = None,
    kind: str = "RollingUpdate",
    *,
    paused: bool = False,
) -> Deployment:
    rolling = RollingUpdate(max_surge=surge, max_unavailable=missing)
    strategy = UpdateStrategy(type=kind, rolling_update=rolling)
    spec = DeploymentSpec(replicas=replicas, strategy=strategy, paused=paused)
    return Deployment(metadata=ObjectMeta(name="web", generation=1), spec=spec)


def a_set(name: str, replicas: int, has: int = 0, available: int = 0) -> ReplicaSet:
    return ReplicaSet(
        metadata=ObjectMeta(name=name),
        spec=ReplicaSetSpec(replicas=replicas),
        status=ReplicaSetStatus(replicas=has, available_replicas=available),
    )


@pytest.mark.parametrize(
    ("replicas", "surge", "missing", "expected"),
    [
        pytest.param(4, None, None, Bounds(5, 3), id="a quarter each by default"),
        pytest.param(3, "25%", "25%", Bounds(4, 3), id="surge is rounded up, unavailable down"),
        pytest.param(10, 2, 3, Bounds(12, 7), id="counts"),
        pytest.param(5, 0, "10%", Bounds(5, 4), id="both zero: one may be missing"),
        pytest.param(2, 0, 5, Bounds(2, 0), id="more missing than there are"),
        pytest.param(0, "25%", "25%", Bounds(0, 0), id="nothing at all"),
    ],
)
def test_bounds(replicas: int, surge: IntOrString, missing: IntOrString, expected: Bounds) -> None:
    assert rollout.bounds(deployment(replicas, surge, missing)) == expected


class Simulation:
    """ReplicaSets as they are, and as they last reported to be."""

    def __init__(self, wanted: Deployment, old: list[int]) -> None:
        self.deployment = wanted
        self.stated = {"new": 0, **{f"old-{i}": n for i, n in enumerate(old)}}
        self.pods = {**self.stated}
        self.ready = {**self.stated}
        self.reported = {name: (self.pods[name], self.ready[name]) for name in self.stated}

    def sets(self) -> Sets:
        made = {
            name: a_set(name, self.stated[name], *self.reported[name])
            for name in sorted(self.stated)
        }
        return Sets(made.pop("new"), tuple(made.values()))

    def take(self, move: str, name: str) -> None:
        match move:
            case "decide":
                self.stated |= rollout.sizes(self.deployment, self.sets(), old_pods_left=False)
            case "apply":
                self.pods[name] = self.stated[name]
                self.ready[name] = min(self.ready[name], self.pods[name])
            case "start" if self.ready[name] < self.pods[name]:
                self.ready[name] += 1
            case "report":
                self.reported[name] = (self.pods[name], self.ready[name])
            case _:
                pass


MOVES = ("decide", "apply", "start", "report")


@pytest.mark.slow
@given(data=st.data())
def test_no_order_of_events_breaks_the_bounds_and_every_rollout_ends(data: st.DataObject) -> None:
    replicas = data.draw(st.integers(1, 12), "replicas")
    amounts = st.integers(0, 4) | st.sampled_from(["0%", "25%", "50%", "100%"])
    wanted = deployment(replicas, data.draw(amounts, "surge"), data.draw(amounts, "missing"))
    limits = rollout.bounds(wanted)
    first = data.draw(st.integers(0, replicas), "first")
    world = Simulation(wanted, [first, replicas - first])
    names = st.sampled_from(sorted(world.stated))
    moves = data.draw(st.lists(st.tuples(st.sampled_from(MOVES), names), max_size=60), "moves")
    in_turn = [(move, name) for _ in range(40) for move in MOVES for name in sorted(world.stated)]
    for move, name in (*moves, *in_turn):
        world.take(move, name)
        assert sum(world.pods.values()) <= limits.most
        assert sum(world.ready.values()) >= limits.least
    assert world.stated == {"new": replicas, "old-0": 0, "old-1": 0}


def test_recreation_waits_until_the_last_old_pod_is_gone() -> None:
    wanted = deployment(3, kind="Recreate")
    old = a_set("old", 3, has=3, available=3)

    assert rollout.sizes(wanted, Sets(a_set("new", 0), (old,)), old_pods_left=True) == {"old": 0}
    gone = Sets(a_set("new", 0), (a_set("old", 0),))
    assert rollout.sizes(wanted, gone, old_pods_left=True) == {}
    assert rollout.sizes(wanted, gone, old_pods_left=False) == {"new": 3}


def test_a_paused_deployment_changes_only_the_size_and_only_if_it_is_clear_whose() -> None:
    paused = deployment(5, paused=True)

    alone = Sets(None, (a_set("old", 3),))
    assert rollout.sizes(paused, alone, old_pods_left=False) == {"old": 5}
    between = Sets(a_set("new", 1), (a_set("old", 3),))
    assert rollout.sizes(paused, between, old_pods_left=False) == {}


def said(wanted: Deployment, sets: Sets, now: datetime) -> Deployment:
    status = rollout.status_of(wanted, sets, 0, now)
    return msgspec.structs.replace(wanted, status=status)


def reasons(wanted: Deployment) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in wanted.status.conditions}


def test_a_rollout_that_stands_still_is_called_stuck_and_one_that_moves_again_is_not() -> None:
    start = deployment(2)
    begun = said(start, Sets(a_set("new", 2, has=2)), NOW)
    assert reasons(begun) == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": ("True", "ReplicaSetUpdated"),
    }
    due = rollout.overdue_at(begun, begun.status)
    assert due == NOW + timedelta(seconds=600)

    stuck = said(begun, Sets(a_set("new", 2, has=2)), due)
    assert reasons(stuck)["Progressing"] == ("False", "ProgressDeadlineExceeded")
    still = said(stuck, Sets(a_set("new", 2, has=2)), due + timedelta(hours=1))
    assert still.status == stuck.status

    moving = said(still, Sets(a_set("new", 2, has=2, available=1)), due + timedelta(hours=2))
    assert reasons(moving)["Progressing"] == ("True", "ReplicaSetUpdated")
    done = said(moving, Sets(a_set("new", 2, has=2, available=2)), due + timedelta(hours=3))
    assert reasons(done) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    assert rollout.overdue_at(done, done.status) is None
