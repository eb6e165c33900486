"""Deployments, replica sets, stateful sets, daemon sets and jobs: defaults, rules, generations and scale."""

from typing import Any

import pytest
from tests.contract.objects import Home, simple, template, workload
from tests.contract.wire import MERGE_PATCH, Server


def job(name: str, **spec: Any) -> dict[str, Any]:
    pods = template()
    pods["spec"]["restartPolicy"] = "Never"
    return simple("batch/v1", "Job", name, spec={"template": pods, **spec})


async def test_a_deployment_is_completed(server: Server, home: Home) -> None:
    made = (await server.post(home("deployments"), workload("Deployment", "a"))).ok(201)
    spec = dict(made["spec"])
    assert spec.pop("template")["spec"] == {
        "containers": [
            {
                "name": "main",
                "image": "busybox",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "Always",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    }
    assert spec == {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "a"}},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    assert (made["metadata"]["generation"], made["status"]) == (1, {})


async def test_a_generation_counts_changes_of_the_spec(server: Server, home: Home) -> None:
    path = home("deployments", "a")
    (await server.post(home("deployments"), workload("Deployment", "a"))).ok(201)
    labelled = (await server.patch(path, {"metadata": {"labels": {"x": "y"}}})).ok()
    assert labelled["metadata"]["generation"] == 1
    assert (await server.patch(path, {"spec": {"replicas": 5}})).ok()["metadata"]["generation"] == 2
    status = {"status": {"observedGeneration": 2}}
    assert (await server.patch(f"{path}/status", status)).ok()["metadata"]["generation"] == 2


async def test_a_selector_must_match_its_template(server: Server, home: Home) -> None:
    body = workload("Deployment", "a", selector={"matchLabels": {"app": "b"}})
    (await server.post(home("deployments"), body)).refused(
        422,
        "Invalid",
        'Deployment.apps "a" is invalid: spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not '
        "match template `labels`",
    )


async def test_the_selector_of_a_deployment_stays(server: Server, home: Home) -> None:
    (await server.post(home("deployments"), workload("Deployment", "a"))).ok(201)
    change = {
        "spec": {
            "selector": {"matchLabels": {"app": "b"}},
            "template": {"metadata": {"labels": {"app": "b"}}},
        }
    }
    answer = await server.patch(home("deployments", "a"), change)
    answer.refused(
        422,
        "Invalid",
        'Deployment.apps "a" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable',
    )


async def test_a_selector_is_required(server: Server, home: Home) -> None:
    body = workload("Deployment", "a")
    del body["spec"]["selector"]
    causes = (await server.post(home("deployments"), body)).refused(422, "Invalid")["details"][
        "causes"
    ]
    assert causes[0] == {
        "reason": "FieldValueRequired",
        "message": "Required value",
        "field": "spec.selector",
    }


async def test_replicas_are_not_negative(server: Server, home: Home) -> None:
    body = workload("Deployment", "a", replicas=-1)
    (await server.post(home("deployments"), body)).refused(
        422,
        "Invalid",
        'Deployment.apps "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    )


async def test_the_pods_of_a_deployment_always_restart(server: Server, home: Home) -> None:
    body = workload("Deployment", "a")
    body["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    (await server.post(home("deployments"), body)).refused(
        422,
        "Invalid",
        'Deployment.apps "a" is invalid: spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: '
        '"Always"',
    )


async def test_a_rollout_must_be_able_to_move(server: Server, home: Home) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}
    answer = await server.post(home("deployments"), workload("Deployment", "a", strategy=strategy))
    status = answer.refused(422, "Invalid")
    assert "may not be 0 when `maxSurge` is 0" in status["message"]


async def test_a_scale_is_a_small_view(server: Server, home: Home) -> None:
    (await server.post(home("deployments"), workload("Deployment", "a", replicas=3))).ok(201)
    scale = (await server.get(home("deployments", "a", "scale"))).ok()
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 0, "selector": "app=a"}


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
async def test_a_workload_is_scaled_by_an_update(server: Server, home: Home, kind: str) -> None:
    path = home(f"{kind.lower()}s", "a")
    (await server.post(home(f"{kind.lower()}s"), workload(kind, "a"))).ok(201)
    scale = (await server.get(f"{path}/scale")).ok()
    scale["spec"]["replicas"] = 4
    assert (await server.put(f"{path}/scale", scale)).ok()["spec"] == {"replicas": 4}
    changed = (await server.get(path)).ok()
    assert (changed["spec"]["replicas"], changed["metadata"]["generation"]) == (4, 2)


async def test_a_workload_is_scaled_by_a_patch(server: Server, home: Home) -> None:
    (await server.post(home("deployments"), workload("Deployment", "a"))).ok(201)
    path = home("deployments", "a", "scale")
    assert (await server.patch(path, {"spec": {"replicas": 7}}, MERGE_PATCH)).ok()["spec"] == {
        "replicas": 7
    }


async def test_a_stale_scale_is_a_conflict(server: Server, home: Home) -> None:
    (await server.post(home("deployments"), workload("Deployment", "a"))).ok(201)
    path = home("deployments", "a", "scale")
    scale = (await server.get(path)).ok()
    (await server.patch(path, {"spec": {"replicas": 7}})).ok()
    (await server.put(path, scale)).refused(409, "Conflict")


async def test_a_negative_scale_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("deployments"), workload("Deployment", "a"))).ok(201)
    answer = await server.patch(home("deployments", "a", "scale"), {"spec": {"replicas": -1}})
    answer.refused(
        422,
        "Invalid",
        'Scale.autoscaling "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    )


async def test_a_stateful_set_is_completed(server: Server, home: Home) -> None:
    made = (await server.post(home("statefulsets"), workload("StatefulSet", "a"))).ok(201)["spec"]
    assert made["podManagementPolicy"] == "OrderedReady"
    assert made["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert made["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }


async def test_most_of_a_stateful_set_stays(server: Server, home: Home) -> None:
    (await server.post(home("statefulsets"), workload("StatefulSet", "a"))).ok(201)
    answer = await server.patch(home("statefulsets", "a"), {"spec": {"serviceName": "other"}})
    answer.refused(
        422,
        "Invalid",
        "StatefulSet.apps \"a\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "
        "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden",
    )


async def test_a_daemon_set_is_completed(server: Server, home: Home) -> None:
    made = (await server.post(home("daemonsets"), workload("DaemonSet", "a"))).ok(201)
    assert made["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }
    assert made["status"] == {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }


async def test_a_job_selects_its_pods_by_its_own_id(server: Server, home: Home) -> None:
    made = (await server.post(home("jobs"), job("a"))).ok(201)
    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == labels["job-name"] == "a"
    assert labels["controller-uid"] == uid
    assert {key: made["spec"][key] for key in ("parallelism", "completions", "backoffLimit")} == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
    }
    assert (made["spec"]["completionMode"], made["spec"]["suspend"]) == ("NonIndexed", False)


async def test_a_job_does_not_restart_always(server: Server, home: Home) -> None:
    body = job("a")
    del body["spec"]["template"]["spec"]["restartPolicy"]
    (await server.post(home("jobs"), body)).refused(
        422,
        "Invalid",
        'Job.batch "a" is invalid: spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    )


async def test_the_template_of_a_job_stays(server: Server, home: Home) -> None:
    (await server.post(home("jobs"), job("a"))).ok(201)
    change = {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}
    status = (await server.patch(home("jobs", "a"), change)).refused(422, "Invalid")
    assert status["message"].startswith('Job.batch "a" is invalid: spec.template: Invalid value: ')
    assert status["message"].endswith(": field is immutable")


async def test_a_replica_set_tells_its_replicas(server: Server, home: Home) -> None:
    made = (await server.post(home("replicasets"), workload("ReplicaSet", "a"))).ok(201)
    assert (made["spec"]["replicas"], made["status"]) == (1, {"replicas": 0})


async def test_a_cron_job_needs_a_schedule(server: Server, home: Home) -> None:
    body = simple(
        "batch/v1",
        "CronJob",
        "a",
        spec={"jobTemplate": {"spec": job("a")["spec"]}, "schedule": "often"},
    )
    status = (await server.post(home("cronjobs"), body)).refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "spec.schedule"
