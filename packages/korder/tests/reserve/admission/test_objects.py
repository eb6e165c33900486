"""What is installed: rights, priority, webhooks and policies, as data and as a server takes them."""

from typing import Any, cast

import pytest

from korder.install import objects
from korder.install.objects import Admission
from korder.install.rbac import rights
from korder.install_config import MANAGER, Site
from korder.reserve.domain import PRIORITY, priority_class
from kubeloop.objects.meta import JSON

Body = dict[str, Any]
IMAGE = "example.com/korder:1"


def of_kind(bodies: tuple[dict[str, JSON], ...], kind: str) -> list[Body]:
    return [cast("Body", body) for body in bodies if body["kind"] == kind]


def test_guardians_stand_above_usual_pods_and_push_nobody_aside() -> None:
    assert priority_class()["preemptionPolicy"] == "Never"
    assert 0 < PRIORITY < 1_000_000_000


def test_a_manager_is_deployed_only_if_there_is_an_image_and_then_twice() -> None:
    without = objects.objects(Site(), Admission.POLICY)
    assert not of_kind(without, "Deployment")
    (deployment,) = of_kind(objects.objects(Site(image=IMAGE), Admission.POLICY), "Deployment")
    assert deployment["metadata"]["name"] == "korder-controller-manager"
    assert deployment["spec"]["replicas"] == 2
    pod = deployment["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == IMAGE
    assert pod["serviceAccountName"] == MANAGER


@pytest.mark.parametrize("admission", Admission)
def test_managers_are_started_anew_when_the_means_of_admission_change(admission: Admission) -> None:
    """A manager looks for webhooks to serve when it starts, and one that was there before serves none."""
    (deployment,) = of_kind(objects.objects(Site(image=IMAGE), admission), "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert f"--admission={admission}" in container["args"]


def test_policies_need_no_service_and_webhooks_of_a_manager_elsewhere_neither() -> None:
    assert not of_kind(objects.objects(Site(image=IMAGE), Admission.POLICY), "Service")
    elsewhere = Site(webhook_url="https://10.0.0.1:9443")
    assert not of_kind(objects.objects(elsewhere, Admission.WEBHOOK), "Service")
    assert of_kind(objects.objects(Site(image=IMAGE), Admission.WEBHOOK), "Service")


def test_a_namespace_of_ones_own_is_meant_everywhere() -> None:
    made = objects.objects(Site("capacity", image=IMAGE), Admission.WEBHOOK)
    assert "korder-system" not in str(made)


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_no_webhook_is_asked_about_the_managers_own_writes(kind: str) -> None:
    """Rule 23, and no webhook can hold up the whole cluster: all have conditions, few seconds and one kind to look at."""
    (configuration,) = of_kind(
        objects.objects(Site(image=IMAGE), Admission.WEBHOOK), f"{kind}WebhookConfiguration"
    )
    user = "system:serviceaccount:korder-system:korder-controller-manager"
    for webhook in configuration["webhooks"]:
        conditions = {each["name"]: each["expression"] for each in webhook["matchConditions"]}
        made = "!has(object.metadata.ownerReferences)"
        if webhook["name"] == "tolerations.korder.dev":
            made = f"(request.operation == 'CREATE' && {made})"
        spared = f"request.userInfo.username != '{user}' || {made}"
        assert conditions["not-by-the-manager"] == spared
        assert len(conditions) == (3 if webhook["name"] == "tolerations.korder.dev" else 2)
        assert webhook["timeoutSeconds"] <= 5
        assert webhook["sideEffects"] == "None"
        assert "*" not in str(webhook["rules"])


def rules_of(role: Body) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_manager_may_do_nothing_with_a_star_and_read_no_secret_but_its_own() -> None:
    roles = [role for role in of_kind(rights(Site()), "ClusterRole") if MANAGER in str(role)]
    assert all("*" not in each for role in roles for each in rules_of(role))
    assert not any(resource == "secrets" for role in roles for _, resource, _ in rules_of(role))
    secrets = [
        rule
        for role in of_kind(rights(Site()), "Role")
        for rule in role["rules"]
        if "secrets" in rule["resources"] and rule["verbs"] != ["create"]
    ]
    assert [rule["resourceNames"] for rule in secrets] == [["korder-webhook"]]


@pytest.mark.parametrize("kind", ["order", "ticket", "quota"])
def test_people_can_be_given_three_roles_for_each_kind(kind: str) -> None:
    roles = {role["metadata"]["name"]: role for role in of_kind(rights(Site()), "ClusterRole")}
    verbs = {
        role: {v for _, r, v in rules_of(roles[f"korder-{kind}-{role}"]) if r == f"{kind}s"}
        for role in ("admin", "editor", "viewer")
    }
    assert verbs["viewer"] == {"get", "list", "watch"}
    assert verbs["editor"] > verbs["viewer"]
    assert verbs["admin"] == {"*"}
    joined = roles[f"korder-{kind}-editor"]["metadata"]["labels"]
    aggregated = "rbac.authorization.k8s.io/aggregate-to-edit" in joined
    assert aggregated is (kind != "quota"), "a quota is the cluster's, not a namespace's"
