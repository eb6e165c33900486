"""Services, config maps, secrets, events, leases, service accounts, priority classes and budgets."""

import base64
from typing import Any

import pytest
from tests.contract.objects import Home, config_map, everywhere, pod, simple, unique
from tests.contract.wire import Server


def service(name: str, **spec: Any) -> dict[str, Any]:
    return simple("v1", "Service", name, spec={"ports": [{"port": 80}], **spec})


async def test_a_service_gets_an_address_and_defaults(server: Server, home: Home) -> None:
    spec = (await server.post(home("services"), service("a"))).ok(201)["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert spec["clusterIP"].count(".") == 3
    assert {key: value for key, value in spec.items() if not key.startswith("clusterIP")} == {
        "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }


async def test_a_headless_service_has_no_address(server: Server, home: Home) -> None:
    spec = (await server.post(home("services"), service("a", clusterIP="None"))).ok(201)["spec"]
    assert (spec["clusterIP"], spec["clusterIPs"]) == ("None", ["None"])


async def test_addresses_are_given_once(server: Server, home: Home) -> None:
    made = (await server.post(home("services"), service("a"))).ok(201)
    taken = made["spec"]["clusterIP"]
    answer = await server.post(home("services"), service("b", clusterIP=taken))
    status = answer.refused(422, "Invalid")
    assert status["message"] == (
        f'Service "b" is invalid: spec.clusterIPs: Invalid value: ["{taken}"]: failed to allocate IP {taken}: '
        "provided IP is already allocated"
    )


async def test_the_address_of_a_service_stays(server: Server, home: Home) -> None:
    made = (await server.post(home("services"), service("a"))).ok(201)
    answer = await server.patch(home("services", "a"), {"spec": {"clusterIP": "10.96.0.77"}})
    status = answer.refused(422, "Invalid")
    assert "may not change once set" in status["message"]
    changed = (await server.put(home("services", "a"), service("a", selector={"x": "y"}))).ok()
    assert changed["spec"]["clusterIP"] == made["spec"]["clusterIP"]


async def test_a_node_port_service_gets_ports(server: Server, home: Home) -> None:
    made = (await server.post(home("services"), service("a", type="NodePort"))).ok(201)
    assert 30000 <= made["spec"]["ports"][0]["nodePort"] <= 32767
    assert made["spec"]["externalTrafficPolicy"] == "Cluster"


async def test_several_ports_need_names(server: Server, home: Home) -> None:
    answer = await server.post(home("services"), service("a", ports=[{"port": 80}, {"port": 81}]))
    causes = answer.refused(422, "Invalid")["details"]["causes"]
    assert [(each["reason"], each["field"]) for each in causes] == [
        ("FieldValueRequired", "spec.ports[0].name"),
        ("FieldValueRequired", "spec.ports[1].name"),
    ]


async def test_a_service_without_ports_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("services"), service("a", ports=[]))).refused(
        422, "Invalid", 'Service "a" is invalid: spec.ports: Required value'
    )


async def test_an_external_name_has_no_address(server: Server, home: Home) -> None:
    body = simple(
        "v1", "Service", "a", spec={"type": "ExternalName", "externalName": "x.example.com"}
    )
    assert "clusterIP" not in (await server.post(home("services"), body)).ok(201)["spec"]


async def test_an_immutable_config_map_stays(server: Server, home: Home) -> None:
    body = {**config_map("a", {"k": "v"}), "immutable": True}
    (await server.post(home("configmaps"), body)).ok(201)
    (await server.patch(home("configmaps", "a"), {"data": {"k": "w"}})).refused(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    )
    (await server.patch(home("configmaps", "a"), {"immutable": None})).refused(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: immutable: Forbidden: field is immutable when `immutable` is set',
    )
    (await server.patch(home("configmaps", "a"), {"metadata": {"labels": {"x": "y"}}})).ok(200)


async def test_a_key_is_text_or_binary_but_not_both(server: Server, home: Home) -> None:
    body = {**config_map("a", {"k": "v"}), "binaryData": {"k": "AAAA"}}
    status = (await server.post(home("configmaps"), body)).refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "data[k]"


async def test_binary_data_must_be_base64(server: Server, home: Home) -> None:
    body = {**config_map("a"), "binaryData": {"k": "not base64!"}}
    status = (await server.post(home("configmaps"), body)).refused(400, "BadRequest")
    assert status["message"].endswith("illegal base64 data at input byte 3")


async def test_a_secret_is_opaque_by_default(server: Server, home: Home) -> None:
    assert (await server.post(home("secrets"), simple("v1", "Secret", "a"))).ok(201)[
        "type"
    ] == "Opaque"


async def test_the_text_of_a_secret_is_encoded(server: Server, home: Home) -> None:
    body = simple("v1", "Secret", "a", stringData={"k": "text"}, data={"l": "bGw="})
    made = (await server.post(home("secrets"), body)).ok(201)
    assert made["data"] == {"k": base64.b64encode(b"text").decode(), "l": "bGw="}
    assert "stringData" not in made


async def test_the_type_of_a_secret_stays(server: Server, home: Home) -> None:
    (await server.post(home("secrets"), simple("v1", "Secret", "a"))).ok(201)
    answer = await server.patch(home("secrets", "a"), {"type": "other"})
    answer.refused(
        422, "Invalid", 'Secret "a" is invalid: type: Invalid value: "other": field is immutable'
    )


async def test_a_tls_secret_needs_its_keys(server: Server, home: Home) -> None:
    answer = await server.post(
        home("secrets"), simple("v1", "Secret", "a", type="kubernetes.io/tls", data={})
    )
    causes = answer.refused(422, "Invalid")["details"]["causes"]
    assert [each["field"] for each in causes] == ["data[tls.crt]", "data[tls.key]"]


async def test_an_immutable_secret_stays(server: Server, home: Home) -> None:
    (await server.post(home("secrets"), simple("v1", "Secret", "a", immutable=True))).ok(201)
    (await server.patch(home("secrets", "a"), {"data": {"k": "AAAA"}})).refused(
        422,
        "Invalid",
        'Secret "a" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    )


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
