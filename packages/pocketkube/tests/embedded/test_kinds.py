"""The kinds of Kubernetes: how their objects are completed, judged and changed, and how events change groups."""

from copy import deepcopy
import random
from typing import Any

import pytest

from pocketkube.apiserver.kinds import catalogue, custom, serviceaddresses
from pocketkube.apiserver.kinds.serviceaddresses import Taken

Object = dict[str, Any]

RESOURCES = {
    f"{each.plural}.{each.group}" if each.group else each.plural: each
    for each in catalogue.builtin()
}


def completed(name: str, **members: Any) -> Object:
    resource = RESOURCES[name]
    meta: Object = {"name": "a", **({"namespace": "n"} if resource.namespaced else {})}
    obj: Object = {"metadata": meta, **deepcopy(members)}
    resource.strategy.read(obj)
    resource.strategy.default(obj)
    return obj


def created(name: str, **members: Any) -> Object:
    obj = completed(name, **members)
    RESOURCES[name].strategy.before_create(obj)
    assert not RESOURCES[name].strategy.check_create(obj)
    return obj


def stated(name: str, **members: Any) -> list[str]:
    strategy, obj = RESOURCES[name].strategy, completed(name, **members)
    strategy.before_create(obj)
    return [f"{cause.field}: {cause.message}" for cause in strategy.check_create(obj)]


def changed(name: str, before: Object, after: Object) -> list[str]:
    strategy, old, new = (
        RESOURCES[name].strategy,
        completed(name, **before),
        completed(name, **after),
    )
    strategy.before_create(old)
    for obj in (old, new):
        obj["metadata"]["resourceVersion"] = "1"
    strategy.before_update(new, old)
    return [f"{cause.field}: {cause.message}" for cause in strategy.check_update(new, old)]


def test_resources_are_known_by_one_name_each() -> None:
    paths = [(each.group, each.version, each.plural) for each in catalogue.builtin()]
    assert len(set(paths)) == len(paths)


def test_both_groups_keep_events_together() -> None:
    assert RESOURCES["events"].stored == RESOURCES["events.events.k8s.io"].stored == "events"


def test_a_namespace_begins_active_and_is_held() -> None:
    obj = created("namespaces")
    assert obj["status"] == {"phase": "Active"}
    assert obj["spec"] == {"finalizers": ["kubernetes"]}
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
    assert RESOURCES["namespaces"].strategy.held(obj)


def test_a_namespace_is_let_go_through_finalize_only() -> None:
    strategy, old = RESOURCES["namespaces"].strategy, created("namespaces")
    old["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    updated, finalized = deepcopy(old), deepcopy(old)
    updated["spec"], finalized["spec"] = {}, {}
    strategy.before_update(updated, old)
    strategy.before_finalize(finalized, old)
    assert strategy.held(updated)
    assert not strategy.held(finalized)


def test_the_phase_of_a_namespace_follows_its_deletion() -> None:
    strategy, old = RESOURCES["namespaces"].strategy, created("namespaces")
    old["metadata"]["resourceVersion"] = "1"
    dying = deepcopy(old)
    strategy.condemn(dying)
    assert dying["status"] == {"phase": "Terminating"}
    (cause,) = strategy.check_status(dying, old)
    assert (
        cause.message
        == "Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    )


def test_texts_of_a_secret_are_stored_encoded() -> None:
    obj = created("secrets", data={"a": "Yg=="}, stringData={"a": "c", "d": "e"})
    assert obj["data"] == {"a": "Yw==", "d": "ZQ=="}
    assert "stringData" not in obj
    assert obj["type"] == "Opaque"


@pytest.mark.parametrize("name", ["configmaps", "secrets"])
def test_frozen_data_stay(name: str) -> None:
    frozen = {"data": {"a": "Yg=="}, "immutable": True}
    assert changed(name, frozen, frozen) == []
    assert changed(name, frozen, {"data": {"a": "Yw=="}}) == [
        "immutable: Forbidden: field is immutable when `immutable` is set",
        "data: Forbidden: field is immutable when `immutable` is set",
    ]


def test_a_config_holds_a_mebibyte() -> None:
    assert stated("configmaps", data={"a": "x" * 2**20}) == []
    assert stated("configmaps", data={"a": "x" * 2**20, "b": "x"}) == [
        "[]: Too long: may not be more than 1048576 bytes"
    ]


def test_typed_secrets_need_their_keys() -> None:
    assert stated("secrets", type="kubernetes.io/tls", data={"tls.crt": ""}) == [
        "data[tls.key]: Required value"
    ]


def test_a_node_keeps_the_status_it_registers_with() -> None:
    status = created("nodes", status={"capacity": {"cpu": "4"}})["status"]
    assert status["capacity"] == status["allocatable"] == {"cpu": "4"}


def test_pod_addresses_of_a_node_are_given_once() -> None:
    first, second = ({"spec": {"podCIDRs": [f"10.0.{part}.0/24"]}} for part in (1, 2))
    assert changed("nodes", {}, first) == []
    assert changed("nodes", first, second) == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    ]


def test_unschedulable_is_a_field_of_every_node() -> None:
    strategy = RESOURCES["nodes"].strategy
    assert strategy.fields(created("nodes"))["spec.unschedulable"] == "false"
    cordoned = created("nodes", spec={"unschedulable": True})
    assert strategy.fields(cordoned)["spec.unschedulable"] == "true"


def test_an_event_is_the_same_in_both_groups() -> None:
    strategy = RESOURCES["events.events.k8s.io"].strategy
    stored = created(
        "events",
        involvedObject={"kind": "Pod", "name": "p", "namespace": "n"},
        message="m",
        count=2,
    )
    shown = {"apiVersion": "v1", "kind": "Event", **deepcopy(stored)}
    strategy.outward(shown)
    assert shown["apiVersion"] == "events.k8s.io/v1"
    assert (shown["note"], shown["regarding"]["name"], shown["deprecatedCount"]) == ("m", "p", 2)
    strategy.inward(shown)
    assert shown == {"apiVersion": "v1", "kind": "Event", **stored}


def test_events_are_selected_by_the_names_of_both_groups() -> None:
    event = created(
        "events", involvedObject={"kind": "Pod", "namespace": "n"}, source={"component": "c"}
    )
    fields = RESOURCES["events"].strategy.fields(event)
    assert fields["involvedObject.kind"] == fields["regarding.kind"] == "Pod"
    assert fields["source"] == "c"


def test_the_new_group_asks_more_of_events() -> None:
    assert stated("events", involvedObject={"namespace": "n"}) == []
    assert "eventTime: Required value" in stated(
        "events.events.k8s.io", regarding={"namespace": "n"}
    )


def test_a_lease_lasts() -> None:
    assert stated("leases.coordination.k8s.io", spec={"leaseDurationSeconds": 0}) == [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
    ]


def test_the_worth_of_a_priority_class_is_fixed() -> None:
    name = "priorityclasses.scheduling.k8s.io"
    assert changed(name, {"value": 1}, {"value": 2}) == [
        "value: Forbidden: may not be changed in an update."
    ]


def test_a_binding_keeps_its_role() -> None:
    name = "rolebindings.rbac.authorization.k8s.io"
    one, other = ({"roleRef": {"kind": "Role", "name": role}} for role in "ab")
    assert changed(name, one, one) == []
    (sentence,) = changed(name, one, other)
    assert sentence.endswith("cannot change roleRef")


def test_webhooks_are_completed_as_a_server_stores_them() -> None:
    hook = {
        "name": "a.b.c",
        "clientConfig": {"service": {"namespace": "n", "name": "s"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}
        ],
    }
    name = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
    (stored,) = created(name, webhooks=[hook])["webhooks"]
    assert stored["timeoutSeconds"] == 10
    assert stored["matchPolicy"] == "Equivalent"
    assert stored["reinvocationPolicy"] == "Never"
    assert stored["failurePolicy"] == "Fail"
    assert stored["namespaceSelector"] == stored["objectSelector"] == {}
    assert stored["rules"][0]["scope"] == "*"
    assert stored["clientConfig"]["service"]["port"] == 443


def test_expressions_of_policies_must_compile() -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "1 +"}]}
    name = "validatingadmissionpolicies.admissionregistration.k8s.io"
    (sentence,) = stated(name, spec=spec)
    assert sentence.startswith(
        'spec.validations[0].expression: Invalid value: "1 +": compilation failed: ERROR'
    )


def test_limits_become_defaults() -> None:
    limit = {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Gi"}}
    (stored,) = created("limitranges", spec={"limits": [limit]})["spec"]["limits"]
    assert stored["default"] == {"cpu": "2"}
    assert stored["defaultRequest"] == {"cpu": "2", "memory": "1Gi"}


def test_a_quota_counts_what_is_known() -> None:
    assert (
        stated("resourcequotas", spec={"hard": {"pods": "1", "requests.example.com/gpu": "1"}})
        == []
    )
    assert stated("resourcequotas", spec={"hard": {"pods": "500m"}}) == [
        'spec.hard[pods]: Invalid value: "500m": must be an integer'
    ]


def assigned(
    taken: Taken | None = None, old: Object | None = None, **spec: Any
) -> tuple[Object, list[str]]:
    obj = completed("services", spec=spec)
    causes = serviceaddresses.assign(obj, old, taken or Taken(), random.Random(7))
    return obj, [f"{cause.field}: {cause.message}" for cause in causes]


def test_a_service_gets_an_address_that_is_free() -> None:
    first, _ = assigned(ports=[{"port": 80}])
    second, _ = assigned(Taken.by([first]), ports=[{"port": 80}])
    assert first["spec"]["clusterIP"].startswith("10.96.")
    assert first["spec"]["clusterIPs"] == [first["spec"]["clusterIP"]]
    assert first["spec"]["clusterIP"] != second["spec"]["clusterIP"]


def test_an_address_belongs_to_one_service() -> None:
    first, causes = assigned(clusterIP="10.96.1.1", ports=[{"port": 80}])
    assert causes == []
    assert assigned(Taken.by([first]), clusterIP="10.96.1.1", ports=[{"port": 80}])[1] == [
        'spec.clusterIPs: Invalid value: ["10.96.1.1"]: failed to allocate IP 10.96.1.1: provided IP is already allocated'
    ]


def test_a_headless_service_has_no_address() -> None:
    obj, _ = assigned(clusterIP="None", selector={"a": "b"})
    assert obj["spec"]["clusterIPs"] == ["None"]
    assert obj["spec"]["ipFamilyPolicy"] == "SingleStack"


def test_node_ports_are_given_and_kept() -> None:
    old, _ = assigned(type="NodePort", ports=[{"port": 80}])
    (port,) = old["spec"]["ports"]
    assert port["nodePort"] in serviceaddresses.PORTS
    new, causes = assigned(Taken(), old, type="NodePort", ports=[{"port": 80}])
    assert causes == []
    assert new["spec"]["ports"] == old["spec"]["ports"]
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]


def test_a_service_that_needs_no_node_port_gives_it_back() -> None:
    old, _ = assigned(type="NodePort", ports=[{"port": 80}])
    new, _ = assigned(Taken(), old, type="ClusterIP", ports=deepcopy(old["spec"]["ports"]))
    assert "nodePort" not in new["spec"]["ports"][0]


def test_old_versions_recommend_the_best() -> None:
    def version(name: str, **members: Any) -> Object:
        schema = {"openAPIV3Schema": {"type": "object"}}
        return {"name": name, "served": True, "schema": schema, **members}

    versions = [
        version("v1beta1", deprecated=True),
        version("v1", storage=True),
        version("v2", deprecated=True),
        version("v2beta1"),
        version("v1alpha1", deprecated=True, deprecationWarning="gone soon"),
    ]
    names = {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"}
    spec = {"group": "a.b", "scope": "Namespaced", "names": names, "versions": versions}
    made = custom.resources({"metadata": {"name": "things.a.b"}, "spec": spec})
    assert {each.version: each.deprecation for each in made} == {
        "v1beta1": "a.b/v1beta1 Thing is deprecated; use a.b/v1 Thing",
        "v1": "",
        "v2": "a.b/v2 Thing is deprecated",
        "v2beta1": "",
        "v1alpha1": "gone soon",
    }


@pytest.mark.parametrize(
    ("name", "given", "member", "value"),
    [
        pytest.param("persistentvolumes", {"spec": {}}, "persistentVolumeReclaimPolicy", "Retain", id="a volume stays"),
        pytest.param("persistentvolumeclaims", {"spec": {}}, "volumeMode", "Filesystem", id="a claim is a file system"),
        pytest.param("csidrivers.storage.k8s.io", {"spec": {}}, "volumeLifecycleModes", ["Persistent"], id="volumes of a driver last"),
        pytest.param("networkpolicies.networking.k8s.io", {"spec": {"egress": [{}]}}, "policyTypes", ["Ingress", "Egress"], id="a network policy has types"),
        pytest.param("resourceclaims.resource.k8s.io", {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}}, "devices", {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}}]}, id="a claim is of one device"),
        pytest.param("resourceclaimtemplates.resource.k8s.io", {"spec": {"spec": {"devices": {"requests": [{"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "c", "allocationMode": "All"}]}]}}}}, "spec", {"devices": {"requests": [{"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "c", "allocationMode": "All"}]}]}}, id="all devices are not counted"),
        pytest.param("horizontalpodautoscalers.autoscaling", {"spec": {"behavior": {"scaleUp": {"policies": []}}}}, "minReplicas", 1, id="an autoscaler keeps one replica"),
        pytest.param("horizontalpodautoscalers.autoscaling", {"spec": {"behavior": {}}}, "behavior", {"scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]}, "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}}, id="an autoscaler has manners"),
    ],
)  # fmt: skip
def test_plain_kinds_are_completed(name: str, given: Object, member: str, value: Any) -> None:
    assert created(name, **given)["spec"][member] == value


def test_volumes_and_claims_begin_pending() -> None:
    for name in ("persistentvolumes", "persistentvolumeclaims"):
        assert created(name, spec={})["status"] == {"phase": "Pending"}


WEBHOOKS = "validatingwebhookconfigurations.admissionregistration.k8s.io"
BINDINGS = "validatingadmissionpolicybindings.admissionregistration.k8s.io"


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        pytest.param("roles.rbac.authorization.k8s.io", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/"]}]}, 'rules[0].nonResourceURLs: Invalid value: ["/"]: namespaced rules cannot apply to non-resource URLs', id="paths in a namespace"),
        pytest.param("rolebindings.rbac.authorization.k8s.io", {"roleRef": {"kind": "Role", "name": "a"}, "subjects": [{"kind": "Robot", "name": "r"}]}, 'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"', id="an unknown subject"),
        pytest.param("poddisruptionbudgets.policy", {"spec": {"maxUnavailable": "101%"}}, 'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%', id="more than all pods"),
        pytest.param("resourcequotas", {"spec": {"scopes": ["BestEffort", "NotBestEffort"]}}, 'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes', id="scopes that contradict"),
        pytest.param("limitranges", {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "1e999"}}]}}, 'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "1e999": ratio 1e999 is greater than max/min = 1.000000', id="a ratio beyond all numbers"),
        pytest.param("limitranges", {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]}}, 'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1', id="bounds that contradict"),
        pytest.param(WEBHOOKS, {"webhooks": [{"name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"]}]}, "webhooks[0].clientConfig: Required value: exactly one of url or service is required", id="a hook nobody answers"),
        pytest.param(BINDINGS, {"spec": {"policyName": "a"}}, "spec.validationActions: Required value: at least one validation action is required", id="a policy without consequences"),
        pytest.param("priorityclasses.scheduling.k8s.io", {"value": 1_000_000_001}, "value: Forbidden: maximum allowed value of a user defined priority is 1000000000", id="too important"),
        pytest.param("services", {"spec": {"type": "ExternalName"}}, "spec.externalName: Required value", id="a name for nobody"),
        pytest.param("nodes", {"spec": {"taints": [{"key": "a", "effect": "No"}]}}, 'metadata.taints[0].effect: Unsupported value: "No": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"', id="an unknown effect"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_in_the_words_of_a_server(
    name: str, given: Object, sentence: str
) -> None:
    assert stated(name, **given) == [sentence]


def test_updates_of_some_kinds_want_a_version_and_some_create() -> None:
    lease, config = (
        RESOURCES["leases.coordination.k8s.io"].strategy,
        RESOURCES["configmaps"].strategy,
    )
    assert (lease.unconditional, lease.created_by_update) == (False, True)
    assert (config.unconditional, config.created_by_update) == (True, False)


def test_a_service_drops_what_only_its_former_type_had() -> None:
    old, _ = assigned(type="LoadBalancer", ports=[{"port": 80}])
    new, causes = assigned(Taken(), old, **{**deepcopy(old["spec"]), "type": "ClusterIP"})
    assert causes == []
    assert new["spec"].keys() & {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"} == set()
    gone, _ = assigned(
        Taken(), old, **{**deepcopy(old["spec"]), "type": "ExternalName", "externalName": "a.b"}
    )
    assert gone["spec"].keys() & {"clusterIP", "clusterIPs", "ipFamilies"} == set()


def test_a_cluster_address_is_changed_in_both_forms_and_refused() -> None:
    old, _ = assigned(ports=[{"port": 80}])
    new, _ = assigned(Taken(), old, **{**deepcopy(old["spec"]), "clusterIP": "10.96.9.9"})
    for obj in (old, new):
        obj["metadata"]["resourceVersion"] = "1"
    (cause,) = RESOURCES["services"].strategy.check_update(new, old)
    assert cause.message == 'Invalid value: ["10.96.9.9"]: may not change once set'
