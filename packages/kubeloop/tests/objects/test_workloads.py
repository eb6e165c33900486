import pytest

from kubeloop.objects import codec, core, workloads
from kubeloop.objects.meta import JSON, Kind
from kubeloop.objects.selector import LabelSelector

TEMPLATE: dict[str, JSON] = {
    "metadata": {"creationTimestamp": None, "labels": {"app": "web"}},
    "spec": {
        "containers": [{"name": "c", "env": [{"name": "A", "value": "b"}]}],
        "nodeSelector": {"disk": "ssd"},
    },
}


def test_a_template_keeps_what_the_types_do_not_know() -> None:
    body: JSON = {"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}}

    made = codec.convert(body, workloads.Deployment)

    assert made.spec.template == TEMPLATE
    assert made.spec.selector == LabelSelector(match_labels={"app": "web"})
    assert made.spec.replicas == 1


def test_the_typed_view_of_a_template_answers_where_its_pods_may_run() -> None:
    template = workloads.template_of(TEMPLATE)

    assert template.metadata.labels == {"app": "web"}
    assert template.spec == core.PodSpec(
        containers=(core.Container(name="c"),), node_selector={"disk": "ssd"}
    )


@pytest.mark.parametrize("surge", [1, "25%"], ids=["a count", "a percentage"])
def test_rolling_updates_count_pods_or_percentages(surge: int | str) -> None:
    body: JSON = {"spec": {"strategy": {"rollingUpdate": {"maxSurge": surge}}}}

    strategy = codec.convert(body, workloads.Deployment).spec.strategy

    assert strategy.rolling_update == workloads.RollingUpdate(max_surge=surge)


def test_a_selector_that_a_client_sent_as_null_is_no_selector() -> None:
    body: JSON = {"spec": {"selector": None}}

    assert codec.convert(body, workloads.DaemonSet).spec.selector is None


def test_a_job_tells_when_it_ended() -> None:
    body: JSON = {
        "spec": {"completions": 2, "suspend": False, "ttlSecondsAfterFinished": 0},
        "status": {
            "succeeded": 2,
            "completionTime": "2026-01-31T12:00:00Z",
            "conditions": [{"type": "Complete", "status": "True"}],
        },
    }

    job = codec.convert(body, workloads.Job)

    assert (job.spec.suspend, job.spec.ttl_seconds_after_finished) == (False, 0)
    assert job.status.completion_time is not None
    assert core.reported(job.status.conditions, "Complete") is not None


def test_status_counts_are_read() -> None:
    body: JSON = {"status": {"replicas": 3, "readyReplicas": 2, "numberReady": 4}}

    assert codec.convert(body, workloads.ReplicaSet).status.ready_replicas == 2
    assert codec.convert(body, workloads.StatefulSet).status.replicas == 3
    assert codec.convert(body, workloads.DaemonSet).status.number_ready == 4


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (workloads.DEPLOYMENTS, "deployments.apps"),
        (workloads.REPLICA_SETS, "replicasets.apps"),
        (workloads.STATEFUL_SETS, "statefulsets.apps"),
        (workloads.DAEMON_SETS, "daemonsets.apps"),
        (workloads.JOBS, "jobs.batch"),
    ],
    ids=str,
)
def test_kinds_name_their_resource(kind: Kind[workloads.Deployment], name: str) -> None:
    assert str(kind) == name
    assert kind.namespaced
