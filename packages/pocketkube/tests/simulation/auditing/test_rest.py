"""What must be true when a run has come to rest. Each promise is shown kept and broken."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import JSON, Kind, Object
from kubeloop.objects.workloads import DAEMON_SETS, DEPLOYMENTS, JOBS, REPLICA_SETS, STATEFUL_SETS
from kubeloop.testing.builders import Builder, NodeBuilder, PodBuilder, a_node, a_pod
from pocketkube.simulation.auditing.invariant import Invariant
from pocketkube.simulation.invariants.leftovers import NoOrphans, NothingHalfGone
from pocketkube.simulation.invariants.settled import (
    DaemonSetsSettle,
    DeploymentsSettle,
    JobsSettle,
    ReplicaSetsSettle,
    StatefulSetsSettle,
)
from pocketkube.simulation.invariants.waiting import BoundPodsRun, NobodyForgotten
from pocketkube.testing.story import START, Story

NODE = a_node("node-1")
LONG_AGO = START - timedelta(hours=1)
QUOTAS: Kind[Object] = Kind("", "v1", "ResourceQuota", "resourcequotas", Object)
QUOTA = Builder(QUOTAS, {"metadata": {"name": "q", "namespace": "default"}})


def saying(kind: str, status: str, reason: str = "") -> JSON:
    return {"status": {"conditions": [{"type": kind, "status": status, "reason": reason}]}}


UNSCHEDULABLE = saying("PodScheduled", "False", "Unschedulable")
READY = saying("Ready", "True")
PAUSING: JSON = {
    "status": {
        "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]
    }
}


def at_rest(invariant: Invariant, *objects: Builder) -> list[str]:
    story = Story(invariant)
    story.tell(*objects)
    story.wait(60)
    story.rest()
    return story.broken


def an_owner(kind: object, spec: Mapping[str, JSON], status: Mapping[str, JSON]) -> Builder:
    meta: JSON = {"name": "web", "namespace": "default", "uid": "owner", "generation": 1}
    seen = {"observedGeneration": 1, **status}
    return Builder(kind, {"metadata": meta, "spec": dict(spec), "status": seen})


def child(name: str, owner: Builder) -> PodBuilder:
    return a_pod(name).owned_by(owner.kind, owner.build())


SMALL = a_pod("web").requesting(cpu="1").but(UNSCHEDULABLE)
LARGE = a_pod("web").requesting(cpu="5").but(UNSCHEDULABLE)


@pytest.mark.parametrize(
    ("pod", "node"),
    [
        pytest.param(LARGE, NODE, id="too large"),
        pytest.param(SMALL, NODE.cordoned(), id="cordoned"),
        pytest.param(SMALL, NODE.tainted("x"), id="tainted"),
        pytest.param(SMALL, NODE.not_ready(), id="lost"),
        pytest.param(
            a_pod("web").gated_by("x").but(saying("PodScheduled", "False", "SchedulingGated")),
            NODE,
            id="gated",
        ),
        pytest.param(SMALL.on("node-1"), NODE, id="bound"),
        pytest.param(SMALL.deleted_at(START), NODE, id="going"),
        pytest.param(a_pod("web").but({"spec": {"schedulerName": "mine"}}), NODE, id="not ours"),
        pytest.param(
            SMALL.but({"spec": {"affinity": {"podAffinity": {"x": []}}}}), NODE, id="choosy"
        ),
    ],
)
def test_a_pod_that_has_no_place_may_wait(pod: PodBuilder, node: NodeBuilder) -> None:
    assert at_rest(NobodyForgotten(), node, pod) == []


def test_a_pod_that_waits_although_it_fits_was_forgotten() -> None:
    found = at_rest(NobodyForgotten(), NODE.cordoned(), a_node("node-2"), SMALL)
    assert found == ["it waits although node node-2 can take it"]


@pytest.mark.parametrize(
    ("when", "wrong"),
    [("DoNotSchedule", []), ("ScheduleAnyway", ["it waits although node node-1 can take it"])],
)
def test_only_a_spread_that_must_be_kept_can_make_a_pod_wait(when: str, wrong: list[str]) -> None:
    constraint: JSON = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": when}
    pod = SMALL.but({"spec": {"topologySpreadConstraints": [constraint]}})
    assert at_rest(NobodyForgotten(), NODE, pod) == wrong


def test_a_pod_may_wait_because_of_one_that_keeps_others_away() -> None:
    term: JSON = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
    shy = a_pod("shy").but({"spec": {"affinity": {"podAntiAffinity": term}}}).but(UNSCHEDULABLE)
    assert at_rest(NobodyForgotten(), NODE, SMALL, shy.on("node-1")) == []
    assert len(at_rest(NobodyForgotten(), NODE, SMALL, shy)) == 1


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        pytest.param(a_pod("web").requesting(cpu="5"), "nothing", id="silent"),
        pytest.param(
            a_pod("web").requesting(cpu="5").but(saying("PodScheduled", "True")), "True", id="lies"
        ),
    ],
)
def test_a_pod_that_waits_and_does_not_say_why_is_seen(pod: PodBuilder, words: str) -> None:
    assert at_rest(NobodyForgotten(), NODE, pod) == [f"it waits but says {words} of its scheduling"]


def test_room_that_is_promised_to_a_pod_as_urgent_is_not_free() -> None:
    first = LARGE.but({"metadata": {"name": "first"}, "status": {"nominatedNodeName": "node-1"}})
    assert at_rest(NobodyForgotten(), NODE, first, SMALL) == []
    urgent = SMALL.but({"spec": {"priority": 7}})
    found = at_rest(NobodyForgotten(), NODE, first, urgent)
    assert found == ["it waits although node node-1 can take it"]


@pytest.mark.parametrize(
    ("pod", "node", "wrong"),
    [
        pytest.param(SMALL.on("node-1").but(READY), NODE, [], id="ready"),
        pytest.param(SMALL.on("node-1").in_phase("Failed"), NODE, [], id="finished"),
        pytest.param(SMALL.on("node-1"), NODE.not_ready(), [], id="lost with its node"),
        pytest.param(SMALL.on("node-1").but(PAUSING), NODE, [], id="pauses between two tries"),
        pytest.param(
            SMALL.on("node-1").in_phase("Pending"),
            NODE,
            ["it is Pending on node node-1, and not ready"],
            id="never started",
        ),
    ],
)
def test_pods_on_ready_nodes_run(pod: PodBuilder, node: NodeBuilder, wrong: list[str]) -> None:
    assert at_rest(BoundPodsRun(), node, pod) == wrong


def test_pods_that_crash_again_and_again_are_not_ready_in_between() -> None:
    backoff: JSON = {
        "status": {
            "containerStatuses": [
                {"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
            ]
        }
    }
    assert at_rest(BoundPodsRun(), NODE, SMALL.on("node-1").but(backoff)) == []


@pytest.mark.parametrize(
    ("seconds", "wrong"), [pytest.param(10, 0, id="lately"), pytest.param(20, 1, id="long ago")]
)
def test_what_has_just_changed_may_not_have_been_seen_by_all(seconds: float, wrong: int) -> None:
    owner = a_set(1, 1, 0)
    sitting = a_pod("other").requesting(cpu="4").on("node-1")
    story = Story(NobodyForgotten(), ReplicaSetsSettle(), BoundPodsRun())
    pod = child("a", owner)
    story.tell(NODE, owner, SMALL, sitting.but(READY), a_node("node-2").cordoned())
    story.wait(60)
    story.tell(pod.on("node-2"), pod.on("node-2").but(READY), a_pod("late").on("node-2"))
    story.lose(sitting)
    story.wait(seconds)
    story.rest()
    assert len(story.broken) == 3 * wrong


def a_set(wanted: int, has: int, ready: int) -> Builder:
    status = {"replicas": has, "readyReplicas": ready, "availableReplicas": ready}
    return an_owner(REPLICA_SETS, {"replicas": wanted}, status)


def test_a_replica_set_has_its_pods_whether_they_serve_or_wait() -> None:
    owner = a_set(2, 2, 1)
    pods = child("a", owner).but(READY), child("b", owner).but(UNSCHEDULABLE)
    assert at_rest(ReplicaSetsSettle(), owner, *pods) == []


def test_pods_that_have_ended_do_not_count() -> None:
    owner = a_set(1, 1, 1)
    ended = child("b", owner).in_phase("Failed"), child("c", owner).deleted_at(START)
    assert at_rest(ReplicaSetsSettle(), owner, child("a", owner).but(READY), *ended) == []


@pytest.mark.parametrize(
    ("owner", "words"),
    [
        pytest.param(
            a_set(2, 1, 1), "the number of its pods is 1 instead of 2", id="a pod is missing"
        ),
        pytest.param(a_set(1, 2, 1), "status.replicas is 2 instead of 1", id="its status is wrong"),
        pytest.param(
            a_set(1, 1, 1).but({"metadata": {"generation": 2}}),
            "status.observedGeneration is 1 instead of 2",
            id="it has not looked",
        ),
    ],
)
def test_a_replica_set_that_has_not_settled_is_seen(owner: Builder, words: str) -> None:
    pod = child("a", owner).but(READY)
    assert at_rest(ReplicaSetsSettle(), owner, pod) == [words]
    assert at_rest(ReplicaSetsSettle(), owner, pod, QUOTA) == []


def a_deployment(wanted: int, has: int, updated: int) -> Builder:
    status = {"replicas": has, "updatedReplicas": updated, "availableReplicas": has}
    return an_owner(DEPLOYMENTS, {"replicas": wanted}, status)


def family(owner: Builder, *pods: JSON) -> list[Builder]:
    """A Deployment, its ReplicaSet, and pods."""
    middle = a_set(0, 0, 0).but({"metadata": {"uid": "middle"}})
    middle = middle.owned_by(DEPLOYMENTS, owner.build())
    made = [child(f"pod-{n}", middle).but(pod) for n, pod in enumerate(pods)]
    return [owner, middle, *made]


def test_a_deployment_has_what_it_wants_unless_pods_wait() -> None:
    assert at_rest(DeploymentsSettle(), *family(a_deployment(1, 1, 1), READY)) == []
    stuck = family(a_deployment(2, 1, 0), READY, UNSCHEDULABLE)
    assert at_rest(DeploymentsSettle(), *stuck) == []


def test_a_deployment_that_has_not_settled_is_seen() -> None:
    found = at_rest(DeploymentsSettle(), *family(a_deployment(1, 1, 0), READY))
    assert found == ["status.updatedReplicas is 0 instead of 1"]
    found = at_rest(DeploymentsSettle(), *family(a_deployment(2, 1, 1), READY))
    assert found[0].startswith("the number of its pods is 1 instead of 2; ")


@pytest.mark.parametrize(
    ("invariant", "owner", "wrong"),
    [
        pytest.param(
            StatefulSetsSettle(),
            an_owner(STATEFUL_SETS, {"replicas": 1}, {"readyReplicas": 1}),
            [],
            id="StatefulSet",
        ),
        pytest.param(
            StatefulSetsSettle(),
            an_owner(STATEFUL_SETS, {"replicas": 2}, {"readyReplicas": 1}),
            ["the number of its pods is 1 instead of 2"],
            id="StatefulSet that lacks a pod",
        ),
        pytest.param(
            DaemonSetsSettle(),
            an_owner(
                DAEMON_SETS,
                {},
                {"desiredNumberScheduled": 1, "currentNumberScheduled": 1, "numberReady": 1},
            ),
            [],
            id="DaemonSet",
        ),
        pytest.param(
            DaemonSetsSettle(),
            an_owner(
                DAEMON_SETS,
                {},
                {"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "numberReady": 1},
            ),
            ["status.numberReady is 1 instead of 2"],
            id="DaemonSet that lacks a pod",
        ),
        pytest.param(JobsSettle(), an_owner(JOBS, {}, {"active": 1}), [], id="Job that runs"),
        pytest.param(
            JobsSettle(),
            an_owner(
                JOBS,
                {},
                {"active": 1, "conditions": [{"type": "Complete", "status": "True"}]},
            ),
            ["the number of its pods is 1 instead of 0"],
            id="Job that is over and runs",
        ),
        pytest.param(
            JobsSettle(),
            an_owner(JOBS, {}, {"active": 1, "uncountedTerminatedPods": {"failed": ["a"]}}),
            ["the number of uncounted pods is 1 instead of 0"],
            id="Job that has not counted",
        ),
    ],
)
def test_an_owner_of_one_ready_pod_has_settled_or_not(
    invariant: Invariant, owner: Builder, wrong: list[str]
) -> None:
    assert at_rest(invariant, owner, child("web-0", owner).but(READY)) == wrong


def test_what_is_left_of_something_is_seen() -> None:
    owner = a_set(1, 1, 1)
    pod = child("a", owner)
    assert at_rest(NoOrphans(), owner, pod) == []
    assert at_rest(NoOrphans(), pod) == ["it is left of ReplicaSet web"]
    assert at_rest(NoOrphans(), pod.deleted_at(START)) == []


@pytest.mark.parametrize(
    "held",
    [
        pytest.param(
            a_pod("a").but({"metadata": {"finalizers": ["example.com/mine"]}}), id="finalizer"
        ),
        pytest.param(a_pod("a").on("node-1"), id="lost node"),
    ],
)
def test_what_is_held_may_be_half_gone_and_so_may_its_owner_and_namespace(held: PodBuilder) -> None:
    owner = a_set(1, 1, 1).but({"metadata": {"finalizers": ["foregroundDeletion"]}})
    pod = held.owned_by(owner.kind, owner.build()).deleted_at(LONG_AGO)
    namespace = Builder(NAMESPACES, {"metadata": {"name": "default"}}).deleted_at(LONG_AGO)
    node = NODE.not_ready()
    found = at_rest(NothingHalfGone(), node, owner.deleted_at(LONG_AGO), pod, namespace)
    assert found == []


def test_a_deletion_that_nobody_holds_up_must_have_ended() -> None:
    pod = a_pod("a").on("node-1").deleted_at(LONG_AGO)
    found = at_rest(NothingHalfGone(), NODE, pod, a_pod("b"))
    assert found == ["its deletion began at 23:00:00 and did not end"]


def test_a_deletion_that_has_just_begun_may_go_on() -> None:
    pod = a_pod("a").on("node-1").deleted_at(START + timedelta(seconds=59))
    assert at_rest(NothingHalfGone(), NODE, pod) == []
