"""Names that repeat themselves, hashes that tell templates apart, and statuses that leave nothing behind."""

from hypothesis import given, strategies as st
import pytest

from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import JOBS, Job, JobStatus, UncountedPods
from kubeloop.testing.builders import Builder
from pocketkube.controllers import pod_control


@pytest.mark.slow
@given(st.sets(st.integers(0, 30)), st.integers(1, 10), st.data())
def test_what_was_made_unseen_is_among_the_names_of_the_next_try(
    seen: set[int], missing: int, data: st.DataObject
) -> None:
    series = pod_control.fresh_names("web", "uid", lambda _: False, 31)
    taken = {series[number] for number in seen}
    made = pod_control.fresh_names("web", "uid", taken.__contains__, missing)
    vanished = data.draw(st.sets(st.sampled_from(sorted(taken)))) if taken else set()
    shown = data.draw(st.sets(st.sampled_from(made)))
    known = (taken - vanished) | shown
    still_missing = missing - len(shown) + len(vanished)

    again = pod_control.fresh_names("web", "uid", known.__contains__, still_missing)

    assert set(made) - shown <= set(again)
    assert not known & set(again)


def test_a_long_name_leaves_room_for_its_ending() -> None:
    (name,) = pod_control.fresh_names("x" * 200, "uid", lambda _: False, 1)

    assert len(name) == 63


def test_templates_differ_by_content_and_not_by_what_a_server_adds() -> None:
    labels: JSON = {"app": "web"}
    first: dict[str, JSON] = {"metadata": {"labels": labels}, "spec": {"a": 1, "b": 2}}
    stored: dict[str, JSON] = {
        "spec": {"b": 2, "a": 1},
        "metadata": {"creationTimestamp": None, "labels": labels},
    }

    assert pod_control.template_hash(first) == pod_control.template_hash(stored)
    assert pod_control.template_hash(first) != pod_control.template_hash(first, 1)
    assert pod_control.template_hash(first) != pod_control.template_hash(
        {**first, "spec": {"a": 1}}
    )


def test_a_status_that_became_empty_is_taken_away_member_by_member() -> None:
    job: Job = Builder(JOBS, {"metadata": {"name": "j", "namespace": "ns"}}).stored("u").build()
    had = JobStatus(active=2, uncounted_terminated_pods=UncountedPods(failed=("a",)))
    has = JobStatus(succeeded=1, uncounted_terminated_pods=UncountedPods(succeeded=("b",)))

    (step,) = pod_control.report(JOBS, job, had, has)

    assert isinstance(step.body, dict)
    status = step.body["status"]
    assert isinstance(status, dict)
    assert (status["active"], status["succeeded"]) == (None, 1)
    assert status["uncountedTerminatedPods"] == {"succeeded": ("b",), "failed": None}
    assert pod_control.report(JOBS, job, has, has) == ()
