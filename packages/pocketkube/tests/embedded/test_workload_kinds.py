"""Workloads: what their rules fill in, refuse and let change, through the strategies of the catalogue."""

from copy import deepcopy
from typing import Any

import pytest

from pocketkube.apiserver.kinds import catalogue, timetable

Object = dict[str, Any]
STRATEGIES = {
    each.kind: each.strategy for each in catalogue.builtin() if each.group != "events.k8s.io"
}
CHOSEN = {"matchLabels": {"app": "a"}}


def a_template(**spec: Any) -> Object:
    container = {"name": "a", "image": "img:1"}
    return {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [container], **spec},
    }


def a_workload(kind: str, **spec: Any) -> Object:
    template = a_template(restartPolicy="Never") if kind == "Job" else a_template()
    chosen = {} if kind in ("Job", "ReplicationController") else {"selector": CHOSEN}
    return {
        "kind": kind,
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {**chosen, "template": template, **spec},
    }


def a_cron_job(**spec: Any) -> Object:
    job = {"spec": {"template": a_template(restartPolicy="Never")}}
    return {
        "kind": "CronJob",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"schedule": "* * * * *", "jobTemplate": job, **spec},
    }


def made(obj: Object) -> Object:
    """The object as it is stored; it must be a good one."""
    new, causes = tried(obj)
    assert not causes
    return new


def tried(obj: Object) -> tuple[Object, list[str]]:
    strategy, new = STRATEGIES[obj["kind"]], deepcopy(obj)
    new["apiVersion"] = "v1"
    strategy.read(new)
    strategy.default(new)
    new["metadata"] |= {"uid": "u1", "resourceVersion": "1"}
    strategy.before_create(new)
    return new, [f"{one.field}: {one.message}" for one in strategy.check_create(new)]


def changed(old: Object, **spec: Any) -> tuple[Object, list[str]]:
    strategy, new = STRATEGIES[old["kind"]], deepcopy(old)
    new["spec"] |= spec
    strategy.read(new)
    strategy.default(new)
    strategy.before_update(new, old)
    return new, [f"{one.field}: {one.message}" for one in strategy.check_update(new, old)]


def test_a_deployment_rolls_by_quarters_unless_it_says_otherwise() -> None:
    spec = made(a_workload("Deployment"))["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert (spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (10, 600)
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
    assert "enableServiceLinks" not in spec["template"]["spec"]


def test_a_template_asks_for_no_more_than_it_says() -> None:
    template = a_template()
    template["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    spec = made(a_workload("Deployment", template=template))["spec"]
    assert spec["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("obj", "stated"),
    [
        (
            a_workload("Deployment", selector={"matchLabels": {"app": "b"}}),
            'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
        ),
        (
            a_workload("Deployment", template=a_template(restartPolicy="Never")),
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        ),
        (
            a_workload("Deployment", replicas=-1),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            a_workload("Deployment", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
        ),
        (
            a_workload("StatefulSet", podManagementPolicy="Wild"),
            "spec.podManagementPolicy: Invalid value: \"Wild\": must be 'OrderedReady' or 'Parallel'",
        ),
        (
            a_workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}),
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
        ),
        (
            a_workload("Job", template=a_template()),
            'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
        ),
        (
            a_workload("Job", completionMode="Indexed", parallelism=1),
            "spec.completions: Required value: when completion mode is Indexed",
        ),
        (
            a_cron_job(schedule="61 * * * *"),
            'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61',
        ),
        (
            a_cron_job(timeZone="Mars/Base"),
            'spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base',
        ),
    ],
    ids=[
        "a selector of others", "a template that ends", "fewer than none", "no pods to spare", "a strange policy",
        "both shares", "a job for ever", "indexes without a number", "a strange minute", "a strange zone",
    ],
)  # fmt: skip
def test_a_bad_workload_is_refused_in_the_words_of_a_server(obj: Object, stated: str) -> None:
    assert tried(obj)[1] == [stated]


def test_a_job_is_reported_apart_by_labels_it_is_given() -> None:
    job = made(a_workload("Job"))
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u1"}}
    labels = {
        "app": "a",
        "batch.kubernetes.io/controller-uid": "u1",
        "batch.kubernetes.io/job-name": "w",
        "controller-uid": "u1",
        "job-name": "w",
    }
    assert job["spec"]["template"]["metadata"]["labels"] == labels
    assert job["metadata"]["labels"] == labels
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (1, 1)


@pytest.mark.parametrize(
    ("own", "of_pods", "inherits"),
    [
        ({}, {}, True),
        ({}, {"a": "b"}, True),
        ({"a": "b"}, {"a": "b"}, False),
        ({"c": "d"}, {}, False),
    ],
    ids=["no labels", "labels of its pods", "the same labels itself", "other labels itself"],
)
def test_a_job_without_labels_has_those_of_its_pods(
    own: Object, of_pods: Object, *, inherits: bool
) -> None:
    wanted = a_workload("Job")
    wanted["metadata"]["labels"] = own
    wanted["spec"]["template"]["metadata"] = {"labels": of_pods}
    job = made(wanted)
    generated = job["spec"]["template"]["metadata"]["labels"]
    assert of_pods.items() < generated.items()
    assert job["metadata"]["labels"] == (generated if inherits else own)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_a_selector_is_chosen_once(kind: str) -> None:
    other = a_template()
    other["metadata"]["labels"] = {"app": "b"}
    old = made(a_workload(kind))
    _, causes = changed(old, selector={"matchLabels": {"app": "b"}}, template=other)
    assert causes == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable'
    ]


def test_a_stateful_set_keeps_its_service_and_claims() -> None:
    old = made(a_workload("StatefulSet", serviceName="s"))
    assert not changed(old, replicas=3, minReadySeconds=5)[1]
    (stated,) = changed(old, serviceName="t")[1]
    assert stated.startswith("spec: Forbidden: updates to statefulset spec for fields other than")


@pytest.mark.parametrize(
    ("pod", "allowed"),
    [
        ({"nodeSelector": {"a": "b"}}, True),
        ({"tolerations": [{"operator": "Exists"}]}, True),
        ({"hostname": "x"}, False),
    ],
    ids=["nodes", "tolerations", "a host name"],
)
def test_a_job_that_stands_still_may_be_sent_elsewhere(pod: Object, *, allowed: bool) -> None:
    old = made(a_workload("Job", suspend=True))
    template = deepcopy(old["spec"]["template"])
    template["spec"] |= pod
    assert (not changed(old, template=template)[1]) is allowed
    going = made(a_workload("Job"))
    template = deepcopy(going["spec"]["template"])
    template["spec"] |= pod
    (stated,) = changed(going, template=template)[1]
    assert stated.startswith("spec.template: Invalid value: {")
    assert stated.endswith(": field is immutable")


def test_a_deployment_counts_changes_of_its_annotations_too() -> None:
    old = made(a_workload("Deployment"))
    assert changed(old)[0]["metadata"]["generation"] == 1
    assert changed(old, replicas=2)[0]["metadata"]["generation"] == 2
    new = deepcopy(old)
    new["metadata"]["annotations"] = {"a": "b"}
    STRATEGIES["Deployment"].before_update(new, old)
    assert new["metadata"]["generation"] == 2


def test_a_daemon_set_counts_its_templates() -> None:
    old = made(a_workload("DaemonSet"))
    key = "deprecated.daemonset.template.generation"
    assert old["metadata"]["annotations"] == {key: "1"}
    new, _ = changed(old, template=a_template(hostname="x"))
    assert new["metadata"]["annotations"] == {key: "2"}


@pytest.mark.parametrize(
    ("schedule", "stated"),
    [
        ("* * * * *", ""),
        ("*/5 1,2 1-15 jan-mar Mon", ""),
        ("@daily", ""),
        ("@every 1h30m", ""),
        ("@often", "unrecognized descriptor: @often"),
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
    ],
)
def test_a_timetable_is_read_as_cron_reads_it(schedule: str, stated: str) -> None:
    assert timetable.wrong(schedule) == stated
