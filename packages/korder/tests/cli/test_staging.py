"""From manifests to a script: what is added, what is promised, and in which order things are done."""

import pytest
import yaml

from korder.cli.documents import Document
from korder.cli.simulate import script as scripts
from kubeloop.objects.meta import JSON
from pocketkube.nodes.lifetimes import RUNS_FOR
from pocketkube.nodes.machines import Shape
from pocketkube.simulation.report.workload_rows import Name
from pocketkube.simulation.script import AddNode, Apply, Delete, Step

POD = "{apiVersion: v1, kind: Pod, metadata: {name: one}, spec: {restartPolicy: POLICY}}"
JOB = "{apiVersion: batch/v1, kind: Job, metadata: {name: report}, spec: {template: TEMPLATE}}"
CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}"
ORDER = "{apiVersion: core.korder.dev/v1alpha1, kind: Order, metadata: {name: o}}"
QUOTA = "{apiVersion: core.korder.dev/v1alpha1, kind: Quota, metadata: {name: q}}"
NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: a}}}"


def staged(*texts: str) -> scripts.Stage:
    return scripts.stage([Document(yaml.safe_load(text), "here") for text in texts], "5m")


def runs_for(body: JSON) -> object:
    assert isinstance(body, dict)
    meta = body.get("metadata")
    annotations = meta.get("annotations") if isinstance(meta, dict) else None
    return annotations.get(RUNS_FOR) if isinstance(annotations, dict) else None


@pytest.mark.parametrize(
    ("policy", "said"), [("Always", None), ("OnFailure", "5m"), ("Never", "5m")]
)
def test_pods_that_are_meant_to_end_are_reported_when(policy: str, said: str | None) -> None:
    (pod,) = staged(POD.replace("POLICY", policy)).objects
    assert runs_for(pod.body) == said


@pytest.mark.parametrize(
    ("template", "said"),
    [
        pytest.param("{}", "5m", id="a job that does not say"),
        pytest.param(
            "{metadata: {annotations: {korder.dev/runs-for: 1h}}}", "1h", id="one that does"
        ),
        pytest.param(
            "{metadata: {annotations: {korder.dev/fails-after: 1h}}}", None, id="one that fails"
        ),
    ],
)
def test_jobs_end_as_they_say_or_as_all_do(template: str, said: str | None) -> None:
    (job,) = staged(JOB.replace("TEMPLATE", template)).objects
    spec = job.body["spec"]
    assert isinstance(spec, dict)
    assert runs_for(spec["template"]) == said


def test_workloads_are_promised_and_other_things_are_not() -> None:
    stage = staged(POD, JOB, CONFIG, ORDER, QUOTA)
    assert stage.promised == (
        Name("Pod", "default", "one"),
        Name("Job", "default", "report"),
        Name("Order", "default", "o"),
    )
    assert stage.idle == ()


def test_a_quota_counts_only_where_somebody_books() -> None:
    assert staged(ORDER, QUOTA).idle == ()
    assert staged(POD, QUOTA).idle == ("Quota q",)


def test_korder_itself_is_there_only_if_somebody_books_or_asks() -> None:
    asks = POD.replace("{name: one}", "{name: one, annotations: {korder.dev/required: 'true'}}")
    assert [staged(each).runs_korder for each in (POD, QUOTA, ORDER, asks)] == [
        False,
        False,
        True,
        True,
    ]
    assert "PriorityClass" in {each.kind for each in staged(ORDER).before}


def test_a_namespace_that_nobody_brings_is_made() -> None:
    (made,) = staged(CONFIG).before
    assert (made.kind, made.name) == ("Namespace", "shop")


def test_a_namespace_that_somebody_brings_is_left_as_it_is() -> None:
    (brought,) = staged(CONFIG, NAMESPACE).before
    assert brought.metadata == {"name": "shop", "labels": {"team": "a"}}


def test_our_kinds_are_defined_only_where_they_are_used() -> None:
    assert staged(POD).before == ()
    assert "Order" in {defined[1] for each in staged(ORDER).before if (defined := each.defines)}


def test_machines_come_first_and_users_wait_for_the_start() -> None:
    machines = scripts.joining({"node-1": Shape(labels={"zone": "a"})})
    users = [Step(1.0, Apply({"kind": "Namespace"})), Step(5.0, Delete("v1", "Pod", "x"))]
    script = scripts.script(staged(POD, CONFIG), machines, users)
    assert [step.at for step in script] == [0.0, 1.0, 1.0, 30.0, 30.0, 35.0]
    first = script[0].action
    assert isinstance(first, AddNode)
    assert (first.name, first.labels, first.capacity["pods"]) == ("node-1", {"zone": "a"}, "110")
