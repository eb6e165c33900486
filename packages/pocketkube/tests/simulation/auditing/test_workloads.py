"""Promises about leases, owners and their pods. Each is shown kept and broken."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from kubeloop.objects import instant
from kubeloop.objects.core import LEASES, NAMESPACES
from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import DEPLOYMENTS, JOBS, REPLICA_SETS, STATEFUL_SETS
from kubeloop.testing.builders import Builder, PodBuilder, a_pod
from pocketkube.simulation.auditing.invariant import Tolerance
from pocketkube.simulation.invariants.headcount import NoneTooMany
from pocketkube.simulation.invariants.jobs import CountedOnce, DeadlineKept, ExpiryKept
from pocketkube.simulation.invariants.leases import OneHolder
from pocketkube.simulation.invariants.rollouts import RolloutInBounds
from pocketkube.simulation.invariants.running import FinishedForGood
from pocketkube.simulation.invariants.statefulsets import NumbersInOrder
from pocketkube.testing.story import START, Story

CONTROLLERS = "controllers"
READY: JSON = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def an_object(kind: object, name: str, spec: Mapping[str, JSON], uid: str = "owner") -> Builder:
    meta: JSON = {"name": name, "namespace": "default", "uid": uid}
    return Builder(kind, {"metadata": meta, "spec": dict(spec)})


def child(name: str, owner: Builder) -> PodBuilder:
    return a_pod(name).owned_by(owner.kind, owner.build())


def test_a_finished_pod_stays_as_it_is() -> None:
    story = Story(FinishedForGood())
    pod = a_pod("web")
    story.tell(pod.in_phase("Running"), pod.in_phase("Failed"), pod.in_phase("Failed").on("n"))
    assert story.broken == []
    story.tell(pod.in_phase("Running"))
    assert story.broken == ["its phase was Failed and is now Running"]


def a_lease(holder: str, renewal: int = 0) -> Builder:
    at = instant.render_micro(START + timedelta(seconds=renewal))
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": at}
    return an_object(LEASES, "leader", spec)


def test_a_lease_is_taken_when_it_was_not_renewed_for_its_duration() -> None:
    story = Story(OneHolder())
    story.tell(a_lease("a"))
    story.wait(10)
    story.tell(a_lease("a", 10))
    story.wait(15)
    story.tell(a_lease("b", 25))
    assert story.broken == []


def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    story = Story(OneHolder())
    story.tell(a_lease("a"), a_lease(""), a_lease("b"))
    assert story.broken == []


def test_a_lease_that_is_taken_too_soon_is_seen_even_if_its_labels_were_edited() -> None:
    story = Story(OneHolder())
    story.tell(a_lease("a"))
    story.wait(10)
    story.tell(a_lease("a", 10), a_lease("a", 10).labelled({"team": "x"}))
    story.wait(14.5)
    story.tell(a_lease("b", 24))
    assert story.broken == ["b took it from a 14.5 s after its renewal, of 15"]


def a_set(replicas: int) -> Builder:
    return an_object(REPLICA_SETS, "web", {"replicas": replicas})


def a_job(**spec: JSON) -> Builder:
    return an_object(JOBS, "work", spec)


def test_an_owner_makes_as_many_pods_as_it_wants_and_new_ones_for_those_that_end() -> None:
    story = Story(NoneTooMany())
    story.tell(a_set(2))
    first, second, third = (child(name, a_set(2)) for name in "abc")
    story.tell(first, second, by=CONTROLLERS)
    story.tell(first.in_phase("Failed"))
    story.tell(third, by=CONTROLLERS)
    story.lose(second)
    story.tell(second, by=CONTROLLERS)
    assert story.broken == []


@pytest.mark.parametrize(
    ("owner", "most"),
    [
        pytest.param(a_set(2), 2, id="ReplicaSet"),
        pytest.param(a_job(parallelism=2), 2, id="Job by parallelism"),
        pytest.param(
            a_job(parallelism=2, completions=5).but({"status": {"succeeded": 4}}),
            1,
            id="Job by completions",
        ),
        pytest.param(
            a_job(parallelism=3, completions=4).but(
                {"status": {"succeeded": 2, "uncountedTerminatedPods": {"succeeded": ["x"]}}}
            ),
            1,
            id="Job that has yet to count",
        ),
        pytest.param(a_job(parallelism=2, suspend=True), 0, id="Job that is suspended"),
        pytest.param(a_set(2).deleted_at(START), 0, id="ReplicaSet that is being deleted"),
    ],
)
def test_a_pod_too_many_is_seen(owner: Builder, most: int) -> None:
    story = Story(NoneTooMany())
    story.tell(owner)
    for number in range(most):
        story.tell(child(f"pod-{number}", owner), by=CONTROLLERS)
    assert story.broken == []
    story.tell(child("another", owner), by=CONTROLLERS)
    assert story.broken == [f"it was made as number {most + 1} of {most}"]


def test_a_controller_may_not_have_seen_yet_that_fewer_pods_are_wanted() -> None:
    story = Story(NoneTooMany())
    story.tell(a_set(1), a_set(0))
    story.wait(4)
    story.tell(child("a", a_set(1)), by=CONTROLLERS)
    assert story.broken == []
    story.lose(a_pod("a"))
    story.wait(4)
    story.tell(child("b", a_set(1)), by=CONTROLLERS)
    assert story.broken == ["it was made as number 1 of 0"]


def test_a_pod_made_for_an_owner_that_is_long_gone_is_seen() -> None:
    story = Story(NoneTooMany())
    story.tell(child("a", a_set(1)), by=CONTROLLERS)
    assert story.broken == ["it was made as number 1 of 0"]


def a_stateful_set(replicas: int, **spec: JSON) -> Builder:
    return an_object(STATEFUL_SETS, "db", {"replicas": replicas, **spec})


def test_numbers_come_in_order_and_any_comes_back() -> None:
    owner = a_stateful_set(3)
    zero, one, two = (child(f"db-{number}", owner) for number in range(3))
    story = Story(NumbersInOrder())
    story.tell(owner)
    for pod in (zero, one, two):
        story.tell(pod, by=CONTROLLERS)
        story.tell(pod.but(READY))
    story.lose(one)
    story.tell(one, by=CONTROLLERS)
    assert story.broken == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        pytest.param(4, [], id="a moment ago"),
        pytest.param(6, ["it was made while db-0 was not ready"], id="long ago"),
    ],
)
def test_a_lower_number_must_be_ready_or_have_been_so_lately(
    seconds: float, words: list[str]
) -> None:
    owner = a_stateful_set(2)
    story = Story(NumbersInOrder())
    story.tell(owner)
    story.tell(child("db-0", owner).but(READY), by=CONTROLLERS)
    story.tell(child("db-0", owner), by=CONTROLLERS)
    story.wait(seconds)
    story.tell(child("db-1", owner), by=CONTROLLERS)
    assert story.broken == words


def test_a_lower_number_that_was_never_ready_is_in_the_way_at_once() -> None:
    owner = a_stateful_set(2)
    zero = child("db-0", owner)
    story = Story(NumbersInOrder())
    story.tell(owner)
    story.tell(zero, zero.on("node-1"), child("db-1", owner), by=CONTROLLERS)
    assert story.broken == ["it was made while db-0 was not ready"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        pytest.param(4, [], id="a moment ago"),
        pytest.param(6, ["it was made, but 0 to 0 are wanted"], id="long ago"),
    ],
)
def test_a_number_must_be_wanted_or_have_been_so_lately(seconds: float, words: list[str]) -> None:
    owner = a_stateful_set(2)
    story = Story(NumbersInOrder())
    story.tell(owner)
    story.tell(child("db-0", owner).but(READY), by=CONTROLLERS)
    story.tell(a_stateful_set(1))
    story.wait(seconds)
    story.tell(child("db-1", owner), by=CONTROLLERS)
    assert story.broken == words


def test_numbers_that_need_no_order_come_at_once() -> None:
    owner = a_stateful_set(2, podManagementPolicy="Parallel")
    story = Story(NumbersInOrder())
    story.tell(owner)
    story.tell(child("db-1", owner), child("db-0", owner), by=CONTROLLERS)
    assert story.broken == []


@pytest.mark.parametrize("name", ["db-2", "db-x", "other-0"])
def test_a_pod_whose_number_is_not_wanted_is_seen(name: str) -> None:
    owner = a_stateful_set(2, podManagementPolicy="Parallel")
    story = Story(NumbersInOrder())
    story.tell(owner)
    story.tell(child(name, owner), by=CONTROLLERS)
    assert story.broken == ["it was made, but 0 to 1 are wanted"]


def a_deployment(replicas: int, **spec: JSON) -> Builder:
    rolling: JSON = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
    }
    return an_object(DEPLOYMENTS, "web", {"replicas": replicas, "strategy": rolling, **spec})


def part(name: str, replicas: int) -> Builder:
    made = an_object(REPLICA_SETS, name, {"replicas": replicas}, uid=f"uid-{name}")
    return made.owned_by(DEPLOYMENTS, a_deployment(1).build())


def test_a_rollout_step_by_step_stays_in_bounds() -> None:
    story = Story(RolloutInBounds())
    story.tell(a_deployment(4))
    steps = [("old", 4), ("new", 1), ("old", 2), ("new", 3), ("old", 0), ("new", 4)]
    for name, replicas in steps:
        story.tell(part(name, replicas), by=CONTROLLERS)
    assert story.broken == []


@pytest.mark.parametrize(
    ("name", "replicas", "words"),
    [
        pytest.param("new", 2, "may have 5 pods and now wants 6", id="too many at once"),
        pytest.param("old", 2, "must keep 3 pods and now wants 2", id="too few left"),
    ],
)
def test_a_rollout_that_goes_too_far_is_seen(name: str, replicas: int, words: str) -> None:
    story = Story(RolloutInBounds())
    story.tell(a_deployment(4))
    story.tell(part("old", 4), part(name, replicas), by=CONTROLLERS)
    assert story.broken == [f"its Deployment {words}"]


@pytest.mark.parametrize(
    ("seconds", "wrong"), [pytest.param(4, 0, id="lately"), pytest.param(6, 1, id="long ago")]
)
def test_a_deployment_may_not_have_been_seen_to_grow(seconds: float, wrong: int) -> None:
    story = Story(RolloutInBounds())
    story.tell(a_deployment(4))
    story.tell(part("old", 4), by=CONTROLLERS)
    story.tell(a_deployment(1), a_deployment(8))
    story.wait(seconds)
    story.tell(part("old", 1), by=CONTROLLERS)
    assert len(story.broken) == wrong


def test_who_says_nothing_about_rollouts_may_have_a_quarter_more() -> None:
    story = Story(RolloutInBounds())
    story.tell(a_deployment(4, strategy={}))
    story.tell(part("old", 5), part("new", 1), by=CONTROLLERS)
    assert story.broken == ["its Deployment may have 5 pods and now wants 6"]


def test_replica_sets_that_are_nobodys_or_of_a_deployment_that_is_gone_are_not_judged() -> None:
    story = Story(RolloutInBounds())
    story.tell(a_deployment(1).but({"metadata": {"uid": "another"}}))
    story.tell(part("old", 5), a_set(7), by=CONTROLLERS)
    assert story.broken == []


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(a_deployment(4, strategy={"type": "Recreate"}), id="it recreates"),
        pytest.param(a_deployment(1), id="it is scaled down"),
        pytest.param(a_deployment(4, paused=True), id="it is paused"),
    ],
)
def test_a_deployment_may_take_away_pods_that_it_need_not_keep(then: Builder) -> None:
    story = Story(RolloutInBounds())
    story.tell(a_deployment(4))
    story.tell(part("old", 4), by=CONTROLLERS)
    story.tell(then)
    story.tell(part("old", 1), by=CONTROLLERS)
    assert story.broken == []


def counted(succeeded: int, failed: int = 0) -> Builder:
    return a_job(completions=3).but({"status": {"succeeded": succeeded, "failed": failed}})


def test_counts_that_grow_up_to_the_completions_are_fine() -> None:
    story = Story(CountedOnce())
    story.tell(counted(0), counted(1), counted(1, 5), counted(3, 5))
    assert story.broken == []


@pytest.mark.parametrize(
    ("then", "words"),
    [
        pytest.param(counted(1, 2), "succeeded fell from 2 to 1", id="a success is forgotten"),
        pytest.param(counted(2, 1), "failed fell from 2 to 1", id="a failure is forgotten"),
        pytest.param(counted(4, 2), "4 pods have succeeded, of 3", id="one success too many"),
    ],
)
def test_counts_that_cannot_be_are_seen(then: Builder, words: str) -> None:
    story = Story(CountedOnce())
    story.tell(counted(2, 2), then)
    assert story.broken == [words]


def said(kind: str, reason: str, at: float) -> JSON:
    when = instant.render(START + timedelta(seconds=at))
    return {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": when}


STARTED: JSON = {"status": {"startTime": instant.render(START)}}
LIMITED = a_job(activeDeadlineSeconds=60)
RUNNING = LIMITED.but(STARTED)
OVERRUN = RUNNING.but({"status": {"conditions": [said("FailureTarget", "DeadlineExceeded", 60)]}})
DONE = a_job(ttlSecondsAfterFinished=60).but(
    {"status": {"conditions": [said("Complete", "CompletionsReached", 0)]}}
)
CASES = [
    pytest.param(59.9, ["early"], id="early"),
    pytest.param(60.0, [], id="in time"),
    pytest.param(61.0, [], id="a second late"),
    pytest.param(61.1, ["late"], id="later"),
]


def heard(story: Story) -> list[str]:
    """What is wrong, in one word each."""
    return ["early" if stated.endswith("s early") else "late" for stated in story.broken]


@pytest.mark.parametrize(("seconds", "wrong"), CASES)
def test_a_deadline_is_kept_to_the_second(seconds: float, wrong: list[str]) -> None:
    story = Story(DeadlineKept())
    story.tell(LIMITED, RUNNING)
    story.wait(seconds)
    story.tell(OVERRUN, by=CONTROLLERS)
    story.wait(100)
    assert heard(story) == wrong


def test_it_is_said_how_early_or_late_something_was() -> None:
    story = Story(DeadlineKept(), ExpiryKept())
    story.tell(RUNNING, DONE.but({"metadata": {"name": "done", "uid": "done"}}))
    story.wait(58.5)
    story.tell(OVERRUN, by=CONTROLLERS)
    story.wait(10)
    assert story.broken == ["it was ended 1.5 s early", "it was not deleted 1 s after that was due"]


@pytest.mark.parametrize(("seconds", "wrong"), CASES)
def test_a_finished_job_lives_as_long_as_it_shall(seconds: float, wrong: list[str]) -> None:
    story = Story(ExpiryKept())
    story.tell(DONE)
    story.wait(seconds)
    story.tell(DONE.deleted_at(story.now), by=CONTROLLERS)
    story.wait(100)
    assert heard(story) == wrong


@pytest.mark.parametrize("made", [DeadlineKept, ExpiryKept])
def test_a_run_with_faults_says_how_late_and_how_wrong_it_may_be(
    made: type[DeadlineKept | ExpiryKept],
) -> None:
    tolerance = Tolerance(late=timedelta(seconds=30), skew=timedelta(seconds=5))
    story = Story(made(tolerance))
    story.tell(RUNNING, DONE.but({"metadata": {"name": "done", "uid": "done"}}))
    story.wait(95.9)
    assert story.broken == []
    story.wait(0.2)
    assert heard(story) == ["late"]


@pytest.mark.parametrize(("seconds", "wrong"), [(54, ["early"]), (56, [])])
def test_a_clock_that_is_wrong_may_be_so_far_early(seconds: float, wrong: list[str]) -> None:
    story = Story(DeadlineKept(Tolerance(skew=timedelta(seconds=5))))
    story.tell(RUNNING)
    story.wait(seconds)
    story.tell(OVERRUN, by=CONTROLLERS)
    assert heard(story) == wrong


def test_a_deadline_that_is_set_when_it_has_passed_counts_from_then() -> None:
    story = Story(DeadlineKept())
    story.tell(a_job().but(STARTED))
    story.wait(100)
    story.tell(RUNNING)
    story.wait(0.9)
    assert story.broken == []
    story.wait(0.2)
    assert heard(story) == ["late"]


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(RUNNING.deleted_at(START), id="deleted"),
        pytest.param(RUNNING.but({"spec": {"suspend": True}}), id="suspended"),
        pytest.param(RUNNING.but({"spec": {"activeDeadlineSeconds": 600}}), id="put off"),
        pytest.param(
            RUNNING.but({"status": {"conditions": [said("SuccessCriteriaMet", "", 9)]}}),
            id="has succeeded",
        ),
    ],
)
def test_a_deadline_that_does_not_hold_any_more_is_not_missed(then: Builder) -> None:
    story = Story(DeadlineKept())
    story.tell(RUNNING)
    story.wait(10)
    story.tell(then)
    story.wait(200)
    assert story.broken == []


def test_the_time_to_live_counts_from_the_end_of_a_job() -> None:
    story = Story(ExpiryKept())
    story.tell(a_job(ttlSecondsAfterFinished=60))
    story.wait(300)
    over = {"status": {"conditions": [said("Failed", "DeadlineExceeded", 300)]}}
    story.tell(a_job(ttlSecondsAfterFinished=60).but(over))
    story.wait(60.9)
    assert story.broken == []
    story.wait(0.2)
    assert heard(story) == ["late"]


def test_a_job_may_go_early_with_its_namespace_or_its_owner() -> None:
    story = Story(ExpiryKept())
    namespace = Builder(NAMESPACES, {"metadata": {"name": "default"}})
    story.tell(namespace, DONE)
    story.tell(namespace.deleted_at(START))
    story.tell(DONE.deleted_at(START), by=CONTROLLERS)
    owned = a_job().owned_by(REPLICA_SETS, a_set(1).build()).in_namespace("other")
    story.tell(owned)
    story.tell(owned.deleted_at(START), by=CONTROLLERS)
    assert story.broken == []


def test_a_user_may_delete_a_finished_job_at_any_time() -> None:
    story = Story(ExpiryKept())
    story.tell(DONE, DONE.deleted_at(START))
    story.wait(100)
    assert story.broken == []


def test_a_job_that_nobody_lets_expire_is_not_deleted_by_itself() -> None:
    story = Story(ExpiryKept())
    story.tell(Builder(NAMESPACES, {"metadata": {"name": "default"}}), a_job())
    story.tell(a_job().deleted_at(START), by=CONTROLLERS)
    assert story.broken == ["it was deleted, which was not due at all"]
