"""Events, leases, priority classes, service accounts and budgets."""

from typing import Any

import pytest
from tests.contract.objects import Home, everywhere, pod, simple, unique
from tests.contract.wire import Server


def event(home: Home, name: str, **members: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "name": "p", "namespace": home.name}
    return simple("v1", "Event", name, involvedObject=about, reason="R", type="Normal", **members)


async def test_an_event_is_the_same_in_both_groups(server: Server, home: Home) -> None:
    body = event(home, "a", message="hello", count=3, source={"component": "me"})
    (await server.post(home("events"), body)).ok(201)
    other = (await server.get(home("events.events.k8s.io", "a"))).ok()
    assert other["apiVersion"] == "events.k8s.io/v1"
    assert (other["note"], other["deprecatedCount"]) == ("hello", 3)
    assert other["regarding"]["name"] == "p"
    assert other["deprecatedSource"] == {"component": "me"}


async def test_a_new_event_is_seen_through_the_old_group(server: Server, home: Home) -> None:
    body = simple(
        "events.k8s.io/v1",
        "Event",
        "a",
        eventTime="2026-01-01T00:00:00.000001Z",
        reportingController="x.io/me",
        reportingInstance="me-1",
        action="Look",
        reason="R",
        type="Normal",
        note="hello",
        regarding={"kind": "Pod", "name": "p", "namespace": home.name},
    )
    (await server.post(home("events.events.k8s.io"), body)).ok(201)
    old = (await server.get(home("events", "a"))).ok()
    assert (old["message"], old["involvedObject"]["name"]) == ("hello", "p")
    assert (old["reportingComponent"], old["eventTime"]) == ("x.io/me", body["eventTime"])


async def test_a_new_event_needs_its_time(server: Server, home: Home) -> None:
    body = simple(
        "events.k8s.io/v1",
        "Event",
        "a",
        reportingController="x.io/me",
        reportingInstance="i",
        action="Look",
        reason="R",
        type="Normal",
        regarding={"kind": "Pod", "name": "p", "namespace": home.name},
    )
    status = (await server.post(home("events.events.k8s.io"), body)).refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "eventTime"


async def test_an_event_is_about_something_in_its_namespace(server: Server, home: Home) -> None:
    body = event(home, "a")
    body["involvedObject"]["namespace"] = "elsewhere"
    (await server.post(home("events"), body)).refused(
        422,
        "Invalid",
        'Event "a" is invalid: involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace',
    )


async def test_a_lease_keeps_microseconds(server: Server, home: Home) -> None:
    spec = {
        "holderIdentity": "me",
        "renewTime": "2026-01-01T00:00:00.123456Z",
        "leaseDurationSeconds": 15,
    }
    made = await server.post(
        home("leases"), simple("coordination.k8s.io/v1", "Lease", "a", spec=spec)
    )
    assert made.ok(201)["spec"] == spec


async def test_a_lease_of_no_time_is_refused(server: Server, home: Home) -> None:
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 0}
    body = simple("coordination.k8s.io/v1", "Lease", "a", spec=spec)
    (await server.post(home("leases"), body)).refused(
        422,
        "Invalid",
        'Lease.coordination.k8s.io "a" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
    )


async def test_the_value_of_a_priority_class_stays(server: Server) -> None:
    name = unique("class")
    path = everywhere("priorityclasses", name)
    body = simple("scheduling.k8s.io/v1", "PriorityClass", name, value=100)
    made = (await server.post(everywhere("priorityclasses"), body)).ok(201)
    assert made["preemptionPolicy"] == "PreemptLowerPriority"
    (await server.patch(path, {"value": 200})).refused(
        422,
        "Invalid",
        f'PriorityClass.scheduling.k8s.io "{name}" is invalid: value: Forbidden: may not be changed in an update.',
    )
    (await server.delete(path)).ok()


async def test_user_priorities_are_below_a_billion(server: Server) -> None:
    name = unique("class")
    body = simple("scheduling.k8s.io/v1", "PriorityClass", name, value=1000000001)
    answer = await server.post(everywhere("priorityclasses"), body)
    status = answer.refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "value"


@pytest.mark.parametrize(
    ("name", "value"),
    [("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000)],
)
async def test_the_classes_of_the_system_are_there(server: Server, name: str, value: int) -> None:
    path = everywhere("priorityclasses", name)
    answer = await server.until(lambda: server.get(path), lambda answer: answer.status == 200)
    assert answer.ok()["value"] == value


async def test_a_service_account_is_kept_as_sent(server: Server, home: Home) -> None:
    body = simple("v1", "ServiceAccount", "a", automountServiceAccountToken=False)
    made = (await server.post(home("serviceaccounts"), body)).ok(201)
    assert made["automountServiceAccountToken"] is False
    assert "secrets" not in made


async def test_a_budget_counts_or_limits_but_not_both(server: Server, home: Home) -> None:
    spec = {"minAvailable": 1, "maxUnavailable": 1, "selector": {}}
    body = simple("policy/v1", "PodDisruptionBudget", "a", spec=spec)
    status = (await server.post(home("poddisruptionbudgets"), body)).refused(422, "Invalid")
    assert status["message"].startswith('PodDisruptionBudget.policy "a" is invalid: spec: Invalid')
    assert status["message"].endswith(": minAvailable and maxUnavailable cannot be both set")


async def test_a_pod_runs_as_the_default_service_account(server: Server, home: Home) -> None:
    spec = (await server.post(home("pods"), pod("a"))).ok(201)["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    mount = spec["containers"][0]["volumeMounts"][0]
    assert mount["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    assert mount["readOnly"] is True
    [volume] = [each for each in spec["volumes"] if each["name"] == mount["name"]]
    sources = volume["projected"]["sources"]
    assert [next(iter(each)) for each in sources] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]


async def test_a_pod_can_do_without_a_token(server: Server, home: Home) -> None:
    made = await server.post(home("pods"), pod("a", automountServiceAccountToken=False))
    assert "volumes" not in made.ok(201)["spec"]


async def test_a_pod_of_an_unknown_service_account_is_refused(server: Server, home: Home) -> None:
    answer = await server.post(home("pods"), pod("a", serviceAccountName="nobody"))
    answer.refused(
        403,
        "Forbidden",
        'pods "a" is forbidden: error looking up service account '
        f'{home.name}/nobody: serviceaccount "nobody" not found',
    )
